"""One runtime per database and process: shared by all threads and loops, gone when nobody holds it."""

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blackboard.config import Settings
from blackboard.errors import Malformed, StoreBusy, Unavailable, UnknownBoard
from blackboard.messages import commands as ask
from blackboard.service import runtime
from blackboard.service.runtime import Runtime, acquire
from tests.service.support import AUDITOR, BOARD, OPERATOR, agent, write

A = agent("a")


@pytest.fixture(params=["sqlite", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/board.db" if request.param == "sqlite" else f"memory://{tmp_path.name}"


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = running()
    yield
    gc.collect()
    assert running() == before


def running() -> list[str]:
    """The databases that are open; a fixture of the session may keep one."""
    return [host.name for host in runtime._hosts.values() if not host.closed.done()]


def do(held: Runtime, command: Any, who: Any = A) -> Any:
    return held.submit(held.service.execute(BOARD, who, command)).result(10)


def test_whoever_names_the_same_database_shares_one_service(url: str) -> None:
    first, second = acquire(url, Settings()), acquire(url, Settings())
    assert first.service is second.service
    assert do(first, write("k", 1)).seq == 2
    first.release()
    first.release()
    assert do(second, write("k", 2)).seq == 3
    second.release()
    with pytest.raises(Unavailable, match="closed"):
        do(second, write("k", 3))


def test_one_file_is_one_database_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "board.db")
    monkeypatch.chdir(tmp_path)
    names = ["sqlite:///board.db", f"sqlite:///{tmp_path}/board.db", str(tmp_path / "link.db"), "./board.db"]
    held = [acquire(name, Settings()) for name in names]
    assert len({id(one.service) for one in held}) == 1
    for one in held:
        one.release()


def test_different_names_are_different_databases(tmp_path: Path) -> None:
    first, second = (
        acquire(f"memory://{tmp_path}-1", Settings()),
        acquire(f"memory://{tmp_path}-2", Settings()),
    )
    do(first, write("k", 1))
    with pytest.raises(UnknownBoard):
        second.submit(second.service.query(BOARD, AUDITOR, ask.GetBoard())).result(10)
    first.release()
    second.release()


def test_threads_that_race_open_one_store(url: str) -> None:
    barrier = threading.Barrier(16)

    def take(number: int) -> Runtime:
        barrier.wait()
        held = acquire(url, Settings())
        do(held, write(f"k{number}", 1))
        return held

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        held = list(pool.map(take, range(16)))
    assert len({id(one.service) for one in held}) == 1
    assert do(held[0], write("last", 1)).seq == 18
    for one in held:
        one.release()


def test_a_database_can_be_closed_and_opened_again_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    stop = time.monotonic() + 1.5

    def cycle(number: int) -> int:
        count = 0
        while time.monotonic() < stop:
            held = acquire(url, Settings(durability="normal"))
            do(held, ask.Say(text=f"{number}"))
            held.release()
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(cycle, range(4)))
    held = acquire(url, Settings())
    assert do(held, ask.Say(text="last")).seq == 2 + sum(counts)
    held.release()


async def test_several_loops_work_on_one_board(url: str) -> None:
    held = acquire(url, Settings())

    async def work(name: str) -> None:
        for number in range(20):
            await held.call(held.service.execute(BOARD, agent(name), write(f"{name}/{number}", 1)))

    def loop(name: str) -> None:
        asyncio.run(work(name))

    await asyncio.gather(work("here"), *(asyncio.to_thread(loop, f"there{n}") for n in range(3)))
    board = await held.call(held.service.query(BOARD, AUDITOR, ask.GetBoard()))
    assert board.live_entries == 80
    await asyncio.to_thread(held.release)


async def test_a_caller_that_stops_waiting_stops_nothing(url: str) -> None:
    held = acquire(url, Settings())
    calls = [
        asyncio.create_task(held.call(held.service.execute(BOARD, A, write(f"k{n}", 1)))) for n in range(5)
    ]
    await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    reply = await held.call(held.service.execute(BOARD, A, write("last", 1)))
    assert reply.seq == 1 + 5 + 1
    await asyncio.to_thread(held.release)


def test_errors_hop_out_as_they_are(url: str) -> None:
    held = acquire(url, Settings(auto_open=False))
    with pytest.raises(UnknownBoard):
        do(held, write("k", 1))
    held.release()


def test_work_that_races_with_the_closing_is_done_or_refused_and_never_dropped(url: str) -> None:
    for _ in range(5):
        held = acquire(url, Settings())
        do(held, ask.Say(text="first"))
        futures: list[concurrent.futures.Future[Any]] = []

        def hammer(held: Runtime = held, futures: list[concurrent.futures.Future[Any]] = futures) -> None:
            while True:
                try:
                    futures.append(held.submit(held.service.execute(BOARD, A, ask.Say(text="x"))))
                except Unavailable:
                    return
                time.sleep(0)

        threads = [threading.Thread(target=hammer) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        held.release()
        for thread in threads:
            thread.join(10)
        done, waiting = concurrent.futures.wait(futures, 10)
        assert not waiting
        assert {type(future.exception()) for future in done} <= {type(None), Unavailable}
    gc.collect()


async def test_a_command_has_a_shorter_way(url: str) -> None:
    held = acquire(url, Settings(auto_open=False))
    with pytest.raises(UnknownBoard):
        await held.execute(BOARD, A, write("k", 1))
    with pytest.raises(Malformed):
        await held.execute(BOARD, A, ask.WriteBatch(writes=[]))
    assert (await held.execute(BOARD, OPERATOR, ask.OpenBoard())).seq == 1
    calls = [asyncio.create_task(held.execute(BOARD, A, write(f"k{n}", 1))) for n in range(5)]
    await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (await held.execute(BOARD, A, write("last", 1))).seq == 7
    await asyncio.to_thread(held.release)
    with pytest.raises(Unavailable, match="closed"):
        await held.execute(BOARD, A, write("k", 2))


def test_a_loop_that_ends_while_it_waits_holds_up_nobody(tmp_path: Path) -> None:
    held = acquire(f"sqlite:///{tmp_path}/board.db", Settings())

    async def leave() -> None:
        async with asyncio.TaskGroup() as calls:
            for number in range(20):
                calls.create_task(held.execute(BOARD, A, write(f"e{number}", 1)))
                calls.create_task(held.call(held.service.execute(BOARD, A, write(f"c{number}", 1))))
            await asyncio.sleep(0)
            raise KeyError

    with pytest.raises(ExceptionGroup):
        asyncio.run(leave())
    assert do(held, write("last", 1)).seq == 42
    held.release()


def test_a_store_that_does_not_open_is_an_error_and_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "board.db"
    with pytest.raises(Unavailable):
        acquire(str(path), Settings())
    path.parent.mkdir()
    held = acquire(str(path), Settings())
    assert do(held, write("k", 1)).seq == 2
    held.release()
    with pytest.raises(Malformed):
        acquire("nonsense://x", Settings())


def test_a_hold_may_be_released_by_the_collector_in_any_thread(url: str) -> None:
    class Holder:
        pass

    holder, held = Holder(), acquire(url, Settings())
    other = acquire(url, Settings())
    do(held, write("k", 1))
    weakref.finalize(holder, held.release)

    async def collect(given: list[Holder]) -> None:
        given.clear()
        gc.collect()

    other.release()
    given = [holder]
    del holder
    held.submit(collect(given)).result(10)  # the last hold ends in the runtime's own thread
    host = held._host
    concurrent.futures.wait([host.closed], 10)
    assert host.closed.done()


def test_releasing_finishes_what_was_taken(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    held = acquire(url, Settings())
    futures = [held.submit(held.service.execute(BOARD, A, write(f"k{n}", 1))) for n in range(100)]
    held.release()
    outcomes = [future.result(10) for future in futures]
    held = acquire(url, Settings())
    assert do(held, write("last", 1)).seq == 1 + len(outcomes) + 1
    held.release()


def child(code: str, *arguments: str, seconds: float = 20) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


HEAD = """
import asyncio, os, sys, threading
from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.messages import commands as ask
from blackboard.messages.principal import Principal
from blackboard.service.runtime import acquire
A = Principal(role="agent", name="a")
url = sys.argv[1]
held = acquire(url, Settings())
def say(held, text="x"):
    return held.submit(held.service.execute("b", A, ask.Say(text=text)))
"""


def test_a_forgotten_release_does_not_hold_up_the_exit_and_loses_nothing_taken(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    begun = time.monotonic()
    done = child(HEAD + "futures = [say(held) for _ in range(200)]", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - begun < 10
    held = acquire(url, Settings())
    head = held.submit(held.service.query("b", AUDITOR, ask.GetBoard())).result(10).head
    held.release()
    assert head == 201


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_may_not_use_the_parents_connection(tmp_path: Path) -> None:
    code = (
        HEAD
        + """
say(held).result()
if (pid := os.fork()) == 0:
    told = []
    for attempt in (lambda: say(held), lambda: acquire(url, Settings())):
        try:
            attempt()
        except BlackboardError as error:
            told.append(error.code)
    held.release()
    os.write(1, repr(told).encode())
    os._exit(0)
os.waitpid(pid, 0)
print("", say(held).result().seq)
held.release()
"""
    )
    done = child(code, f"sqlite:///{tmp_path}/board.db")
    assert done.stderr.count("coroutine") == 0, done.stderr
    assert done.stdout == "['unavailable', 'store-busy'] 3\n"


def test_another_process_is_told_who_owns_the_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/board.db"
    held = acquire(url, Settings())
    done = child(HEAD, url)
    assert StoreBusy.__name__ in done.stderr
    held.release()
    assert child(HEAD + "held.release()", url).returncode == 0
