"""The two sides of a verdict: what the full set says, and what follows from what is held.

One code for both: a side differs only in which records it has and which entry it knows of a key. Superseded
things never come back on a side, expired superseders count, and the newest fact decides even where it is
retracted or expired. Source: "Records" and "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from blackboard.gate.actions.residual import Params, evaluator, partial
from blackboard.gate.actions.world import LedgerValue, World
from blackboard.records import Approval, Fact, Records, Rule
from blackboard.records.atoms import ABSENT, at_pointer
from blackboard.records.kinds import PolicyRecord, expires_of
from blackboard.records.predicate import Atom
from blackboard.records.truth import FALSE, Truth


class Side:
    """`holds`, `newest_fact` and `entry` tell which records (by position) and entries the side has."""

    __slots__ = ("_actor", "_head", "_records", "entry", "holds", "newest_fact")

    def __init__(
        self,
        world: World,
        holds: Callable[[int], bool],
        newest_fact: Callable[[str], int | None],
        entry: Callable[[str], LedgerValue | None],
    ) -> None:
        self._records: Records = world.records
        self._head = world.head
        self._actor = None if world.actor is None else _agent(world.actor)
        self.holds = holds
        self.newest_fact = newest_fact
        self.entry = entry

    # ---- what lives

    def expired(self, position: int) -> bool:
        """Whether the head has reached the record's expiry."""
        expires = expires_of(self._records.items[position])
        return expires is not None and self._head >= expires

    def live(self, position: int) -> bool:
        """Whether the side has the record, nothing on it supersedes it, and it has not expired."""
        if not self.holds(position):
            return False
        superseder = self._records.superseder(position)
        return (superseder is None or not self.holds(superseder)) and not self.expired(position)

    def live_copies(self, rule: Rule) -> tuple[int, ...]:
        """The positions of the rule's copies that live here, oldest first."""
        return tuple([copy for copy in rule.copies if self.live(copy)])

    # ---- what atoms read

    def value(self, atom: Atom) -> object:
        """What the atom reads where it reads no parameter: an exact JSON value, or ABSENT."""
        if atom.source == "ledger":
            entry = self.entry(atom.field)
            return ABSENT if entry is None else at_pointer(entry.value, atom.at)
        return ABSENT if atom.source == "param" else self.fact_value(atom.field)

    def fact_value(self, field: str) -> object:
        """What the field's newest fact says; ABSENT where it is retracted or expired, or there is none."""
        newest = self.newest_fact(field)
        if newest is None:
            return ABSENT
        fact = self._records.items[newest]
        assert isinstance(fact, Fact)
        return ABSENT if fact.retracted or self.expired(newest) else fact.value

    # ---- approvals

    def newest_approval(self, policy: int, digest: str) -> int | None:
        """The position of the newest approval, granted or not, of a policy for an action."""
        answers = self._records.approvals(self._records.items[policy].id).get(digest, ())
        for answer in reversed(answers):
            if self.holds(answer):
                return answer
        return None

    def approved(self, policy: int, digest: str) -> bool:
        """Whether a `require_approval` policy that lives here is approved for the action, by someone else."""
        newest = self.newest_approval(policy, digest)
        if newest is None:
            return False
        approval, rule = self._records.items[newest], self._records.items[policy]
        assert isinstance(approval, Approval)
        assert isinstance(rule, PolicyRecord)
        return (
            rule.effect == "require_approval"
            and approval.granted
            and self.live(newest)
            and self.live(policy)
            and _agent(approval.approver) != self._actor
        )

    def approved_digests(self, copies: Sequence[int]) -> frozenset[str]:
        """The actions for which every one of the copies is approved; none where there are no copies."""
        if not copies:
            return frozenset()
        named = self._records.approvals(self._records.items[copies[0]].id)
        return frozenset([digest for digest in named if all(self.approved(copy, digest) for copy in copies)])

    # ---- what a rule says

    def truth(self, rule: Rule, params: Params, digest: str) -> Truth:
        """What the rule comes to for one action: FALSE where no copy lives, or where all are approved."""
        copies = self.live_copies(rule)
        if all(self.approved(copy, digest) for copy in copies):
            return FALSE
        return evaluator(partial(rule.predicate, self.value))(params)


def full_side(world: World) -> Side:
    """Everything up to the head."""
    return Side(world, _everything, world.records.newest_fact, world.ledger.current)


def held_side(world: World) -> Side:
    """What the actor still holds."""
    return Side(world, world.holding.holds, world.holding.newest_fact, world.ledger.held)


def reread_side(world: World, positions: Iterable[int], keys: Set[str]) -> Side:
    """What the actor would hold once it had read these records and keys again."""
    again = frozenset(positions)
    facts: dict[str, int] = {}
    for position in sorted(again):
        record = world.records.items[position]
        if isinstance(record, Fact):
            facts[record.field] = position

    def newest_fact(field: str) -> int | None:
        held, read = world.holding.newest_fact(field), facts.get(field)
        return held if read is None or (held is not None and held > read) else read

    def entry(key: str) -> LedgerValue | None:
        return world.ledger.current(key) if key in keys else world.ledger.held(key)

    return Side(world, lambda at: at in again or world.holding.holds(at), newest_fact, entry)


def _everything(_position: int) -> bool:
    return True


def _agent(name: str) -> str:
    # Who acts is written `agent:ID` on a board and may be `ID` in a file.
    return name.removeprefix("agent:")
