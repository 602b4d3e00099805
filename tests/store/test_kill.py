"""What was acknowledged is there after `kill -9`."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from blackboard.config import Settings
from blackboard.store import open_store
from tests.store.support import BOARD, Log, loaded

WRITER = """
import asyncio, sys
from blackboard.config import Settings
from blackboard.store import open_store
from tests.store.support import Log

async def main():
    store = await open_store(sys.argv[1], Settings())
    tip = await store.tip("release")
    log = Log(by=f"run-{sys.argv[2]}")
    if tip is None:
        await store.append(log.open())
    else:
        log.tip = tip
    size = 0
    while True:
        size = size % 90 + 1
        rows = [row for n in range(size) for row in log.say(f"message {n}")]
        await store.append(rows)
        print(rows[-1].seq, rows[-1].hash.hex(), flush=True)

asyncio.run(main())
"""

KILLS = 8
WHOLE_LINE = re.compile(r"\d+ [0-9a-f]{64}\n")


async def test_an_acknowledged_batch_survives_kill_9_and_no_batch_is_torn(path: Path) -> None:
    chance = random.Random(7)
    for run in range(KILLS):
        said = write_until_killed(path, run, chance.uniform(0, 0.15))
        await check(path, [line for line in said if WHOLE_LINE.fullmatch(line)])


def write_until_killed(path: Path, run: int, seconds: float) -> list[str]:
    """What a writing process acknowledged before it was killed, so long after its first batch."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(run)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return said + process.stdout.readlines()


async def check(path: Path, acknowledged: list[str]) -> None:
    store = await open_store(str(path), Settings())
    found = await loaded(store, verify=True)
    seq, hexed = acknowledged[-1].split()
    assert found.tip.seq >= int(seq)
    row = (await store.rows(BOARD, after=int(seq) - 1, limit=1))[0]
    assert row.hash.hex() == hexed
    assert [row.head for row in await store.boards()] == [found.tip.seq]
    await store.append(Log(tip=found.tip, by=f"check-{seq}").say("still writable"))
    await store.close()
