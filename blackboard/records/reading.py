"""Reading records: each is checked whole, by itself, before anything rests on it.

What ties records to one another (ids, order, supersedes) is checked where they are put together:
`Records.check`. Source: "Records" of the action gate's design.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from msgspec import UNSET

from blackboard.canonical import EXACT_DEPTH, SAFE_INTEGER, doubles, encode
from blackboard.records.faults import Path, fault, is_plain, read_name, read_object, refuse_others, wrong
from blackboard.records.kinds import (
    NEWEST,
    AnyRecord,
    Approval,
    Chatter,
    Effect,
    Fact,
    PolicyRecord,
    Unevaluable,
    kind_of,
)
from blackboard.records.predicate import read_predicate, to_json
from blackboard.records.scope import read_scope

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_EFFECTS: Final[dict[str, Effect]] = {effect: effect for effect in get_args(Effect)}
_HEAD: Final = ("id", "seq", "kind", "version")


def read_record(value: object, path: Path = (), known: Mapping[str, int] = NEWEST) -> AnyRecord:
    """Return the record that a JSON value (exact numbers) writes down, lifted to the newest version.

    `known` is the newest version of each kind that can be evaluated where the record was added. A kind or
    version beyond that gives an `Unevaluable`. Raises `Malformed`, naming the place: no id, seq or kind, a
    member that this version of the kind does not have, one that is missing or of another type.
    """
    members = read_object(value, path)
    if members.get("kind") == Chatter.KIND and Chatter.KIND in known:
        chatter = _plain_chatter(members)
        if chatter is not None:
            return chatter
    _require(members, ("id", "seq", "kind"), path)
    identity = read_name(members["id"], (*path, "id"))
    seq = read_seq(members["seq"], (*path, "seq"))
    kind = read_name(members["kind"], (*path, "kind"))
    version = members.get("version", 1)
    if type(version) is not int or version < 1:
        raise wrong((*path, "version"), "a version (1, 2, ...)", version)
    if version > known.get(kind, 0):
        rest = {name: member for name, member in members.items() if name not in _HEAD}
        return Unevaluable(id=identity, seq=seq, kind=kind, version=version, members=rest)
    for older in range(version, NEWEST[kind]):
        members = RECORD_UPCASTERS[kind, older](members, path)
    return _READERS[kind](members, identity, seq, path)


def _plain_chatter(members: dict[str, Any]) -> Chatter | None:
    """The chatter that nearly all records of a file are, None where there is something to look at closer."""
    if members.keys() != _PLAIN_CHATTER:
        return None
    identity, seq, text = members["id"], members["seq"], members["text"]
    if (
        type(seq) is not int
        or not 0 <= seq <= SAFE_INTEGER
        or type(text) is not str
        or not is_plain(identity)
    ):
        return None
    return Chatter(id=identity, seq=seq, text=text)


def read_seq(value: object, path: Path) -> int:
    """Return `value` where it can be a seq: 0 to 2^53 - 1."""
    if type(value) is not int or not 0 <= value <= SAFE_INTEGER:
        raise wrong(path, "a seq (0 to 2^53 - 1)", value)
    return value


def _policy(members: dict[str, Any], identity: str, seq: int, path: Path) -> PolicyRecord:
    refuse_others(members, _POLICY, path)
    _require(members, ("scope", "predicate", "effect"), path)
    return PolicyRecord(
        id=identity,
        seq=seq,
        scope=read_scope(members["scope"], (*path, "scope")),
        predicate=read_predicate(members["predicate"], (*path, "predicate")),
        effect=_effect(members["effect"], (*path, "effect")),
        supersedes=_supersedes(members, path),
        expires_seq=_expires(members, path),
        text=_text(members, path),
    )


def _effect(value: object, path: Path) -> Effect:
    if type(value) is not str or value not in _EFFECTS:
        raise wrong(path, f"one of {', '.join(_EFFECTS)}", value)
    return _EFFECTS[value]


def _fact(members: dict[str, Any], identity: str, seq: int, path: Path) -> Fact:
    refuse_others(members, _FACT, path)
    _require(members, ("field",), path)
    retracted = members.get("retracted", False)
    if type(retracted) is not bool:
        raise wrong((*path, "retracted"), "true or false", retracted)
    if retracted is ("value" in members):
        raise fault((*path, "value"), "a fact has a `value`, or else `retracted: true`")
    return Fact(
        id=identity,
        seq=seq,
        field=read_name(members["field"], (*path, "field")),
        value=members.get("value", UNSET),
        retracted=retracted,
        supersedes=_supersedes(members, path),
        expires_seq=_expires(members, path),
        text=_text(members, path),
    )


def _approval(members: dict[str, Any], identity: str, seq: int, path: Path) -> Approval:
    refuse_others(members, _APPROVAL, path)
    _require(members, ("policy", "action_digest", "granted", "approver"), path)
    digest, granted = members["action_digest"], members["granted"]
    if type(digest) is not str or not _DIGEST.fullmatch(digest):
        raise wrong((*path, "action_digest"), "an action's digest (64 lower-case hex digits)", digest)
    if type(granted) is not bool:
        raise wrong((*path, "granted"), "true or false", granted)
    return Approval(
        id=identity,
        seq=seq,
        policy=read_name(members["policy"], (*path, "policy")),
        action_digest=digest,
        granted=granted,
        approver=read_name(members["approver"], (*path, "approver")),
        expires_seq=_expires(members, path),
        supersedes=_supersedes(members, path),
        text=_text(members, path),
    )


def _chatter(members: dict[str, Any], identity: str, seq: int, path: Path) -> Chatter:
    refuse_others(members, _CHATTER, path)
    return Chatter(id=identity, seq=seq, text=_text(members, path))


_READERS: Final[dict[str, Callable[[dict[str, Any], str, int, Path], AnyRecord]]] = {
    PolicyRecord.KIND: _policy,
    Fact.KIND: _fact,
    Approval.KIND: _approval,
    Chatter.KIND: _chatter,
}


def _approval_without_text(members: dict[str, Any], path: Path) -> dict[str, Any]:
    refuse_others(members, _APPROVAL - {"text"}, path)
    return members


RECORD_UPCASTERS: Final[dict[tuple[str, int], Callable[[dict[str, Any], Path], dict[str, Any]]]] = {
    (Approval.KIND, 1): _approval_without_text,
}
"""(kind, version) -> the step that makes version + 1 of a record's members; it refuses what the version does
not have."""

_POLICY: Final = frozenset((*_HEAD, *PolicyRecord.__struct_fields__))
_FACT: Final = frozenset((*_HEAD, *Fact.__struct_fields__))
_APPROVAL: Final = frozenset((*_HEAD, *Approval.__struct_fields__))
_PLAIN_CHATTER: Final = frozenset(("id", "seq", "kind", "text"))
_CHATTER: Final = frozenset((*_HEAD, *Chatter.__struct_fields__))


def _require(members: dict[str, Any], words: tuple[str, ...], path: Path) -> None:
    for word in words:
        if word not in members:
            raise fault((*path, word), "is required")


def _supersedes(members: dict[str, Any], path: Path) -> str | None:
    return read_name(members["supersedes"], (*path, "supersedes")) if "supersedes" in members else None


def _expires(members: dict[str, Any], path: Path) -> int | None:
    return read_seq(members["expires_seq"], (*path, "expires_seq")) if "expires_seq" in members else None


def _text(members: dict[str, Any], path: Path) -> str | None:
    text = members.get("text")
    if "text" in members and type(text) is not str:
        raise wrong((*path, "text"), "a string", text)
    return text


def record_json(record: AnyRecord) -> dict[str, Any]:
    """The record as it is written down, with exact numbers, in the oldest version that can say it.

    So whoever could read it before still can, and its digest stays. Version 1 is left out.
    """
    version = _version(record)
    written: dict[str, Any] = {"id": record.id, "seq": record.seq, "kind": kind_of(record)}
    if version != 1:
        written["version"] = version
    if isinstance(record, Unevaluable):
        return written | record.members
    for name in record.__struct_fields__:
        member = getattr(record, name)
        if name not in written and member is not None and member is not UNSET and member is not False:
            written[name] = member
    return written | _spelled(record)


def _version(record: AnyRecord) -> int:
    match record:
        case Unevaluable(version=version):
            return version
        case Approval(text=text) if text is not None:
            return 2
        case _:
            return 1


def record_bytes(record: AnyRecord) -> bytes:
    """The record as canonical JSON (RFC 8785), for one that was read from such bytes."""
    return encode(doubles(record_json(record)), depth=EXACT_DEPTH)


def _spelled(record: AnyRecord) -> dict[str, Any]:
    # The members that are held otherwise than they are written, or whose None and False say something.
    match record:
        case PolicyRecord():
            return {"scope": list(record.scope), "predicate": to_json(record.predicate)}
        case Fact() if record.value is not UNSET:
            return {"value": record.value}
        case Approval():
            return {"granted": record.granted}
        case _:
            return {}
