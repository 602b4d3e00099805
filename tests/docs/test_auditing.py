"""The page on auditing, word by word: what it runs runs, and prints what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.docs.pages import ROOT, blocks, page
from tests.docs.running import run


def test_what_the_page_on_auditing_shows_runs_and_prints_what_the_page_says(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "verify_log.py", tmp_path / "scripts")
    ran = run(blocks(page("docs/auditing.md")), environment, tmp_path)
    assert ran.said == ran.promised
    assert "flaw: board release-42, seq 3: the checkpoint of board 'release-42' has size 3" in ran.err
