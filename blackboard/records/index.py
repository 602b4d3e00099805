"""The index over records: what a verdict needs is found without going through the history.

Records have positions 0, 1, ... in order of seq. Policies of equal content (scope, predicate, effect) are
copies of one rule: rules are judged by content. Each scope pattern has a clock, the seq of the last thing
that can change a verdict about the tools that it covers.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from typing import assert_never

from blackboard.canonical import normal
from blackboard.records.faults import Path, fault
from blackboard.records.kinds import (
    AnyRecord,
    Approval,
    Chatter,
    Effect,
    Fact,
    PolicyRecord,
    Unevaluable,
    kind_of,
    supersedes_of,
)
from blackboard.records.predicate import Predicate, atoms, to_json
from blackboard.records.scope import EVERY, patterns_of

_Content = tuple[tuple[str, ...], str, Effect]
"""What copies of a rule have in common: scope, predicate in normal form, effect."""


def _content(record: PolicyRecord) -> _Content:
    return record.scope, normal(to_json(record.predicate)), record.effect


class Rule:
    """Policies of one content; `copies` are their positions, oldest first, `atoms` those of the predicate."""

    __slots__ = ("atoms", "copies", "effect", "predicate", "scope")

    def __init__(self, scope: tuple[str, ...], predicate: Predicate, effect: Effect) -> None:
        self.scope = scope
        self.predicate = predicate
        self.effect = effect
        self.atoms = tuple(atoms(predicate))
        self.copies: list[int] = []

    @property
    def restrictive(self) -> bool:
        """Whether it can only forbid; else it permits."""
        return self.effect != "allow"


class _Readers:
    """The policies that read one ledger key and that nothing supersedes, by position."""

    __slots__ = ("ending", "lasting")

    def __init__(self) -> None:
        self.lasting: dict[int, None] = {}
        self.ending: list[tuple[int, int]] = []  # (expires_seq, position), ascending


class Records:
    """Every record up to some seq, indexed.

    `items` are the records by position; `facts` the positions of a field's facts, oldest first;
    `unevaluable` the positions of those that cannot be evaluated; `ledger_keys` the keys that rules
    read from the ledger, with the scope patterns that do; `clocks` the clock of each scope pattern.
    """

    __slots__ = (
        "_approvals",
        "_expiries",
        "_field_readers",
        "_key_readers",
        "_positions",
        "_rules",
        "_scopes",
        "_superseders",
        "clocks",
        "facts",
        "items",
        "ledger_keys",
        "unevaluable",
    )

    def __init__(self) -> None:
        self.items: list[AnyRecord] = []
        self.facts: dict[str, list[int]] = {}
        self.unevaluable: list[int] = []
        self.clocks: dict[str, int] = {}
        self.ledger_keys: defaultdict[str, set[str]] = defaultdict(set)
        self._positions: dict[str, int] = {}
        self._superseders: dict[int, int] = {}
        self._rules: dict[_Content, Rule] = {}
        self._scopes: defaultdict[str, list[Rule]] = defaultdict(list)
        self._approvals: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._expiries: defaultdict[str, list[int]] = defaultdict(list)
        self._field_readers: defaultdict[str, set[str]] = defaultdict(set)
        self._key_readers: defaultdict[str, _Readers] = defaultdict(_Readers)

    def __len__(self) -> int:
        return len(self.items)

    def position(self, identity: str) -> int | None:
        """The position of the record with this id."""
        return self._positions.get(identity)

    def get(self, identity: str) -> AnyRecord | None:
        """The record with this id."""
        at = self._positions.get(identity)
        return None if at is None else self.items[at]

    def superseder(self, position: int) -> int | None:
        """The position of the record that replaces this one."""
        return self._superseders.get(position)

    def newest_fact(self, field: str) -> int | None:
        """The position of the field's newest fact, retracted and expired ones included."""
        found = self.facts.get(field)
        return found[-1] if found else None

    def approvals(self, policy: str) -> dict[str, list[int]]:
        """The approvals that name this policy: positions by action digest, oldest first."""
        return self._approvals.get(policy) or {}

    def next_approval_expiry(self, policy: str, head: int) -> int | None:
        """The seq above `head` at which the next approval of this policy expires."""
        expiries = self._expiries.get(policy, ())
        at = bisect_right(expiries, head)
        return expiries[at] if at < len(expiries) else None

    def rules_for(self, tool: str) -> list[Rule]:
        """The rules whose scope covers the tool, each once, also those of which no copy lives."""
        found = [rule for pattern in patterns_of(tool) for rule in self._scopes.get(pattern, ())]
        return list(dict.fromkeys(found))

    def rules(self) -> list[Rule]:
        """Every rule, by its first copy."""
        return list(self._rules.values())

    def clock(self, tool: str) -> int:
        """The seq of the last record or entry that can change a verdict about the tool; 0 for none."""
        return max(self.clocks.get(pattern, 0) for pattern in patterns_of(tool))

    def key_reader(self, key: str, head: int) -> int | None:
        """The position of a policy in force at `head` that reads the key from the ledger.

        The newest one that never expires, else the one that expires last: others are not looked at.
        """
        readers = self._key_readers.get(key)
        if readers is None:
            return None
        if readers.lasting:
            return next(reversed(readers.lasting))
        expires, position = readers.ending[-1] if readers.ending else (0, 0)
        return position if expires > head else None

    # ---- adding

    def check(self, record: AnyRecord, path: Path = ()) -> None:
        """Raise `Malformed` where the record cannot come next: its seq, its id, or what it supersedes."""
        if self.items and record.seq <= self.items[-1].seq:
            last = self.items[-1]
            raise fault((*path, "seq"), f"seq {record.seq} is not above {last.seq}, that of {last.id!r}")
        taken = self._positions.get(record.id)
        if taken is not None:
            what = f"the id {record.id!r} is taken by the record at seq {self.items[taken].seq}"
            raise fault((*path, "id"), what, limit="unique ids")
        supersedes = supersedes_of(record)
        if supersedes is not None:
            self._check_superseded(record, supersedes, (*path, "supersedes"))

    def _check_superseded(self, record: AnyRecord, supersedes: str, path: Path) -> None:
        at = self._positions.get(supersedes)
        if at is None:
            raise fault(path, f"no older record has the id {supersedes!r}")
        old = self.items[at]
        if kind_of(old) != kind_of(record):
            raise fault(path, f"{supersedes!r} is a {kind_of(old)}, not a {kind_of(record)}")
        if isinstance(record, Fact) and record.field != getattr(old, "field", None):
            raise fault(path, f"{supersedes!r} is a fact of another field, not of {record.field!r}")
        first = self._superseders.get(at)
        if first is not None:
            raise fault(path, f"{supersedes!r} is superseded already, by {self.items[first].id!r}")

    def add(self, record: AnyRecord) -> int:
        """Take in the next record, which `check` accepts, and return its position."""
        at = len(self.items)
        self.items.append(record)
        self._positions[record.id] = at
        match record:
            case Chatter():
                pass
            case Fact():
                self.facts.setdefault(record.field, []).append(at)
                self._touch(self._field_readers.get(record.field, ()), record.seq)
            case PolicyRecord():
                self._add_policy(record, at)
            case Approval():
                self._approvals[record.policy][record.action_digest].append(at)
                if record.expires_seq is not None:
                    insort(self._expiries[record.policy], record.expires_seq)
                self._touch(self._scope_about(record.policy), record.seq)
            case Unevaluable():
                self.unevaluable.append(at)
                self._touch((EVERY,), record.seq)
            case _:
                assert_never(record)
        supersedes = supersedes_of(record)
        if supersedes is not None:
            self._supersede(self._positions[supersedes], at)
            self._touch(self._scope_about(supersedes), record.seq)
        return at

    def touch_key(self, key: str, seq: int) -> None:
        """An entry was written: rules that read its key may decide otherwise now."""
        readers = self.ledger_keys.get(key)
        if readers:
            self._touch(readers, seq)

    def _add_policy(self, record: PolicyRecord, at: int) -> None:
        content = _content(record)
        rule = self._rules.get(content)
        if rule is None:
            rule = self._rules[content] = Rule(record.scope, record.predicate, record.effect)
            for pattern in record.scope:
                self._scopes[pattern].append(rule)
            for atom in rule.atoms:
                if atom.source == "ledger":
                    self.ledger_keys[atom.field].update(record.scope)
                elif atom.source != "param":
                    self._field_readers[atom.field].update(record.scope)
        rule.copies.append(at)
        for readers in self._readers_of(rule):
            if record.expires_seq is None:
                readers.lasting[at] = None
            else:
                insort(readers.ending, (record.expires_seq, at))
        self._touch(record.scope, record.seq)

    def _supersede(self, old: int, at: int) -> None:
        self._superseders[old] = at
        record = self.items[old]
        if not isinstance(record, PolicyRecord):
            return
        for readers in self._readers_of(self._rules[_content(record)]):
            if record.expires_seq is None:
                del readers.lasting[old]
            else:
                readers.ending.remove((record.expires_seq, old))

    def _readers_of(self, rule: Rule) -> list[_Readers]:
        keys = {atom.field for atom in rule.atoms if atom.source == "ledger"}
        return [self._key_readers[key] for key in keys]

    def _scope_about(self, identity: str) -> tuple[str, ...]:
        """The scope of a policy, or of the one that an approval is about.

        An approval may supersede one of another policy, and ends it there. Facts are superseded by facts of
        their field, whose readers are touched by that.
        """
        found = self.get(identity)
        if isinstance(found, Approval):
            found = self.get(found.policy)
        return found.scope if isinstance(found, PolicyRecord) else ()

    def _touch(self, patterns: Sequence[str] | set[str], seq: int) -> None:
        for pattern in patterns:
            self.clocks[pattern] = seq
