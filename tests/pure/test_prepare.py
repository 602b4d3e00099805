"""What is checked and encoded once, before a command waits for its board."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.errors import Malformed, PayloadMismatch, TooLarge
from blackboard.events.policy import PolicyPatch
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS, Limits
from blackboard.messages.operations import BY_MESSAGE
from blackboard.messages.prepare import prepare
from tests.pure.strategies import confidences, names, revisions, texts, values

TIGHT = Limits(
    value_bytes=20,
    key_bytes=10,
    writes_per_batch=2,
    reads_per_command=2,
    page_entries=5,
    json_depth=6,
    text_bytes=10,
    identifier_bytes=8,
    kept_records=2,
    agents_named=2,
)


def decoded(kind: type[ask.Message], members: dict[str, Any]) -> Any:
    return canonical.decode(canonical.encode(members), kind, max_bytes=10_000_000)


def refused(
    kind: type[ask.Message], members: dict[str, Any], error: type[Malformed] = Malformed
) -> Malformed:
    command = decoded(kind, members)
    with pytest.raises(error) as caught:
        prepare(command, agent="a", limits=TIGHT)
    assert type(caught.value) is error
    return caught.value


W = {"key": "k", "revision": 1, "value": 1}


@pytest.mark.parametrize(
    ("kind", "members", "member", "limit"),
    [
        (ask.WriteBatch, {"writes": []}, "/writes", 1),
        (ask.Propose, {"writes": []}, "/writes", 1),
        (ask.WriteBatch, {"writes": [W | {"key": ""}]}, "/writes/0/key", "at least 1 character"),
        (ask.WriteBatch, {"writes": [W | {"key": "a\tb"}]}, "/writes/0/key", "no control characters"),
        (ask.WriteBatch, {"writes": [W | {"key": "k" * 11}]}, "/writes/0/key", 10),
        (ask.WriteBatch, {"writes": [W, W]}, "/writes/1/key", None),
        (ask.WriteBatch, {"writes": [W | {"revision": 0}]}, "/writes/0/revision", 2**53 - 1),
        (ask.WriteBatch, {"writes": [W | {"revision": -3}]}, "/writes/0/revision", 2**53 - 1),
        (ask.WriteBatch, {"writes": [W | {"confidence": 1.5}]}, "/writes/0/confidence", 1),
        (ask.WriteBatch, {"writes": [W | {"confidence": -0.1}]}, "/writes/0/confidence", 1),
        (ask.WriteBatch, {"writes": [W | {"deleted": True}]}, "/writes/0/value", None),
        (ask.WriteBatch, {"writes": [W | {"value": [[[[1]]]]}]}, "/writes/0/value/0/0/0", 3),
        (ask.WriteBatch, {"writes": [W | {"basis": {"": 1}}]}, "/writes/0/basis", "at least 1 character"),
        (ask.WriteBatch, {"writes": [W | {"basis": {"x": -1}}]}, "/writes/0/basis/x", 2**53 - 1),
        (ask.WriteBatch, {"writes": [W | {"basis": {"x/~": -1}}]}, "/writes/0/basis/x~1~0", 2**53 - 1),
        (ask.Read, {}, "/keys", None),
        (ask.Read, {"keys": ["k"], "all": True}, "/keys", None),
        (ask.Read, {"keys": []}, "/keys", 1),
        (ask.Read, {"keys": [""]}, "/keys/0", "at least 1 character"),
        (ask.Read, {"keys": ["k"], "cursor": "2:k"}, "/cursor", None),
        (ask.Read, {"keys": ["k"], "limit": 2}, "/cursor", None),
        (ask.Read, {"all": True, "cursor": ""}, "/cursor", "at least 1 character"),
        (ask.Read, {"all": True, "cursor": "2:" + "k" * 80}, "/cursor", 74),
        (ask.Read, {"all": True, "limit": 0}, "/limit", 5),
        (ask.Read, {"all": True, "limit": 6}, "/limit", 5),
        (ask.ReadEntry, {"key": ""}, "/key", "at least 1 character"),
        (ask.Compact, {"agents": []}, "/agents", 1),
        (ask.Compact, {"agents": ["a\nb"]}, "/agents/0", "no control characters"),
        (ask.Compact, {"kept": [""]}, "/kept/0", "at least 1 character"),
        (ask.Compact, {"summary_digest": "d" * 9}, "/summary_digest", 8),
        (ask.Say, {"text": ""}, "/text", 1),
        (ask.Say, {"text": "x", "recipients": [""]}, "/recipients/0", "at least 1 character"),
        (ask.JoinAgent, {"agent": ""}, "/agent", "at least 1 character"),
        (ask.JoinAgent, {"agent": "a", "prefix": "\x00"}, "/prefix", "no control characters"),
        (ask.SetMode, {"mode": "single-writer", "coordinator": ""}, "/coordinator", "at least 1 character"),
        (ask.SetMode, {"mode": "open", "coordinator": "a"}, "/coordinator", None),
        (ask.SetPolicy, {"policy": {"coordinator": "a\nb"}}, "/policy/coordinator", "no control characters"),
        (ask.OpenBoard, {"policy": {"coordinator": "a" * 9}}, "/policy/coordinator", 8),
    ],
)
def test_what_is_malformed_is_refused_and_member_and_limit_are_named(
    kind: type[ask.Message], members: dict[str, Any], member: str, limit: Any
) -> None:
    error = refused(kind, members)
    assert (error.member, error.limit) == (member, limit)


@pytest.mark.parametrize(
    ("kind", "members", "member", "limit"),
    [
        (ask.WriteBatch, {"writes": [W | {"key": str(n)} for n in range(3)]}, "/writes", 2),
        (ask.WriteBatch, {"writes": [W | {"value": "x" * 19}]}, "/writes/0/value", 20),
        (ask.WriteBatch, {"writes": [W | {"basis": {"x": 1, "y": 1, "z": 1}}]}, "/writes/0/basis", 2),
        (ask.Propose, {"writes": [W], "reason": "x" * 11}, "/reason", 10),
        (ask.Read, {"keys": ["x", "y", "z"]}, "/keys", 2),
        (ask.Compact, {"agents": ["x", "y", "z"]}, "/agents", 2),
        (ask.Compact, {"kept": ["x", "y", "z"]}, "/kept", 2),
        (ask.Say, {"text": "ä" * 6}, "/text", 10),
        (ask.Say, {"text": "x", "recipients": ["x", "y", "z"]}, "/recipients", 2),
        (ask.SetMode, {"mode": "open", "why": "x" * 11}, "/why", 10),
        (ask.RefuseProposal, {"proposal": "p", "reason": "x" * 11}, "/reason", 10),
    ],
)
def test_what_is_too_large_is_refused_and_member_and_limit_are_named(
    kind: type[ask.Message], members: dict[str, Any], member: str, limit: int
) -> None:
    error = refused(kind, members, TooLarge)
    assert (error.member, error.limit, error.status) == (member, limit, 413)


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (ask.WriteBatch, {"writes": [W | {"value": "x" * 18}]}),
        (ask.WriteBatch, {"writes": [W | {"value": [[[1]]]}]}),
        (ask.WriteBatch, {"writes": [W | {"confidence": 0}, W | {"key": "j", "confidence": 1}]}),
        (ask.WriteBatch, {"writes": [W | {"basis": {"x": 0, "y": 2**53 - 1}}]}),
        (ask.Read, {"keys": ["x", "y"]}),
        (ask.Read, {"all": True, "limit": 5}),
        (ask.Read, {"all": True, "cursor": "2:kkkkkkkkkk"}),
        (ask.Compact, {"agents": ["x", "y"], "kept": ["x", "y"], "summary_digest": "d" * 8}),
        (ask.Compact, {"kept": []}),
        (ask.Say, {"text": "ä" * 5, "recipients": ["x", "y"]}),
        (ask.SetMode, {"mode": "single-writer", "coordinator": "a" * 8}),
        (ask.SetMode, {"mode": "single-writer"}),
        (ask.JoinAgent, {"agent": "a", "prefix": ""}),
        (ask.JoinAgent, {"agent": "a", "prefix": "task/"}),
        (ask.SetPolicy, {"policy": {"coordinator": None}}),
        (ask.OpenBoard, {}),
        (ask.EndTurn, {"turn": 3}),
    ],
)
def test_what_is_at_its_limit_is_accepted(kind: type[ask.Message], members: dict[str, Any]) -> None:
    prepare(decoded(kind, members), agent="a", limits=TIGHT)


def test_the_default_limits_are_those_of_the_specification() -> None:
    assert (DEFAULT_LIMITS.command_bytes, DEFAULT_LIMITS.value_bytes, DEFAULT_LIMITS.key_bytes) == (
        128 * 1024,
        64 * 1024,
        256,
    )
    assert (DEFAULT_LIMITS.writes_per_batch, DEFAULT_LIMITS.json_depth) == (1000, 32)


@pytest.mark.parametrize("member", ["revision", "confidence"])
@pytest.mark.parametrize("value", ["1", True, float("nan"), float("inf"), [1]])
def test_a_message_that_was_never_decoded_is_held_to_its_types(member: str, value: Any) -> None:
    write = msgspec.structs.replace(ask.Write("k", 1, 1), **{member: value})
    with pytest.raises(Malformed) as caught:
        prepare(ask.WriteBatch(writes=[write]), agent="a")
    assert caught.value.member == f"/writes/0/{member}"


# -- what comes out


def test_the_payload_hash_is_that_of_the_specification() -> None:
    write = ask.Write("k", 3, {"b": 1, "a": 2}, confidence=0.5)
    (prepared,) = prepare(ask.WriteBatch(writes=[write]), agent="executor").writes
    plain = canonical.encode(
        {"agent": "executor", "key": "k", "revision": 3, "value": {"a": 2, "b": 1}, "confidence": 0.5}
    )
    assert prepared.payload_hash == canonical.digest(plain).hex()
    assert (prepared.raw, prepared.revision) == (b'{"a":2,"b":1}', 3)
    deletion = ask.Write("k", 4, deleted=True)
    (prepared,) = prepare(ask.WriteBatch(writes=[deletion]), agent="executor").writes
    plain = canonical.encode({"agent": "executor", "key": "k", "revision": 4, "value": None, "deleted": True})
    assert prepared.payload_hash == canonical.digest(plain).hex()


def test_a_payload_hash_that_does_not_agree_is_refused() -> None:
    (good,) = prepare(ask.WriteBatch(writes=[ask.Write("k", 1, 1)]), agent="a").writes
    sent = ask.Write("k", 1, 1, payload_hash=good.payload_hash)
    assert prepare(ask.WriteBatch(writes=[sent]), agent="a").writes[0].payload_hash == good.payload_hash
    with pytest.raises(PayloadMismatch, match="Send it again"):
        prepare(ask.WriteBatch(writes=[sent]), agent="b")


def test_a_write_without_a_revision_is_prepared_for_its_refusal() -> None:
    (prepared,) = prepare(ask.WriteBatch(writes=[ask.Write("k", value=1)]), agent="a").writes
    assert prepared.revision is None


@pytest.mark.parametrize(("sent", "stored"), [(1, 1.0), (0, 0.0), (-0.0, 0.0), (0.25, 0.25)])
def test_a_confidence_is_one_number_however_it_was_written(sent: float, stored: float) -> None:
    (prepared,) = prepare(ask.WriteBatch(writes=[ask.Write("k", 1, confidence=sent)]), agent="a").writes
    assert (type(prepared.confidence), str(prepared.confidence)) == (float, str(stored))


writes = st.builds(
    ask.Write,
    key=names,
    revision=revisions | st.just(msgspec.UNSET),
    value=values,
    confidence=st.none() | confidences,
    basis=st.none() | st.dictionaries(names, st.integers(0, 99), max_size=2),
)
batches = st.lists(writes, min_size=1, max_size=3, unique_by=lambda write: write.key)
turns = st.none() | st.integers(0, 99)
commands = (
    st.builds(ask.WriteBatch, writes=batches, turn=turns)
    | st.builds(ask.Propose, writes=batches, reason=texts, turn=turns)
    | st.builds(ask.Say, text=texts.filter(bool), recipients=st.lists(names, max_size=2), turn=turns)
    | st.builds(ask.Read, keys=st.lists(names, min_size=1, max_size=3), turn=turns)
    | st.builds(ask.SetPolicy, policy=st.builds(PolicyPatch, completion_window=st.integers(1, 9)))
)


def members_of(value: Any) -> Any:
    """A message as plain data, members equal to their default left out."""
    plain = msgspec.to_builtins(value)
    if isinstance(value, ask.WriteBatch | ask.Propose):
        # A value is always there, null too; the payload hash is a check of transport, no part of it.
        for write, sent in zip(plain["writes"], value.writes, strict=True):
            write["value"] = msgspec.to_builtins(sent.value)
            write.pop("payload_hash", None)
    return plain


@given(commands)
def test_a_commands_canonical_bytes_are_rfc_8785_of_its_operation_and_members(command: Any) -> None:
    prepared = prepare(command, agent="a")
    expected = {"body": members_of(command), "operation": BY_MESSAGE[type(command)].name}
    assert prepared.canonical == canonical.encode(expected)
    assert prepare(command, agent="a").canonical == prepared.canonical


def test_two_commands_that_differ_have_other_bytes() -> None:
    one = prepare(ask.Read(keys=["k"]), agent="a").canonical
    other = prepare(ask.ReadEntry(key="k"), agent="a").canonical
    assert len({one, other, prepare(ask.Read(keys=["k"], turn=1), agent="a").canonical}) == 3


def test_every_command_has_an_operation() -> None:
    assert {*get_args(ask.Command)} <= BY_MESSAGE.keys()


# -- nothing about an agent's state is taken from the request


@pytest.mark.parametrize(
    "member", ["compacted", "baseline", "baseline_breadth", "seen_hash", "payload", "agent"]
)
def test_what_a_request_claims_about_its_sender_is_refused(member: str) -> None:
    for members in ({"writes": [W | {member: True}]}, {"writes": [W], member: True}):
        with pytest.raises(Malformed) as caught:
            decoded(ask.WriteBatch, members)
        assert (caught.value.member or "").endswith(f"/{member}")
