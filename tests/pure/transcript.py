"""A world that tells what happens in it: commands, the events that they leave, and the replies, as text."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import msgspec

from blackboard.errors import BlackboardError
from blackboard.events.kinds import Violation
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.operations import BY_MESSAGE
from blackboard.messages.principal import Principal
from tests.pure.driver import World

WIDTH = 108


class Told(World):
    """Every command adds a paragraph to `lines`."""

    def __init__(self, policy: dict[str, Any] | None = None) -> None:
        self.lines: list[str] = []
        super().__init__(policy)

    def remark(self, text: str) -> None:
        self.lines += ["", *(f"# {line}" for line in textwrap.wrap(text, WIDTH - 2)), ""]

    def answer(
        self, principal: Principal, command: ask.Command, *, seen: int | None = None, once: str | None = None
    ) -> say.Reply | BlackboardError:
        head = self.head
        self.lines += _folded(f"{principal.actor} {BY_MESSAGE[type(command)].name} ", _plain(command))
        try:
            answer = super().answer(principal, command, seen=seen, once=once)
        except BlackboardError as error:
            self.lines += _reply(error)
            raise
        for event in self.events[head:]:
            key = f" {event.key}@{event.revision}" if event.key is not None else ""
            self.lines += _folded(f"    {event.seq:>3} {event.body.KIND}{key} ", _plain(event.body))
        self.lines += _reply(answer)
        return answer

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).strip() + "\n"


def _plain(value: Any) -> str:
    """As JSON for people: hashes shortened, the policy and what says nothing left out."""
    return json.dumps(_short(json.loads(msgspec.json.encode(value))), ensure_ascii=False)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _short(member)
            for name, member in value.items()
            if name not in ("rules", "policy") and member not in (None, False, [], "")
        }
    if isinstance(value, list):
        return [_short(item) for item in value]
    is_hash = isinstance(value, str) and len(value) == 64 and value.isalnum()
    return value[:8] + "…" if is_hash else value


def _folded(start: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * 12) or [start]


def _reply(answer: say.Reply | BlackboardError) -> list[str]:
    context = answer.reply if isinstance(answer, BlackboardError) else answer
    if isinstance(answer, BlackboardError):
        lines = _folded("      < ", f"{answer.code}: {answer.detail}")
        lines += [line for violation in answer.members.get("rules", []) for line in _rule(violation)]
        if (remedy := answer.members.get("remedy")) is not None:
            lines += _folded("        remedy ", f"{remedy.detail} {remedy.keys} {remedy.call}")
    else:
        shared = say.Reply.__struct_fields__
        own = {name: getattr(answer, name) for name in answer.__struct_fields__ if name not in shared}
        lines = _folded("      < ", f"{type(answer).__name__} {_plain(own)}")
    return lines + ([] if context is None else _context(context))


def _rule(violation: Violation) -> list[str]:
    return _folded("        rule ", f"{violation.code} {violation.key} {_plain(violation.evidence)}")


def _context(reply: say.Reply) -> list[str]:
    lines = []
    if reply.standing is not None and reply.standing.state != "active":
        standing = reply.standing
        owed = f"owes {standing.owed} {standing.keys}" if standing.keys else f"owes {standing.owed}"
        lines += _folded(
            "        standing ", f"{standing.state} since {standing.since}: {standing.why}; {owed}"
        )
    for notice in reply.notices:
        lines += _folded("        notice ", f"{notice.about} {notice.what} ({notice.seq}): {notice.detail}")
    for move in reply.moved:
        lines.append(f"        moved {move.key}@{move.revision} by {move.writer} in {move.seq}")
    for signal in reply.signals:
        lines += _folded("        signal ", f"{signal.name} ({signal.effect}) {_plain(signal.numbers)}")
    if reply.guarantee is not None and not reply.guarantee.intact:
        lines += _folded("        guarantee without ", ", ".join(reply.guarantee.off))
    return lines
