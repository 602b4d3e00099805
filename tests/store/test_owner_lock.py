"""One owner a file: a kernel record lock, which ends with its process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.errors import StoreBusy, Unavailable
from blackboard.store import open_store
from blackboard.store.sqlite.lock import OwnerLock
from tests.store.support import BOARD, filled

OWNER = """
import asyncio, sys
from blackboard.config import Settings
from blackboard.store import open_store

async def main():
    store = await open_store(sys.argv[1], Settings())
    print("owned", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(main())
"""

ASKER = """
import asyncio, sys
from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.store import open_store

async def main():
    try:
        store = await open_store(sys.argv[1], Settings())
        await store.close()
    except BlackboardError as error:
        return error.code
    return "owned"

print(asyncio.run(main()))
"""

FORKED = """
import os, sys
from pathlib import Path
from blackboard.errors import StoreBusy
from blackboard.store.sqlite.lock import OwnerLock

path = Path(sys.argv[1])
lock = OwnerLock.acquire(path)
child = os.fork()
if not child:
    lock.release()  # of the parent: does nothing here
    try:
        OwnerLock.acquire(path)
    except StoreBusy:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the file."""
    with started(OWNER, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
        yield process
        process.kill()


def started(script: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(path: Path) -> str:
    """What another process gets when it opens the file."""
    done = subprocess.run(
        [sys.executable, "-c", ASKER, str(path)], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()


async def test_a_second_process_is_told_what_to_use_instead(owner: subprocess.Popen[str], path: Path) -> None:
    with pytest.raises(StoreBusy, match=r"another process owns .*serve.*http://"):
        await open_store(str(path), Settings())
    assert owner.poll() is None


async def test_the_lock_ends_with_a_process_that_is_killed(owner: subprocess.Popen[str], path: Path) -> None:
    owner.send_signal(signal.SIGKILL)
    owner.wait(timeout=10)
    store = await open_store(str(path), Settings())
    await filled(store, 1)
    await store.close()


async def test_closing_lets_another_process_own_the_file(path: Path) -> None:
    store = await open_store(str(path), Settings())
    assert ask(path) == "store-busy"
    await store.close()
    assert ask(path) == "owned"


async def test_a_second_store_in_one_process_is_refused_and_leaves_the_lock(
    path: Path, tmp_path: Path
) -> None:
    store = await open_store(str(path), Settings())
    link = tmp_path / "link.db"
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(StoreBusy, match="this process"):
            await open_store(str(name), Settings())
    assert ask(path) == "store-busy"
    await store.close()


async def test_a_failed_opening_lets_go_of_the_lock(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be read as one " * 20)
    for _ in range(2):
        with pytest.raises(Exception, match="no SQLite database"):
            await open_store(str(path), Settings())


def test_a_forked_child_does_not_own_what_its_parent_owns(path: Path) -> None:
    with started(FORKED, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "7\n"
        with pytest.raises(StoreBusy):
            OwnerLock.acquire(path)
        process.kill()


def test_a_lock_is_released_once_and_taken_again(path: Path) -> None:
    first = OwnerLock.acquire(path)
    first.release()
    first.release()
    second = OwnerLock.acquire(path)
    second.release()


def test_a_lock_file_removed_by_hand_is_made_again(path: Path) -> None:
    lock = OwnerLock.acquire(path)
    lock.release()
    path.with_name("board.db.lock").unlink()
    OwnerLock.acquire(path).release()


def test_where_no_lock_file_can_be_made_nothing_is_opened(tmp_path: Path) -> None:
    (tmp_path / "board.db.lock").mkdir()
    with pytest.raises(Unavailable, match="cannot be made"):
        OwnerLock.acquire(tmp_path / "board.db")


async def test_the_owner_may_be_looked_over_the_shoulder(owner: subprocess.Popen[str], path: Path) -> None:
    reader = await open_store(str(path), Settings(), read_only=True)
    assert await reader.tip(BOARD) is None
    assert (await reader.check())["owner"] is False
    await reader.close()
    assert owner.poll() is None
