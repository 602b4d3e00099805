"""`token create|list|revoke`: on a server, or on the file that one will serve."""

from __future__ import annotations

from typing import Any

import click

from blackboard.cli import output
from blackboard.cli.options import command
from blackboard.cli.session import Session
from blackboard.messages import commands as ask
from blackboard.messages.principal import Grants, Principal, Role
from blackboard.messages.replies import TokenReply, TokensReply


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@command(
    "create",
    click.argument("role", type=click.Choice(["agent", "auditor", "operator"])),
    click.argument("name"),
    click.option("--boards", multiple=True, metavar="PATTERN", help="Boards it reaches (all)."),
    click.option(
        "--days",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        help="Expires after so many days (never).",
    ),
    click.option(
        "--writes",
        multiple=True,
        metavar="PATTERN",
        help="Keys it may write; without it all but those that rules read.",
    ),
    click.option("--prefix", default="", metavar="PREFIX", help="The keys that its full re-read covers."),
    click.option("--report-peers", is_flag=True, help="May report the compaction of others."),
    click.option(
        "--records",
        multiple=True,
        metavar="KIND",
        help="What records it may add: chatter, policy, approval, fact:PATTERN, opaque; repeatable.",
    ),
    acts=("operator",),
    board=False,
    group=token,
)
async def create(
    session: Session,
    *,
    role: Role,
    name: str,
    boards: tuple[str, ...],
    days: float | None,
    writes: tuple[str, ...],
    prefix: str,
    report_peers: bool,
    records: tuple[str, ...],
) -> None:
    """Make a token for agent, auditor or operator NAME and print its secret, this once."""
    grants = Grants(
        writes=list(writes) or None, prefix=prefix, report_peers=report_peers, records=list(records)
    )
    wanted = ask.CreateToken(role=role, name=name, boards=list(boards) or ["*"], grants=grants, days=days)
    made = await _execute(session, wanted)
    assert isinstance(made, TokenReply)
    if session.json:
        output.emit_json(made)
        return
    output.emit(str(made.token))
    until = f", until {output.moment(made.expires_at)}" if made.expires_at else ""
    output.note(output.visible(f"{made.id}: {made.role} {made.name} on {' '.join(made.boards)}{until}"))


@command("list", acts=("operator",), board=False, group=token)
async def list_(session: Session) -> None:
    """List the tokens, without their secrets."""
    reply = await _execute(session, ask.ListTokens())
    assert isinstance(reply, TokensReply)
    if session.json:
        output.emit_json(reply)
        return
    headers = ("ID", "ROLE", "NAME", "BOARDS", "CREATED", "EXPIRES", "REVOKED")
    output.emit_table(headers, map(_row, reply.tokens))


@command("revoke", click.argument("token_id", metavar="ID"), acts=("operator",), board=False, group=token)
async def revoke(session: Session, *, token_id: str) -> None:
    """End the token with this id at once."""
    reply = await _execute(session, ask.RevokeToken(id=token_id))
    assert isinstance(reply, TokenReply)
    if session.json:
        output.emit_json(reply)
    else:
        output.emit(output.visible(f"{reply.id}: revoked {output.moment(reply.revoked_at)}"))


def _row(one: TokenReply) -> tuple[object, ...]:
    times = (one.created_at, one.expires_at, one.revoked_at)
    return one.id, one.role, one.name, " ".join(one.boards), *map(output.moment, times)


async def _execute(session: Session, wanted: ask.TokenCommand) -> Any:
    if session.target.is_server:
        return await _on_server(session, wanted)
    return await _on_file(session, wanted)


async def _on_server(session: Session, wanted: ask.TokenCommand) -> Any:
    async with session.connect() as board:
        match wanted:
            case ask.CreateToken(role=role, name=name, boards=boards, grants=grants, days=days):
                return await board.create_token(role, name, boards=boards, grants=grants, days=days)
            case ask.ListTokens():
                return await board.list_tokens()
            case ask.RevokeToken(id=token_id):
                return await board.revoke_token(token_id)


async def _on_file(session: Session, wanted: ask.TokenCommand) -> Any:
    """Before its server runs: embedded use has no tokens, so this goes to the store itself."""
    from blackboard.server.tokens import Tokens
    from blackboard.store import open_store

    store = await open_store(session.target.url, session.settings)
    try:
        principal = Principal(role="operator", name=session.identity["operator"])
        return await Tokens(store).execute(principal, wanted)
    finally:
        await store.close()
