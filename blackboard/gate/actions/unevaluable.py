"""The records that nobody can evaluate, in three groups: dropped, never delivered, and held.

There may be as many of them as there is history. All are counted; each dropped one is a reason of its own,
up to `LISTED`; of those that block nothing a few are named. What is listed are the newest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from blackboard.gate.actions.world import World
from blackboard.records import Unevaluable
from blackboard.records.verdict import Note, Reason

UNEVALUABLE: Final = "unevaluable-record"
LISTED: Final = 1000
"""How many dropped records one verdict lists as reasons; a note counts the rest, which block as well."""

_NAMED: Final = 5
_NAMED_BLIND: Final = 20
_LOOKED_AT: Final = 1000


class Group(NamedTuple):
    """So many (`total`) records, of which the newest are at `positions`, oldest first."""

    total: int
    positions: tuple[int, ...]


class Groups(NamedTuple):
    """What became of the records that nobody can evaluate.

    `reasons` are about those that were `dropped`, by id, `notes` about the others.
    """

    dropped: Group
    reasons: tuple[Reason, ...]
    notes: tuple[Note, ...]


_NONE: Final = Groups(Group(0, ()), (), ())


def groups(world: World) -> Groups:
    """Return the groups of this holder; what it takes does not follow how many there are."""
    every, holding = world.records.unevaluable, world.holding
    if not every:
        return _NONE
    held, lost = holding.unevaluable, holding.unevaluable_dropped
    dropped = Group(len(lost), tuple(lost[-LISTED:]))
    total = len(every) - len(held) - len(lost)
    told = [reason_of(world, position) for position in dropped.positions]
    noted = [
        *_note(world, "kept", Group(len(held), tuple(held[-_NAMED:])), _KEPT),
        *_note(world, "unseen", Group(total, _unseen(world) if total else ()), _UNSEEN),
    ]
    return Groups(dropped, tuple(sorted(told, key=lambda reason: reason.id)), tuple(noted))


def _unseen(world: World) -> tuple[int, ...]:
    """A few that were never delivered, looked for among the newest."""
    newest, delivered = world.records.unevaluable[-_LOOKED_AT:], world.holding.delivered
    return tuple([position for position in newest if not delivered(position)][-_NAMED:])


def _record(world: World, position: int) -> Unevaluable:
    record = world.records.items[position]
    assert isinstance(record, Unevaluable)
    return record


def reason_of(world: World, position: int) -> Reason:
    """Return the reason that the record at this position was dropped."""
    record = _record(world, position)
    return Reason(
        code=f"dropped-{UNEVALUABLE}",
        id=record.id,
        detail=f"{_what(record)} is not held any more: nobody can tell what it binds",
        missing=[record.id],
        reread=[record.id],
    )


def _what(record: Unevaluable) -> str:
    """The record for a reader: this release does not know its kind, or that version of it."""
    return f"'{record.id}' (kind {record.kind}, version {record.version}, seq {record.seq})"


# ---- notes

_BLIND: Final = "AND {they} NOT BLOCK [allow-unevaluable: you chose to fly blind]"
_KEPT: Final = (
    "is held: what it says is for the agent to weigh",
    "are held: what they say is for the agent to weigh",
)
_UNSEEN: Final = (
    "was never delivered: nobody can tell what it binds",
    "were never delivered: nobody can tell what they bind",
)
_DROPPED: Final = (
    f"is not held any more, nobody can tell what it binds, {_BLIND.format(they='IT DOES')}",
    f"are not held any more, nobody can tell what they bind, {_BLIND.format(they='THEY DO')}",
)


def notes(world: World, found: Groups, *, blind: bool) -> Iterator[Note]:
    """One note for each group that blocks nothing; `blind`: those dropped were let pass."""
    yield from found.notes
    dropped = found.dropped
    if blind:
        named = dropped._replace(positions=dropped.positions[-_NAMED_BLIND:])
        yield from _note(world, "dropped", named, _DROPPED)
    elif dropped.total > len(dropped.positions):
        yield Note(
            code=f"dropped-{UNEVALUABLE}",
            detail=f"{dropped.total} records that nobody can evaluate are not held any more, and all of them "
            f"block: the newest {len(dropped.positions)} are listed as reasons, the rest is not",
        )


def _note(world: World, word: str, group: Group, told: tuple[str, str]) -> Iterator[Note]:
    total, positions = group
    code = f"{word}-{UNEVALUABLE}"
    if total == 1 and positions:
        record = _record(world, positions[0])
        yield Note(code=code, id=record.id, detail=f"{_what(record)} {told[0]}")
    elif total:
        named = ", ".join(f"'{world.records.items[position].id}'" for position in positions)
        which = f" ({'' if total == len(positions) else 'among them '}{named})" if named else ""
        one = total == 1
        what = f"{total} record{'' if one else 's'} that nobody can evaluate"
        yield Note(code=code, detail=f"{what} {told[0 if one else 1]}{which}")
