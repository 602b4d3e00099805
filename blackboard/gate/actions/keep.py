"""What a compaction has to keep, so that no call of some tools is judged by less than there is.

`must_keep` answers for a compaction that keeps nothing else; `repair` closes whatever set it would keep.
With what they name held, and the ledger keys read again, the precheck of the same tools passes.
Source: "Must-keep and repair" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from blackboard.gate.actions.calls import Calls, callable_tools
from blackboard.gate.actions.domain import Tool
from blackboard.gate.actions.exposure import Restriction, fields_of, least_facts
from blackboard.gate.actions.sides import Side, full_side
from blackboard.gate.actions.work import TOTAL, Work
from blackboard.gate.actions.world import World
from blackboard.records import Approval, Fact, PolicyRecord, Rule
from blackboard.records.atoms import ABSENT
from blackboard.records.predicate import Predicate, atoms

_ATOM: Final = 10  # what it costs to find an atom


class Keep(NamedTuple):
    """What to hold after a compaction: `records` by id and by `positions`, oldest first.

    `unread` are those among them that the holder does not hold now, and so cannot keep: they are to be
    read. `keys` are the ledger keys that rules among the records read, to be read again, since entries do
    not survive a compaction. `smallest`: fewer facts would not do; else they may be more than are needed.
    """

    records: tuple[str, ...]
    positions: tuple[int, ...]
    unread: tuple[str, ...]
    keys: tuple[str, ...]
    smallest: bool


def must_keep(world: World, tools: Sequence[Tool], *, total: int = TOTAL) -> Keep:
    """Return the least to keep: each record of it is needed, and keeping others too may undo it.

    (Unless it is not `smallest`: then facts and rules are among it that there was not enough work to
    look into: `total`, see `work`.)

    That is every record that nobody can evaluate (and that was delivered), one live copy of each
    restriction that some call could make dangerous, and a smallest set of newest facts with which no call
    does. A compactor that keeps more calls `repair`.
    """
    return repair(world, (), tools, total=total)


def repair(world: World, kept: Iterable[int], tools: Sequence[Tool], *, total: int = TOTAL) -> Keep:
    """Return the positions `kept` with all that is needed beside them.

    Beside what must be kept in any case: the newest fact of each field of which some fact is kept, and of
    each that a kept permission reads; what superseded a kept rule or approval; the newest answer for an
    action where an older one is kept; every copy of a rule, where the copies kept are approved for an
    action for which not all are. What may be done to keep little is limited by `total` (see `work`); beyond
    it more is kept than is needed.
    """
    closing = _Closing(world, kept, Work(total))
    return closing.close(_covered(world, tools))


def _covered(world: World, tools: Iterable[Tool]) -> dict[Rule, list[Calls]]:
    """The rules that cover one of the tools that can be called, with the calls that these take."""
    found: dict[Rule, list[Calls]] = {}
    for calls in callable_tools(tools):
        for rule in world.records.rules_for(calls.tool.name):
            found.setdefault(rule, []).append(calls)
    return found


class _Closing:
    """A set of kept positions that grows until the precheck passes with it."""

    def __init__(self, world: World, kept: Iterable[int], work: Work) -> None:
        self.world = world
        self.records = world.records
        self.work = work
        self.read: set[str] = set()
        self.all_read = False
        self.kept: set[int] = set()
        self.facts: dict[str, int] = {}
        self.full = full_side(world)
        self.held = Side(world, self.kept.__contains__, self.facts.get, world.ledger.current)
        self._keep(kept)

    def close(self, covered: dict[Rule, list[Calls]]) -> Keep:
        """Keep what is missing, and return it all."""
        self._keep(at for at in self.records.unevaluable if self.world.holding.delivered(at))
        binding = list(self._binding(covered))
        for found in binding:
            if not self.held.live_copies(found.rule):
                self._keep([self._at_hand(found.copies)])
            # Only approvals of every copy count: those that are kept may be approved when others are not.
            if self._answers(found.copies) and self._approved_alone(found):
                self._keep(found.copies)
        needed, smallest = self._facts_for(binding)
        self._keep(needed)
        return self._result(covered, smallest=smallest)

    def _binding(self, covered: dict[Rule, list[Calls]]) -> Iterator[Restriction]:
        """The restrictions that some call could make dangerous for who lacks them."""
        for rule, calls in covered.items():
            copies = self.full.live_copies(rule) if rule.restrictive else ()
            if copies:
                answers = self._answers(copies)
                found = Restriction(self.full, rule, copies, calls, answers=answers, work=self.work)
                if found.binds(self.work):
                    yield found

    def _answers(self, copies: Sequence[int]) -> int:
        """For how many actions somebody has answered for the copies."""
        first = self.records.items[copies[0]]
        assert isinstance(first, PolicyRecord)
        return len(self.records.approvals(first.id)) if first.effect == "require_approval" else 0

    def _approved_alone(self, found: Restriction) -> bool:
        """Whether what is held of the rule may be approved for an action for which not all of it is."""
        if not found.known:
            return True
        return bool(self.held.approved_digests(self.held.live_copies(found.rule)) - found.approved)

    def _facts_for(self, binding: Sequence[Restriction]) -> tuple[list[int], bool]:
        """The newest facts to keep so that no kept restriction sees less than there is."""
        at_hand = self.world.holding.holds
        read = {field for found in binding for field in found.fields} & self.records.facts.keys()
        missing = {field: at for field in read for at in self._fact(field) if at not in self.kept}
        # Of two that would do, one that is at hand, then the newer one.
        wanted = sorted(missing, key=lambda field: (not at_hand(missing[field]), -missing[field]))
        chosen, smallest = least_facts(wanted, binding, self.work)
        return [missing[field] for field in chosen], smallest

    def _at_hand(self, copies: Sequence[int]) -> int:
        """Of several copies the one that takes least to hold: it is held, or was, or is newest."""
        holding = self.world.holding
        return max(copies, key=lambda at: (holding.holds(at), holding.delivered(at) > 0, at))

    # ---- what one record entails

    def _keep(self, positions: Iterable[int]) -> None:
        """Keep these, and whatever they entail."""
        waiting = list(positions)
        while waiting:
            at = waiting.pop()
            if at not in self.kept:
                self.kept.add(at)
                waiting += self._entailed(at)

    def _entailed(self, at: int) -> Iterator[int]:
        """What would mislead who holds the record without it."""
        match self.records.items[at]:
            case Fact(field=field):
                self.facts[field] = max(at, self.facts.get(field, at))
                yield self.records.facts[field][-1]
            case PolicyRecord(effect=effect, predicate=predicate):
                yield from self._superseder(at)
                if effect == "allow" and self.full.live(at):
                    for field in self._fields(predicate):
                        yield from self._fact(field)
            case Approval(policy=policy, action_digest=digest):
                yield from self._superseder(at)
                yield self.records.approvals(policy)[digest][-1]
            case _:
                pass

    def _fields(self, predicate: Predicate) -> set[str]:
        """The fields that a permission may read, without those that were told before.

        Where there is not enough work to go through it: all there are.
        """
        if self.all_read:
            return set()
        self.all_read = self.work.out
        if self.all_read:
            return self.records.facts.keys() - self.read
        read = tuple(atoms(predicate))
        self.work.spend(_ATOM * len(read))
        found = {*fields_of(read)} - self.read
        self.read |= found
        return found

    def _superseder(self, at: int) -> Iterator[int]:
        superseder = self.records.superseder(at)
        if superseder is not None:
            yield superseder

    def _fact(self, field: str) -> Iterator[int]:
        """The newest fact of a field, where it says that there is a value: none says the same as no fact."""
        if self.full.fact_value(field) is not ABSENT:
            yield self.records.facts[field][-1]

    # ---- the result

    def _result(self, covered: Iterable[Rule], *, smallest: bool) -> Keep:
        positions = tuple(sorted(self.kept))
        items, holds = self.records.items, self.world.holding.holds
        held = [rule for rule in covered if self.held.live_copies(rule)]
        keys = {atom.field for rule in held for atom in rule.atoms if atom.source == "ledger"}
        return Keep(
            records=tuple([items[at].id for at in positions]),
            positions=positions,
            unread=tuple([items[at].id for at in positions if not holds(at)]),
            keys=tuple(sorted(keys)),
            smallest=smallest,
        )
