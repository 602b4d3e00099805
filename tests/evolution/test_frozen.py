"""Databases as earlier releases left them, with what their own code wrote: nothing is lost on the way up."""

from __future__ import annotations

from pathlib import Path

import pytest

import blackboard
from blackboard.config import Settings
from blackboard.errors import Unauthenticated
from blackboard.events.kinds import FORMAT
from blackboard.events.vocabulary import VOCABULARY
from blackboard.projections import snapshot
from blackboard.store import open_store, schema
from blackboard.store.engines import is_postgresql
from blackboard.store.revision import KNOWN, NEWEST, OLDEST
from tests.client.live import serving
from tests.evolution.databases import BOARDS, ask, ddl, migrate, rows, tables, take_down, thaw
from tests.evolution.freeze import FROZEN
from tests.evolution.recipe import SECRET, told

EARLIER = KNOWN[:-1]
LOG = ("boards", "events", "tokens")

earlier = pytest.mark.parametrize("revision", EARLIER)


def test_every_earlier_revision_is_frozen_on_both_engines() -> None:
    wanted = {f"{revision}.{engine}.sql" for revision in EARLIER for engine in ("sqlite", "postgresql")}
    assert {path.name for path in FROZEN.iterdir()} == wanted | {"boards.json"}
    assert tuple(BOARDS) == EARLIER


def test_what_is_frozen_is_small_and_names_no_machine() -> None:
    assert sum(path.stat().st_size for path in FROZEN.iterdir()) < 150_000
    for path in FROZEN.glob("*.sql"):
        words = path.read_text(encoding="utf-8").lower()
        assert not [
            word for word in ("dumped", "/tmp", "/home", "/root", "127.0.0.1", "owner to") if word in words
        ]


@earlier
def test_every_event_kind_of_the_newest_format_is_in_the_frozen_log(url: str, revision: str) -> None:
    thaw(revision, url)
    of_format = VOCABULARY[min(FORMAT, EARLIER.index(revision) + 1)]
    found = {(kind, version) for kind, version in ask(url, "SELECT DISTINCT kind, version FROM events")}
    missing = {"board.format-raised"} if revision == "0001" else set()  # there was nothing to raise it to
    assert set(of_format.items()) - found == {(kind, of_format[kind]) for kind in missing}
    assert len(ask(url, "SELECT 1 FROM events WHERE body IS NULL AND salt IS NULL")) == 1


@earlier
def test_the_frozen_tables_are_those_that_the_migrations_make(
    url: str, revision: str, tmp_path: Path
) -> None:
    thaw(revision, url)
    found = ddl(url)
    take_down(url, "base")
    assert tables(url) == {"alembic_version"}
    migrate(url, revision)
    assert ddl(url) == found


@earlier
async def test_it_upgrades_and_folds_to_the_same_boards(url: str, revision: str) -> None:
    thaw(revision, url)
    log = rows(url, *LOG)
    before = await schema.check(url)
    done = await schema.upgrade(url)
    assert (done.before, done.revision, done.skipped) == (revision, NEWEST, {})
    after = await schema.check(url)
    assert (after.flaws, after.opaque, after.redacted, after.too_new) == ([], 0, 1, [])
    assert after.digest == before.digest
    assert rows(url, *LOG) == log
    store = await open_store(url, Settings())
    assert {row.name: await told(store, row.name) for row in await store.boards()} == BOARDS[revision]
    await store.close()


@earlier
async def test_its_snapshot_moves_and_serves_where_it_still_can(url: str, revision: str) -> None:
    thaw(revision, url)
    table = "saved_boards" if revision >= OLDEST else "snapshots"
    kept = ask(url, f"SELECT board, fingerprint, seq, digest FROM {table}")
    migrate(url)
    assert ask(url, "SELECT board, fingerprint, seq, digest FROM saved_boards") == kept
    sizes = ask(url, "SELECT parts, bytes FROM saved_boards")
    assert ask(url, "SELECT count(*), sum(length(state)) FROM saved_parts") == sizes
    ((board, fingerprint, seq, _),) = kept
    store = await open_store(url, Settings())
    loaded = await store.load(board)
    assert loaded is not None
    assert loaded.snapshot_seq == (seq if fingerprint == snapshot.FINGERPRINT else 0)
    await store.close()


@earlier
def test_it_is_served_over_http_and_written_to(url: str, revision: str, tmp_path: Path) -> None:
    thaw(revision, url)
    if is_postgresql(url):
        migrate(url)  # a server leaves that to `db upgrade`
    with serving(tmp_path / "state", url) as server:
        for board, frozen in BOARDS[revision].items():
            with blackboard.connect_sync(server.url, board=board, token=f"{SECRET}operator") as ops:
                assert ops.get_board().head == frozen["head"]
                assert [event.seq for event in ops.log()] == list(range(1, frozen["head"] + 1))
                ops.set_policy({"completion_window": 7})
                assert ops.get_board().head == frozen["head"] + 1
            with blackboard.connect_sync(server.url, board=board, token=f"{SECRET}agent") as agent:
                agent.read_all()
                assert agent.say("as before").seq > frozen["head"]
        with pytest.raises(Unauthenticated):
            blackboard.connect_sync(server.url, board=board, token=f"{SECRET}auditor").get_board()


@earlier
async def test_it_goes_back_with_the_log_as_it_was(url: str, revision: str) -> None:
    thaw(revision, url)
    log, made = rows(url, *LOG, "formats", "alembic_version"), ddl(url)
    before = await schema.check(url)
    await schema.upgrade(url)
    found = await schema.downgrade(url, revision)
    assert (found.revision, found.served) == (revision, revision >= OLDEST)
    assert rows(url, *LOG, "formats", "alembic_version") == log
    assert ddl(url) == made
    assert (await schema.check(url)).digest == before.digest
