"""`blackboard db`: upgrade, downgrade, current, check; and what opening does by itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.errors import Conflict, IntegrityFailure, Malformed, SchemaMismatch, StoreBusy, Unavailable
from blackboard.events import kinds
from blackboard.store import open_store, schema
from blackboard.store.revision import KNOWN, NEWEST
from blackboard.store.sqlite.store import SqliteStore
from tests.store.support import filled, loaded, opened


def execute(path: Path, text: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(text, values)
    connection.commit()
    connection.close()


async def test_opening_makes_and_migrates_the_file(path: Path) -> None:
    store = await open_store(str(path), Settings())
    assert (await store.check())["revision"] == NEWEST
    await store.close()
    assert await schema.current(str(path)) == schema.Current(NEWEST, NEWEST, served=True)


async def test_an_empty_file_is_a_new_database(path: Path) -> None:
    path.touch()
    assert (await schema.current(str(path))).revision is None
    await (await open_store(str(path), Settings())).close()
    assert (await schema.current(str(path))).revision == NEWEST


async def test_a_missing_file_is_not_made_by_asking(path: Path) -> None:
    with pytest.raises(Unavailable):
        await schema.current(str(path))
    assert not path.exists()


async def test_a_database_ahead_of_the_code_is_named_and_left_alone(path: Path) -> None:
    await schema.upgrade(str(path))
    execute(path, "UPDATE alembic_version SET version_num = '9999'")
    for read_only in (False, True):
        with pytest.raises(SchemaMismatch, match=r"'9999'.*newer release"):
            await open_store(str(path), Settings(), read_only=read_only)
    with pytest.raises(SchemaMismatch):
        await schema.downgrade(str(path), "base")
    assert (await schema.current(str(path))).revision == "9999"


async def test_another_applications_database_is_refused(path: Path) -> None:
    execute(path, "CREATE TABLE invoices (id INTEGER)")
    with pytest.raises(SchemaMismatch, match="invoices"):
        await open_store(str(path), Settings())
    with pytest.raises(SchemaMismatch):
        await schema.upgrade(str(path))


async def test_upgrading_tells_what_it_did(path: Path) -> None:
    assert await schema.upgrade(str(path)) == schema.Upgraded(None, NEWEST, [], {})
    assert await schema.upgrade(str(path)) == schema.Upgraded(NEWEST, NEWEST, [], {})


async def test_upgrading_builds_the_snapshots_that_serving_would_build(path: Path) -> None:
    settings = Settings(snapshot_every=50)
    store = await open_store(str(path), settings)
    await filled(store, 120, "large")
    await filled(store, 10, "small")
    log, rows = opened("later")
    rows += log.writes(60) + log.body(kinds.BoardFormatRaised(format=99), actor="operator:ops")
    await store.append(rows)
    await store.close()
    seen: list[tuple[int, int]] = []
    done = await schema.upgrade(str(path), settings, progress=lambda *figures: seen.append(figures))
    assert done.snapshots == ["large"]
    assert "format 99" in done.skipped["later"]
    assert seen[-1] == (183, 183)
    store = await open_store(str(path), settings)
    assert (await loaded(store, "large")).replayed == 0
    await store.close()
    assert (await schema.upgrade(str(path), settings)).snapshots == []


async def test_changing_the_schema_needs_the_file_for_oneself(store: SqliteStore, path: Path) -> None:
    with pytest.raises(StoreBusy):
        await schema.upgrade(str(path))
    with pytest.raises(StoreBusy):
        await schema.downgrade(str(path), "base")
    assert (await schema.current(str(path))).revision == NEWEST
    assert (await schema.check(str(path))).boards == 0


async def test_going_down_does_not_drop_a_log_unless_told(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await filled(store, 5)
    await store.close()
    for revision in ("base", f"-{len(KNOWN)}"):
        with pytest.raises(Conflict, match="6 events"):
            await schema.downgrade(str(path), revision)
    assert (await schema.current(str(path))).revision == NEWEST
    assert (await schema.downgrade(str(path), "base", discard_log=True)).revision is None
    assert (await schema.downgrade(str(path), "base")).revision is None


async def test_going_down_to_where_one_is_changes_nothing(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await filled(store, 5)
    await store.close()
    assert (await schema.downgrade(str(path), NEWEST)).revision == NEWEST
    assert (await schema.check(str(path))).events == 6


@pytest.mark.parametrize("revision", ["", f"-{len(KNOWN) + 1}", "+1", "9999", "head", "-x"])
async def test_a_revision_that_is_not_below_is_malformed(path: Path, revision: str) -> None:
    await schema.upgrade(str(path))
    with pytest.raises(Malformed, match="is not below"):
        await schema.downgrade(str(path), revision)


async def test_the_check_reads_every_event(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await filled(store, 1_500, "a")
    log, rows = opened("b")
    rows += log.say("one") + log.say("two")
    rows[1] = rows[1]._replace(body=None, salt=None)
    await store.append(rows)
    await store.close()
    seen: list[tuple[int, int]] = []
    found = await schema.check(str(path), progress=lambda *figures: seen.append(figures))
    assert (found.boards, found.events, found.opaque, found.redacted, found.flaws) == (2, 1_504, 0, 1, [])
    assert found.kinds == {"board.opened": 2, "entry.written": 1_500, "message.posted": 2}
    assert seen[-1] == (1_504, 1_504)


async def test_the_check_names_the_first_flaw_of_each_board_and_goes_on(path: Path) -> None:
    store = await open_store(str(path), Settings())
    for board in ("a", "b", "c", "d"):
        await filled(store, 20, board)
    await store.close()
    execute(path, "UPDATE events SET body = replace(body, 'open', 'done') WHERE board = 'a' AND seq >= 7")
    execute(path, "DELETE FROM events WHERE board = 'b' AND seq = 9")
    execute(path, "UPDATE events SET body = '{' WHERE board = 'c' AND seq = 3")
    found = await schema.check(str(path))
    assert [(flaw.board, flaw.seq) for flaw in found.flaws] == [("a", 7), ("b", 9), ("c", 3)]
    assert found.boards == 4
    store = await open_store(str(path), Settings())
    for board, seq in (("b", 9), ("c", 3)):
        with pytest.raises(IntegrityFailure) as error:
            await store.load(board)
        assert error.value.members["seq"] == seq
    assert (await loaded(store, "d")).board.head == 21
    await store.close()


@pytest.mark.parametrize(
    ("damage", "flaws"),
    [
        ("DELETE FROM events WHERE board = 'b'", [("b", 1, "missing")]),
        ("DELETE FROM boards WHERE id = 'b'", [("b", 1, "not listed")]),
        ("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE board = 'b'", [("b", 1, "not UTF-8")]),
        ("UPDATE events SET body = 'x', salt = NULL WHERE board = 'b' AND seq = 3", [("b", 3, "body only")]),
        ("UPDATE events SET body = NULL, salt = NULL WHERE board = 'b' AND seq = 3", [("b", 3, "gone")]),
    ],
)
async def test_the_check_finds(path: Path, damage: str, flaws: list[tuple[str, int, str]]) -> None:
    store = await open_store(str(path), Settings())
    for board in ("a", "b", "ü"):
        await filled(store, 5, board)
    await store.close()
    assert (await schema.check(str(path))).flaws == []
    execute(path, damage)
    found = await schema.check(str(path))
    assert found.boards == 3
    assert [(flaw.board, flaw.seq) for flaw in found.flaws] == [flaw[:2] for flaw in flaws]
    assert all(part in flaw.detail for flaw, (_, _, part) in zip(found.flaws, flaws, strict=True))


async def test_the_check_finds_what_is_wrong_with_the_file_itself(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await filled(store, 5)
    await store.close()
    with path.open("r+b") as file:  # more of each page is said to be reserved than is
        file.seek(20)
        file.write(b"\xff")
    found = await schema.check(str(path))
    assert {(flaw.board, flaw.seq) for flaw in found.flaws} == {("", 0)}


async def test_tables_without_a_schema_revision_are_not_migrated_over(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await store.close()
    execute(path, "DELETE FROM alembic_version")
    with pytest.raises(SchemaMismatch, match="no schema revision"):
        await open_store(str(path), Settings())


async def test_the_check_counts_what_it_does_not_know(path: Path) -> None:
    store = await open_store(str(path), Settings())
    log, rows = opened("later")
    rows += log.body(kinds.BoardFormatRaised(format=99), actor="operator:ops")
    await store.append(rows)
    await store.close()
    found = await schema.check(str(path))
    assert found.too_new == ["later"]
    assert found.flaws == []
    execute(path, "UPDATE events SET kind = 'something.new' WHERE seq = 2")
    found = await schema.check(str(path))
    assert (found.opaque, [flaw.seq for flaw in found.flaws]) == (0, [2])
