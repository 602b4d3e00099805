"""Reading the log: by seq, by key and revision, by command, filtered, in slices."""

from __future__ import annotations

import random

import pytest

from blackboard.events import kinds
from blackboard.events.envelope import Draft, unseal
from blackboard.messages.principal import Grants
from blackboard.messages.replies import TokenReply
from blackboard.store.contract import Store, StoredToken
from tests.store.support import BOARD, Log, everything, filled, opened


async def mixed(store: Store) -> tuple[Log, list]:
    """Three agents that write, read and speak."""
    log, rows = opened()
    for n in range(60):
        actor = f"agent:{('planner', 'executor', 'verifier')[n % 3]}"
        if n % 4 == 3:
            rows += log.say(f"message {n}", actor=actor)
        elif n % 4 == 2:
            rows += log.body(kinds.BoardRead(keys={"task/0": 1}), actor=actor)
        else:
            rows += log.write(f"task/{n % 5}", n, actor=actor)
    await store.append(rows)
    return log, rows


async def test_the_tip_is_the_last_row(store: Store) -> None:
    log, rows = await filled(store, 5)
    assert await store.tip(BOARD) == log.tip == (rows[-1].seq, rows[-1].hash, rows[-1].recorded_at)


async def test_what_does_not_exist_is_none_or_empty(store: Store) -> None:
    assert await store.tip(BOARD) is None
    assert await store.load(BOARD) is None
    assert await store.rows(BOARD) == []
    assert await everything(store) == []
    assert await store.events(BOARD, [1, 2]) == {}
    assert await store.entry(BOARD, "task/A", 1) is None
    assert await store.entry_as_of(BOARD, "task/A", 1) is None
    assert await store.command(BOARD, "agent:executor", "k1") == []
    assert await store.boards() == []
    assert await store.tokens() == []
    assert await store.token(b"x" * 32) is None


async def test_rows_come_in_order_after_through_and_at_most_so_many(store: Store) -> None:
    _, rows = await filled(store, 30)
    assert await store.rows(BOARD) == rows
    assert await store.rows(BOARD, after=28) == rows[28:]
    assert await store.rows(BOARD, after=3, limit=5) == rows[3:8]
    assert await store.rows(BOARD, after=3, through=6) == rows[3:6]
    assert await store.rows(BOARD, after=6, through=6) == []
    assert await store.rows(BOARD, after=99) == []
    assert await store.rows(BOARD, limit=0) == []


@pytest.mark.parametrize("kind", [None, "entry.written", "message.posted", "no.such"])
@pytest.mark.parametrize("agent", [None, "executor", "nobody"])
@pytest.mark.parametrize("key", [None, "task/1", "task/none"])
async def test_rows_are_filtered(store: Store, kind: str | None, agent: str | None, key: str | None) -> None:
    _, rows = await mixed(store)
    kept = [
        row
        for row in rows
        if (kind is None or row.kind == kind)
        and (agent is None or row.actor == f"agent:{agent}")
        and (key is None or row.key == key)
    ]
    found = await store.rows(BOARD, kind=kind, agent=agent, key=key)
    assert found == kept
    paged: list = []
    while page := await store.rows(
        BOARD, after=paged[-1].seq if paged else 0, limit=3, kind=kind, agent=agent, key=key
    ):
        paged += page
    assert paged == kept
    inner = await store.rows(BOARD, after=10, through=40, kind=kind, agent=agent, key=key)
    assert inner == [row for row in kept if 10 < row.seq <= 40]


async def test_a_scan_gives_the_same_rows_in_slices(store: Store) -> None:
    _, rows = await filled(store, 2_500)
    slices = [slice_ async for slice_ in store.scan(BOARD)]
    assert all(0 < len(slice_) <= 10_000 for slice_ in slices)
    assert [row for slice_ in slices for row in slice_] == rows
    assert [row async for some in store.scan(BOARD, after=7, through=2_000) for row in some] == rows[7:2_000]


async def test_a_scan_left_early_is_in_nobodys_way(store: Store) -> None:
    log, rows = await filled(store, 2_500)
    scan = store.scan(BOARD)
    first = await anext(scan)
    assert rows[: len(first)] == first
    rows += (late := log.write("task/A"))
    await store.append(late)
    assert [row async for some in store.scan(BOARD) for row in some] == rows


async def test_events_are_found_by_seq(store: Store) -> None:
    _, rows = await mixed(store)
    wanted = [1, 5, 5, 61, 62, 0, -1, 30]
    found = await store.events(BOARD, wanted)
    assert found == {seq: unseal(rows[seq - 1]) for seq in (1, 5, 30, 61)}
    every = list(range(1, 62)) * 20
    assert sorted(await store.events(BOARD, every)) == list(range(1, 62))
    assert await store.events(BOARD, []) == {}


async def test_an_entry_is_found_by_key_and_revision(store: Store) -> None:
    _, rows = await filled(store, 40, keys=3)
    for row in rows[1:]:
        assert await store.entry(BOARD, str(row.key), int(row.revision or 0)) == unseal(row)
    assert await store.entry(BOARD, "task/0", 99) is None
    assert await store.entry("other", "task/0", 1) is None


@pytest.mark.parametrize("seed", range(3))
async def test_the_newest_entry_as_of_a_seq_is_found_however_often_the_key_was_written(
    store: Store, seed: int
) -> None:
    chance = random.Random(seed)
    log, rows = opened()
    for _ in range(400):
        key = chance.choice(["hot", "hot", "hot", "cold"])
        revision = log.revisions.get(key, 0) + chance.choice([1, 1, 2, 1_000_000])
        rows += log.seal(log.draft(key, revision, revision=revision))
    await store.append(rows)
    for seq in [0, 1, 2, 3, 401, 402, 2**53 - 1, *chance.sample(range(1, 402), 40)]:
        for key in ("hot", "cold", "never"):
            expected = next((row for row in reversed(rows[:seq]) if row.key == key), None)
            found = await store.entry_as_of(BOARD, key, seq)
            assert found == (None if expected is None else unseal(expected))


async def test_a_command_is_found_whole_and_alone(store: Store) -> None:
    log, rows = opened()
    before = log.say("before", command_id="k0")
    wanted = log.seal(*[log.draft(f"task/{n}") for n in range(130)], command_id="k1")
    after = log.say("after", command_id="k2") + log.say("other actor", command_id="k1", actor="agent:b")
    await store.append(rows + before + wanted + after)
    assert await store.command(BOARD, "agent:executor", "k1") == wanted
    assert await store.command(BOARD, "agent:executor", "k0") == before
    assert await store.command(BOARD, "agent:executor", "k2") == after[:1]
    assert await store.command(BOARD, "agent:b", "k1") == after[1:]
    assert await store.command("other", "agent:b", "k1") == []


async def test_the_last_command_ends_with_the_log(store: Store) -> None:
    log, rows = opened()
    wanted = log.seal(Draft(kinds.TurnEnded()), Draft(kinds.TurnEnded()), command_id="k1")
    await store.append(rows + wanted)
    assert await store.command(BOARD, "agent:executor", "k1") == wanted


def token(number: int, **changes: object) -> StoredToken:
    members: dict = {
        "id": f"id-{number}",
        "role": "agent",
        "name": "executor",
        "boards": ["release-*", "b"],
        "grants": Grants(writes=["task/*"], prefix="task/", report_peers=True),
        "created_at": 1_000 - number,
    }
    return StoredToken(bytes([number]) * 32, TokenReply(**(members | changes)))


async def test_a_token_is_found_by_its_digest(store: Store) -> None:
    await store.put_token(token(1))
    await store.put_token(token(2, expires_at=5, grants=Grants(), boards=[]))
    assert await store.token(b"\1" * 32) == token(1)
    assert await store.token(b"\3" * 32) is None


async def test_tokens_come_oldest_first_and_are_replaced_by_id(store: Store) -> None:
    for number in (1, 2, 3):
        await store.put_token(token(number))
    await store.put_token(token(2, revoked_at=7))
    assert await store.tokens() == [token(3), token(2, revoked_at=7), token(1)]
    assert await store.token(b"\2" * 32) == token(2, revoked_at=7)


async def test_the_secret_of_a_token_is_not_kept(store: Store) -> None:
    await store.put_token(token(1))
    assert all(found.reply.token is None for found in await store.tokens())


async def test_the_check_names_the_engine(store: Store) -> None:
    found = await store.check()
    assert found["engine"] in {"memory", "postgresql", "sqlite"}
    assert found["version"]
