"""Signed notes: a text, and lines that say who signed it. Source: C2SP `signed-note`, Ed25519 (type 1).

A note is read strictly and byte for byte: what two readers could take for two texts is refused. Its text
means nothing before a signature of a key that the reader brings has been verified.
"""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature

from blackboard.errors import IntegrityFailure, Malformed, shorten
from blackboard.gate.actions.signing import PrivateKey, PublicKey, raw_public_key, read_public_key

MAX_BYTES: Final = 1024 * 1024
"""The longest note that is read; it holds far more signatures than the 16 that any reader must take."""

_DASH: Final = "—"
_ED25519: Final = b"\x01"
_ID_BYTES: Final = 4
_VKEY: Final = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")


class Key(NamedTuple):
    """A public key under the name that it signs with."""

    name: str
    public: PublicKey

    @property
    def id(self) -> bytes:
        """The four bytes that, with the name, say which key made a signature. They prove nothing."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + raw_public_key(self.public)).digest()[
            :_ID_BYTES
        ]

    @property
    def text(self) -> str:
        """The key as verifiers of notes take it: name, id and key, joined by `+`."""
        return f"{self.name}+{self.id.hex()}+{base64_text(_ED25519 + raw_public_key(self.public))}"


class Signature(NamedTuple):
    """One line under a note; `key` is the id of the key that is said to have made it."""

    name: str
    key: bytes
    signature: bytes


class Note(NamedTuple):
    """A text, which ends with a newline, and what is said to be its signatures."""

    text: str
    signatures: tuple[Signature, ...]


def base64_text(data: bytes) -> str:
    """Standard Base64 (RFC 4648, section 4)."""
    return base64.b64encode(data).decode("ascii")


def base64_bytes(text: str) -> bytes | None:
    """The bytes that a Base64 text stands for; None where it is not the one text for them."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64_text(data) == text else None


def is_name(name: str) -> bool:
    """Whether keys may have this name: it is not empty, and holds no space of any kind and no `+`."""
    return bool(name) and "+" not in name and not any(char.isspace() for char in name)


def read_key(text: str | bytes, name: str) -> Key:
    """The key in the form of `Key.text`, under its own name, or in any that certificates are verified with.

    `name` is what the latter sign with. Raises `Malformed` for what is no key, or one of another name.
    """
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    found = _VKEY.fullmatch(shown.strip())
    if found is None:
        return Key(name, read_public_key(text))
    named, key_id, encoded = found.groups()
    raw = base64_bytes(encoded)
    if raw is None or raw[:1] != _ED25519 or len(raw) != 1 + 32:
        raise Malformed(f"{shorten(shown)} holds no Ed25519 key", member="public_key")
    key = Key(named, read_public_key(raw[1:]))
    if key.id.hex() != key_id:
        raise Malformed(f"{shorten(shown)} is damaged: name and key do not give its id", member="public_key")
    if named != name:
        raise Malformed(f"the public key signs for {shorten(named)}, not for {name}", member="public_key")
    return key


def sign(text: str, key: PrivateKey, name: str) -> Note:
    """Sign a text, which ends with a newline."""
    _check_text(text)
    assert is_name(name)
    signature = key.sign(text.encode())
    return Note(text, (Signature(name, Key(name, key.public_key()).id, signature),))


def encode(note: Note) -> str:
    """The note as it is written down."""
    lines = (f"{_DASH} {one.name} {base64_text(one.key + one.signature)}\n" for one in note.signatures)
    return f"{note.text}\n{''.join(lines)}"


def parse(data: bytes) -> Note:
    """Read a note; nothing of it is verified. Raises `Malformed`, saying what is wrong with it."""
    if len(data) > MAX_BYTES:
        raise _malformed(f"it is longer than {MAX_BYTES} bytes")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed("it is not UTF-8") from error
    _check_characters(whole)
    text, blank, lines = whole.rpartition("\n\n")
    if not blank or not text:
        raise _malformed("no blank line stands between a text and its signatures")
    if not lines.endswith("\n"):
        raise _malformed("it does not end with a signature and a newline")
    return Note(f"{text}\n", tuple(map(_signature, lines[:-1].split("\n"))))


def verify(note: Note, key: Key) -> None:
    """Accept a note that the key has signed.

    Raises `IntegrityFailure` where a signature that is said to be the key's is not what the key makes of the
    text, `Malformed` where there is none. Signatures of other keys are passed over.
    """
    own = [one for one in note.signatures if (one.name, one.key) == (key.name, key.id)]
    for one in own:
        try:
            key.public.verify(one.signature, note.text.encode())
        except InvalidSignature as error:
            raise IntegrityFailure(
                f"the signature of {key.name} under the note is not that of its text: one of both was changed"
            ) from error
    if not own:
        names = ", ".join(f"{shorten(one.name)} (key {one.key.hex()})" for one in note.signatures[:4])
        raise Malformed(
            f"the note is signed by {names}, and not by {key.name} (key {key.id.hex()}): name the public key "
            "that it was signed with",
            member="public_key",
        )


def _signature(line: str) -> Signature:
    dash, _, rest = line.partition(" ")
    name, space, encoded = rest.partition(" ")
    raw = base64_bytes(encoded)
    if dash != _DASH or not space or not is_name(name) or raw is None or len(raw) <= _ID_BYTES:
        raise _malformed(f"{shorten(line)} is no signature line (`{_DASH} NAME BASE64`)")
    return Signature(name, raw[:_ID_BYTES], raw[_ID_BYTES:])


def _check_text(text: str) -> None:
    assert text.endswith("\n")
    _check_characters(text)


def _check_characters(text: str) -> None:
    if any(char < " " and char != "\n" for char in text):
        raise _malformed("it holds a control character")


def _malformed(what: str) -> Malformed:
    return Malformed(f"this is no signed note: {what}", member="note")
