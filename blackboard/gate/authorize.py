"""May this credential ask this at all? Decided from the credential, never from the request's body."""

from __future__ import annotations

from blackboard.errors import NotAllowed, UnknownBoard
from blackboard.messages.commands import GetAgent, Keep, Message
from blackboard.messages.operations import BY_MESSAGE
from blackboard.messages.principal import Principal
from blackboard.projections.board import Board


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
    if isinstance(message, GetAgent | Keep) and principal.role == "agent":
        about = message.agent if message.agent is not None else principal.name
        if about != principal.name:
            raise NotAllowed(f"an agent sees its own view only; {principal.name!r} asked for {about!r}")


def authorize_write(principal: Principal, key: str) -> None:
    """Raise `NotAllowed` where the credential's write grant does not cover the key."""
    grants = principal.grants
    if not grants.may_write(key):
        raise NotAllowed(
            f"{principal.actor} may not write {key!r}; it may write {', '.join(grants.writes or ())}",
            members={"key": key},
        )


def authorize_licence(board: Board, principal: Principal, key: str) -> None:
    """Raise `NotAllowed` where a rule in force reads the key from the ledger and no write grant names it.

    Else an agent could write the entry that licenses what it is about to do. A repeated write is not asked:
    it changes nothing, and its receipt is owed for ever.
    """
    records = board.records
    at = records.key_reader(key, board.head)
    if at is not None and not principal.grants.names(key):
        reader = records.items[at].id
        raise NotAllowed(
            f"policy {reader!r} reads {key!r} from the ledger, so writing it takes a write grant that names "
            f"the key, and {principal.actor} has none: ask an operator for a credential with writes "
            f"{[key]!r}, or to write through a coordinator that has it",
            members={"key": key, "policy": reader, "grant": key},
        )


def unknown_board(board: str) -> UnknownBoard:
    """The one answer for a board that does not exist and for one that the credential does not reach."""
    return UnknownBoard(
        f"there is no board {board!r}, or this credential does not reach it; an operator opens boards",
        members={"board": board},
    )
