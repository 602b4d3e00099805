"""Every implementation of a contract, one after another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.store import open_store
from blackboard.store.contract import Store


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'board.db'}"}[request.param]
    opened = await open_store(url, Settings())
    yield opened
    await opened.close()
