"""`audit` from a shell: on a file, beside a server, on PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.events.envelope import Row
from blackboard.store import open_store
from tests.audit.logs import chained, forged, going_back, incident, seqs_of
from tests.cli.conftest import Cli, Server

Where = tuple[str, ...]
EXECUTOR = ("--agent", "executor")


@pytest.fixture
def log(cli: Cli, board: Where) -> Where:
    """The options that name a board with a few events: opened, written, read, refused, suspected, said."""
    cli("write", "task/B", *board, *EXECUTOR, "--revision", "1", "--value", '{"status": "failed"}')
    cli("read", "task/B", *board, "--agent", "planner")
    assert cli("write", "task/B", *board, "--agent", "planner", "--revision", "1", "--text", "x").code == 3
    cli("say", "B failed, see entry:2", *board, *EXECUTOR)
    return board


def sql(path: str, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def kept(cli: Cli, where: Where, place: Path) -> Path:
    ran = cli("audit", "checkpoint", *where)
    assert ran.code == 0
    place.write_text(ran.out, encoding="utf-8")
    return place


# ---- verify


def test_a_whole_log_verifies_and_says_what_a_checkpoint_would_add(cli: Cli, log: Where) -> None:
    ran = cli("audit", "verify", *log[:2])
    assert ran.code == 0
    assert ran.lines[0].startswith("1 board, 6 events, ")
    assert ran.lines[1].split() == ["BOARD", "EVENTS", "JUDGED", "AGAIN", "SNAPSHOT", "CHECKPOINTS", "ROOT"]
    assert ran.lines[2].startswith("release-42       6  1 rejection ")
    assert ran.lines[3:] == ["everything fits"]
    assert ran.err.startswith("no checkpoint was given: ")


def test_a_program_gets_all_of_it(cli: Cli, log: Where) -> None:
    found = cli("audit", "verify", *log, "--json").json
    (one,) = found["boards"]
    assert (found["ok"], found["events"], one["judged"]) == (True, 6, {"write.rejected": 1})
    assert cli("audit", "verify", *log, "--no-judging", "--json").json["boards"][0]["judged"] == {}


def test_a_damaged_log_ends_with_5_and_says_where(cli: Cli, log: Where) -> None:
    sql(log[1], "UPDATE events SET body = replace(body, 'failed', 'done!!') WHERE seq = 2")
    ran = cli("audit", "verify", *log[:2])
    assert ran.code == 5
    assert "flaw: board release-42, seq 2: event 2 of board 'release-42': its body is not the one" in ran.err
    assert ran.err.endswith("keep the database as it is, and go back to a copy that verifies\n")
    told = cli("audit", "verify", *log[:2], "--json")
    assert (told.code, told.json["ok"], told.json["boards"][0]["flaws"][0]["seq"]) == (5, False, 2)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = x'ff00' WHERE seq = 2",
        "UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE seq = 2",
        "UPDATE events SET body = 7 WHERE seq = 2",
        "UPDATE events SET body = NULL WHERE seq = 2",
        "UPDATE events SET body = NULL, salt = NULL WHERE seq = 6",
        "UPDATE events SET actor = x'00' WHERE seq = 4",
        "UPDATE events SET kind = 'entry.written', hash = 'x' WHERE seq = 4",
        "UPDATE events SET seq = 'two' WHERE seq = 2",
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events",
        "DELETE FROM boards",
    ],
)
def test_whatever_stands_in_the_table_is_a_flaw_and_no_crash(cli: Cli, log: Where, damage: str) -> None:
    sql(log[1], "PRAGMA foreign_keys = OFF", damage)
    for more in ((), ("--no-judging",)):
        ran = cli("audit", "verify", *log[:2], *more)
        assert ran.code == 5
        assert "flaw: board release-42, seq " in ran.err


def test_it_shows_how_far_it_is_on_a_terminal(
    cli: Cli, log: Where, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "6 of 6 events  100%" in cli("audit", "verify", *log[:2]).err


def test_a_board_or_a_file_that_is_not_there_is_named(cli: Cli, log: Where, tmp_path: Path) -> None:
    assert cli("audit", "verify", *log[:2], "--board", "other").code == 4
    assert "there is no file" in cli("audit", "verify", "--db", str(tmp_path / "none.db")).err
    assert cli("audit", "checkpoint", *log[:2]).code == 2
    assert cli("audit", "checkpoint", *log[:2], "--board", "other").code == 4


def test_what_cannot_be_judged_and_what_is_unknown_is_told_and_cut(cli: Cli, tmp_path: Path) -> None:
    rows = incident().rows
    later = forged(rows, 1, body=(rows[0].body or "").replace('"format":3', '"format":99'))
    unknown = forged(later, seqs_of(rows, "turn.ended")[0], version=99)
    gone = [row._replace(body=None, salt=None) if row.kind == "message.posted" else row for row in unknown]
    long = chained([row._replace(board="long") for row in going_back(102)])
    place = tmp_path / "x.db"
    asyncio.run(fill(f"sqlite:///{place}", gone, long))
    ran = cli("audit", "verify", "--db", str(place))
    assert ran.code == 5
    for said in (
        "flaw: board long: and 3 more",
        "not re-judgeable: board release-42, seq 11: the board's format 99 is one that this release does not",
        "not re-judgeable: board release-42: and 4 more",
        "board release-42: 3 events without a body",
        "board release-42: 1 event of kinds that this release does not know",
        "board release-42 has format 99, which this release does not know",
    ):
        assert said in ran.err, ran.err


async def fill(url: str, *logs: Sequence[Row]) -> None:
    store = await open_store(url, Settings(durability="normal"))
    for rows in logs:
        await store.append(rows)
    await store.close()


# ---- checkpoints


def test_a_checkpoint_holds_while_the_log_goes_on(cli: Cli, log: Where, tmp_path: Path) -> None:
    file = kept(cli, log, tmp_path / "kept")
    assert file.read_text(encoding="utf-8").splitlines()[:2] == ["blackboard/release-42", "6"]
    cli("say", "more", *log, *EXECUTOR)
    ran = cli("audit", "verify", *log[:2], "--checkpoint", str(file), "--json")
    assert (ran.code, ran.json["boards"][0]["checkpoints"]) == (0, [6])
    assert cli("audit", "verify", *log[:2], "--checkpoint", str(file)).err == ""


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DELETE FROM events WHERE seq = 6", "it was cut off or put back"),
        ("DELETE FROM events; DELETE FROM boards", "its log was removed"),
    ],
)
def test_a_checkpoint_finds_what_was_put_back(
    cli: Cli, log: Where, tmp_path: Path, damage: str, why: str
) -> None:
    file = kept(cli, log, tmp_path / "kept")
    sql(log[1], *damage.split("; "))
    assert cli("audit", "verify", *log[:2], "--board", "release-42").code in (0, 4)
    ran = cli("audit", "verify", *log[:2], "--checkpoint", str(file))
    assert ran.code == 5
    assert why in ran.err


def test_a_checkpoint_counts_under_its_key_alone(cli: Cli, log: Where, tmp_path: Path) -> None:
    ran = cli("audit", "checkpoint", *log, "--json")
    file, key = tmp_path / "kept", str(ran.json["public_key"])
    file.write_text(ran.json["note"], encoding="utf-8")
    (tmp_path / "key").write_text(key, encoding="utf-8")
    verify = ("audit", "verify", *log[:2], "--checkpoint", str(file))
    assert cli(*verify, "--public-key", key).code == 0
    assert cli(*verify, "--public-key", str(tmp_path / "key")).code == 0
    assert "name the public key" in cli(*verify, "--public-key", "00" * 32).err
    elsewhere = ("--state-dir", str(tmp_path / "elsewhere"))
    assert "--public-key K (this machine has none)" in cli(*verify, *elsewhere).err
    assert cli(*verify, *elsewhere, "--public-key", key).code == 0
    file.write_text(str(ran.json["note"]).replace("\n6\n", "\n5\n"), encoding="utf-8")
    changed = cli(*verify)
    assert (changed.code, f"in {file}" in changed.err) == (5, True)
    file.write_text("hello", encoding="utf-8")
    assert cli(*verify).code == 2
    assert cli(*verify[:-1], str(tmp_path / "none")).code == 2


def test_a_checkpoint_of_another_board_is_wrong_usage(cli: Cli, log: Where, tmp_path: Path) -> None:
    file = kept(cli, log, tmp_path / "kept")
    cli("board", "open", *log[:2], "--board", "other")
    for command in ("verify", "prove"):
        option = "--checkpoint" if command == "verify" else "--since"
        ran = cli("audit", command, *log[:2], "--board", "other", option, str(file))
        assert (ran.code, "is of board 'release-42'" in ran.err) == (2, True)
    assert cli("audit", "prove", "1", *log[:2], "--board", "other", "--checkpoint", str(file)).code == 2


def test_nothing_is_signed_of_a_log_that_is_broken(cli: Cli, log: Where) -> None:
    sql(log[1], "UPDATE events SET turn = 9 WHERE seq = 3")
    assert cli("audit", "checkpoint", *log).code == 5


# ---- proofs


@pytest.fixture
def event(cli: Cli, log: Where, tmp_path: Path) -> Callable[[int], str]:
    def write(seq: int) -> str:
        place = tmp_path / f"event-{seq}"
        place.write_text(cli("log", *log, "--json").lines[seq - 1], encoding="utf-8")
        return str(place)

    return write


def test_an_event_is_proved_and_the_proof_checked_without_the_log(
    cli: Cli, log: Where, tmp_path: Path, event: Callable[[int], str]
) -> None:
    file = kept(cli, log, tmp_path / "kept")
    cli("say", "more", *log, *EXECUTOR)
    proof = tmp_path / "proof"
    for against, size in (((), 7), (("--checkpoint", str(file)), 6)):
        proof.write_text(cli("audit", "prove", "2", *log, *against).out, encoding="utf-8")
        ran = cli("audit", "check-proof", str(proof), "--event", event(2))
        assert ran.lines == [f"event 2 is in the log of board release-42, which had {size} events"]
        told = cli("audit", "check-proof", str(proof), "--event", event(2), "--json").json
        assert told == {"ok": True, "board": "release-42", "seq": 2, "size": size}
    assert cli("audit", "check-proof", str(proof), "--event", event(3)).code == 5
    changed = Path(event(2))
    changed.write_text(changed.read_text(encoding="utf-8").replace("failed", "done"), encoding="utf-8")
    assert cli("audit", "check-proof", str(proof), "--event", str(changed)).code == 5
    assert cli("audit", "prove", "7", *log, "--checkpoint", str(file)).code == 2
    assert cli("audit", "prove", "8", *log).code == 2


def test_growth_is_proved_and_the_proof_checked_without_the_log(cli: Cli, log: Where, tmp_path: Path) -> None:
    file = kept(cli, log, tmp_path / "kept")
    cli("say", "more", *log, *EXECUTOR)
    ran = cli("audit", "prove", *log[:2], "--since", str(file), "--json")
    assert (ran.json["since"], ran.json["size"]) == (6, 7)
    proof = tmp_path / "proof"
    proof.write_text(ran.json["proof"], encoding="utf-8")
    ran = cli("audit", "check-proof", str(proof), "--since", str(file))
    assert ran.lines == ["the log of board release-42 went on from 6 to 7 events"]
    later = kept(cli, log, tmp_path / "later")
    assert cli("audit", "check-proof", str(proof), "--since", str(later)).code == 5


def test_what_a_proof_needs_is_said(
    cli: Cli, log: Where, tmp_path: Path, event: Callable[[int], str]
) -> None:
    file = kept(cli, log, tmp_path / "kept")
    growth, one = tmp_path / "growth", tmp_path / "one"
    growth.write_text(cli("audit", "prove", *log, "--since", str(file)).out, encoding="utf-8")
    one.write_text(cli("audit", "prove", "1", *log).out, encoding="utf-8")
    for said, *arguments in (
        ("--event FILE", "check-proof", str(one)),
        ("--event FILE", "check-proof", str(one), "--since", str(file), "--event", event(1)),
        ("--since FILE", "check-proof", str(growth)),
        ("--since FILE", "check-proof", str(growth), "--event", event(1), "--since", str(file)),
        ("this is no proof", "check-proof", str(file), "--event", event(1)),
        ("this is no event", "check-proof", str(one), "--event", str(file)),
        ("SEQ, or an earlier checkpoint", "prove", *log),
        ("SEQ, or an earlier checkpoint", "prove", "1", *log, "--since", str(file)),
        ("--checkpoint goes with SEQ", "prove", *log, "--since", str(file), "--checkpoint", str(file)),
        ("standard input", "check-proof", "-", "--event", "-"),
    ):
        ran = cli("audit", *arguments)
        assert (ran.code, said in ran.err) == (2, True), (arguments, ran.err)


# ---- beside others


def test_it_works_beside_a_running_server_and_finds_its_key(cli: Cli, server: Server, tmp_path: Path) -> None:
    there = ("--state-dir", str(server.state_dir))
    assert cli("board", "open", "--board", "audited", "--server", server.url, *there).code == 0
    file = kept(cli, (*there, "--board", "audited"), tmp_path / "kept")
    ran = cli("audit", "verify", *there, "--checkpoint", str(file), "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert "audited" in [one["board"] for one in ran.json["boards"]]
    key = cli("audit", "checkpoint", *there, "--board", "audited", "--json").json["public_key"]
    assert key.startswith("blackboard/audited+")


def test_a_postgres_database_is_audited_alike(cli: Cli, postgres_url: str, tmp_path: Path) -> None:
    where = ("--db", postgres_url, "--board", "release-42")
    cli("board", "open", *where)
    cli("write", "task/B", *where, *EXECUTOR, "--revision", "1", "--value", '{"status": "failed"}')
    cli("write", "task/B", *where, "--agent", "planner", "--revision", "2", "--text", "x")
    file = kept(cli, where, tmp_path / "kept")
    ran = cli("audit", "verify", *where[:2], "--checkpoint", str(file), "--json")
    (one,) = ran.json["boards"]
    assert (ran.code, one["judged"], one["checkpoints"]) == (0, {"write.rejected": 1}, [4])
    proof = tmp_path / "proof"
    proof.write_text(cli("audit", "prove", "2", *where).out, encoding="utf-8")
    event = tmp_path / "event"
    event.write_text(cli("log", *where, "--json").lines[1], encoding="utf-8")
    assert json.loads(event.read_text(encoding="utf-8"))["seq"] == 2
    assert cli("audit", "check-proof", str(proof), "--event", str(event)).code == 0
