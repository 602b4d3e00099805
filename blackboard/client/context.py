"""What the last replies said beside their answers: standing, notices, head."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from blackboard.messages.replies import Guarantee, Moved, Notice, ReadReply, Reply, Standing

__all__ = ["Context", "merge_pages"]


class Context:
    """The members that every reply has, as last told; `head` is the highest told.

    `head` is what the next request says its sender has seen, so only what carries notices may raise it.
    """

    def __init__(self) -> None:
        self.head = 0
        self.standing: Standing | None = None
        self.notices: tuple[Notice, ...] = ()
        self.moved: tuple[Moved, ...] = ()
        self.guarantee: Guarantee | None = None

    def take(self, reply: object) -> None:
        """Remember what `reply` tells, if it is one that tells it."""
        if not isinstance(reply, Reply):
            return
        self.head = max(self.head, reply.head)
        self.notices = tuple(reply.notices)
        self.moved = tuple(reply.moved)
        self.standing = reply.standing or self.standing
        self.guarantee = reply.guarantee or self.guarantee


def merge_pages(pages: Sequence[ReadReply]) -> ReadReply:
    """One reply for the pages of a full read: nothing that any page told is lost."""
    last = pages[-1]
    if len(pages) == 1:
        return last
    return msgspec.structs.replace(
        last,
        entries=[entry for page in pages for entry in page.entries],
        records=[record for page in pages for record in page.records],
        notices=_latest_notices(pages),
        moved=list({moved.key: moved for page in pages for moved in page.moved}.values()),
        signals=[signal for page in pages for signal in page.signals],
    )


def _latest_notices(pages: Sequence[ReadReply]) -> list[Notice]:
    latest: dict[tuple[str, str], Notice] = {}
    for page in pages:
        for notice in page.notices:
            kind = "" if notice.about.startswith("agent:") else notice.what
            latest[notice.about, kind] = notice
    return sorted(latest.values(), key=lambda notice: notice.seq, reverse=True)
