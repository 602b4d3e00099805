"""Golden files: what was once written stays readable, and a change of what is written shows as a diff.

    UPDATE_GOLDEN=1 ./scripts/test tests/pure -k golden

writes the files anew; read the diff before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def held(name: str, text: str) -> None:
    """Hold `text` against the golden file `name`, or (UPDATE_GOLDEN=1) write the file."""
    path = GOLDEN / name
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"tests/golden/{name} is missing: make it with UPDATE_GOLDEN=1 and review it"
    assert path.read_text(encoding="utf-8") == text, f"tests/golden/{name} differs: UPDATE_GOLDEN=1, review"
