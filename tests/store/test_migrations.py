"""The tables that migrations make, in both directions, with a log in place."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from blackboard.config import Settings
from blackboard.errors import SchemaMismatch
from blackboard.events.kinds import FORMAT
from blackboard.store import migrating, open_store
from blackboard.store.engines import sync_engine
from blackboard.store.revision import KNOWN, NEWEST
from blackboard.store.tables import METADATA
from tests.contract.test_store_reads import token
from tests.store.support import filled, loaded

CHECKOUT = Path(__file__).parents[2]


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(migrating.directory()))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def schema(path: Path) -> dict[str, str]:
    """Every table and index as SQLite keeps it."""
    connection = sqlite3.connect(path)
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND sql IS NOT NULL"
    ).fetchall()
    connection.close()
    return dict(found)


def log_digest(path: Path) -> str:
    """A digest over every row of the log."""
    connection = sqlite3.connect(path)
    digest = hashlib.sha256()
    for row in connection.execute("SELECT * FROM events ORDER BY board, seq"):
        digest.update(repr(row).encode())
    for row in connection.execute("SELECT * FROM boards ORDER BY id"):
        digest.update(repr(row).encode())
    connection.close()
    return digest.hexdigest()


def test_the_migrations_make_exactly_the_tables_of_the_code(tmp_path: Path) -> None:
    by_code, by_migration = tmp_path / "code.db", tmp_path / "migrated.db"
    engine = sync_engine(str(by_code))
    with engine.begin() as connection:
        METADATA.create_all(connection)
    migrating.migrate(str(by_migration))
    assert schema(by_migration) == schema(by_code)
    engine = sync_engine(str(by_migration))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_the_code_knows_every_migration_and_they_stand_in_one_line() -> None:
    found = list(reversed([script.revision for script in scripts().walk_revisions()]))
    assert tuple(found) == KNOWN
    assert scripts().get_heads() == [NEWEST]


def test_every_migration_goes_both_ways() -> None:
    for script in scripts().walk_revisions():
        assert callable(script.module.upgrade)
        assert callable(script.module.downgrade)


def test_the_release_of_this_format_is_on_record(path: Path) -> None:
    migrating.migrate(str(path))
    connection = sqlite3.connect(path)
    known = [row[0] for row in connection.execute("SELECT format FROM formats ORDER BY format")]
    connection.close()
    assert known == list(range(1, FORMAT + 1))


@pytest.mark.parametrize("revision", KNOWN)
async def test_a_log_is_the_same_after_going_down_and_up(path: Path, revision: str) -> None:
    store = await open_store(str(path), Settings())
    log, _ = await filled(store, 200)
    await filled(store, 20, "ünï")
    await store.put_token(token(1))
    found = await loaded(store)
    await store.snapshot(found.board, found.tip)
    await store.close()
    before = log_digest(path)
    migrating.take_down(str(path), revision)
    assert log_digest(path) == before
    migrating.migrate(str(path))
    assert log_digest(path) == before
    store = await open_store(str(path), Settings())
    assert (await loaded(store, verify=True)).tip == log.tip
    assert await store.tokens() == [token(1)]
    await store.close()


def test_going_down_to_base_leaves_no_table(path: Path) -> None:
    migrating.migrate(str(path))
    migrating.take_down(str(path), "base")
    assert schema(path) == {}
    migrating.migrate(str(path))
    assert "events" in schema(path)


def test_a_migration_that_fails_leaves_everything_as_it_was(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE tokens (id TEXT)")  # in the way of 0001, after boards and events
    connection.commit()
    connection.close()
    with pytest.raises(Exception, match="tokens"):
        migrating.migrate(str(path))
    assert set(schema(path)) == {"tokens"}


def test_migrating_twice_is_migrating_once(path: Path) -> None:
    migrating.migrate(str(path))
    before = schema(path)
    migrating.migrate(str(path))
    assert schema(path) == before


def test_an_author_runs_alembic_from_the_checkout(path: Path) -> None:
    for command in (["upgrade", "head"], ["current"], ["downgrade", "base"], ["upgrade", "head"]):
        done = subprocess.run(
            [sys.executable, "-m", "alembic", "-x", f"db={path}", *command],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "events" in schema(path)


def test_the_statements_of_an_upgrade_can_be_shown(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "upgrade", "head", "--sql"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "CREATE TABLE events" in done.stdout
    assert not path.exists()


def test_an_author_who_names_no_database_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "current"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "name the database" in done.stderr


def test_migrations_of_an_installed_package_are_found_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import blackboard

    package = tmp_path / "site" / "blackboard"
    (package / "_migrations").mkdir(parents=True)
    monkeypatch.setattr(blackboard, "__file__", str(package / "__init__.py"))
    with pytest.raises(SchemaMismatch, match="install the package again"):
        migrating.directory()
    (package / "_migrations" / "env.py").touch()
    assert migrating.directory() == package / "_migrations"
