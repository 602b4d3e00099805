"""The file of records that `blackboard gate` judges: read whole, or refused with the place of the fault.

`{"name"?, "records", "kept", "delivered"?, "action" | "actions", "tools"?, "k"?, "agent"?}`; other members
are ignored. Source: "The file tool" and "The verdict" of the action gate's design.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from blackboard.canonical import EXACT_DEPTH, parse_exact
from blackboard.errors import Malformed, TooLarge
from blackboard.gate.actions.action import Action, read_action
from blackboard.gate.actions.domain import Tool, read_tools
from blackboard.gate.actions.world import World
from blackboard.records import Holding, Records, read_record
from blackboard.records.faults import Path, fault, read_list, read_name, read_object, wrong

MAX_BYTES: Final = 256 * 1024 * 1024
"""The largest file, in bytes."""

MAX_RECORDS: Final = 1_000_000
"""How many records a file may hold."""

MAX_ACTIONS: Final = 10_000
"""How many actions a file may ask about."""

MAX_NAME: Final = 256
"""The longest name of a file of records, in characters."""

MAX_K: Final = 1_000_000
"""The largest `k` of a retention scheme."""

_NOT_JSON: Final = "RFC 8259"  # the limit that `parse_exact` names for what is no JSON
# A string that nothing closes reaches to the end: looking for its end again and again would be slow.
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)


class FileCase(NamedTuple):
    """One file, read and found well-formed.

    Positions are those of `records`. `delivered` is None where everything was, `kept`, `tools`, `k` and
    `agent` where the file does not say. `actions` is empty only where they were not asked for.
    """

    name: str | None
    records: Records
    kept: frozenset[int] | None
    delivered: frozenset[int] | None
    actions: tuple[Action, ...]
    tools: tuple[Tool, ...] | None
    k: int | None
    agent: str | None

    @property
    def shown(self) -> Iterable[int]:
        """The positions of the records that were delivered, oldest first."""
        return range(len(self.records)) if self.delivered is None else sorted(self.delivered)

    def world(self, held: Iterable[int]) -> World:
        """The agent that holds these positions, in front of all records of the file."""
        items = self.records.items
        holding = Holding.of(self.records, held, self.delivered)
        return World(self.records, holding, items[-1].seq if items else 0, self.agent)


def read_file(raw: bytes, *, actions: bool = True) -> FileCase:
    """Return what the file says; its actions are left unread with `actions=False`.

    Raises `Malformed` with the JSON Pointer of the fault: whatever `parse_exact`, `read_record` and
    `Records.check` refuse, ids that no record has, a supplied `dropped` set, no action to judge;
    `TooLarge` beyond the limits of this module.
    """
    if len(raw) > MAX_BYTES:
        raise too_large("the file", "", len(raw), MAX_BYTES, "bytes")
    members = read_object(_parsed(raw), ())
    if "dropped" in members:
        raise fault(("dropped",), "the dropped set is computed from `kept`, never supplied: leave it out")
    if "records" not in members:
        raise fault(("records",), "is required")
    records = _records(members["records"], ("records",))
    kept, delivered = _kept(members, records)
    return FileCase(
        name=_name(members),
        records=records,
        kept=kept,
        delivered=delivered,
        tools=read_tools(members["tools"], ("tools",)) if "tools" in members else None,
        k=_k(members),
        agent=read_name(members["agent"], ("agent",)) if "agent" in members else None,
        actions=_actions(members) if actions else (),
    )


def too_large(what: str, member: str, found: int, limit: int, unit: str) -> TooLarge:
    """The error that `what` has more than `limit` of something."""
    detail = f"{member or what}: {found} {unit}; at most {limit} are read"
    return TooLarge(detail, member=member, limit=limit, value=found)


def _parsed(raw: bytes) -> object:
    try:
        return parse_exact(raw)
    except Malformed as error:
        # How deep the standard library gets, and its words for a text that is no JSON, change from one
        # Python to the next: both are told here.
        text = raw.decode("utf-8", "replace")
        if (place := _too_deep(text)) is not None:
            what = f"arrays and objects are nested more than {EXACT_DEPTH} deep"
            raise fault(place, what, limit=EXACT_DEPTH) from None
        if error.limit == _NOT_JSON:
            raise fault((), f"not JSON: {_why(text)}", limit=_NOT_JSON) from None
        raise


def _too_deep(text: str) -> Path | None:
    """The first place beyond the depth, also in a text that is no JSON."""
    path: list[str | int] = []
    latest = ""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in "[{":
            if len(path) == EXACT_DEPTH:
                return tuple(path)
            path.append(0 if mark == "[" else "")
        elif mark in "]}":
            path = path[:-1]
        elif mark == "," and path and type(path[-1]) is int:
            path[-1] += 1
        elif mark == ":" and path:
            path[-1] = latest[1:-1]
        else:
            latest = mark
    return None


def _why(text: str) -> str:
    what = "it is not what RFC 8259 describes"
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        what = str(error).removeprefix("JSON is malformed: ")
    return what[:1].lower() + what[1:]


def _records(value: object, path: Path) -> Records:
    items = read_list(value, path)
    if len(items) > MAX_RECORDS:
        raise too_large("the file", "/records", len(items), MAX_RECORDS, "records")
    read = [(read_record(item, (*path, at)), at) for at, item in enumerate(items)]
    read.sort(key=lambda pair: pair[0].seq)
    records = Records()
    for record, at in read:
        records.check(record, (*path, at))
        records.add(record)
    return records


def _kept(members: dict[str, Any], records: Records) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    kept = _ids(members["kept"], ("kept",), records) if "kept" in members else None
    if "delivered" not in members:
        return _positions(kept), None
    delivered = _ids(members["delivered"], ("delivered",), records)
    for position, at in (kept or {}).items():
        if position not in delivered:
            what = (
                f"{records.items[position].id!r} is not among the `delivered`: nobody keeps what he never got"
            )
            raise fault(("kept", at), what)
    return _positions(kept), _positions(delivered)


def _ids(value: object, path: Path, records: Records) -> dict[int, int]:
    # Position of the record -> where the list names it.
    found: dict[int, int] = {}
    for at, identity in enumerate(read_list(value, path)):
        if type(identity) is not str:
            raise wrong((*path, at), "the id of a record", identity)
        position = records.position(identity)
        if position is None:
            raise fault((*path, at), f"no record has the id {identity!r}")
        found[position] = at
    return found


def _positions(found: dict[int, int] | None) -> frozenset[int] | None:
    return None if found is None else frozenset(found)


def _name(members: dict[str, Any]) -> str | None:
    name = members.get("name")
    if "name" in members and (type(name) is not str or len(name) > MAX_NAME):
        raise wrong(("name",), f"a string of at most {MAX_NAME} characters", name)
    return name


def _k(members: dict[str, Any]) -> int | None:
    k = members.get("k")
    if "k" in members and (type(k) is not int or not 0 <= k <= MAX_K):
        raise wrong(("k",), f"a whole number from 0 to {MAX_K}", k)
    return k


def _actions(members: dict[str, Any]) -> tuple[Action, ...]:
    # `actions` are judged instead of `action`; a malformed one is a fault of the file all the same.
    single = (read_action(members["action"], ("action",)),) if "action" in members else ()
    if "actions" not in members:
        if not single:
            raise fault(("action",), "is required: there is nothing to judge")
        return single
    items = read_list(members["actions"], ("actions",))
    if not items:
        raise fault(("actions",), "is empty: there is nothing to judge")
    if len(items) > MAX_ACTIONS:
        raise too_large("the file", "/actions", len(items), MAX_ACTIONS, "actions")
    return tuple(read_action(item, ("actions", at)) for at, item in enumerate(items))
