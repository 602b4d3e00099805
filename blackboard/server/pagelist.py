"""The pages beside the operations: what they are, for the application and for its description."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PAGES", "Page"]


class Page(NamedTuple):
    """A page: its path, its media type, what it tells."""

    path: str
    media: str
    summary: str


PAGES: Final = (
    Page("/livez", "application/json", "Whether the process answers."),
    Page(
        "/readyz",
        "application/json",
        "Whether the store answers: its engine, durability and schema, and the boards whose policy switches "
        "a leg of the guarantee off.",
    ),
    Page("/metrics", "text/plain", "Counters in Prometheus' text format."),
    Page("/openapi.json", "application/json", "This description, as OpenAPI 3.1."),
    Page("/docs", "text/html", "The reference, for people."),
)
