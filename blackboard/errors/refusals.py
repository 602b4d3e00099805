"""The request is understood, and refused: by a gate, by the state of the board, or for a while."""

from __future__ import annotations

from typing import Any

from blackboard.errors.base import BlackboardError


class WriteRejected(BlackboardError):
    """The write gate refused. Nothing changed except the log.

    `rules` lists every violated rule (`code`, `key`, `evidence`, `detail`), `evidence` is that of the
    first, `remedy` names the `keys` and `records` to read again and says what to do.
    """

    code = "write-rejected"
    status = 409
    exit_code = 3

    @property
    def rules(self) -> tuple[Any, ...]:
        """Every violated rule, in table order within each write."""
        return tuple(self.members.get("rules", ()))

    @property
    def evidence(self) -> Any:
        """The evidence of the first violated rule."""
        return self.members.get("evidence")

    @property
    def remedy(self) -> Any:
        """What to read again before the next attempt."""
        return self.members.get("remedy")


class RevisionReused(WriteRejected):
    """The agent has written this revision of this key with another payload."""

    code = "revision-reused"


class SingleWriter(WriteRejected):
    """The board is in single-writer mode and the writer does not hold the pen."""

    code = "single-writer"


class AgentReadOnly(WriteRejected):
    """The agent is demoted and the policy makes a demoted agent read-only."""

    code = "agent-read-only"


class RevalidationRequired(WriteRejected):
    """The agent is demoted and has not read again what it is about to change."""

    code = "revalidation-required"


class RevisionNotAdvancing(WriteRejected):
    """The revision is not above the current one: the writer's model is stale."""

    code = "revision-not-advancing"


class RevisionSkipped(WriteRejected):
    """The revision leaves a gap that the policy does not allow."""

    code = "revision-skipped"


class UnseenRevision(WriteRejected):
    """The agent does not hold the current revision of what it is about to replace."""

    code = "unseen-revision"


class CompletionUnverified(WriteRejected):
    """Finishing something unfinished needs a fresh read of it."""

    code = "completion-unverified"


class BasisMoved(WriteRejected):
    """What the decision rests on has moved, or the agent does not hold it."""

    code = "basis-moved"


class Conflict(BlackboardError):
    """The request contradicts the state of the board."""

    code = "conflict"
    status = 409
    exit_code = 3


class PolicyDiffers(Conflict):
    """The board exists and has another policy."""

    code = "policy-differs"


class ProposalClosed(Conflict):
    """The proposal was accepted or refused before."""

    code = "proposal-closed"


class FormatTooLow(Conflict):
    """The board's format does not have this yet; an operator raises it."""

    code = "format-too-low"


class BeyondHead(Conflict):
    """A sequence number above the head was asked for."""

    code = "beyond-head"
    exit_code = 2


class ActionBlocked(BlackboardError):
    """A guard did not let an action run: the verdict is not PASS, or the rules do not permit it.

    `verdict`, `reasons` and `policy` are those of the check; nothing was executed.
    """

    code = "action-blocked"
    status = 409
    exit_code = 3

    @property
    def verdict(self) -> Any:
        """PASS (then the rules forbid it), BLOCK or ERROR."""
        return self.members.get("verdict")

    @property
    def reasons(self) -> tuple[Any, ...]:
        """Why it was blocked, most important first."""
        return tuple(self.members.get("reasons", ()))

    @property
    def policy(self) -> Any:
        """What the rules say of the action, whatever the agent holds."""
        return self.members.get("policy")


class RateLimited(BlackboardError):
    """Too many refused writes in a short time; this one was not logged."""

    code = "rate-limited"
    status = 429
    exit_code = 6
