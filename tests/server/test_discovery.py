"""How local commands find the server: its token and its address in the state directory."""

import stat
from pathlib import Path

import msgspec
import pytest

from blackboard.errors import Malformed
from blackboard.server import (
    RunningServer,
    Tokens,
    ensure_operator_token,
    find_server,
    read_operator_token,
)
from blackboard.server.discovery import announce, retract
from blackboard.server.tokens import digest_of
from blackboard.store.contract import StoredToken
from blackboard.store.memory import MemoryStore

RUNNING = RunningServer(
    url="http://127.0.0.1:1", database="sqlite:///b.db", durability="full", pid=7, version="0.1.0"
)


async def test_the_operators_token_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    store = MemoryStore()
    path = await ensure_operator_token(tmp_path, store)
    assert path == tmp_path / "operator.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = read_operator_token(tmp_path)
    assert secret is not None
    assert path.read_text() == secret + "\n"
    principal = await Tokens(store).authenticate(secret.encode())
    assert (principal.actor, principal.boards) == ("operator:local", ("*",))


async def test_a_token_that_is_there_is_kept(tmp_path: Path) -> None:
    store = MemoryStore()
    await ensure_operator_token(tmp_path, store)
    first = read_operator_token(tmp_path)
    await ensure_operator_token(tmp_path, store)
    assert read_operator_token(tmp_path) == first
    assert len(await store.tokens()) == 1


async def test_databases_that_share_a_state_directory_share_the_token(tmp_path: Path) -> None:
    stores = [MemoryStore(), MemoryStore()]
    for store in (*stores, *stores):
        await ensure_operator_token(tmp_path, store)
    secret = read_operator_token(tmp_path)
    assert secret is not None
    for store in stores:
        assert (await Tokens(store).authenticate(secret.encode())).role == "operator"
        assert len(await store.tokens()) == 1


@pytest.mark.parametrize("ended", [{"revoked_at": 1}, {"expires_at": 1}])
async def test_a_token_that_has_ended_is_replaced(tmp_path: Path, ended: dict[str, int]) -> None:
    store = MemoryStore()
    await ensure_operator_token(tmp_path, store)
    old = read_operator_token(tmp_path)
    assert old is not None
    stored = await store.token(digest_of(old))
    assert stored is not None
    await store.put_token(StoredToken(stored.digest, msgspec.structs.replace(stored.reply, **ended)))
    await ensure_operator_token(tmp_path, store)
    new = read_operator_token(tmp_path)
    assert new is not None
    assert new != old
    assert (await Tokens(store).authenticate(new.encode())).role == "operator"
    with pytest.raises(Exception, match="revoked"):
        await Tokens(store).authenticate(old.encode())


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
async def test_a_token_that_others_could_read_is_replaced(tmp_path: Path, mode: int) -> None:
    store = MemoryStore()
    path = await ensure_operator_token(tmp_path, store)
    old = path.read_text().strip()
    path.chmod(mode)
    assert read_operator_token(tmp_path) is None
    await ensure_operator_token(tmp_path, store)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_operator_token(tmp_path) != old


@pytest.mark.parametrize("text", ["", "nonsense", "bb_short", "\xff"])
async def test_what_is_no_token_is_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / "operator.token"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    assert read_operator_token(tmp_path) is None
    await ensure_operator_token(tmp_path, MemoryStore())
    assert read_operator_token(tmp_path) is not None


async def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    await ensure_operator_token(tmp_path, MemoryStore())
    announce(tmp_path, RUNNING)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["operator.token", "server.json"]


def test_a_server_is_found_while_it_is_announced(tmp_path: Path) -> None:
    assert find_server(tmp_path) is None
    announce(tmp_path, RUNNING)
    assert find_server(tmp_path) == RUNNING
    retract(tmp_path, RUNNING)
    assert find_server(tmp_path) is None
    retract(tmp_path, RUNNING)


def test_a_server_that_ends_leaves_the_word_of_its_successor(tmp_path: Path) -> None:
    announce(tmp_path, RUNNING)
    successor = msgspec.structs.replace(RUNNING, pid=8)
    announce(tmp_path, successor)
    retract(tmp_path, RUNNING)
    assert find_server(tmp_path) == successor


@pytest.mark.parametrize("text", [b"", b"{", b"{}", b"[]", b"\xff", b'{"url":7}'])
def test_a_file_that_is_no_announcement_is_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "server.json").write_bytes(text)
    assert find_server(tmp_path) is None


def test_a_directory_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"cannot be written.*--state-dir"):
        announce(tmp_path / "none", RUNNING)


def test_a_database_name_may_hold_any_character(tmp_path: Path) -> None:
    running = msgspec.structs.replace(RUNNING, database="sqlite:////tmp/é\U0001f600.db")
    announce(tmp_path, running)
    assert find_server(tmp_path) == running
    assert (tmp_path / "server.json").stat().st_mode & 0o077 == 0
