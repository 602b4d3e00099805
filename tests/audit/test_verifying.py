"""What verification finds where no checkpoint is at hand, and what it says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from blackboard.audit.checkpoint import Checkpoint
from blackboard.audit.judging import judge_again, needs
from blackboard.audit.verifying import MOST_TOLD, Verified, verify, verify_board
from blackboard.config import Settings
from blackboard.errors import IntegrityFailure, Unavailable, UnknownBoard
from blackboard.events.envelope import Event, Row, unseal
from blackboard.events.kinds import Opaque
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store import open_store
from blackboard.store.contract import Store
from blackboard.store.schema import scanning
from tests.audit.logs import (
    Bare,
    altered,
    chained,
    changed,
    checkpoint_of,
    forged,
    going_back,
    incident,
    root_of,
    seqs_of,
    verified,
)
from tests.pure.driver import NAME

LOG = incident().rows
JUDGED = {"write.rejected": 6, "action.checked": 2, "certificate.issued": 1}


def body_of(seq: int) -> Any:
    return json.loads(LOG[seq - 1].body or "")


def edited(seq: int, **members: Any) -> list[Row]:
    """The log with other members in the body of one event, and all hashes made anew."""
    body = json.dumps(body_of(seq) | members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return forged(LOG, seq, body=body)


async def details(rows: list[Row], *checkpoints: Checkpoint) -> str:
    found = await verified(rows, *checkpoints)
    assert found.flaws
    return "\n".join(flaw.detail for flaw in found.flaws)


# ---- a log as it should be


async def test_a_whole_log_verifies_and_every_decision_of_the_gate_is_judged_again() -> None:
    found = await verified(LOG)
    assert (found.flaws, found.judged, found.not_judged) == ([], JUDGED, 0)
    assert (found.head, found.hash) == (len(LOG), LOG[-1].hash.hex())


@pytest.mark.parametrize("slices", [1, 2, 7])
async def test_where_a_slice_ends_makes_no_difference(slices: int) -> None:
    assert await verified(LOG, slices=slices) == await verified(LOG)


async def test_judging_again_can_be_left_out() -> None:
    found = await verified(LOG, judge=False)
    assert (found.flaws, found.judged) == ([], {})


async def test_a_command_that_opens_a_board_is_judged_by_what_it_opens_with() -> None:
    opening = changed(LOG[0], actor="agent:executor", command_id="first")
    world = incident()
    first = world.rows[seqs_of(world.rows, "write.rejected")[0] - 1]
    rejected = changed(first, command_id="first", request_digest=None, turn=opening.turn)
    found = await verified(chained([opening, rejected._replace(recorded_at=opening.recorded_at)]))
    (flaw,) = found.flaws
    assert flaw.seq == 2
    assert "on events 1 to 0" in flaw.detail


# ---- decisions that the gate never made


async def test_a_verdict_that_was_turned_round_is_found_although_every_hash_fits() -> None:
    (blocked, passed) = seqs_of(LOG, "action.checked")
    assert (body_of(blocked)["verdict"], body_of(passed)["verdict"]) == ("BLOCK", "PASS")
    found = await verified(edited(blocked, verdict="PASS"))
    (flaw,) = found.flaws
    assert flaw.seq == blocked
    assert "the gate says verdict 'BLOCK', and recorded is 'PASS'; different: verdict" in flaw.detail
    assert found.judged == JUDGED | {"action.checked": 1}


async def test_a_rejection_of_what_the_gate_accepts_is_found() -> None:
    seq = seqs_of(LOG, "write.rejected")[1]
    fresh = {"key": "task/new", "revision": 1, "payload_hash": "00" * 32}
    fitting = edited(seq, writes=[fresh])[seq - 1].body
    rows = forged(LOG, seq, body=fitting, actor="agent:planner", turn=1)
    assert "the gate refuses nothing of it" in await details(rows)


async def test_a_rejection_for_another_reason_or_with_another_remedy_is_found() -> None:
    seq = seqs_of(LOG, "write.rejected")[1]
    assert "different: rules" in await details(edited(seq, rules=body_of(seq)["rules"][:1]))
    assert "the gate says code 'revision-reused'" in await details(edited(seq, code="unseen-revision"))
    assert "different: remedy" in await details(edited(seq, remedy={"detail": "do nothing"}))


async def test_a_certificate_that_nobody_would_issue_is_found() -> None:
    (seq,) = seqs_of(LOG, "certificate.issued")
    assert "different: digest" in await details(edited(seq, digest="00" * 32))
    assert "different: as_of" in await details(edited(seq, as_of=3))


async def test_a_decision_about_nobody_or_nothing_is_found_and_nothing_breaks() -> None:
    check, *_ = seqs_of(LOG, "action.checked")
    accept = seqs_of(LOG, "write.rejected")[-1]
    assert "is no agent" in await details(forged(LOG, check, actor="operator:ops"))
    assert "no gate has said this" in await details(edited(accept, proposal="proposal:999"))
    assert "no gate has said this" in await details(edited(check, tool=""))


async def test_what_rests_on_a_body_that_is_gone_is_not_re_judgeable() -> None:
    found = await verified(forged(LOG, seqs_of(LOG, "write.rejected")[1], version=99))
    assert (found.flaws, found.opaque, found.not_judged) == ([], 1, 1)
    assert found.unjudged[0].detail == "this release does not know version 99 of write.rejected"


def before(seq: int) -> tuple[Board, Event]:
    """The board in front of an event, and the event."""
    board = Board()
    for row in LOG[: seq - 1]:
        evolve(board, unseal(row))
    return board, unseal(LOG[seq - 1])


def test_a_decision_on_a_redacted_entry_is_not_re_judgeable_where_its_value_counts() -> None:
    gone = Event(
        4, "agent:planner", "c", first=True, body=Opaque(kind="entry.written", version=1), revision=1
    )
    reused, *_, unread = seqs_of(LOG, "write.rejected")
    board, event = before(reused)
    (need,) = needs(board, event)
    said = judge_again(board, event, {need: gone})
    assert (said.outcome, said.detail) == ("not re-judgeable", "it rests on event 4, whose body is gone")
    board, event = before(unread)
    (need,) = needs(board, event)
    assert judge_again(board, event, {need: gone}).outcome == "same"  # the revision that was held counts


def test_a_redacted_decision_is_not_re_judgeable() -> None:
    seq, *_ = seqs_of(LOG, "action.checked")
    board, _ = before(seq)
    redacted = unseal(LOG[seq - 1]._replace(body=None, salt=None))
    assert needs(board, redacted) == []
    said = judge_again(board, redacted, {})
    assert (said.outcome, said.detail) == ("not re-judgeable", "its body is gone")


async def test_a_format_of_a_later_release_is_chained_and_not_judged() -> None:
    opened = body_of(1)
    found = await verified(edited(1, format=99, policy=opened["policy"]))
    assert (found.flaws, found.too_new, found.format) == ([], True, 99)
    assert found.not_judged == sum(JUDGED.values())


async def test_a_certificate_in_another_language_is_not_re_judgeable() -> None:
    (seq,) = seqs_of(LOG, "certificate.issued")
    found = await verified(edited(seq, language=99))
    assert [one.detail for one in found.unjudged] == ["its language is version 99, and this release speaks 1"]


# ---- what every log obeys


async def test_two_commands_of_one_actor_with_one_id_are_found() -> None:
    one, other = seqs_of(LOG, "message.posted")[:2]
    rows = forged(LOG, other, command_id=LOG[one - 1].command_id)
    assert await details(rows) == (
        f"event {other} of board '{NAME}': its command has the id of the one at event {one}"
    )


async def test_a_revision_that_is_written_twice_is_found() -> None:
    last = seqs_of(LOG, "entry.written")[-1]
    rows = forged(LOG, last, revision=2)
    assert "it writes revision 2 of 'task/B', which was at 2 already" in await details(rows)


async def test_an_event_that_continues_no_command_is_found() -> None:
    rows = forged(LOG, seqs_of(LOG, "message.posted")[1], request_digest=None)
    assert "it continues a command that the event before it is no part of" in await details(rows)
    assert "it continues a command" in await details(forged(LOG, 1, request_digest=None))


async def test_time_that_goes_back_is_found() -> None:
    rows = forged(LOG, 9, recorded_at=1)
    assert "it is recorded before the event that comes before it" in await details(rows)


async def test_a_key_on_an_event_that_writes_nothing_is_found() -> None:
    seq, *_ = seqs_of(LOG, "message.posted")
    assert "only entry.written has a key and a revision" in await details(forged(LOG, seq, key="task/A"))


async def test_a_body_that_is_gone_without_a_redaction_is_found_and_with_one_it_is_not() -> None:
    seq, *_ = seqs_of(LOG, "message.posted")
    rows = [row._replace(body=None, salt=None) if row.seq == seq else row for row in LOG]
    found = await verified(rows)
    assert found.redacted == 1
    assert [flaw.detail for flaw in found.flaws] == [
        f"event {seq} of board '{NAME}': its body is gone, and no event says that it was redacted"
    ]
    said = changed(
        LOG[-2],
        kind="content.redacted",
        actor="operator:ops",
        command_id="redact-1",
        body=f'{{"reason":"x","seqs":[{seq}]}}',
    )
    named = chained([*rows, said._replace(recorded_at=LOG[-1].recorded_at)])
    found = await verified(named)
    assert (found.flaws, found.redacted, found.opaque) == ([], 1, 1)
    by_agent = chained([*named[:-1], changed(named[-1], actor="agent:executor")])
    assert "no event says that it was redacted" in await details(by_agent)
    unreadable = chained([*named[:-1], changed(named[-1], body='{"seqs":"all"}')])
    assert "no event says that it was redacted" in await details(unreadable)


# ---- bytes before meaning


@pytest.mark.parametrize("body", ["{", '{"text":7}', '"x"', "[" * 100_000])
async def test_a_body_that_does_not_decode_is_a_flaw_and_no_crash(body: str) -> None:
    seq, *_ = seqs_of(LOG, "message.posted")
    found = await verified(forged(LOG, seq, body=body))
    (flaw,) = found.flaws
    assert flaw.seq == seq
    assert "does not decode" in flaw.detail
    assert found.head == 0  # of the slice with it nothing is taken for verified
    assert (await verified(forged(LOG, seq, body=body), slices=1)).head == seq - 1


async def test_a_decision_whose_bytes_do_not_fit_is_not_judged() -> None:
    seq = seqs_of(LOG, "action.checked")[0]
    body = (LOG[seq - 1].body or "").replace("BLOCK", "PASS")
    found = await verified([row._replace(body=body) if row.seq == seq else row for row in LOG])
    assert [flaw.detail for flaw in found.flaws] == [
        f"event {seq} of board '{NAME}': its body is not the one that it was stored with"
    ]


@pytest.mark.parametrize("member", Row._fields[1:])
async def test_a_member_of_another_type_is_a_flaw_and_no_crash(member: str) -> None:
    for seq in (2, *seqs_of(LOG, "action.checked")[:1]):
        for value in (b"\xff", 1.5, "x", None, -1):
            row = altered(LOG[seq - 1], member, value)
            if row == LOG[seq - 1] or member == "seq":  # by which rows are ordered: see what is missing
                continue
            found = await verified([*LOG[: seq - 1], row, *LOG[seq:]])
            assert [flaw.seq for flaw in found.flaws] == [seq], (member, value)


async def test_a_long_list_of_flaws_is_cut_and_counted() -> None:
    found = await verified(going_back(MOST_TOLD + 7))
    assert (len(found.flaws), found.more) == (MOST_TOLD, 8)


async def test_a_log_that_seems_to_be_one_command_is_not_gathered_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "LONGEST", 7)
    rows = [row._replace(request_digest=None) for row in LOG]
    slices = [len(taken) async for taken in scanning.by_command(Bare(rows, 4).scan(NAME))]
    assert slices == [8, 8, 8, 8]
    whole = [len(taken) async for taken in scanning.by_command(Bare(LOG, 4).scan(NAME))]
    assert sum(whole) == len(LOG)


# ---- checkpoints


async def test_a_checkpoint_finds_what_was_cut_off_and_what_was_made_anew() -> None:
    kept = checkpoint_of(LOG)
    assert await details(LOG[:-1], kept) == (
        f"the checkpoint of board '{NAME}' has size 32, and the log ends with event 31: "
        "it was cut off or put back"
    )
    seq, *_ = seqs_of(LOG, "message.posted")
    assert "events 1 to 32 of board 'release-42' are not those of the checkpoint of size 32" in await details(
        forged(LOG, seq, body='{"text":"well done"}'), kept
    )


# ---- databases


async def filled(url: str, rows: list[Row] = LOG) -> Store:
    store = await open_store(url, Settings(durability="normal"))
    await store.append(rows)
    return store


async def beside(url: str, **options: Any) -> Verified:
    store = await open_store(url, Settings(), read_only=True)
    try:
        return await verify(store, url, **options)
    finally:
        await store.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'board.db'}"


async def test_it_works_beside_a_running_owner_and_tells_how_far_it_is(url: str) -> None:
    owner = await filled(url)
    told: list[tuple[int, int]] = []
    found = await beside(url, progress=lambda done, total: told.append((done, total)))
    assert (found.ok, found.events) == (True, len(LOG))
    assert told[-1] == (len(LOG), len(LOG))
    await owner.close()


async def test_a_postgres_database_is_verified_alike_beside_others(postgres_url: str) -> None:
    store = await filled(postgres_url)
    board = await store.load(NAME)
    assert board is not None
    await store.snapshot(board.board, board.tip)
    found = await beside(postgres_url, checkpoints=[checkpoint_of(LOG[:9])])
    (one,) = found.boards
    assert (found.ok, one.judged, one.snapshot, one.checkpoints) == (True, JUDGED, len(LOG), [9])
    await store.close()


async def test_a_snapshot_that_is_another_board_is_found(url: str) -> None:
    owner = await filled(url)
    loaded = await owner.load(NAME)
    assert loaded is not None
    await owner.snapshot(loaded.board, loaded.tip)
    assert (await beside(url)).boards[0].snapshot == len(LOG)
    entries = loaded.board.ledger.entries
    entries["task/C"] = replace(entries["task/C"], value=b'"done"')
    await owner.snapshot(loaded.board, loaded.tip)
    (flaw,) = (await beside(url)).boards[0].flaws
    assert "are not what the log replays to: readers are served another board" in flaw.detail
    del entries["task/C"]
    await owner.snapshot(loaded.board, loaded.tip)
    (one,) = (await beside(url)).boards
    assert (one.flaws, one.snapshot) == ([], None), "it decodes to nothing: readers are served the replay"
    await owner.close()


async def test_a_database_that_changes_under_the_pass_is_a_flaw_and_one_that_is_gone_is_not() -> None:
    class Changed(Bare):
        def __init__(self, error: Exception) -> None:
            super().__init__(LOG)
            self.error = error

        async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
            return [3]

        async def load(self, board: str, at: int) -> None:
            raise self.error

    broken = cast(Store, Changed(IntegrityFailure("event 7 is missing", members={"seq": 7})))
    found = await verify_board(broken, NAME, len(LOG))
    assert [(flaw.seq, flaw.detail) for flaw in found.flaws] == [(7, "event 7 is missing")]
    strange = await verify_board(cast(Store, Changed(TypeError("odd"))), NAME, len(LOG))
    assert "the snapshot of board 'release-42' makes no board" in strange.flaws[0].detail
    with pytest.raises(Unavailable):
        await verify_board(cast(Store, Changed(Unavailable("gone"))), NAME, len(LOG))


async def test_a_board_that_a_checkpoint_names_and_nobody_has_was_removed(url: str) -> None:
    owner = await filled(url)
    gone = Checkpoint("gone", 3, root_of(LOG[:3]))
    found = await beside(url, checkpoints=[gone, checkpoint_of(LOG)])
    assert [(one.board, [flaw.detail for flaw in one.flaws]) for one in found.boards] == [
        ("gone", ["there is no board 'gone' any more: its log was removed"]),
        (NAME, []),
    ]
    assert [one.board for one in (await beside(url, board="gone", checkpoints=[gone])).boards] == ["gone"]
    with pytest.raises(UnknownBoard):
        await beside(url, board="gone")
    await owner.close()
