"""One world and one tool, compiled: each rule as two residuals over params, and what reasons need.

The cost follows the rules in scope, with their copies, atoms and approvals, never the history. The result
speaks for the world that it was made from: until the head reaches `valid_until`, something is added that
can matter to the tool (`Records.clock`), or the holding changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from blackboard.gate.actions.residual import (
    CONSTANTS,
    Constant,
    Evaluator,
    Params,
    Residual,
    evaluator,
    residual,
    truths,
)
from blackboard.gate.actions.sides import Side, full_side, held_side
from blackboard.gate.actions.world import World
from blackboard.records import Rule
from blackboard.records.atoms import ABSENT
from blackboard.records.kinds import Effect, expires_of
from blackboard.records.predicate import Atom
from blackboard.records.truth import FALSE, Truth


class RowLike(Protocol):
    """What of a row decides whether it is dangerous, and the code: all that a certificate knows of it."""

    @property
    def restrictive(self) -> bool:
        """See `Row`."""

    @property
    def held(self) -> object:
        """None where no live copy is held."""

    @property
    def ended(self) -> bool:
        """See `Row`."""

    @property
    def stale(self) -> bool:
        """See `Row`."""

    @property
    def stale_fields(self) -> Collection[str]:
        """See `Row`."""

    @property
    def dead_for(self) -> Collection[str]:
        """See `Row`."""

    @property
    def dropped(self) -> bool:
        """See `Row`."""

    @property
    def dropped_for(self) -> Collection[str]:
        """See `Row`."""


class Row(NamedTuple):
    """One rule for one tool; `id` names its newest live copy, or else the newest that looks live when held.

    `full` and `held` are what is left of the predicate on both sides; `held` None: no live copy is held.
    Both are one object where the sides agree. The digests are those of actions: `full_approved` and
    `held_approved` are FALSE there, `dead_for` has a held approval that does not count any more.

    `stale` tells that a held value is not the newest one whatever the params, `stale_fields` those fields
    where it is so if the action does not give them. `missing` are positions that the rule rests on and the
    holder lacks, `missing_for` more of them by digest, `missing_keys` ledger keys whose current revision is
    not held. `dropped` (or the digest in `dropped_for`): something of it had been delivered.
    """

    rule: Rule
    id: str
    effect: Effect
    full: Residual
    held: Residual | None
    full_copies: tuple[int, ...]
    held_copies: tuple[int, ...]
    full_approved: frozenset[str] = frozenset()
    held_approved: frozenset[str] = frozenset()
    dead_for: frozenset[str] = frozenset()
    stale: bool = False
    stale_fields: frozenset[str] = frozenset()
    missing: tuple[int, ...] = ()
    missing_for: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    missing_keys: tuple[str, ...] = ()
    dropped: bool = False
    dropped_for: frozenset[str] = frozenset()

    @property
    def restrictive(self) -> bool:
        """Whether it can only forbid; else it permits."""
        return self.effect != "allow"

    @property
    def ended(self) -> bool:
        """Whether no copy is in force any more: what the holder takes for one was superseded."""
        return not self.full_copies

    @property
    def alike(self) -> bool:
        """Whether both sides say the same of every call, by their construction."""
        return self.full is self.held and self.full_approved == self.held_approved

    def truths(self, params: Params, digest: str) -> tuple[Truth, Truth]:
        """What the rule comes to for one action, on the full set and on what is held."""
        full = FALSE if digest in self.full_approved else evaluator(self.full)(params)
        if self.held is None or digest in self.held_approved:
            return full, FALSE
        return full, evaluator(self.held)(params)


Finding = tuple[Row, Truth, Truth]
"""A rule with what it comes to for one action, on the full set and on what is held."""


class Compiled(NamedTuple):
    """All that a verdict on any call of `tool` rests on.

    `fields` and `keys` are those that rules read from facts and from the ledger, `stored` the newest fact of
    each field that a parameter would shadow. The unevaluable records stand by their positions. `approvals`
    tells whether any approval counts on either side. `valid_until` is the next expiry, None for never.
    `settled`, `alike` and `differing` are the rows as `judge` goes through them; those that are FALSE for
    every call are left out.
    """

    world: World
    tool: str
    head: int
    valid_until: int | None
    rows: tuple[Row, ...]
    fields: tuple[str, ...]
    keys: tuple[str, ...]
    stored: tuple[tuple[str, int], ...]
    approvals: bool
    dropped_unevaluable: tuple[int, ...]
    unseen_unevaluable: tuple[int, ...]
    kept_unevaluable: tuple[int, ...]
    settled: tuple[Finding, ...]
    alike: tuple[tuple[Evaluator, Row], ...]
    differing: tuple[tuple[Evaluator, Evaluator, Row], ...]


def compile_tool(world: World, tool: str) -> Compiled:
    """Return the rules of the world for one tool, ready to judge its calls."""
    full, held = full_side(world), held_side(world)
    rules = world.records.rules_for(tool)
    rows = tuple([row for rule in rules if (row := _Compiling(world, full, held, rule).row()) is not None])
    read = [atom for row in rows for atom in row.rule.atoms]
    fields = sorted({atom.field for atom in read if _reads_fact(atom)})
    shadowed = sorted({atom.field for atom in read if atom.source is None})
    dropped, unseen, kept = _unevaluable(world)
    return Compiled(
        world=world,
        tool=tool,
        head=world.head,
        valid_until=_next_expiry(world, full, held, rows, fields),
        rows=rows,
        fields=tuple(fields),
        keys=tuple(sorted({atom.field for atom in read if atom.source == "ledger"})),
        stored=tuple(
            [(name, at) for name in shadowed if (at := world.records.newest_fact(name)) is not None]
        ),
        approvals=any(row.full_approved or row.held_approved for row in rows),
        dropped_unevaluable=dropped,
        unseen_unevaluable=unseen,
        kept_unevaluable=kept,
        settled=tuple([finding for row in rows if (finding := _settled(row))]),
        alike=tuple(
            [(evaluator(row.full), row) for row in rows if row.alike and not isinstance(row.full, Constant)]
        ),
        differing=tuple(
            [(evaluator(row.full), evaluator(row.held or _NEVER), row) for row in rows if _can_differ(row)]
        ),
    )


_NEVER: Final = CONSTANTS[FALSE]


def _settled(row: Row) -> Finding | None:
    """The finding about a rule that says the same of every call, on both sides, unless that is FALSE."""
    if row.alike and isinstance(row.full, Constant) and row.full != _NEVER:
        return row, row.full.truth, row.full.truth
    return None


def _can_differ(row: Row) -> bool:
    return not row.alike and (row.full != _NEVER or (row.held or _NEVER) != _NEVER)


class _Compiling:
    """One rule on its way to a row."""

    def __init__(self, world: World, full: Side, held: Side, rule: Rule) -> None:
        self.world = world
        self.records = world.records
        self.rule = rule
        self.full = full
        self.held = held
        self.full_copies = full.live_copies(rule)
        self.held_copies = held.live_copies(rule)
        self.atoms = rule.atoms

    def row(self) -> Row | None:
        """The row of the rule, None where it lives on neither side."""
        named = self.full_copies or self.held_copies
        if not named:
            return None
        full, held = self._residuals()
        row = Row(
            rule=self.rule,
            id=self.records.items[named[-1]].id,
            effect=self.rule.effect,
            full=full,
            held=held,
            full_copies=self.full_copies,
            held_copies=self.held_copies,
        )
        return row if self._agree() else row._replace(**self._approvals(), **self._missing(), **self._stale())

    def _agree(self) -> bool:
        """Whether both sides have the same of all that the rule rests on, and no approval is about."""
        return (
            self.full_copies == self.held_copies
            and not any(self.records.approvals(self.records.items[copy].id) for copy in self.full_copies)
            and not any(self._reads_other(atom) for atom in self.atoms)
        )

    def _residuals(self) -> tuple[Residual, Residual | None]:
        predicate = self.rule.predicate
        known = truths(self.atoms, self.full.value) if self.full_copies else None
        full = CONSTANTS[FALSE] if known is None else residual(predicate, known)
        if not self.held_copies:
            return full, None
        known_held = truths(self.atoms, self.held.value)
        # The same truths leave the same residual, and sharing it says so.
        return full, full if known_held == known else residual(predicate, known_held)

    def _reads_other(self, atom: Atom) -> bool:
        """Whether what the atom reads, where it reads no parameter, is not the same on both sides."""
        if atom.source == "ledger":
            return not self.world.ledger.is_current(atom.field)
        return atom.source != "param" and self.held.newest_fact(atom.field) != self.full.newest_fact(
            atom.field
        )

    def _stale(self) -> dict[str, Any]:
        """Which atoms read a held value that is not the newest."""
        stale = [
            atom for atom in self.atoms if self._reads_other(atom) and self.held.value(atom) is not ABSENT
        ]
        return {
            "stale": any(atom.source is not None for atom in stale),
            "stale_fields": frozenset([atom.field for atom in stale if atom.source is None]),
        }

    # ---- approvals

    def _approvals(self) -> dict[str, Any]:
        held_approved = self.held.approved_digests(self.held_copies)
        dead_for = frozenset([digest for copy in self.held_copies for digest in self._dead(copy)])
        missing = {
            digest: self._missing_for(digest, held_approved) for digest in sorted(held_approved | dead_for)
        }
        return {
            "full_approved": self.full.approved_digests(self.full_copies),
            "held_approved": held_approved,
            "dead_for": dead_for,
            "missing_for": missing,
            "dropped_for": frozenset([digest for digest, lost in missing.items() if self._delivered(lost)]),
        }

    def _dead(self, copy: int) -> list[str]:
        """The actions for which the holder counts an approval of the copy, in vain."""
        named = self.records.approvals(self.records.items[copy].id)
        return [
            digest
            for digest in named
            if self.held.approved(copy, digest) and not self.full.approved(copy, digest)
        ]

    def _missing_for(self, digest: str, held_approved: frozenset[str]) -> tuple[int, ...]:
        """What else is missing for one action: copies without approval, and what ended an approval."""
        needed: list[int | None] = [*self.full_copies] if digest in held_approved else []
        for copy in self.held_copies:
            if self.held.approved(copy, digest) and not self.full.approved(copy, digest):
                counted = self.held.newest_approval(copy, digest)
                assert counted is not None
                needed += [self.full.newest_approval(copy, digest), self.records.superseder(counted)]
        return self._not_held(needed)

    # ---- what is missing

    def _missing(self) -> dict[str, Any]:
        """What the rule rests on, whatever the action, and is not held: copies, superseders, newest facts."""
        needed: list[int | None] = [self.records.superseder(copy) for copy in self.held_copies]
        if not self.held_copies:
            needed += self.full_copies
        needed += [self.records.newest_fact(atom.field) for atom in self.atoms if _reads_fact(atom)]
        missing = self._not_held(needed)
        ledger = self.world.ledger
        keys = {atom.field for atom in self.atoms if atom.source == "ledger" and self._reads_other(atom)}
        return {
            "missing": missing,
            "missing_keys": tuple(sorted(keys)),
            "dropped": self._delivered(missing) or any(map(ledger.delivered, keys)),
        }

    def _not_held(self, needed: Iterable[int | None]) -> tuple[int, ...]:
        found = {position for position in needed if position is not None and not self.held.holds(position)}
        return tuple(sorted(found))

    def _delivered(self, positions: Iterable[int]) -> bool:
        return any(self.world.holding.delivered(position) for position in positions)


def _reads_fact(atom: Atom) -> bool:
    return atom.source is None or atom.source == "fact"


def _unevaluable(world: World) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The records that nobody can evaluate: dropped, never delivered, and held."""
    dropped, unseen, kept = [], [], []
    for position in world.records.unevaluable:
        if world.holding.holds(position):
            kept.append(position)
        elif world.holding.delivered(position):
            dropped.append(position)
        else:
            unseen.append(position)
    return tuple(dropped), tuple(unseen), tuple(kept)


def _next_expiry(
    world: World, full: Side, held: Side, rows: Iterable[Row], fields: Iterable[str]
) -> int | None:
    """The seq at which the next of the records that count here expires."""
    items = world.records.items
    counting: list[int | None] = [side.newest_fact(field) for field in fields for side in (full, held)]
    for row in rows:
        copies = {*row.full_copies, *row.held_copies}
        counting += copies
        if row.effect == "require_approval":
            for copy in copies:
                for answers in world.records.approvals(items[copy].id).values():
                    counting += answers
    expiries = [expires_of(items[position]) for position in counting if position is not None]
    return min([seq for seq in expiries if seq is not None and seq > world.head], default=None)
