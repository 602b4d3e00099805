"""Signed notes: what is written can be read and verified, and nothing else passes for it."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from blackboard.audit import note
from blackboard.audit.note import Key, Note, Signature
from blackboard.errors import IntegrityFailure, Malformed

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
NAME = "blackboard/release-42"
TEXT = "one\n\ntwo\n"
KEY = Key(NAME, PRIVATE.public_key())
WRITTEN = note.encode(note.sign(TEXT, PRIVATE, NAME)).encode()


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def test_a_note_is_its_text_a_blank_line_and_a_line_for_each_signature() -> None:
    """Made by hand here, byte for byte as C2SP describes it."""
    key_id = sha256(NAME.encode() + b"\n\x01" + raw(PRIVATE)).digest()[:4]
    signature = base64.b64encode(key_id + PRIVATE.sign(b"one\n\ntwo\n")).decode()
    assert WRITTEN.decode() == f"one\n\ntwo\n\n— {NAME} {signature}\n"
    assert KEY.text == f"{NAME}+{key_id.hex()}+{base64.b64encode(bytes([1]) + raw(PRIVATE)).decode()}"


def test_what_was_signed_is_read_back_and_verifies() -> None:
    found = note.parse(WRITTEN)
    assert found.text == TEXT
    note.verify(found, KEY)


def test_signatures_of_other_keys_are_passed_over_and_those_of_known_ones_are_not() -> None:
    first, second = note.sign(TEXT, PRIVATE, NAME), note.sign(TEXT, OTHER, "witness.example/w1")
    both = note.parse(note.encode(Note(TEXT, second.signatures + first.signatures * 2)).encode())
    witness = Key("witness.example/w1", OTHER.public_key())
    note.verify(both, KEY)
    note.verify(both, witness)
    broken = Signature(NAME, KEY.id, bytes(64))
    with pytest.raises(IntegrityFailure, match="was changed"):
        note.verify(Note(TEXT, (*first.signatures, broken)), KEY)
    short = Signature(NAME, KEY.id, bytes(3))
    with pytest.raises(IntegrityFailure, match="was changed"):
        note.verify(Note(TEXT, (short,)), KEY)


def test_a_note_that_no_given_key_has_signed_is_refused_with_who_has() -> None:
    for stranger in (Key(NAME, OTHER.public_key()), Key("blackboard/other", PRIVATE.public_key())):
        with pytest.raises(Malformed, match=rf"signed by '{NAME}' \(key {KEY.id.hex()}\), and not by"):
            note.verify(note.parse(WRITTEN), stranger)


@given(st.integers(0, len(WRITTEN) * 8 - 1))
def test_no_bit_of_a_note_can_be_changed(bit: int) -> None:
    changed = bytearray(WRITTEN)
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises((Malformed, IntegrityFailure)):
        note.verify(note.parse(bytes(changed)), KEY)


LINE = WRITTEN.decode().splitlines()[-1]
BASE = LINE.split()[-1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no blank line"),
        (f"one\n{LINE}\n", "no blank line"),
        (f"\n\n{LINE}\n", "no blank line"),
        ("one\n\n", "does not end with a signature"),
        (f"one\n\n{LINE}", "does not end with a signature"),
        (f"one\n\n{LINE}\n ", "does not end with a signature"),
        (f"one\n\n{LINE}\r\n", "control character"),
        (f"one\ttwo\n\n{LINE}\n", "control character"),
        (f"one\n\n{LINE} x\n", "no signature line"),
        (f"one\n\n {LINE}\n", "no signature line"),
        (f"one\n\n{LINE.replace('—', '-')}\n", "no signature line"),
        (f"one\n\n— {BASE}\n", "no signature line"),
        (f"one\n\n—  {BASE}\n", "no signature line"),
        (f"one\n\n— a+b {BASE}\n", "no signature line"),
        (f"one\n\n— a\u00a0b {BASE}\n", "no signature line"),
        (f"one\n\n— a {BASE[:-1]}\n", "no signature line"),
        (f"one\n\n— a {BASE}====\n", "no signature line"),
        (f"one\n\n— a {BASE[:-2].rstrip('=')}B=\n", "no signature line"),
        ("one\n\n— a AAAAAA==\n", "no signature line"),
        ("one\n\n— a AAAAAB==\n", "no signature line"),
        ("one\n\n— a =\n", "no signature line"),
        ("one\n\n— a ä\n", "no signature line"),
        (f"one\n\n{'x' * note.MAX_BYTES}\n", "longer than"),
    ],
)
def test_what_is_no_note_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        note.parse(text.encode())


def test_bytes_that_are_no_utf_8_are_no_note() -> None:
    with pytest.raises(Malformed, match="not UTF-8"):
        note.parse(b"\xff" + WRITTEN)


def test_only_the_one_base64_text_stands_for_bytes() -> None:
    assert note.base64_bytes("AAA=") == b"\0\0"
    for other in ("AAB=", "AAA", "AAA=\n", "A A=", "AAA==", "AA_="):
        assert note.base64_bytes(other) is None


@given(st.binary(max_size=50))
def test_base64_goes_there_and_back(data: bytes) -> None:
    assert note.base64_bytes(note.base64_text(data)) == data


def test_a_key_is_read_in_every_form() -> None:
    pem = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for form in (KEY.text, f"{KEY.text}\n".encode(), raw(PRIVATE).hex(), raw(PRIVATE), pem, pem.decode()):
        found = note.read_key(form, NAME)
        assert (found.name, found.id) == (KEY.name, KEY.id)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "the public key is none"),
        (KEY.text.replace("release", "relaese"), "is damaged"),
        (KEY.text[:-5], "is damaged|holds no Ed25519 key"),
        (f"{NAME}+{KEY.id.hex()}+{base64.b64encode(bytes([2]) + raw(PRIVATE)).decode()}", "no Ed25519 key"),
        (Key("blackboard/other", PRIVATE.public_key()).text, "signs for 'blackboard/other', not for"),
    ],
)
def test_what_is_no_key_of_the_name_is_refused(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        note.read_key(text, NAME)
