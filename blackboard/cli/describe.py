"""An event in one line, and a rejection in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from blackboard.cli.output import counted, json_text, visible
from blackboard.events.policy import Policy
from blackboard.messages.replies import EventView

_COLOURS = {
    "write.rejected": "red",
    "signal.raised": "yellow",
    "agent.compacted": "magenta",
    "entry.written": "green",
    "board.read": "bright_black",
    "action.checked": "cyan",
}
_SHOWN_KEYS = 8


def event_line(event: EventView) -> str:
    """`seq  who  kind  what`, the same width for every event."""
    who = event.actor.removeprefix("agent:")
    turn = "" if event.turn is None else f"t{event.turn}"
    kind = click.style(f"{event.kind:<20}", fg=_COLOURS.get(event.kind))
    return f"{event.seq:>6}  {visible(who):<12} {turn:>4}  {kind}  {summary(event)}"


def summary(event: EventView) -> str:
    """What the event says, on one line. A kind that this release does not know is shown as it is."""
    if event.body is None:
        return "(redacted)"
    tell = _TELL.get(event.kind)
    return visible(tell(event, event.body) if tell else json_text(event.body))


def rejection_lines(rules: Iterable[Any], remedy: Any) -> list[str]:
    """Every broken rule with its evidence, then the remedy; structs and plain data alike."""
    lines = []
    for rule in map(_plain, rules):
        where = f"{rule['key']}  " if rule.get("key") else ""
        lines.append(visible(f"{where}{rule['code']}: {rule.get('detail', '')}"))
        if rule.get("evidence"):
            lines.append(f"  evidence: {_pairs(rule['evidence'])}")
    if remedy is not None:
        told = _plain(remedy)
        lines.append(visible(f"remedy: {told['detail']}"))
        if told.get("keys"):
            lines.append(visible(f"  keys: {_listed(told['keys'], told.get('more', 0))}"))
    return lines


def _plain(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def _pairs(members: dict[str, Any]) -> str:
    return ", ".join(
        f"{visible(name)} {visible(value) if isinstance(value, str) else json_text(value)}"
        for name, value in members.items()
        if value is not None
    )


def _listed(keys: list[str], more: int) -> str:
    more += len(keys[_SHOWN_KEYS:])
    return " ".join(keys[:_SHOWN_KEYS]) + (f" and {more} more" if more else "")


def _revisions(found: dict[str, int]) -> str:
    shown = [f"{key}@{revision}" for key, revision in list(found.items())[:_SHOWN_KEYS]]
    more = len(found) - len(shown)
    return " ".join(shown) + (f" and {more} more" if more else "")


def _opened(_: EventView, body: dict[str, Any]) -> str:
    return f"{body['name']}, format {body['format']}{_switched(body['policy'])}"


def _policy(_: EventView, body: dict[str, Any]) -> str:
    return f"changed{_switched(body['policy'])}"


def _switched(policy: dict[str, Any]) -> str:
    off = msgspec.convert(policy, Policy).legs_off()
    return f"; off: {', '.join(off)}" if off else ""


def _format(_: EventView, body: dict[str, Any]) -> str:
    return f"format {body['format']}"


def _mode(_: EventView, body: dict[str, Any]) -> str:
    pen = f", coordinator {body['coordinator']}" if body.get("coordinator") else ""
    return f"{body['mode']}{pen}" + (f": {body['why']}" if body.get("why") else "")


def _joined(_: EventView, body: dict[str, Any]) -> str:
    return str(body["agent"]) + (f", prefix {body['prefix']}" if body.get("prefix") else "")


def _written(event: EventView, body: dict[str, Any]) -> str:
    what = "deleted" if body.get("deleted") else f"= {json_text(body['value'])}"
    more = f"  confidence {body['confidence']:g}" if body.get("confidence") is not None else ""
    more += f"  basis {_revisions(body['basis'])}" if body.get("basis") else ""
    more += f"  asserted {body['asserted']}" if body.get("asserted") is not None else ""
    return f"{event.key}@{event.revision} {what}{more}"


def _rejected(_: EventView, body: dict[str, Any]) -> str:
    asked = " ".join(f"{write['key']}@{write.get('revision', '?')}" for write in body["writes"][:_SHOWN_KEYS])
    codes = [rule["code"] for rule in body["rules"] if rule["code"] != body["code"]]
    also = f" (also {', '.join(dict.fromkeys(codes))})" if codes else ""
    return f"{body['code']}: {asked}{also}"


def _read(_: EventView, body: dict[str, Any]) -> str:
    parts = []
    if body.get("keys"):
        parts.append(_revisions(body["keys"]))
    if body.get("page") is not None:
        parts.append(f"page {body['page']} of everything, as of {body.get('head')}")
    if body.get("records"):
        parts.append(_listed_ids(body["records"]))
    if body.get("proposals") is not None:
        parts.append(f"{counted(len(body['proposals']), 'proposal')}")
    return ", ".join(parts) or "nothing"


def _compacted(_: EventView, body: dict[str, Any]) -> str:
    who = ", ".join(body["agents"])
    kept = counted(len(body.get("kept") or []), "record")
    cause, base = body.get("cause", "unknown"), body["base_seq"]
    return f"{who}: {cause}, no entry seen up to {base} is held, {kept} kept{_tokens(body)}"


def _tokens(body: dict[str, Any]) -> str:
    """The sizes that were reported: members of the body in version 1, an object of it from version 2 on."""
    sizes = body.get("tokens") or {name: body.get(f"tokens_{name}") for name in ("before", "after")}
    told = [f"{name} {sizes[name]}" for name in ("before", "after", "window") if sizes.get(name) is not None]
    return f"; tokens: {', '.join(told)}" if told else ""


def _posted(_: EventView, body: dict[str, Any]) -> str:
    to = f"to {', '.join(body['recipients'])}: " if body.get("recipients") else ""
    to += f"answers {body['reply_to']}: " if body.get("reply_to") is not None else ""
    cites = f"  cites {' '.join(body['cited'])}" if body.get("cited") else "  cites nothing"
    return f"{to}{json_text(body['text'])}{cites}"


def _proposed(event: EventView, body: dict[str, Any]) -> str:
    asked = " ".join(f"{write['key']}@{write['revision']}" for write in body["writes"][:_SHOWN_KEYS])
    reason = f": {body['reason']}" if body.get("reason") else ""
    return f"proposal:{event.seq} {asked}{reason}"


def _accepted(_: EventView, body: dict[str, Any]) -> str:
    return str(body["proposal"]) + (", restated" if body.get("restate") else "")


def _refused(_: EventView, body: dict[str, Any]) -> str:
    return str(body["proposal"]) + (f": {body['reason']}" if body.get("reason") else "")


def _ended(event: EventView, _: dict[str, Any]) -> str:
    return f"turn {event.turn}"


def _signal(_: EventView, body: dict[str, Any]) -> str:
    numbers = f"; {_pairs(body['numbers'])}" if body.get("numbers") else ""
    evidence = f"; see {', '.join(map(str, body['evidence']))}" if body.get("evidence") else ""
    where = f" on {body['key']}" if body.get("key") else ""
    return f"{body['signal']} ({body['effect']}): {body['agent']}{where}{numbers}{evidence}"


def _listed_ids(ids: list[str]) -> str:
    return "records " + _listed(ids, 0)


def _record(_: EventView, body: dict[str, Any]) -> str:
    found = body["record"]
    rest = {name: member for name, member in found.items() if name not in ("id", "kind")}
    return f"{found['id']} ({found['kind']}) {json_text(rest)}"


def _checked(_: EventView, body: dict[str, Any]) -> str:
    why = f" ({body['reasons'][0]['code']})" if body.get("reasons") else ""
    answer = body["policy"]["answer"]
    return f"{body['verdict']}{why}: {body['tool']} {json_text(body['params'])}, policy {answer}"


def _certified(event: EventView, body: dict[str, Any]) -> str:
    until = f", valid until {body['valid_until_seq']}" if body.get("valid_until_seq") is not None else ""
    return f"certificate:{event.seq} for {body['agent']}, {body['tool']}, as of {body['as_of']}{until}"


_TELL = {
    "board.opened": _opened,
    "board.policy-changed": _policy,
    "board.format-raised": _format,
    "board.mode-changed": _mode,
    "agent.joined": _joined,
    "entry.written": _written,
    "write.rejected": _rejected,
    "board.read": _read,
    "agent.compacted": _compacted,
    "message.posted": _posted,
    "write.proposed": _proposed,
    "proposal.accepted": _accepted,
    "proposal.refused": _refused,
    "turn.ended": _ended,
    "signal.raised": _signal,
    "record.added": _record,
    "action.checked": _checked,
    "certificate.issued": _certified,
}
