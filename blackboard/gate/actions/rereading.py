"""What to read again so that a rule is no danger any more: found by trying, and nothing in it is idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from blackboard.gate.actions.compiling import Compiled, Row
from blackboard.gate.actions.formula import dangerous
from blackboard.gate.actions.inputs import source_of
from blackboard.gate.actions.sides import Side, full_side, reread_side
from blackboard.records.truth import Truth

_MOST_TRIED: Final = 24


class Reread(NamedTuple):
    """Positions of records (ascending) and ledger keys (sorted) to read."""

    records: tuple[int, ...]
    keys: tuple[str, ...]


def reread(compiled: Compiled, row: Row, params: Mapping[str, Any], digest: str) -> Reread:
    """Return what lifts the danger of one row for one action when the holder reads it.

    Each part of it is needed, given the others, unless there are very many of them.
    """
    world = compiled.world
    side = full_side(world)
    needed = {at for at in _records(compiled, side, row, params, digest) if not world.holding.holds(at)}
    reads = {atom.field for atom in row.rule.atoms if atom.source == "ledger"}
    keys = reads & set(row.missing_keys) if row.full_copies else set()
    parts: list[int | str] = [*sorted(needed), *sorted(keys)]
    if 1 < len(parts) <= _MOST_TRIED:
        full = side.truth(row.rule, params, digest)
        for part in list(parts):
            rest = [other for other in parts if other != part]
            if not dangerous(row, full, _held(compiled, row, rest, params, digest)):
                parts = rest
    return Reread(
        tuple([part for part in parts if isinstance(part, int)]),
        tuple([part for part in parts if isinstance(part, str)]),
    )


def _records(compiled: Compiled, side: Side, row: Row, params: Mapping[str, Any], digest: str) -> list[int]:
    """Records that lift the danger together: then both sides see the same."""
    records = compiled.world.records
    if not row.full_copies:
        # A permission that is gone: who holds what superseded every copy, holds none that lives.
        ends = [records.superseder(copy) for copy in row.held_copies]
        return [position for position in ends if position is not None]
    read = [atom.field for atom in row.rule.atoms if source_of(atom, params) == "fact"]
    found: list[int | None] = [records.newest_fact(field) for field in read]
    if row.restrictive:
        # One copy that nobody has approved, with what the newest answer about it is and what ended that.
        binding = next(copy for copy in reversed(row.full_copies) if not side.approved(copy, digest))
        newest = side.newest_approval(binding, digest)
        found += [binding, newest, None if newest is None else records.superseder(newest)]
    return [position for position in found if position is not None]


def _held(
    compiled: Compiled, row: Row, parts: list[int | str], params: Mapping[str, Any], digest: str
) -> Truth:
    positions = [part for part in parts if isinstance(part, int)]
    keys = {part for part in parts if isinstance(part, str)}
    return reread_side(compiled.world, positions, keys).truth(row.rule, params, digest)
