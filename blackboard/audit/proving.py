"""Checkpoints and proofs of a log in a store: one pass over its rows, their hashes made anew on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from blackboard import canonical
from blackboard.audit.checkpoint import Checkpoint
from blackboard.audit.merkle import Prover, Span, Tree, consistency_spans, inclusion_spans
from blackboard.errors import BeyondHead, IntegrityFailure, UnknownBoard
from blackboard.events.envelope import Row, verify_row
from blackboard.store.contract import Store


class Proven(NamedTuple):
    """A checkpoint to sign, and the hashes of a proof against it; `previous` as `proof.Inclusion` has it."""

    checkpoint: Checkpoint
    hashes: list[bytes]
    previous: bytes = canonical.GENESIS


async def take_checkpoint(store: Store, board: str) -> Checkpoint:
    """The checkpoint of the log as it is now.

    Raises `UnknownBoard`, and `IntegrityFailure` where an event does not fit its digests or the one before
    it: what is broken is not signed.
    """
    return (await _pass(store, board, await _head(store, board), [])).checkpoint


async def prove_inclusion(store: Store, board: str, seq: int, kept: Checkpoint | None = None) -> Proven:
    """Prove that event `seq` is in the log as it is now, or as it was at the checkpoint that was kept.

    Raises `BeyondHead` where there is no such event there, `IntegrityFailure` where the log no longer has the
    root of that checkpoint, and as `take_checkpoint`.
    """
    head = await _head(store, board)
    size = head if kept is None else kept.size
    if not 0 < seq <= size:
        raise BeyondHead(
            f"there are events 1 to {size} of board {board!r}; there is no event {seq} to prove",
            members={"at": seq, "head": size},
        )
    _check_length(board, head, kept)
    found = await _pass(store, board, size, inclusion_spans(seq - 1, size), seq=seq)
    _check_root(found.checkpoint, kept)
    return found


async def prove_consistency(store: Store, board: str, since: Checkpoint) -> Proven:
    """Prove that the log as it is now goes on from an earlier checkpoint.

    Raises `IntegrityFailure` where it does not, and as `take_checkpoint`.
    """
    head = await _head(store, board)
    _check_length(board, head, since)
    return await _pass(store, board, head, consistency_spans(since.size, head), since=since)


async def _pass(
    store: Store,
    board: str,
    size: int,
    spans: list[Span],
    *,
    seq: int = 0,
    since: Checkpoint | None = None,
) -> Proven:
    tree, prover, previous = Tree(), Prover(spans), canonical.GENESIS
    async for rows in _verified(store, board, size):
        hashes = [row.hash for row in rows]
        if tree.size < seq - 1 <= tree.size + len(rows):
            previous = hashes[seq - 2 - tree.size]
        if since is not None and tree.size < since.size <= tree.size + len(rows):
            border = since.size - tree.size
            tree.extend(hashes[:border])
            _check_root(Checkpoint(board, since.size, tree.root()), since)
            tree.extend(hashes[border:])
        else:
            tree.extend(hashes)
        prover.extend(hashes)
    return Proven(Checkpoint(board, tree.size, tree.root()), prover.proof(), previous)


async def _verified(store: Store, board: str, size: int) -> AsyncIterator[list[Row]]:
    """The first `size` rows of a log; their digests and the chain hold."""
    seq, previous = 0, canonical.GENESIS
    async for rows in store.scan(board, through=size):
        for row in rows:
            seq += 1
            if row.seq != seq or not verify_row(row, previous):
                raise _broken(board, seq)
            previous = row.hash
        yield rows
    if seq < size:
        raise _broken(board, seq + 1)


async def _head(store: Store, board: str) -> int:
    tip = await store.tip(board)
    if tip is None:
        raise UnknownBoard(f"there is no board {board!r} in this database")
    return tip.seq


def _check_length(board: str, head: int, kept: Checkpoint | None) -> None:
    if kept is not None and kept.size > head:
        raise IntegrityFailure(
            f"the checkpoint of board {board!r} has size {kept.size}, and the log ends with event {head}: it "
            "was cut off or put back",
            members={"board": board, "seq": head + 1},
        )


def _check_root(found: Checkpoint, kept: Checkpoint | None) -> None:
    if kept is not None and found.root != kept.root:
        raise IntegrityFailure(
            f"events 1 to {kept.size} of board {kept.board!r} are not those of the checkpoint: the log was "
            "changed since, and its hashes made anew",
            members={"board": kept.board, "seq": kept.size},
        )


def _broken(board: str, seq: int) -> IntegrityFailure:
    return IntegrityFailure(
        f"event {seq} of board {board!r} is missing, or does not fit its digests or the event before it; "
        "`blackboard audit verify` says more",
        members={"board": board, "seq": seq},
    )
