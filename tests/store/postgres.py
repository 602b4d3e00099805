"""A database on PostgreSQL with its tables, made once for all tests of a worker: a new one takes a second."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest

from blackboard.store.migrating import migrate
from blackboard.store.tables import METADATA
from tests.postgres.cluster import Databases

INJECTED = "injected"
"""The schema for what a test puts into the database; it goes before the next test."""

KEPT = ("formats", "revisions")


@pytest.fixture(scope="session")
def migrated_url(postgres_databases: Databases) -> Iterator[str]:
    """The URL of a database with its tables, and with what earlier tests have left."""
    url = postgres_databases.create()
    with ThreadPoolExecutor(1) as aside:  # a loop may be running here
        aside.submit(migrate, url).result()
    yield url
    postgres_databases.drop(url)


@pytest.fixture
async def tables_url(migrated_url: str) -> str:
    """The URL of a database with its tables, and nothing in them."""
    return await emptied(migrated_url)


async def emptied(url: str) -> str:
    """The URL of a database, whose log, snapshots and tokens are gone now."""
    names = ", ".join(table for table in METADATA.tables if table not in KEPT)
    connection = await asyncpg.connect(url)
    await connection.execute(
        f"DROP SCHEMA IF EXISTS {INJECTED} CASCADE; TRUNCATE {names}; CREATE SCHEMA {INJECTED}"
    )
    await connection.close()
    return url
