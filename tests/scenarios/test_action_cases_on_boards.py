"""Incidents from the field and the published fixtures, played on a board: what the file tool says of a file,
the board says of the same records, whoever has read and lost them.

An operator adds the records in their order; the agent reads what the file says was delivered, compacts with
the kept ids, and asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from blackboard import CheckReply
from blackboard.client import Board
from blackboard.gate.actions.examine import Options, examine
from blackboard.gate.actions.file import read_file
from blackboard.gate.actions.report import Section
from blackboard.gate.actions.retention import Scheme, compact
from tests.client.drive import ASYNC, Place

HERE = Path(__file__).parent
CASES = sorted((HERE / "action-cases").glob("*.json"))
FIXTURES = [
    path
    for path in sorted((HERE.parent / "fixtures/gate").glob("fx?_*.json"))
    if not path.name.startswith("fx5")  # malformed: no board takes these records
]
FOR_EVER = 2**53 - 1
BOTH = pytest.mark.parametrize("place", ASYNC, indirect=True)
Found = tuple[str, list[tuple[Any, ...]], set[tuple[str, str | None]], Any]


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def as_sent(record: dict[str, Any], head: int) -> dict[str, Any]:
    """The record as an operator of the board adds it: the seq is the event's, the approver the operator.

    The board's seqs are not the file's, so an expiry keeps what it says at the file's head: over, or not yet.
    """
    sent = {name: member for name, member in record.items() if name not in ("seq", "approver")}
    if "expires_seq" in sent:
        sent["expires_seq"] = FOR_EVER if head < sent["expires_seq"] else 0
    return sent


async def stage(place: Place, case: dict[str, Any]) -> None:
    """A fresh board with the case's records, in order of their seqs."""
    operator = await place.operator()
    await operator.open_board()
    records = sorted(case["records"], key=lambda record: record["seq"])
    for record in records:
        await operator.add_record(as_sent(record, records[-1]["seq"]))


async def agent(place: Place, case: dict[str, Any], kept: Iterable[str], name: str) -> Board:
    """An agent to which the case's records were delivered, and that kept these of them."""
    board = await place.agent(name)
    await board.read_records(case.get("delivered"))
    reply = await board.compacted(cause="summary", kept=kept)
    claimed = set(kept) - {record["id"] for record in case["records"]}
    assert (set(reply.unknown_kept), reply.lost_kept) == (claimed, [])
    return board


def actions(case: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = case.get("actions", [case["action"]] if "action" in case else [])
    return found


def of_tool(section: Section) -> Found:
    assert section.policy is not None
    return _found(section.verdict, section)


def of_board(reply: CheckReply) -> Found:
    return _found(reply.verdict, reply)


def _found(verdict: str, told: Section | CheckReply) -> Found:
    """All that does not depend on where the records stand: seqs, and the words that name them, do."""
    reasons = [
        (one.code, one.id, one.effect, one.predicate, one.full, one.held, one.missing, one.reread)
        for one in told.reasons
    ]
    return verdict, reasons, {(note.code, note.id) for note in told.notes}, told.policy


async def same(board: Board, case: dict[str, Any], sections: Iterable[Section]) -> list[CheckReply]:
    """Every action's verdict on the board, which is that of the file tool."""
    replies = []
    for action, section in zip(actions(case), sections, strict=True):
        reply = await board.check(action["tool"], action["params"])
        assert of_board(reply) == of_tool(section), action
        replies.append(reply)
    return replies


@BOTH
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
async def test_a_case_comes_out_on_a_board_as_in_a_file(path: Path, place: Place) -> None:
    case = load(path)
    expected = case["expect"]
    await stage(place, case)
    board = await agent(place, case, case["kept"], "a")
    if expected["verdict"] == "ERROR":
        await _claimed_what_it_never_had(board, case)
        return
    (reply,) = await same(board, case, examine(path.read_bytes(), Options()))
    assert (reply.verdict, [reason.code for reason in reply.reasons]) == (
        expected["verdict"],
        expected["reasons"],
    )
    assert reply.policy.answer == expected.get("policy", reply.policy.answer)
    for reason in reply.reasons:
        await board.read_records(reason.reread)
    assert (await board.check(case["action"]["tool"], case["action"]["params"])).verdict == "PASS"


async def _claimed_what_it_never_had(board: Board, case: dict[str, Any]) -> None:
    """A file that keeps what it does not hold is an error; a board tells, flags it, and judges without it."""
    known = {record["id"] for record in case["records"]}
    made_up = [name for name in case["kept"] if name not in known]
    assert made_up
    (flagged,) = [event.body async for event in board.log(kind="signal.raised")]
    assert (flagged["signal"], flagged["numbers"]["unknown"]) == ("invented-record", made_up)
    without = case | {"kept": [name for name in case["kept"] if name in known]}
    await same(board, without, examine(json.dumps(without).encode(), Options()))


@BOTH
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
async def test_the_published_tables_come_out_on_a_board(path: Path, place: Place) -> None:
    case, raw = load(path), path.read_bytes()
    expected = case["expect"]
    await stage(place, case)
    read = read_file(raw)
    schemes: tuple[Scheme, ...] = ("given", "head_tail", "recency")
    for scheme in schemes:
        kept = [read.records.items[at].id for at in sorted(compact(read, scheme).kept)]
        board = await agent(place, case, kept, scheme)
        replies = await same(board, case, examine(raw, Options(retention=scheme)))
        told = [(reply.verdict, next((reason.code for reason in reply.reasons), None)) for reply in replies]
        if scheme == "given" and "given" in expected:
            assert told == [tuple(row) for row in expected["given"]]
        if scheme in expected.get("table", {}):
            assert told[0] == tuple(expected["table"][scheme])


@BOTH
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
async def test_a_compactor_that_keeps_what_the_board_says_is_never_blocked(path: Path, place: Place) -> None:
    case = load(path)
    await stage(place, case)
    asking = await place.operator()
    for name in ("least", "repaired"):
        board = await place.agent(name)
        await board.read_records(case.get("delivered"))
        tools = case["tools"]
        plan = await (
            board.must_keep(tools) if name == "least" else asking.repair(case["kept"], tools, agent=name)
        )
        await board.compacted(kept=plan.held)
        for action in actions(case):
            reply = await board.check(action["tool"], action["params"])
            assert reply.verdict == "PASS", (name, action)


@BOTH
async def test_eight_summaries_pass_only_for_who_chose_to_fly_blind(place: Place) -> None:
    (path,) = [path for path in FIXTURES if path.name.startswith("fx4")]
    case = load(path)
    await stage(place, case)
    board = await agent(place, case, case["kept"], "blind")
    action = case["action"]
    blind = await board.check(action["tool"], action["params"], allow_unevaluable=True)
    (section,) = examine(path.read_bytes(), Options(allow_unevaluable=True))
    assert of_board(blind) == of_tool(section)
    assert (blind.verdict, blind.reasons) == (case["expect"]["allow_unevaluable"][0], [])
    (loud,) = [note.detail for note in blind.notes if "you chose to fly blind" in note.detail]
    assert loud.startswith("8 records that nobody can evaluate are not held any more")


EXPIRING: dict[str, Any] = {
    "records": [
        {"id": name, "seq": seq, "kind": "policy", "scope": "t", "effect": "deny", "expires_seq": expires}
        | {"predicate": {"field": "n", "op": "gt", "value": seq}}
        for seq, (name, expires) in enumerate([("over", 2), ("now over", 4), ("not yet", 5), ("later", 9)], 1)
    ],
    "kept": [],
    "action": {"tool": "t", "params": {"n": 100}},
}


@BOTH
async def test_what_expires_is_over_or_not_as_in_the_file(place: Place) -> None:
    await stage(place, EXPIRING)
    board = await agent(place, EXPIRING, [], "a")
    (reply,) = await same(board, EXPIRING, examine(json.dumps(EXPIRING).encode(), Options()))
    assert [reason.id for reason in reply.reasons] == ["later", "not yet"]


@BOTH
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
async def test_what_was_never_delivered_is_found_alike(path: Path, place: Place) -> None:
    """The cases once more, with nothing delivered but what is kept: the same findings by another name."""
    case = load(path)
    known = {record["id"] for record in case["records"]}
    case["kept"] = case["delivered"] = [name for name in case["kept"] if name in known]
    await stage(place, case)
    board = await place.agent("a")
    if case["delivered"]:
        await board.read_records(case["delivered"])
    (reply,) = await same(board, case, examine(json.dumps(case).encode(), Options()))
    codes = [reason.code for reason in reply.reasons]
    wanted = [code for code in case["expect"]["reasons"] if not code.endswith("unevaluable-record")]
    assert codes == [code.replace("dropped-", "unseen-") for code in wanted]


def test_there_are_cases() -> None:
    assert (len(CASES), len(FIXTURES)) >= (22, 6)
