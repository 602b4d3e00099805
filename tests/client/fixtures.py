"""Fixtures of the suites that run over every client: databases and servers for all tests of a session.

`tests/conftest.py` takes them all in, once, so that there is one of each and not one for every module.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import blackboard
from blackboard.config import Settings
from tests.client.drive import KINDS, Embedded, Http, Place
from tests.client.live import LiveServer, serving
from tests.postgres.cluster import Databases

__all__ = [
    "any_server",
    "database",
    "live_server",
    "place",
    "place_of",
    "postgres_database",
    "postgres_server",
]


class Database(NamedTuple):
    """A database, and the settings to open it with."""

    url: str
    settings: Settings


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for all tests of a session: each has a board of its own."""
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """One SQLite file for all tests of a session."""
    directory = tmp_path_factory.mktemp("database")
    return _database(f"sqlite:///{directory / 'board.db'}", directory)


@pytest.fixture(scope="session")
def postgres_server(
    postgres_databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveServer]:
    """One server on PostgreSQL for all tests of a session."""
    url = postgres_databases.create()
    with serving(tmp_path_factory.mktemp("postgres-server"), url) as server:
        yield server
    postgres_databases.drop(url)


@pytest.fixture(scope="session")
def postgres_database(
    postgres_databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """One database on PostgreSQL for all tests of a session, kept open: its connections are made once."""
    url = postgres_databases.create()
    found = _database(url, tmp_path_factory.mktemp("postgres-database"))
    with blackboard.connect_sync(url, operator="host", settings=found.settings):
        yield found
    postgres_databases.drop(url)


def _database(url: str, directory: Path) -> Database:
    return Database(url, Settings(db=url, state_dir=str(directory), durability="normal"))


@pytest.fixture(params=["sqlite", "postgres"])
def any_server(request: pytest.FixtureRequest) -> LiveServer:
    """The session's server on each engine."""
    server: LiveServer = request.getfixturevalue(
        "live_server" if request.param == "sqlite" else "postgres_server"
    )
    return server


def place_of(request: pytest.FixtureRequest, kind: str) -> Place:
    """A fresh board, reached in this way of `ON`."""
    way = kind.removeprefix("postgres-")
    where, _, mode = way.partition("-")
    if where == "embedded":
        found: Database = request.getfixturevalue("database" if kind == way else "postgres_database")
        return Place(Embedded(found.url, found.settings, sync=mode == "sync"))
    server: LiveServer = request.getfixturevalue("live_server" if kind == way else "postgres_server")
    return Place(Http(server, sync=mode == "sync"))


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """A fresh board, reached in each way of `KINDS`."""
    place = place_of(request, request.param)
    try:
        yield place
    finally:
        await place.close()
