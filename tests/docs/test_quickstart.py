"""The quickstart runs word by word, in the order in which it is read; only the port is another."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PORT = "8377"
SERVE = "blackboard serve\n"
PREPARE = "./scripts/blackboard --version"


class Block(NamedTuple):
    """A block of code: its language, its text, and the output that the next block promises, if it does."""

    language: str
    text: str
    output: str | None


def blocks(page: str) -> list[Block]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    followed = zip(found, [*found[1:], ("end", "")], strict=True)
    return [
        Block(language, text, after if kind == "" else None)
        for (language, text), (kind, after) in followed
        if language
    ]


@pytest.fixture
def port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path, port: str) -> dict[str, str]:
    """A machine of its own: state, settings, and this interpreter's command first on the path."""
    bin_dir = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "BLACKBOARD_PORT": port,
    }


@pytest.fixture
def server(environment: dict[str, str], tmp_path: Path) -> Iterator[None]:
    """What the block `blackboard serve` starts, in a terminal of its own."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {SERVE}"], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert "ready at" in process.stderr.readline()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=30)


def script(found: list[Block]) -> str:
    """One shell script of all blocks, each between two marks; Python goes to the interpreter."""
    parts = ["set -eu"]
    for number, block in enumerate(found):
        parts.append(f"echo '== {number}'")
        if block.language == "sh":
            parts.append(block.text)
        else:
            parts.append(f"python - <<'PYTHON'\n{block.text}PYTHON\n")
    return "\n".join(parts)


@pytest.mark.usefixtures("server")
def test_the_quickstart_runs_word_by_word(environment: dict[str, str], tmp_path: Path, port: str) -> None:
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8").replace(PORT, port)
    found = [block for block in blocks(page) if block.text != SERVE and PREPARE not in block.text]
    assert {block.language for block in found} == {"sh", "python"}
    ran = subprocess.run(
        ["sh"],
        input=script(found),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = dict(re.findall(r"^== (\d+)\n(.*?)(?=^== |\Z)", ran.stdout, re.MULTILINE | re.DOTALL))
    for number, block in enumerate(found):
        if block.output is not None:
            assert said[str(number)] == block.output
    for promised in ('"id":"entry:12"', '"kind":"write.rejected"', "event: caught-up"):
        assert promised in ran.stdout, ran.stdout
    assert "completion-unverified" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_quickstart_starts_with_the_two_lines_that_make_the_command_available() -> None:
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    first = blocks(page)[0]
    assert first.text == f'{PREPARE}\nexport PATH="$PWD/.venv/bin:$PATH"\n'
    assert blocks(page)[1].text == SERVE


def run_python(code: str, directory: Path) -> str:
    """What a program prints that runs without fault."""
    ran = subprocess.run(
        [sys.executable, "-"],
        input=code,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/reference/errors.md"])
def test_python_on_a_page_runs_and_prints_what_the_page_says(page: str, tmp_path: Path) -> None:
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        if block.language == "python":
            assert run_python(textwrap.dedent(block.text), tmp_path) == block.output


@pytest.mark.parametrize("page", ["docs/action-gate.md"])
def test_python_that_goes_on_over_a_page_runs_and_prints_what_the_page_says(
    page: str, tmp_path: Path
) -> None:
    """Blocks that build on those before them are one program, with a mark behind each."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [block for block in blocks(text) if block.language == "python"]
    mark = "print('==')\n"
    said = run_python(mark.join([*(block.text for block in found), ""]), tmp_path)
    assert said.split("==\n") == [*(block.output or "" for block in found), ""]
