"""Migrating a database that is in use, from several places, and cut short."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from blackboard.config import Settings
from blackboard.errors import Malformed
from blackboard.projections import snapshot
from blackboard.store import open_store, schema
from blackboard.store.engines import connected
from blackboard.store.revision import EXPANDED, KNOWN, NEWEST, OLDEST
from blackboard.store.tables import METADATA
from tests.evolution.databases import ask, beside, ddl, migrate, rows, run, tables, thaw
from tests.evolution.freeze import fill, rows_of
from tests.store.support import filled, loaded
from tests.store.test_migrations import CHECKOUT, scripts

KILL = """
import os, signal, sys
from sqlalchemy import Engine, event
from blackboard.store.migrating import migrate
done = 0
@event.listens_for(Engine, "after_cursor_execute")
def after(connection, cursor, statement, *rest):
    global done
    changed = statement.split()[:2] in (["CREATE", "TABLE"], ["DROP", "TABLE"])
    done += changed and "alembic_version" not in statement
    if changed and done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
migrate(sys.argv[1])
"""


def upgrading(url: str, *options: str) -> subprocess.Popen[str]:
    """`blackboard db upgrade`, begun."""
    return subprocess.Popen(
        [sys.executable, "-m", "blackboard", "db", "upgrade", "--json", "--db", url, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> dict:
    """Its answer, or the problem that it names."""
    answer, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    return json.loads(answer)


def contracts(revision: str) -> bool:
    """Whether the migration says that it takes away what the release before uses."""
    said: bool = scripts().get_revision(revision).module.contracts
    return said


def create_all(connection: Connection) -> None:
    METADATA.create_all(connection)
    connection.commit()


def test_the_migrations_make_exactly_the_tables_of_the_code_on_postgres(postgres_url: str) -> None:
    migrate(postgres_url)
    by_migration = ddl(postgres_url)
    assert connected(postgres_url, lambda c: compare_metadata(MigrationContext.configure(c), METADATA)) == []
    run(postgres_url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    connected(postgres_url, create_all)
    by_code = ddl(postgres_url)
    assert [row for row in by_migration if "alembic_version" not in str(row)] == by_code


def test_keys_sort_by_code_point_on_both_engines(url: str) -> None:
    migrate(url)
    for name in ("b", "Z", "ä", "a-", "aa", "É"):
        run(url, f"INSERT INTO boards VALUES ('{name}', 1)")
    assert ask(url, "SELECT id FROM boards ORDER BY id") == [
        (n,) for n in sorted(("b", "Z", "ä", "a-", "aa", "É"))
    ]


def test_what_contracts_lies_above_what_an_expansion_stops_at() -> None:
    contracting = [revision for revision in KNOWN if contracts(revision)]
    assert KNOWN[KNOWN.index(contracting[0]) - 1] == EXPANDED
    assert EXPANDED >= OLDEST, "this release serves what it has expanded"


def test_every_revision_says_which_releases_work_on_it(url: str) -> None:
    migrate(url)
    said = ask(url, "SELECT revision, release, works_from FROM revisions ORDER BY revision")
    assert [revision for revision, _, _ in said] == list(KNOWN)
    assert all(works_from in KNOWN[: KNOWN.index(revision) + 1] for revision, _, works_from in said)
    assert said[KNOWN.index(EXPANDED)][2] < EXPANDED, "the release before goes on with it"


def test_the_page_on_operations_says_the_same_of_every_revision(url: str) -> None:
    migrate(url)
    text = (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
    told = [line.strip("| ").split(" | ")[:3] for line in text.splitlines() if line.startswith("| 000")]
    assert told == [list(row) for row in ask(url, "SELECT * FROM revisions ORDER BY revision")]


async def test_an_expansion_leaves_the_release_before_what_it_uses(postgres_url: str) -> None:
    thaw("0002", postgres_url)
    before = rows(postgres_url, "snapshots")
    done = await schema.upgrade(postgres_url, expand=True)
    assert (done.before, done.revision) == ("0002", EXPANDED)
    assert rows(postgres_url, "snapshots") == before
    assert (await schema.current(postgres_url)).served
    assert (await schema.upgrade(postgres_url, expand=True)).revision == EXPANDED
    assert (await schema.upgrade(postgres_url)).revision == NEWEST
    assert "snapshots" not in tables(postgres_url)
    assert (await schema.upgrade(postgres_url, expand=True)).revision == NEWEST, "it never goes down"


async def test_an_option_that_means_nothing_for_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="--expand is for a PostgreSQL database"):
        await schema.upgrade(str(tmp_path / "board.db"), expand=True)
    with pytest.raises(Malformed, match="--citus is for a PostgreSQL database"):
        await schema.upgrade(str(tmp_path / "board.db"), citus=True)
    assert not (tmp_path / "board.db").exists()


def test_two_that_migrate_at_once_on_postgres_both_succeed_and_one_did_it(postgres_url: str) -> None:
    thaw("0001", postgres_url)
    log = rows(postgres_url, "events", "boards")
    both = meeting(postgres_url, 2)
    assert sorted(answer["before"] for answer in both) == ["0001", NEWEST]
    assert {answer["revision"] for answer in both} == {NEWEST}
    assert rows(postgres_url, "events", "boards") == log


def meeting(url: str, number: int) -> list[dict]:
    """Let so many upgrades wait for the lock, which they then get one after the other."""
    with subprocess.Popen([sys.executable, "-c", HOLD, url, str(number)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        return [ended(process) for process in [upgrading(url) for _ in range(number)]]


HOLD = """
import asyncio, sys
import asyncpg
async def main(url, number):
    watching, holding = await asyncpg.connect(url), await asyncpg.connect(url)
    async with holding.transaction():
        await holding.execute("SELECT * FROM alembic_version FOR UPDATE")
        print("held", flush=True)
        for _ in range(1000):
            if await watching.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND wait_event_type = 'Lock'") == number:
                break
            await asyncio.sleep(0.05)
    await holding.close()
    await watching.close()
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def test_four_that_open_an_empty_database_on_postgres_at_once_all_succeed(postgres_url: str) -> None:
    processes = [upgrading(postgres_url) for _ in range(4)]
    answers = [ended(process) for process in processes]
    assert {answer["revision"] for answer in answers} == {NEWEST}
    assert [answer["before"] for answer in answers].count(None) == 1


def test_two_that_migrate_one_file_at_once_are_done_or_told_to_wait(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'board.db'}"
    thaw("0001", url)
    answers = [ended(process) for process in [upgrading(url) for _ in range(2)]]
    assert {answer.get("revision") or answer["code"] for answer in answers} <= {NEWEST, "store-busy"}
    # Both, where the second looked before the first was done and came to own the file after.
    assert "0001" in [answer.get("before") for answer in answers]
    assert ask(url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


def test_a_migration_killed_between_any_two_changes_leaves_all_as_it_was(url: str) -> None:
    thaw("0002", url)
    log, made = rows(url, "events", "boards", "snapshots", "formats", "alembic_version"), ddl(url)
    for change in (1, 2, 3, 4):
        done = subprocess.run([sys.executable, "-c", KILL, url, str(change)], check=False, timeout=60)
        assert done.returncode == -signal.SIGKILL, change
        assert ddl(url) == made
        assert rows(url, "events", "boards", "snapshots", "formats", "alembic_version") == log
    done = subprocess.run([sys.executable, "-c", KILL, url, "5"], check=False, timeout=60)
    assert done.returncode == 0, "there were four changes"
    assert ask(url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


async def test_upgrading_builds_snapshots_of_a_new_fingerprint(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(snapshot_every=50)
    store = await open_store(url, settings)
    await filled(store, 120, "large")
    await filled(store, 10, "small")
    found = await loaded(store, "large")
    await store.snapshot(found.board, found.tip)
    await store.close()
    assert (await schema.upgrade(url, settings)).snapshots == []
    monkeypatch.setattr(snapshot, "FINGERPRINT", "of the next release")
    seen: list[tuple[int, int]] = []
    done = await schema.upgrade(url, settings, progress=lambda *figures: seen.append(figures))
    assert (done.snapshots, seen) == (["large"], [(121, 121)])
    assert ask(url, "SELECT fingerprint, seq FROM saved_boards WHERE fingerprint LIKE 'of%'") == [
        ("of the next release", 121)
    ]
    store = await open_store(url, settings)
    assert (await loaded(store, "large")).replayed == 0
    await store.close()


async def test_upgrading_on_postgres_goes_on_beside_a_server_that_writes(postgres_url: str) -> None:
    thaw("0003", postgres_url)
    store = await open_store(postgres_url, Settings())
    log, _ = await filled(store, 5, "busy")
    stop = asyncio.Event()

    async def write() -> int:
        written = 0
        while not stop.is_set():
            await store.append(log.writes(1))
            written += 1
        return written

    writing = asyncio.create_task(write())
    for _ in range(3):
        await schema.upgrade(postgres_url)
        await schema.downgrade(postgres_url, EXPANDED)
    await schema.upgrade(postgres_url)
    stop.set()
    assert await writing > 0
    assert (await loaded(store, "busy", verify=True)).tip == log.tip
    await store.close()


async def test_the_check_counts_up_to_the_end_and_stays_at_what_there_was(url: str) -> None:
    store = await open_store(url, Settings())
    await filled(store, 1_500, "a")
    log, _ = await filled(store, 20, "b")
    seen: list[tuple[int, int]] = []
    found = await schema.check(url, progress=lambda *figures: seen.append(figures))
    assert (found.boards, found.events, found.flaws) == (2, 1_522, [])
    assert seen[-1] == (1_522, 1_522)
    assert (await schema.check(url)).digest == found.digest
    await store.append(log.writes(1))
    assert (await schema.check(url)).digest != found.digest
    await store.close()


async def test_a_log_copied_row_by_row_to_postgres_has_the_same_digest(
    tmp_path: Path, postgres_url: str
) -> None:
    path = str(tmp_path / "board.db")
    store = await open_store(path, Settings())
    for name in ("b", "Z", "ä", "a-", "aa"):
        await filled(store, 20, name)
    await store.close()
    copied = beside(lambda: connected(path, rows_of, read_only=True))
    migrate(postgres_url)
    beside(lambda: connected(postgres_url, lambda connection: fill(connection, copied)))
    here, there = await schema.check(path), await schema.check(postgres_url)
    assert (here.digest, here.kinds) == (there.digest, there.kinds)
    assert there.flaws == []
