"""Boards are opened by operators or by the first command that appends; who decides what, and who may ask."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from blackboard.errors import (
    Conflict,
    Malformed,
    NotAllowed,
    PolicyDiffers,
    UnknownBoard,
    UnknownProposal,
)
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.events.policy import Policy, PolicyPatch
from blackboard.gate.authorize import authorize
from blackboard.messages import commands as ask
from blackboard.messages.operations import BY_MESSAGE, OPERATIONS
from blackboard.messages.principal import Grants, Principal
from blackboard.projections.evolve import evolve
from blackboard.records.verdict import Answer
from tests.pure.conftest import Worlds
from tests.pure.driver import NAME, World, write


def test_an_operator_opens_a_board_with_its_policy(worlds: Worlds) -> None:
    world = worlds(opened=False)
    reply = world.operator.opens({"demotion": "read-only"})
    assert (reply.created, reply.name, reply.format, reply.mode) == (True, NAME, 3, "open")
    assert (reply.policy.demotion, reply.head, reply.seq) == ("read-only", 1, 1)
    assert (reply.agents, reply.live_entries, reply.coordinator) == (0, 0, None)
    body = world.last(kinds.BoardOpened)
    assert (body.name, body.format, body.policy) == (NAME, 3, reply.policy)


def test_opening_again_is_a_no_op(worlds: Worlds) -> None:
    world = worlds({"demotion": "read-only"})
    for policy in (None, {"demotion": "read-only"}, {"demotion": "read-only", "broadcast": True}):
        reply = world.operator.opens(policy)
        assert (reply.created, reply.seq, reply.policy.demotion) == (False, None, "read-only")
    assert world.head == 1


@pytest.mark.parametrize("policy", [{}, {"demotion": "off"}, {"demotion": "read-only", "broadcast": False}])
def test_opening_again_with_another_policy_is_a_conflict(worlds: Worlds, policy: dict[str, Any]) -> None:
    world = worlds({"demotion": "read-only"})
    with pytest.raises(PolicyDiffers) as caught:
        world.operator.opens(policy)
    assert caught.value.members["board"] == NAME
    assert len(caught.value.members["differs"]) == 1
    assert world.head == 1


def test_the_first_command_that_appends_opens_where_that_is_allowed(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    ack = world.agent("a").writes("k", 1)
    assert world.kinds == ["board.opened", "entry.written"]
    assert (ack.entries[0].id, ack.seq) == ("entry:2", 2)
    assert world.board.policy == Policy()
    assert [event.first for event in world.events] == [True, False]


def test_a_command_that_appends_nothing_opens_nothing(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    world.agent("a").reads_proposals()
    world.operator.sets_mode("open")
    with pytest.raises(UnknownProposal):
        world.agent("a").accepts("proposal:1")
    assert world.head == 0


def test_a_refused_first_write_opens_too(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    with pytest.raises(Malformed):
        world.agent("a").writes("k", None)
    assert world.kinds == ["board.opened", "write.rejected", "signal.raised"]


def test_an_operators_other_commands_open_as_well(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    world.operator.sets_policy(completion="off")
    assert world.kinds == ["board.opened", "board.policy-changed"]


@pytest.mark.parametrize("wanted", [0, -1, 4, 2**53 - 1])
def test_a_format_that_this_release_does_not_write_is_refused(world: World, wanted: int) -> None:
    for command in (ask.RaiseFormat(format=wanted), ask.OpenBoard(format=wanted)):
        with pytest.raises(Malformed) as caught:
            world.operator.sends(command)
        assert (caught.value.member, caught.value.limit) == ("/format", 3)


def test_raising_to_the_format_that_is_there_appends_nothing(world: World) -> None:
    assert world.operator.sends(ask.RaiseFormat(format=3)).seq is None


def test_a_format_is_raised_and_never_falls(worlds: Worlds) -> None:
    world = worlds(at_format=1)
    world.operator.sends(ask.OpenBoard(format=None))
    assert world.board.format == 1
    assert world.operator.raises_format(2).seq == 2
    with pytest.raises(Conflict, match="never falls"):
        world.operator.sends(ask.RaiseFormat(format=1))
    assert world.operator.sends(ask.RaiseFormat(format=3)).seq == 3
    assert world.last(kinds.BoardFormatRaised).format == world.board.format == 3
    assert world.board.notables["format"].detail == "the board's format is now 3"


def test_joining_names_the_prefix_once(world: World) -> None:
    world.operator.joins("a", "task/")
    assert world.last(kinds.AgentJoined) == kinds.AgentJoined(agent="a", prefix="task/")
    assert world.operator.joins("a", "task/").seq is None
    world.operator.joins("a", "doc/")
    assert world.state("a").demotion.prefix == "doc/"
    world.operator.joins("b")
    assert world.operator.joins("b").seq is None


# -- what this release does not know


def test_an_unknown_kind_only_moves_the_head() -> None:
    board = World().board
    evolve(board, Event(2, "operator:ops", "c9", True, kinds.Opaque(kind="weather.changed", version=1)))
    assert (board.head, board.agents) == (2, {})


def test_events_of_an_actor_that_is_no_agent_are_folded_without_one() -> None:
    # Nothing writes such events; a fold must not fall over them all the same.
    board = World().board
    bodies: list[kinds.EventBody] = [
        kinds.EntryWritten(payload_hash="00" * 32, value=msgspec.Raw(b"1")),
        kinds.BoardRead(keys={"k": 1}),
        kinds.WriteRejected(code="unseen-revision", rules=[], writes=[]),
        kinds.MessagePosted(text="x"),
        kinds.TurnEnded(),
        kinds.ActionChecked(
            tool="t",
            params=msgspec.Raw(b"{}"),
            verdict="PASS",
            head=1,
            policy=Answer(answer="default"),
            digest="00" * 32,
        ),
    ]
    for seq, body in enumerate(bodies, 2):
        key, revision = ("k", 1) if isinstance(body, kinds.EntryWritten) else (None, None)
        evolve(board, Event(seq, "operator:ops", f"c{seq}", True, body, None, key, revision))
    assert (board.agents, board.ledger.entries["k"].writer) == ({}, "operator:ops")


# -- who may ask


COMMANDS = get_args(ask.Command)


def allowed(principal: Principal, message: ask.Message) -> bool:
    try:
        authorize(principal, NAME, message)
    except NotAllowed:
        return False
    return True


BARE: dict[type[ask.Message], ask.Message] = {
    ask.SetPolicy: ask.SetPolicy(policy=PolicyPatch()),
    ask.SetMode: ask.SetMode(mode="open"),
    ask.RaiseFormat: ask.RaiseFormat(format=1),
    ask.JoinAgent: ask.JoinAgent(agent="a"),
    ask.WriteBatch: ask.WriteBatch(writes=[]),
    ask.ReadEntry: ask.ReadEntry(key="k"),
    ask.Say: ask.Say(text="x"),
    ask.AddRecord: ask.AddRecord(record={}),
    ask.Check: ask.Check(tool="t"),
    ask.IssueCertificate: ask.IssueCertificate(tool="t"),
    ask.EndTurn: ask.EndTurn(turn=1),
    ask.Propose: ask.Propose(writes=[]),
    ask.AcceptProposal: ask.AcceptProposal(proposal="p"),
    ask.RefuseProposal: ask.RefuseProposal(proposal="p"),
}


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("role", ["agent", "auditor", "operator"])
def test_each_command_is_for_the_roles_of_its_row(kind: type[ask.Message], role: Any) -> None:
    message = BARE.get(kind) or kind()
    assert allowed(Principal(role=role, name="x"), message) == (role in BY_MESSAGE[kind].roles)


def test_operators_do_not_write_as_agents(world: World) -> None:
    world.agent("a").writes("k", 3)
    with pytest.raises(NotAllowed, match="write is for agent") as caught:
        world.operator.sends(ask.WriteBatch(writes=[ask.Write("k", 1)]))
    assert caught.value.members["roles"] == ["agent"]


def test_auditors_append_nothing() -> None:
    auditor = Principal(role="auditor", name="kim")
    for row in OPERATIONS:
        if row.appends:
            assert "auditor" not in row.roles
    assert not allowed(auditor, ask.Read(all=True))


def test_a_board_out_of_reach_looks_like_one_that_does_not_exist(worlds: Worlds) -> None:
    world, empty = worlds(), worlds(opened=False)
    stranger = Principal(role="agent", name="a", boards=("docs-*",))
    with pytest.raises(UnknownBoard) as unreachable:
        world.send(stranger, ask.Read(keys=["k"]))
    with pytest.raises(UnknownBoard) as absent:
        empty.send(Principal(role="agent", name="a"), ask.Read(keys=["k"]))
    assert unreachable.value.detail == absent.value.detail
    assert unreachable.value.members == absent.value.members == {"board": NAME}


@pytest.mark.parametrize(
    ("patterns", "reached"),
    [(("*",), True), ((), False), (("release-*",), True), (("Release-*",), False), (("x", NAME), True)],
)
def test_boards_are_reached_by_pattern(patterns: tuple[str, ...], reached: bool) -> None:
    assert Principal(role="agent", name="a", boards=patterns).reaches(NAME) is reached


def test_boards_that_are_not_named_need_no_reach() -> None:
    authorize(Principal(role="agent", name="a", boards=()), None, ask.ListBoards())


def test_an_agent_sees_its_own_view_only() -> None:
    agent = Principal(role="agent", name="a")
    authorize(agent, NAME, ask.GetAgent(agent="a"))
    authorize(agent, NAME, ask.Keep(tools=["t"], agent="a"))
    authorize(agent, NAME, ask.Keep(tools=["t"]))
    with pytest.raises(NotAllowed, match="its own view"):
        authorize(agent, NAME, ask.Keep(tools=["t"], agent="b"))
    with pytest.raises(NotAllowed, match="its own view"):
        authorize(agent, NAME, ask.GetAgent(agent="b"))
    authorize(Principal(role="auditor", name="kim"), NAME, ask.GetAgent(agent="b"))


def test_the_actor_comes_from_the_credential(world: World) -> None:
    world.agent("a").writes("k", 1)
    assert [event.actor for event in world.events] == ["operator:ops", "agent:a"]
    assert Principal(role="auditor", name="kim").agent is None


def test_a_write_grant_bounds_the_keys(world: World) -> None:
    agent = world.agent("a", writes=["task/*", "note"])
    agent.writes_many(write("task/A/1", 1), write("note", 1))
    for key in ("doc/x", "notes", "TASK/A"):
        with pytest.raises(NotAllowed, match="it may write task") as caught:
            agent.writes_many(write("task/B", 1), write(key, 1))
        assert caught.value.members == {"key": key}
    assert world.kinds[1:] == ["entry.written"] * 2


def test_an_empty_write_grant_writes_nothing(world: World) -> None:
    with pytest.raises(NotAllowed):
        world.agent("a", writes=[]).writes("k", 1)
    assert Grants().may_write("anything")
