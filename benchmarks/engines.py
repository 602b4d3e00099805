"""The same rules in Cedar and in CEL, which people would otherwise call before an action.

They answer another question: do the rules allow this action, as it stands? The gate answers whether
something that the agent has lost binds it. Neither engine knows what an agent holds. They come with
`requirements/bench.txt`; without them `load` returns None. An action's context are its parameters and the
newest facts, put together in the call; every field that a rule reads is there, so that no rule needs `has`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from benchmarks.rulebook import AGENT, FACTS, TOOL, Predicate, Rule

Params = Mapping[str, Any]


class Engine(Protocol):
    """Rules of one engine, parsed. `CALL` says what a call includes, for the table.

    `DECIDING_ONLY`: of the true rules it names those that decided, so no permission where one forbids.
    """

    NAME: ClassVar[str]
    PACKAGE: ClassVar[str]
    MODULE: ClassVar[str]
    CALL: ClassVar[str]
    DECIDING_ONLY: ClassVar[bool]

    def __init__(self, module: Any, rules: Sequence[Rule]) -> None: ...

    def answer(self, params: Params) -> Any:
        """One call as an application makes it, from the action's parameters to what the engine says."""

    def true_of(self, params: Params) -> set[str]:
        """The ids of the rules that are true of the action, as far as the engine tells them."""


class Cedar:
    """cedarpy: policies and entities parsed once, one `is_authorized` a call.

    The library writes the context as JSON, and reads its answer from JSON; both are part of the call.
    """

    NAME: ClassVar[str] = "cedar"
    PACKAGE: ClassVar[str] = "cedarpy"
    MODULE: ClassVar[str] = "cedarpy"
    CALL: ClassVar[str] = "A call: is_authorized, with its JSON of the context and of the answer"
    DECIDING_ONLY: ClassVar[bool] = True

    def __init__(self, module: Any, rules: Sequence[Rule]) -> None:
        text = [cedar_policy(rule) for rule in rules]
        # What no rule forbids is allowed, as it is where the gate's rules are used.
        text.append('@id("default") permit(principal, action, resource);')
        self._decide = module.is_authorized
        self._policies = module.PolicySet.from_str("\n".join(text))
        self._entities = module.Entities.from_json_str("[]")
        self._request = {
            "principal": {"type": "Agent", "id": AGENT},
            "action": {"type": "Action", "id": TOOL},
            "resource": {"type": "Tool", "id": TOOL},
        }

    def answer(self, params: Params) -> Any:
        request = self._request | {"context": FACTS | dict(params)}
        return self._decide(request, self._policies, self._entities)

    def true_of(self, params: Params) -> set[str]:
        diagnostics = self.answer(params).diagnostics
        assert not diagnostics.errors, diagnostics.errors
        return set(diagnostics.id_annotations_by_reason.values()) - {"default"}


class Cel:
    """common-expression-language: a program a rule, compiled once; a context and every program a call."""

    NAME: ClassVar[str] = "cel"
    PACKAGE: ClassVar[str] = "common-expression-language"
    MODULE: ClassVar[str] = "cel"
    CALL: ClassVar[str] = "A call: one context, a program a rule"
    DECIDING_ONLY: ClassVar[bool] = False

    def __init__(self, module: Any, rules: Sequence[Rule]) -> None:
        self._context = module.Context
        self._programs = [(rule.id, module.compile(cel_expression(rule))) for rule in rules]

    def answer(self, params: Params) -> list[bool]:
        context = self._context(FACTS | dict(params))
        return [program.execute(context) for _, program in self._programs]

    def true_of(self, params: Params) -> set[str]:
        told = zip(self._programs, self.answer(params), strict=True)
        return {identity for (identity, _), true in told if true}


EngineKind = type[Engine]
ENGINES: tuple[EngineKind, ...] = (Cedar, Cel)


def load(kind: EngineKind) -> Any:
    """The module of an engine; None where it is not installed."""
    try:
        return importlib.import_module(kind.MODULE)
    except ImportError:
        return None


def version(kind: EngineKind) -> str:
    """The release that is installed."""
    return importlib.metadata.version(kind.PACKAGE)


# ---- translations


def cedar_policy(rule: Rule) -> str:
    """The rule as a policy of Cedar."""
    word = "permit" if rule.effect == "allow" else "forbid"
    head = f'@id("{rule.id}") {word}(principal, action == Action::"{TOOL}", resource)'
    return f"{head} when {{ {_cedar(rule.predicate)} }};"


def cel_expression(rule: Rule) -> str:
    """The rule as an expression of CEL, which knows no effects."""
    return _cel(rule.predicate)


_SIGNS = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def _cedar(part: Predicate) -> str:
    joined = _joined(part, _cedar)
    if joined is not None:
        return joined
    field, value = f"context.{part['field']}", _literal(part["value"])
    if part["op"] == "prefix":
        return f'{field} like "{part["value"]}*"'
    if part["op"] == "in":
        return f"{value}.contains({field})"
    return f"{field} {_SIGNS[part['op']]} {value}"


def _cel(part: Predicate) -> str:
    joined = _joined(part, _cel)
    if joined is not None:
        return joined
    field, value = part["field"], _literal(part["value"])
    if part["op"] == "prefix":
        return f"{field}.startsWith({value})"
    if part["op"] == "in":
        return f"{field} in {value}"
    return f"{field} {_SIGNS[part['op']]} {value}"


def _joined(part: Predicate, of: Any) -> str | None:
    """What both languages write alike: and, or, not; None for an atom."""
    if "not" in part:
        return f"!({of(part['not'])})"
    for word, sign in (("all", " && "), ("any", " || ")):
        if word in part:
            return f"({sign.join(of(inner) for inner in part[word])})"
    return None


def _literal(value: Any) -> str:
    """Strings, whole numbers, booleans and lists of them are written alike in JSON, Cedar and CEL."""
    return msgspec.json.encode(value).decode()
