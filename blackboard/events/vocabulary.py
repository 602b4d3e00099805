"""What may be written on a board: the version of every kind, by the board's format.

Servers write only what the board's format knows, so that every server of a rolling deployment can read it.
Add a version: change the struct, raise its `VERSION`, add a format here, and the steps up (`upcast.py`) and
down (`downcast.py`).
"""

from __future__ import annotations

from blackboard.events import kinds

_FIRST: dict[str, int] = {
    body.KIND: 1
    for body in (
        kinds.BoardOpened,
        kinds.BoardPolicyChanged,
        kinds.BoardFormatRaised,
        kinds.BoardModeChanged,
        kinds.AgentJoined,
        kinds.EntryWritten,
        kinds.WriteRejected,
        kinds.BoardRead,
        kinds.AgentCompacted,
        kinds.MessagePosted,
        kinds.WriteProposed,
        kinds.ProposalAccepted,
        kinds.ProposalRefused,
        kinds.TurnEnded,
        kinds.SignalRaised,
    )
}

_SECOND = _FIRST | {
    kinds.RecordAdded.KIND: 1,
    kinds.ActionChecked.KIND: 1,
    kinds.CertificateIssued.KIND: 1,
}

_THIRD = _SECOND | {kinds.AgentCompacted.KIND: 2, kinds.MessagePosted.KIND: 2}

VOCABULARY: dict[int, dict[str, int]] = {1: _FIRST, 2: _SECOND, 3: _THIRD}
"""The version that is written of each kind, by board format. Format 2 added records and verdicts; format 3
the context window of a compaction and what a message replies to."""

OLDER: dict[int, dict[str, int]] = {
    board_format: {
        kind: version for kind, version in written.items() if version < VOCABULARY[kinds.FORMAT][kind]
    }
    for board_format, written in VOCABULARY.items()
}
"""Of those the ones below the newest version: what sealing has to lower. Empty for the newest format."""
