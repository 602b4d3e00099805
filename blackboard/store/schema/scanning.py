"""Every board of a database, whole: what checks a database and what verifies its logs go through it alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from msgspec import Struct
from sqlalchemy import Connection, bindparam, func, select

from blackboard.errors import IntegrityFailure
from blackboard.events.envelope import Row
from blackboard.messages.limits import MAX_INTEGER
from blackboard.projections.board import Board
from blackboard.store.contract import Store
from blackboard.store.engines import connected
from blackboard.store.folding import Fold
from blackboard.store.tables import events

NEXT = select(func.min(events.c.board)).where(events.c.board > bindparam("last"))

LONGEST = 20_000
"""Rows that may belong to one command. A damaged log may seem to be one: it is not gathered whole."""

Take = Callable[[Fold, list[Row]], Awaitable[None]]
"""Verifies and folds rows, which are whole commands."""


class Flaw(Struct, frozen=True):
    """An event of a board that is missing, does not decode, does not fold or breaks the chain: the first.

    `board` is empty, and `seq` 0, for what is wrong with no board's log but with the file itself.
    """

    board: str
    seq: int
    detail: str


async def all_boards(store: Store, url: str) -> dict[str, int | None]:
    """Every board that is listed or has events, by name, with its head; None where it is not listed."""
    listed = {row.name: _head(row.head) for row in await store.boards()}
    logged = await asyncio.to_thread(connected, url, _logged, read_only=True)
    return {name: listed.get(name) for name in sorted(listed.keys() | logged)}


async def walk(store: Store, name: str, head: int | None, take: Take) -> tuple[Fold, list[Flaw]]:
    """Give `take` every event of a board up to `head`; what is appended meanwhile is not looked at.

    Returns what was folded, and the flaw that ended it, if any did.
    """
    fold, flaws = Fold(name, Board()), list[Flaw]()
    try:
        async for rows in by_command(store.scan(name, through=head)):
            await take(fold, rows)
        if fold.board.head < (head or 1):
            raise fold.missing()
    except IntegrityFailure as error:
        flaws.append(Flaw(name, error.members.get("seq", fold.board.head + 1), error.detail))
    if head is None:
        flaws.append(Flaw(name, 1, f"there are events of board {name!r}, which is not listed"))
    return fold, flaws


async def by_command(slices: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
    """The same rows, in slices that begin with the first event of a command and end with the last of one."""
    held: list[Row] = []
    async for rows in slices:
        held += rows
        border = next((at for at in range(len(held) - 1, 0, -1) if held[at].request_digest is not None), 0)
        if not border and len(held) > LONGEST:
            border = len(held)
        if border:
            yield held[:border]
            held = held[border:]
    if held:
        yield held


def _head(found: object) -> int:
    """SQLite keeps anything in any column: where a seq is none, all that there is is gone through."""
    return found if isinstance(found, int) else MAX_INTEGER


def _logged(connection: Connection) -> set[str]:
    """The boards that have events: one step down the primary key for each."""
    found: set[str] = set()
    last = ""
    while (name := connection.scalar(NEXT, {"last": last})) is not None:
        last = str(name)
        found.add(last)
    return found
