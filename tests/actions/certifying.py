"""Certificates of worlds, the way they travel: signed, written as JSON, read and verified."""

from __future__ import annotations

import json
from typing import Any

from blackboard.gate.actions.certificate import CertificateVerdict, certificate, sign_certificate
from blackboard.gate.actions.compiling import Compiled
from blackboard.gate.actions.signing import PrivateKey
from blackboard.gate.actions.verifying import Certificate, load_certificate
from tests.actions.gating import compiled

KEY = PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
SETS = {"full": "f" * 64, "held": "e" * 64}


def issued(of: Compiled, **members: Any) -> dict[str, Any]:
    """The signed certificate of a compiled tool."""
    return sign_certificate(certificate(of, **SETS | members), KEY)


def round_trip(document: dict[str, Any]) -> Certificate:
    """The certificate after a reader and writer of JSON that have nothing to do with this project."""
    return load_certificate(json.dumps(json.loads(json.dumps(document))), PUBLIC)


def certified(*stated: Any, **sides: Any) -> Certificate:
    """The certificate of records (see `gating.compiled`)."""
    return round_trip(issued(compiled(*stated, **sides)))


def codes(verdict: CertificateVerdict) -> list[tuple[str, str]]:
    return [(reason.code, reason.id) for reason in verdict.reasons]
