"""An event loop that runs in a thread of its own, also while the interpreter shuts down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["run_to_the_end"]


def run_to_the_end(
    main: Coroutine[Any, Any, None],
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> None:
    """Run `main` in a new loop; then cancel what is left, end its threads and close it.

    As `asyncio.run`, which from Python 3.12 on fails at exit: it waits for the loop's threads in one more
    thread, and an interpreter that shuts down starts none.
    """
    loop = new_loop()
    executor = ThreadPoolExecutor(thread_name_prefix="blackboard-work")
    loop.set_default_executor(executor)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main)
    finally:
        try:
            _cancel(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            executor.shutdown()
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _cancel(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(_ended(tasks))


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    # Not one by one: what a cancelled task raises is nobody's any more.
    await asyncio.gather(*tasks, return_exceptions=True)
