"""A compaction is reported: what was observed up to its base is gone, and everyone is to know.

Source: seed 1, validity (b) and (c); "Telling the agents" of the write gate's design.
"""

from __future__ import annotations

from blackboard.errors import Malformed, NotAllowed
from blackboard.events import kinds
from blackboard.gate.decision import Asked, Decision, raise_signals
from blackboard.gate.formats import check_format
from blackboard.gate.moment import Moment
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.projections.board import Board


def decide_compact(asked: Asked, command: ask.Compact) -> Decision:
    """Demote at once; only served reads restore. A peer's report keeps nothing."""
    board, principal = asked.board, asked.principal
    if command.context_window is not None:
        check_format(board, "context_window", kinds.WITH_REPLIES)
    agents = _whom(asked, command)
    base = _base(board, command)
    own = principal.agent is not None and agents == [principal.agent]
    claimed = None if not own or command.kept is None else list(dict.fromkeys(command.kept))
    kept, lost, unknown = _sorted(asked, claimed or [])
    body = kinds.AgentCompacted(
        agents=agents,
        base_seq=base,
        cause=command.cause,
        declared_by="self" if own else "operator" if principal.role == "operator" else "peer",
        kept=None if claimed is None else kept,
        unknown=unknown,
        lost=lost,
        notify=command.notify,
        summary_digest=command.summary_digest,
        tokens=_tokens(command),
    )
    bodies: list[kinds.EventBody] = [body]
    mode = _fallback(board, command, agents)
    if mode is not None:
        bodies.append(mode)
    if asked.actor is not None:
        bodies += raise_signals(board, Moment(agent=asked.actor, turn=command.turn, invented=unknown))
    reply = say.CompactReply(
        agents=agents,
        base_seq=base,
        unknown_kept=unknown,
        lost_kept=lost,
        mode=mode.mode if mode is not None else None,
    )
    return asked.decide([*bodies], reply)


def _sorted(asked: Asked, claimed: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The claimed record ids: those that the agent still holds, had lost before, and never had."""
    kept, lost, unknown = [], [], []
    for name in claimed:
        position = asked.board.records.position(name)
        if position is None or not asked.agent.holding.delivered(position):
            unknown.append(name)
        elif asked.agent.holding.holds(position):
            kept.append(name)
        else:
            lost.append(name)
    return kept, lost, unknown


def _whom(asked: Asked, command: ask.Compact) -> list[str]:
    principal = asked.principal
    if command.agents is None:
        if principal.agent is None:
            raise Malformed("an operator names the agents that were compacted", member="/agents")
        return [principal.agent]
    agents = list(dict.fromkeys(command.agents))
    if principal.agent is not None and agents != [principal.agent] and not principal.grants.report_peers:
        raise NotAllowed(
            f"{principal.actor} may report its own compaction only; reporting a peer's needs an operator or "
            "the grant report_peers",
            members={"agents": agents},
        )
    return agents


def _tokens(command: ask.Compact) -> kinds.Tokens | None:
    """The sizes that were given, None where none was."""
    tokens = kinds.Tokens(
        before=command.tokens_before, after=command.tokens_after, window=command.context_window
    )
    return None if tokens == kinds.Tokens() else tokens


def _base(board: Board, command: ask.Compact) -> int:
    if command.base_seq is None:
        return board.head
    if command.base_seq > board.head:
        raise Malformed(
            f"base_seq {command.base_seq} is beyond the head {board.head}: nobody has seen that yet",
            member="/base_seq",
            limit=board.head,
            value=command.base_seq,
        )
    return command.base_seq


def _fallback(board: Board, command: ask.Compact, agents: list[str]) -> kinds.BoardModeChanged | None:
    policy = board.policy
    if (
        command.notify != "impossible"
        or policy.on_unnotifiable != "single-writer"
        or policy.coordinator is None
        or board.mode == "single-writer"
    ):
        return None
    why = f"{', '.join(agents[:5])} compacted and peers cannot be notified in-band"
    return kinds.BoardModeChanged(mode="single-writer", coordinator=policy.coordinator, why=why)
