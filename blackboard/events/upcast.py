"""One decode path for every reader: stored (kind, version) -> newest body.

An old version is lifted by pure functions v -> v+1 over the decoded mapping; rows are never rewritten.
Add a version: change the struct, raise its `VERSION`, and add the step here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from blackboard import canonical
from blackboard.errors import IntegrityFailure
from blackboard.events.kinds import KINDS, EventBody, Opaque

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(kind, version) -> the step that makes version + 1 of it."""

_DECODERS: dict[tuple[str, int], msgspec.json.Decoder[EventBody]] = {
    known: msgspec.json.Decoder(body) for known, body in KINDS.items()
}


def decode_body(kind: str, version: int, text: str | None) -> EventBody | Opaque:
    """Decode a stored body. Unknown kinds, newer versions and redacted bodies are `Opaque`.

    Raises `IntegrityFailure` for a body that does not decode as its kind says.
    """
    if text is None:
        return Opaque(kind=kind, version=version)
    decoder = _DECODERS.get((kind, version))
    try:
        if decoder is not None:
            return decoder.decode(text)
        return _lift(kind, version, text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise IntegrityFailure(
            f"a stored {kind} body (version {version}) does not decode: {error}", members={"kind": kind}
        ) from error


def _lift(kind: str, version: int, text: str) -> EventBody | Opaque:
    if (kind, version) not in UPCASTERS:
        return Opaque(kind=kind, version=version, text=text)
    mapping: dict[str, Any] = msgspec.json.decode(text)
    while (step := UPCASTERS.get((kind, version))) is not None:
        mapping = step(mapping)
        version += 1
    return _DECODERS[kind, version].decode(canonical.encode(mapping))
