"""`db`, `doctor` and `token` on a file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from blackboard.cli.commands import doctor
from blackboard.cli.doctor import machine, sqlite
from blackboard.cli.progress import Progress, progress_line
from blackboard.cli.session import Target
from blackboard.config import Settings
from blackboard.server.discovery import RunningServer
from blackboard.store.contract import BoardRow
from blackboard.store.memory import MemoryStore
from blackboard.store.revision import KNOWN
from tests.cli.conftest import Cli

Where = tuple[str, ...]


def damage(path: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET body = replace(body, 'true', 'null') WHERE seq = 1")
    connection.close()


def test_a_database_is_made_shown_and_taken_down(cli: Cli, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "x.db"))
    assert cli("db", "current", *db).code == 2
    assert cli("db", "upgrade", *db).out.startswith("no tables -> ")
    newest = cli("db", "current", *db, "--json").json["newest"]
    assert cli("db", "current", *db).lines == [f"{newest} (newest {newest})"]
    assert cli("db", "upgrade", *db, "--json").json["before"] == newest
    for below in [*reversed(KNOWN[:-1]), "no tables"]:
        assert cli("db", "downgrade", *db).lines == [f"{below} (newest {newest})"]
    assert cli("db", "downgrade", "9999", *db).code == 2


def test_a_log_is_not_dropped_unless_told_to(cli: Cli, board: Where) -> None:
    refused = cli("db", "downgrade", "base", *board[:2])
    assert refused.code == 3
    assert cli("db", "downgrade", "base", "--discard-log", *board[:2]).code == 0


def test_a_whole_log_checks_and_a_damaged_one_ends_with_5(cli: Cli, board: Where) -> None:
    whole = cli("db", "check", *board[:2])
    assert whole.code == 0
    assert whole.lines[-1] == "every digest, hash and seq fits"
    assert cli("db", "check", *board[:2], "--json").json["flaws"] == []
    damage(board[1])
    broken = cli("db", "check", *board[:2])
    assert broken.code == 5
    assert "flaw: board release-42, seq 1: " in broken.err
    told = cli("db", "check", *board[:2], "--json")
    assert (told.code, told.json["flaws"][0]["seq"]) == (5, 1)


def test_doctor_says_what_is_found_and_changes_nothing(cli: Cli, board: Where) -> None:
    before = Path(board[1]).read_bytes()
    ran = cli("doctor", *board[:2])
    assert ran.code == 0
    assert any(line.startswith("ok    board release-42: head 1, hash ") for line in ran.lines)
    assert Path(board[1]).read_bytes() == before
    assert cli("doctor", *board[:2], "--json").json["ok"] is True


def test_doctor_ends_with_5_where_the_end_of_a_log_does_not_fit(cli: Cli, board: Where) -> None:
    damage(board[1])
    ran = cli("doctor", *board[:2])
    assert ran.code == 5
    assert "fail  board release-42" in ran.out


def test_doctor_ends_with_2_where_the_schema_is_not_this_releases(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    ran = cli("doctor", "--db", str(path))
    assert ran.code == 2
    assert "fail  database" in ran.out


def test_doctor_before_anything_exists_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    state = tmp_path / "state"
    ran = cli("doctor", "--state-dir", str(state))
    assert ran.code == 0
    assert ran.out.count("will be made") == 2
    assert not state.exists()


def test_doctor_names_what_others_can_read(cli: Cli, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    (state / "operator.token").write_text("x")
    (state / "operator.token").chmod(0o644)
    ran = cli("doctor", "--state-dir", str(state))
    assert f"do: chmod 700 {state}" in ran.out
    assert f"do: chmod 600 {state}/operator.token" in ran.out


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ((3, 40, 1), "warn"),
        ((3, 44, 5), "warn"),
        ((3, 44, 6), "ok"),
        ((3, 50, 7), "ok"),
        ((3, 51, 2), "warn"),
    ],
)
def test_doctor_knows_which_sqlite_has_the_wal_reset_fault(version: tuple[int, ...], level: str) -> None:
    assert sqlite.version(version).level == level


@pytest.mark.parametrize(("free", "level"), [(1 << 20, "fail"), (1 << 29, "warn"), (1 << 40, "ok")])
def test_doctor_looks_at_the_room_on_the_disk(free: int, level: str) -> None:
    assert [one.level for one in sqlite.disk(free)] == [level]


def test_doctor_tells_of_less_durability_and_of_a_server_that_ended(cli: Cli) -> None:
    running = RunningServer(url="http://127.0.0.1:1", database="d", durability="full", pid=1, version="0")
    assert machine.server(running, None).level == "warn"
    assert machine.durability("normal").level == "warn"
    replaced = sqlite.figures({"path": "p", "in_place": False, "wal_bytes": 1 << 30})
    assert [one.level for one in replaced] == ["fail", "ok", "warn"]


async def test_doctor_looks_at_a_store_that_knows_no_file() -> None:
    (found,) = [one async for one in doctor.database(Target("memory://"), Settings())]
    assert (found.level, found.do) == ("fail", None)
    assert [one.what for one in sqlite.figures({"engine": "memory"})] == ["database", "schema"]
    missing = await doctor.chain(MemoryStore(), BoardRow("b", 0, 3))
    assert missing.corrupt


def test_tokens_are_made_on_a_file_before_its_server_runs(cli: Cli, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "x.db"))
    secret = cli("token", "create", "agent", "executor", *db)
    assert secret.code == 0
    assert secret.out.startswith("bb_")
    assert "agent executor on *" in secret.err
    (listed,) = cli("token", "list", *db, "--json").json["tokens"]
    assert "executor" in cli("token", "list", *db).lines[1]
    assert cli("token", "revoke", listed["id"], *db).out.startswith(f"{listed['id']}: revoked 2")
    assert cli("token", "revoke", listed["id"], *db, "--json").json["revoked_at"]


def test_progress_has_rate_and_time_left() -> None:
    assert progress_line("events", 500, 2000, 0.5) == "500 of 2,000 events  25%  1,000/s  2 s left"
    assert progress_line("events", 2000, 2000, 0.5) == "2,000 of 2,000 events  100%  4,000/s"
    assert progress_line("events", 0, 0, 0) == "0 of 0 events  100%  0/s"


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Progress("events")(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = Progress("events")
    shown(1, 2)
    shown(2, 2)
    shown.close()
    assert "2 of 2 events" in capsys.readouterr().err


def test_settings_reach_the_command_from_a_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blackboard.toml").write_text('db = "there.db"\n')
    assert cli("board", "open", "b").code == 0
    assert (tmp_path / "there.db").exists()
    (tmp_path / "blackboard.toml").write_text("nonsense = 1\n")
    ran = cli("board", "list")
    assert ran.code == 2
    assert "'nonsense'" in ran.err
    assert os.fspath(tmp_path) in ran.err
