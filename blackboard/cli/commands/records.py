"""`record add|read`, and `check`: the action gate on a board."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from blackboard.cli import output, values
from blackboard.cli.acting import acting
from blackboard.cli.options import KEY, TURN, command
from blackboard.cli.session import Session
from blackboard.records.digest import action_digest
from blackboard.records.drafts import Approval
from blackboard.records.verdict import PERMITTING

_PARAMS: tuple[Callable[..., Any], ...] = (
    click.option("--params", metavar="JSON", help="The parameters, as a JSON object; none without it."),
    click.option("--params-file", metavar="FILE", help="The parameters, as JSON in a file; - is stdin."),
)


@click.group()
def record() -> None:
    """Add and read records: policies, facts, approvals and chatter."""


@command(
    "add",
    click.argument("record_json", metavar="[RECORD]", required=False),
    click.option("--file", metavar="FILE", help="The record, as JSON in a file; - is stdin."),
    TURN,
    KEY,
    acts=("operator", "agent"),
    group=record,
)
async def add(session: Session, *, record_json: str | None, file: str | None, **given: Any) -> None:
    """Add RECORD, a JSON object with a `kind`: policy, fact, approval or chatter. Without an `id` the board
    names it; who approves is who adds an approval. An agent needs the grant for the kind.
    """
    if (record_json is None) == (file is None):
        raise click.UsageError("give the record as JSON, or by --file FILE")
    text = values.read_text(file, "--file") if file is not None else str(record_json)
    found = values.parse_json(text, "RECORD" if file is None else f"--file {file}")
    if not isinstance(found, dict):
        raise click.UsageError('a record is a JSON object, as {"kind": "fact", "field": ..., "value": ...}')
    await _add(session, found, given)


async def _add(session: Session, record: dict[str, Any] | Approval, given: dict[str, Any]) -> None:
    async with acting(session) as (board, done):
        reply = await board.add_record(record, **given)
        if not session.json:
            replayed = "  replayed" if reply.replayed else ""
            output.emit(output.visible(f"{reply.id}{replayed}"))
        done(reply)


@command(
    "approval",
    click.argument("policy"),
    click.argument("tool"),
    *_PARAMS,
    click.option("--refuse", is_flag=True, help="Say no instead of yes."),
    click.option("--text", metavar="TEXT", help="Why; it takes a board of format 3."),
    click.option("--id", metavar="ID", help="The record's id; the board gives one without it."),
    click.option("--supersedes", metavar="ID", help="The approval that this one replaces."),
    click.option("--expires-seq", type=click.IntRange(min=0), metavar="SEQ", help="Until then it counts."),
    TURN,
    KEY,
    acts=("operator", "agent"),
    group=record,
)
async def approval(
    session: Session,
    *,
    policy: str,
    tool: str,
    params: str | None,
    params_file: str | None,
    refuse: bool,
    text: str | None,
    id: str | None,  # noqa: A002 - the name that the option and the record have
    supersedes: str | None,
    expires_seq: int | None,
    **given: Any,
) -> None:
    """Answer POLICY for one call of TOOL, and for no other: yes, or with --refuse no. Who approves is who
    adds it. An agent needs the grant for approvals.
    """
    answer = Approval(
        policy,
        action_digest(tool, _params(params, params_file)),
        not refuse,
        id=id,
        supersedes=supersedes,
        expires_seq=expires_seq,
        text=text,
    )
    await _add(session, answer, given)


@command(
    "read",
    click.argument("ids", nargs=-1, metavar="[ID]..."),
    TURN,
    acts=("agent",),
    group=record,
)
async def read(session: Session, *, ids: tuple[str, ...], turn: int | None) -> None:
    """Read records, all of them or those named. The read is recorded: it is what puts records into the
    agent's view.
    """
    async with acting(session) as (board, done):
        reply = await board.read_records(list(ids) or None, turn=turn)
        if not session.json:
            output.emit_table(("SEQ", "ID", "KIND", "SAYS"), map(_row, reply.records), right=("SEQ",))
            for unknown in reply.unknown_records:
                output.note(output.visible(f"no record has the id {unknown}"))
        done(reply)


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    rest = {name: member for name, member in found.items() if name not in ("id", "seq", "kind")}
    return found["seq"], found["id"], found["kind"], output.json_text(rest)


@command(
    "check",
    click.argument("tool"),
    *_PARAMS,
    click.option("--basis", multiple=True, metavar="KEY=REV", help="What the decision rests on; repeatable."),
    click.option(
        "--allow-unevaluable", is_flag=True, help="Let dropped records of an unknown kind pass, with a note."
    ),
    click.option("--enforce", is_flag=True, help="Exit 0 only where the rules permit the action too."),
    TURN,
    acts=("agent",),
)
async def check(
    session: Session,
    *,
    tool: str,
    params: str | None,
    params_file: str | None,
    basis: tuple[str, ...],
    enforce: bool,
    **given: Any,
) -> int:
    """Ask whether a record that the agent lacks binds this call of TOOL. The verdict is recorded. Exit codes:
    0 PASS, 1 BLOCK (or, with --enforce, not permitted), 2 for everything else. PASS is no permission:
    `policy` says what the rules say.
    """
    action = _params(params, params_file)
    async with acting(session) as (board, done):
        reply = await board.check(tool, action, basis=values.basis_of(basis), **given)
        if not session.json:
            _show(reply, enforce=enforce)
        done(reply)
    permitted = not enforce or reply.policy.answer in PERMITTING
    return 0 if reply.verdict == "PASS" and permitted else 1


def _params(params: str | None, file: str | None) -> dict[str, Any]:
    if params is not None and file is not None:
        raise click.UsageError("give the parameters by --params or by --params-file, not both")
    if params is None and file is None:
        return {}
    text = values.read_text(file, "--params-file") if file is not None else str(params)
    found = values.parse_json(text, "--params" if file is None else f"--params-file {file}")
    if not isinstance(found, dict):
        raise click.UsageError('parameters are a JSON object, as {"amount": 8400}')
    return found


def _show(reply: Any, *, enforce: bool) -> None:
    rules = f" ({', '.join(reply.policy.rules)})" if reply.policy.rules else ""
    head = f" ({reply.reasons[0].code})" if reply.reasons else ""
    if enforce and not head and reply.policy.answer not in PERMITTING:
        head = f" (enforced: {reply.policy.answer})"
    output.emit(output.visible(f"{reply.verdict}{head}  {reply.id}"))
    output.emit(output.visible(f"policy: {reply.policy.answer}{rules}"))
    _told("reason", reply.reasons)
    _told("note", reply.notes)
    again = dict.fromkeys(name for reason in reply.reasons for name in reason.reread)
    keys = dict.fromkeys(key for reason in reply.reasons for key in reason.keys)
    if again:
        output.note(output.visible(f"read again: blackboard record read {' '.join(again)}"))
    if keys:
        output.note(output.visible(f"read again: blackboard read {' '.join(keys)}"))


def _told(word: str, found: Iterable[Any]) -> None:
    for one in found:
        output.emit(output.visible(f"{word}: {one.code}: {one.detail}"))
