"""`say`, `compact` and `end-turn`."""

from __future__ import annotations

from typing import Any

import click

from blackboard.cli import output, values
from blackboard.cli.acting import acting
from blackboard.cli.options import KEY, TURN, command
from blackboard.cli.session import Session


@command(
    "say",
    click.argument("text"),
    click.option("--to", "recipients", multiple=True, metavar="AGENT", help="For these agents; repeatable."),
    click.option(
        "--reply-to",
        type=click.IntRange(min=1),
        metavar="SEQ",
        help="The message that this one answers; it takes a board of format 3.",
    ),
    TURN,
    KEY,
    acts=("agent",),
)
async def say(session: Session, *, text: str, recipients: tuple[str, ...], **given: Any) -> None:
    """Post TEXT (- is stdin) to the board's agents. The board finds the identifiers that it cites
    (entry:41, task/B@3) and tells which of them exist.
    """
    words = values.read_text("-", "TEXT") if text == "-" else text
    async with acting(session) as (board, done):
        reply = await board.say(words, recipients=list(recipients), **given)
        if not session.json:
            output.emit(output.visible(f"message {reply.seq}, cited: {' '.join(reply.cited) or 'nothing'}"))
        done(reply)


@command(
    "compact",
    click.option(
        "--cause",
        type=click.Choice(["summary", "truncation", "eviction", "clear", "unknown"]),
        default="unknown",
        show_default=True,
        help="What happened to the context.",
    ),
    click.option(
        "--base-seq", type=click.IntRange(min=0), metavar="SEQ", help="What was seen up to here is gone."
    ),
    click.option("--kept", multiple=True, metavar="ID", help="A record that survives; repeatable."),
    click.option(
        "--of", "agents", multiple=True, metavar="AGENT", help="Report these agents instead; repeatable."
    ),
    click.option(
        "--notify",
        type=click.Choice(["in-band", "impossible"]),
        default="in-band",
        show_default=True,
        help="Whether peers hear of it through the board.",
    ),
    click.option("--summary-digest", metavar="DIGEST", help="A digest of the summary's text."),
    click.option(
        "--tokens-before", type=click.IntRange(min=0), metavar="N", help="Size of the context before."
    ),
    click.option(
        "--tokens-after", type=click.IntRange(min=0), metavar="N", help="Size of the context after."
    ),
    click.option(
        "--context-window",
        type=click.IntRange(min=0),
        metavar="N",
        help="Size of the window, in tokens; it takes a board of format 3.",
    ),
    TURN,
    KEY,
    acts=("agent", "operator"),
)
async def compact(session: Session, *, kept: tuple[str, ...], agents: tuple[str, ...], **given: Any) -> None:
    """Report a compaction: the agent's own, or with --of those of others (an operator, or an agent with
    the grant). Without --base-seq everything up to the board's head is gone from the view.
    """
    async with acting(session) as (board, done):
        reply = await board.compacted(kept=list(kept) or None, agents=list(agents) or None, **given)
        if not session.json:
            who = ", ".join(reply.agents)
            output.emit(output.visible(f"{who}: compacted, no entry seen up to seq {reply.base_seq} is held"))
            if reply.unknown_kept:
                output.note(output.visible(f"never delivered, so not kept: {', '.join(reply.unknown_kept)}"))
            if reply.lost_kept:
                output.note(output.visible(f"lost before, so not kept: {', '.join(reply.lost_kept)}"))
        done(reply)


@command("end-turn", click.argument("turn", type=click.IntRange(min=0)), KEY, acts=("agent",))
async def end_turn(session: Session, *, turn: int, idempotency_key: str | None) -> None:
    """End the agent's turn number TURN."""
    async with acting(session) as (board, done):
        reply = await board.end_turn(turn, idempotency_key=idempotency_key)
        if not session.json:
            output.emit(f"turn {turn} ended")
        done(reply)
