"""A rolling deployment: servers of two releases on one database, writing to the same boards at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import blackboard
from blackboard import Approval, Fact, Policy
from blackboard.client import Board
from blackboard.client.retry import RetryPolicy
from blackboard.config import Settings
from blackboard.errors import BoardTooNew, FormatTooLow
from blackboard.events.envelope import Row
from blackboard.events.kinds import FORMAT
from blackboard.store import open_store, schema
from blackboard.store.revision import EXPANDED, NEWEST
from tests.evolution import previous
from tests.evolution.databases import BOARDS as FROZEN
from tests.evolution.databases import ask, thaw
from tests.evolution.vocabulary_2 import Opaque, decode_2
from tests.faults.serving import Serving

BOARDS = ("shared-1", "shared-2")
OLD_FORMAT = previous.FORMAT
ROUNDS = 10
AT_ONCE = RetryPolicy(attempts=1)
"""What is refused is refused: nobody waits for another release."""


class Previous(Serving):
    """A server of the release before this one."""

    PROGRAM = (previous.__file__,)


class Deployment:
    """A server of each release, and connections through them."""

    def __init__(self, place: Path, url: str) -> None:
        self.url = url
        self.old = Previous(place / "old", url=url)
        self.new = Serving(place / "new", url=url)

    def operator(
        self, server: Serving, board: str, **more: Any
    ) -> contextlib.AbstractAsyncContextManager[Board]:
        """The operator, through one server."""
        return blackboard.connect(server.url, board=board, token=server.operator_token, **more)

    async def agent(self, server: Serving, name: str) -> str:
        """A token for an agent that may do what these tests do."""
        async with self.operator(server, BOARDS[0]) as operator:
            return str((await operator.create_token("agent", name)).token)

    async def rows(self, board: str) -> list[Row]:
        """The whole log, verified."""
        store = await open_store(self.url, Settings(), read_only=True)
        try:
            assert await store.load(board, verify=True) is not None
            return [row async for some in store.scan(board) for row in some]
        finally:
            await store.close()


@pytest.fixture
def deployment(postgres_url: str, tmp_path: Path) -> Iterator[Deployment]:
    """The old release serves its own database; nothing of the new one has been there."""
    thaw("0002", postgres_url)
    made = Deployment(tmp_path, postgres_url)
    made.old.start()
    yield made
    for server in (made.old, made.new):
        server.stop()
        assert "Traceback" not in server.errors, server.errors


@contextlib.asynccontextmanager
async def expanded(made: Deployment) -> AsyncIterator[None]:
    """Boards that the old release has opened; the new one has expanded the tables, and serves them too."""
    for board in BOARDS:
        async with made.operator(made.old, board) as operator:
            await operator.open_board()
    await schema.upgrade(made.url, expand=True)
    await asyncio.to_thread(made.new.start)
    yield


async def test_the_old_release_goes_on_on_postgres_while_the_tables_are_expanded(
    deployment: Deployment,
) -> None:
    made, stop = deployment, asyncio.Event()

    async def work() -> int:
        async with made.operator(made.old, BOARDS[0]) as operator:
            await operator.open_board()
        token, revision = await made.agent(made.old, "busy"), 0
        async with blackboard.connect(made.old.url, board=BOARDS[0], token=token, retry=AT_ONCE) as agent:
            while not stop.is_set():
                revision += 1
                await agent.write("a", revision, revision=revision)
        return revision

    working = asyncio.create_task(work())
    await schema.upgrade(made.url, expand=True)
    await asyncio.to_thread(made.new.start)
    stop.set()
    written = await working
    for server in (made.old, made.new):
        for board, head in ((BOARDS[0], written + 1), *((n, f["head"]) for n, f in FROZEN["0002"].items())):
            async with made.operator(server, board) as operator:
                assert (await operator.get_board()).head == head


async def test_two_releases_write_to_the_same_boards_on_postgres_and_read_each_other(
    deployment: Deployment,
) -> None:
    made = deployment
    async with expanded(made):
        together = asyncio.Barrier(4)
        working = [
            play(made, server, name, together)
            for server, names in ((made.old, ("old-1", "old-2")), (made.new, ("new-1", "new-2")))
            for name in names
        ]
        await asyncio.gather(*working)
        for board in BOARDS:
            await both_read_it(made, board)
    written = {(row.kind, row.version) for board in BOARDS for row in await made.rows(board)}
    assert {kind for kind, _ in written} >= {
        "agent.compacted",
        "message.posted",
        "record.added",
        "action.checked",
        "certificate.issued",
        "board.read",
        "entry.written",
        "write.rejected",
        "turn.ended",
    }
    assert {version for _, version in written} == {1}
    for board in BOARDS:
        writers = [
            row.actor.partition("-")[0] for row in await made.rows(board) if row.kind == "entry.written"
        ]
        turns = sum(one != other for one, other in pairwise(writers))
        assert turns >= ROUNDS, f"they did not write at the same time: {writers}"


async def play(made: Deployment, server: Serving, name: str, together: asyncio.Barrier) -> None:
    """One agent, through one release, on both boards: everything that the old format can say. Whatever it
    writes, the others write at the same moment.
    """
    token = await made.agent(server, name)
    for board in BOARDS:
        async with (
            blackboard.connect(server.url, board=board, token=token) as agent,
            made.operator(server, board) as operator,
        ):
            await operator.add_record(
                Policy("pay", {"field": "a", "op": "gt", "value": 5}, "deny", id=f"cap-{name}")
            )
            await operator.add_record(Fact("tier", name, id=f"tier-{name}"))
            await operator.add_record(Approval.for_action(f"cap-{name}", "pay", {"a": 9}))
            for revision in range(1, ROUNDS + 1):
                await together.wait()
                await agent.write(f"{name}/a", revision, revision=revision)
                await agent.say(f"wrote {name}/a {revision}")
            await agent.read_records()
            await agent.check("pay", {"a": 9})
            await agent.certificate("pay")
            await agent.compacted(cause="summary", tokens_before=9, tokens_after=3)
            with pytest.raises(blackboard.WriteRejected):
                await agent.write(f"{name}/a", "unread", revision=ROUNDS + 1)
            await agent.read_all()
            await agent.write(f"{name}/a", "read again", revision=ROUNDS + 1)
            await agent.end_turn(3)


async def both_read_it(made: Deployment, board: str) -> None:
    """Each release shows all that both have written, the same; and the old vocabulary decodes every row."""
    rows = await made.rows(board)
    assert not [row.kind for row in rows if isinstance(decode_2(row.kind, row.version, row.body), Opaque)]
    shown = []
    for server in (made.old, made.new):
        async with made.operator(server, board) as operator:
            events = [event async for event in operator.log()]
            assert [event.seq for event in events] == [row.seq for row in rows]
            ledger = await operator.ledger()
            shown.append([(entry.key, entry.revision, entry.value) for entry in ledger.entries])
            agents = {agent.agent: agent.state for agent in (await operator.agents()).agents}
            assert agents == dict.fromkeys(("new-1", "new-2", "old-1", "old-2"), "active")
    assert shown[0] == shown[1]
    assert [key for key, _, value in shown[0] if value == "read again"] == [
        f"{name}/a" for name in ("new-1", "new-2", "old-1", "old-2")
    ]


async def test_what_is_new_is_not_said_on_postgres_while_the_old_release_reads_the_board(
    deployment: Deployment,
) -> None:
    made = deployment
    async with expanded(made):
        token = await made.agent(made.new, "planner")
        async with (
            blackboard.connect(made.new.url, board=BOARDS[0], token=token) as agent,
            made.operator(made.new, BOARDS[0]) as operator,
        ):
            said = await agent.say("first")
            with pytest.raises(FormatTooLow):
                await agent.say("second", reply_to=said.seq)
            with pytest.raises(FormatTooLow):
                await agent.compacted(context_window=200_000)
            with pytest.raises(FormatTooLow):
                await operator.add_record(Approval("cap", "0" * 64, granted=True, text="because"))
            await agent.say("second")
        async with made.operator(made.old, BOARDS[0]) as operator:
            assert [event.version async for event in operator.log(kind="message.posted")] == [1, 1]


async def test_a_board_that_is_raised_leaves_the_old_release_on_postgres_and_the_others_stay(
    deployment: Deployment,
) -> None:
    made = deployment
    raised, kept = BOARDS
    async with expanded(made):
        tokens = {server: await made.agent(server, "planner") for server in (made.old, made.new)}
        async with blackboard.connect(made.old.url, board=raised, token=tokens[made.old]) as agent:
            await agent.write("a", 1, revision=1)
        async with made.operator(made.new, raised) as operator:
            await operator.raise_format(FORMAT)
        async with blackboard.connect(made.new.url, board=raised, token=tokens[made.new]) as agent:
            said = await agent.say("first")
            await agent.say("second", reply_to=said.seq)
            await agent.compacted(context_window=200_000)
        async with blackboard.connect(
            made.old.url, board=raised, token=tokens[made.old], retry=AT_ONCE
        ) as agent:
            for refused in (agent.write("b", 1, revision=1), agent.read("a"), agent.say("hello")):
                with pytest.raises(
                    BoardTooNew, match=r"reads up to 2\. It takes release 0\.3\.0 or later"
                ) as told:
                    await refused
                assert (told.value.status, told.value.members["release"]) == (503, "0.3.0")
                assert told.value.members["format"] == FORMAT
        for server in (made.old, made.new):
            async with blackboard.connect(server.url, board=kept, token=tokens[server]) as agent:
                await agent.say("still here")
        assert [row.kind for row in await made.rows(kept)].count("message.posted") == 2


async def test_the_old_release_does_not_start_on_postgres_once_its_tables_are_gone(
    deployment: Deployment,
) -> None:
    made = deployment
    async with expanded(made):
        assert ask(made.url, "SELECT version_num FROM alembic_version") == [(EXPANDED,)]
        made.old.stop()
        made.old.start()  # as after a crash in the middle of the deployment
        made.old.stop()
        await schema.upgrade(made.url)
        with pytest.raises(AssertionError, match=f"'{NEWEST}', ahead of release 0.2.0"):
            made.old.start()
        async with made.operator(made.new, BOARDS[0]) as operator:
            await operator.set_policy({"completion_window": 9})
        assert (await schema.check(made.url)).flaws == []
