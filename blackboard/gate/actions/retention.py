"""What a compaction keeps: the ids that a file gives, or those of two schemes that never see an action.

`head_tail` keeps the first k and the last k records, `recency` the last 2k: the same budget. The published
table needs it so: the last k are among the first and last k, so nothing could be dropped by `head_tail` and
kept by "the last k". Source: seed 2, "Same fixtures, same k"; "Retention schemes" of the design.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from json.encoder import encode_basestring as _quoted
from typing import Final, Literal, NamedTuple, assert_never, get_args

from blackboard.canonical import normal
from blackboard.gate.actions.file import FileCase
from blackboard.records import AnyRecord, Chatter, Records, record_json
from blackboard.records.faults import fault

Scheme = Literal["given", "head_tail", "recency"]

SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)
DEFAULT_K: Final = 8
FINGERPRINT_DIGITS: Final = 12


class Compaction(NamedTuple):
    """One compaction, frozen: every action of a file is judged against it.

    `kept` are positions; `k` is None for the scheme that takes none. `fingerprint` stands for the kept set.
    """

    retention: Scheme
    k: int | None
    kept: frozenset[int]
    records: int
    delivered: int
    fingerprint: str

    @property
    def dropped(self) -> int:
        """How many records were delivered and are gone."""
        return self.delivered - len(self.kept)

    @property
    def unseen(self) -> int:
        """How many records were never delivered."""
        return self.records - self.delivered


def compact(case: FileCase, retention: Scheme = "given", k: int | None = None) -> Compaction:
    """Return what is left of the file's records under a scheme; `k` goes before the file's own.

    Raises `Malformed` where the kept ids are asked for and the file has none.
    """
    shown = list(case.shown)
    size = k if k is not None else case.k if case.k is not None else DEFAULT_K
    if retention == "given":
        if case.kept is None:
            raise fault(("kept",), "is required: the ids of the records that the agent still holds")
        kept = case.kept
    else:
        kept = frozenset(_retained(retention, shown, size))
    return Compaction(
        retention=retention,
        k=None if retention == "given" else size,
        kept=kept,
        records=len(case.records),
        delivered=len(shown),
        fingerprint=fingerprint(case.records, kept),
    )


def _retained(retention: Literal["head_tail", "recency"], shown: Sequence[int], k: int) -> Sequence[int]:
    if retention == "head_tail":
        return shown if 2 * k >= len(shown) else [*shown[:k], *shown[len(shown) - k :]]
    if retention == "recency":
        return shown[max(0, len(shown) - 2 * k) :]
    assert_never(retention)


def fingerprint(records: Records, kept: Iterable[int]) -> str:
    """Return the first 12 hex digits of `set_digest`."""
    return set_digest(records, kept)[:FINGERPRINT_DIGITS]


def set_digest(records: Records, positions: Iterable[int]) -> str:
    """Return the hex SHA-256 that stands for these records, whatever their order.

    It is taken over the normal form of `[[id, SHA-256 of the record's normal form], ...]`, sorted by id.
    """
    digests = {records.items[at].id: _digest(records.items[at]) for at in positions}
    pairs = ",".join(f'[{_quoted(identity)},"{digests[identity]}"]' for identity in sorted(digests))
    return sha256(f"[{pairs}]".encode()).hexdigest()


def _digest(record: AnyRecord) -> str:
    # Nearly all records are chatter: their normal form is written down here.
    if type(record) is Chatter:
        text = "" if record.text is None else f',"text":{_quoted(record.text)}'
        written = f'{{"id":{_quoted(record.id)},"kind":"chatter","seq":{record.seq}{text}}}'
    else:
        written = normal(record_json(record))
    return sha256(written.encode()).hexdigest()
