"""The words of a verdict: what the action gate answers, and what the log keeps of it."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from blackboard.records.kinds import Effect

VerdictWord = Literal["PASS", "BLOCK", "ERROR"]
AnswerWord = Literal["deny", "needs-approval", "undetermined", "allowed-by", "default"]

PERMITTING: Final[frozenset[AnswerWord]] = frozenset(("allowed-by", "default"))
"""The answers with which an action may run, where the verdict is PASS."""


class _Part(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Held(_Part, frozen=True):
    """One value of a field, with the record (or entry) that says so.

    `value` is in normal form (see `canonical.normal`); None: it says that there is none. `revision` is that
    of a ledger entry.
    """

    id: str
    seq: int
    value: str | None = None
    revision: int | None = None
    supersedes: str | None = None


class Input(_Part, frozen=True):
    """One field that a rule reads: what the agent holds of it, and what is current where that differs."""

    field: str
    source: Literal["param", "fact", "ledger"]
    held: Held | None = None
    missing: Held | None = None


class Reason(_Part, frozen=True):
    """Why an action is blocked.

    `id` is the rule's record, the unevaluable record, or the key whose basis moved. `full` and `held` are the
    rule's truth on both sides, `held` None where the agent holds no live copy. `reread` are the records, and
    `keys` the ledger keys, whose reading would lift it. A precheck adds in `witness` parameters, in normal
    form, with which a call of `tool` is blocked.
    """

    code: str
    id: str
    detail: str
    effect: Effect | None = None
    predicate: str | None = None
    full: str | None = None
    held: str | None = None
    inputs: list[Input] = []
    missing: list[str] = []
    reread: list[str] = []
    keys: list[str] = []
    tool: str | None = None
    witness: str | None = None


class Note(_Part, frozen=True):
    """What is worth knowing and blocks nothing. `id` is the rule or record that it is about."""

    code: str
    detail: str
    id: str | None = None


class Answer(_Part, frozen=True):
    """What the rules say of the action on the full set, whatever the agent holds; `rules` are their ids."""

    answer: AnswerWord
    rules: list[str] = []
