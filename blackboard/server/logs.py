"""A page of the log in the form that was asked for: JSON, NDJSON, or a batch of CloudEvents.

Forms without room for `head` and `next` carry them in the headers `Blackboard-Head` and `Blackboard-Next`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from blackboard.messages.replies import EventsReply, EventView
from blackboard.server.problems import Header

__all__ = ["CLOUD_EVENTS", "MEDIA", "NDJSON", "CloudEvent", "render"]

JSON: Final = b"application/json"
NDJSON: Final = b"application/x-ndjson"
CLOUD_EVENTS: Final = b"application/cloudevents-batch+json"
MEDIA: Final = (JSON, NDJSON, CLOUD_EVENTS)

_encoder: Final = msgspec.json.Encoder()


class CloudEvent(Struct, frozen=True, kw_only=True):
    """One event in CloudEvents 1.0. `sequence` and the members after it are extension attributes; a
    redacted event has no `data`.
    """

    specversion: str
    id: str
    source: str
    type: str
    time: str
    datacontenttype: str
    subject: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET
    sequence: str
    actor: str
    bodydigest: str
    chainhash: str


def render(reply: EventsReply, accept: bytes | None) -> tuple[Header, bytes, tuple[Header, ...]]:
    """The media type, the body and further headers of a page."""
    media = _choose(accept)
    more: tuple[Header, ...] = ((b"vary", b"accept"),)
    if media == JSON:
        return (b"content-type", JSON), _encoder.encode(reply), more
    more += ((b"blackboard-head", b"%d" % reply.head),)
    if reply.next is not None:
        more += ((b"blackboard-next", b"%d" % reply.next),)
    if media == NDJSON:
        return (b"content-type", NDJSON), _encoder.encode_lines(reply.events), more
    return (b"content-type", CLOUD_EVENTS), _encoder.encode([cloud_event(one) for one in reply.events]), more


def cloud_event(event: EventView) -> CloudEvent:
    """One event as a CloudEvent: `source` is the board, `id` the seq on it."""
    moment = datetime.fromtimestamp(event.recorded_at // 1_000_000, UTC)
    return CloudEvent(
        specversion="1.0",
        id=str(event.seq),
        source=f"/v1/boards/{quote(event.board, safe='')}",
        type=f"blackboard.{event.kind}",
        time=moment.replace(microsecond=event.recorded_at % 1_000_000).isoformat().replace("+00:00", "Z"),
        datacontenttype="application/json",
        subject=UNSET if event.key is None else event.key,
        data=UNSET if event.body is None else event.body,
        sequence=f"{event.seq:020d}",
        actor=event.actor,
        bodydigest=event.body_digest,
        chainhash=event.hash,
    )


def _choose(accept: bytes | None) -> bytes:
    """The form with the highest weight; plain JSON where none was asked for, or none that exists."""
    if accept is None or accept == JSON:
        return JSON
    best, chosen = 0.0, JSON
    for part in accept.lower().split(b","):
        name, *parameters = [piece.strip() for piece in part.split(b";")]
        weight = _weight(parameters)
        if name in MEDIA and weight > best:
            best, chosen = weight, name
        elif name in (b"*/*", b"application/*") and weight > best:
            best, chosen = weight, JSON
    return chosen


def _weight(parameters: list[bytes]) -> float:
    for parameter in parameters:
        if parameter.startswith(b"q="):
            try:
                return min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                return 0.0
    return 1.0
