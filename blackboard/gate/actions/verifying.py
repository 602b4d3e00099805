"""A certificate, where the call is executed: verified once, then evaluated on one call after another.

Nothing here needs a record, a board or a server. Whatever is wrong with a certificate, an action or a key
is told as `Malformed` (by `verify_certificate` as ERROR): what cannot be judged is not to be executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from blackboard import canonical
from blackboard.errors import BlackboardError, Malformed
from blackboard.gate.actions import reasons, signing
from blackboard.gate.actions.action import Action, read_action
from blackboard.gate.actions.certificate import (
    LANGUAGE,
    MAX_BYTES,
    Body,
    CertificateVerdict,
    Line,
    dangers,
    signed_bytes,
)
from blackboard.gate.actions.formula import Formula, comparisons, dangerous, either
from blackboard.gate.actions.portable import MAX_DEPTH, exact, received
from blackboard.gate.actions.residual import CONSTANTS, Evaluator, Residual, evaluator, from_json
from blackboard.gate.actions.screen import Screen
from blackboard.gate.actions.simplify import simplified
from blackboard.gate.actions.unevaluable import UNEVALUABLE
from blackboard.gate.actions.words import sentence
from blackboard.records.faults import fault
from blackboard.records.truth import FALSE, NAMES, Truth
from blackboard.records.verdict import Reason

__all__ = ["Certificate", "CertificateVerdict", "load_certificate", "verify_certificate"]

Document = Mapping[str, Any] | bytes | str
"""A certificate as `sign_certificate` returns it, or as JSON text."""


class _Envelope(Struct, frozen=True, forbid_unknown_fields=True):
    certificate: dict[str, Any]
    key: str
    signature: str


class _Signed(Struct, frozen=True):
    certificate: Body


_MOST_SAID: Final = 1_000
"""A sentence of more comparisons helps nobody, and takes long to be made shorter."""

_PASS: Final = CertificateVerdict(verdict="PASS")


class _Bound:
    """One line, ready to be evaluated."""

    __slots__ = ("_told", "approvals", "dangers", "digested", "held_says", "line", "says")

    def __init__(self, line: Line, full: Residual, held: Residual | None) -> None:
        self.line = line
        self.says: Evaluator = evaluator(full)
        self.held_says: Evaluator = evaluator(CONSTANTS[FALSE] if held is None else held)
        self.approvals = bool(line.full_approved or line.held_approved)
        self.dangers: Formula = dangers(line, full, held)
        self.digested = bool(line.dead_for or line.dropped_for or line.missing_for)
        self._told: dict[tuple[Truth, Truth, str], Reason] = {}

    def truths(self, action: Action) -> tuple[Truth, Truth]:
        """What the rule comes to for one action, on the full set and on what is held."""
        full, held = self.says(action.params), self.held_says(action.params)
        if not self.approvals:
            return full, held
        digest = action.digest
        return (
            FALSE if digest in self.line.full_approved else full,
            FALSE if digest in self.line.held_approved else held,
        )

    def because(self, full: Truth, held: Truth, action: Action) -> Reason:
        """Return the reason that the rule, dangerous for this action, gives."""
        line, digest = self.line, action.digest if self.digested else ""
        code = reasons.code(line, action.params, digest)
        if digest:
            return _reason(line, code, full, held, digest)
        told = self._told.get((full, held, code))
        if told is None:
            told = self._told[full, held, code] = _reason(line, code, full, held, digest)
        return told


class Certificate:
    """A certificate that was verified; `body` says what it speaks for."""

    __slots__ = ("_bound", "_screen", "_unevaluable", "body")

    def __init__(self, body: Body) -> None:
        self.body = body
        self._bound = [_bind(line, at) for at, line in enumerate(body.rows)]
        self._screen = Screen([bound.dangers for bound in self._bound])
        self._unevaluable = [_unevaluable(identity) for identity in body.unevaluable]

    def check(self, action: Action) -> CertificateVerdict:
        """Say of one call what the gate would say; ERROR for a call of another tool."""
        if action.tool != self.body.tool:
            what = f"the certificate is for {self.body.tool!r}, not for {action.tool!r}: ask for another"
            return CertificateVerdict(verdict="ERROR", detail=what, member="/action/tool")
        found: list[Reason] = []
        for at in self._screen.places(action.params):
            bound = self._bound[at]
            full, held = bound.truths(action)
            if dangerous(bound.line, full, held):
                found.append(bound.because(full, held, action))
        if self.body.unseen == "note":
            found = [reason for reason in found if not reason.code.startswith("unseen-")]
        found += self._unevaluable
        if not found:
            return _PASS
        found.sort(key=lambda one: (one.code, one.id))
        return CertificateVerdict(verdict="BLOCK", reasons=tuple(found))

    def expired(self, head: int) -> bool:
        """Whether something that it rests on has expired at this head of the log."""
        until = self.body.valid_until_seq
        return until is not None and head >= until

    @property
    def words(self) -> str:
        """Which calls it blocks, in a sentence: `safe unless amount > 5000, or amount is missing`."""
        if self._unevaluable:
            lost = ", ".join(f"'{identity}'" for identity in self.body.unevaluable)
            return f"no call is safe: nobody can tell what {lost} says, and it is not held any more"
        said = sum(1 for bound in self._bound for _ in comparisons(bound.dangers))
        if said > _MOST_SAID:
            return f"safe unless one of {len(self._bound)} rules binds, which are too long for a sentence"
        return sentence(simplified(either(simplified(bound.dangers) for bound in self._bound)))


def _bind(line: Line, at: int) -> _Bound:
    path = ("certificate", "rows", at)
    full = _residual(line.full, (*path, "full"))
    return _Bound(line, full, None if line.held is None else _residual(line.held, (*path, "held")))


def _residual(value: object, path: tuple[str | int, ...]) -> Residual:
    return from_json(exact(value, path), path)


def _reason(line: Line, code: str, full: Truth, held: Truth, digest: str) -> Reason:
    missing = line.missing_for.get(digest, line.missing)
    on_full = f"{NAMES[full]} on the full set"
    on_held = "not held" if line.held is None else f"{NAMES[held]} on what is held"
    return Reason(
        code=code,
        id=line.id,
        detail=f"policy '{line.id}' ({line.effect}): {line.predicate} is {on_full} and {on_held}",
        effect=line.effect,
        predicate=line.predicate,
        full=NAMES[full],
        held=None if line.held is None else NAMES[held],
        missing=missing,
        reread=missing,
        keys=line.keys,
    )


def _unevaluable(identity: str) -> Reason:
    return Reason(
        code=f"dropped-{UNEVALUABLE}",
        id=identity,
        detail=f"'{identity}' is not held any more: nobody can tell what it binds",
        missing=[identity],
        reread=[identity],
    )


# ---- from outside


def load_certificate(document: Document, public_key: signing.PublicKey | bytes | str) -> Certificate:
    """Return a certificate that the holder of `public_key` signed (see `signing.read_public_key`).

    Raises `Malformed`, naming the place, for anything else: no certificate, one that was changed or signed
    by somebody else, one in another version of the language; `TooLarge` beyond 16 MiB.
    """
    key = signing.read_public_key(public_key)
    raw = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
    if not isinstance(raw, bytes):
        raw = canonical.encode(raw, depth=MAX_DEPTH)
    envelope = canonical.decode(raw, _Envelope, max_bytes=MAX_BYTES, depth=MAX_DEPTH, member="certificate")
    data = signed_bytes(envelope.certificate)
    wanted = signing.key_id(key)
    if envelope.key != wanted:
        what = f"it was signed with key {envelope.key!r}; the key given is {wanted!r}"
        raise fault(("key",), what, value=envelope.key)
    if not signing.verify(data, envelope.signature, key):
        raise fault(("signature",), "it is not that of this certificate: it was changed, or never signed")
    language = envelope.certificate.get("language")
    if language != LANGUAGE:
        what = f"language {language!r} is not read here, {LANGUAGE} is: ask for a new certificate"
        raise fault(("certificate", "language"), what, limit=LANGUAGE, value=language)
    whole = b'{"certificate":%b}' % data
    signed = canonical.decode(whole, _Signed, max_bytes=MAX_BYTES, depth=MAX_DEPTH, member="certificate")
    return Certificate(signed.certificate)


def verify_certificate(
    certificate: Document | Certificate,
    action: Action | Mapping[str, Any] | bytes | str,
    public_key: signing.PublicKey | bytes | str,
    *,
    board: str | None = None,
    agent: str | None = None,
    head: int | None = None,
) -> CertificateVerdict:
    """Say what a certificate says of one call, `{"tool", "params"}`; it needs no server and never raises.

    ERROR for whatever cannot be judged: see `load_certificate`; an action that is none, or of another tool;
    and, where they are given, another `board` or `agent` than it was issued for, or a `head` of the board
    at which it has expired. Where many calls are to be checked, `load_certificate` once and `check` each.
    """
    try:
        loaded = (
            certificate if isinstance(certificate, Certificate) else load_certificate(certificate, public_key)
        )
        _check_for(loaded, board, agent, head)
        return loaded.check(_action(action))
    except BlackboardError as error:
        member = error.member if isinstance(error, Malformed) else None
        return CertificateVerdict(verdict="ERROR", detail=error.detail, member=member)


def _check_for(certificate: Certificate, board: str | None, agent: str | None, head: int | None) -> None:
    for name, wanted in (("board", board), ("agent", agent)):
        issued = getattr(certificate.body, name)
        if wanted is not None and wanted != issued:
            whose = "of a file, which names none" if issued is None else f"issued for {issued!r}"
            raise fault(("certificate", name), f"it is {whose}; {wanted!r} is asked for")
    if head is not None and certificate.expired(head):
        until = certificate.body.valid_until_seq
        what = f"it was valid until seq {until}, and the head is {head}: ask for a new one"
        raise fault(("certificate", "valid_until_seq"), what)


def _action(action: Action | Mapping[str, Any] | bytes | str) -> Action:
    if isinstance(action, (bytes, str)):
        return read_action(canonical.parse_exact(action), ("action",))
    value = action._asdict() if isinstance(action, Action) else action
    return read_action(received(value, ("action",)), ("action",))
