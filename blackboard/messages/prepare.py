"""From a message to what a decision needs: limits checked, values canonical, payloads hashed.

`prepare` is pure and does all of a command's encoding once, before the command waits for its board.
Everything that it refuses is `Malformed` or `TooLarge`, names member and limit, and leaves no trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, assert_never

import msgspec
from msgspec import UNSET, Struct

from blackboard import canonical
from blackboard.errors import Malformed, PayloadMismatch, TooLarge
from blackboard.events.policy import PolicyPatch
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS, MAX_INTEGER, Limits
from blackboard.messages.operations import BY_MESSAGE
from blackboard.records import AnyRecord, Approval, read_record
from blackboard.records.faults import read_name
from blackboard.records.scope import read_tool

_quoted = msgspec.json.Encoder().encode
"""A checked identifier as JSON: it holds nothing that RFC 8785 would write differently."""


class PreparedWrite(Struct, frozen=True, gc=False):
    """One write, ready to be judged. `revision` is None where the caller named none.

    `raw` are the value's canonical bytes, `payload_hash` 64 hex digits (of revision 0 when None).
    """

    key: str
    revision: int | None
    value: Any
    raw: bytes
    payload_hash: str
    confidence: float | None = None
    deleted: bool = False
    basis: dict[str, int] | None = None


class Prepared(Struct, frozen=True, gc=False):
    """A command with its canonical bytes (`seen` is no part of them) and its writes.

    `record` is the record of a command that adds one, its id, seq and approver still to be filled in;
    `params` are the parameters of an action, and `raw` their canonical bytes.
    """

    command: ask.Command
    canonical: bytes
    writes: tuple[PreparedWrite, ...] = ()
    record: AnyRecord | None = None
    params: dict[str, Any] | None = None
    raw: bytes = b""


def prepare(  # noqa: C901, PLR0912 - a closed union
    command: ask.Command, *, agent: str | None, limits: Limits = DEFAULT_LIMITS
) -> Prepared:
    """Check and encode `command` as sent by `agent` (None: not an agent).

    Raises `Malformed` or `TooLarge`.
    """
    name = BY_MESSAGE[type(command)].name
    match command:
        case ask.WriteBatch(writes=writes) | ask.Propose(writes=writes):
            return _prepare_writes(command, name, writes, agent or "", limits)
        case ask.Read():
            _check_read(command, limits)
        case ask.ReadEntry(key=key):
            canonical.check_identifier(key, member="/key", max_bytes=limits.key_bytes)
        case ask.Compact():
            _check_compact(command, limits)
        case ask.Say():
            _check_say(command, limits)
        case ask.JoinAgent(agent=joined, prefix=prefix):
            _check_name(joined, "/agent", limits)
            if prefix:
                canonical.check_identifier(prefix, member="/prefix", max_bytes=limits.key_bytes)
        case ask.SetMode():
            _check_mode(command, limits)
        case ask.OpenBoard(policy=policy) | ask.SetPolicy(policy=policy):
            _check_policy(policy, limits)
        case ask.RefuseProposal(reason=reason):
            _check_text(reason, "/reason", limits)
        case ask.AddRecord():
            return _prepare_record(command, name, limits)
        case ask.Check():
            return _prepare_check(command, name, limits)
        case ask.IssueCertificate(tool=tool):
            read_tool(tool, ("tool",))
        case ask.RaiseFormat() | ask.EndTurn() | ask.ReadProposals() | ask.AcceptProposal():
            pass
        case _:
            assert_never(command)
    return Prepared(command, _command_bytes(name, canonical.encode(command)))


def _command_bytes(name: str, body: bytes) -> bytes:
    return b'{"body":%b,"operation":"%b"}' % (body, name.encode())


def _prepare_writes(
    command: ask.WriteBatch | ask.Propose, name: str, writes: list[ask.Write], agent: str, limits: Limits
) -> Prepared:
    if not writes:
        raise Malformed("the batch is empty: send at least one write", member="/writes", limit=1)
    if len(writes) > limits.writes_per_batch:
        raise TooLarge(
            f"{len(writes)} writes in one batch; at most {limits.writes_per_batch} go together",
            member="/writes",
            limit=limits.writes_per_batch,
        )
    prepared: list[PreparedWrite] = []
    pieces: list[bytes] = []
    seen: set[str] = set()
    for index, write in enumerate(writes):
        one, piece = _prepare_write(write, index, agent, limits)
        if one.key in seen:
            raise Malformed(
                f"two writes of {one.key!r} in one batch: which one counts? Send one of them",
                member=f"/writes/{index}/key",
                value=one.key,
            )
        seen.add(one.key)
        prepared.append(one)
        pieces.append(piece)
    turn = b"" if command.turn is None else b'"turn":%d,' % command.turn
    reason = b""
    if isinstance(command, ask.Propose):
        _check_text(command.reason, "/reason", limits)
        reason = b'"reason":%b,' % canonical.encode(command.reason) if command.reason else b""
    body = b'{%b%b"writes":[%b]}' % (reason, turn, b",".join(pieces))
    return Prepared(command, _command_bytes(name, body), tuple(prepared))


def _prepare_write(write: ask.Write, index: int, agent: str, limits: Limits) -> tuple[PreparedWrite, bytes]:
    key, revision = write.key, write.revision
    canonical.check_identifier(key, member=f"/writes/{index}/key", max_bytes=limits.key_bytes)
    if revision is UNSET:
        number = 0
    else:
        number = revision
        if type(revision) is not int or not 1 <= revision <= MAX_INTEGER:
            raise Malformed(
                f"revision {revision} of {key!r}: a revision is an integer from 1 to {MAX_INTEGER}, "
                "one above the revision that you read",
                member=f"/writes/{index}/revision",
                limit=MAX_INTEGER,
                value=revision,
            )
    raw = _encode_value(write, index, limits)
    confidence = b"" if write.confidence is None else _encode_confidence(write.confidence, index)
    if write.basis is not None:
        _check_basis(write.basis, f"/writes/{index}/basis", limits)
    payload = canonical.payload_hash(agent, key, number, raw, write.deleted, confidence or None).hex()
    if write.payload_hash is not None and write.payload_hash.lower() != payload:
        raise PayloadMismatch(
            f"the payload of {key!r} hashes to {payload}, not to what was sent along: damaged on the way? "
            "Send it again",
            member=f"/writes/{index}/payload_hash",
            value=write.payload_hash,
        )
    basis = b"" if write.basis is None else b'"basis":%b,' % canonical.encode(write.basis)
    piece = b'{%b%b%b"key":%b,%b"value":%b}' % (
        basis,
        b'"confidence":%b,' % confidence if confidence else b"",
        b'"deleted":true,' if write.deleted else b"",
        _quoted(key),
        b"" if revision is UNSET else b'"revision":%d,' % number,
        raw,
    )
    return (
        PreparedWrite(
            key,
            None if revision is UNSET else number,
            write.value,
            raw,
            payload,
            None if write.confidence is None else write.confidence + 0.0,  # 1 is 1.0, and -0.0 is 0.0
            write.deleted,
            write.basis,
        ),
        piece,
    )


def _prepare_record(command: ask.AddRecord, name: str, limits: Limits) -> Prepared:
    members = command.record
    # Record, predicate and its parts: what is left of the depth that a command may have.
    raw = canonical.encode(members, depth=limits.json_depth - 1, member="/record")
    if len(raw) > limits.record_bytes:
        raise TooLarge(
            f"the record has {len(raw)} bytes; at most {limits.record_bytes} are stored",
            member="/record",
            limit=limits.record_bytes,
        )
    if "seq" in members:
        raise Malformed(
            "the seq of a record is that of its event: leave it out",
            member="/record/seq",
            value=members["seq"],
        )
    if "id" in members:
        _check_record_id(members["id"], limits)
    given = canonical.parse_exact(raw)
    known = {"id": _UNNAMED, "seq": 0} | ({"approver": _UNNAMED} if _is_approval(given) else {})
    record = read_record(known | given, ("record",))
    return Prepared(command, _command_bytes(name, canonical.encode(command)), record=record)


def _is_approval(given: dict[str, Any]) -> bool:
    return given.get("kind") == Approval.KIND and given.get("version", 1) in range(1, Approval.VERSION + 1)


_UNNAMED = "-"
"""What the board fills in where the author leaves it out."""

_RESERVED = re.compile("(?:record|entry|proposal|certificate|check):[0-9]+")


def _check_record_id(name: object, limits: Limits) -> None:
    if not isinstance(name, str):
        raise Malformed("an id is a string", member="/record/id", value=name)
    _check_name(name, "/record/id", limits)
    if _RESERVED.fullmatch(name):
        raise Malformed(
            f"the id {name!r} is one that the board gives; name the record otherwise, or leave the id out",
            member="/record/id",
            value=name,
        )


def _prepare_check(command: ask.Check, name: str, limits: Limits) -> Prepared:
    read_tool(command.tool, ("tool",))
    raw = canonical.encode(command.params, depth=limits.json_depth - 1, member="/params")
    params = canonical.parse_exact(raw)
    for param in params:
        read_name(param, ("params", param))
    if command.basis is not None:
        _check_basis(command.basis, "/basis", limits)
    return Prepared(command, _command_bytes(name, canonical.encode(command)), params=params, raw=raw)


def _encode_value(write: ask.Write, index: int, limits: Limits) -> bytes:
    member = f"/writes/{index}/value"
    if write.deleted and write.value is not None:
        raise Malformed(f"deleting {write.key!r} takes no value; leave it out", member=member)
    # Batch, list and write are three of the levels that a command may have.
    raw = canonical.encode(write.value, depth=limits.json_depth - 3, member=member)
    if len(raw) > limits.value_bytes:
        raise TooLarge(
            f"the value of {write.key!r} has {len(raw)} bytes; at most {limits.value_bytes} are stored. "
            "Store a reference to it",
            member=member,
            limit=limits.value_bytes,
        )
    return raw


def _encode_confidence(confidence: float, index: int) -> bytes:
    if type(confidence) not in (int, float) or not 0 <= confidence <= 1:
        raise Malformed(
            f"confidence {confidence!r}: a number from 0 to 1",
            member=f"/writes/{index}/confidence",
            limit=1,
            value=confidence,
        )
    return canonical.encode(confidence)


def _check_basis(basis: dict[str, int], member: str, limits: Limits) -> None:
    if len(basis) > limits.reads_per_command:
        raise TooLarge(
            f"a basis of {len(basis)} keys; at most {limits.reads_per_command}",
            member=member,
            limit=limits.reads_per_command,
        )
    for key, revision in basis.items():
        canonical.check_identifier(key, member=member, max_bytes=limits.key_bytes)
        if type(revision) is not int or not 0 <= revision <= MAX_INTEGER:
            raise Malformed(
                f"basis revision {revision!r} of {key!r}: an integer from 0 to {MAX_INTEGER}",
                member=member + canonical.pointer([key]),
                limit=MAX_INTEGER,
                value=revision,
            )


def _check_read(command: ask.Read, limits: Limits) -> None:
    if command.all + (command.keys is not None) + (command.records is not None) != 1:
        raise Malformed(
            'name one of "keys", "all": true and "records": one, and no more than one', member="/keys"
        )
    if command.all or command.records == "all":
        _check_page(command, limits)
        return
    if command.cursor is not None or command.limit is not None:
        raise Malformed('"cursor" and "limit" go with "all": true and "records": "all"', member="/cursor")
    if command.keys is None:
        _check_count(command.records or [], "/records", limits.reads_per_command, least=1)
        _check_names(command.records or [], "/records", limits)
        return
    _check_count(command.keys, "/keys", limits.reads_per_command, least=1)
    for index, key in enumerate(command.keys):
        canonical.check_identifier(key, member=f"/keys/{index}", max_bytes=limits.key_bytes)


def _check_page(command: ask.Read, limits: Limits) -> None:
    if command.cursor is not None:
        canonical.check_identifier(command.cursor, member="/cursor", max_bytes=limits.key_bytes + 64)
    if command.limit is not None and not 1 <= command.limit <= limits.page_entries:
        raise Malformed(
            f"limit {command.limit}: a page has 1 to {limits.page_entries} entries",
            member="/limit",
            limit=limits.page_entries,
            value=command.limit,
        )


def _check_compact(command: ask.Compact, limits: Limits) -> None:
    if command.kept is not None:
        _check_count(command.kept, "/kept", limits.kept_records, least=0)
        _check_names(command.kept, "/kept", limits)
    if command.agents is not None:
        _check_count(command.agents, "/agents", limits.agents_named, least=1)
        _check_names(command.agents, "/agents", limits)
    if command.summary_digest is not None:
        _check_name(command.summary_digest, "/summary_digest", limits)


def _check_say(command: ask.Say, limits: Limits) -> None:
    if not command.text:
        raise Malformed("the message is empty", member="/text", limit=1)
    _check_text(command.text, "/text", limits)
    _check_count(command.recipients, "/recipients", limits.agents_named, least=0)
    _check_names(command.recipients, "/recipients", limits)


def _check_mode(command: ask.SetMode, limits: Limits) -> None:
    _check_text(command.why, "/why", limits)
    if command.coordinator is not None:
        _check_name(command.coordinator, "/coordinator", limits)
        if command.mode == "open":
            raise Malformed('mode "open" has no coordinator; leave it out', member="/coordinator")


def _check_policy(policy: PolicyPatch | None, limits: Limits) -> None:
    if policy is not None and isinstance(policy.coordinator, str):
        _check_name(policy.coordinator, "/policy/coordinator", limits)


def _check_count(items: list[Any], member: str, most: int, *, least: int) -> None:
    if len(items) < least:
        raise Malformed(f"{member[1:]} is empty: name at least {least}", member=member, limit=least)
    if len(items) > most:
        raise TooLarge(f"{len(items)} items in {member[1:]}; at most {most}", member=member, limit=most)


def _check_names(names: Iterable[str], member: str, limits: Limits) -> None:
    for index, name in enumerate(names):
        _check_name(name, f"{member}/{index}", limits)


def _check_name(name: str, member: str, limits: Limits) -> None:
    canonical.check_identifier(name, member=member, max_bytes=limits.identifier_bytes)


def _check_text(text: str, member: str, limits: Limits) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.text_bytes:
        raise TooLarge(
            f"{member[1:]} has {size} bytes; at most {limits.text_bytes}",
            member=member,
            limit=limits.text_bytes,
        )
