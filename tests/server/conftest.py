from collections.abc import AsyncIterator

import pytest

from tests.server.support import Driven, driven


@pytest.fixture
async def server() -> AsyncIterator[Driven]:
    async with driven() as made:
        yield made
