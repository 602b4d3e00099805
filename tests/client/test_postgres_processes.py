"""Two processes, each with its own embedded board, on one PostgreSQL database: to both it is one board."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import blackboard
from blackboard.client import Board, SyncBoard
from blackboard.config import Settings
from tests.client.peer import Peer, Storm, heard, peer, storm

BOARD = "shared"
ROUNDS = 25
NEVER = 3600.0


def here(url: str, settings: Settings | None = None, **who: str) -> SyncBoard:
    options: Any = {"board": BOARD, "settings": settings or Settings(db=url)} | who
    return blackboard.connect_sync(url, **options)


def test_two_processes_count_up_one_entry_and_no_update_is_lost(postgres_url: str) -> None:
    with (
        here(postgres_url, agent="a") as mine,
        peer(postgres_url, board=BOARD, agent="b") as theirs,
        ThreadPoolExecutor(1) as pool,
    ):
        other = pool.submit(theirs.call, "storm", ROUNDS)
        done = {"a": storm(mine, ROUNDS), "b": Storm(**other.result())}
        entry = mine.read("counter")
        assert (entry.value, entry.revision) == (2 * ROUNDS, 2 * ROUNDS)
        log = list(mine.log())
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        for name, told in done.items():
            mine_of_log = [event for event in log if event.actor == f"agent:{name}"]
            assert [event.seq for event in mine_of_log if event.kind == "entry.written"] == told.written
            assert sum(event.kind == "write.rejected" for event in mine_of_log) == told.refused
        whole = [[event.seq, event.hash] for event in log]
        assert heard(mine, len(log)) == whole
        assert theirs.call("heard", len(log)) == whole


def test_feeds_of_both_processes_tell_every_event_once_and_in_order(postgres_url: str) -> None:
    with (
        here(postgres_url, agent="a") as mine,
        peer(postgres_url, board=BOARD, agent="b") as writing,
        peer(postgres_url, board=BOARD, auditor="kim") as following,
        ThreadPoolExecutor(3) as pool,
    ):
        mine.say("it begins")
        last = 1 + 1 + 2 * 20
        feeds = [pool.submit(heard, mine, last), pool.submit(following.call, "heard", last)]
        other = pool.submit(lambda: [writing.call("say", f"b{n}") for n in range(20)])
        for n in range(20):
            mine.say(f"a{n}")
        assert all("error" not in reply for reply in other.result())
        log = [[event.seq, event.hash] for event in mine.log()]
        assert len(log) == last
        assert [feed.result() for feed in feeds] == [log, log]


@pytest.mark.parametrize(
    "settings",
    [{"notify": True, "poll_seconds": NEVER}, {"notify": False, "poll_seconds": 0.05}],
    ids=["told", "by looking"],
)
async def test_a_feed_hears_of_what_the_other_process_wrote(
    settings: dict[str, Any], postgres_url: str
) -> None:
    options: Any = {"board": BOARD, "settings": Settings(db=postgres_url, **settings)}
    async with blackboard.connect(postgres_url, operator="ops", **options) as board:
        await board.open_board()
        with peer(postgres_url, settings, board=BOARD, agent="b") as other:
            assert (await asyncio.wait_for(_after_silence(board, other), 30)) == ["board.opened", "a", "b"]


async def _after_silence(board: Board, other: Peer) -> list[str]:
    """What the feed brings when nothing wakes it but what the other process does."""
    told: list[str] = []
    async for event in board.follow():
        if event.kind == "entry.written":
            told.append(str(event.key))
        elif event.kind == "board.opened":
            told.append(event.kind)
        if len(told) == 3:
            return told
        await asyncio.to_thread(other.call, "write", ["", "a", "b"][len(told)], 1, revision=1)
    raise AssertionError("the feed has ended")


def test_what_one_process_has_done_binds_in_the_other(postgres_url: str) -> None:
    with (
        here(postgres_url, agent="a") as mine,
        peer(postgres_url, board=BOARD, operator="ops") as operator,
    ):
        mine.write("k", 1, revision=1)
        assert operator.call("compacted", agents=["a"])["agents"] == ["a"]
        with pytest.raises(blackboard.RevalidationRequired):
            mine.write("k", 2, revision=2)
        assert mine.standing is not None
        assert mine.standing.state == "compacted"
        mine.read_all()
        mine.write("k", 2, revision=2)
        operator.call("set_mode", "single-writer", "planner")
        with pytest.raises(blackboard.WriteRejected):
            mine.write("k", 3, revision=3)


def test_a_rule_of_one_process_is_unseen_in_the_other_until_it_is_read(postgres_url: str) -> None:
    with (
        here(postgres_url, agent="a") as mine,
        peer(postgres_url, board=BOARD, operator="ops") as operator,
    ):
        mine.say("it begins")
        assert mine.check("refunds.create", {"amount": 8400}).verdict == "PASS"
        above = {"field": "amount", "op": "gt", "value": 5000}
        cap = {"id": "cap", "kind": "policy", "scope": "refunds.create", "predicate": above, "effect": "deny"}
        assert "error" not in operator.call("add_record", cap)
        lost = mine.check("refunds.create", {"amount": 8400})
        assert (lost.verdict, [reason.id for reason in lost.reasons]) == ("BLOCK", ["cap"])
        mine.read_records()
        held = mine.check("refunds.create", {"amount": 8400})
        assert (held.verdict, held.policy.answer) == ("PASS", "deny")


def test_a_key_means_the_same_command_in_both_processes(postgres_url: str) -> None:
    with here(postgres_url, agent="a") as mine, peer(postgres_url, board=BOARD, agent="a") as other:
        ack = mine.write("k", 1, revision=1, idempotency_key="once")
        again = other.call("write", "k", 1, revision=1, idempotency_key="once")
        assert (again["replayed"], again["seq"]) == (True, ack.seq)
        changed = other.call("write", "k", 2, revision=2, idempotency_key="once")
        assert changed["error"] == "idempotency-key-reused"
        assert mine.read("k").revision == 1


def test_the_same_key_at_once_in_both_processes_is_one_event(postgres_url: str) -> None:
    with (
        here(postgres_url, agent="a") as mine,
        peer(postgres_url, board=BOARD, agent="a") as other,
        ThreadPoolExecutor(2) as pool,
    ):
        mine.say("it begins")
        for n in range(10):
            both = threading.Barrier(2)

            def said(call: Any, text: str = f"text {n}", both: threading.Barrier = both) -> Any:
                both.wait()
                return call("say", text, idempotency_key=text)

            ours = pool.submit(said, lambda name, *args, **named: getattr(mine, name)(*args, **named).seq)
            theirs = pool.submit(said, lambda *args, **named: other.call(*args, **named)["seq"])
            assert ours.result() == theirs.result()
        posted = [event.body["text"] for event in mine.log(kind="message.posted")]
        assert posted == ["it begins", *(f"text {n}" for n in range(10))]


def test_whoever_is_killed_leaves_the_board_to_the_others(postgres_url: str) -> None:
    with here(postgres_url, agent="a") as mine, peer(postgres_url, board=BOARD, agent="b") as other:
        acknowledged = [other.call("write", f"k{n}", n, revision=1)["entries"][0]["seq"] for n in range(5)]
        other.tell({"name": "storm", "args": [10_000], "named": {}})
        while mine.read("counter").revision < 20:
            pass
        other.kill()
        revision = mine.read("counter").revision
        storm(mine, 3)
        assert mine.read("counter").revision >= revision + 3
        log = list(mine.log())
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        assert set(acknowledged) <= {event.seq for event in log if event.kind == "entry.written"}


def test_two_processes_may_open_an_empty_database_at_once(postgres_url: str) -> None:
    with (
        peer(postgres_url, board=BOARD, agent="a") as first,
        peer(postgres_url, board=BOARD, agent="b") as second,
        ThreadPoolExecutor(2) as pool,
    ):
        told = list(
            pool.map(lambda other: other.call("write", "k", 1, revision=1).get("error"), [first, second])
        )
        assert sorted(map(str, told)) == ["None", "revision-not-advancing"]
