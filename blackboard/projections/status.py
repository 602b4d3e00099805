"""The status of a value: what the completion rule and the covers signal compare.

A string value itself, or the member that the policy's `status_pointer` names. Source: "Status of a
value" of the write gate's design.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from blackboard.events.policy import Policy

Class = Literal["finished", "unfinished"]

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_ABSENT = object()


def resolve_pointer(value: Any, pointer: str) -> Any:
    """The member of a JSON value that an RFC 6901 pointer names; None where there is none."""
    if not pointer:
        return value
    for token in pointer[1:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        found = _step(value, name)
        if found is _ABSENT:
            return None
        value = found
    return value


def _step(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, _ABSENT)
    if isinstance(value, list) and name.isascii() and name.isdigit() and (name == "0" or name[0] != "0"):
        return value[int(name)] if len(name) < 10 and int(name) < len(value) else _ABSENT
    return _ABSENT


def status_of(value: Any, pointer: str) -> str | None:
    """The first two words of a value's status, lower case, joined by `_`; None where it has none.

    `"Failed, with retry"` gives `failed_with`, `"done."` gives `done`, `"In-Progress"` `in_progress`.
    """
    text = value if isinstance(value, str) else resolve_pointer(value, pointer)
    if not isinstance(text, str):
        return None
    words = _WORD.findall(text[:256])[:2]
    return "_".join(words).lower()[:128] or None


def status_of_raw(raw: bytes, pointer: str) -> str | None:
    """The same of a value in canonical JSON."""
    return status_of(msgspec.json.decode(raw), pointer)


def classify(status: str | None, policy: Policy) -> Class | None:
    """Whether the status is one of the policy's finished or unfinished words, or neither.

    The first two words joined are looked up before the first alone.
    """
    if status is None:
        return None
    finished, unfinished = _normal(policy.finished), _normal(policy.unfinished)
    for word in (status, status.partition("_")[0]):
        if word in finished:
            return "finished"
        if word in unfinished:
            return "unfinished"
    return None


def _normal(words: tuple[str, ...]) -> frozenset[str]:
    known = _NORMAL.get(words)
    if known is None:
        known = frozenset(normal for word in words if (normal := status_of(word, "")) is not None)
        if len(_NORMAL) >= 256:
            _NORMAL.clear()
        _NORMAL[words] = known
    return known


_NORMAL: dict[tuple[str, ...], frozenset[str]] = {}
"""Word lists as looked up: policies share a few, and each is normalised once."""
