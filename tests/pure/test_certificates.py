"""Certificates of a board: a check in advance, for as long as nothing changes that it rests on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from blackboard.errors import FormatTooLow, NotAllowed, UnknownCertificate
from blackboard.events import kinds
from blackboard.gate import certify
from blackboard.gate.actions.certificate import LANGUAGE, certificate_digest, sign_certificate
from blackboard.gate.actions.verifying import verify_certificate
from blackboard.gate.certify import certificate_valid, ended, held_digest
from blackboard.messages import commands as ask
from blackboard.messages.verdicts import CertificateReply, CertificateValidReply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.certificates import Basis, Issued
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, raised
from tests.pure.records import Record, amount_over, approval, chatter, fact, policy

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TIER: Record = {"field": "tier", "op": "eq", "value": "gold"}


def thread(world: World) -> Agent:
    """An agent that was compacted: it holds the rule on tiers and lost the one on amounts."""
    world.operator.adds(policy("p", amount_over(5000)))
    world.operator.adds(policy("q", TIER))
    world.operator.adds(fact("f", "tier", "silver"))
    agent = world.agent("a")
    agent.reads_records()
    agent.compacts(kept=["q", "f"])
    agent.reads_all()
    return agent


def valid(world: World, issued: CertificateReply) -> CertificateValidReply:
    return certificate_valid(world.board, ask.CertificateValid(certificate=issued.id), head=world.head)


def verdict(issued: CertificateReply, params: Record, tool: str = "t") -> tuple[str, list[str]]:
    assert issued.certificate is not None
    document = sign_certificate(issued.certificate, KEY)
    found = verify_certificate(document, {"tool": tool, "params": params}, KEY.public_key())
    return found.verdict, [reason.code for reason in found.reasons]


def test_a_certificate_says_what_a_check_would_say(world: World) -> None:
    agent = thread(world)
    issued = agent.certifies("t")
    for params in ({"amount": 8400}, {"amount": 120}, {}, {"amount": "8400"}, {"tier": "gold", "amount": 1}):
        checked = agent.checks("t", params)
        assert verdict(issued, params) == (checked.verdict, [reason.code for reason in checked.reasons])
    assert verdict(issued, {"amount": 1}, "u")[0] == "ERROR"


def test_what_is_recorded_names_what_it_rests_on(world: World) -> None:
    agent = thread(world)
    view, as_of = world.head, world.head
    issued = agent.certifies("t")
    body = world.last(kinds.CertificateIssued)
    assert (body.agent, body.tool, body.as_of, body.view, body.clock) == ("a", "t", as_of, view, 4)
    assert (issued.id, issued.seq, issued.digest) == (f"certificate:{world.head}", world.head, body.digest)
    assert issued.certificate is not None
    assert certificate_digest(issued.certificate) == body.digest
    assert {name: issued.certificate[name] for name in ("board", "agent", "view", "clock", "full")} == {
        "board": "release-42",
        "agent": "a",
        "view": view,
        "clock": 4,
        "full": world.board.recorded.hex(),
    }
    found = valid(world, issued)
    assert (found.valid, found.ended, found.agent, found.tool, found.as_of) == (True, [], "a", "t", as_of)


IRRELEVANT: dict[str, Callable[[World, Agent], Any]] = {
    "a check": lambda world, agent: agent.checks("t"),
    "another certificate": lambda world, agent: agent.certifies("t"),
    "a rule of another tool": lambda world, agent: world.operator.adds(
        policy(None, amount_over(1), scope="u")
    ),
    "a fact that nobody reads": lambda world, agent: world.operator.adds(fact(None, "colour", "red")),
    "chatter": lambda world, agent: world.operator.adds(chatter("x")),
    "a peer's reads and writes": lambda world, agent: world.agent("b").updates("k", 1),
    "a peer's compaction": lambda world, agent: world.agent("b").compacts(),
    "a message": lambda world, agent: agent.says("hello"),
    "a policy change": lambda world, agent: world.operator.sets_policy(completion="off"),
}
ENDING: dict[str, Callable[[World, Agent], Any]] = {
    "a delivery of records": lambda world, agent: agent.reads_records("p"),
    "a delivery of an entry": lambda world, agent: agent.reads("k"),
    "its own write": lambda world, agent: agent.writes("k", 1),
    "its own record": lambda world, agent: world.agent("a", records=["chatter"]).adds(chatter("x")),
    "a compaction": lambda world, agent: agent.compacts(),
    "a rule in scope": lambda world, agent: world.operator.adds(policy(None, amount_over(1))),
    "a rule for every tool": lambda world, agent: world.operator.adds(
        policy(None, amount_over(1), scope="*")
    ),
    "a fact that a rule reads": lambda world, agent: world.operator.adds(fact(None, "tier", "gold")),
    "an approval": lambda world, agent: world.operator.adds(approval("p")),
    "a record that nobody can read": lambda world, agent: world.operator.adds({"kind": "oath"}),
    "what unseen records do": lambda world, agent: world.operator.sets_policy(unseen="note"),
}


@pytest.mark.parametrize("what", IRRELEVANT)
def test_what_does_not_bear_on_it_leaves_a_certificate_valid(world: World, what: str) -> None:
    agent = thread(world)
    issued = agent.certifies("t")
    IRRELEVANT[what](world, agent)
    assert valid(world, issued).valid


@pytest.mark.parametrize("what", ENDING)
def test_what_bears_on_it_ends_a_certificate_for_ever(world: World, what: str) -> None:
    agent = thread(world)
    issued = agent.certifies("t")
    ENDING[what](world, agent)
    found = valid(world, issued)
    assert (found.valid, len(found.ended)) == (False, 1)
    assert str(world.head) in found.ended[0] or "event" in found.ended[0]
    world.operator.sets_policy(unseen="block")
    assert not valid(world, issued).valid
    assert valid(world, agent.certifies("t")).valid


@pytest.mark.parametrize("granted", [True, False])
@pytest.mark.parametrize("params", [{"amount": 9}, {"amount": 7}])
def test_an_approval_of_another_policy_that_ends_one_ends_certificates_and_verdicts_too(
    world: World, params: Record, *, granted: bool
) -> None:
    operator, agent = world.operator, world.agent("a")
    operator.adds(policy("p", amount_over(5), "require_approval"))
    operator.adds(policy("elsewhere", amount_over(5), "require_approval", scope="other"))
    operator.adds(approval("p", "yes", params={"amount": 9}))
    agent.reads_records()
    before, issued = agent.checks("t", {"amount": 9}), agent.certifies("t")
    operator.adds(approval("elsewhere", "no", params=params, granted=granted, supersedes="yes"))
    after = agent.checks("t", {"amount": 9})
    assert (before.verdict, before.policy.answer) == ("PASS", "default")
    assert (after.verdict, after.policy.answer) == ("BLOCK", "needs-approval")
    assert [(reason.code, reason.reread) for reason in after.reasons] == [
        ("unseen-superseder-stale-permit", ["no"])
    ]
    assert not valid(world, issued).valid


def test_a_certificate_ends_where_a_record_expires(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5), expires_seq=5))
    agent = world.agent("a")
    issued = agent.certifies("t")
    assert (world.head, valid(world, issued).valid, valid(world, issued).valid_until_seq) == (3, True, 5)
    world.agent("b").reads("k")
    assert valid(world, issued).valid
    world.agent("b").reads("k")
    assert valid(world, issued).ended == ["a record that it rests on expired at seq 5"]


def test_a_certificate_that_others_followed_is_told_from_one_that_never_was(world: World) -> None:
    agent = thread(world)
    first, same = agent.certifies("t"), agent.certifies("t")
    elsewhere = agent.certifies("u")
    assert [valid(world, one).valid for one in (first, same, elsewhere)] == [True] * 3
    agent.reads("k")
    assert valid(world, first).ended == [f"the view of 'a' changed, last in event {world.head}"]
    later = agent.certifies("t")
    for old, as_of in ((first, first.seq), (same, same.seq)):
        assert as_of is not None
        found = valid(world, old)
        assert (found.agent, found.tool, found.as_of, found.valid) == ("a", "t", as_of - 1, False)
        assert found.ended == [f"what it rests on had changed by {later.id}, for the same agent and tool"]
    assert valid(world, later).valid
    assert not valid(world, elsewhere).valid
    with pytest.raises(UnknownCertificate):
        certificate_valid(world.board, ask.CertificateValid(certificate=f"{later.id}0"), head=world.head)


def test_what_is_held_is_digested_as_a_set(world: World) -> None:
    agent, peer = world.agents("a", "b")
    for name in ("r1", "r2", "r3"):
        world.operator.adds(fact(name, "tier", name))
    agent.reads_records("r1", "r3")
    peer.reads_records("r3")
    peer.reads_records("r1")
    two, same = held_digest(world.state(agent)), held_digest(world.state(peer))
    world.operator.adds(chatter("later"))
    peer.reads_records("r2")
    assert two == same == held_digest(world.state(agent)) != held_digest(world.state(peer))
    peer.compacts(kept=["r1", "r3"])
    assert held_digest(world.state(peer)) == two
    agent.compacts()
    assert held_digest(world.state(agent)) == held_digest(AgentState("new")) != two


def test_a_certificate_of_another_language_has_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = thread(world).certifies("t")
    monkeypatch.setattr(certify, "LANGUAGE", 2)
    assert valid(world, issued).ended == ["its language is version 1, and this release speaks 2"]


def test_a_repeated_command_gets_the_document_again_while_it_stands(world: World) -> None:
    agent = thread(world)
    first = agent.certifies("t", once="key")
    world.operator.adds(chatter("in between"))
    again = agent.certifies("t", once="key")
    assert (again.id, again.digest, again.certificate, again.replayed) == (
        first.id,
        first.digest,
        first.certificate,
        True,
    )
    agent.reads_records("p")
    late = agent.certifies("t", once="key")
    assert (late.id, late.digest, late.certificate, late.replayed) == (first.id, first.digest, None, True)
    assert late.ended == [f"the view of 'a' changed, last in event {world.head}"]


def test_a_repeated_command_fetches_the_outdated_entries_that_rules_read(world: World) -> None:
    keeper = world.agent("keeper", writes=["k"])
    keeper.writes("k", 1, "shut")
    world.operator.adds(policy("p", {"field": "k", "op": "eq", "value": "open", "source": "ledger"}))
    agent = world.agent("a")
    agent.reads_records()
    agent.reads("k")
    keeper.writes("k", 2, "open")
    first = agent.certifies("t", once="key")
    world.board.remembered.clear()
    again = agent.certifies("t", once="key")
    assert again.certificate == first.certificate
    assert verdict(again, {}) == ("BLOCK", ["unseen-superseder-stale-kept"])


def test_an_agent_that_holds_nothing_gets_a_certificate_too(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    issued = world.agent("new").certifies("t")
    assert valid(world, issued).valid
    assert verdict(issued, {"amount": 9}) == ("BLOCK", ["unseen-binding-constraint"])


def test_a_certificate_that_was_never_issued_is_unknown(world: World) -> None:
    for name in ("certificate:1", "certificate:x", "certificate:²", "certificate:", "", "9" * 30):
        with pytest.raises(UnknownCertificate):
            certificate_valid(world.board, ask.CertificateValid(certificate=name), head=1)


def test_only_agents_are_certified(world: World) -> None:
    with pytest.raises(NotAllowed):
        world.operator.sends(ask.IssueCertificate(tool="t"))


def test_a_board_of_format_1_has_no_certificates(worlds: Worlds) -> None:
    world = worlds(at_format=1)
    with pytest.raises(FormatTooLow):
        world.agent("a").certifies("t")
    with pytest.raises(FormatTooLow):
        certificate_valid(world.board, ask.CertificateValid(certificate="certificate:2"), head=1)


def test_a_certificate_of_an_agent_that_no_event_concerns_is_judged_all_the_same() -> None:
    # Nothing writes such a log; an answer must not fall over it.
    assert ended(Board(), Issued(2, 1, None, Basis("a", "t", 2, 0, 0, LANGUAGE, None))) == []


def test_a_certificate_that_closes_a_turn_raises_its_signals(world: World) -> None:
    agent = world.agent("a")
    for turn in range(3):
        agent.writes_many(*({"key": f"k{n}", "revision": turn + 1, "value": n} for n in range(4)), turn=turn)
    agent.reads_all(turn=3)
    agent.writes("k0", 4, 1, turn=3)
    agent.reads("k1", turn=4)
    agent.writes("k1", 4, 1, turn=4)
    assert raised(agent.certifies("t", turn=5)) == ["write-breadth"]
