"""A hundred rules for one tool, a history around them, and what an agent holds of it after a compaction.

Every rule reads a parameter, some a fact too, so that none can be decided before the action is known. One
rule in ten was lost in the compaction, and of one fact an older value is held: the gate has to evaluate
those on both sides. One record in a hundred approves one rule, each for another action, and one in a hundred
nobody can evaluate, all of them held: no verdict may go through either. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from benchmarks.logs import NOTES
from blackboard.canonical import parse_exact
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.world import World
from blackboard.records import Holding, Records, read_record
from blackboard.records.digest import action_digest

TOOL = "refunds.create"
AGENT = "agent-00"
REGIONS = ("eu", "us", "jp", "br", "in", "za", "au", "ca")
CURRENCIES = ("EUR", "USD", "JPY", "BRL")
FACTS: dict[str, Any] = {"open_cases": 7, "tier": "silver", "hold": False}
"""The facts that rules read, with their newest values."""
OLD_CASES = 4
"""The value of `open_cases` that the agent still holds."""
SUMMARY = "summary"
"""A kind that nobody can evaluate."""
ACTIONS = 64
RECENT = 50
"""How many of the last records a compaction keeps, whatever they are."""

Predicate = dict[str, Any]


class Rule(NamedTuple):
    """One rule, for whoever evaluates it."""

    id: str
    predicate: Predicate
    effect: str


def rules(count: int) -> list[Rule]:
    """The first `count` rules; neighbours have different shapes."""
    return [Rule(f"rule-{index:03d}", *_shape(index)) for index in range(count)]


def _shape(index: int) -> tuple[Predicate, str]:
    large, shape = _atom("amount", "gt", 5000 + 50 * index), index % 5
    if shape == 0:
        return large, "deny"
    if shape == 1:
        return {"all": [large, _atom("region", "eq", REGIONS[index % 8])]}, "require_approval"
    if shape == 2:
        partner = _atom("channel", "prefix", f"partner-{index:02d}")
        return {"all": [partner, _atom("open_cases", "gt", index // 5 % 7)]}, "deny"
    if shape == 3:
        many = _atom("items", "ge", 10 + index)
        either = [
            _atom("currency", "in", ["XAU", f"X{index:02d}"]),
            {"all": [many, _atom("tier", "ne", "gold")]},
        ]
        return {"any": either}, "deny"
    return {"all": [_atom("amount", "lt", 100 + index), {"not": _atom("hold", "eq", True)}]}, "allow"


def _atom(field: str, op: str, value: Any) -> Predicate:
    return {"field": field, "op": op, "value": value}


def lost(index: int) -> bool:
    """Whether the compaction dropped the rule: one in ten, all of them `require_approval` of odd regions."""
    return index % 10 == 1


def passing() -> list[Action]:
    """Calls that nothing lost binds; one in four is bound by rules that the agent holds."""
    return [_call(5000 + 40 * turn if turn % 4 == 3 else 50 + 70 * turn, turn * 2) for turn in range(ACTIONS)]


def blocked() -> list[Action]:
    """Calls that at least one lost rule binds."""
    return [_call(9500 + turn, 1) for turn in range(ACTIONS)]


def _call(amount: int, region: int) -> Action:
    params = {
        "amount": amount,
        "channel": ("web", "app", "desk")[amount % 3],
        "currency": CURRENCIES[amount % 4],
        "items": 1 + amount % 9,
        "reason": f"ticket {amount}",
        "region": REGIONS[region % 8],
    }
    return Action(TOOL, params)


# ---- the history


def history(count: int, rule_count: int) -> list[dict[str, Any]]:
    """So many records: the rules lie all over them, the newest facts and two approvals at the end.

    Between them are other tools' rules, older and other facts, approvals of one rule that is held, records
    that nobody can evaluate, and chatter, of which there is most.
    """
    given = rules(rule_count)
    asked = next(
        rule.id for index, rule in enumerate(given) if rule.effect == "require_approval" and not lost(index)
    )
    end = list(_end(given))
    gap = (count - len(end)) // rule_count
    found: list[dict[str, Any]] = []
    for at in range(count - len(end)):
        if at % gap == 0 and at // gap < rule_count:
            found.append(_policy(given[at // gap].id, TOOL, *given[at // gap][1:]))
        else:
            found.append({"id": f"record-{at:06d}"} | _between(at, asked))
    return [record | {"seq": at} for at, record in enumerate([*found, *end], 1)]


def _between(at: int, asked: str) -> dict[str, Any]:
    if at % 10 == 1:
        field = tuple(FACTS)[at // 10 % 3]
        return {"kind": "fact", "field": field, "value": OLD_CASES if field == "open_cases" else "none"}
    if at % 10 == 2:
        return {"kind": "fact", "field": f"metric-{at // 10 % 400}", "value": at}
    if at % 10 == 3:
        return _policy(f"record-{at:06d}", f"tool-{at // 10 % 500}.run", _atom("amount", "gt", at), "deny")
    if at % 100 == 4:
        return _approval(asked, f"{at:064x}")
    if at % 100 == 5:
        return {"kind": SUMMARY, "text": NOTES[at % 3]}
    return {"kind": "chatter", "text": NOTES[at % 3]}


def _policy(identity: str, scope: str, predicate: Predicate, effect: str) -> dict[str, Any]:
    return {"id": identity, "kind": "policy", "scope": scope, "predicate": predicate, "effect": effect}


def _fact(identity: str, field: str, value: Any) -> dict[str, Any]:
    return {"id": identity, "kind": "fact", "field": field, "value": value}


def _approval(policy: str, digest: str) -> dict[str, Any]:
    who = {"granted": True, "approver": "operator"}
    return {"kind": "approval", "policy": policy, "action_digest": digest} | who


def _end(given: list[Rule]) -> Iterator[dict[str, Any]]:
    for name, value in FACTS.items():
        yield _fact(f"newest-{name}", name, value)
    asks = next(rule.id for rule in given if rule.effect == "require_approval")
    for turn in range(2):
        digest = action_digest(TOOL, _call(7000 + turn, 1).params)
        yield {"id": f"approval-{turn}"} | _approval(asks, digest)


def kept(records: list[dict[str, Any]], rule_count: int) -> list[str]:
    """The ids that the compaction kept: the rules but for the lost ones, and the last records, but for one.

    It kept what nobody can evaluate, and the approvals of the held rule.
    Of `open_cases` it kept an old value instead of the newest.
    """
    held = [rule.id for index, rule in enumerate(rules(rule_count)) if not lost(index)]
    old = next(record["id"] for record in records if record.get("field") == "open_cases")
    answers = [record["id"] for record in records if record["kind"] in (SUMMARY, "approval")]
    recent = [record["id"] for record in records[-RECENT:] if record["id"] != "newest-open_cases"]
    return list(dict.fromkeys([*held, old, *answers, *(one for one in recent if not _is_rule(one))]))


def _is_rule(identity: str) -> bool:
    return identity.startswith("rule-")


def world(count: int, rule_count: int) -> World:
    """What the gate judges by: the history, and what the agent holds of it."""
    values = history(count, rule_count)
    records = _index(values)
    held = [records.position(identity) for identity in kept(values, rule_count)]
    return World(records, Holding.of(records, [at for at in held if at is not None]), count, AGENT)


def written(book: list[Rule]) -> list[bytes]:
    """The rules and the newest facts as JSON records, each by itself: what a cold start reads."""
    values = [_policy(rule.id, TOOL, rule.predicate, rule.effect) for rule in book]
    values += [_fact(f"newest-{name}", name, value) for name, value in FACTS.items()]
    return [msgspec.json.encode(value | {"seq": at}) for at, value in enumerate(values, 1)]


def read_world(texts: list[bytes]) -> World:
    """The world of somebody who holds all of these records."""
    records = _index([parse_exact(text) for text in texts])
    return World(records, Holding.of(records, range(len(records))), len(records), AGENT)


def _index(values: list[Any]) -> Records:
    records = Records()
    for value in values:
        record = read_record(value)
        records.check(record)
        records.add(record)
    return records


def document(count: int, rule_count: int, actions: list[Action]) -> bytes:
    """The same world as a file of records."""
    records = history(count, rule_count)
    asked = [{"tool": action.tool, "params": action.params} for action in actions]
    case = {"name": "bench", "agent": AGENT, "records": records, "kept": kept(records, rule_count)}
    return msgspec.json.encode(case | {"actions": asked})
