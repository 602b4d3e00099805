"""A message to the board's agents: what it cites is found here, and what it answers is looked up.

Source: citations in the table of signals of the write gate's design.
"""

from __future__ import annotations

from blackboard.errors import Malformed
from blackboard.events import kinds
from blackboard.gate.case import Fetched, Need
from blackboard.gate.citing import find_citations
from blackboard.gate.decision import Asked, Decision, raise_signals
from blackboard.gate.formats import check_format
from blackboard.gate.moment import Moment
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.projections.board import Board


def say_needs(board: Board, reply_to: int | None) -> list[Need]:
    """The row of the message that is answered."""
    return [Need(seq=reply_to)] if reply_to is not None and 0 < reply_to <= board.head else []


def decide_say(asked: Asked, command: ask.Say) -> Decision:
    """Post the message. Raises `Malformed` where what it answers is no message of this board."""
    board = asked.board
    if command.reply_to is not None:
        check_format(board, "reply_to", kinds.WITH_REPLIES)
        _check_answered(board, command.reply_to, asked.fetched)
    message = find_citations(board, command.text)
    body = kinds.MessagePosted(
        text=command.text,
        recipients=command.recipients,
        cited=message.cited,
        about=message.about,
        reply_to=command.reply_to,
    )
    signals = raise_signals(board, Moment(agent=asked.agent, turn=command.turn, message=message))
    return asked.decide([body, *signals], say.SayReply(cited=message.cited))


def _check_answered(board: Board, seq: int, fetched: Fetched) -> None:
    """Raise for a seq that names no message. A redacted one was a message all the same."""
    event = fetched.get(Need(seq=seq))
    if event is None:
        found = f"this board has events 1 to {board.head}, and none at {seq}"
    else:
        body = event.body
        kind = body.kind if isinstance(body, kinds.Opaque) else body.KIND
        if kind == kinds.MessagePosted.KIND:
            return
        found = f"event {seq} is no message: its kind is {kind}"
    raise Malformed(
        f"reply_to {seq}: {found}. Name the seq of a message.posted, or leave it out",
        member="/reply_to",
        value=seq,
    )
