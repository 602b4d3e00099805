"""Every implementation of a contract, one after another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blackboard.config import Isolation, Settings
from blackboard.store import open_store
from blackboard.store.contract import Store
from blackboard.store.migrating import migrate
from tests.postgres.cluster import Databases
from tests.store.support import emptied

KINDS = ["memory", "sqlite", "sqlite-in-loop", "postgresql", "postgresql-serializable"]


@pytest.fixture(scope="session")
def contract_url(postgres_databases: Databases) -> Iterator[str]:
    """One database on PostgreSQL for all contract tests of a worker, emptied before each."""
    url = postgres_databases.create()
    with ThreadPoolExecutor(1) as aside:  # a loop may be running here
        aside.submit(migrate, url).result()
    yield url
    postgres_databases.drop(url)


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    kind: str = request.param
    isolation: Isolation = "serializable" if kind.endswith("serializable") else "read-committed"
    if kind.startswith("postgresql"):
        url = await emptied(request.getfixturevalue("contract_url"))
    else:
        url = "memory://" if kind == "memory" else f"sqlite:///{tmp_path / 'board.db'}"
    opened = await open_store(url, Settings(isolation=isolation))
    opened.commits_in_loop = kind == "sqlite-in-loop"
    yield opened
    await opened.close()
