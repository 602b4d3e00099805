"""Records on a board: who may add which, and what is served of them.

What can bind an action enters through a grant for its kind, and for facts of their field, so that no agent
adds the permission, the approval or the fact that licenses it. A record replaces only one of its own kind
(of its own field), so the grant for what is added covers what it supersedes.
Source: "Records" of the action gate's design, "Roles" of the interfaces'.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from blackboard import canonical
from blackboard.errors import Malformed, NotAllowed, TooLarge
from blackboard.events import kinds
from blackboard.gate.decision import Asked, Decision
from blackboard.gate.formats import check_format, check_record_version
from blackboard.gate.paging import PAGE_BYTES, READ_BYTES, parse_cursor
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.principal import Principal
from blackboard.messages.verdicts import RecordReply
from blackboard.projections.board import Board
from blackboard.records import AnyRecord, Approval, PolicyRecord, Unevaluable, record_bytes
from blackboard.records.kinds import kind_of


def decide_add(asked: Asked, command: ask.AddRecord) -> Decision:
    """Add one record, which its author holds from then on."""
    board, draft = asked.board, asked.prepared.record
    assert draft is not None
    check_format(board, "records")
    if not isinstance(draft, Unevaluable):
        check_record_version(board, draft.KIND, command.record.get("version", 1))
    _check_grant(asked.principal, draft)
    seq = asked.next_seq
    filled: dict[str, Any] = {"id": command.record.get("id", f"record:{seq}")}
    if isinstance(draft, Approval):
        filled["approver"] = _approver(asked.principal, command.record.get("approver"))
        _check_policy(board, draft)
    elif kind_of(draft) == Approval.KIND and "approver" in command.record:
        raise Malformed(
            "an approval of a version that is not known here cannot name its approver: leave it out",
            member="/record/approver",
            value=command.record["approver"],
        )
    record: AnyRecord = replace(draft, seq=seq, **filled)
    board.records.check(record, ("record",))
    body = kinds.RecordAdded(record=Raw(canonical.encode(command.record | filled)))
    return asked.decide([body], added(record))


def added(record: AnyRecord) -> RecordReply:
    """The answer to whoever added this record."""
    return RecordReply(id=record.id, record=Raw(record_bytes(record)))


def _check_grant(principal: Principal, record: AnyRecord) -> None:
    grants = principal.grants
    if principal.role == "operator" or grants.may_add(record):
        return
    wanted = grants.wanted(record)
    given = ", ".join(grants.records) or "none"
    raise NotAllowed(
        f"{principal.actor} may not add this {kind_of(record)}: that takes the grant {wanted!r} in "
        f"`records`, and it has {given}. Ask an operator to add it, or for a credential with that grant",
        members={"grant": wanted},
    )


def _check_policy(board: Board, approval: Approval) -> None:
    """An approval of nothing would look like one: whoever gives it must hear of the slip."""
    found = board.records.get(approval.policy)
    if found is None or kind_of(found) != PolicyRecord.KIND:
        raise Malformed(
            f"no policy of this board has the id {approval.policy!r}: nothing would be approved",
            member="/record/policy",
            value=approval.policy,
        )


def _approver(principal: Principal, claimed: str | None) -> str:
    """Who approves: the credential says so, never the body."""
    if claimed is not None and claimed not in (principal.actor, principal.name):
        raise NotAllowed(
            f"{principal.actor} cannot approve as {claimed!r}: the approver is who adds the approval; leave "
            "the approver out",
            members={"value": claimed},
        )
    return principal.actor


# ---- reading


def decide_read_records(asked: Asked, command: ask.Read) -> Decision:
    """Serve records by id, or a page of all of them; what is served enters the reader's view."""
    check_format(asked.board, "records")
    if command.records == "all":
        return _page(asked, command)
    records = asked.board.records
    names = dict.fromkeys(command.records or ())
    found = sorted(at for name in names if (at := records.position(name)) is not None)
    unknown = [name for name in names if records.position(name) is None]
    served = [records.items[at] for at in found]
    texts = [record_bytes(record) for record in served]
    if sum(map(len, texts)) > READ_BYTES:
        raise TooLarge(
            f"these {len(texts)} records have more than {READ_BYTES} bytes: read fewer at once",
            member="/records",
            limit=READ_BYTES,
        )
    reply = say.ReadReply(records=[Raw(text) for text in texts], unknown_records=unknown)
    if not served:
        return Decision([], reply)
    return asked.decide([kinds.BoardRead(records=[record.id for record in served])], reply)


def _page(asked: Asked, command: ask.Read) -> Decision:
    items = asked.board.records.items
    page, after = parse_cursor(command.cursor)
    start = 0 if after is None else _position(after)
    limit = command.limit if command.limit is not None else DEFAULT_LIMITS.page_entries
    texts: list[Raw] = []
    size = 0
    for record in items[start : start + limit]:
        if size > PAGE_BYTES:
            break
        texts.append(Raw(record_bytes(record)))
        size += len(bytes(texts[-1]))
    end = start + len(texts)
    reply = say.ReadReply(records=[*texts], cursor=f"{page + 1}:{end}" if end < len(items) else None)
    if not texts:
        return Decision([], reply)
    served = [record.id for record in items[start:end]]
    return asked.decide([kinds.BoardRead(records=served, head=asked.board.head, page=page)], reply)


def _position(after: str) -> int:
    if not after.isascii() or not after.isdigit() or len(after) > 12:
        raise Malformed(
            "the cursor is not one of a read of records: send the cursor of the page before, unchanged",
            member="/cursor",
            value=after,
        )
    return int(after)
