#!/usr/bin/env python3
"""Verifies a log of blackboard events, or a proof about one, with nothing but Python's standard library.

    verify_log.py log LOG.jsonl [--checkpoint FILE]...
    verify_log.py event EVENT.json --proof FILE
    verify_log.py growth --proof FILE --since FILE

A log is one event a line, as `blackboard log --json` prints it and GET .../events answers as NDJSON. The hash
of every body is made anew from its canonical JSON (RFC 8785), the hash of every event from its envelope and
the event before it, and the root of the Merkle tree over all of them as RFC 6962 has it; a checkpoint is held
against that root. Proofs are those that `blackboard audit prove` makes.

The signature under a checkpoint is NOT checked: the standard library cannot. `-` is standard input. Ends with
0 where everything fits, 5 where something does not, 2 for what cannot be read.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

TAG = b"blackboard/event/1\0"
ABSENT = b"\xff\xff\xff\xff"
GENESIS = bytes(32)
TLOG_PROOF = "c2sp.org/tlog-proof@v1"

FIELDS: tuple[tuple[str, type, bool], ...] = (
    ("board", str, True),
    ("seq", int, True),
    ("kind", str, True),
    ("version", int, True),
    ("actor", str, True),
    ("turn", int, False),
    ("command_id", str, True),
    ("request_digest", bytes, False),
    ("key", str, False),
    ("revision", int, False),
    ("recorded_at", int, True),
    ("body_digest", bytes, True),
)
"""The envelope in the order in which it is hashed: name, type (bytes are hex digits), always there."""


class WrongError(Exception):
    """Something does not fit."""


class UnreadableError(Exception):
    """Something is not what it should be a file of."""


# ---- canonical JSON, RFC 8785


def canonical(value: Any) -> str:
    """The one text of a JSON value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


def number(value: float) -> str:
    """A double as ECMAScript writes it; Python finds the same digits and sets them otherwise."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


# ---- one event


def read_event(line: str, where: str) -> dict[str, Any]:
    """The members of an event, each of its type."""
    try:
        event = json.loads(line, parse_constant=_no_constant, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{where}: not JSON: {error}") from error
    if not isinstance(event, dict):
        raise UnreadableError(f"{where}: no event")
    for name, kind, needed in (*FIELDS, ("salt", bytes, False), ("hash", bytes, True)):
        value = event.get(name)
        if value is None and not needed:
            continue
        text = str if kind is bytes else kind
        if not isinstance(value, text) or isinstance(value, bool):
            raise UnreadableError(f"{where}: its {name} is {value!r}")
        if kind is bytes:
            try:
                event[name] = bytes.fromhex(str(value))
            except ValueError as error:
                raise UnreadableError(f"{where}: its {name} is {value!r}, no hex digits") from error
    return event


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member stands there twice, and readers take one or the other")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def check_event(event: dict[str, Any], previous: bytes) -> None:
    """Make both digests of an event anew."""
    seq, body, salt = event["seq"], event.get("body"), event.get("salt")
    if (body is None) != (salt is None):
        raise WrongError(f"event {seq}: of body and salt only one is gone")
    try:
        if salt is not None and sha256(salt + canonical(body).encode()).digest() != event["body_digest"]:
            raise WrongError(f"event {seq}: its body is not the one that it was stored with")
        hashed = sha256(TAG + previous + b"".join(frame(event.get(name)) for name, _, _ in FIELDS)).digest()
    except (UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise WrongError(f"event {seq}: no board stores this: {error}") from error
    if hashed != event["hash"]:
        raise WrongError(f"event {seq}: its hash does not fit its envelope and the event before it")


def frame(value: str | int | bytes | None) -> bytes:
    """A member of the envelope behind its length, which tells where it ends."""
    if value is None:
        return ABSENT
    if isinstance(value, int):
        data = value.to_bytes(8, "big", signed=True)
    else:
        data = value.encode() if isinstance(value, str) else value
    return len(data).to_bytes(4, "big") + data


# ---- the Merkle tree, RFC 6962 and RFC 9162


def node(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\x01" + left + right).digest()


class Root:
    """The root of a growing tree: full subtrees as (leaves, hash), the largest first."""

    def __init__(self) -> None:
        self.full: list[tuple[int, bytes]] = []

    def add(self, leaf: bytes) -> None:
        """Add a leaf, and join what is of one size."""
        self.full.append((1, sha256(b"\x00" + leaf).digest()))
        while len(self.full) > 1 and self.full[-1][0] == self.full[-2][0]:
            (count, right), (_, left) = self.full.pop(), self.full.pop()
            self.full.append((2 * count, node(left, right)))

    def value(self) -> bytes:
        """The root over the leaves so far."""
        if not self.full:
            return sha256().digest()
        found = self.full[-1][1]
        for _, left in reversed(self.full[:-1]):
            found = node(left, found)
        return found


def included(leaf: bytes, index: int, size: int, proof: list[bytes], root: bytes) -> bool:
    """RFC 9162, section 2.1.3.2."""
    if not index < size:
        return False
    fn, sn, found = index, size - 1, sha256(b"\x00" + leaf).digest()
    for sibling in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            found = node(sibling, found)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            found = node(found, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and found == root


def grown(first: int, second: int, proof: list[bytes], first_root: bytes, second_root: bytes) -> bool:
    """RFC 9162, section 2.1.4.2; nothing has to be proved of the same tree, nor of an empty one."""
    if first in {0, second}:
        return not proof and first_root == (second_root if first else sha256().digest())
    if first > second or not proof:
        return False
    if first & (first - 1) == 0:
        proof = [first_root, *proof]
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    earlier = later = proof[0]
    for sibling in proof[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            earlier, later = node(sibling, earlier), node(sibling, later)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            later = node(later, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and earlier == first_root and later == second_root


# ---- checkpoints and proofs as text


class Checkpoint(NamedTuple):
    """The log of this board had so many events, with this root."""

    board: str
    size: int
    root: bytes


def read_checkpoint(text: str, where: str) -> Checkpoint:
    """The checkpoint in a signed note; its signatures are not looked at."""
    body, blank, _ = text.rpartition("\n\n")
    lines = body.split("\n")
    if not blank or len(lines) < 3:
        raise UnreadableError(f"{where}: no checkpoint")
    origin, size, root = lines[:3]
    if not origin.startswith("blackboard/"):
        raise UnreadableError(f"{where}: {origin!r} is no log of a board")
    board = unquote(origin.removeprefix("blackboard/"))
    return Checkpoint(board, whole(size, where), decoded(root, where))


def read_proof(text: str, where: str) -> tuple[list[str], list[bytes], Checkpoint]:
    """What stands before the hashes of a proof, the hashes, and the checkpoint that it is against."""
    head, blank, rest = text.partition("\n\n")
    lines = head.split("\n")
    if not blank:
        raise UnreadableError(f"{where}: no proof")
    first = 3 if lines[0] == TLOG_PROOF else 1
    return lines[:first], [decoded(line, where) for line in lines[first:]], read_checkpoint(rest, where)


def decoded(text: str, where: str) -> bytes:
    """32 bytes in Base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if len(data) != 32 or base64.b64encode(data).decode() != text:
        raise UnreadableError(f"{where}: {text!r} is no hash in Base64")
    return data


def whole(text: str, where: str) -> int:
    """A number as it is written, without zeros before it."""
    if not (text.isascii() and text.isdigit()) or str(int(text[:20])) != text:
        raise UnreadableError(f"{where}: {text!r} is no number")
    return int(text)


# ---- the three things to verify


def verify_log(log: str, checkpoints: list[str]) -> str:
    """A whole log, against any number of checkpoints."""
    kept = sorted((read_checkpoint(read(name), name) for name in checkpoints), key=lambda one: one.size)
    tree, previous, seq, gone, board = Root(), GENESIS, 0, 0, None
    for line in lines_of(log):
        event = read_event(line, f"{log}, line {seq + 1}")
        seq, board = seq + 1, event["board"] if board is None else board
        if event["seq"] != seq or event["board"] != board:
            raise WrongError(f"event {seq} of board {board!r} is missing: {event['board']!r}, {event['seq']}")
        check_event(event, previous)
        previous = event["hash"]
        gone += event.get("body") is None
        tree.add(previous)
        while kept and kept[0].size == seq:
            hold(kept.pop(0), board, tree.value())
    if board is None:
        raise UnreadableError(f"{log}: no events")
    if kept:
        raise WrongError(f"a checkpoint has size {kept[0].size}, and the log ends with event {seq}")
    root = base64.b64encode(tree.value()).decode()
    left = f"\n{gone} without a body, which no hash misses" if gone else ""
    return f"board {board}: {seq} events\nhash {previous.hex()}\nroot {root}{left}"


def hold(kept: Checkpoint, board: str, root: bytes) -> None:
    """Hold a checkpoint against the log at its size."""
    if kept.board != board:
        raise WrongError(f"the log is of board {board!r}, and a checkpoint of {kept.board!r}")
    if kept.root != root:
        raise WrongError(f"events 1 to {kept.size} are not those of the checkpoint of size {kept.size}")


def verify_event(event_file: str, proof_file: str) -> str:
    """One event, by a proof that it is in a log."""
    event = read_event(read(event_file), event_file)
    head, hashes, checkpoint = read_proof(read(proof_file), proof_file)
    if len(head) != 3 or not (head[1].startswith("extra ") and head[2].startswith("index ")):
        raise UnreadableError(f"{proof_file}: this proves no event")
    previous = decoded(head[1].removeprefix("extra "), proof_file)
    index = whole(head[2].removeprefix("index "), proof_file)
    if (event["board"], event["seq"]) != (checkpoint.board, index + 1):
        raise WrongError(f"the proof is about event {index + 1} of board {checkpoint.board!r}")
    if event.get("body") is None:
        raise WrongError(f"event {event['seq']}: its body is gone, so nobody can tell whether it is this one")
    check_event(event, previous)
    if not included(event["hash"], index, checkpoint.size, hashes, checkpoint.root):
        raise WrongError(f"event {event['seq']} is not in the log of the checkpoint")
    return f"board {checkpoint.board}: event {event['seq']} of {checkpoint.size}"


def verify_growth(proof_file: str, since_file: str) -> str:
    """Two checkpoints, by a proof that the later log goes on from the earlier one."""
    since = read_checkpoint(read(since_file), since_file)
    head, hashes, checkpoint = read_proof(read(proof_file), proof_file)
    if len(head) != 1 or not head[0].startswith("old "):
        raise UnreadableError(f"{proof_file}: this proves no growth")
    if (since.board, since.size) != (checkpoint.board, whole(head[0].removeprefix("old "), proof_file)):
        raise WrongError("the proof is about another earlier checkpoint")
    if not grown(since.size, checkpoint.size, hashes, since.root, checkpoint.root):
        raise WrongError(f"the log of {checkpoint.size} events does not go on from the one of {since.size}")
    return f"board {checkpoint.board}: {since.size} events, then {checkpoint.size}"


# ---- the command


def lines_of(name: str) -> Iterator[str]:
    """The lines of a file, one after another."""
    if name == "-":
        yield from (line.decode() for line in sys.stdin.buffer)
        return
    with open(name, encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - one library less to know
        yield from file


def read(name: str) -> str:
    """The text of a file."""
    return "".join(lines_of(name))


def main(arguments: list[str]) -> int:
    """Verify what is named; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="verify_log.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    log = modes.add_parser("log", help="a whole log")
    log.add_argument("log", metavar="LOG")
    log.add_argument("--checkpoint", action="append", default=[], metavar="FILE")
    event = modes.add_parser("event", help="one event, by a proof of inclusion")
    event.add_argument("event", metavar="EVENT")
    event.add_argument("--proof", required=True, metavar="FILE")
    growth = modes.add_parser("growth", help="two checkpoints, by a proof of consistency")
    growth.add_argument("--proof", required=True, metavar="FILE")
    growth.add_argument("--since", required=True, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        if given.mode == "log":
            print(verify_log(given.log, given.checkpoint))
        elif given.mode == "event":
            print(verify_event(given.event, given.proof))
        else:
            print(verify_growth(given.proof, given.since))
    except WrongError as error:
        print(f"WRONG: {error}", file=sys.stderr)
        return 5
    except (UnreadableError, OSError, UnicodeDecodeError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
