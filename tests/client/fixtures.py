"""Fixtures of the suites that run over every client; a suite imports those that it uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from blackboard.config import Settings
from tests.client.drive import KINDS, Embedded, Http, Place
from tests.client.live import LiveServer, serving

__all__ = ["database", "live_server", "place", "place_of"]


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for all tests of a session: each has a board of its own."""
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Settings]:
    """One SQLite file for all tests of a session, and the settings to open it with."""
    directory = tmp_path_factory.mktemp("database")
    url = f"sqlite:///{directory / 'board.db'}"
    return url, Settings(db=url, state_dir=str(directory), durability="normal")


def place_of(request: pytest.FixtureRequest, kind: str) -> Place:
    """A fresh board, reached in this of the four ways."""
    where, _, mode = kind.partition("-")
    if where == "embedded":
        url, settings = request.getfixturevalue("database")
        return Place(Embedded(url, settings, sync=mode == "sync"))
    return Place(Http(request.getfixturevalue("live_server"), sync=mode == "sync"))


@pytest.fixture(params=KINDS)
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """A fresh board, reached in each of the four ways."""
    place = place_of(request, request.param)
    try:
        yield place
    finally:
        await place.close()
