"""What format 3 added, from a shell: replies, the size of the window, and why an approval was given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli import describe
from blackboard.cli.app import run
from blackboard.messages.replies import EventView
from tests.cli.conftest import Cli

Where = tuple[str, ...]
ANN = ("--agent", "ann")
TOOL = "refunds.create"
ASK = {
    "kind": "policy",
    "id": "cap",
    "scope": TOOL,
    "predicate": {"field": "amount", "op": "gt", "value": 5000},
    "effect": "require_approval",
}
BIG = '{"amount": 8400}'


@pytest.fixture
def old(cli: Cli, board: Where) -> Where:
    """A board of format 2."""
    place = (*board[:2], "--board", "old")
    opened = cli("board", "open", "old", "--format", "2", *board[:2])
    assert opened.code == 0, opened
    return place


@pytest.fixture
def blocked(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run `check`, which says BLOCK; what it prints."""

    def call(*argv: str) -> str:
        capsys.readouterr()
        assert run(["check", *argv]) == 1
        said = capsys.readouterr()
        assert (said.out.startswith("BLOCK"), "Traceback" in said.err) == (True, False)
        return said.out

    return call


def test_a_message_answers_another(cli: Cli, board: Where) -> None:
    assert cli("say", "who has B?", *board, *ANN).lines == ["message 2, cited: nothing"]
    assert cli("say", "I do", *board, *ANN, "--reply-to", "2").code == 0
    assert cli("log", *board).lines[-1].endswith('message.posted        answers 2: "I do"  cites nothing')
    refused = cli("say", "what?", *board, *ANN, "--reply-to", "1")
    assert refused.code == 2
    assert "reply_to 1: event 1 is no message" in refused.err


def test_a_compaction_shows_its_sizes_whichever_version_the_board_writes(
    cli: Cli, board: Where, old: Where
) -> None:
    sizes = ("--tokens-before", "9", "--tokens-after", "2")
    assert cli("compact", *board, *ANN, *sizes, "--context-window", "16").code == 0
    assert cli("log", *board).lines[-1].endswith("0 records kept; tokens: before 9, after 2, window 16")
    assert cli("compact", *old, *ANN, *sizes).code == 0
    assert cli("log", *old).lines[-1].endswith("0 records kept; tokens: before 9, after 2")
    assert cli("compact", *old, *ANN).code == 0
    assert cli("log", *old).lines[-1].endswith("0 records kept")


def test_an_approval_is_given_for_one_call_and_says_why(
    cli: Cli, blocked: Callable[..., str], board: Where, tmp_path: Path
) -> None:
    cli("record", "add", json.dumps(ASK), *board)
    cli("record", "read", *board, *ANN)
    call = (TOOL, "--params", BIG)
    given = cli("record", "approval", "cap", *call, "--text", "paid twice", "--id", "yes", *board)
    assert given.lines == ["yes"]
    cli("record", "read", *board, *ANN)
    assert cli("check", *call, *board, *ANN).lines[1] == "policy: default"
    params = tmp_path / "params.json"
    params.write_text(BIG, encoding="utf-8")
    taken = ("--refuse", "--supersedes", "yes", "--expires-seq", "99", "--params-file", str(params))
    assert cli("record", "approval", "cap", TOOL, *taken, *board).lines == ["record:7"]
    assert "revokes it and is not held" in blocked(*call, *board, *ANN)
    read = cli("record", "read", *board, *ANN, "--json").json["records"]
    assert [(one.get("version"), one.get("text"), one["granted"]) for one in read[1:]] == [
        (2, "paid twice", True),
        (None, None, False),
    ]
    assert read[2]["expires_seq"] == 99


def test_a_refusal_says_why_in_the_reason(cli: Cli, blocked: Callable[..., str], board: Where) -> None:
    cli("record", "add", json.dumps(ASK), *board)
    call = (TOOL, "--params", BIG)
    cli("record", "approval", "cap", *call, "--id", "yes", *board)
    cli("record", "read", *board, *ANN)
    cli("record", "approval", "cap", *call, "--refuse", "--text", "the card is closed", *board)
    assert "revokes it ('the card is closed') and is not held" in blocked(*call, *board, *ANN)


def test_a_text_takes_a_board_of_format_3_and_says_how_to_get_it(cli: Cli, old: Where) -> None:
    cli("record", "add", json.dumps(ASK), *old)
    approval = ("record", "approval", "cap", TOOL, "--params", BIG)
    for refused in (
        cli(*approval, "--text", "paid twice", *old),
        cli("compact", *old, *ANN, "--context-window", "16"),
        cli("say", "I do", *old, *ANN, "--reply-to", "2"),
    ):
        assert refused.code == 3
        assert "blackboard board format 3" in refused.err
    assert cli(*approval, *old).code == 0
    assert cli("board", "format", *old).lines == ["format 2, newest 3"]
    assert cli("board", "format", "3", *old).out.startswith("format 3, seq ")
    assert cli("board", "format", "3", *old).lines == ["format 3, as it was"]
    assert cli("board", "format", *old).lines == ["format 3, newest 3"]
    assert cli(*approval, "--text", "paid twice", *old).code == 0


def test_a_board_that_was_open_in_another_format_says_so(cli: Cli, old: Where) -> None:
    place = ("old", *old[:2])
    assert cli("board", "open", *place, "--format", "2").err == ""
    again = cli("board", "open", *place, "--format", "3")
    assert again == (0, "old: was open\n", again.err)
    assert "its format is 2: `blackboard board format` raises one" in again.err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"tokens_before": 9}, "; tokens: before 9"),
        ({"tokens_after": 0}, "; tokens: after 0"),
        ({"tokens": {"window": 16}}, "; tokens: window 16"),
        ({}, ""),
    ],
)
def test_sizes_that_were_not_given_are_not_shown(body: dict[str, Any], told: str) -> None:
    shown = {"agents": ["ann"], "base_seq": 4, **body}
    event = EventView(
        board="b",
        seq=5,
        kind="agent.compacted",
        version=2,
        actor="agent:ann",
        turn=None,
        command_id="c",
        request_digest=None,
        key=None,
        revision=None,
        recorded_at=0,
        body=shown,
        salt=None,
        body_digest="",
        hash="",
    )
    assert describe.summary(event) == f"ann: unknown, no entry seen up to 4 is held, 0 records kept{told}"
