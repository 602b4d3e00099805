"""The certificates of a board: 32 bytes for each that was issued, and what the newest ones rest on.

What a certificate rests on never comes back once it has changed. So of one agent and tool only the newest
basis is remembered whole; those that were issued on an older one have ended, and are known to have been.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import NamedTuple

from msgspec import Struct

_PREFIX = "certificate:"


class Basis(Struct, frozen=True, gc=False, array_like=True):
    """What the certificates of one agent and tool rest on that were issued in event `first` or later."""

    agent: str
    tool: str
    first: int
    view: int
    clock: int
    language: int
    valid_until_seq: int | None


class Issued(NamedTuple):
    """One certificate; `basis` is the newest of its agent and tool, and its own iff `stands`."""

    seq: int
    as_of: int
    valid_until_seq: int | None
    basis: Basis

    @property
    def stands(self) -> bool:
        """Whether none was issued since that rests on something else."""
        return self.seq >= self.basis.first


class SavedCertificates(Struct, array_like=True):
    """All of them as bytes: four columns of 8 bytes a certificate, in order of seq."""

    seqs: bytes
    subjects: bytes
    as_of: bytes
    until: bytes


class Certificates:
    """Every certificate that was issued, by id, and the newest basis of each agent and tool."""

    __slots__ = ("_as_of", "_newest", "_seqs", "_subject_of", "_subjects", "_until")

    def __init__(self) -> None:
        self._seqs = array("q")
        self._subjects = array("q")
        self._as_of = array("q")
        self._until = array("q")  # 0: for ever
        self._newest: list[Basis] = []
        self._subject_of: dict[tuple[str, str], int] = {}

    def issue(self, seq: int, as_of: int, basis: Basis) -> None:
        """One was issued in event `seq`, the newest of all; `basis.first` is that seq."""
        subject = self._subject_of.get((basis.agent, basis.tool))
        if subject is None:
            subject = self._subject_of[basis.agent, basis.tool] = len(self._newest)
            self._newest.append(basis)
        elif not _alike(self._newest[subject], basis):
            self._newest[subject] = basis
        self._seqs.append(seq)
        self._subjects.append(subject)
        self._as_of.append(as_of)
        self._until.append(basis.valid_until_seq or 0)

    def find(self, identity: str) -> Issued | None:
        """The certificate with this id, None where none was issued."""
        digits = identity.removeprefix(_PREFIX)
        if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
            return None
        at = bisect_left(self._seqs, int(digits))
        if at == len(self._seqs) or f"{_PREFIX}{self._seqs[at]}" != identity:
            return None
        basis = self._newest[self._subjects[at]]
        return Issued(self._seqs[at], self._as_of[at], self._until[at] or None, basis)

    # ---- as bytes and back

    def saved(self) -> SavedCertificates:
        """The columns, copied."""
        columns = (self._seqs, self._subjects, self._as_of, self._until)
        return SavedCertificates(*(column.tobytes() for column in columns))

    def bases(self) -> list[Basis]:
        """The newest basis of each agent and tool, the longest known pair first."""
        return list(self._newest)

    @classmethod
    def of(cls, saved: SavedCertificates, bases: list[Basis]) -> Certificates:
        """Those with these `saved()` columns and `bases()`. Raises `ValueError` for columns that are none."""
        found = cls()
        found._seqs.frombytes(saved.seqs)
        found._subjects.frombytes(saved.subjects)
        found._as_of.frombytes(saved.as_of)
        found._until.frombytes(saved.until)
        found._newest = bases
        found._subject_of = {(basis.agent, basis.tool): at for at, basis in enumerate(bases)}
        return found


def _alike(one: Basis, other: Basis) -> bool:
    return (one.view, one.clock, one.language, one.valid_until_seq) == (
        other.view,
        other.clock,
        other.language,
        other.valid_until_seq,
    )
