"""Canonical bytes (RFC 8785), strict JSON, digests and the step of the hash chain.

Everything that is hashed, compared or stored passes through here, so the same value has the same bytes
on every path. Input that has no single exact meaning as JSON is refused, never repaired: `Malformed`
names the place as a JSON Pointer.
"""

from blackboard.canonical.decoding import decode, decode_with_canonical
from blackboard.canonical.digests import (
    GENESIS,
    body_digest,
    chain,
    digest,
    framed,
    framed_command,
    link,
    payload_hash,
    request_digest,
)
from blackboard.canonical.encoding import encode
from blackboard.canonical.exact import (
    EXACT_DEPTH,
    NUMBER_DIGITS,
    NUMBER_EXPONENT,
    doubles,
    exactly,
    normal,
    parse_exact,
    plain,
)
from blackboard.canonical.faults import pointer
from blackboard.canonical.identifiers import check_identifier
from blackboard.canonical.limits import JSON_DEPTH, NUMBER_LENGTH, SAFE_INTEGER
from blackboard.canonical.parsing import parse

__all__ = [
    "EXACT_DEPTH",
    "GENESIS",
    "JSON_DEPTH",
    "NUMBER_DIGITS",
    "NUMBER_EXPONENT",
    "NUMBER_LENGTH",
    "SAFE_INTEGER",
    "body_digest",
    "chain",
    "check_identifier",
    "decode",
    "decode_with_canonical",
    "digest",
    "doubles",
    "encode",
    "exactly",
    "framed",
    "framed_command",
    "link",
    "normal",
    "parse",
    "parse_exact",
    "payload_hash",
    "plain",
    "pointer",
    "request_digest",
]
