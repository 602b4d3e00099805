"""The key file: made once, whole, for its owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from blackboard.config import Settings
from blackboard.errors import Malformed, Unavailable
from blackboard.gate.actions.signing import read_public_key
from blackboard.service.signing import Signer, load, load_or_make


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())


def put(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_key_is_made_on_first_use_and_is_the_same_ever_after(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    assert raw(load_or_make(path)) == raw(load_or_make(str(path))) == raw(load(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert list(tmp_path.iterdir()) == [path]


def test_the_mask_of_the_process_does_not_open_the_key_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        load_or_make(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_raw_key_is_read(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    assert raw(load_or_make(put(tmp_path / "key", raw(key)))) == raw(key)


def test_of_processes_that_start_together_all_get_the_one_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    program = (
        "import sys; sys.stdin.readline()\n"
        "from blackboard.service.signing import load_or_make\n"
        "print(load_or_make(sys.argv[1]).public_key().public_bytes_raw().hex())"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    found = {one.communicate("go\n", timeout=60)[0] for one in running}
    assert found == {load(path).public_key().public_bytes_raw().hex() + "\n"}
    assert list(tmp_path.iterdir()) == [path]


def test_whoever_comes_second_takes_the_first_ones_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "key", os.link

    def beaten(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        load_or_make(target)
        link(source, target)

    monkeypatch.setattr(os, "link", beaten)
    assert raw(load_or_make(path)) == raw(load(path))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = put(tmp_path / "key", raw(Ed25519PrivateKey.generate()), mode)
    with pytest.raises(Malformed, match=rf"mode {mode:04o}.*chmod 600") as caught:
        load_or_make(path)
    assert caught.value.member == "signing_key"


@pytest.mark.parametrize("content", [b"", b"not a key", b"x" * 31, b"x" * 33, b"\xff" * 5000])
def test_a_file_without_a_key_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "key", content)
    with pytest.raises(Malformed, match="neither a private key as PEM nor the 32 bytes"):
        load_or_make(path)
    assert path.read_bytes() == content


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(Malformed, match="another kind than Ed25519"):
        load_or_make(put(tmp_path / "key", other))


def test_a_key_behind_a_passphrase_is_refused(tmp_path: Path) -> None:
    locked = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    with pytest.raises(Malformed, match="passphrase"):
        load_or_make(put(tmp_path / "key", locked))


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="cannot be made: No such file or directory"):
        load_or_make(tmp_path / "missing" / "key")
    with pytest.raises(Malformed, match="cannot be read: No such file or directory"):
        load(tmp_path / "key")
    with pytest.raises(Malformed, match="cannot be read: Is a directory"):
        load_or_make(tmp_path)


def test_a_pipe_is_no_key_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(Malformed, match="is no file"):
        load_or_make(tmp_path / "pipe")


def test_a_new_key_is_told_because_it_verifies_nothing_that_was_signed_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="blackboard.service")
    load_or_make(tmp_path / "key")
    load_or_make(tmp_path / "key")
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["made a new signing key"]


# ---- the key of a service


def test_a_service_makes_its_key_in_the_state_directory_when_it_is_first_asked_for_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    signer = Signer(Settings(state_dir=str(state)))
    assert not state.exists()
    told = signer.public()
    assert raw(load(state / "signing.key")) == raw(signer.key)
    assert read_public_key(told.public_key) == read_public_key(told.pem) == signer.key.public_key()
    assert Signer(Settings(state_dir=str(state))).public() == told


def test_a_service_takes_the_key_that_the_settings_name(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    signer = Signer(Settings(signing_key=str(put(tmp_path / "mine.key", raw(key)))))
    assert raw(signer.key) == raw(key)


def test_a_service_whose_key_cannot_be_used_says_why(tmp_path: Path) -> None:
    signer = Signer(Settings(signing_key=str(put(tmp_path / "open.key", b"x" * 32, 0o644))))
    with pytest.raises(Unavailable, match=r"nothing can be signed: .*`chmod 600"):
        signer.public()
