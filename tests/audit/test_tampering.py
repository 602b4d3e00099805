"""G7: whatever is done to a log, a checkpoint that is kept elsewhere finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from blackboard.events.envelope import Command, Draft, Row, seal, tip_of
from blackboard.events.kinds import MessagePosted
from tests.audit.logs import altered, chained, changed, checkpoint_of, incident, verified
from tests.pure.driver import NAME

RUNS = 5_000
LOG = incident().rows
KEPT = 24
"""The size of the checkpoint that is kept; the log has gone on since."""

Tamper = Callable[[Random, list[Row]], list[Row]]


def flip(random: Random, rows: list[Row]) -> list[Row]:
    """Change one member of one event by as little as there is."""
    at = random.randrange(KEPT)
    name = random.choice(Row._fields)
    fitting = random.random() < 0.5  # the body with a digest that fits it
    row = altered(rows[at], name, _other(random, name, getattr(rows[at], name)))
    return [*rows[:at], changed(row) if fitting and name != "body_digest" else row, *rows[at + 1 :]]


def _other(random: Random, name: str, value: object) -> object:
    if isinstance(value, str):
        place = random.randrange(len(value))
        char = chr(ord(value[place]) ^ 1 << random.randrange(3))
        return value[:place] + char + value[place + 1 :]
    if isinstance(value, bytes):
        place = random.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1 << random.randrange(8)]) + value[place + 1 :]
    if isinstance(value, int):
        return value + random.choice([-1, 1])
    return {"request_digest": bytes(32), "key": "task/A"}.get(name, 7)


def delete(random: Random, rows: list[Row]) -> list[Row]:
    at = random.randrange(KEPT)
    return rows[:at] + rows[at + random.choice([1, 1, 2, 5]) :]


def insert(random: Random, rows: list[Row]) -> list[Row]:
    """An event of the log again, or one that nobody has recorded."""
    at = random.randrange(KEPT)
    row = random.choice(rows)
    if random.random() < 0.5:
        row = changed(
            row, kind="message.posted", version=2, body='{"text":"well done"}', key=None, revision=None
        )
    return [*rows[:at], row._replace(seq=at + 1), *rows[at:]]


def swap(random: Random, rows: list[Row]) -> list[Row]:
    one, other = random.randrange(KEPT), random.randrange(len(rows))
    found = list(rows)
    found[one], found[other] = found[other]._replace(seq=one + 1), found[one]._replace(seq=other + 1)
    return found


def truncate(random: Random, rows: list[Row]) -> list[Row]:
    return rows[: random.randrange(KEPT)]


def roll_back(random: Random, rows: list[Row]) -> list[Row]:
    """Put back an earlier state, and go on from there."""
    kept = rows[: random.randrange(1, KEPT)]
    tip = tip_of(kept[-1])
    while len(kept) < KEPT + random.choice([-3, 0, 3]):
        command = Command("agent:executor", f"again-{len(kept)}", b"{}")
        draft = Draft(MessagePosted(text="all is well"))
        more, tip = seal(NAME, tip, command, [draft], salts=[random.randbytes(16)], now=tip.recorded_at)
        kept += more
    return kept


def erase(random: Random, rows: list[Row]) -> list[Row]:
    """What a redaction does, without one."""
    at = random.randrange(KEPT)
    return [*rows[:at], rows[at]._replace(body=None, salt=None), *rows[at + 1 :]]


TAMPERS: tuple[Tamper, ...] = (flip, delete, insert, swap, truncate, roll_back, erase)


async def test_5000_random_tamperings_of_a_real_log_are_all_found_against_a_checkpoint() -> None:
    random, kept = Random(6962), checkpoint_of(LOG[:KEPT])
    done = Counter[str]()
    while done.total() < RUNS:
        tamper = random.choice(TAMPERS)
        rows = tamper(random, LOG)
        renewed = random.random() < 0.5
        if renewed:  # every seq and hash made to fit, as somebody does who knows how
            rows = chained(rows)
        if rows[:KEPT] == LOG[:KEPT]:
            continue
        found = await verified(rows, kept, slices=random.choice([3, 8, 1000]))
        assert found.flaws, (tamper.__name__, renewed, rows)
        assert found.checkpoints == [] or tamper is erase  # which changes no hash
        done[f"{tamper.__name__}, chain {'renewed' if renewed else 'left'}"] += 1
    assert len(done) == 2 * len(TAMPERS)
    assert min(done.values()) > RUNS / len(TAMPERS) / 4, done


async def test_the_log_itself_holds_to_every_checkpoint_of_it() -> None:
    every = [checkpoint_of(LOG[:size]) for size in range(1, len(LOG) + 1)]
    for slices in (1, 3, 1000):
        found = await verified(LOG, *every, slices=slices)
        assert found.flaws == []
        assert found.checkpoints == list(range(1, len(LOG) + 1))
