"""What a form came to, computed from its log: corrupt writes, rejections, re-reads, and what lay behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from blackboard import canonical
from blackboard.cli.demo.world import FINISHED, TASKS, Fact, World, key_of
from blackboard.errors import WriteRejected
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.events.policy import Policy
from blackboard.events.upcast import decode_body
from blackboard.gate.decide import decide, needs
from blackboard.messages.commands import Write, WriteBatch
from blackboard.messages.prepare import prepare
from blackboard.messages.principal import Principal
from blackboard.messages.replies import EventView
from blackboard.projections.board import Board as Working
from blackboard.projections.evolve import evolve

if TYPE_CHECKING:
    from blackboard.client import Board


class Corruption(NamedTuple):
    """An accepted write that says what is not so.

    `seen` is the revision of the key that its writer had seen last, and `seen_at` where; `current` is the
    one that stood, written at `current_at`; `compaction` the seq of the writer's last one. `stopped_by`
    are the rules of the default policy that would have refused it.
    """

    seq: int
    key: str
    writer: str
    said: str
    truly: Fact
    seen: int | None
    seen_at: int | None
    current: int | None
    current_at: int | None
    compaction: int | None
    stopped_by: list[str]


class Outcome(NamedTuple):
    """One form's row of the closing table, and the writes behind its first figure."""

    corrupt: list[Corruption]
    rejected: int
    rereads: int


async def outcome(auditor: Board, world: World) -> Outcome:
    """Read the log and the agents' counts of a board, and judge its writes against the world."""
    events = [event async for event in auditor.log()]
    agents = await auditor.agents()
    corrupt = [
        _explain(events, event, truly)
        for event in events
        if (truly := contradicted(event, world)) is not None
    ]
    return Outcome(
        corrupt=corrupt,
        rejected=sum(event.kind == kinds.WriteRejected.KIND for event in events),
        rereads=sum(agent.rereads for agent in agents.agents),
    )


def contradicted(event: EventView, world: World) -> Fact | None:
    """What was truly so when this event claimed a task to be complete that was not; None otherwise."""
    if event.kind != kinds.EntryWritten.KIND or event.body is None:
        return None
    task = next((task for task in TASKS if key_of(task) == event.key), None)
    value = event.body.get("value")
    if task is None or not isinstance(value, dict) or value.get("status") != FINISHED:
        return None
    truly = world.status(task, event.seq)
    return None if truly.status == FINISHED else truly


def _explain(events: list[EventView], event: EventView, truly: Fact) -> Corruption:
    earlier = [one for one in events if one.seq < event.seq]
    writer, key = event.actor.removeprefix("agent:"), str(event.key)
    seen = [(one.seq, revision) for one in earlier if (revision := _sees(one, event.actor, key)) is not None]
    stood = [one for one in earlier if one.key == key]
    compactions = [
        one.seq
        for one in earlier
        if one.kind == kinds.AgentCompacted.KIND and one.body is not None and writer in one.body["agents"]
    ]
    return Corruption(
        seq=event.seq,
        key=key,
        writer=writer,
        said=FINISHED,
        truly=truly,
        seen=seen[-1][1] if seen else None,
        seen_at=seen[-1][0] if seen else None,
        current=stood[-1].revision if stood else None,
        current_at=stood[-1].seq if stood else None,
        compaction=compactions[-1] if compactions else None,
        stopped_by=stopped_by(events, event),
    )


def _sees(event: EventView, actor: str, key: str) -> int | None:
    """The revision of the key that this event showed to `actor`: a read by keys, or its own write."""
    if event.actor != actor or event.body is None:
        return None
    if event.kind == kinds.BoardRead.KIND:
        found: int | None = event.body.get("keys", {}).get(key)
        return found
    return event.revision if event.key == key else None


def stopped_by(events: list[EventView], event: EventView) -> list[str]:
    """The rules that would have refused this accepted write under the default policy, in table order.

    The same command is decided again on the log before it, folded as if the board had been opened so.
    """
    board = Working()
    earlier = [_decoded(one) for one in events if one.seq < event.seq]
    for one in earlier:
        evolve(board, one)
    principal = Principal(role="agent", name=event.actor.removeprefix("agent:"))
    prepared = prepare(WriteBatch(writes=[_asked(event)], turn=event.turn), agent=principal.name)
    fetched = {
        need: _find(earlier, need.key, need.revision, need.as_of)
        for need in needs(board, principal, prepared)
    }
    reply = decide(board, event.board, principal, prepared, fetched).reply
    return list(dict.fromkeys(rule.code for rule in reply.rules)) if isinstance(reply, WriteRejected) else []


def _asked(event: EventView) -> Write:
    assert event.body is not None
    body: dict[str, Any] = event.body
    revision = body.get("asserted") or event.revision
    assert revision is not None
    return Write(str(event.key), revision, body["value"], body.get("confidence"), basis=body.get("basis"))


def _decoded(view: EventView) -> Event:
    text = None if view.body is None else canonical.encode(view.body).decode()
    body = decode_body(view.kind, view.version, text)
    if isinstance(body, kinds.BoardOpened):
        body = msgspec.structs.replace(body, policy=Policy())
    return Event(
        view.seq,
        view.actor,
        view.command_id,
        view.request_digest is not None,
        body,
        view.turn,
        view.key,
        view.revision,
        view.recorded_at,
    )


def _find(events: list[Event], key: str, revision: int | None, as_of: int | None) -> Event | None:
    found = [
        event
        for event in events
        if event.key == key
        and (revision is None or event.revision == revision)
        and (as_of is None or event.seq <= as_of)
    ]
    return found[-1] if found else None
