"""The calls that a tool takes, as its JSON Schema declares them.

Only what narrows a parameter by itself is understood: `type`, `minimum`, `maximum`, `exclusiveMinimum`,
`exclusiveMaximum`, `enum` and `const`, and of the whole `properties`, `required` and
`additionalProperties`. A domain may be wider than its schema and is never narrower: a call that it leaves
out is never made, a call that it lets in for want of understanding costs a false block at most. So any
other keyword is ignored where it could only narrow, and where it could widen (a reference, whose siblings
older drafts ignore; `nullable`; parameters that are declared in a part, as under `allOf`) the domain is
widened with it. One thing is stricter than JSON Schema: a call may not have a parameter that is declared
nowhere, unless `additionalProperties` says so.
Source: "Precheck" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from blackboard.canonical import exactly, normal
from blackboard.records import atoms
from blackboard.records.atoms import TYPES, Op
from blackboard.records.faults import Path, fault, read_list, read_name, read_object, wrong
from blackboard.records.scope import read_tool
from blackboard.records.truth import TRUE

MAX_TOOLS: Final = 10_000
"""How many tools may be asked about at once."""

_LONGEST: Final = 200
_TYPES: Final = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))
_LIMITS: Final[dict[str, tuple[Op, str]]] = {
    "minimum": ("ge", "at least"),
    "maximum": ("le", "at most"),
    "exclusiveMinimum": ("gt", "above"),
    "exclusiveMaximum": ("lt", "below"),
}
_REFERENCES: Final = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_PARTS: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")
"""Keywords whose parts say something of the whole call, and so can declare parameters of it."""


class Values(NamedTuple):
    """What one parameter may be.

    `types` are JSON Schema's, None for any; `limits` the keywords that bound a number, with their bounds;
    `choices` the values there are, all within the rest, None where they are not listed.
    """

    types: frozenset[str] | None = None
    limits: tuple[tuple[str, int | Decimal], ...] = ()
    choices: tuple[Any, ...] | None = None

    def allows(self, value: Any) -> bool:
        """Whether the parameter may have this exact JSON value."""
        if self.choices is not None:
            return normal(value) in map(normal, self.choices)
        return self._typed(value) and self._within(value)

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole ones."""
        return self.types is not None and "number" not in self.types

    def _typed(self, value: Any) -> bool:
        return self.types is None or not self.types.isdisjoint(types_of(value))

    def _within(self, value: Any) -> bool:
        if TYPES.get(type(value)) != "number":
            return True
        return all(atoms.test(_LIMITS[word][0], bound)(value) == TRUE for word, bound in self.limits)

    def words(self) -> str:
        """What is asked for, for a reader: `integer, at least 0`."""
        if self.choices is not None:
            told = normal(self.choices)
            return f"one of {told if len(told) <= _LONGEST else f'{told[:_LONGEST]}…'}"
        kinds = "any value" if self.types is None else " or ".join(sorted(self.types))
        return ", ".join([kinds, *(f"{_LIMITS[word][1]} {normal(bound)}" for word, bound in self.limits)])


ANY: Final = Values()
"""Whatever JSON can say."""


class Domain(NamedTuple):
    """The parameters of a tool: the `declared` ones, those that are `required`, and what any other may be.

    `others` None: there are no others.
    """

    declared: Mapping[str, Values]
    required: frozenset[str]
    others: Values | None

    def values(self, name: str) -> Values | None:
        """What a parameter may be; None where there is none of that name."""
        return self.declared.get(name, self.others)

    def check(self, params: Mapping[str, Any], path: Path = ()) -> None:
        """Raise `Malformed` for a call that the tool does not take, with the place of the first fault."""
        for name in sorted(self.required - params.keys()):
            raise fault((*path, name), "is required by the tool's input schema")
        for name in sorted(params):
            values = self.values(name)
            if values is None:
                known = f"declared are {', '.join(sorted(self.declared))}" if self.declared else "it has none"
                what = f"the tool's input schema declares no such parameter; {known[:_LONGEST]}"
                raise fault((*path, name), what, limit="declared parameters", value=name)
            if not values.allows(params[name]):
                raise wrong((*path, name), f"{values.words()} (of the tool's input schema)", params[name])


class Tool(NamedTuple):
    """A tool that may be called; `domain` None: with whatever parameters."""

    name: str
    domain: Domain | None = None


def types_of(value: Any) -> tuple[str, ...]:
    """The types of JSON Schema that an exact JSON value has; 5.0 is an integer."""
    kind = TYPES.get(type(value))
    if kind == "number":
        return ("number", "integer") if value == int(value) else ("number",)
    if kind is None:
        return ("object",) if isinstance(value, dict) else ("array",)
    return ("boolean",) if kind == "bool" else (kind,)


# ---- reading


def read_tools(value: object, path: Path = ()) -> tuple[Tool, ...]:
    """Return the tools that a JSON array names: each a name, or `{"name", "input_schema"?}`.

    A tool that is listed twice is one, if it is the same. Other members of a tool (a description) are left
    unread. Raises `Malformed`, naming the place, also for a schema that says what no schema can.
    """
    items = read_list(value, path)
    if len(items) > MAX_TOOLS:
        raise fault(path, f"{len(items)} tools; at most {MAX_TOOLS} are read", limit=MAX_TOOLS)
    found: dict[str, Tool] = {}
    for at, item in enumerate(items):
        tool = _read_tool(item, (*path, at))
        if found.setdefault(tool.name, tool) != tool:
            raise fault((*path, at), f"{tool.name!r} is listed before with other parameters")
    return tuple(found.values())


def _read_tool(item: object, path: Path) -> Tool:
    if type(item) is str:
        return Tool(read_tool(item, path))
    if type(item) is not dict:
        raise wrong(path, "a tool's name, or an object with `name` and `input_schema`,", item)
    if "name" not in item:
        raise fault((*path, "name"), "is required")
    name = read_tool(item["name"], (*path, "name"))
    if "input_schema" not in item:
        return Tool(name)
    place = (*path, "input_schema")
    return Tool(name, read_domain(exactly(item["input_schema"], place), place))


def read_domain(schema: object, path: Path = ()) -> Domain:
    """Return the domain that the JSON Schema (exact numbers) of a tool's parameters declares."""
    members = read_object(schema, path)
    types = _types(members, path)
    if types is not None and "object" not in types:
        raise wrong((*path, "type"), "object: a tool's parameters are one", members["type"])
    if not _REFERENCES.isdisjoint(members):
        return Domain({}, frozenset(), ANY)
    properties = read_object(members.get("properties", {}), (*path, "properties"))
    declared = {
        read_name(name, (*path, "properties", name)): _values(part, (*path, "properties", name))
        for name, part in properties.items()
    }
    required = _required(members, path)
    for part in _parts(members):
        inside = part.get("properties")
        if isinstance(inside, dict):
            declared |= {name: ANY for name in inside if name not in declared}
    declared |= {name: ANY for name in required if name not in declared}
    return Domain(declared, required, _others(members, path))


def _required(members: dict[str, Any], path: Path) -> frozenset[str]:
    names = members.get("required", [])
    if type(names) is bool:  # so in the third draft, of the schema's own place
        return frozenset()
    place = (*path, "required")
    return frozenset(read_name(name, (*place, at)) for at, name in enumerate(read_list(names, place)))


def _parts(members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas inside this one that say something of the same call, those inside them included."""
    for word in _PARTS:
        inside = members.get(word)
        if isinstance(inside, dict) and word.startswith("dep"):
            inside = list(inside.values())
        for part in inside if isinstance(inside, list) else [inside]:
            if isinstance(part, dict):
                yield part
                yield from _parts(part)


def _others(members: dict[str, Any], path: Path) -> Values | None:
    """What parameters may be that are declared nowhere, None where there are none."""
    if "patternProperties" in members or any(map(_opens, _parts(members))):
        return ANY
    more = members.get("additionalProperties", members.get("unevaluatedProperties", False))
    return _values(more, (*path, "additionalProperties")) if more is not False else None


def _opens(part: dict[str, Any]) -> bool:
    """Whether a part of a schema lets in parameters that cannot be listed."""
    more = [part.get("additionalProperties", False), part.get("unevaluatedProperties", False)]
    return more != [False, False] or "patternProperties" in part or not _REFERENCES.isdisjoint(part)


def _values(schema: object, path: Path) -> Values:
    if schema is True or schema is False:
        return ANY if schema else Values(choices=())
    if type(schema) is not dict:
        raise wrong(path, "a JSON Schema (an object, true or false)", schema)
    types, limits, choices = _types(schema, path), _limits(schema, path), _choices(schema, path)
    if not _REFERENCES.isdisjoint(schema):
        return ANY
    wide = Values(types, limits)
    if choices is not None:
        choices = tuple(choice for choice in choices if wide.allows(choice))
    if schema.get("nullable") is True:
        types = types and types | {"null"}
        choices = choices if choices is None or None in choices else (*choices, None)
    return Values(types, limits, choices)


def _types(schema: dict[str, Any], path: Path) -> frozenset[str] | None:
    if "type" not in schema:
        return None
    told = schema["type"]
    names = told if type(told) is list else [told]
    for name in names:
        if type(name) is not str and type(name) is not dict:  # the third draft has schemas here
            raise wrong((*path, "type"), "the name of a type, or a list of them,", told)
    known = all(type(name) is str and name in _TYPES for name in names)
    return frozenset(names) if names and known else None


def _limits(schema: dict[str, Any], path: Path) -> tuple[tuple[str, int | Decimal], ...]:
    found: list[tuple[str, int | Decimal]] = []
    for word in _LIMITS:
        if word in schema:
            bound = schema[word]
            if type(bound) is bool and word.startswith("exclusive"):
                continue  # the fourth draft: it narrows what `minimum` or `maximum` says
            if TYPES.get(type(bound)) != "number":
                raise wrong((*path, word), "a number", bound)
            found.append((word, bound))
    return tuple(found)


def _choices(schema: dict[str, Any], path: Path) -> tuple[Any, ...] | None:
    """The values that `enum` and `const` leave, each once; None where neither is there."""
    listed = read_list(schema["enum"], (*path, "enum")) if "enum" in schema else None
    if "const" in schema:
        single = schema["const"]
        listed = [single] if listed is None or normal(single) in map(normal, listed) else []
    return None if listed is None else tuple({normal(choice): choice for choice in listed}.values())
