"""The status of a value: what the completion rule and the covers signal compare.

A string value itself, or the member that the policy's `status_pointer` names. Source: "Status of a
value" of the write gate's design.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

import msgspec

from blackboard.events.policy import Policy
from blackboard.records.atoms import ABSENT, at_pointer

Class = Literal["finished", "unfinished"]

_WORD = re.compile(r"[^\W_]+", re.UNICODE)


def resolve_pointer(value: Any, pointer: str) -> Any:
    """The member of a JSON value that an RFC 6901 pointer names; None where there is none."""
    found = at_pointer(value, pointer)
    return None if found is ABSENT else found


def status_of(value: Any, pointer: str) -> str | None:
    """The words of a value's status, lower case, joined by `_`; None where it has none.

    `"Failed, with retry"` gives `failed_with_retry`, `"done."` gives `done`, `"In-Progress"` `in_progress`.
    """
    text = value if isinstance(value, str) else resolve_pointer(value, pointer)
    if not isinstance(text, str):
        return None
    return _words(text[:256])


@lru_cache(maxsize=4096)
def _words(text: str) -> str | None:
    return "_".join(_WORD.findall(text.lower()))[:128].rstrip("_") or None


def status_of_raw(raw: bytes, pointer: str) -> str | None:
    """The same of a value in canonical JSON."""
    return status_of(msgspec.json.decode(raw), pointer)


def classify(status: str | None, policy: Policy) -> Class | None:
    """Whether the status is one of the policy's finished or unfinished words, or neither.

    Looked up are all its words joined, then the first two, then the first alone.
    """
    return None if status is None else _classify(status, policy.finished, policy.unfinished)


@lru_cache(maxsize=4096)
def _classify(status: str, finished: tuple[str, ...], unfinished: tuple[str, ...]) -> Class | None:
    words = status.split("_")
    for word in (status, "_".join(words[:2]), words[0]):
        if word in _normal(finished):
            return "finished"
        if word in _normal(unfinished):
            return "unfinished"
    return None


@lru_cache(maxsize=256)
def _normal(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(normal for word in words if (normal := _words(word)) is not None)
