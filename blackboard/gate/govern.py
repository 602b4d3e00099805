"""What operators decide: boards, policy, mode, format, agents' prefixes."""

from __future__ import annotations

from blackboard.errors import Conflict, Malformed, PolicyDiffers
from blackboard.events import kinds
from blackboard.events.policy import Policy, PolicyPatch, merge
from blackboard.gate.decision import Asked, Decision
from blackboard.messages import commands as ask
from blackboard.messages import replies as say


def opening(name: str, command: ask.OpenBoard | None = None) -> kinds.BoardOpened:
    """The first event of a board. Raises `Malformed` for a format that this release does not know."""
    patch = command.policy if command is not None and command.policy is not None else PolicyPatch()
    wanted = command.format if command is not None and command.format is not None else kinds.FORMAT
    _check_format(wanted)
    return kinds.BoardOpened(name=name, policy=merge(Policy(), patch), format=wanted)


def decide_open(asked: Asked, name: str, command: ask.OpenBoard) -> Decision:
    """Open the board; the same again is a no-op, another policy a conflict."""
    wanted = opening(name, command)
    if not asked.board.head:
        return asked.decide([wanted], say.BoardReply(created=True))
    if command.policy is not None and wanted.policy != asked.board.policy:
        raise PolicyDiffers(
            f"board {name!r} exists with another policy; change it (set_policy, PUT policy, `board policy`)",
            members={"board": name, "differs": _differing(wanted.policy, asked.board.policy)},
        )
    return Decision([], say.BoardReply())


def _differing(one: Policy, other: Policy) -> list[str]:
    return [name for name in Policy.__struct_fields__ if getattr(one, name) != getattr(other, name)]


def decide_policy(asked: Asked, command: ask.SetPolicy) -> Decision:
    """Change the policy; a patch that changes nothing appends nothing."""
    policy = merge(asked.board.policy, command.policy)
    if policy == asked.board.policy:
        return Decision([], say.Done())
    return asked.decide([kinds.BoardPolicyChanged(policy=policy)], say.Done())


def decide_mode(asked: Asked, command: ask.SetMode) -> Decision:
    """Enter or leave single-writer mode, or name another coordinator."""
    board = asked.board
    coordinator = None
    if command.mode == "single-writer":
        coordinator = command.coordinator or board.policy.coordinator
        if coordinator is None:
            raise Malformed(
                "single-writer mode needs a coordinator: name the agent that holds the pen "
                "(the policy names none)",
                member="/coordinator",
            )
    if (command.mode, coordinator) == (board.mode, board.coordinator):
        return Decision([], say.Done())
    body = kinds.BoardModeChanged(mode=command.mode, coordinator=coordinator, why=command.why)
    return asked.decide([body], say.Done())


def decide_format(asked: Asked, command: ask.RaiseFormat) -> Decision:
    """Raise the format; it never falls."""
    _check_format(command.format)
    current = asked.board.format
    if command.format < current:
        raise Conflict(
            f"the board's format is {current} and never falls; {command.format} was asked for",
            members={"format": current},
        )
    if command.format == current:
        return Decision([], say.Done())
    return asked.decide([kinds.BoardFormatRaised(format=command.format)], say.Done())


def _check_format(wanted: int) -> None:
    if not 1 <= wanted <= kinds.FORMAT:
        raise Malformed(
            f"format {wanted}: this release writes formats 1 to {kinds.FORMAT}",
            member="/format",
            limit=kinds.FORMAT,
            value=wanted,
        )


def decide_join(asked: Asked, command: ask.JoinAgent) -> Decision:
    """Name an agent and the prefix that bounds its full re-read."""
    known = asked.board.agents.get(command.agent)
    if known is not None and known.joined and known.demotion.prefix == command.prefix:
        return Decision([], say.Done())
    return asked.decide([kinds.AgentJoined(agent=command.agent, prefix=command.prefix)], say.Done())
