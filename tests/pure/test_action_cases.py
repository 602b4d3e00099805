"""Incidents from the field, and the published fixtures, on a board: the file tool's verdicts come out.

An operator adds the records, the agent reads those that were delivered, and a compaction leaves what it kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from blackboard.gate.actions.certificate import sign_certificate
from blackboard.gate.actions.verifying import verify_certificate
from blackboard.messages.verdicts import CheckReply
from tests.actions import gating
from tests.pure.driver import Agent, World, raised

TESTS = Path(__file__).resolve().parent.parent
CASES = sorted((TESTS / "scenarios" / "action-cases").glob("*.json"))
FIXTURES = [path for path in sorted((TESTS / "fixtures" / "gate").glob("fx*.json")) if "fx5" not in path.name]
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))

each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
each_fixture = pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def actions(case: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = case.get("actions") or [case["action"]]
    return [(action["tool"], action["params"]) for action in found]


def played(world: World, case: dict[str, Any]) -> tuple[Agent, list[str]]:
    """The agent after its compaction, and what it was told of the ids that it claims to have kept."""
    for record in sorted(case["records"], key=lambda record: record["seq"]):
        world.operator.adds({name: value for name, value in record.items() if name != "seq"})
    agent = world.agent("a")
    agent.reads_records(*case.get("delivered", [record["id"] for record in case["records"]]))
    reply = agent.compacts(kept=case["kept"])
    assert raised(reply) == (["invented-record"] if reply.unknown_kept else [])
    return agent, reply.unknown_kept


def codes(reply: CheckReply) -> list[str]:
    return [reason.code for reason in reply.reasons]


@each_case
def test_the_board_answers_as_the_case_expects(world: World, path: Path) -> None:
    case = read(path)
    agent, unknown = played(world, case)
    expected = case["expect"]
    (asked,) = actions(case)
    reply = agent.checks(*asked)
    if expected["verdict"] == "ERROR":
        # A file that keeps what it does not have is refused. An agent was compacted all the same: the board
        # takes the report, names what was invented, and judges by what was delivered.
        assert unknown
        held = [name for name in case["kept"] if name not in unknown]
        said = gating.gate(case["records"], held, asked[1], asked[0])
        assert (reply.verdict, codes(reply)) == (said.word, [code for code, _ in gating.codes(said)])
    else:
        assert not unknown
        assert (reply.verdict, codes(reply)) == (expected["verdict"], expected["reasons"])
        assert reply.policy.answer == expected.get("policy", reply.policy.answer)


@each_fixture
def test_the_published_fixtures_come_out_on_a_board(world: World, path: Path) -> None:
    case = read(path)
    agent, unknown = played(world, case)
    assert not unknown
    for tool, params in actions(case):
        said = gating.gate(case["records"], case["kept"], params, tool, agent="agent:a")
        reply = agent.checks(tool, params)
        assert (reply.verdict, [(reason.code, reason.id) for reason in reply.reasons]) == (
            said.word,
            gating.codes(said),
        )
        assert (reply.policy.answer, reply.policy.rules) == (said.policy.answer, said.policy.rules)


@each_case
def test_a_certificate_of_the_board_says_the_same(world: World, path: Path) -> None:
    case = read(path)
    agent, _ = played(world, case)
    for tool, params in actions(case):
        issued, checked = agent.certifies(tool), agent.checks(tool, params)
        assert issued.certificate is not None
        document = sign_certificate(issued.certificate, KEY)
        found = verify_certificate(document, {"tool": tool, "params": params}, KEY.public_key())
        assert (found.verdict, [reason.code for reason in found.reasons]) == (checked.verdict, codes(checked))


@each_case
def test_reading_what_a_reason_names_lifts_it(world: World, path: Path) -> None:
    case = read(path)
    agent, _ = played(world, case)
    for tool, params in actions(case):
        for reason in agent.checks(tool, params).reasons:
            agent.reads_records(*reason.reread)
            left = agent.checks(tool, params).reasons
            assert (reason.code, reason.id) not in [(other.code, other.id) for other in left]
        assert agent.checks(tool, params).verdict == "PASS"


@each_case
def test_a_compaction_that_is_repaired_endangers_no_call(world: World, path: Path) -> None:
    case = read(path)
    for record in sorted(case["records"], key=lambda record: record["seq"]):
        world.operator.adds({name: value for name, value in record.items() if name != "seq"})
    agent = world.agent("a")
    agent.reads_records()
    known = [name for name in case["kept"] if world.board.records.position(name) is not None]
    repaired = agent.keeps(*{tool for tool, _ in actions(case)}, kept=known)
    assert set(known) <= set(repaired.held) == set(repaired.records)
    agent.compacts(kept=repaired.held)
    for tool, params in actions(case):
        assert agent.checks(tool, params).verdict == "PASS"
