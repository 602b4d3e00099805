"""decide(board, actor, command) -> events and reply: the one door through which a board changes.

Synchronous and pure. The caller fetches what `needs` names, decides, folds the drafts into its working
board, lets `complete` fill in the reply, and gives it out only after the commit.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from blackboard.errors import BlackboardError
from blackboard.events import kinds
from blackboard.events.envelope import Draft
from blackboard.gate.authorize import authorize, unknown_board
from blackboard.gate.case import Fetched, Need
from blackboard.gate.certify import decide_certificate
from blackboard.gate.check import decide_check
from blackboard.gate.compact import decide_compact
from blackboard.gate.decision import Asked, Decision, raise_signals
from blackboard.gate.govern import (
    decide_format,
    decide_join,
    decide_mode,
    decide_open,
    decide_policy,
    opening,
)
from blackboard.gate.moment import Moment
from blackboard.gate.propose import accept_needs, decide_accept, decide_propose, decide_refuse, propose_needs
from blackboard.gate.query import board_members
from blackboard.gate.read import decide_read, decide_read_entry, decide_read_proposals
from blackboard.gate.record import decide_add
from blackboard.gate.say import decide_say, say_needs
from blackboard.gate.sight import compile_needs
from blackboard.gate.telling import context
from blackboard.gate.turn import check_turn
from blackboard.gate.write import decide_write, needed
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.evolve import settle


def needs(board: Board, principal: Principal, prepared: Prepared) -> list[Need]:
    """The rows to fetch before this command can be decided on this board; nearly always none."""
    agent = _acting(board, principal) or AgentState(principal.name)
    match prepared.command:
        case ask.WriteBatch():
            return needed(board, agent, prepared.writes)
        case ask.AcceptProposal(proposal=proposal):
            return accept_needs(board, agent, proposal)
        case ask.Propose():
            return propose_needs(board, agent, prepared.writes)
        case ask.Check(tool=tool) | ask.IssueCertificate(tool=tool):
            return compile_needs(board, agent, tool)
        case ask.Say(reply_to=reply_to):
            return say_needs(board, reply_to)
        case _:
            return []


def decide(
    board: Board,
    name: str,
    principal: Principal,
    prepared: Prepared,
    fetched: Fetched,
    *,
    auto_open: bool = False,
) -> Decision:
    """Decide one command on the board `name` as it stands.

    Raises `Malformed`, `NotAllowed`, `NotFound` or `Conflict` where nothing is to be recorded. `auto_open`:
    a board that does not exist is opened, with the default policy, by the first command that appends.
    """
    command = prepared.command
    authorize(principal, name, command)
    settle(board)
    if not board.head and not isinstance(command, ask.OpenBoard) and not (auto_open and _opens(command)):
        raise unknown_board(name)
    agent = _acting(board, principal)
    leading = _leading(board, name, principal, agent, command)
    asked = Asked(board, principal, agent, prepared, fetched, leading)
    if not isinstance(command, ask.WriteBatch):  # which may be a replay: a receipt, whatever turn it names
        check_turn(agent, getattr(command, "turn", None))
    return _decide(asked, name, command)


def _opens(command: ask.Command) -> bool:
    """Whether a command may open a board that does not exist. A check of a mistyped one must not pass."""
    return not isinstance(command, ask.Check | ask.IssueCertificate)


def _acting(board: Board, principal: Principal) -> AgentState | None:
    """The agent that acts, None for others. One that no event concerns yet stays unknown to the board."""
    if principal.agent is None:
        return None
    return board.agents.get(principal.agent) or AgentState(principal.agent)


def _leading(
    board: Board, name: str, principal: Principal, agent: AgentState | None, command: ask.Command
) -> list[Draft]:
    leading = []
    if not board.head and not isinstance(command, ask.OpenBoard):
        leading.append(Draft(opening(name)))
    prefix = principal.grants.prefix
    if agent is not None and prefix and not agent.joined:
        leading.append(Draft(kinds.AgentJoined(agent=agent.id, prefix=prefix)))
    return leading


def _decide(asked: Asked, name: str, command: ask.Command) -> Decision:  # noqa: C901, PLR0912 - a closed union
    match command:
        case ask.WriteBatch():
            return decide_write(asked, command.turn)
        case ask.Read():
            return _entering(asked, command.turn, decide_read(asked, command))
        case ask.ReadEntry():
            return _entering(asked, command.turn, decide_read_entry(asked, command))
        case ask.ReadProposals():
            return _entering(asked, command.turn, decide_read_proposals(asked))
        case ask.Propose():
            return _entering(asked, command.turn, decide_propose(asked, command))
        case ask.RefuseProposal():
            return _entering(asked, command.turn, decide_refuse(asked, command))
        case ask.AddRecord():
            return _entering(asked, command.turn, decide_add(asked, command))
        case ask.Check():
            return _entering(asked, command.turn, decide_check(asked, command))
        case ask.IssueCertificate():
            return _entering(asked, command.turn, decide_certificate(asked, command))
        case ask.AcceptProposal():
            return decide_accept(asked, command)
        case ask.Compact():
            return decide_compact(asked, command)
        case ask.Say():
            return decide_say(asked, command)
        case ask.EndTurn():
            return _end_turn(asked, command)
        case ask.OpenBoard():
            return decide_open(asked, name, command)
        case ask.SetPolicy():
            return decide_policy(asked, command)
        case ask.SetMode():
            return decide_mode(asked, command)
        case ask.RaiseFormat():
            return decide_format(asked, command)
        case ask.JoinAgent():
            return decide_join(asked, command)
        case _:
            assert_never(command)


def _entering(asked: Asked, turn: int | None, decision: Decision) -> Decision:
    """A command that carries the agent's next turn number completes the turn before it."""
    if turn is None or not decision.drafts:
        return decision
    raised = raise_signals(asked.board, Moment(agent=asked.agent, turn=turn))
    if not raised:
        return decision
    drafts = [*decision.drafts, *(Draft(signal) for signal in raised)]
    return msgspec.structs.replace(decision, drafts=drafts)


def _end_turn(asked: Asked, command: ask.EndTurn) -> Decision:
    signals = raise_signals(asked.board, Moment(agent=asked.agent, turn=command.turn, ends_turn=True))
    return asked.decide([kinds.TurnEnded(), *signals], say.Done())


def complete(
    board: Board, principal: Principal, prepared: Prepared, call: Call, decision: Decision
) -> say.Reply | BlackboardError:
    """The decision's reply with its context, once the board has been moved on by its drafts."""
    drafts = decision.drafts
    first = board.head - len(drafts) + 1
    signals = [
        told_signal(draft.body, first + place)
        for place, draft in enumerate(drafts)
        if type(draft.body) is kinds.SignalRaised
    ]
    members = context(board, principal, call.seen, decision.told)
    seq = board.head if drafts else None
    return filled(board, decision.reply, {"seq": seq, "signals": signals, **members})


def filled(
    board: Board, reply: say.Reply | BlackboardError, members: dict[str, Any]
) -> say.Reply | BlackboardError:
    """The reply with `members` filled in; an error carries them as its `reply`."""
    if isinstance(reply, BlackboardError):
        reply.reply = say.Reply(**members)
        return reply
    if isinstance(reply, say.Ack) and reply.replayed and members["seq"] is None:
        members["seq"] = max(entry.seq for entry in reply.entries)
    if isinstance(reply, say.BoardReply):
        members |= board_members(board)
    return msgspec.structs.replace(reply, **members)


def told_signal(body: kinds.SignalRaised, seq: int) -> say.RaisedSignal:
    """A raised signal as replies name it."""
    return say.RaisedSignal(
        name=body.signal,
        agent=body.agent,
        effect=body.effect,
        evidence=body.evidence,
        numbers=body.numbers,
        key=body.key,
        seq=seq,
    )
