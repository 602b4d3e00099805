"""What a rule reads in one call: the values with the records that say so, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from blackboard.canonical import normal
from blackboard.gate.actions.compiling import Row
from blackboard.gate.actions.world import LedgerValue, World
from blackboard.records import Fact
from blackboard.records.kinds import expires_of
from blackboard.records.predicate import Atom, Source
from blackboard.records.verdict import Held, Input

_LONGEST: Final = 80
_MOST: Final = 6


def source_of(atom: Atom, params: Mapping[str, Any]) -> Source:
    """Where the atom reads: where it is pinned to; else the parameter where there is one, else the fact."""
    return atom.source or ("param" if atom.field in params else "fact")


def inputs(world: World, row: Row, params: Mapping[str, Any]) -> list[Input]:
    """What the rule reads, each field once per source, in the order of its predicate."""
    read = dict.fromkeys((atom.field, source_of(atom, params)) for atom in row.rule.atoms)
    return [_input(world, field, source) for field, source in read]


def _input(world: World, field: str, source: Source) -> Input:
    if source == "param":
        return Input(field=field, source=source)
    if source == "ledger":
        ledger = world.ledger
        missing = None if ledger.is_current(field) else ledger.current(field)
        return Input(field=field, source=source, held=_entry(ledger.held(field)), missing=_entry(missing))
    held, newest = world.holding.newest_fact(field), world.records.newest_fact(field)
    return Input(
        field=field,
        source=source,
        held=None if held is None else fact_held(world, held),
        missing=None if newest is None or newest == held else fact_held(world, newest),
    )


def _entry(entry: LedgerValue | None) -> Held | None:
    if entry is None:
        return None
    return Held(id=f"entry:{entry.seq}", seq=entry.seq, value=normal(entry.value), revision=entry.revision)


def fact_held(world: World, position: int) -> Held:
    """The fact at a position; without a value where it is retracted or expired."""
    fact = world.records.items[position]
    assert isinstance(fact, Fact)
    expires = expires_of(fact)
    gone = fact.retracted or (expires is not None and world.head >= expires)
    value = None if gone else normal(fact.value)
    return Held(id=fact.id, seq=fact.seq, value=value, supersedes=fact.supersedes)


# ---- in words


def words_of(read: Sequence[Input], world: World, params: Mapping[str, Any]) -> str:
    """The inputs for a reader: `amount = 8400 (param); tier = "gold" ('f_2', seq 2)`."""
    told = [_words(one, world, params) for one in read[:_MOST]]
    if len(read) > _MOST:
        told.append(f"and {len(read) - _MOST} more")
    return "; ".join(told) or "it reads nothing"


def _words(read: Input, world: World, params: Mapping[str, Any]) -> str:
    field = read.field
    if read.source == "param":
        return (
            f"{field} = {short(normal(params[field]))} (param)"
            if field in params
            else f"{field} is absent (param)"
        )
    if read.held is None and read.missing is None:
        return f"{field} is absent ({read.source})"
    if read.held is not None and read.missing is None:
        gone = read.source == "ledger" and not world.ledger.is_current(field)
        return f"{field} {_value(read.held)}" + (", and no entry any more" if gone else "")
    assert read.missing is not None
    lacks = f"not held is {_record(read.missing)}"
    if read.held is None:
        return f"{field}: nothing is held, and {lacks}"
    link = f", which supersedes '{read.held.id}'" if read.missing.supersedes == read.held.id else ""
    return f"{field}: held is {_record(read.held)}, {lacks}{link}"


def _value(said: Held) -> str:
    value = "has no value" if said.value is None else f"= {short(said.value)}"
    return f"{value} ('{said.id}', seq {said.seq})"


def _record(said: Held) -> str:
    value = "no value" if said.value is None else short(said.value)
    revision = "" if said.revision is None else f", revision {said.revision}"
    return f"'{said.id}' ({value}, seq {said.seq}{revision})"


def short(text: str) -> str:
    """The text, cut where it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
