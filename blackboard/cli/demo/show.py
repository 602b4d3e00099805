"""The demo on paper: the log as it happens, rejections in full, beliefs beside the ledger, the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from blackboard.cli import describe, output
from blackboard.cli.demo import Form
from blackboard.cli.demo.audit import Corruption
from blackboard.cli.demo.play import Played
from blackboard.cli.demo.refunds import ACTIONS, AGENT, Checked
from blackboard.cli.demo.stage import Beliefs, Remark
from blackboard.cli.demo.world import FINISHED, TASKS
from blackboard.events import kinds
from blackboard.messages.replies import EventView

TITLES: dict[Form, str] = {
    "announced": "the compaction is announced, the gate is on",
    "silent": "nobody tells the board of the compaction, the gate is on",
    "gate off": "the gate is off",
}
_INDENT = " " * 8


class Printer:
    """Prints one form as it happens."""

    def __init__(self, form: Form, board: str) -> None:
        output.emit()
        output.emit(click.style(f"=== {form}: {TITLES[form]} (board {board})", bold=True))
        output.emit()

    def event(self, event: EventView) -> None:
        """A line of the log; under a rejection its evidence and remedy."""
        output.emit(output.fit(describe.event_line(event)))
        if event.kind == kinds.WriteRejected.KIND and event.body is not None:
            for line in describe.rejection_lines(event.body["rules"], event.body.get("remedy")):
                output.emit(f"{_INDENT}{line}")

    def remark(self, remark: Remark) -> None:
        """What an agent says to the audience."""
        output.emit(click.style(f"{_INDENT}{remark.who} {remark.text}", fg="cyan"))

    def beliefs(self, beliefs: Beliefs) -> None:
        """What each agent believes beside the ledger and the truth."""
        output.emit()
        for line in belief_lines(beliefs):
            output.emit(f"{_INDENT}{line}")
        output.emit()


class Collector:
    """Keeps one form for a program to read."""

    def __init__(self, form: Form, board: str) -> None:
        self.form = form
        self.board = board
        self.events: list[EventView] = []
        self.remarks: list[dict[str, Any]] = []
        self.compared: list[dict[str, Any]] = []

    def event(self, event: EventView) -> None:
        """Keep it."""
        self.events.append(event)

    def remark(self, remark: Remark) -> None:
        """Keep it."""
        self.remarks.append(remark._asdict())

    def beliefs(self, beliefs: Beliefs) -> None:
        """Keep it, with what differs from the ledger."""
        self.compared.append(beliefs._asdict() | {"divergent": divergent(beliefs)})


def divergent(beliefs: Beliefs) -> list[dict[str, str]]:
    """Where an agent believes something else than the ledger says."""
    return [
        {
            "agent": agent,
            "task": task,
            "believes": believed.get(task, "nothing"),
            "ledger": beliefs.ledger[task],
        }
        for agent, believed in beliefs.believed.items()
        for task in TASKS
        if believed.get(task, "nothing") != beliefs.ledger[task]
    ]


def belief_lines(beliefs: Beliefs) -> list[str]:
    """The comparison as a table; what an agent believes against the ledger is marked, and so is what the
    ledger says against the truth.
    """
    ledger, truth = beliefs.ledger, beliefs.truth
    said = [_marked(ledger[task], (ledger[task] == FINISHED) == (truth[task] == FINISHED)) for task in TASKS]
    rows = [("truly", *(truth[task] for task in TASKS)), ("the ledger says", *said)]
    for agent, believed in beliefs.believed.items():
        words = [believed.get(task, "nothing") for task in TASKS]
        told = (_marked(word, word == ledger[task]) for task, word in zip(TASKS, words, strict=True))
        rows.append((f"{agent} believes", *told))
    return output.table((f"{beliefs.moment}, seq {beliefs.seq}", *TASKS), rows)


def _marked(word: str, fits: bool) -> str:
    return word if fits else f"{word} (!)"


def table_lines(played: Iterable[Played]) -> list[str]:
    """The closing table."""
    rows = [
        (one.form, one.board, len(one.outcome.corrupt), one.outcome.rejected, one.outcome.rereads)
        for one in played
    ]
    headers = ("FORM", "BOARD", "CORRUPT WRITES ACCEPTED", "WRITES REJECTED", "KEYS RE-READ")
    return output.table(headers, rows, right=headers[2:])


def audit_lines(one: Corruption) -> list[str]:
    """What an accepted write claimed, what was so, what lay behind it, what would have stopped it."""
    seen = f"revision {one.seen} at seq {one.seen_at}" if one.seen_at is not None else "no revision of it"
    behind = f"its writer had last seen {seen}; revision {one.current} stood since seq {one.current_at}"
    if one.compaction is not None:
        behind += f"; the compaction at seq {one.compaction} had taken all of it"
    stopped = ", ".join(one.stopped_by) or "nothing"
    return [
        f"entry:{one.seq}: {one.writer} wrote {one.key} = {one.said}; truly it was {one.truly.status}",
        f"  behind it: {behind}",
        f"  the default policy would have refused it: {stopped}",
    ]


class RefundPrinter:
    """Prints the second act as it happens: under a heading for what came before, a line for each action."""

    def __init__(self) -> None:
        self._after = ""

    def __call__(self, board: str, checked: Checked) -> None:
        """Print one verdict."""
        if not self._after:
            output.emit()
            title = (
                f"=== second act: a refund thread, one compaction, {output.counted(len(ACTIONS), 'action')}"
            )
            output.emit(click.style(f"{title} (board {board})", bold=True))
        if checked.after != self._after:
            self._after = checked.after
            output.emit()
            output.emit(click.style(f"{_INDENT}{checked.after}", fg="cyan"))
        output.emit(output.fit(verdict_line(checked)))
        for reason in checked.verdict.reasons:
            output.emit(f"{_INDENT}{output.visible(reason.detail)}")
            output.emit(f"{_INDENT}read again: {', '.join([*reason.reread, *reason.keys])}")


def verdict_line(checked: Checked) -> str:
    """`seq  agent  tool {params}  BLOCK dropped-binding-constraint  policy needs-approval`."""
    verdict = checked.verdict
    call = f"{checked.tool} {output.json_text(checked.params)}"
    colour = "green" if verdict.verdict == "PASS" else "red"
    said = click.style(
        " ".join([verdict.verdict, *(reason.code for reason in verdict.reasons[:1])]), fg=colour
    )
    return f"{verdict.seq:>6}  {AGENT:<12} {call:<32} {said}  policy {verdict.policy.answer}"
