"""Every implementation of a contract, one after another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.store import open_store
from blackboard.store.contract import Store


@pytest.fixture(params=["memory", "sqlite", "sqlite-in-loop"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    kind: str = request.param
    url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path / 'board.db'}"
    opened = await open_store(url, Settings())
    opened.commits_in_loop = kind == "sqlite-in-loop"
    yield opened
    await opened.close()
