"""No input is unexpected: whatever is sent is answered, or refused by an error of the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.errors import BlackboardError, Malformed
from blackboard.gate import query
from blackboard.gate.keeping import keep
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.prepare import prepare
from blackboard.messages.principal import Call, Grants, Principal
from blackboard.messages.replies import SayReply
from blackboard.messages.verdicts import RecordReply
from tests.pure.driver import World, attempt, frozen, write
from tests.pure.plays import RECORDS
from tests.pure.strategies import values

COMMANDS = sorted(get_args(ask.Command), key=lambda kind: kind.__name__)
WRITES = sorted(ask.Write.__struct_fields__)

atoms = st.sampled_from(
    [None, True, False, 0, 1, -1, 3, 2**53 - 1, 0.5, 1e300, "", "k", "k@1", "a", "task/", "2:k", "proposal:3"]
)
strange = st.sampled_from(["a\x00b", "\u2028", "k" * 300, "é", "open", "single-writer", "done", "entry:2"])
keyed = st.dictionaries(st.sampled_from(["k", "j", "", "task/A"]), st.integers(-1, 4), max_size=2)
one_write = st.fixed_dictionaries(
    {"key": st.sampled_from(["k", "j", "task/A", "", "a\nb"])},
    optional={
        "revision": st.integers(-1, 6) | atoms,
        "value": values,
        "confidence": st.floats(0, 1) | atoms,
        "deleted": st.booleans(),
        "basis": keyed | atoms,
        "payload_hash": atoms,
        "compacted": st.booleans(),
    },
)
policy = st.dictionaries(
    st.sampled_from(["demotion", "signals", "coordinator", "completion_window", "finished", "unheard"]),
    atoms | strange | st.just({"read-elision": "off"}) | st.lists(strange, max_size=2),
    max_size=2,
)
members = (
    atoms | strange | st.lists(atoms | strange, max_size=3) | st.lists(one_write, max_size=3) | keyed | policy
)

PRINCIPALS = [
    Principal(role="agent", name="a"),
    Principal(role="agent", name="b", grants=Grants(prefix="task/", writes=["k*"], report_peers=True)),
    Principal(role="operator", name="ops"),
    Principal(role="auditor", name="kim"),
    Principal(role="agent", name="c", boards=("elsewhere",)),
]


def furnished() -> World:
    world = World({"coordinator": "a"})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, {"status": "open"})
    peer.proposes(write("k", 2, "done"))
    agent.reads_proposals()
    agent.writes("task/A", 1)
    peer.compacts()
    return world


def attempted(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Malformed as error:
        return error


def decoded(kind: type[ask.Message], sent: dict[str, Any]) -> Any:
    """As a transport does it; None for what it refuses."""
    try:
        return canonical.decode(msgspec.json.encode(sent), kind, max_bytes=1_000_000)
    except Malformed:
        return None


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda kind: kind.__name__)
@settings(max_examples=max(20, settings().max_examples // 4))
@given(data=st.data())
def test_every_command_is_answered_or_refused(kind: type[ask.Message], data: st.DataObject) -> None:
    fields = kind.__struct_fields__
    drawn = {name: data.draw(members) for name in fields if data.draw(st.booleans())}
    if "writes" in fields:
        drawn["writes"] = data.draw(st.lists(one_write, max_size=3))
    command = decoded(kind, drawn)
    if command is None:
        return
    world = furnished()
    before = frozen(world.board)
    principal, seen = data.draw(st.sampled_from(PRINCIPALS)), data.draw(st.none() | st.integers())
    answer = attempt(lambda: world.send(principal, command, seen=seen))
    if isinstance(answer, BlackboardError):
        assert answer.detail
        assert answer.status < 500
        assert not isinstance(answer, Malformed) or answer.members
        if answer.reply is None:
            assert frozen(world.board) == before
    world.check()


words = st.sampled_from(
    ["policy", "fact", "approval", "chatter", "oath", "amount", "gt", "eq", "in", "deny", "allow", "p", "t"]
)
predicates = st.recursive(
    st.fixed_dictionaries(
        {"field": words | atoms, "op": words, "value": atoms | st.lists(atoms, max_size=2)},
        optional={"source": st.sampled_from(["param", "fact", "ledger", "word"]), "at": strange},
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"any": st.lists(inner, max_size=2) | atoms}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=4,
)
some_record = st.fixed_dictionaries(
    {"kind": words | atoms},
    optional={
        "id": words | strange,
        "version": st.integers(0, 2) | atoms,
        "scope": words | st.lists(words | strange, max_size=2),
        "predicate": predicates | atoms,
        "effect": words,
        "field": words | strange,
        "value": values,
        "retracted": atoms,
        "supersedes": words,
        "expires_seq": st.integers(0, 9) | atoms,
        "text": strange | atoms,
        "policy": words,
        "action_digest": st.just("ab" * 32) | atoms,
        "granted": st.booleans() | atoms,
        "approver": words | atoms,
        "seq": st.integers(0, 9),
    },
)


records = st.lists(some_record | st.sampled_from(RECORDS), min_size=1, max_size=5)


@given(records, st.dictionaries(words, values, max_size=2))
def test_every_record_is_added_or_refused_and_judged_by(
    sent: list[dict[str, Any]], params: dict[str, Any]
) -> None:
    world = furnished()
    for record in sent:
        command = decoded(ask.AddRecord, {"record": record})
        if command is not None:
            answer = attempt(lambda command=command: world.operator.sends(command))  # type: ignore[misc] # the loop's own
            assert isinstance(answer, RecordReply | Malformed)
    agent = world.agent("a")
    for act in (
        lambda: agent.checks("t", params),
        agent.reads_records,
        lambda: agent.compacts(kept=["p"]),
        lambda: agent.checks("t", params),
        lambda: agent.certifies("t"),
    ):
        answer = attempt(act)
        assert not isinstance(answer, BlackboardError) or answer.status < 500
    world.check()


@given(st.lists(words | strange | st.dictionaries(words, values, max_size=2), max_size=3), st.data())
def test_every_question_about_keeping_is_answered_or_refused(tools: list[Any], data: st.DataObject) -> None:
    world = furnished()
    world.operator.adds({"id": "p", "kind": "fact", "field": "amount", "value": 1})
    kept = data.draw(st.none() | st.lists(words, max_size=2))
    query_ = decoded(ask.Keep, {"tools": tools, "kept": kept, "agent": "a"})
    if query_ is None:
        return
    reply = attempted(lambda: keep(world.board, PRINCIPALS[2], query_, head=world.head))
    if isinstance(reply, Malformed):
        assert reply.member
    else:
        assert set(kept or ()) <= set(reply.records)


@given(st.dictionaries(st.sampled_from([*WRITES, "compacted"]), members))
def test_every_write_is_prepared_or_refused(sent: dict[str, Any]) -> None:
    command = decoded(ask.WriteBatch, {"writes": [sent]})
    if command is None:
        return
    prepared = attempted(lambda: prepare(command, agent="a"))
    if isinstance(prepared, Malformed):
        assert (prepared.member or "").startswith("/writes/0")
    else:
        assert canonical.encode(msgspec.json.decode(prepared.canonical)) == prepared.canonical


@given(st.text(max_size=40))
def test_every_text_is_a_message(text: str) -> None:
    command = decoded(ask.Say, {"text": text})
    if command is None:
        return
    world = furnished()
    reply = attempt(lambda: world.send(PRINCIPALS[0], command))
    if isinstance(reply, Malformed):
        assert reply.member == "/text"
    else:
        assert isinstance(reply, SayReply)
        assert reply.cited == ["entry:2"] * text.split().count("entry:2")
    world.check()


@given(st.integers(-5, 2000), st.none() | st.text(max_size=5))
def test_every_page_of_the_ledger_is_served_or_refused(limit: int, after: str | None) -> None:
    world = furnished()
    asked = ask.GetLedger(limit=limit, after=after)
    if 1 <= limit <= DEFAULT_LIMITS.page_entries:
        served = [entry.key for entry in query.ledger(world.board, asked, head=world.head).entries]
        assert served == [key for key in ("k", "task/A") if after is None or key > after][:limit]
    else:
        with pytest.raises(Malformed):
            query.ledger(world.board, asked, head=world.head)
    query.board_reply(world.board, PRINCIPALS[3], Call(seen=limit))
