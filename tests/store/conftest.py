"""A SQLite store, and ways to look at its file from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from blackboard.config import Settings
from blackboard.store import open_store
from blackboard.store.sqlite.store import SqliteStore
from tests.store.postgres import migrated_url, tables_url

__all__ = ["migrated_url", "path", "store", "tables_url"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "board.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = cast(SqliteStore, await open_store(str(path), Settings()))
    yield opened
    await opened.close()
