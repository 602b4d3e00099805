"""What holds for a log after any fault: no gap, an unbroken chain, every acknowledged command once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from blackboard.events.envelope import GENESIS, Row, verify_row

Answered = Mapping[str, int]
"""The idempotency key of each command that was acknowledged, and the seq that its first answer gave."""


def check_log(rows: Sequence[Row], answered: Mapping[str, Answered]) -> dict[tuple[str, str], list[int]]:
    """`answered` by actor. Returns the seqs of every command; raises `AssertionError`."""
    previous = GENESIS.hash
    commands: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows, 1):
        assert row.seq == place
        assert verify_row(row, previous)
        previous = row.hash
        commands[row.actor, row.command_id].append(row.seq)
    firsts = [(row.actor, row.command_id) for row in rows if row.request_digest is not None]
    assert len(firsts) == len(set(firsts)) == len(commands)
    for seqs in commands.values():
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    for actor, acknowledged in answered.items():
        for key, seq in acknowledged.items():
            assert commands.get((actor, key), [None])[-1] == seq, f"{key} was acknowledged at {seq}"
    return commands


def check_complete(rows: Sequence[Row], answered: Mapping[str, Answered]) -> None:
    """`check_log`, and: what these actors did is what was acknowledged, command for command."""
    commands = check_log(rows, answered)
    stored = {key for actor, key in commands if actor in answered}
    assert stored == {key for keys in answered.values() for key in keys}
