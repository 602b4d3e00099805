"""Code ahead of the database or behind it, a database that is empty, foreign or damaged: a clear answer."""

from __future__ import annotations

import pytest

from blackboard.cli.app import run as blackboard
from blackboard.config import Settings
from blackboard.errors import BlackboardError, SchemaMismatch
from blackboard.store import open_store, schema
from blackboard.store.engines import is_postgresql
from blackboard.store.revision import EXPANDED, KNOWN, NEWEST, OLDEST
from tests.evolution.databases import ask, migrate, run, tables, thaw
from tests.store.support import filled, loaded

AHEAD = "ahead of release .*run a newer release"
OTHERS = "holds other tables .* and no board: name another database"
NO_REVISION = "no schema revision: it is damaged, or another application's"
MISSING = "says that it is at schema revision '0004', and its tables .*events.* are missing"

STATES = {
    "ahead": ("UPDATE alembic_version SET version_num = '9999'", AHEAD),
    "ahead-and-apart": (
        """UPDATE alembic_version SET version_num = '9999';
        INSERT INTO revisions VALUES ('9999', '9.0.0', '9998')""",
        AHEAD,
    ),
    "no-revision": ("DELETE FROM alembic_version", NO_REVISION),
    "version-without-tables": (
        """DROP TABLE boards; DROP TABLE events; DROP TABLE formats; DROP TABLE tokens;
        DROP TABLE revisions; DROP TABLE saved_boards; DROP TABLE saved_parts""",
        MISSING,
    ),
    "a-table-is-missing": ("DROP TABLE events", MISSING),
}

FOREIGN = {
    "other-tables": "CREATE TABLE invoices (id INTEGER)",
    "other-migrations": (
        """CREATE TABLE invoices (id INTEGER);
        CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
        INSERT INTO alembic_version VALUES ('a1b2c3')"""
    ),
}


async def refusals(url: str) -> list[BlackboardError]:
    """What whoever uses the database is told, command by command."""
    told: list[BlackboardError] = []
    for attempt in (
        lambda: open_store(url, Settings()),
        lambda: open_store(url, Settings(), read_only=True),
        lambda: schema.check(url),
        lambda: schema.upgrade(url),
        lambda: schema.downgrade(url, "0001"),
    ):
        with pytest.raises(SchemaMismatch) as caught:
            await attempt()
        told.append(caught.value)
    return told


@pytest.mark.parametrize("state", STATES)
async def test_what_this_release_cannot_use_it_names_and_leaves_alone(url: str, state: str) -> None:
    change, words = STATES[state]
    migrate(url)
    run(url, change)
    before = tables(url)
    for error in await refusals(url):
        assert pytest.raises(SchemaMismatch, match=words).matches(error), error.detail
        assert "postgres:" not in error.detail, "the URL is shown without its password"
    assert tables(url) == before


@pytest.mark.parametrize("state", FOREIGN)
async def test_another_applications_database_is_left_alone(url: str, state: str) -> None:
    run(url, FOREIGN[state])
    before = tables(url)
    for error in await refusals(url):
        assert pytest.raises(SchemaMismatch, match=OTHERS).matches(error), error.detail
    assert tables(url) == before


@pytest.mark.parametrize("revision", [known for known in KNOWN if known < OLDEST])
async def test_an_older_schema_on_postgres_is_not_migrated_by_serving(
    postgres_url: str, revision: str
) -> None:
    thaw(revision, postgres_url)
    for read_only in (False, True):
        with pytest.raises(SchemaMismatch, match=f"{revision}, this release needs .*blackboard db upgrade"):
            await open_store(postgres_url, Settings(), read_only=read_only)
    assert (await schema.current(postgres_url)) == schema.Current(revision, NEWEST, served=False)


@pytest.mark.parametrize("revision", [known for known in KNOWN if known >= OLDEST])
async def test_this_release_works_from_the_oldest_to_the_newest_on_postgres(
    postgres_url: str, revision: str
) -> None:
    migrate(postgres_url, revision)
    store = await open_store(postgres_url, Settings())
    await filled(store, 5)
    found = await loaded(store)
    await store.snapshot(found.board, found.tip)
    assert (await loaded(store)).replayed == 0
    await store.close()
    assert (await schema.current(postgres_url)) == schema.Current(revision, NEWEST, served=True)


async def test_a_file_is_taken_to_the_newest_by_opening_it_but_not_by_looking(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    thaw("0002", url)
    with pytest.raises(SchemaMismatch, match="0002, this release needs"):
        await open_store(url, Settings(), read_only=True)
    await (await open_store(url, Settings())).close()
    assert ask(url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


@pytest.mark.parametrize("works_from", KNOWN)
async def test_a_newer_schema_is_used_where_it_says_that_it_may_be(url: str, works_from: str) -> None:
    migrate(url)
    run(
        url,
        "UPDATE alembic_version SET version_num = '9999'; CREATE TABLE later (id INTEGER);"
        f"INSERT INTO revisions VALUES ('9999', '9.0.0', '{works_from}')",
    )
    store = await open_store(url, Settings())
    log, _ = await filled(store, 5)
    assert (await loaded(store)).tip == log.tip
    await store.close()
    assert (await schema.check(url)).events == 6
    assert (await schema.current(url)) == schema.Current("9999", NEWEST, served=True)
    for migrating in (schema.upgrade(url), schema.downgrade(url, EXPANDED)):
        with pytest.raises(SchemaMismatch, match=AHEAD):
            await migrating
    assert ask(url, "SELECT version_num FROM alembic_version") == [("9999",)]


async def test_an_empty_database_gets_its_tables_when_it_is_opened_to_be_written(url: str) -> None:
    if is_postgresql(url):
        assert await schema.current(url) == schema.Current(None, NEWEST, served=False)
        with pytest.raises(SchemaMismatch, match="revision none, this release needs"):
            await open_store(url, Settings(), read_only=True)
    await (await open_store(url, Settings())).close()
    assert await schema.current(url) == schema.Current(NEWEST, NEWEST, served=True)


async def test_what_an_extension_brought_to_postgres_is_no_foreign_table(postgres_url: str) -> None:
    # Any table can be made an extension's own: no extension with tables comes with every PostgreSQL.
    run(
        postgres_url, "CREATE TABLE of_extension (id INTEGER); ALTER EXTENSION plpgsql ADD TABLE of_extension"
    )
    await (await open_store(postgres_url, Settings())).close()
    assert (await schema.current(postgres_url)).revision == NEWEST


def test_a_user_of_postgres_who_may_not_make_tables_is_told_what_it_takes(postgres_url: str) -> None:
    name = f"reader_{postgres_url[-8:]}"
    run(postgres_url, f"CREATE ROLE {name} LOGIN PASSWORD 'p'")
    try:
        place = postgres_url.rpartition("@")[2]
        with pytest.raises(BlackboardError, match="must own them, and have CREATE on their schema"):
            migrate(f"postgresql://{name}:p@{place}")
    finally:
        run(postgres_url, f"DROP ROLE {name}")


@pytest.mark.parametrize("command", ["current", "upgrade", "downgrade", "check"])
def test_the_commands_say_it_in_a_line_without_a_traceback(
    url: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(url, FOREIGN["other-tables"])
    assert blackboard(["db", command, "--db", url]) == SchemaMismatch.exit_code
    said = capsys.readouterr()
    assert "invoices" in said.err
    assert "Traceback" not in said.err + said.out


def test_the_commands_work_on_both_engines(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> str:
        assert blackboard(["db", *words, "--db", url]) == 0
        return capsys.readouterr().out

    assert told("upgrade") == f"no tables -> {NEWEST}\n"
    assert told("downgrade") == f"{EXPANDED} (newest {NEWEST})\n"
    assert told("current") == f"{EXPANDED} (newest {NEWEST})\n"
    assert "every digest, hash and seq fits" in told("check")
    assert told("downgrade", "0001") == f"0001 (newest {NEWEST})\n"
    assert told("upgrade") == f"0001 -> {NEWEST}\n"
