"""`ledger`, `agents` and `show`: what stands, and who holds what. Nothing is recorded."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from blackboard.cli import failures, output
from blackboard.cli.commands.entries import show_entries
from blackboard.cli.commands.log import READERS
from blackboard.cli.looking import looking
from blackboard.cli.options import command
from blackboard.cli.session import Session

_AT = click.option(
    "--at", type=click.IntRange(min=0), metavar="SEQ", help="As of this seq; the head without it."
)


_SHOWN_IDS = 20


@command("ledger", _AT, acts=("auditor", "operator"))
async def ledger(session: Session, *, at: int | None) -> None:
    """Show every entry as of a seq, as an auditor or operator; nothing is recorded."""
    async with looking(session) as board:
        page = await board.ledger(at=at)
        entries, after = list(page.entries), page.next
        while after is not None:
            more = await board.ledger(at=page.at, after=after)
            entries, after = entries + list(more.entries), more.next
    if session.json:
        output.emit_json(msgspec.structs.replace(page, entries=entries, next=None))
        return
    show_entries(entries)
    output.note(f"as of seq {page.at}, state {page.state_digest}")


@command("agents", _AT, acts=READERS)
async def agents(session: Session, *, at: int | None) -> None:
    """Show every agent's standing, and what its protection costs: keys served to it (READS), and those
    among them that it owed to a demotion (RE-READS).
    """
    async with looking(session) as board:
        reply = await board.agents(at=at)
    if session.json:
        output.emit_json(reply)
        return
    headers = ("AGENT", "STANDING", "SINCE", "OWED", "READS", "RE-READS", "WRITES", "REJECTED", "SIGNALS")
    numbers = ("SINCE", "OWED", "READS", "RE-READS", "WRITES", "REJECTED")
    output.emit_table(headers, map(_row, reply.agents), right=numbers)


@command("show", click.argument("agent_id", metavar="AGENT"), _AT, acts=READERS)
async def show(session: Session, *, agent_id: str, at: int | None) -> None:
    """Show one agent as of a seq: its standing, what it holds, what its signals compare with, and its
    last rejections and signals.
    """
    async with looking(session) as board:
        reply = await board.show_agent(agent_id, at=at)
    if session.json:
        output.emit_json(reply)
        return
    for line in _about(reply):
        output.emit(line)


def _row(agent: Any) -> tuple[object, ...]:
    signals = " ".join(f"{name}:{count}" for name, count in sorted(agent.signals.items()))
    rejected = sum(agent.rejections.values())
    return (
        agent.agent,
        agent.state,
        "-" if agent.since is None else agent.since,
        agent.owed,
        agent.reads,
        agent.rereads,
        agent.writes,
        rejected,
        signals or "-",
    )


def _about(reply: Any) -> list[str]:
    standing, baselines = reply.standing, reply.baselines
    lines = [output.visible(f"{reply.summary.agent}  {standing.state}  as of seq {reply.at}")]
    lines += [
        output.visible(f"  {label}: {text}")
        for label, text in (
            ("since seq", standing.since),
            ("why", standing.why),
            ("may", standing.may),
            ("keys to read again", standing.owed or None),
            ("way back", standing.clear and failures.WAY_BACK),
        )
        if text is not None
    ]
    base = f"no entry seen up to seq {reply.base} is held" if reply.base else "all that it has seen is held"
    lines += ["", f"view: {base}; digest {reply.view_digest}"]
    lines += _view(reply)
    lines += ["", *_records(reply)]
    breadth = " ".join(map(str, baselines.breadth)) or "none yet"
    lines += ["", "baselines"]
    lines += [f"  keys written per turn: {breadth}; median {output.number(baselines.breadth_median)}"]
    lines += [f"  narrow turns in a row: {baselines.narrow_run}"]
    lines += [f"  identifiers cited per message: {' '.join(map(str, baselines.citations)) or 'none yet'}"]
    return lines + _recent(reply)


def _view(reply: Any) -> list[str]:
    rows = [
        (
            held.key,
            "-" if held.revision is None else held.revision,
            held.current_revision,
            _holds(held),
            held.seen_at,
        )
        for held in reply.view
    ]
    lines = output.table(("KEY", "SEEN", "NOW", "HOLDS IT", "AT SEQ"), rows, right=("SEEN", "NOW", "AT SEQ"))
    shown = lines if rows else []
    ranges = [
        output.visible(f"everything{_bounds(seen.range)}, read at seq {seen.seen_at}")
        for seen in reply.ranges
    ]
    more = [f"and {reply.more} more"] if reply.more else []
    return [f"  {line}" for line in [*shown, *ranges, *more]]


def _records(reply: Any) -> list[str]:
    held = reply.records
    lines = [
        "records",
        _listed("held", held.held, held.held_count),
        f"{_listed('lost', held.dropped, held.dropped_count)} ({held.chatter_dropped} of them chatter)",
        f"  never delivered: {held.unseen}",
    ]
    if reply.last_checks:
        rows = [(one.seq, one.tool, one.verdict, " ".join(one.codes)) for one in reply.last_checks]
        lines += [
            "",
            "last checks",
            *output.table(("SEQ", "TOOL", "VERDICT", "REASONS"), rows, right=("SEQ",)),
        ]
    return lines


def _listed(word: str, ids: list[str], count: int) -> str:
    shown = "".join(f" {name}" for name in ids[:_SHOWN_IDS])
    more = f" and {count - _SHOWN_IDS} more" if count > _SHOWN_IDS else ""
    return output.visible(f"  {word}: {count}{':' if shown else ''}{shown}{more}")


def _holds(held: Any) -> str:
    return "yes" if held.current else "no"


def _bounds(span: Any) -> str:
    parts = [f" under {span.prefix}"] if span.prefix else []
    parts += [f" after {span.after}"] if span.after else []
    parts += [f" through {span.through}"] if span.through else []
    return "".join(parts)


def _recent(reply: Any) -> list[str]:
    lines = []
    if reply.last_rejections:
        rows = [(one.seq, one.code, " ".join(one.keys)) for one in reply.last_rejections]
        lines += ["", "last rejections", *output.table(("SEQ", "CODE", "KEYS"), rows, right=("SEQ",))]
    if reply.last_signals:
        rows = [
            (one.seq, one.signal, f"{one.effect}, see {' '.join(map(str, one.evidence))}")
            for one in reply.last_signals
        ]
        lines += ["", "last signals", *output.table(("SEQ", "SIGNAL", "EFFECT"), rows, right=("SEQ",))]
    return lines
