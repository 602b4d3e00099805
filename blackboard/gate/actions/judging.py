"""The verdict on one action: PASS, or BLOCK with every reason; and the second answer.

The hot path is one call of a closure per rule. Words are put together for what blocks, and notes when
somebody reads them. Source: "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from blackboard.gate.actions import notes, reasons
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.answer import answer
from blackboard.gate.actions.compiling import Compiled, Finding
from blackboard.gate.actions.formula import dangerous
from blackboard.records.truth import FALSE
from blackboard.records.verdict import Answer, Note, Reason, VerdictWord

__all__ = ["Unseen", "Verdict", "judge"]

Unseen = Literal["block", "note"]


class Verdict:
    """What the gate answers: `word`, the sorted `reasons` (the first is the headline), the answer `policy`.

    `notes()` are put together when they are asked for, from the world as it is then.
    """

    __slots__ = ("_action", "_blind", "_calm", "_compiled", "_noted", "policy", "reasons", "word")

    def __init__(
        self,
        compiled: Compiled,
        action: Action,
        found: list[Reason],
        policy: Answer,
        *,
        calm: list[Finding],
        noted: list[Reason],
        blind: bool,
    ) -> None:
        self.word: VerdictWord = "BLOCK" if found else "PASS"
        self.reasons = found
        self.policy = policy
        self._compiled = compiled
        self._action = action
        self._calm = calm
        self._noted = noted
        self._blind = blind

    def notes(self) -> list[Note]:
        """What is worth knowing beside the reasons, sorted. Ask before the world changes."""
        compiled, action = self._compiled, self._action
        cells = [notes.of_rule(compiled, finding, action) for finding in self._calm]
        told = [
            *(note for note in cells if note is not None),
            *map(notes.of_unseen, self._noted),
            *notes.of_unevaluable(compiled, blind=self._blind),
            *notes.of_compiled(compiled, action),
        ]
        return sorted(told, key=notes.order)


def judge(
    compiled: Compiled,
    action: Action,
    *,
    unseen: Unseen = "block",
    allow_unevaluable: bool = False,
    moved: Sequence[Reason] = (),
) -> Verdict:
    """Return whether something that the holder lacks binds the action, which is of the compiled tool.

    `unseen` says whether what was never delivered blocks or is noted only; `allow_unevaluable` lets dropped
    records pass that nobody can evaluate, with a loud note; `moved` are reasons of the caller's own: the
    basis that moved.
    """
    assert action.tool == compiled.tool
    params = action.params
    found: list[Finding] = [(row, truth, truth) for says, row in compiled.alike if (truth := says(params))]
    found += compiled.settled
    differing: list[Finding] = [
        (row, full, held)
        for says, says_held, row in compiled.differing
        if (full := says(params)) | (held := says_held(params))
    ]
    if compiled.answered:
        found, differing = _approved(action, found), _approved(action, differing)
    danger = [finding for finding in differing if dangerous(*finding)]
    policy = answer([(row, full) for row, full, _ in found + differing])
    if danger:
        differing = [finding for finding in differing if not dangerous(*finding)]
    blocking, noted = _reasons(compiled, action, danger, unseen) if danger else ([], [])
    if not allow_unevaluable:
        blocking += compiled.unevaluable.reasons
    if moved:
        blocking += moved
    return Verdict(
        compiled,
        action,
        _in_order(blocking) if blocking else blocking,
        policy,
        calm=found + differing,
        noted=noted,
        blind=allow_unevaluable,
    )


def _approved(action: Action, found: list[Finding]) -> list[Finding]:
    """The findings with FALSE where the action is approved; those with nothing left are gone."""
    if not any(row.answered for row, _, _ in found):
        return found
    digest = action.digest
    told: list[Finding] = [
        (
            row,
            FALSE if digest in row.full_approved else full,
            FALSE if digest in row.held_approved else held,
        )
        for row, full, held in found
    ]
    return [finding for finding in told if finding[1] or finding[2]]


def _reasons(
    compiled: Compiled, action: Action, danger: list[Finding], unseen: Unseen
) -> tuple[list[Reason], list[Reason]]:
    """The reasons of dangerous rules: those that block, and those that are noted only."""
    digest = action.digest
    found = [reasons.because(compiled, finding, action, digest) for finding in danger]
    if unseen == "block":
        return found, []
    noted = [reason for reason in found if reason.code.startswith("unseen-")]
    return [reason for reason in found if not reason.code.startswith("unseen-")], noted


def _in_order(found: Iterable[Reason]) -> list[Reason]:
    """Sorted by (code, id), each pair once."""
    told: dict[tuple[str, str], Reason] = {}
    for reason in sorted(found, key=lambda reason: (reason.code, reason.id, reason.detail)):
        told.setdefault((reason.code, reason.id), reason)
    return list(told.values())
