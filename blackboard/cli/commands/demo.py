"""`demo`: the observed incident in its three forms, and a refund thread as a second act."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from blackboard import config
from blackboard.cli import output, passwords
from blackboard.cli.demo import FILE
from blackboard.cli.demo.play import Place, Show, play
from blackboard.cli.demo.show import Collector, Printer, RefundPrinter, audit_lines, table_lines
from blackboard.cli.options import PLACE, build
from blackboard.cli.session import Session, program
from blackboard.store.sqlite.lock import OwnerLock


@build("demo", (), PLACE, lambda flags: Session(flags=flags), None)
async def demo(session: Session) -> None:
    """Play the observed incident: three agents share a ledger, and one of them has its context compacted.

    It is played three times: with the compaction announced, silent, and with the gate off. The second act
    is a refund thread: one compaction, four actions, and one of them is blocked. The boards demo,
    demo-silent, demo-off and demo-refunds are in the file demo.db of the state directory, which is replaced
    at every run; with --db or --server they are opened there, under numbered names where they exist.
    """
    place, again = _place(session)
    if session.json:
        collected: list[Collector] = []

        def collect(form: Any, board: str) -> Collector:
            collected.append(Collector(form, board))
            return collected[-1]

        output.emit_json(_document(place, collected, await play(place, collect, lambda _, __: None)))
        return
    _close(await play(place, Printer, RefundPrinter()), again)


def _place(session: Session) -> tuple[Place, str]:
    """Where to play, and what to add to a command line that looks at it afterwards."""
    if session.flags.get("server") and session.flags.get("db") is None:
        return Place(session.target.url, session.target.token or ""), f"--server {session.target.url}"
    if session.flags.get("db"):
        return Place(session.target.url), f"--db {shlex.quote(passwords.shown(session.flags['db']))}"
    path = config.make_state_dir(session.settings) / FILE
    _remove(path)
    return Place(f"sqlite:///{path}"), f"--db {shlex.quote(str(path))}"


def _remove(path: Path) -> None:
    """Remove the last run's file. Raises `StoreBusy` where somebody is looking at it."""
    lock = OwnerLock.acquire(path.resolve())
    try:
        for old in (path, *path.parent.glob(f"{path.name}-*")):
            old.unlink(missing_ok=True)
    finally:
        lock.release()


def _close(played: Show, again: str) -> None:
    for one in played.forms:
        for corruption in one.outcome.corrupt:
            output.emit()
            output.emit(f"audit of {one.board}:")
            for line in audit_lines(corruption):
                output.emit(f"  {line}")
    output.emit()
    for line in table_lines(played.forms):
        output.emit(line)
    output.note("")
    output.note("The same log again, and what one agent holds:")
    output.note(f"  {program()} log --board {played.forms[0].board} {again}")
    output.note(f"  {program()} show executor --board {played.forms[0].board} {again}")


def _document(place: Place, collected: list[Collector], played: Show) -> dict[str, Any]:
    forms = [
        {
            "form": one.form,
            "board": one.board,
            "events": kept.events,
            "remarks": kept.remarks,
            "beliefs": kept.compared,
            "corrupt_writes": [_corruption(corruption) for corruption in one.outcome.corrupt],
        }
        for kept, one in zip(collected, played.forms, strict=True)
    ]
    table = [
        {
            "form": one.form,
            "board": one.board,
            "corrupt_writes_accepted": len(one.outcome.corrupt),
            "rejected": one.outcome.rejected,
            "rereads": one.outcome.rereads,
        }
        for one in played.forms
    ]
    refunds = {"board": played.refunds_board, "checks": [one._asdict() for one in played.refunds]}
    return {"url": passwords.shown(place.url), "forms": forms, "table": table, "refunds": refunds}


def _corruption(corruption: Any) -> dict[str, Any]:
    return dict(corruption._asdict()) | {"truly": corruption.truly._asdict()}
