"""How far long work has come: one line on a terminal, rewritten in place, with rate and time left."""

from __future__ import annotations

import sys
import time

_EVERY = 0.1


class Progress:
    """Call it with (done, in all); `noun` is what is counted. Shows nothing where stderr is no terminal."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._shown = sys.stderr.isatty()
        self._began = time.monotonic()
        self._told = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is, ten times a second at most, and at the end."""
        now = time.monotonic()
        if self._shown and (now - self._told >= _EVERY or done >= total):
            self._told = now
            sys.stderr.write(f"\r\x1b[K{progress_line(self._noun, done, total, now - self._began)}")
            sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._shown and self._told:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def progress_line(noun: str, done: int, total: int, seconds: float) -> str:
    """`12,000 of 50,000 events  24%  40,000/s  1 s left`."""
    share = f"{100 * done // total}%" if total else "100%"
    rate = done / seconds if seconds > 0 else 0.0
    left = f"  {(total - done) / rate:.0f} s left" if rate and done < total else ""
    return f"{done:,} of {total:,} {noun}  {share}  {rate:,.0f}/s{left}"
