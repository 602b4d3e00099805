"""The private key that signs certificates: one file that only its owner reads, made on first use."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from pathlib import Path
from typing import Final, NoReturn

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from blackboard.config import SIGNING_KEY, Settings, make_state_dir
from blackboard.errors import Malformed, Unavailable
from blackboard.gate.actions.signing import key_id, raw_public_key
from blackboard.messages.verdicts import SigningKeyReply

__all__ = ["Signer", "load", "load_or_make"]

log = logging.getLogger("blackboard.service")

_RAW_BYTES: Final = 32
_MAX_BYTES: Final = 4096
_REPAIR_SECONDS: Final = 60  # somebody has to see to it


class Signer:
    """The signing key of one service: read, and made where there is none, when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key: Ed25519PrivateKey | None = None

    @property
    def key(self) -> Ed25519PrivateKey:
        """The private key. Raises `Unavailable` where there is none that can be used, saying why."""
        if self._key is None:
            try:
                self._key = load_or_make(self._place())
            except Malformed as error:
                told = f"nothing can be signed: {error.detail}"
                raise Unavailable(told, members={"retry_after": _REPAIR_SECONDS}) from error
        return self._key

    def public(self) -> SigningKeyReply:
        """What certificates are verified with. Raises `Unavailable`, as `key`."""
        key = self.key.public_key()
        pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        return SigningKeyReply(public_key=raw_public_key(key).hex(), pem=pem, key_id=key_id(key))

    def _place(self) -> Path:
        named = self._settings.signing_key
        return Path(named) if named is not None else make_state_dir(self._settings) / SIGNING_KEY


def load_or_make(path: str | Path) -> Ed25519PrivateKey:
    """Return the key in the file; where there is no file, make a key and put it there first.

    The file holds PEM (PKCS #8, no passphrase) or the 32 raw bytes. A new one is PEM, with mode 0600, and
    appears whole: of several processes that start together one makes the key and all return that one.
    Raises `Malformed` for a file that others can read, that holds no such key, or that cannot be read or
    made.
    """
    place = Path(path)
    try:
        if not place.exists():
            _make(place)
            log.info("made a new signing key, %s; what another key has signed verifies with that one", place)
    except OSError as error:
        _refuse(place, f"cannot be made: {error.strerror}; name another place for it", error)
    return load(place)


def load(path: str | Path) -> Ed25519PrivateKey:
    """Return the key in a file that exists. Raises `Malformed`, as `load_or_make`."""
    place = Path(path)
    try:
        raw = _private_bytes(place)
    except OSError as error:
        _refuse(place, f"cannot be read: {error.strerror}", error)
    return _key(raw, place)


def _private_bytes(place: Path) -> bytes:
    # Without waiting: a pipe, of which somebody may have made the file, would hold up the whole service.
    with os.fdopen(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        status = os.fstat(file.fileno())  # of the file that is read, not of what the name may mean by now
        if not stat.S_ISREG(status.st_mode):
            _refuse(place, "is no file; name a file that only its owner reads")
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            _refuse(
                place,
                f"can be read or changed by other users (mode {mode:04o}); whoever could read it can sign "
                f"certificates: make a new key, or, where nobody did, `chmod 600 {place}`",
            )
        return file.read(_MAX_BYTES + 1)


def _key(raw: bytes, place: Path) -> Ed25519PrivateKey:
    if len(raw) == _RAW_BYTES:
        return Ed25519PrivateKey.from_private_bytes(raw)
    try:
        found = load_pem_private_key(raw, password=None)
    except TypeError as error:
        _refuse(place, "is locked with a passphrase, which nobody types for a server; keep it without", error)
    except (ValueError, UnsupportedAlgorithm) as error:
        _refuse(place, "holds neither a private key as PEM nor the 32 bytes of one", error)
    if not isinstance(found, Ed25519PrivateKey):
        _refuse(place, f"holds a key of another kind than Ed25519 ({type(found).__name__})")
    return found


def _make(place: Path) -> None:
    fresh = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    beside = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
            file.flush()
            os.fsync(handle)
        # A link never replaces: whoever comes second finds the first one's key, whole.
        os.link(beside, place)
    except FileExistsError:
        pass
    finally:
        beside.unlink()


def _refuse(place: Path, what: str, cause: Exception | None = None) -> NoReturn:
    raise Malformed(f"the signing key {place} {what}", member="signing_key", value=str(place)) from cause
