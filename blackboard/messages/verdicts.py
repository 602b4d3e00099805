"""What comes back from the action gate: records added, verdicts, certificates, what to keep."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from blackboard.messages.replies import Outcome, Reply
from blackboard.records.verdict import Answer, Note, Reason, VerdictWord


class RecordReply(Outcome, frozen=True):
    """A record was added: `id` is its own, `record` the record as it stands, with its seq."""

    id: str = ""
    record: Any = None


class CheckReply(Reply, frozen=True):
    """The verdict on one action, and as `policy` the second answer: PASS alone is no permission.

    `reasons` are sorted, the first is the headline. `judged_at` is the head that was judged, `digest` the
    hex SHA-256 of the whole verdict, `id` is `check:<seq>`.
    """

    verdict: VerdictWord
    policy: Answer
    id: str = ""
    tool: str = ""
    reasons: list[Reason] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    judged_at: int = 0
    digest: str = ""


class CertificateReply(Outcome, frozen=True):
    """A certificate was issued. `certificate` is the signed document.

    Where a repeated command finds that the certificate has ended since, there is no document any more
    (None), and `ended` says why.
    """

    id: str = ""
    certificate: dict[str, Any] | None = None
    digest: str = ""
    ended: list[str] = field(default_factory=list)


class CertificateValidReply(Struct, frozen=True, kw_only=True):
    """Whether a certificate is still valid at `head`, and why not; a dead one never comes back."""

    id: str
    valid: bool
    head: int
    agent: str
    tool: str
    as_of: int
    valid_until_seq: int | None = None
    ended: list[str] = []


class KeepReply(Struct, frozen=True, kw_only=True):
    """What to keep. `records` are all the ids, in the order of the records.

    `held` are those of them that the agent holds, so that a compaction can keep them; `read` those that it
    has to read after it, and `reread` the ledger keys, since entries never survive a compaction.
    `smallest` tells that no smaller set of facts would do.
    """

    agent: str
    head: int
    records: list[str]
    held: list[str] = []
    read: list[str] = []
    reread: list[str] = []
    smallest: bool = True


class SigningKeyReply(Struct, frozen=True, kw_only=True):
    """The public Ed25519 key of this server as 64 hex digits and as PEM; `key_id` names it."""

    public_key: str
    pem: str
    key_id: str
