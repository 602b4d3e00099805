"""`audit`: whether logs are what they were; checkpoints to keep elsewhere, and proofs against them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blackboard.audit import note
from blackboard.audit.checkpoint import Checkpoint, opened, signed
from blackboard.audit.lines import read_row
from blackboard.audit.proof import Consistency, Inclusion, read_proof
from blackboard.audit.proving import Proven, prove_consistency, prove_inclusion, take_checkpoint
from blackboard.audit.verifying import Verified, VerifiedBoard, verify
from blackboard.cli import casefiles, output, values
from blackboard.cli.options import local
from blackboard.cli.progress import Progress
from blackboard.cli.session import Session
from blackboard.config import SIGNING_KEY
from blackboard.errors import BlackboardError, IntegrityFailure
from blackboard.events.envelope import Row
from blackboard.service.signing import Signer, load
from blackboard.store import open_store

if TYPE_CHECKING:
    from blackboard.store.contract import Store

_WORDS = {
    "write.rejected": "rejection",
    "action.checked": "verdict",
    "certificate.issued": "certificate",
}
_SHOWN = 5
_NOT_HELD = (
    "no checkpoint was given: a log that was written anew from somewhere on, every hash of it, may fit as "
    "well; `blackboard audit checkpoint` makes one to keep elsewhere"
)
_BACK = "keep the database as it is, and go back to a copy that verifies"

_BOARD = click.option("--board", metavar="NAME", help="The board (or BLACKBOARD_BOARD).")
_KEY = click.option(
    "--public-key",
    metavar="K",
    help="Who signed the checkpoints: a key as `audit checkpoint` names it, 64 hex digits, or a file; "
    "without it this machine's signing key.",
)


@click.group()
def audit() -> None:
    """Verify logs, and keep and prove checkpoints of them. A database is named with --db; without it, it is
    that of the settings. Nothing here changes a log, and all of it works beside running servers.
    """


@local(
    "verify",
    click.option("--board", metavar="NAME", help="This board alone; without it every board."),
    click.option(
        "--checkpoint",
        "checkpoints",
        multiple=True,
        metavar="FILE",
        help="Hold the log against a checkpoint that was kept elsewhere; repeatable, - is stdin.",
    ),
    _KEY,
    click.option("--no-judging", is_flag=True, help="Leave out judging the gate's decisions again."),
    database=True,
    group=audit,
)
async def verify_logs(
    session: Session,
    *,
    board: str | None,
    checkpoints: Sequence[str],
    public_key: str | None,
    no_judging: bool,
) -> int:
    """Verify every log: digests, chain and order; that all of it decodes and folds; that the gate, asked
    again, decides the same; that snapshots are what the log replays to. Ends with 5 where anything is wrong.

    Without --checkpoint, somebody who can write the database and makes every hash anew goes unnoticed where
    what is written could have happened.
    """
    casefiles.refuse_stdin_twice(list(checkpoints))
    kept = [_checkpoint(session, name, public_key, "--checkpoint") for name in checkpoints]
    for one in kept:
        if board is not None and one.board != board:
            raise click.UsageError(f"the checkpoint is of board {one.board!r}, and --board names {board!r}")
    url = session.database
    with casefiles.uncollected(), contextlib.closing(Progress("events")) as progress:
        async with _reading(session, url) as store:
            found = await verify(
                store, url, board=board, checkpoints=kept, judge=not no_judging, progress=progress
            )
    if session.json:
        output.emit_json(found)
    else:
        _show(found)
    return 0 if found.ok else IntegrityFailure.exit_code


@local("checkpoint", _BOARD, database=True, group=audit)
async def checkpoint(session: Session, *, board: str | None) -> None:
    """Print a signed checkpoint of a board's log: how many events there are, and the root over all of them.
    Keep it where nobody who can write the database can change it.
    """
    name = _named(board)
    async with _reading(session, session.database) as store:
        found = await take_checkpoint(store, name)
    key = Signer(session.settings).key
    public = note.Key(found.origin, key.public_key()).text
    told = {"board": name, "size": found.size, "root": note.base64_text(found.root), "public_key": public}
    _print(session, signed(found, key), told, "note")


@local(
    "prove",
    click.argument("seq", type=click.IntRange(min=1), required=False),
    click.option("--checkpoint", metavar="FILE", help="Prove it against this checkpoint, not a new one."),
    click.option("--since", metavar="FILE", help="Prove that the log goes on from this checkpoint."),
    _BOARD,
    _KEY,
    database=True,
    group=audit,
)
async def prove(
    session: Session,
    *,
    seq: int | None,
    board: str | None,
    since: str | None,
    public_key: str | None,
    checkpoint: str | None,
) -> None:
    """Prove that event SEQ is in a board's log; or, with --since, that the log goes on from an earlier
    checkpoint. The proof is text with a signed checkpoint in it: whoever has that needs no access to the log.
    """
    if (seq is None) is (since is None):
        raise click.UsageError("name the event to prove, SEQ, or an earlier checkpoint, --since FILE")
    if seq is None and checkpoint is not None:
        raise click.UsageError("--checkpoint goes with SEQ; --since proves a checkpoint of the log as it is")
    if since is not None:
        await _prove_growth(session, _checkpoint(session, since, public_key, "--since"), board)
    elif seq is not None:
        await _prove_event(session, seq, board, checkpoint, public_key)


async def _prove_growth(session: Session, since: Checkpoint, board: str | None) -> None:
    if board is not None and board != since.board:
        raise click.UsageError(f"the checkpoint is of board {since.board!r}, and --board names {board!r}")
    async with _reading(session, session.database) as store:
        found = await prove_consistency(store, since.board, since)
    text = Consistency(since.size, found.hashes, _signed(session, found)).text()
    told = {"board": since.board, "since": since.size, "size": found.checkpoint.size}
    _print(session, text, told, "proof")


async def _prove_event(
    session: Session, seq: int, board: str | None, file: str | None, public_key: str | None
) -> None:
    kept = text = None
    if file is not None:
        text = values.read_text(file, "--checkpoint")
        kept = _opened(session, text, file, public_key)
        if board is not None and board != kept.board:
            raise click.UsageError(f"the checkpoint is of board {kept.board!r}, and --board names {board!r}")
    name = _named(board) if kept is None else kept.board
    async with _reading(session, session.database) as store:
        found = await prove_inclusion(store, name, seq, kept)
    signed_note = text if text is not None else _signed(session, found)
    proof = Inclusion(seq - 1, found.previous, found.hashes, signed_note).text()
    _print(session, proof, {"board": name, "seq": seq, "size": found.checkpoint.size}, "proof")


@local(
    "check-proof",
    click.argument("proof", metavar="FILE"),
    click.option("--event", metavar="FILE", help="The event, as `log --json` prints it; - is stdin."),
    click.option("--since", metavar="FILE", help="The earlier checkpoint."),
    _KEY,
    group=audit,
)
def check_proof(
    session: Session, *, proof: str, event: str | None, since: str | None, public_key: str | None
) -> None:
    """Check a proof that `audit prove` made: of an event, with --event, or of a log that goes on from an
    earlier checkpoint, with --since. No database is needed. Ends with 5 where it proves nothing.
    """
    casefiles.refuse_stdin_twice([proof, event, since])
    with _in_file(proof):
        found = read_proof(values.read_text(proof, "FILE").encode())
    checkpoint = _opened(session, found.note, proof, public_key)
    if isinstance(found, Inclusion):
        row = _event(event, since)
        found.check(checkpoint, row)
        told = {"board": row.board, "seq": row.seq, "size": checkpoint.size}
        said = f"event {row.seq} is in the log of board {row.board}, which had {checkpoint.size} events"
    else:
        if since is None or event is not None:
            raise click.UsageError(
                "this proves that a log goes on: give the earlier checkpoint, --since FILE"
            )
        earlier = _checkpoint(session, since, public_key, "--since")
        found.check(checkpoint, earlier)
        told = {"board": checkpoint.board, "since": earlier.size, "size": checkpoint.size}
        said = f"the log of board {checkpoint.board} went on from {earlier.size} to {checkpoint.size} events"
    if session.json:
        output.emit_json({"ok": True, **told})
    else:
        output.emit(output.visible(said))


def _event(file: str | None, since: str | None) -> Row:
    if file is None or since is not None:
        raise click.UsageError("this proves that an event is in a log: give the event, --event FILE")
    with _in_file(file):
        return read_row(values.read_text(file, "--event").encode())


# ---- what the commands share


@asynccontextmanager
async def _reading(session: Session, url: str) -> AsyncIterator[Store]:
    """The database, read beside whoever else uses it."""
    store = await open_store(url, session.settings, read_only=True)
    try:
        yield store
    finally:
        await store.close()


def _named(board: str | None) -> str:
    name = board or os.environ.get("BLACKBOARD_BOARD")
    if not name:
        raise click.UsageError("name a board: --board NAME, or BLACKBOARD_BOARD in the environment")
    return name


def _checkpoint(session: Session, file: str, public_key: str | None, option: str) -> Checkpoint:
    return _opened(session, values.read_text(file, option), file, public_key)


def _opened(session: Session, text: str, file: str, public_key: str | None) -> Checkpoint:
    with _in_file(file):
        return opened(text.encode(), _public_key(session, public_key))


def _public_key(session: Session, given: str | None) -> str | bytes:
    if given is not None:
        return values.read_public_key(given)
    place = Path(session.settings.signing_key or Path(str(session.settings.state_dir)) / SIGNING_KEY)
    if not place.exists():
        raise click.UsageError(
            "name the public key that the checkpoint was signed with: --public-key K (this machine has none)"
        )
    from blackboard.gate.actions.signing import raw_public_key

    return raw_public_key(load(place).public_key())


def _signed(session: Session, found: Proven) -> str:
    return signed(found.checkpoint, Signer(session.settings).key)


@contextlib.contextmanager
def _in_file(file: str) -> Iterator[None]:
    try:
        yield
    except BlackboardError as error:
        error.add_note(output.visible(f"in {file}"))
        raise


def _print(session: Session, text: str, told: dict[str, Any], member: str) -> None:
    """The text byte for byte, or as a member of what is told."""
    if session.json:
        output.emit_json(told | {member: text})
        return
    click.echo(text.encode(), nl=False)
    if "public_key" in told:
        output.note(f"verify it with --public-key {told['public_key']}")


# ---- what verification found


def _show(found: Verified) -> None:
    rate = found.events / found.seconds if found.seconds else 0
    boards, events = output.counted(len(found.boards), "board"), output.counted(found.events, "event")
    output.emit(f"{boards}, {events}, {found.seconds:.1f} s ({rate:,.0f}/s)")
    headers = ("BOARD", "EVENTS", "JUDGED AGAIN", "SNAPSHOT", "CHECKPOINTS", "ROOT")
    output.emit_table(headers, [_row(one) for one in found.boards], right=("EVENTS", "SNAPSHOT"))
    for one in found.boards:
        _tell(one)
    if not found.ok:
        output.note(_BACK)
        return
    output.emit("everything fits")
    if not any(one.checkpoints for one in found.boards):
        output.note(_NOT_HELD)


def _row(one: VerifiedBoard) -> tuple[object, ...]:
    judged = ", ".join(output.counted(count, _WORDS[kind]) for kind, count in sorted(one.judged.items()))
    held = ", ".join(map(str, one.checkpoints))
    return one.board, one.head, judged or "-", one.snapshot or "-", held or "-", one.root


def _tell(one: VerifiedBoard) -> None:
    """What is worth knowing of one board, and what is wrong with it: on stderr."""
    lines = [f"flaw: board {one.board}, seq {flaw.seq}: {flaw.detail}" for flaw in one.flaws]
    if one.more:
        lines.append(f"flaw: board {one.board}: and {one.more} more")
    lines += [
        f"not re-judgeable: board {one.board}, seq {said.seq}: {said.detail}"
        for said in one.unjudged[:_SHOWN]
    ]
    if one.not_judged > _SHOWN:
        lines.append(f"not re-judgeable: board {one.board}: and {one.not_judged - _SHOWN} more")
    if one.redacted:
        lines.append(f"board {one.board}: {output.counted(one.redacted, 'event')} without a body")
    if one.opaque:
        events = output.counted(one.opaque, "event")
        lines.append(f"board {one.board}: {events} of kinds that this release does not know")
    if one.too_new:
        lines.append(f"board {one.board} has format {one.format}, which this release does not know")
    for line in lines:
        output.note(output.visible(line))
