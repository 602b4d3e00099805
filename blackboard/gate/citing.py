"""What a message cites, and whether it speaks of the board's state.

The text is cut into words once; every identifier is then a look-up. Only what exists on the board counts:
an invented `entry:9999` is no citation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from blackboard.projections.board import Board
from blackboard.projections.status import classify, status_of

About = Literal["key", "status", "category"]

_SPLIT = re.compile(r"[^\s,;()\[\]{}<>\"'`]+")
_EDGES = ".:!?…*"
_HEX = re.compile(r"[0-9a-fA-F]{8,64}")
_NUMBER = re.compile(r"[0-9]{1,16}")
_NEAR = 3
_MOST_CITED = 256

_CATEGORIES = """
board entries entry everything items item jobs job keys ledger progress remaining rest results state steps
step subtasks subtask task tasks tickets ticket todos work
"""

CATEGORIES = frozenset(_CATEGORIES.split())
"""Words that speak of the board's state without naming any of it ("the completed tasks")."""


class Cited(Struct, frozen=True):
    """The identifiers that exist on the board, as written and in order; where there are none, `about`
    says in which way the text speaks of the board's state all the same.
    """

    cited: list[str]
    about: About | None


def find_citations(board: Board, text: str) -> Cited:
    """Read one message against the board as it stands."""
    words = [word for raw in _SPLIT.findall(text) if (word := raw.strip(_EDGES))]
    cited: dict[str, None] = {}
    for at, word in enumerate(words):
        if _cites(board, words, at, word):
            cited[word if word.lower() != "revision" else f"revision {words[at + 1]}"] = None
    return Cited(list(cited)[:_MOST_CITED], None if cited else _about(board, words))


def _cites(board: Board, words: list[str], at: int, word: str) -> bool:
    return any(form(board, words, at, word) for form in _FORMS)


def _entry_id(board: Board, _words: list[str], _at: int, word: str) -> bool:
    kind, _, number = word.partition(":")
    return kind == "entry" and _is_number(number) and board.ledger.wrote(int(number))


def _key_at_revision(board: Board, _words: list[str], _at: int, word: str) -> bool:
    key, at, number = word.rpartition("@")
    if not at or not _is_number(number):
        return False
    entry = board.ledger.entries.get(key)
    return entry is not None and 1 <= int(number) <= entry.revision


def _named_revision(board: Board, words: list[str], at: int, word: str) -> bool:
    if word.lower() != "revision" or at + 1 >= len(words) or not _is_number(words[at + 1]):
        return False
    number, entries = int(words[at + 1]), board.ledger.entries
    near = words[max(0, at - _NEAR) : at] + words[at + 2 : at + 2 + _NEAR]
    return any((entry := entries.get(key)) is not None and 1 <= number <= entry.revision for key in near)


def _payload_hash(board: Board, _words: list[str], _at: int, word: str) -> bool:
    return _HEX.fullmatch(word) is not None and board.ledger.hashed(word.lower())


def _record_id(board: Board, _words: list[str], _at: int, word: str) -> bool:
    return board.records.position(word) is not None


_FORMS: tuple[Callable[[Board, list[str], int, str], bool], ...] = (
    _entry_id,
    _key_at_revision,
    _named_revision,
    _payload_hash,
    _record_id,
)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _about(board: Board, words: list[str]) -> About | None:
    if any(word in board.ledger.entries for word in words):
        return "key"
    policy = board.policy
    for at, word in enumerate(words):
        pair = " ".join(words[at : at + 2])
        if classify(status_of(pair, ""), policy) or classify(status_of(word, ""), policy):
            return "status"
    return "category" if any(word.lower() in CATEGORIES for word in words) else None
