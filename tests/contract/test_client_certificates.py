"""Every client: a certificate says offline what the board would say, until something ends it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import blackboard
from blackboard import Approval, CertificateReply, Chatter, Fact, Policy, Write, verify_certificate
from blackboard.client import Board
from blackboard.gate.actions.certificate import certificate_digest
from tests.client.desk import BIG, CAP, GOLD, LARGE, NEW, OLD, RED, SMALL, TOOL, codes, desk, light
from tests.client.drive import Place
from tests.client.fixtures import place_of
from tests.contract.test_client_checks import CASES, LEDGER

ACTIONS: list[dict[str, Any]] = [
    {},
    BIG,
    SMALL,
    {"amount": 5000},
    {"amount": 5000.5, "tier": "gold"},
    {"amount": "8400"},
    {"amount": None, "tier": None},
    {"tier": "base", "hold": True},
    {"tier": ["gold"], "task/B": {"light": "green"}},
]


async def issue(board: Board, tool: str = TOOL) -> tuple[CertificateReply, str]:
    """A certificate of the agent, and the key with which it verifies."""
    return await board.certificate(tool), (await board.signing_key()).public_key


def offline(reply: CertificateReply, key: str, params: dict[str, Any], **named: Any) -> Any:
    assert reply.certificate is not None
    return verify_certificate(reply.certificate, {"tool": TOOL, "params": params}, key, **named)


async def agrees(board: Board) -> None:
    """The certificate says of every action what the board says of it, and stands while the board does."""
    reply, key = await issue(board)
    for params in ACTIONS:
        asked, told = (
            await board.check(TOOL, params),
            offline(reply, key, params, board=board.name, agent="a"),
        )
        assert told.verdict == asked.verdict, params
        assert [(one.code, one.id) for one in told.reasons] == [(one.code, one.id) for one in asked.reasons]
        assert offline(reply, key, params, head=asked.head) == told
    assert (await board.certificate_valid(reply.id)).valid


# -- what it says


@pytest.mark.parametrize("case", CASES)
async def test_a_certificate_says_what_a_check_says(place: Place, case: str) -> None:
    records, kept, *_ = CASES[case]
    _, board = await desk(place, *records)
    await agrees(board)
    await board.read_records()
    await agrees(board)
    await board.compacted(kept=kept)
    await agrees(board)


@pytest.mark.parametrize(
    "case", ["an old entry hides a rule", "an old entry permits", "the entry was deleted"]
)
async def test_entries_of_the_ledger_are_facts_in_it(place: Place, case: str) -> None:
    rule, values, *_ = LEDGER[case]
    _, board = await desk(place, rule)
    peer = await place.agent("b", writes=["task/*"])
    await board.read_records()
    for revision, value in enumerate(values, 1):
        if value is None:
            await peer.delete("task/B", revision=revision)
        else:
            await peer.write("task/B", value, revision=revision)
        await agrees(board)
        if revision == 1:
            await board.read("task/B")
    await agrees(board)


async def test_a_policy_that_only_notes_the_unseen_is_in_it(place: Place) -> None:
    operator, board = await desk(place, CAP, policy={"unseen": "note"})
    await agrees(board)
    reply, key = await issue(board)
    assert offline(reply, key, BIG).verdict == "PASS"
    await operator.set_policy({"unseen": "block"})
    assert not (await board.certificate_valid(reply.id)).valid
    reply, key = await issue(board)
    assert offline(reply, key, BIG).verdict == "BLOCK"


async def test_nothing_lost_is_safe_for_every_call(place: Place) -> None:
    _, board = await desk(place, CAP)
    await board.read_records()
    reply, key = await issue(board)
    assert reply.certificate is not None
    assert "rows" not in reply.certificate["certificate"]
    assert {offline(reply, key, params).verdict for params in ACTIONS} == {"PASS"}


async def test_it_is_told_in_words(place: Place) -> None:
    _, board = await desk(place, CAP)
    reply, key = await issue(board)
    assert reply.certificate is not None
    loaded = blackboard.load_certificate(reply.certificate, key)
    assert loaded.words == "safe unless amount > 5000, or amount is missing or not a number"
    assert verify_certificate(loaded, {"tool": TOOL, "params": BIG}, key).verdict == "BLOCK"


async def test_it_survives_json_and_is_bound_to_its_place(place: Place) -> None:
    _, board = await desk(place, CAP)
    reply, key = await issue(board)
    text = json.dumps(reply.certificate)
    action = {"tool": TOOL, "params": BIG}
    for document in (text, text.encode(), json.loads(text)):
        assert verify_certificate(document, json.dumps(action), key).verdict == "BLOCK"
    body = json.loads(text)["certificate"]
    assert (body["board"], body["agent"], body["tool"], body["as_of"]) == (place.name, "a", TOOL, 2)
    assert certificate_digest(body) == reply.digest
    (event,) = [event async for event in board.log(kind="certificate.issued")]
    assert (f"certificate:{event.seq}", event.actor, event.body["digest"]) == (
        reply.id,
        "agent:a",
        reply.digest,
    )


# -- what it refuses


async def test_whatever_cannot_be_judged_is_an_error_and_never_a_pass(place: Place) -> None:
    _, board = await desk(place)
    reply, key = await issue(board)
    other = "00" * 31 + "01"
    assert offline(reply, key, SMALL).verdict == "PASS"
    refused = [
        offline(reply, other, SMALL),
        offline(reply, "no key", SMALL),
        offline(reply, key, {"amount": float("nan")}),
        offline(reply, key, SMALL, board="another"),
        offline(reply, key, SMALL, agent="b"),
        verify_certificate(reply.certificate or {}, {"tool": "notes", "params": {}}, key),
        verify_certificate(reply.certificate or {}, {"params": {}}, key),
        verify_certificate(reply.certificate or {}, {"tool": TOOL, "params": []}, key),
        verify_certificate(reply.certificate or {}, {"tool": TOOL, "parms": {}}, key),
        verify_certificate("{}", {"tool": TOOL, "params": {}}, key),
        verify_certificate("", {"tool": TOOL, "params": {}}, key),
    ]
    for told in refused:
        assert (told.verdict, len(told.reasons)) == ("ERROR", 0)
        assert told.detail


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another tool": lambda document: document["certificate"].update(tool="notes.append"),
    "another board": lambda document: document["certificate"].update(board="another"),
    "a rule less": lambda document: document["certificate"].update(rows=[]),
    "a higher bound": lambda document: document["certificate"]["rows"][0]["full"].update(value=10_000),
    "a member more": lambda document: document["certificate"].update(note="x"),
    "a later expiry": lambda document: document["certificate"].update(valid_until_seq=10_000),
    "another signature": lambda document: document.update(signature="00" * 64),
    "no signature": lambda document: document.pop("signature"),
    "another key": lambda document: document.update(key="00" * 8),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_certificate_is_an_error(place: Place, change: str) -> None:
    _, board = await desk(place, CAP)
    reply, key = await issue(board)
    document = json.loads(json.dumps(reply.certificate))
    CHANGES[change](document)
    for params in (BIG, SMALL):
        for tool in (TOOL, "notes.append"):
            told = verify_certificate(document, {"tool": tool, "params": params}, key)
            assert (told.verdict, told.detail != "") == ("ERROR", True)


async def test_another_servers_key_does_not_verify_it(request: pytest.FixtureRequest) -> None:
    keys, replies = [], []
    for kind in ("embedded-async", "http-async"):
        place = place_of(request, kind)
        _, board = await desk(place, CAP)
        reply, key = await issue(board)
        keys.append(key)
        replies.append(reply)
        await place.close()
    assert keys[0] != keys[1]
    assert [offline(reply, key, SMALL).verdict for reply, key in zip(replies, keys, strict=True)] == [
        "PASS"
    ] * 2
    assert [
        offline(reply, key, SMALL).verdict for reply, key in zip(replies, reversed(keys), strict=True)
    ] == [
        "ERROR",
        "ERROR",
    ]


# -- how long it stands


Step = Callable[[Board, Board, Board], Awaitable[Any]]
"""What happens: by the operator, the agent whose certificate it is, or a peer that may write everything."""

SURVIVES: dict[str, Step] = {
    "a check": lambda _, agent, __: agent.check(TOOL, BIG),
    "a message": lambda _, agent, __: agent.say("cap stands"),
    "another certificate": lambda _, agent, __: agent.certificate(TOOL),
    "what a peer reads": lambda _, __, peer: peer.read_records(),
    "what a peer loses": lambda _, __, peer: peer.compacted(),
    "a rule for another tool": lambda ops, _, __: ops.add_record(Policy("notes.*", LARGE, "deny")),
    "a fact that no rule reads": lambda ops, _, __: ops.add_record(Fact("mood", "fine")),
    "chatter": lambda ops, _, __: ops.add_record(Chatter("hello")),
    "an entry that no rule reads": lambda _, __, peer: peer.write("notes/1", 1, revision=1),
    "an approval of another policy": lambda ops, _, __: _approve_another(ops),
    "another setting": lambda ops, _, __: ops.set_policy({"completion_window": 4}),
}


async def _approve_another(operator: Any) -> None:
    await operator.add_record(Policy("another.tool", LARGE, "require_approval", id="x"))
    await operator.add_record(Approval.for_action("x", TOOL, BIG))


ENDS: dict[str, Step] = {
    "a read of records": lambda _, agent, __: agent.read_records(["cap"]),
    "a read of an entry": lambda _, agent, __: agent.read("notes/1"),
    "a full read": lambda _, agent, __: agent.read_all(),
    "a compaction": lambda _, agent, __: agent.compacted(kept=["cap"]),
    "a compaction that others report": lambda ops, _, __: ops.compacted(agents=["a"]),
    "a record of its own": lambda _, agent, __: agent.add_record(Chatter("mine")),
    "a rule for the tool": lambda ops, _, __: ops.add_record(Policy(TOOL, LARGE, "allow")),
    "a rule for its namespace": lambda ops, _, __: ops.add_record(Policy("refunds.*", LARGE, "deny")),
    "a rule for every tool": lambda ops, _, __: ops.add_record(Policy("*", LARGE, "deny")),
    "the end of a rule": lambda ops, _, __: ops.add_record(Policy("x", LARGE, "deny", supersedes="cap")),
    "a fact that a rule reads": lambda ops, _, __: ops.add_record(Fact("tier", "base")),
    "a retraction": lambda ops, _, __: ops.add_record(Fact("tier", retracted=True)),
    "an approval": lambda ops, _, __: ops.add_record(Approval.for_action("cap", TOOL, BIG)),
    "an entry that a rule reads": lambda _, __, peer: peer.write("task/B", RED, revision=1),
    "what nobody can evaluate": lambda ops, _, __: ops.add_record({"kind": "summary"}),
}


async def certified(place: Place) -> tuple[Board, Board, Board, CertificateReply]:
    operator, agent = await desk(
        place,
        Policy(TOOL, LARGE, "require_approval", id="cap"),
        Policy(TOOL, GOLD, "allow"),
        light("deny", "red"),
        OLD,
        records=["chatter"],
    )
    peer = await place.agent("b", writes=["*"])
    await agent.read_records()
    await agent.compacted(kept=["cap"])
    return operator, agent, peer, await agent.certificate(TOOL)


@pytest.mark.parametrize("case", SURVIVES)
async def test_it_survives_what_does_not_bear_on_it(place: Place, case: str) -> None:
    operator, agent, peer, reply = await certified(place)
    await SURVIVES[case](operator, agent, peer)
    for asking in (operator, agent, peer, await place.auditor()):
        told = await asking.certificate_valid(reply.id)
        assert (told.valid, told.ended, told.id) == (True, [], reply.id)
        assert (told.agent, told.tool, told.as_of) == ("a", TOOL, (reply.seq or 0) - 1)
        assert told.head >= (reply.seq or 0)


@pytest.mark.parametrize("case", ENDS)
async def test_it_ends_with_what_bears_on_it(place: Place, case: str) -> None:
    operator, agent, peer, reply = await certified(place)
    await ENDS[case](operator, agent, peer)
    told = await agent.certificate_valid(reply.id)
    assert (told.valid, len(told.ended)) == (False, 1)
    await agent.certificate(TOOL)
    assert not (await agent.certificate_valid(reply.id)).valid


async def test_it_ends_when_the_next_record_expires(place: Place) -> None:
    operator, agent = await desk(place)
    await operator.add_record(Policy(TOOL, LARGE, "deny", id="p", expires_seq=6))
    reply, key = await issue(agent)
    assert reply.certificate is not None
    assert reply.certificate["certificate"]["valid_until_seq"] == 6
    for head, valid in ((4, True), (5, True), (6, False)):
        await agent.say("the head moves on")
        told = await operator.certificate_valid(reply.id)
        assert (told.head, told.valid, told.valid_until_seq) == (head, valid, 6)
        verdict = offline(reply, key, BIG, head=head).verdict
        assert verdict == ("BLOCK" if valid else "ERROR")
    assert codes(await agent.check(TOOL, BIG)) == []


async def test_a_basis_that_moved_is_covered_by_no_certificate(place: Place) -> None:
    _, agent = await desk(place)
    peer = await place.agent("b")
    await agent.write("task/A", "red", revision=1)
    reply, key = await issue(agent)
    await peer.read("task/A")
    await peer.write("task/A", "green", revision=2)
    assert (await agent.certificate_valid(reply.id)).valid
    assert offline(reply, key, SMALL).verdict == "PASS"
    assert codes(await agent.check(TOOL, SMALL, basis={"task/A": 1})) == ["basis-moved"]


async def test_asked_for_again_it_is_the_same_or_has_ended(place: Place) -> None:
    operator, agent = await desk(place, CAP)
    first = await agent.certificate(TOOL, idempotency_key="k")
    again = await agent.certificate(TOOL, idempotency_key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.id, again.certificate, again.digest) == (first.id, first.certificate, first.digest)
    await operator.add_record(NEW)
    await operator.add_record(Policy(TOOL, GOLD, "deny"))
    ended = await agent.certificate(TOOL, idempotency_key="k")
    assert (ended.replayed, ended.id, ended.certificate, ended.digest) == (True, first.id, None, first.digest)
    assert len(ended.ended) == 1
    with pytest.raises(blackboard.IdempotencyKeyReused):
        await agent.certificate("notes.append", idempotency_key="k")


# -- who asks


@pytest.mark.parametrize("certificate", ["certificate:2", "certificate:99", "a/b", "..", "ü", "%2F", " "])
async def test_a_certificate_that_was_not_issued_is_unknown(place: Place, certificate: str) -> None:
    operator, agent = await desk(place, CAP)
    await agent.certificate(TOOL)
    for asking in (operator, agent):
        with pytest.raises(blackboard.UnknownCertificate) as caught:
            await asking.certificate_valid(certificate)
        assert caught.value.status == 404


async def test_only_agents_are_certified_and_only_for_a_tool(place: Place) -> None:
    operator, agent = await desk(place, CAP)
    for other in (operator, await place.auditor()):
        with pytest.raises(blackboard.NotAllowed):
            await other.certificate(TOOL)
    for tool in ("refunds.*", "", 5):
        with pytest.raises(blackboard.Malformed) as caught:
            await agent.certificate(tool)  # type: ignore[arg-type]  # what is refused
        assert caught.value.member == "/tool"
    assert (await agent.events()).head == 2


async def test_everyone_gets_the_one_public_key(place: Place) -> None:
    operator, agent = await desk(place)
    told = [await one.signing_key() for one in (operator, agent, await place.auditor())]
    assert told[0] == told[1] == told[2]
    assert (len(told[0].public_key), len(told[0].key_id)) == (64, 16)
    reply = await agent.certificate(TOOL)
    for key in (told[0].public_key, told[0].pem, bytes.fromhex(told[0].public_key)):
        assert offline(reply, key, SMALL).verdict == "PASS"  # type: ignore[arg-type]  # every form of it


async def test_who_repairs_and_reads_again_is_certified_for_every_call(place: Place) -> None:
    """The way of a compactor: repair, compact, read again what is named; then no call is blocked."""
    _, agent = await desk(place, CAP, OLD, NEW, Policy(TOOL, GOLD, "allow"), light("deny", "red"))
    peer = await place.agent("b", writes=["task/*"])
    await peer.write_many([Write("task/B", 1, RED)])
    await agent.read_records()
    plan = await agent.repair(["old"], [TOOL])
    await agent.compacted(kept=plan.held)
    assert (plan.read, plan.reread) == ([], ["task/B"])
    await agent.read_many(plan.reread)
    reply, key = await issue(agent)
    assert {offline(reply, key, params).verdict for params in ACTIONS} == {"PASS"}
