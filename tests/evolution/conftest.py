"""An empty database on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database; the file is not there yet."""
    if request.param == "postgres":
        named: str = request.getfixturevalue("postgres_url")
        return named
    return f"sqlite:///{tmp_path.resolve() / 'board.db'}"
