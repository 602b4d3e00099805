"""What callers pass, as messages take it: nothing is repaired, what does not fit is refused by the board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec import UNSET

from blackboard.events.policy import PolicyPatch
from blackboard.messages.commands import Write
from blackboard.records.drafts import Draft

__all__ = ["basis_of", "listed", "mapping", "policy_of", "record_of", "tools_of", "writes_of"]


def listed(names: Any) -> list[str]:
    """The names as a list; what is no list of names goes as it is, and is refused."""
    # A string is an iterable of its characters, which nobody means: it goes as it is, and is refused, as
    # whatever else is no list of names.
    fits = isinstance(names, Iterable) and not isinstance(names, str)
    return list(names) if fits else cast(list[str], names)


def basis_of(basis: Mapping[str, int] | None) -> dict[str, int] | None:
    """A basis as a message has it."""
    return dict(basis) if isinstance(basis, Mapping) else basis


def writes_of(writes: Any) -> list[Write]:
    """Writes as a message has them: a mapping stays one, also without a revision."""
    if not isinstance(writes, Iterable):
        return cast(list[Write], writes)
    given = [dict(write) if isinstance(write, Mapping) else write for write in writes]
    return cast(list[Write], given)


def policy_of(policy: PolicyPatch | Mapping[str, Any] | None) -> PolicyPatch | None:
    """Policy members as a message has them."""
    return cast(PolicyPatch, dict(policy)) if isinstance(policy, Mapping) else policy


def record_of(record: Any) -> dict[str, Any]:
    """A record as a message has it: of a draft the members that were said."""
    if not isinstance(record, Draft):
        return dict(record) if isinstance(record, Mapping) else cast(dict[str, Any], record)
    # The members as they are: an encoder would write what JSON does not hold as a text or a list, unrefused.
    names, given = record.__struct_fields__, record.__struct_defaults__
    unsaid = dict(zip(names[len(names) - len(given) :], given, strict=True))
    said = {name: getattr(record, name) for name in names}
    members = {name: member for name, member in said.items() if member is not unsaid.get(name, UNSET)}
    return {"kind": record.__struct_config__.tag, **members}


def mapping(members: Any) -> dict[str, Any]:
    """The members of a mapping; none for None."""
    if members is None:
        return {}
    return dict(members) if isinstance(members, Mapping) else cast(dict[str, Any], members)


def tools_of(tools: Any) -> list[str | dict[str, Any]]:
    """Tools as a message has them: names, or mappings with `name` and `input_schema`."""
    # What is no list of tools goes as it is, and is refused.
    given: Any = listed(tools)
    if not isinstance(given, list):
        return cast(list[str | dict[str, Any]], given)
    return [dict(tool) if isinstance(tool, Mapping) else tool for tool in given]
