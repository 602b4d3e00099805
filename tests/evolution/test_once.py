"""What may go wrong between a migration and its PostgreSQL server, and what whoever runs it is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection

from blackboard.errors import BlackboardError, Malformed, StoreBusy, Unavailable
from blackboard.store.engines import connected
from blackboard.store.postgresql import once
from blackboard.store.revision import NEWEST
from tests.evolution.databases import ask, beside, migrate, run, tables, thaw
from tests.store.test_migrations import CHECKOUT

RAISE = "DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '{}'; END $$"


def refused(url: str, *statements: str) -> BlackboardError:
    """What is said when the last of these statements fails."""

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.exec_driver_sql(statement)

    with pytest.raises(BlackboardError) as told:
        connected(url, work)
    assert str(urlsplit(url).password) not in told.value.detail, "the password is nobody's business"
    return told.value


@pytest.mark.parametrize("state", sorted(once.RACES))
def test_who_meets_another_one_on_postgres_begins_again(postgres_url: str, state: str) -> None:
    attempts: list[int] = []

    def work(connection: Connection) -> int:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            connection.exec_driver_sql(RAISE.format(state))
        return len(attempts)

    assert connected(postgres_url, work) == 3


def test_who_meets_another_one_on_postgres_for_ever_is_told_so(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "PAUSE_SECONDS", 0)
    error = refused(postgres_url, RAISE.format("40001"))
    assert isinstance(error, StoreBusy)
    assert "nothing was stored" in error.detail


def test_a_table_of_postgres_that_is_in_use_for_too_long_is_left_to_its_users(postgres_url: str) -> None:
    thaw("0003", postgres_url)

    def using_it(connection: Connection) -> BlackboardError:
        connection.exec_driver_sql("LOCK TABLE snapshots IN ACCESS SHARE MODE")
        dropping = ("SET LOCAL lock_timeout = '50ms'", "DROP TABLE snapshots")
        return beside(lambda: refused(postgres_url, *dropping))

    error = connected(postgres_url, using_it)
    assert isinstance(error, StoreBusy)
    assert "nothing was changed: try again when it is free" in error.detail


def test_a_connection_to_postgres_that_is_lost_leaves_all_or_nothing(postgres_url: str) -> None:
    error = refused(
        postgres_url, "CREATE TABLE half (id INTEGER)", "SELECT pg_terminate_backend(pg_backend_pid())"
    )
    assert isinstance(error, Unavailable)
    assert "all of it was done, or nothing; `blackboard db current` tells" in error.detail
    assert tables(postgres_url) == set()


def test_a_postgres_that_is_not_there_is_named(postgres_url: str) -> None:
    nowhere = f"{postgres_url}_not_there"
    with pytest.raises(Unavailable, match="does not exist: create it") as told:
        connected(nowhere, lambda connection: None)
    assert "_not_there" in told.value.detail


@pytest.mark.parametrize("url", ["postgresql://host:port/db", "postgresql://u:secret#@host/db"])
def test_a_url_of_postgres_that_cannot_be_read_is_malformed_and_shows_no_password(url: str) -> None:
    with pytest.raises(Malformed) as told:
        migrate(url)
    assert "secret" not in told.value.detail


def alembic(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alembic", *words],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_author_runs_alembic_on_postgres_from_the_checkout(postgres_url: str) -> None:
    for words in (["upgrade", "head"], ["downgrade", "0002"], ["upgrade", "head"]):
        done = alembic("-x", f"db={postgres_url}", *words)
        assert done.returncode == 0, done.stderr
    assert ask(postgres_url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]
    done = alembic("-x", f"db={postgres_url}", "-x", "citus=yes", "upgrade", "head")
    assert done.returncode == 1
    assert "CREATE EXTENSION citus" in done.stderr


def test_the_statements_of_an_upgrade_of_postgres_can_be_shown_and_run(
    postgres_url: str, tmp_path: Path
) -> None:
    done = alembic("-x", f"db={postgres_url}", "upgrade", "head", "--sql")
    assert done.returncode == 0, done.stderr
    assert 'COLLATE "C"' in done.stdout
    assert tables(postgres_url) == set()
    run(postgres_url, done.stdout)
    assert ask(postgres_url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]
