"""Signatures: Ed25519 over canonical bytes behind a domain tag.

Deterministic: one key gives the same bytes one signature. Whoever verifies brings the public key; nothing
in a signed document is ever taken for one. The module holds no key and makes none.
"""

from __future__ import annotations

import re
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from blackboard.canonical import digest
from blackboard.errors import Malformed

PrivateKey = Ed25519PrivateKey
PublicKey = Ed25519PublicKey

TAG: Final = b"blackboard/certificate/1\0"
"""What stands before the signed bytes: a signature under it is good for nothing else."""

_HEX_KEY: Final = re.compile("[0-9a-f]{64}")
_HEX_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_KEY_BYTES: Final = 32
_LONGEST: Final = 1024


def sign(data: bytes, key: PrivateKey) -> str:
    """Return the signature of `data` in hex."""
    return key.sign(TAG + data).hex()


def verify(data: bytes, signature: str, key: PublicKey) -> bool:
    """Whether `signature`, in lower-case hex, is that of `data` by the holder of `key`."""
    if not _HEX_SIGNATURE.fullmatch(signature):
        return False
    try:
        key.verify(bytes.fromhex(signature), TAG + data)
    except InvalidSignature:
        return False
    return True


def read_public_key(key: PublicKey | bytes | str) -> PublicKey:
    """Return the key that is written down as PEM, as 64 lower-case hex digits or as 32 raw bytes.

    Raises `Malformed` for anything else, also for a PEM of another kind of key.
    """
    if isinstance(key, PublicKey):
        return key
    if type(key) is bytes and len(key) == _KEY_BYTES:
        return PublicKey.from_public_bytes(key)
    if type(key) is bytes or type(key) is str:
        found = _written(key)
        if found is not None:
            return found
        if "PRIVATE KEY" in str(key):
            what = "this is a private key: it signs, and stays where it is; verify with the public key"
            raise Malformed(what, member="public_key")
    raise Malformed(
        "the public key is none: give an Ed25519 key as PEM (`-----BEGIN PUBLIC KEY-----`), as 64 lower-case "
        "hex digits or as 32 bytes",
        member="public_key",
    )


def _written(key: bytes | str) -> PublicKey | None:
    raw = key.encode("utf-8", "replace") if isinstance(key, str) else key
    text = raw.strip().decode("ascii", "replace")
    if _HEX_KEY.fullmatch(text):
        return PublicKey.from_public_bytes(bytes.fromhex(text))
    if len(raw) > _LONGEST:
        return None
    try:
        found = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return found if isinstance(found, PublicKey) else None


def raw_public_key(key: PublicKey) -> bytes:
    """Return the 32 bytes of the key."""
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def key_id(key: PublicKey) -> str:
    """Return the name of a key: 16 hex digits of its digest. It tells keys apart and proves nothing."""
    return digest(raw_public_key(key)).hex()[:16]
