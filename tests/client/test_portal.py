"""The loop behind the synchronous client: interrupts, threads, forks, forgotten closes."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

import blackboard
from blackboard.client import portal
from blackboard.client.portal import LoopThread, iterate, run, shared_loop
from blackboard.errors import Unavailable
from tests.client.live import LiveServer

T = TypeVar("T")


async def numbers(closed: threading.Event, count: int = 3) -> AsyncGenerator[int, None]:
    try:
        for number in range(count):
            yield number
        await asyncio.sleep(60)
    finally:
        closed.set()


def test_the_loop_is_shared_and_works_in_a_daemon_thread() -> None:
    loop = shared_loop()
    assert shared_loop() is loop
    assert loop._thread.daemon

    async def where() -> str:
        return threading.current_thread().name

    assert run(loop, where()) == "blackboard-client"


def test_an_iterator_left_early_closes_its_source() -> None:
    closed = threading.Event()
    items = iterate(shared_loop(), numbers(closed))
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]  # a generator
    assert closed.wait(5)


def test_a_forgotten_iterator_closes_its_source() -> None:
    closed = threading.Event()
    items = iterate(shared_loop(), numbers(closed))
    assert next(items) == 0
    del items
    assert closed.wait(5)


def test_an_iterator_that_ends_ends() -> None:
    async def two() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    assert list(iterate(shared_loop(), two())) == [1, 2]


def test_an_interrupt_in_the_middle_of_a_step_closes_the_source() -> None:
    closed = threading.Event()
    stepping = threading.Event()

    class InterruptedFuture(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            raise KeyboardInterrupt

    class Interrupted(LoopThread):
        def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
            future = super().submit(work)
            if not stepping.is_set():
                return future
            stepping.clear()
            time.sleep(0.05)  # the step has begun
            return InterruptedFuture()

    loop = Interrupted()
    try:
        items = iterate(loop, numbers(closed, 1))
        assert next(items) == 0
        stepping.set()
        with pytest.raises(KeyboardInterrupt):
            next(items)
        assert closed.wait(5)
    finally:
        loop.close()


def test_a_loop_that_has_ended_says_so_and_leaves_no_work_behind() -> None:
    loop = LoopThread()
    items = iterate(loop, numbers(threading.Event()))
    next(items)
    loop.close()
    loop.close()

    async def work() -> None:
        pass

    with pytest.raises((RuntimeError, Unavailable)):
        run(loop, work())
    items.close()  # type: ignore[attr-defined]  # a generator


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    code = """
        import os, sys, threading
        from blackboard.client.portal import run, shared_loop

        async def name():
            return threading.current_thread().name

        assert run(shared_loop(), name()) == "blackboard-client"
        child = os.fork()
        if child == 0:
            os._exit(0 if run(shared_loop(), name()) == "blackboard-client" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "")


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        # Python 3.12 and newer warn of a fork beside threads, which is what one of these tests is about.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


FORGOTTEN = {
    "embedded, sync": """
        import sys, blackboard
        board = blackboard.connect_sync(sys.argv[1], board="b", agent="a")
        board.write("k", 1, revision=1)
        events = board.follow()
        print(next(events).seq)
    """,
    "embedded, async": """
        import asyncio, sys, blackboard
        async def main():
            global board
            board = await blackboard.connect(sys.argv[1], board="b", agent="a")
            await board.write("k", 1, revision=1)
            async for event in board.follow():
                print(event.seq)
                break
        asyncio.run(main())
    """,
    "HTTP, sync": """
        import sys, blackboard
        board = blackboard.connect_sync(sys.argv[2], board="forgotten", token=sys.argv[3])
        board.open_board()
        events = board.follow()
        print(next(events).seq)
    """,
    "HTTP, async": """
        import asyncio, sys, blackboard
        async def main():
            global board
            board = await blackboard.connect(sys.argv[2], board="forgotten", token=sys.argv[3])
            await board.open_board()
            async for event in board.follow():
                print(event.seq)
                break
        asyncio.run(main())
    """,
    "HTTP, async, a local name": """
        import asyncio, sys, blackboard
        async def main():
            board = await blackboard.connect(sys.argv[2], board="forgotten", token=sys.argv[3])
            await board.open_board()
            print(1)
        asyncio.run(main())
    """,
    "HTTP, sync, a name that a thread resolves": """
        import sys, blackboard
        url = sys.argv[2].replace("127.0.0.1", "localhost")
        board = blackboard.connect_sync(url, board="forgotten", token=sys.argv[3])
        board.open_board()
        print(1)
    """,
    "HTTP, sync, a thread that still waits": """
        import sys, threading, blackboard
        board = blackboard.connect_sync(sys.argv[2], board="forgotten", token=sys.argv[3])
        board.open_board()
        def follow():
            for event in board.follow():
                print(event.seq, flush=True)
                told.set()
        told = threading.Event()
        threading.Thread(target=follow, daemon=True).start()
        told.wait()
    """,
}


@pytest.mark.parametrize("case", FORGOTTEN)
def test_a_forgotten_close_neither_hangs_nor_complains(
    case: str, tmp_path: Path, live_server: LiveServer
) -> None:
    began = time.monotonic()
    done = python(FORGOTTEN[case], str(tmp_path / "board.db"), live_server.url, live_server.token)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")
    assert time.monotonic() - began < 15


def test_one_board_serves_many_threads(tmp_path: Path) -> None:
    with (
        blackboard.connect_sync(str(tmp_path / "board.db"), board="b", agent="a") as board,
        ThreadPoolExecutor(8) as pool,
    ):
        acks = list(pool.map(lambda n: board.write(f"k{n}", n, revision=1), range(64)))
        assert sorted(ack.entries[0].seq for ack in acks) == list(range(2, 66))


def test_embedded_calls_run_in_the_loop_of_the_database_without_a_second_hop(tmp_path: Path) -> None:
    with blackboard.connect_sync(str(tmp_path / "board.db"), board="b", agent="a") as board:
        before = portal._shared._thread
        board.write("k", 1, revision=1)
        assert portal._shared._thread is before
        assert board._portal is board._board._transport.runtime  # type: ignore[attr-defined]  # embedded


def test_closing_waits_for_what_was_acknowledged_and_lets_go_of_the_file(tmp_path: Path) -> None:
    for revision in range(1, 4):
        with blackboard.connect_sync(str(tmp_path / "board.db"), board="b", agent="a") as board:
            board.write("k", revision, revision=revision)
            assert board.read("k").value == revision


FOLLOWING = """
    import signal, sys, blackboard
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
    who = {"token": sys.argv[2]} if len(sys.argv) > 2 else {"operator": "ops"}
    with blackboard.connect_sync(sys.argv[1], board="interrupted", **who) as board:
        board.open_board()
        try:
            for event in board.follow():
                print(event.seq, flush=True)
        except KeyboardInterrupt:
            print("interrupted")
"""


@pytest.mark.parametrize("where", ["embedded", "HTTP"])
def test_an_interrupt_ends_a_feed_that_waits(where: str, tmp_path: Path, live_server: LiveServer) -> None:
    place = [str(tmp_path / "board.db")] if where == "embedded" else [live_server.url, live_server.token]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(FOLLOWING), *place],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("interrupted\n", "")
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
