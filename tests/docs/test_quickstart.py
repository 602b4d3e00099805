"""The quickstart runs word by word, in the order in which it is read; only the port is another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.conftest import SERVE
from tests.docs.pages import blocks, page
from tests.docs.running import run

QUICKSTART = "docs/quickstart.md"
PORT = "8377"
PREPARE = "./scripts/blackboard --version"


@pytest.mark.usefixtures("server")
def test_the_quickstart_runs_word_by_word(environment: dict[str, str], tmp_path: Path, port: str) -> None:
    found = blocks(page(QUICKSTART).replace(PORT, port))
    ran = run(
        [block for block in found if block.text != SERVE and PREPARE not in block.text], environment, tmp_path
    )
    assert ran.said == ran.promised
    for told in ('"id":"entry:12"', '"kind":"write.rejected"', "event: caught-up"):
        assert told in ran.out, ran.out
    assert "completion-unverified" in ran.err
    assert "read again: blackboard record read cap\n" in ran.err


def test_the_quickstart_starts_with_the_two_lines_that_make_the_command_available() -> None:
    first, second, *_ = blocks(page(QUICKSTART))
    assert first.text == f'{PREPARE}\nexport PATH="$PWD/.venv/bin:$PATH"\n'
    assert second.text == SERVE
