"""Every world that a test makes is checked after it: the laws of all logs hold for its log too."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.pure.driver import World

Worlds = Callable[..., World]


@pytest.fixture
def worlds() -> Iterator[Worlds]:
    """Makes worlds: `worlds(policy, opened=..., auto_open=...)`."""
    made: list[World] = []

    def make(policy: dict[str, Any] | None = None, **options: Any) -> World:
        made.append(World(policy, **options))
        return made[-1]

    yield make
    for world in made:
        world.check()


@pytest.fixture
def world(worlds: Worlds) -> World:
    """A board with the default policy."""
    return worlds()
