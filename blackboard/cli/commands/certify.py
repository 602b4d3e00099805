"""`certify`: the check of one tool, to be made without records; of a file, or of a board. And that check."""

from __future__ import annotations

from typing import Any

import click

from blackboard.cli import casefiles, output, values
from blackboard.cli.options import TURN, command
from blackboard.cli.session import Session
from blackboard.errors import Malformed

EXITS = {"PASS": 0, "BLOCK": 1, "ERROR": 2}
_NO_PERMISSION = (
    "nothing that was lost binds a safe call; that is no permission: what the rules say, `check` tells"
)


@command(
    "certify",
    click.argument("file", metavar="[FILE]", required=False),
    click.option("--tool", metavar="TOOL", help="The tool whose calls the certificate is about."),
    click.option("--key", metavar="FILE", help="Sign with the key in this file; made where there is none."),
    click.option("--verify", metavar="CERT", help="Check a call against this certificate; - is stdin."),
    click.option("--public-key", metavar="K", help="Whose signature it has: 64 hex digits, or a file."),
    click.option("--action", metavar="JSON", help='The call to check: {"tool": .., "params": {..}}.'),
    click.option("--action-file", metavar="FILE", help="The call to check, in a file; - is stdin."),
    click.option("--head", type=click.IntRange(min=0), metavar="SEQ", help="Where the board is by now."),
    TURN,
    acts=("agent",),
)
def certify(session: Session, *, file: str | None, verify: str | None, **given: Any) -> Any:
    """Issue a certificate of the verdict on every call of a tool; or, with --verify, check a call.

    FILE is one of records (- is standard input); without it the certificate is that of a board, for what
    the agent holds there. With --verify nothing but the certificate is needed, and the exit code is 0 for
    PASS, 1 for BLOCK and 2 for ERROR; --board, --agent and --head refuse a certificate of another board or
    agent, or one that has expired. PASS is no permission.
    """
    if verify is not None:
        _refuse(given, "--verify", ("tool", "key", "turn"))
        if file is not None:
            raise click.UsageError("--verify checks a certificate; FILE is to issue one")
        return _verify(session, verify, **{name: given[name] for name in _OF_VERIFY})
    _refuse(given, "issuing a certificate", _OF_VERIFY)
    if given["tool"] is None:
        raise click.UsageError("name the tool: --tool TOOL")
    if file is None:
        _refuse(given, "a board, which signs with its own key,", ("key",))
        return _of_board(session, given["tool"], given["turn"])
    _refuse(given, "a file", ("turn",))
    return _of_file(session, file, given["tool"], given["key"])


_OF_VERIFY = ("public_key", "action", "action_file", "head")


def _refuse(given: dict[str, Any], what: str, names: tuple[str, ...]) -> None:
    for name in names:
        if given[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with {what}")


# ---- issuing


def _of_file(session: Session, file: str, tool: str, key: str | None) -> None:
    from blackboard.gate.actions.certificate import sign_certificate
    from blackboard.gate.actions.signing import raw_public_key
    from blackboard.service.signing import load_or_make

    try:
        with casefiles.uncollected():
            body = _body(casefiles.read_bytes(file), tool)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error
    except Malformed as error:
        error.add_note(output.visible(f"in {file}"))
        raise
    if key is None:
        document, public = {"certificate": body}, None
        output.note("it is not signed, and nobody can verify it: --key FILE signs it")
    else:
        signing = load_or_make(key)
        document, public = sign_certificate(body, signing), raw_public_key(signing.public_key()).hex()
    if session.json:
        output.emit_json(document)
    else:
        _show(body)
    if public is not None:
        output.note(f"verify it with --public-key {public}")


def _body(raw: bytes, tool: str) -> dict[str, Any]:
    """The certificate of a file for one tool, unsigned."""
    from blackboard.gate.actions.certificate import certificate
    from blackboard.gate.actions.compiling import compile_tool
    from blackboard.gate.actions.examine import chosen_tools
    from blackboard.gate.actions.file import read_file
    from blackboard.gate.actions.retention import compact, set_digest
    from blackboard.records.scope import read_tool

    case = read_file(raw, actions=False)
    kept = compact(case).kept
    (wanted,) = chosen_tools(case, (read_tool(tool, ("tool",)),), None)
    return certificate(
        compile_tool(case.world(kept), wanted.name),
        full=set_digest(case.records, range(len(case.records))),
        held=set_digest(case.records, kept),
        agent=case.agent,
    )


async def _of_board(session: Session, tool: str, turn: int | None) -> None:
    from blackboard.cli.acting import acting

    async with acting(session) as (board, done):
        reply = await board.certificate(tool, turn=turn)
        key = await board.signing_key()
        if not session.json and reply.certificate is not None:
            output.emit(f"certificate : {reply.id}")
            _show(reply.certificate["certificate"])
            output.note(f"verify it with --public-key {key.public_key}")
        done(reply)


def _show(body: dict[str, Any]) -> None:
    import msgspec

    from blackboard.gate.actions.certificate import Body
    from blackboard.gate.actions.verifying import Certificate

    until = body.get("valid_until_seq")
    rests = [*body.get("fields", ()), *(f"ledger:{key}" for key in body.get("keys", ()))]
    lines = {
        "tool": body["tool"],
        "as of": f"seq {body['as_of']}, held-sha256={body['held']}",
        "calls": Certificate(msgspec.convert(body, Body)).words,
        "valid": "until what it rests on changes" + ("" if until is None else f", or seq {until} is reached"),
        "rests on": f"the rules for the tool and their approvals{''.join(f', {name}' for name in rests)}",
    }
    rows = [f"{row['id']} ({row['effect']}) {row['predicate']}" for row in body.get("rows", ())]
    for word, text in [*lines.items(), *(("rule", row) for row in rows)]:
        output.emit(output.visible(f"{word:12}: {text}"))
    output.note(_NO_PERMISSION)


# ---- checking


def _verify(
    session: Session,
    name: str,
    *,
    public_key: str | None,
    action: str | None,
    action_file: str | None,
    head: int | None,
) -> int:
    from blackboard.gate.actions.verifying import verify_certificate

    if public_key is None:
        raise click.UsageError("name the public key: --public-key K; it never comes from the certificate")
    if (action is None) is (action_file is None):
        raise click.UsageError("give the call by --action or by --action-file")
    casefiles.refuse_stdin_twice([name, action_file])
    call = action if action_file is None else values.read_text(action_file, "--action-file")
    found = verify_certificate(
        _document(values.read_text(name, "--verify")),
        str(call),
        values.read_public_key(public_key),
        board=session.flags.get("board"),
        agent=session.flags.get("agent"),
        head=head,
    )
    if session.json:
        output.emit_json(found)
    else:
        _tell(found)
    return EXITS[found.verdict]


def _document(text: str) -> Any:
    """The certificate in a file: what is issued of a file, or the reply of a board, which has it inside."""
    from blackboard.canonical import parse_exact

    try:
        found = parse_exact(text)
    except Malformed:
        return text
    inside = found.get("certificate") if isinstance(found, dict) else None
    return inside if isinstance(inside, dict) and "signature" in inside else text


def _tell(found: Any) -> None:
    head = f" ({found.reasons[0].code})" if found.reasons else ""
    output.emit(f"{found.verdict}{head}")
    if found.verdict == "PASS":
        output.note(_NO_PERMISSION)
    if found.detail is not None:
        output.emit(output.visible(f"error: {found.detail}"))
    for reason in found.reasons:
        output.emit(output.visible(f"reason: {reason.code}: {reason.detail}"))
    again = dict.fromkeys(name for reason in found.reasons for name in reason.reread)
    keys = dict.fromkeys(key for reason in found.reasons for key in reason.keys)
    if again:
        output.note(output.visible(f"records to read again: {', '.join(again)}"))
    if keys:
        output.note(output.visible(f"keys to read again: {', '.join(keys)}"))
