"""Every implementation of a contract, one after another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from blackboard.config import Isolation, Settings
from blackboard.store import open_store
from blackboard.store.contract import Store
from tests.store.postgres import emptied, migrated_url

__all__ = ["migrated_url", "store"]

KINDS = ["memory", "sqlite", "sqlite-in-loop", "postgresql", "postgresql-serializable"]


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    kind: str = request.param
    isolation: Isolation = "serializable" if kind.endswith("serializable") else "read-committed"
    if kind.startswith("postgresql"):
        url = await emptied(request.getfixturevalue("migrated_url"))
    else:
        url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path / 'board.db'}"
    opened = await open_store(url, Settings(isolation=isolation))
    opened.commits_in_loop = kind == "sqlite-in-loop"
    yield opened
    await opened.close()
