"""Proofs as text: made from a store, read strictly, and good for one thing each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.audit import merkle
from blackboard.audit.checkpoint import Checkpoint, signed
from blackboard.audit.lines import read_row
from blackboard.audit.note import base64_text
from blackboard.audit.proof import HEADER, Consistency, Inclusion, read_proof
from blackboard.audit.proving import Proven, prove_consistency, prove_inclusion, take_checkpoint
from blackboard.errors import BeyondHead, IntegrityFailure, Malformed, UnknownBoard
from blackboard.events.envelope import Row
from blackboard.store.contract import Store
from tests.audit.logs import Bare, altered, checkpoint_of, forged, incident, line_of, seqs_of
from tests.audit.test_note import PRIVATE
from tests.pure.driver import NAME

LOG = incident().rows
SIZES = range(1, len(LOG) + 1)


def store(rows: Sequence[Row] = LOG, slices: int = 1000) -> Store:
    return cast(Store, Bare(rows, slices))


def of_event(seq: int, found: Proven) -> Inclusion:
    return Inclusion(seq - 1, found.previous, found.hashes, signed(found.checkpoint, PRIVATE))


# ---- made from a store


@pytest.mark.parametrize("slices", [1, 5, 1000])
async def test_a_checkpoint_is_taken_of_the_whole_log(slices: int) -> None:
    assert await take_checkpoint(store(slices=slices), NAME) == checkpoint_of(LOG)


@pytest.mark.parametrize("slices", [1, 5, 1000])
async def test_every_event_is_proved_against_every_checkpoint_that_it_is_in(slices: int) -> None:
    for size in (1, 2, 7, 8, len(LOG)):
        kept = checkpoint_of(LOG[:size])
        for row in LOG[:size]:
            found = await prove_inclusion(store(slices=slices), NAME, row.seq, kept)
            assert found.checkpoint == kept
            of_event(row.seq, found).check(kept, row)


@pytest.mark.parametrize("slices", [1, 5, 1000])
async def test_growth_is_proved_from_every_earlier_checkpoint(slices: int) -> None:
    for size in SIZES:
        since = checkpoint_of(LOG[:size])
        found = await prove_consistency(store(slices=slices), NAME, since)
        assert found.checkpoint == checkpoint_of(LOG)
        Consistency(size, found.hashes, "").check(found.checkpoint, since)


async def test_nothing_is_signed_or_proved_of_a_log_that_is_broken() -> None:
    seq = seqs_of(LOG, "message.posted")[0]
    broken = [row._replace(body="{}") if row.seq == seq else row for row in LOG]
    with pytest.raises(IntegrityFailure, match=rf"event {seq} .*audit verify"):
        await take_checkpoint(store(broken), NAME)
    gone = [*LOG[: seq - 1], *LOG[seq:]]
    with pytest.raises(IntegrityFailure, match=f"event {seq} of board"):
        await prove_inclusion(store(gone), NAME, 1)


async def test_a_log_that_was_put_back_or_made_anew_proves_nothing_against_what_was_kept() -> None:
    kept = checkpoint_of(LOG[:20])
    for prove in (
        lambda rows: prove_inclusion(store(rows), NAME, 3, kept),
        lambda rows: prove_consistency(store(rows), NAME, kept),
    ):
        with pytest.raises(IntegrityFailure, match="it was cut off or put back"):
            await prove(LOG[:19])
        with pytest.raises(IntegrityFailure, match="its hashes made anew"):
            await prove(forged(LOG, 20, recorded_at=LOG[-1].recorded_at))
        await prove(forged(LOG, 21, recorded_at=LOG[-1].recorded_at))  # after the checkpoint: nobody can tell


async def test_what_is_not_there_is_not_proved() -> None:
    with pytest.raises(UnknownBoard):
        await take_checkpoint(store([]), NAME)
    for seq, kept in ((len(LOG) + 1, None), (8, checkpoint_of(LOG[:7])), (0, None)):
        with pytest.raises(BeyondHead):
            await prove_inclusion(store(), NAME, seq, kept)


# ---- what a proof is good for


async def test_a_proof_of_one_event_proves_no_other_and_none_that_was_changed() -> None:
    found = await prove_inclusion(store(), NAME, 7)
    proof, kept = of_event(7, found), found.checkpoint
    with pytest.raises(IntegrityFailure, match="the proof is about event 7"):
        proof.check(kept, LOG[7])
    with pytest.raises(IntegrityFailure, match="the proof is about event 7 of board 'other'"):
        proof.check(Checkpoint("other", kept.size, kept.root), LOG[6])
    for member in ("kind", "actor", "key", "command_id", "body"):
        with pytest.raises(IntegrityFailure, match="is not what its digests"):
            proof.check(kept, altered(LOG[6], member, "x"))
    with pytest.raises(IntegrityFailure, match="is not what its digests"):
        proof.check(kept, LOG[6]._replace(body=None, salt=None))
    with pytest.raises(IntegrityFailure, match="is not in the log"):
        proof.check(Checkpoint(NAME, kept.size, merkle.EMPTY), LOG[6])


async def test_a_proof_of_growth_is_about_two_checkpoints() -> None:
    since = checkpoint_of(LOG[:9])
    found = await prove_consistency(store(), NAME, since)
    proof = Consistency(9, found.hashes, "")
    with pytest.raises(IntegrityFailure, match="the proof is about the first 9 events"):
        proof.check(found.checkpoint, checkpoint_of(LOG[:10]))
    with pytest.raises(IntegrityFailure, match="does not go on from the one of 9"):
        proof.check(found.checkpoint, Checkpoint(NAME, 9, merkle.EMPTY))


# ---- as text

hashes = st.lists(st.binary(min_size=32, max_size=32), max_size=63)
NOTE = signed(checkpoint_of(LOG), PRIVATE)


@given(st.integers(0, 2**53), st.binary(min_size=32, max_size=32), hashes)
def test_a_proof_is_read_as_it_was_written(number: int, previous: bytes, found: list[bytes]) -> None:
    for proof in (Inclusion(number, previous, found, NOTE), Consistency(number, found, NOTE)):
        assert read_proof(proof.text().encode()) == proof


def test_a_proof_has_the_lines_that_others_read() -> None:
    one = base64_text(bytes(32))
    assert (
        Inclusion(6, bytes(32), [bytes(32)], NOTE).text()
        == f"{HEADER}\nextra {one}\nindex 6\n{one}\n\n{NOTE}"
    )
    assert Consistency(6, [], NOTE).text() == f"old 6\n\n{NOTE}"


ONE = base64_text(bytes(32))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no blank line"),
        ("old 6\n", "no blank line"),
        (f"old 06\n\n{NOTE}", "it begins with 'old 06'"),
        (f"c2sp.org/tlog-proof@v2\n\n{NOTE}", "it begins with"),
        (f"{HEADER}\n\n{NOTE}", "its second line"),
        (f"{HEADER}\nindex 6\n\n{NOTE}", "its second line"),
        (f"{HEADER}\nextra AAAA\nindex 6\n\n{NOTE}", "its second line"),
        (f"{HEADER}\nextra {ONE}\n\n{NOTE}", "its third line"),
        (f"{HEADER}\nextra {ONE}\nindex -1\n\n{NOTE}", "its third line"),
        (f"old 6\nAAAA\n\n{NOTE}", "is no hash in Base64"),
        (f"old 6\n{ONE} \n\n{NOTE}", "is no hash in Base64"),
        (f"old 6\n{f'{ONE}{chr(10)}' * 64}\n{NOTE}", "more than 63 hashes"),
        ("x" * 1024 * 1024 + "\n\n", "longer than"),
    ],
)
def test_what_is_no_proof_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        read_proof(text.encode())


def test_bytes_that_are_no_utf_8_are_no_proof() -> None:
    with pytest.raises(Malformed, match="not UTF-8"):
        read_proof(b"old 6\n\n\xff")


# ---- events as lines


def test_an_event_is_read_from_its_line_as_it_was_stored() -> None:
    for row in [*LOG, LOG[3]._replace(body=None, salt=None)]:
        assert read_row(line_of(row).encode()) == row
        assert read_row(line_of(row, printed=True).encode()) == row


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"seq": "1"}', "[" * 100_000])
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(Malformed, match="this is no event as"):
        read_row(line.encode())


@pytest.mark.parametrize(
    ("member", "value"),
    [("hash", '"xy"'), ("salt", '"0"'), ("body", "1e999"), ("seq", '"3"'), ("more", "1")],
)
def test_an_event_with_a_member_that_it_cannot_have_is_refused(member: str, value: str) -> None:
    line = line_of(LOG[3])
    with pytest.raises(Malformed):
        read_row(f'{line[:-1]},"{member}":{value}}}'.encode())


def test_an_event_beyond_any_size_is_refused() -> None:
    with pytest.raises(Malformed, match="at most"):
        read_row(b" " * (17 * 1024 * 1024))
