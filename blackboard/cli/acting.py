"""Running one operation: connect, answer, tell the context, and say what to run after a rejection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from blackboard.cli import failures, output
from blackboard.cli.session import Session
from blackboard.errors import WriteRejected

if TYPE_CHECKING:
    from blackboard.client import Board

_SHOWN_KEYS = 20


@asynccontextmanager
async def acting(session: Session) -> AsyncIterator[tuple[Board, Callable[..., None]]]:
    """A board, and what to call with its reply: the reply as JSON where that is asked for, else its context.

    A rejection that passes through gets the command to run next.
    """

    def done(reply: Any, *, shown: bool = False) -> None:
        if session.json and not shown:
            output.emit_json(reply)
        elif not session.json:
            failures.context(reply)

    async with session.connect() as board:
        try:
            yield board, done
        except WriteRejected as error:
            if (following := next_command(session, error)) is not None:
                error.add_note(f"next: {following}")
            raise


def next_command(session: Session, error: WriteRejected) -> str | None:
    """The command that helps after a rejection, as it can be pasted."""
    if error.code == "single-writer":
        return session.again("propose", *(rule.key for rule in error.rules[:1] if rule.key))
    standing = error.standing
    keys = list(getattr(error.remedy, "keys", ()))
    if not keys or len(keys) > _SHOWN_KEYS or getattr(error.remedy, "more", None):
        return session.again("read", "--all")
    if standing is not None and standing.state == "suspected":
        return session.again("read", "--all")
    return session.again("read", *keys)
