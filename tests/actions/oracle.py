"""The action gate as its specification reads: scans over plain JSON values, no index, nothing remembered.

A second, naive implementation to hold the real one against: it is written from the text, sentence by
sentence, and shares no line with the product. Records, params and ledger values are JSON values as a file
states them; numbers are `int` or `Decimal`, never `float`. Input is taken to be well-formed: only ids that no
record has are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from tests.actions.truths import (
    ABSENT,
    FALSE,
    TRUE,
    UNKNOWN,
    Record,
    action_digest,
    at_pointer,
    atoms,
    evaluate,
    normal,
)

Rule = list[Record]  # the policies of equal content, oldest first

VERSIONS = {"policy": 1, "fact": 1, "approval": 2, "chatter": 1}
"""The newest version of each kind that can be evaluated."""


class Malformed(ValueError):
    """What the file tool answers ERROR to."""


class Verdict(NamedTuple):
    """What a judgement comes to: sorted `reasons` and `notes`, each a code and an id of a record."""

    verdict: str
    reasons: list[tuple[str, str]]
    policy: str
    notes: list[tuple[str, str]]

    @property
    def codes(self) -> list[str]:
        return [code for code, _ in self.reasons]

    @property
    def exit(self) -> int:
        return 0 if self.verdict == "PASS" else 1


# ------------------------------------------------------------------------------------------------------ rules


def evaluable(record: Record) -> bool:
    return record.get("version", 1) <= VERSIONS.get(record["kind"], 0)


def scope_of(policy: Record) -> list[str]:
    names = policy["scope"]
    return sorted({names} if isinstance(names, str) else set(names))


def covers(policy: Record, tool: str) -> bool:
    """`*`, the tool's own name, or `ns.*` for whatever is below `ns` but not `ns` itself."""
    return any(
        name in ("*", tool) or (name.endswith(".*") and tool.startswith(name[:-1]))
        for name in scope_of(policy)
    )


def rules_for(records: Iterable[Record], tool: str) -> list[Rule]:
    """Policies that cover the tool, grouped by content: scope, predicate, effect."""
    rules: dict[str, Rule] = {}
    for record in sorted(records, key=lambda record: record["seq"]):
        if evaluable(record) and record["kind"] == "policy" and covers(record, tool):
            content = normal([scope_of(record), record["predicate"], record["effect"]])
            rules.setdefault(content, []).append(record)
    return list(rules.values())


# ------------------------------------------------------------------------------------------------------ views


class View:
    """One set of records and ledger values, and what somebody who holds just these would conclude."""

    def __init__(
        self, records: Iterable[Record], ledger: Mapping[str, Any] | None, head: int, agent: str | None
    ) -> None:
        self.records = sorted(filter(evaluable, records), key=lambda record: record["seq"])
        self.ids = {record["id"] for record in self.records}
        self.ledger = ledger or {}
        self.head = head
        self.agent = agent

    def superseder(self, record: Record) -> Record | None:
        found = [other for other in self.records if other.get("supersedes") == record["id"]]
        return found[0] if found else None

    def expired(self, record: Record) -> bool:
        return "expires_seq" in record and self.head >= record["expires_seq"]

    def live(self, record: Record) -> bool:
        """An expired superseder counts like any other, and nothing that was superseded comes back."""
        return record["id"] in self.ids and self.superseder(record) is None and not self.expired(record)

    def newest_fact(self, field: str) -> Record | None:
        found = [record for record in self.records if record["kind"] == "fact" and record["field"] == field]
        return found[-1] if found else None

    def fact(self, field: str) -> Any:
        """The newest fact decides: where it is retracted or expired, no older value revives."""
        newest = self.newest_fact(field)
        if newest is None or newest.get("retracted", False) or self.expired(newest):
            return ABSENT
        return newest["value"]

    def value_of(self, atom: Record, params: Mapping[str, Any]) -> Any:
        """What the atom's field resolves to here, or ABSENT."""
        where = source_of(atom, params)
        if where == "ledger":
            return at_pointer(self.ledger.get(atom["field"], ABSENT), atom.get("at", ""))
        return params.get(atom["field"], ABSENT) if where == "param" else self.fact(atom["field"])

    def newest_approval(self, policy: Record, digest: str) -> Record | None:
        found = [
            record
            for record in self.records
            if record["kind"] == "approval"
            and (record["policy"], record["action_digest"]) == (policy["id"], digest)
        ]
        return found[-1] if found else None

    def approved(self, policy: Record, digest: str) -> bool:
        """Whether a copy of a rule is approved for the action: the newest approval is taken, then tested."""
        newest = self.newest_approval(policy, digest)
        return (
            policy["effect"] == "require_approval"
            and self.live(policy)
            and newest is not None
            and newest["granted"]
            and self.live(newest)
            and not same_actor(newest["approver"], self.agent)
        )

    def live_copies(self, rule: Rule) -> Rule:
        return [policy for policy in rule if self.live(policy)]

    def truth(self, rule: Rule, params: Mapping[str, Any], digest: str) -> int:
        """The strictest of the live copies, FALSE where there is none."""
        return max(
            (
                FALSE
                if self.approved(policy, digest)
                else evaluate(policy["predicate"], lambda atom: self.value_of(atom, params))
                for policy in self.live_copies(rule)
            ),
            default=FALSE,
        )


def source_of(atom: Record, params: Mapping[str, Any]) -> str:
    """Where an atom reads: where it is pinned to, else the params if they have the field, else the facts."""
    pinned: str | None = atom.get("source")
    return pinned or ("param" if atom["field"] in params else "fact")


def same_actor(approver: str, agent: str | None) -> bool:
    """An agent is written `agent:NAME` or `NAME`; where nobody is said to act, the test is skipped."""
    return agent is not None and approver.removeprefix("agent:") == agent.removeprefix("agent:")


# ---------------------------------------------------------------------------------------------------- verdict


class Case(NamedTuple):
    """One judgement in hand: the two views, and the action."""

    full: View
    held: View
    params: Mapping[str, Any]
    digest: str

    def truths(self, rule: Rule) -> tuple[int, int]:
        """What a rule comes to on the full set, and on what is held."""
        return self.full.truth(rule, self.params, self.digest), self.held.truth(
            rule, self.params, self.digest
        )

    def dead_approval(self, policy: Record) -> bool:
        """Whether the holder counts an approval of this copy that is none on the full set."""
        return self.held.approved(policy, self.digest) and not self.full.approved(policy, self.digest)

    def key_moved(self, key: str) -> bool:
        """Whether the current revision of a ledger entry is not the held one."""
        now, then = self.full.ledger.get(key, ABSENT), self.held.ledger.get(key, ABSENT)
        if now is ABSENT or then is ABSENT:
            return now is not then
        return normal(now) != normal(then)

    def reads_stale(self, atom: Record) -> bool:
        """Whether the atom resolves, on what is held, to a value that is not the newest."""
        where = source_of(atom, self.params)
        if where == "param" or self.held.value_of(atom, self.params) is ABSENT:
            return False
        if where == "ledger":
            return self.key_moved(atom["field"])
        return self.held.newest_fact(atom["field"]) is not self.full.newest_fact(atom["field"])


def restricts(rule: Rule) -> bool:
    return rule[0]["effect"] != "allow"


def dangerous(rule: Rule, full: int, held: int) -> bool:
    if restricts(rule):
        return full > held
    return held == TRUE and full != TRUE


def code_of(rule: Rule, case: Case) -> str:
    """The sentence that decides the code of a dangerous rule, clause by clause."""
    copies = case.held.live_copies(rule)
    if not copies:
        return "binding-constraint"
    if any(case.dead_approval(policy) for policy in copies):
        return "superseder-stale-permit"
    if not restricts(rule) and not case.full.live_copies(rule):
        return "superseder-stale-permit"
    if any(case.reads_stale(atom) for atom in atoms(rule[0]["predicate"])):
        return "superseder-stale-kept" if restricts(rule) else "superseder-stale-permit"
    return "input-kept-rule" if restricts(rule) else "input-kept-permit"


def missing_records(rule: Rule, case: Case) -> set[str]:
    """The ids that the rule rests on and the holder lacks, whatever the params are.

    A copy that is not held matters where no copy is held, and where the held ones are all approved: then it
    is a copy without that approval which binds.
    """
    copies = case.held.live_copies(rule)
    matter: list[Record | None] = []
    if all(case.held.approved(policy, case.digest) for policy in copies):
        matter += case.full.live_copies(rule)
    for policy in copies:
        matter.append(case.full.superseder(policy))
        if case.dead_approval(policy):
            approval = case.held.newest_approval(policy, case.digest)
            assert approval is not None
            matter += [case.full.newest_approval(policy, case.digest), case.full.superseder(approval)]
    for atom in atoms(rule[0]["predicate"]):
        if atom.get("source", "fact") == "fact":
            matter.append(case.full.newest_fact(atom["field"]))
    return {record["id"] for record in matter if record is not None} - case.held.ids


def missing_keys(rule: Rule, case: Case) -> set[str]:
    """The ledger keys that the rule reads and whose current revision is not held."""
    read = {atom["field"] for atom in atoms(rule[0]["predicate"]) if atom.get("source") == "ledger"}
    return {key for key in read if case.key_moved(key)}


def id_of(rule: Rule, case: Case) -> str:
    """A rule goes by its newest live copy; where it is dead, by the newest that looks live to the holder."""
    name: str = (case.full.live_copies(rule) or case.held.live_copies(rule))[-1]["id"]
    return name


def note_of(rule: Rule, case: Case, full: int, held: int) -> str | None:
    """What the tables note in the cells of a rule that is not dangerous, `note` where they give no words."""
    is_held = bool(case.held.live_copies(rule))
    if restricts(rule):
        words = {
            (FALSE, UNKNOWN): "note",
            (FALSE, TRUE): "stale value, safe direction",
            (UNKNOWN, UNKNOWN): "unresolved in both views",
            (UNKNOWN, TRUE): "note",
            (TRUE, TRUE): "binds, and the agent holds it",
        }
        return words.get((full, held))
    if full == TRUE and held != TRUE:
        return "note" if is_held else "permissive"
    return None


def second_answer(truths: list[tuple[str, int]]) -> str:
    """What the full set itself says of the action, from the effects of its rules and what they come to."""
    if ("deny", TRUE) in truths:
        return "deny"
    if ("require_approval", TRUE) in truths:
        return "needs-approval"
    if ("deny", UNKNOWN) in truths or ("require_approval", UNKNOWN) in truths:
        return "undetermined"
    return "allowed-by" if ("allow", TRUE) in truths else "default"


def case_of(
    records: list[Record],
    held_ids: Collection[str],
    tool: str,
    params: Mapping[str, Any],
    *,
    head: int | None = None,
    agent: str | None = None,
    ledger_full: Mapping[str, Any] | None = None,
    ledger_held: Mapping[str, Any] | None = None,
) -> Case:
    """The two views and the action; `head` is the greatest seq where left out."""
    if head is None:
        head = max((record["seq"] for record in records), default=0)
    held_records = [record for record in records if record["id"] in held_ids]
    return Case(
        View(records, ledger_full, head, agent),
        View(held_records, ledger_held, head, agent),
        params,
        action_digest(tool, params),
    )


def judge(
    records: list[Record],
    held_ids: Collection[str],
    tool: str,
    params: Mapping[str, Any],
    *,
    delivered_ids: Collection[str] | None = None,
    unseen: str = "block",
    allow_unevaluable: bool = False,
    ledger_delivered: Collection[str] | None = None,
    **sides: Any,
) -> Verdict:
    """Whether something that is missing in `held_ids` binds the action.

    `delivered_ids` and `ledger_delivered` (the keys whose current revision was served at some time) say what
    the agent ever got, both all where left out. `sides` go to `case_of`: `head`, `agent`, `ledger_full`,
    `ledger_held`. Raises `Malformed` for ids that no record has.
    """
    ids = {record["id"] for record in records}
    if unknown := (set(held_ids) | set(delivered_ids or ())) - ids:
        raise Malformed(f"no record has the id {min(unknown)!r}")
    delivered = ids if delivered_ids is None else set(delivered_ids)
    case = case_of(records, held_ids, tool, params, **sides)
    reasons: list[tuple[str, str]] = []
    notes: list[tuple[str, str]] = []
    truths: list[tuple[str, int]] = []
    for rule in rules_for(records, tool):
        full, held = case.truths(rule)
        truths.append((rule[0]["effect"], full))
        if dangerous(rule, full, held):
            keys = missing_keys(rule, case)
            served = keys if ledger_delivered is None else keys & set(ledger_delivered)
            dropped = bool(missing_records(rule, case) & delivered or served)
            found = (("dropped-" if dropped else "unseen-") + code_of(rule, case), id_of(rule, case))
            (reasons if dropped or unseen == "block" else notes).append(found)
        elif note := note_of(rule, case, full, held):
            notes.append((note, id_of(rule, case)))
    groups: dict[str, list[str]] = {}
    for record in records:
        if not evaluable(record):
            where = (
                "kept" if record["id"] in held_ids else "dropped" if record["id"] in delivered else "unseen"
            )
            groups.setdefault(where, []).append(record["id"])
    for where, names in groups.items():
        code = f"{where}-unevaluable-record"
        if where == "dropped" and not allow_unevaluable:
            reasons += [(code, name) for name in names]
        else:  # one note a group, which names its record where there is one
            notes.append((code, names[0] if len(names) == 1 else ""))
    return Verdict("BLOCK" if reasons else "PASS", sorted(reasons), second_answer(truths), sorted(notes))
