"""`doctor` on PostgreSQL: what it finds, what it makes of figures, and that no password shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from blackboard.cli import passwords
from blackboard.cli.commands.doctor import figures as all_figures
from blackboard.cli.doctor import machine
from blackboard.cli.doctor.finding import Finding
from blackboard.cli.session import Session, Target
from blackboard.config import Settings
from blackboard.store import open_store
from blackboard.store.postgresql.figures import look, own_session
from tests.cli.conftest import Cli
from tests.postgres.cluster import UNSAFE, Cluster, database_at, own_cluster
from tests.server.support import driven

SOUND: dict[str, Any] = {
    "engine": "postgresql",
    "version": "18.6",
    "version_number": 180006,
    "fsync": "on",
    "synchronous_commit": "on",
    "synchronous_standbys": "",
    "full_page_writes": "on",
    "isolation": "read committed",
    "encoding": "UTF8",
    "statement_timeout_ms": 30_000,
    "idle_in_transaction_ms": 10_000,
    "replica": False,
    "superuser": False,
    "encrypted": True,
    "local": False,
    "bytes": 7_000_000,
    "connections_most": 97,
    "connections": 4,
    "role_connections": 4,
    "database_connections": 4,
    "pooled": False,
    "clock_ahead_ms": 3,
    "revision": "0004",
}
WHERE = "postgresql://blackboard@db.example/blackboard"
Ask = Callable[[str, str], None]


def found(what: str, settings: Settings | None = None, **changed: Any) -> list[Finding]:
    """The findings under one heading, where something is not as in SOUND."""
    told = all_figures(SOUND | changed, settings or Settings(), WHERE)
    return [one for one in told if one.what == what]


def only(what: str, settings: Settings | None = None, **changed: Any) -> Finding:
    (one,) = found(what, settings, **changed)
    return one


def lines(out: str) -> dict[str, str]:
    """Heading -> level, of what the command printed."""
    shown = [
        line.partition(": ")[0].split(maxsplit=1) for line in out.splitlines() if not line.startswith(" ")
    ]
    return {what: level for level, what in shown}


# ---- what it makes of figures


def test_a_sound_server_gives_no_reason_to_do_anything() -> None:
    told = all_figures(SOUND, Settings(), WHERE)
    assert {one.level for one in told} == {"ok"}
    assert [one.what for one in told] == [
        "database",
        "PostgreSQL",
        "schema",
        "acknowledgement",
        "isolation",
        "clock",
        "connections",
    ]


@pytest.mark.parametrize(
    ("number", "level"),
    [(120_022, "fail"), (130_000, "warn"), (149_999, "warn"), (150_000, "ok"), (None, "warn")],
)
def test_doctor_knows_which_versions_are_supported_and_tried(number: int | None, level: str) -> None:
    assert only("PostgreSQL", version_number=number).level == level


@pytest.mark.parametrize(
    ("changed", "durability", "level", "says"),
    [
        ({}, "full", "ok", "a failover to a standby can lose"),
        ({"synchronous_standbys": "ANY 1 (b, c)"}, "full", "ok", "with the standbys ANY 1 (b, c)"),
        (
            {"synchronous_standbys": "b", "synchronous_commit": "local"},
            "full",
            "ok",
            "a failover to a standby",
        ),
        ({"synchronous_commit": "off"}, "full", "fail", "while durability is full"),
        ({"synchronous_commit": "off"}, "normal", "warn", "as durability = normal asks"),
        ({"fsync": "off"}, "full", "fail", "can take everything"),
        ({"fsync": "off", "synchronous_commit": "off"}, "normal", "fail", "can take everything"),
    ],
)
def test_doctor_says_what_an_acknowledgement_is_worth(
    changed: dict[str, str], durability: Any, level: str, says: str
) -> None:
    one = only("acknowledgement", Settings(durability=durability), **changed)
    assert (one.level, says in one.found) == (level, True)
    assert bool(one.do) is (level != "ok")


@pytest.mark.parametrize(
    ("what", "changed", "level"),
    [
        ("standby", {"replica": True}, "fail"),
        ("encoding", {"encoding": "SQL_ASCII"}, "fail"),
        ("full_page_writes", {"full_page_writes": "off"}, "warn"),
        ("isolation", {"isolation": "serializable"}, "warn"),
        ("clock", {"clock_ahead_ms": -2_001}, "warn"),
        ("clock", {"clock_ahead_ms": 2_000}, "ok"),
        ("pooler", {"pooled": True, "own_session": True}, "ok"),
        ("pooler", {"pooled": True, "own_session": False}, "fail"),
        ("pooler", {"pooled": True, "own_session": True, "statement_timeout_ms": 0}, "warn"),
        ("pooler", {"idle_in_transaction_ms": 0}, "warn"),
        ("encryption", {"encrypted": False}, "warn"),
        ("role", {"superuser": True}, "warn"),
    ],
)
def test_doctor_names_what_is_amiss_and_what_to_do(what: str, changed: dict[str, Any], level: str) -> None:
    one = only(what, **changed)
    assert one.level == level
    assert bool(one.do) is (level != "ok")


def test_a_connection_on_this_machine_needs_no_encryption() -> None:
    assert found("encryption", encrypted=False, local=True) == []


@pytest.mark.parametrize(
    ("changed", "levels"),
    [
        ({"connections": 80}, ["ok"]),
        ({"connections": 81}, ["warn"]),
        ({"role_connections_most": 10}, ["ok", "warn"]),
        ({"database_connections_most": 21}, ["ok", "ok"]),
    ],
)
def test_doctor_counts_whether_a_servers_connections_still_fit(
    changed: dict[str, Any], levels: list[str]
) -> None:
    assert [one.level for one in found("connections", **changed)] == levels


def test_figures_that_an_engine_does_not_tell_are_left_out() -> None:
    told = all_figures({"engine": "postgresql", "version": "Other 1", "pooled": False}, Settings(), WHERE)
    assert [(one.what, one.level) for one in told] == [
        ("database", "ok"),
        ("PostgreSQL", "warn"),
        ("schema", "ok"),
        ("isolation", "ok"),
    ]


# ---- what the server is asked


class Answering:
    """A connection to another engine, or to a server behind a pooler that hands out these processes."""

    def __init__(self, *processes: int) -> None:
        self.asked: list[str] = []
        self._processes = list(processes)

    def get_server_pid(self) -> int:
        return 7

    async def fetchrow(self, statement: str) -> dict[str, Any]:
        self.asked.append(statement)
        if "pg_stat_database" in statement:
            raise asyncpg.UndefinedTableError("no such catalogue")
        return {"version": "Other 1", "process": 8, "clock": 0}

    async def fetchval(self, _: str) -> int:
        return self._processes.pop(0)


async def test_an_engine_with_other_catalogues_is_asked_for_less() -> None:
    other = Answering()
    told = await look(other)
    assert (told["version"], told["pooled"], len(other.asked)) == ("Other 1", True, 2)
    assert isinstance(told["clock_ahead_ms"], int)


async def test_two_connections_with_one_process_share_a_session() -> None:
    assert not await own_session(Answering(1, 1), Answering(1))
    assert not await own_session(Answering(1, 3), Answering(2))
    assert await own_session(Answering(1, 1), Answering(2))


async def test_connections_to_postgres_itself_are_sessions(postgres_url: str) -> None:
    one, other = await asyncpg.connect(postgres_url), await asyncpg.connect(postgres_url)
    try:
        assert await own_session(one, other)
        assert (await look(one))["pooled"] is False
    finally:
        await one.close()
        await other.close()


# ---- on real servers


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A durable one, which can be made a standby."""
    with own_cluster({"wal_level": "replica"}) as running:
        yield running


@pytest.fixture
def ask(cluster: Cluster) -> Ask:
    """Run a statement in a database of the cluster, as its superuser."""

    async def run(database: str, statement: str) -> None:
        connection = await asyncpg.connect(cluster.url_of(database))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    return lambda database, statement: asyncio.run(run(database, statement))


@pytest.fixture
def board(cluster: Cluster, ask: Ask, cli: Cli) -> Iterator[str]:
    """The URL of a database with one board, that belongs to a role that may do nothing else."""
    ask("postgres", "CREATE ROLE keeper LOGIN PASSWORD 'guarded'")
    ask("postgres", "CREATE DATABASE kept OWNER keeper TEMPLATE template0")
    url = f"postgresql://keeper:guarded@127.0.0.1:{cluster.port}/kept"
    assert cli("db", "upgrade", "--db", url).code == 0
    assert cli("board", "open", "release-42", "--db", url).code == 0
    yield url
    ask("postgres", "DROP DATABASE kept WITH (FORCE)")
    ask("postgres", "DROP ROLE keeper")


def test_doctor_finds_nothing_amiss_on_a_postgres_as_the_page_makes_it(board: str, cli: Cli) -> None:
    ran = cli("doctor", "--db", board)
    assert ran.code == 0, ran.out
    assert set(lines(ran.out).values()) == {"ok"}
    assert {"database", "PostgreSQL", "schema", "acknowledgement", "clock", "board release-42"} <= set(
        lines(ran.out)
    )
    assert "SQLite" not in ran.out
    assert "guarded" not in ran.out
    assert cli("doctor", "--db", board, "--json").json["ok"] is True


def test_doctor_fails_where_a_postgres_database_does_not_wait_for_the_disk(
    board: str, ask: Ask, cli: Cli
) -> None:
    ask("postgres", "ALTER DATABASE kept SET synchronous_commit = off")
    ran = cli("doctor", "--db", board)
    assert (ran.code, lines(ran.out)["acknowledgement"]) == (2, "fail")


def test_doctor_warns_where_durability_normal_asks_postgres_not_to_wait(
    board: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBOARD_DURABILITY", "normal")
    ran = cli("doctor", "--db", board)
    assert (ran.code, lines(ran.out)["acknowledgement"]) == (0, "warn")


def test_doctor_and_readyz_tell_of_a_postgres_without_fsync(cli: Cli) -> None:
    async def ready(url: str) -> Any:
        store = await open_store(url, Settings())
        try:
            async with driven(store, opened=False, local=False) as server:
                return (await server.ask("GET", "/readyz", who=None)).json()
        finally:
            await store.close()

    with own_cluster(UNSAFE) as unsafe:
        url = database_at(unsafe)
        told = asyncio.run(ready(url))
        assert told["at_risk"] == ["fsync=off"]
        assert (told["store"]["fsync"], told["store"]["synchronous_commit"]) == ("off", "on")
        assert "connections" not in told["store"], "not for everybody"
        ran = cli("doctor", "--db", url)
        assert (ran.code, lines(ran.out)["acknowledgement"]) == (2, "fail")
        assert "do: set fsync = on" in ran.out


def test_doctor_warns_of_a_postgres_role_with_too_few_connections(board: str, ask: Ask, cli: Cli) -> None:
    ask("postgres", "ALTER ROLE keeper CONNECTION LIMIT 12")
    ran = cli("doctor", "--db", board)
    assert ran.code == 0
    assert "of 12 in use for this role; one server takes up to 17" in ran.out


def test_doctor_before_a_postgres_database_has_tables_makes_none(postgres_url: str, cli: Cli) -> None:
    for _ in range(2):
        ran = cli("doctor", "--db", postgres_url)
        assert (ran.code, lines(ran.out)["database"]) == (2, "fail")
        assert "run `blackboard db upgrade`" in ran.out


def test_doctor_ends_with_5_where_the_end_of_a_log_on_postgres_does_not_fit(
    board: str, ask: Ask, cli: Cli
) -> None:
    ask("kept", "UPDATE events SET body = replace(body, 'true', 'null')")
    ran = cli("doctor", "--db", board)
    assert (ran.code, lines(ran.out)["board release-42"]) == (5, "fail")


def test_doctor_fails_at_a_postgres_that_is_a_standby(board: str, cluster: Cluster, cli: Cli) -> None:
    data = cluster.place / "data"
    signal = data / "standby.signal"
    cluster.stop()
    signal.touch()
    try:
        cluster.start()
        ran = cli("doctor", "--db", board)
        assert (ran.code, lines(ran.out)["standby"]) == (2, "fail")
        assert lines(ran.out)["board release-42"] == "ok"
        refused = cli("board", "open", "another", "--db", board)
        assert "name the primary" in refused.err
        cluster.stop()
    finally:
        signal.unlink()
        cluster.kill()
        cluster.start()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"port": "1"}, "cannot be reached"),
        ({"password": "wrong-secret"}, "refuses this user"),
        ({"database": "none"}, "does not exist: create it"),
    ],
)
def test_doctor_tells_why_a_postgres_cannot_be_used_without_its_password(
    changed: dict[str, str], says: str, board: str, cluster: Cluster, cli: Cli
) -> None:
    parts = {"port": str(cluster.port), "password": "guarded", "database": "kept"} | changed
    url = "postgresql://keeper:{password}@127.0.0.1:{port}/{database}".format(**parts)
    ran = cli("doctor", "--db", url)
    assert ran.code == 2
    assert says in ran.out
    assert parts["password"] not in ran.out + ran.err


# ---- where the password comes from, and where it does not go


def test_postgres_reads_the_password_from_a_file_that_only_its_owner_can_read(
    board: str, cluster: Cluster, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pgpass"
    file.touch(0o600)
    file.write_text(f"127.0.0.1:{cluster.port}:kept:keeper:guarded\n")
    monkeypatch.setenv("PGPASSFILE", str(file))
    without = board.replace(":guarded", "")
    assert not passwords.holds_password(without)
    assert cli("log", "--board", "release-42", "--db", without).code == 0
    file.chmod(0o644)
    open_to_others = cli("log", "--board", "release-42", "--db", without)
    assert open_to_others.code == 6
    assert f"the password file {file} can be read by others" in open_to_others.err


def test_postgres_reads_its_url_from_the_environment(
    board: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBOARD_DB", board)
    assert "board.opened" in cli("log", "--board", "release-42").out


def test_doctor_warns_of_a_settings_file_with_a_password_that_others_can_read(
    board: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "blackboard.toml"
    file.write_text(f'db = "{board}"\n')
    for mode, level in ((0o644, "warn"), (0o600, "ok")):
        file.chmod(mode)
        ran = cli("doctor")
        assert (ran.code, lines(ran.out)["settings file"]) == (0, level)
        assert "guarded" not in ran.out + ran.err
    file.write_text('db = "there.db"\n')
    assert machine.settings_file(file) == []
    assert machine.settings_file(tmp_path / "none") == []


def test_serve_tells_who_gives_a_password_on_the_command_line(spawn: Cli, tmp_path: Path) -> None:
    where = "postgresql://keeper:guarded@127.0.0.1:1/kept"
    ran = spawn(
        "serve", "--db", where, "--state-dir", str(tmp_path / "state"), BLACKBOARD_CONNECT_SECONDS="2"
    )
    assert ran.code == 6
    assert "list of processes" in ran.err
    assert "cannot be reached" in ran.err
    assert "guarded" not in ran.err


URLS = {
    "postgresql://u:guarded@h/d": "postgresql://u@h/d",
    "postgres://u:guarded@h:5432/d": "postgresql://u@h/d",
    "postgresql://u@h/d?password=guarded&sslmode=require": "postgresql://u@h/d?sslmode=require",
    "postgresql://u:guarded@h:port/d": "postgresql://...",
    "postgresql://u:gua/rded@h/d": "postgresql://...",
    "postgresql://u:12/guarded@h/d": "postgresql://...",
    "postgresql://u:12?guarded@h/d": "postgresql://...",
}


@pytest.mark.parametrize("url", list(URLS))
def test_a_url_is_shown_without_its_password(url: str) -> None:
    assert passwords.holds_password(url)
    assert passwords.shown(url) == URLS[url]
    line = Session(flags={"db": url, "board": "b"}).again("read", "--all")
    assert "guarded" not in line
    assert "gua/rded" not in line


def test_a_url_of_postgres_with_a_slip_is_not_taken_for_a_file(cli: Cli) -> None:
    ran = cli("doctor", "--db", "postgresql:/u:guarded@h/d")
    assert ran.code == 2
    assert "postgresql://user@host/database" in ran.err
    assert "guarded" not in ran.err


def test_what_is_no_url_of_postgres_is_shown_as_it_is() -> None:
    for name in ("board.db", "sqlite:///board.db", "http://127.0.0.1:8377", "memory://"):
        assert passwords.shown(name) == name
        assert not passwords.holds_password(name)
        assert not Target(name).is_shared


async def test_the_url_of_an_open_store_names_no_password(postgres_url: str) -> None:
    password = urlsplit(postgres_url).password
    store = await open_store(postgres_url, Settings())
    try:
        assert password
        assert password not in store.url
        assert password not in str(await store.check())
    finally:
        await store.close()
