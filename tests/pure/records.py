"""Records as their authors send them: without a seq."""

from __future__ import annotations

from typing import Any

from blackboard.records.digest import action_digest

Record = dict[str, Any]


def _named(name: str | None, record: Record) -> Record:
    return record if name is None else {"id": name} | record


def amount_over(limit: float, **members: Any) -> Record:
    return {"field": "amount", "op": "gt", "value": limit, **members}


def policy(name: str | None, predicate: Record, effect: str = "deny", **members: Any) -> Record:
    return _named(name, {"kind": "policy", "scope": "t", "predicate": predicate, "effect": effect, **members})


def fact(name: str | None, field: str, value: Any, **members: Any) -> Record:
    return _named(name, {"kind": "fact", "field": field, "value": value, **members})


def approval(of: str, name: str | None = None, *, params: Record | None = None, **members: Any) -> Record:
    usual = {"policy": of, "action_digest": action_digest("t", params or {}), "granted": True}
    return _named(name, {"kind": "approval", **usual, **members})


def chatter(text: str) -> Record:
    return {"kind": "chatter", "text": text}
