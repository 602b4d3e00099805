"""One world and one tool, compiled: each rule as two residuals over params, and what reasons need.

The cost follows the rules in scope, with all their copies and atoms; not the rest of the history, nor the
approvals, which are looked up for the action that is judged. The result speaks for the world that it was
made from: until the head reaches `valid_until`, something is added that can matter to the tool
(`Records.clock`), or the holding changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from blackboard.gate.actions.approving import Answers, Digests, MissingFor
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
from blackboard.gate.actions.unevaluable import Groups, groups
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
    `held_approved` are FALSE there, `dead_for` has a held approval that does not count any more; where some
    approval was ever given or refused the rule is `answered`, and to go through the digests takes time.

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
    answers: Answers | None = None
    full_approved: Set[str] = frozenset()
    held_approved: Set[str] = frozenset()
    dead_for: Set[str] = frozenset()
    stale: bool = False
    stale_fields: frozenset[str] = frozenset()
    missing: tuple[int, ...] = ()
    missing_for: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    missing_keys: tuple[str, ...] = ()
    dropped: bool = False
    dropped_for: Set[str] = frozenset()

    @property
    def restrictive(self) -> bool:
        """Whether it can only forbid; else it permits."""
        return self.effect != "allow"

    @property
    def ended(self) -> bool:
        """Whether no copy is in force any more: what the holder takes for one was superseded."""
        return not self.full_copies

    @property
    def answered(self) -> bool:
        """Whether some approval of a copy was ever given or refused."""
        return self.answers is not None

    @property
    def alike(self) -> bool:
        """Whether both sides say the same of every call, by their construction. Goes through approvals."""
        return self.full is self.held and (self.answers is None or self.answers.agree())

    @property
    def plain(self) -> bool:
        """Whether that is so, and no approval is about."""
        return self.full is self.held and not self.answered

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
    each field that a parameter would shadow. `answered`: some rule is. `valid_until` is the next expiry, None
    for never. `settled`, `alike` and `differing` are the rows as `judge` goes through them; those that are
    FALSE for every call are left out.
    """

    world: World
    tool: str
    head: int
    valid_until: int | None
    rows: tuple[Row, ...]
    fields: tuple[str, ...]
    keys: tuple[str, ...]
    stored: tuple[tuple[str, int], ...]
    answered: bool
    unevaluable: Groups
    settled: tuple[Finding, ...]
    alike: tuple[tuple[Evaluator, Row], ...]
    differing: tuple[tuple[Evaluator, Evaluator, Row], ...]

    @property
    def approvals(self) -> bool:
        """Whether any approval counts on either side. Goes through approvals."""
        return self.answered and any(row.full_approved or row.held_approved for row in self.rows)

    @property
    def dropped_unevaluable(self) -> tuple[int, ...]:
        """The positions of the records that nobody can evaluate and that were dropped, as far as listed."""
        return self.unevaluable.dropped.positions


def compile_tool(world: World, tool: str) -> Compiled:
    """Return the rules of the world for one tool, ready to judge its calls."""
    full, held = full_side(world), held_side(world)
    rules = world.records.rules_for(tool)
    rows = tuple([row for rule in rules if (row := _Compiling(world, full, held, rule).row()) is not None])
    read = [atom for row in rows for atom in row.rule.atoms]
    fields = sorted({atom.field for atom in read if _reads_fact(atom)})
    shadowed = sorted({atom.field for atom in read if atom.source is None})
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
        answered=any(row.answered for row in rows),
        unevaluable=groups(world),
        settled=tuple([finding for row in rows if (finding := _settled(row))]),
        alike=tuple(
            [(evaluator(row.full), row) for row in rows if row.plain and not isinstance(row.full, Constant)]
        ),
        differing=tuple(
            [(evaluator(row.full), evaluator(row.held or _NEVER), row) for row in rows if _can_differ(row)]
        ),
    )


_NEVER: Final = CONSTANTS[FALSE]


def _settled(row: Row) -> Finding | None:
    """The finding about a rule that says the same of every call, on both sides, unless that is FALSE."""
    if row.plain and isinstance(row.full, Constant) and row.full != _NEVER:
        return row, row.full.truth, row.full.truth
    return None


def _can_differ(row: Row) -> bool:
    return not row.plain and (row.full != _NEVER or (row.held or _NEVER) != _NEVER)


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
        row = row._replace(**self._answers())
        return row if self._agree() else row._replace(**self._missing(), **self._stale())

    def _agree(self) -> bool:
        """Whether both sides have the same of all that the rule rests on, approvals apart."""
        return self.full_copies == self.held_copies and not any(
            self._reads_other(atom) for atom in self.atoms
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

    def _answers(self) -> dict[str, Any]:
        """What approvals do, where there are any."""
        copies = {*self.full_copies, *self.held_copies}
        approvals, items = self.records.approvals, self.records.items
        if self.rule.effect != "require_approval" or not any(approvals(items[copy].id) for copy in copies):
            return {}
        found = Answers(self.world, (self.full, self.full_copies), (self.held, self.held_copies))
        return {
            "answers": found,
            "full_approved": Digests(found.on_full, found.named),
            "held_approved": Digests(found.on_held, found.named_held),
            "dead_for": Digests(found.dead, found.named),
            "missing_for": MissingFor(found),
            "dropped_for": Digests(found.dropped, found.named),
        }

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


def _next_expiry(
    world: World, full: Side, held: Side, rows: Iterable[Row], fields: Iterable[str]
) -> int | None:
    """The seq at which the next of the records that count here expires."""
    items = world.records.items
    expiries: list[int | None] = []
    counting: list[int | None] = [side.newest_fact(field) for field in fields for side in (full, held)]
    for row in rows:
        copies = {*row.full_copies, *row.held_copies}
        counting += copies
        if row.effect == "require_approval":
            expiries += [world.records.next_approval_expiry(items[copy].id, world.head) for copy in copies]
    expiries += [expires_of(items[position]) for position in counting if position is not None]
    return min([seq for seq in expiries if seq is not None and seq > world.head], default=None)
