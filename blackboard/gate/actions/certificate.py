"""The compaction certificate: the gate, evaluated as far as it goes without the action.

For one view and one tool it holds of each rule that can be dangerous two residual predicates over params,
and what decides the code of a reason. Whoever executes a call checks it there, without records, in
microseconds. PASS says what the gate's PASS says, and is no permission either.

The document is `{"certificate": body, "key": id, "signature": hex}`: Ed25519 over the RFC 8785 bytes of the
body (see `signing`). The key comes from whoever verifies; `key` only tells which one is needed. Whole
numbers within ±(2^53 - 1) are JSON numbers, all others `{"decimal": "19.99"}` (see `portable`), so the
document survives every reader of JSON. Source: "Compaction certificate" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from blackboard import canonical
from blackboard.errors import TooLarge
from blackboard.gate.actions import signing
from blackboard.gate.actions.calls import Calls
from blackboard.gate.actions.compiling import Compiled, Row
from blackboard.gate.actions.domain import Tool
from blackboard.gate.actions.formula import Formula, Told, at_least, both, danger, either
from blackboard.gate.actions.judging import Unseen
from blackboard.gate.actions.portable import MAX_DEPTH, portable
from blackboard.gate.actions.precheck import possible
from blackboard.gate.actions.residual import CONSTANTS, Residual, to_json
from blackboard.gate.actions.work import Work
from blackboard.records.kinds import Effect
from blackboard.records.predicate import words
from blackboard.records.truth import FALSE, UNKNOWN
from blackboard.records.verdict import Reason, VerdictWord

LANGUAGE: Final = 1
"""The version of the language of certificates: what operators mean, and how codes follow from rows."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""The largest certificate, in bytes of JSON."""

_TAG: Final = b"blackboard/certificate-digest/1\0"
_FEW: Final = 4
_AROUND: Final = 256  # bytes of the document around the certificate


class _Part(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Line(_Part, frozen=True):
    """One rule that can be dangerous; see `compiling.Row`.

    `full` and `held` are residuals as JSON, `predicate` the rule's in words. `missing` are the ids of the
    records that the holder lacks, `missing_for` those for one action where they are more.
    """

    id: str
    effect: Effect
    predicate: str
    full: Any
    held: Any = None
    ended: bool = False
    full_approved: list[str] = []
    held_approved: list[str] = []
    dead_for: list[str] = []
    stale: bool = False
    stale_fields: list[str] = []
    dropped: bool = False
    dropped_for: list[str] = []
    missing: list[str] = []
    missing_for: dict[str, list[str]] = {}
    keys: list[str] = []

    @property
    def restrictive(self) -> bool:
        """Whether it can only forbid; else it permits."""
        return self.effect != "allow"


class Body(_Part, frozen=True):
    """What is signed. `full` and `held` are digests of both sets, `as_of` the head that they were taken at.

    It speaks for `agent` on `board`, in this version of its `view` and at this `clock` of the tool; of a
    file of records these are None. While they stand and the head is below `valid_until_seq` (None: for
    ever), it is valid. It depends on no more than the rules in scope, their approvals, the facts of
    `fields` and the ledger entries of `keys`. `unevaluable` records were dropped: they block every call.
    """

    language: int
    tool: str
    as_of: int
    full: str
    held: str
    board: str | None = None
    agent: str | None = None
    view: int | None = None
    clock: int | None = None
    valid_until_seq: int | None = None
    unseen: Unseen = "block"
    fields: list[str] = []
    keys: list[str] = []
    unevaluable: list[str] = []
    rows: list[Line] = []


class CertificateVerdict(_Part, frozen=True):
    """What a certificate says of one call.

    `verdict`, and the codes and ids of `reasons`, are those of the gate as of the certificate. Of ERROR
    (nothing was judged: do not execute) `detail` says why, and `member` where, as a JSON Pointer.
    """

    verdict: VerdictWord
    reasons: tuple[Reason, ...] = ()
    detail: str | None = None
    member: str | None = None


# ---- issuing


def certificate(
    compiled: Compiled,
    *,
    full: str,
    held: str,
    board: str | None = None,
    agent: str | None = None,
    view: int | None = None,
    clock: int | None = None,
    unseen: Unseen = "block",
) -> dict[str, Any]:
    """Return the certificate of a compiled tool as plain JSON, unsigned. The arguments are those of `Body`.

    `unseen` is that of `judge`. A rule that is certainly no danger to any call has no row.
    """
    items = compiled.world.records.items
    body = Body(
        language=LANGUAGE,
        tool=compiled.tool,
        as_of=compiled.head,
        full=full,
        held=held,
        board=board,
        agent=agent,
        view=view,
        clock=clock,
        valid_until_seq=compiled.valid_until,
        unseen=unseen,
        fields=list(compiled.fields),
        keys=list(compiled.keys),
        unevaluable=sorted(items[at].id for at in compiled.dropped_unevaluable),
        rows=sorted(_lines(compiled, unseen), key=lambda line: line.id),
    )
    plain: dict[str, Any] = msgspec.to_builtins(body)
    return plain


def _lines(compiled: Compiled, unseen: Unseen) -> Iterator[Line]:
    calls, work = Calls(Tool(compiled.tool, None)), Work()
    for row in compiled.rows:
        if _can_bind(row, calls, unseen, work):
            yield _line(compiled, row)


def _can_bind(row: Row, calls: Calls, unseen: Unseen, work: Work) -> bool:
    """Whether some call may be blocked because of the row; looked for only where there is little to try."""
    few = sum(1 for _ in row.rule.atoms) <= _FEW
    return not row.alike and not (few and possible(row, calls, unseen, work=work) is None)


def dangers(line: Line, full: Residual, held: Residual | None) -> Formula:
    """When the rule of a line is dangerous, approvals included."""
    sees = CONSTANTS[FALSE] if held is None else held
    found = danger(full, sees, restrictive=line.restrictive)
    if line.full_approved:
        found = both((found, Told(f"the call is not {_one_of(line.full_approved)} approved")))
    ended = set(line.held_approved).difference(line.full_approved)
    if ended:
        told = Told(f"the call is {_one_of(ended)} whose approval does not count any more")
        found = either((found, both((told, at_least(full, UNKNOWN)))))
    return found


def _one_of(digests: Collection[str]) -> str:
    return f"one of the {len(digests)}" if len(digests) > 1 else "the one"


def _line(compiled: Compiled, row: Row) -> Line:
    items = compiled.world.records.items

    def ids(positions: Iterable[int]) -> list[str]:
        return [items[at].id for at in sorted(positions)]

    return Line(
        id=row.id,
        effect=row.effect,
        predicate=words(row.rule.predicate),
        full=portable(to_json(row.full)),
        held=None if row.held is None else portable(to_json(row.held)),
        ended=row.ended,
        full_approved=sorted(row.full_approved),
        held_approved=sorted(row.held_approved),
        dead_for=sorted(row.dead_for),
        stale=row.stale,
        stale_fields=sorted(row.stale_fields),
        dropped=row.dropped,
        dropped_for=sorted(row.dropped_for),
        missing=ids(row.missing),
        missing_for={digest: ids({*row.missing, *lost}) for digest, lost in row.missing_for.items() if lost},
        keys=list(row.missing_keys),
    )


def certificate_digest(body: Mapping[str, Any]) -> str:
    """Return the hex SHA-256 that names an unsigned certificate. Raises `TooLarge`, as `sign_certificate`."""
    return canonical.digest(_TAG, _signable(body)).hex()


def sign_certificate(body: Mapping[str, Any], key: signing.PrivateKey) -> dict[str, Any]:
    """Return the document: the certificate with its signature. Raises `TooLarge` for one beyond the limit."""
    signature = signing.sign(_signable(body), key)
    return {"certificate": dict(body), "key": signing.key_id(key.public_key()), "signature": signature}


def _signable(body: Mapping[str, Any]) -> bytes:
    data = signed_bytes(body)
    if len(data) > MAX_BYTES - _AROUND:
        raise TooLarge(
            f"the certificate has {len(data)} bytes; at most {MAX_BYTES - _AROUND} are signed",
            member="certificate",
            limit=MAX_BYTES - _AROUND,
            value=len(data),
        )
    return data


def signed_bytes(body: Mapping[str, Any]) -> bytes:
    """Return what is signed of a certificate: its RFC 8785 bytes."""
    return canonical.encode(dict(body), depth=MAX_DEPTH)
