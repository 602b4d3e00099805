"""Digests and the chain. The constants here are the format: a log written once must verify for ever."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blackboard.canonical import GENESIS, body_digest, chain, digest, encode, payload_hash, request_digest

ROW: tuple[Any, ...] = (
    "release-42",
    7,
    "entry.written",
    1,
    "agent:executor",
    3,
    "0192f3c0-7b1d-7c3e-9f3a-1b2c3d4e5f60",
    bytes(range(32)),
    "deploy/äpi",
    2,
    1_760_000_000_000_000,
    bytes(range(32, 64)),
)
BARE: tuple[Any, ...] = (
    "b",
    1,
    "board.opened",
    1,
    "operator:ops",
    None,
    None,
    None,
    None,
    None,
    0,
    bytes(32),
)


def framed(previous: bytes, row: tuple[Any, ...]) -> bytes:
    """The format, written a second time and as plainly as possible."""
    out = b"blackboard/event/1\0" + previous
    for field in row:
        if field is None:
            out += b"\xff\xff\xff\xff"
            continue
        raw = field
        if isinstance(field, int):
            raw = field.to_bytes(8, "big", signed=True)
        elif isinstance(field, str):
            raw = field.encode()
        out += len(raw).to_bytes(4, "big") + raw
    return out


def unframed(raw: bytes) -> list[bytes | None]:
    """The fields, read back from nothing but the bytes."""
    rest = raw[len(b"blackboard/event/1\0") + 32 :]
    fields: list[bytes | None] = []
    while rest:
        length, rest = int.from_bytes(rest[:4], "big"), rest[4:]
        if length == 2**32 - 1:
            fields.append(None)
        else:
            fields.append(rest[:length])
            rest = rest[length:]
    return fields


texts = st.one_of(st.text("ab\0", max_size=3), st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
numbers = st.one_of(st.integers(0, 3), st.integers(-(2**53) + 1, 2**53 - 1))
digests = st.binary(min_size=32, max_size=32)
rows = st.tuples(
    texts,
    numbers,
    texts,
    numbers,
    texts,
    st.none() | numbers,
    st.none() | texts,
    st.none() | digests,
    st.none() | texts,
    st.none() | numbers,
    numbers,
    digests,
)


def test_the_chain_does_not_change() -> None:
    first = chain(GENESIS, *BARE)
    assert GENESIS.hex() == 32 * "00"
    assert first.hex() == "5bcfd992bdf6172b6bbe3fd33d93f32d96d52381d27493fa199194608d80d258"
    assert chain(first, *ROW).hex() == "adafcb67e8c64a7db1a5f9796883ae835427bae6c73daa9c0ed19b6a77dd3bc6"


@given(digests, rows)
def test_the_chain_hashes_every_field_with_its_length(previous: bytes, row: tuple[Any, ...]) -> None:
    raw = framed(previous, row)
    assert chain(previous, *row) == sha256(raw).digest()
    assert [field is None for field in unframed(raw)] == [field is None for field in row]
    assert framed(previous, tuple(unframed(raw))) == raw


@given(rows, rows)
def test_two_envelopes_never_hash_alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert (chain(GENESIS, *one) == chain(GENESIS, *other)) is (one == other)


@given(rows, st.integers(0, 11), rows)
@example((*ROW[:6], None, *ROW[7:]), 6, (*ROW[:6], "", *ROW[7:]))
@example((*ROW[:8], None, *ROW[9:]), 8, (*ROW[:8], "", *ROW[9:]))
@example((*ROW[:5], None, *ROW[6:]), 5, (*ROW[:5], 0, *ROW[6:]))
def test_no_field_can_change_unseen(row: tuple[Any, ...], field: int, other: tuple[Any, ...]) -> None:
    changed = (*row[:field], other[field], *row[field + 1 :])
    assert (chain(GENESIS, *row) == chain(GENESIS, *changed)) is (row == changed)
    assert chain(b"\1" * 32, *row) != chain(GENESIS, *row)


@given(
    agent=texts,
    key=texts,
    revision=st.integers(0, 2**53 - 1),
    value=st.one_of(st.none(), texts, numbers, st.dictionaries(texts, numbers, max_size=3)),
    deleted=st.booleans(),
    confidence=st.none() | st.floats(0, 1),
)
def test_the_payload_hash_is_that_of_the_canonical_members(
    agent: str, key: str, revision: int, value: Any, deleted: bool, confidence: float | None
) -> None:
    members = {"agent": agent, "key": key, "revision": revision, "value": value}
    if deleted:
        members["deleted"] = True
    if confidence is not None:
        members["confidence"] = confidence
    written = None if confidence is None else encode(confidence)
    hashed = payload_hash(agent, key, revision, encode(value), deleted, written)
    assert hashed == digest(encode(members))


@pytest.mark.parametrize(
    ("arguments", "hexadecimal"),
    [
        (
            ("executor", "task/B", 4, b'{"status":"failed"}'),
            "bedc3e82a7068699faca299c07717a9ff471261be5d274084b571ebd47a35167",
        ),
        (
            ("executor", "task/B", 5, b"null", True),
            "9d63d1e4f8ac7ec1dfce5ec99c23f71e443f271189bf214ca2fb4cece233cd74",
        ),
        (
            ("executör", "task/\n", 1, b"[1,2]", False, b"0.75"),
            "e596f4774eb5d820762bebcd23f2afc97f382d04350a6ea0c0d65e02d9516ba5",
        ),
    ],
)
def test_the_payload_hash_does_not_change(arguments: tuple[Any, ...], hexadecimal: str) -> None:
    assert payload_hash(*arguments).hex() == hexadecimal


def test_a_payload_hash_is_computed_with_any_json_library() -> None:
    members = {"agent": "executor", "key": "task/B", "revision": 4, "value": {"status": "failed"}}
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    assert sha256(text.encode()).digest() == payload_hash("executor", "task/B", 4, b'{"status":"failed"}')


@given(st.binary(min_size=16, max_size=16), st.binary(max_size=20))
def test_salted_digests_are_sha256_over_salt_and_bytes(salt: bytes, raw: bytes) -> None:
    expected = sha256(salt + raw).digest()
    assert body_digest(salt, raw) == request_digest(salt, raw) == digest(salt, raw) == expected


def test_a_digest_of_nothing_is_that_of_no_bytes() -> None:
    assert digest() == digest(b"", b"") == sha256().digest()
