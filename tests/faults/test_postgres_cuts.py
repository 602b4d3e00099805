"""The connection to PostgreSQL is cut at the commit, before and after it: each command happens once."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.fleet import fleet_of, until
from tests.postgres.proxy import Fault, How, proxying

CUTS = 200
"""Half of them before the commit reached the server, half after it."""
EVERY = 3
"""One in so many commits is cut."""


HOWS: list[How] = ["statement", "transaction"]


class Cutting:
    """Cuts one in so many commits, in turn before and after it reached the server."""

    def __init__(self) -> None:
        self.done: Counter[Fault] = Counter()
        self._number = itertools.count(1)

    def __call__(self) -> Fault:
        if next(self._number) % EVERY or self.done.total() == CUTS:
            return "none"
        fault: Fault = "before" if self.done.total() % 2 else "after"
        self.done[fault] += 1
        return fault


@pytest.mark.slow
@pytest.mark.parametrize("boards", [1, 8], ids=["one-board", "eight-boards"])
async def test_postgres_two_hundred_connections_cut_at_the_commit_leave_each_command_once(
    tmp_path: Path, postgres_url: str, boards: int
) -> None:
    port = urlsplit(postgres_url).port
    assert port is not None
    cutting = Cutting()
    async with proxying(port, lambda: "none") as proxy:
        through = postgres_url.replace(f":{port}/", f":{proxy.port}/")
        async with fleet_of(tmp_path, through, 2) as fleet:
            await fleet.people([f"board-{number}" for number in range(boards)], 4)
            proxy.choose = cutting
            fleet.work()
            await until(lambda: cutting.done.total() == CUTS, 60, lambda: f"{cutting.done}", fleet.working)
            await fleet.goes_on(*fleet.servers)
            await fleet.rest()
            resent = sum(client.resent for client in fleet.clients)
            print(
                f"cut {dict(cutting.done)}, {fleet.acknowledged()} acknowledged commands, "
                f"{resent} sent again, {await fleet.check()} events"
            )
            assert cutting.done == {"before": CUTS // 2, "after": CUTS // 2}
        if boards == 1:  # two servers in each other's way lock the board first, and end with COMMIT
            assert min(proxy.cuts[how, fault] for how in HOWS for fault in cutting.done) > 0, proxy.cuts
