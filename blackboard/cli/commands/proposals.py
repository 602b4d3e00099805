"""`propose`, `proposals`, `accept` and `refuse`."""

from __future__ import annotations

from typing import Any

import click

from blackboard.cli import output, values
from blackboard.cli.acting import acting
from blackboard.cli.commands.entries import WRITE_OPTIONS, show_ack
from blackboard.cli.options import KEY, TURN, command
from blackboard.cli.session import Session


@command(
    "propose",
    click.argument("key", required=False),
    *WRITE_OPTIONS,
    click.option("--batch", metavar="FILE", help="Propose what a JSON file lists; - is stdin."),
    click.option("--reason", default="", metavar="TEXT", help="Why."),
    TURN,
    KEY,
    acts=("agent",),
)
async def propose(
    session: Session,
    *,
    key: str | None,
    batch: str | None,
    revision: int | None,
    reason: str,
    turn: int | None,
    idempotency_key: str | None,
    **given: Any,
) -> None:
    """Propose a write of KEY, or a batch, to the coordinator. Whatever the agent's standing, it may
    propose.
    """
    if (key is None) == (batch is None):
        raise click.UsageError("name a KEY to propose a write of, or --batch FILE")
    writes = values.batch_of(batch) if batch is not None else [values.write_of(str(key), revision, given)]
    async with acting(session) as (board, done):
        reply = await board.propose(writes, reason=reason, turn=turn, idempotency_key=idempotency_key)
        if not session.json:
            output.emit(reply.proposal)
        done(reply)


@command("proposals", TURN, acts=("auditor", "operator", "agent"))
async def proposals(session: Session, *, turn: int | None) -> None:
    """Read the open proposals. For an agent the read is recorded: only what it has read can it accept."""
    async with acting(session) as (board, done):
        reply = await board.proposals(turn=turn)
        if not session.json:
            rows = [_row(proposal, write) for proposal in reply.proposals for write in proposal.writes]
            headers = ("PROPOSAL", "BY", "KEY", "REV", "HELD", "REASON", "VALUE")
            output.emit_table(headers, rows, right=("REV", "HELD"))
        done(reply)


@command(
    "accept",
    click.argument("proposal"),
    click.option("--restate", is_flag=True, help="Make a stale proposal's values your own."),
    TURN,
    KEY,
    acts=("agent",),
)
async def accept(session: Session, *, proposal: str, restate: bool, **given: Any) -> None:
    """Accept PROPOSAL as the coordinator's own write, judged by every rule as of now."""
    async with acting(session) as (board, done):
        reply = await board.accept(proposal, restate=restate, **given)
        if not session.json:
            show_ack(reply)
        done(reply)


@command(
    "refuse",
    click.argument("proposal"),
    click.option("--reason", default="", metavar="TEXT", help="Why not."),
    TURN,
    KEY,
    acts=("agent",),
)
async def refuse(session: Session, *, proposal: str, reason: str, **given: Any) -> None:
    """Refuse PROPOSAL, with a reason."""
    async with acting(session) as (board, done):
        reply = await board.refuse(proposal, reason, **given)
        if not session.json:
            output.emit(output.visible(f"{proposal} refused"))
        done(reply)


def _row(proposal: Any, write: Any) -> tuple[object, ...]:
    held = "-" if write.held is None else write.held
    value = "(delete)" if write.deleted else output.value_text(write.value)
    return proposal.id, proposal.proposer, write.key, write.revision, held, proposal.reason or "-", value
