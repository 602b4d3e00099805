"""Rule 0: the same write again is a receipt, never a rejection.

Same agent, key, revision and payload hash as an accepted write, however long ago. Source: seed 1,
"do not apply the rule to idempotent retries of the same write"; distinguished by payload hash equality,
which the server computes (the reference code trusts the caller for it).
"""

from __future__ import annotations

from typing import NamedTuple

from blackboard.gate.case import Case, Need, entry_payload


class Replay(NamedTuple):
    """The accepted write that this one repeats: its seq and revision, and what superseded it, if anything."""

    seq: int
    revision: int
    superseded_by: int | None


def replay(case: Case) -> Replay | None:
    """The accepted write that this one repeats, or None."""
    entry = case.entry
    if entry is None:
        return None
    if (
        case.revision == entry.asserted
        and entry.writer == case.agent.id
        and entry.payload_hash.hex() == case.write.payload_hash
    ):
        return Replay(entry.seq, entry.revision, None)
    if case.policy.revisions == "advisory" or case.revision >= entry.revision:
        return None
    event = case.earlier(case.revision)
    written = entry_payload(event)
    if event is None or written is None:
        return None
    writer, body = written
    if writer != case.agent.id or body.payload_hash != case.write.payload_hash:
        return None
    return Replay(event.seq, case.revision, entry.seq)


def needs_earlier(case: Case) -> Need | None:
    """The row that tells a replay of a superseded revision apart; None where memory is enough."""
    entry = case.entry
    if entry is None or case.revision >= entry.revision or case.policy.revisions == "advisory":
        return None
    return Need(case.key, revision=case.revision)
