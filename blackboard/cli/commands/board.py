"""`board open|list|policy|mode|join|format`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from blackboard.cli import output, values
from blackboard.cli.acting import acting
from blackboard.cli.looking import looking
from blackboard.cli.options import KEY, command
from blackboard.cli.session import Session
from blackboard.events.kinds import FORMAT, Mode

_NAME = click.argument("name", required=False)
_SET = click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="MEMBER=VALUE",
    help="A policy member, as demotion=read-only; repeatable.",
)
_POLICY = click.option("--policy", metavar="FILE", help="Policy members in a JSON file; - is stdin.")


@click.group()
def board() -> None:
    """Open and list boards; show and set policy, mode and format."""


@command(
    "open",
    _NAME,
    _SET,
    _POLICY,
    click.option(
        "--format",
        "board_format",
        type=int,
        metavar="NUMBER",
        help="Its format, where servers of an earlier release are to serve it; the newest without it.",
    ),
    KEY,
    acts=("operator",),
    demo=False,
    group=board,
)
async def open_(
    session: Session,
    *,
    name: str | None,
    pairs: tuple[str, ...],
    policy: str | None,
    board_format: int | None,
    idempotency_key: str | None,
) -> None:
    """Open board NAME. Opening it again is a no-op, with another policy a conflict."""
    async with acting(_named(session, name)) as (there, done):
        patch = _patch(pairs, policy)
        reply = await there.open_board(
            policy=patch or None, format=board_format, idempotency_key=idempotency_key
        )
        if not session.json:
            output.emit(output.visible(f"{reply.name}: {'opened' if reply.created else 'was open'}"))
            if board_format not in (None, reply.format):
                output.note(
                    f"its format is {reply.format}: `blackboard board format` raises one, nothing lowers it"
                )
        done(reply)


@command("list", acts=("auditor", "operator", "agent"), board=False, group=board)
async def list_(session: Session) -> None:
    """List the boards that the caller reaches."""
    async with looking(session) as there:
        reply = await there.list_boards()
    if session.json:
        output.emit_json(reply)
    else:
        rows = [(one.name, one.head, output.moment(one.opened_at)) for one in reply.boards]
        output.emit_table(("BOARD", "HEAD", "OPENED"), rows, right=("HEAD",))


@command("policy", _NAME, _SET, _POLICY, KEY, acts=("operator", "auditor"), group=board)
async def policy(
    session: Session,
    *,
    name: str | None,
    pairs: tuple[str, ...],
    policy: str | None,
    idempotency_key: str | None,
) -> None:
    """Show the policy of board NAME, or change it: members that are not named keep their value."""
    async with acting(_named(session, name)) as (there, done):
        patch = _patch(pairs, policy)
        if patch:
            changed = await there.set_policy(patch, idempotency_key=idempotency_key)
            done(changed)
            if not session.json:
                output.note(f"policy changed, seq {changed.seq}")
            return
        reply = await there.get_board()
        if not session.json:
            _show_policy(reply)
        done(reply)


@command(
    "mode",
    click.argument("mode", type=click.Choice(["open", "single-writer"])),
    click.option("--coordinator", metavar="AGENT", help="Who holds the pen in single-writer mode."),
    click.option("--why", default="", metavar="TEXT", help="Why, for the log."),
    KEY,
    acts=("operator",),
    group=board,
)
async def mode(session: Session, *, mode: Mode, **given: Any) -> None:
    """Enter or leave single-writer mode, or hand the pen to another coordinator."""
    async with acting(session) as (there, done):
        reply = await there.set_mode(mode, **given)
        if not session.json:
            output.emit(f"mode {mode}, {_since(reply.seq)}")
        done(reply)


@command(
    "join",
    click.argument("agent_id", metavar="AGENT"),
    click.option("--prefix", default="", metavar="PREFIX", help="The keys that its full re-read covers."),
    KEY,
    acts=("operator",),
    group=board,
)
async def join(session: Session, *, agent_id: str, **given: Any) -> None:
    """Name an agent and the key prefix that bounds its full re-read."""
    async with acting(session) as (there, done):
        reply = await there.join(agent_id, **given)
        if not session.json:
            output.emit(output.visible(f"{agent_id} joined, {_since(reply.seq)}"))
        done(reply)


@command("format", click.argument("number", type=int, required=False), KEY, acts=("operator",), group=board)
async def format_(session: Session, *, number: int | None, idempotency_key: str | None) -> None:
    """Raise the board's format to NUMBER, once every server can read it; without NUMBER, show it."""
    async with acting(session) as (there, done):
        if number is None:
            shown = await there.get_board()
            if not session.json:
                output.emit(f"format {shown.format}, newest {FORMAT}")
            done(shown)
            return
        reply = await there.raise_format(number, idempotency_key=idempotency_key)
        if not session.json:
            output.emit(f"format {number}, {_since(reply.seq)}")
        done(reply)


def _since(seq: int | None) -> str:
    return "as it was" if seq is None else f"seq {seq}"


def _named(session: Session, name: str | None) -> Session:
    if name is None:
        return session
    return Session(session.acts, session.demo, session.flags | {"board": name})


def _patch(pairs: tuple[str, ...], file: str | None) -> dict[str, Any]:
    """A policy patch from `--policy` and `--set`; the board judges its members."""
    patch: Any = (
        {} if file is None else values.parse_json(values.read_text(file, "--policy"), f"--policy {file}")
    )
    if not isinstance(patch, dict):
        raise click.UsageError(f"--policy {file}: it holds a JSON object of policy members")
    for pair in pairs:
        member, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--set {pair!r}: write MEMBER=VALUE, as in demotion=read-only")
        place, names = patch, member.split(".")
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = _value(text)
    return patch


def _value(text: str) -> Any:
    # JSON where it is JSON (true, 8, ["done"]), else the word itself: read-only needs no quotes.
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _show_policy(reply: Any) -> None:
    held = msgspec.to_builtins(reply.policy)
    signals = held.pop("signals")
    rows = [(name, output.json_text(value)) for name, value in held.items()]
    rows += [(f"signals.{name}", output.json_text(setting)) for name, setting in signals.items()]
    output.emit_table(("MEMBER", "VALUE"), rows)
    pen = f", coordinator {reply.coordinator}" if reply.coordinator else ""
    output.note(
        output.visible(f"{reply.name}: mode {reply.mode}{pen}, format {reply.format}, head {reply.head}")
    )
