"""Running what pages print: all blocks in one shell, so that what one of them sets the next one has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import Block


class Ran(NamedTuple):
    """What came of it, block by block: what was `said`, and what the page `promised` where it promises."""

    said: list[str]
    promised: list[str]
    err: str

    @property
    def out(self) -> str:
        return "".join(self.said)


def script(found: Sequence[Block]) -> str:
    """One shell script of all blocks, each behind a line that marks it; Python goes to the interpreter."""
    parts = ["set -eu"]
    for number, block in enumerate(found):
        parts.append(f"printf '\\n== {number}\\n'")
        if block.language == "sh":
            parts.append(block.text)
        else:
            parts.append(f"python - <<'PYTHON'\n{block.text}PYTHON\n")
    return "\n".join(parts)


def run(found: Sequence[Block], environment: dict[str, str], directory: Path, *, seconds: float = 60) -> Ran:
    """Run the blocks one after the other; all of them end without fault, in so many seconds."""
    assert {block.language for block in found} <= {"sh", "python"}
    ran = subprocess.run(
        ["sh"],
        input=script(found),
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    said = re.split(r"\n== \d+\n", ran.stdout)[1:]
    promised = [
        text if block.output is None else block.output for block, text in zip(found, said, strict=True)
    ]
    return Ran(said, promised, ran.stderr)
