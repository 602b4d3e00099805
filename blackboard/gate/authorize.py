"""May this credential ask this at all? Decided from the credential, never from the request's body."""

from __future__ import annotations

from blackboard.errors import NotAllowed, UnknownBoard
from blackboard.messages.commands import GetAgent, Message
from blackboard.messages.operations import BY_MESSAGE
from blackboard.messages.principal import Principal


def authorize(principal: Principal, board: str | None, message: Message) -> None:
    """Raise `UnknownBoard` for a board out of the credential's reach, `NotAllowed` for a wrong role."""
    if board is not None and not principal.reaches(board):
        raise unknown_board(board)
    operation = BY_MESSAGE[type(message)]
    if principal.role not in operation.roles:
        allowed = " or ".join(operation.roles)
        raise NotAllowed(
            f"{operation.name} is for {allowed}; this credential is {principal.actor}",
            members={"operation": operation.name, "roles": list(operation.roles)},
        )
    if isinstance(message, GetAgent) and principal.role == "agent" and message.agent != principal.name:
        raise NotAllowed(f"an agent sees its own view only; {principal.name!r} asked for {message.agent!r}")


def unknown_board(board: str) -> UnknownBoard:
    """The one answer for a board that does not exist and for one that the credential does not reach."""
    return UnknownBoard(
        f"there is no board {board!r}, or this credential does not reach it; an operator opens boards",
        members={"board": board},
    )
