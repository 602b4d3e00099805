"""The envelope: from body to row and back, and what a changed row gives away."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.errors import IntegrityFailure
from blackboard.events import kinds, upcast
from blackboard.events.envelope import (
    GENESIS,
    Command,
    Draft,
    Row,
    encode_body,
    number,
    seal,
    tip_of,
    unseal,
    verify_row,
)
from blackboard.events.upcast import decode_body
from tests.pure.strategies import bodies, reads, written

COMMAND = Command("agent:executor", "c1", b'{"body":{},"operation":"write"}', 7)


def sealed(*found: kinds.EventBody, now: int = 5) -> list[Row]:
    drafts = [Draft(body, "k" if isinstance(body, kinds.EntryWritten) else None) for body in found]
    salts = [bytes([place]) * 16 for place in range(len(drafts))]
    return seal("b", GENESIS, COMMAND, drafts, salts=salts, now=now)[0]


@given(written | reads | bodies)
def test_the_quick_ways_write_the_canonical_bytes_of_a_body(body: kinds.EventBody) -> None:
    assert encode_body(body) == canonical.encode(body)


@given(bodies)
def test_decoding_what_was_encoded_gives_the_body_again(body: kinds.EventBody) -> None:
    decoded = decode_body(body.KIND, body.VERSION, encode_body(body).decode())
    assert type(decoded) is type(body)
    assert encode_body(decoded) == encode_body(body)


def test_every_kind_has_a_name_and_version_of_its_own() -> None:
    assert len(kinds.KINDS) == len({kind for kind, _ in kinds.KINDS}) == len(get_args(kinds.EventBody))


@settings(max_examples=30)
@given(st.lists(bodies, min_size=1, max_size=4))
def test_folds_see_the_same_events_before_and_after_storage(found: list[kinds.EventBody]) -> None:
    drafts = [Draft(body, "k", 3) for body in found]
    salts = [bytes(16)] * len(drafts)
    rows, tip = seal("b", GENESIS, COMMAND, drafts, salts=salts, now=9)
    before, after = number(COMMAND, drafts, 0, recorded_at=9), [unseal(row) for row in rows]
    for one, other in zip(before, after, strict=True):
        assert (one.seq, one.actor, one.command_id, one.first, one.turn, one.key, one.revision) == (
            other.seq,
            other.actor,
            other.command_id,
            other.first,
            other.turn,
            other.key,
            other.revision,
        )
        assert one.recorded_at == other.recorded_at
    assert tip_of(rows[-1]) == tip


def test_only_the_first_event_of_a_command_carries_its_request_digest() -> None:
    rows = sealed(kinds.TurnEnded(), kinds.TurnEnded())
    assert [row.request_digest is not None for row in rows] == [True, False]
    assert [unseal(row).first for row in rows] == [True, False]
    assert rows[0].request_digest == canonical.request_digest(bytes(16), COMMAND.canonical)


def test_the_events_that_continue_a_command_are_numbered_on_and_are_not_first() -> None:
    events = number(COMMAND, [Draft(kinds.TurnEnded())], 4, first=False)
    assert [(event.seq, event.first) for event in events] == [(5, False)]


def test_time_never_runs_back_in_a_log() -> None:
    (first,), tip = seal("b", GENESIS, COMMAND, [Draft(kinds.TurnEnded())], salts=[bytes(16)], now=90)
    (second,), _ = seal("b", tip, COMMAND, [Draft(kinds.TurnEnded())], salts=[bytes(16)], now=40)
    assert (first.recorded_at, second.recorded_at) == (90, 90)
    assert verify_row(second, first.hash)


CHANGES: list[dict[str, Any]] = [
    {"board": "c"},
    {"seq": 2},
    {"kind": "turn.begun"},
    {"version": 2},
    {"actor": "agent:planner"},
    {"turn": None},
    {"command_id": "c2"},
    {"request_digest": bytes(32)},
    {"request_digest": None},
    {"key": "k"},
    {"revision": 1},
    {"recorded_at": 6},
    {"body": '{"x":1}'},
    {"salt": bytes([9]) * 16},
    {"body_digest": bytes(32)},
    {"hash": bytes(32)},
]


@pytest.mark.parametrize("change", CHANGES, ids="-".join)
def test_a_row_with_any_field_changed_does_not_verify(change: dict[str, Any]) -> None:
    (row,) = sealed(kinds.TurnEnded())
    assert verify_row(row, canonical.GENESIS)
    assert not verify_row(row._replace(**change), canonical.GENESIS)


def test_a_row_does_not_verify_behind_another_row() -> None:
    first, second = sealed(kinds.TurnEnded(), kinds.TurnEnded())
    assert verify_row(second, first.hash)
    assert not verify_row(second, canonical.GENESIS)


def test_a_redacted_row_still_verifies() -> None:
    (row,) = sealed(kinds.TurnEnded())
    assert verify_row(row._replace(body=None, salt=None), canonical.GENESIS)


def test_a_row_that_lost_only_its_body_or_only_its_salt_does_not_verify() -> None:
    (row,) = sealed(kinds.TurnEnded())
    assert not verify_row(row._replace(body=None), canonical.GENESIS)
    assert not verify_row(row._replace(salt=None), canonical.GENESIS)


def test_an_edited_body_is_not_hidden_by_erasing_the_salt() -> None:
    (row,) = sealed(kinds.MessagePosted(text="B failed"))
    edited = row._replace(body='{"text":"B done"}', salt=None)
    assert not verify_row(edited, canonical.GENESIS)


# -- decoding what is stored


@pytest.mark.parametrize(
    ("kind", "version", "text"),
    [("weather.changed", 1, '{"rain":true}'), ("entry.written", 99, "{}"), ("entry.written", 1, None)],
    ids=["unknown kind", "newer version", "redacted"],
)
def test_what_this_release_does_not_know_is_opaque(kind: str, version: int, text: str | None) -> None:
    assert decode_body(kind, version, text) == kinds.Opaque(kind=kind, version=version, text=text)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"agent":1}', '{"agent":"a","unheard":1}', "\ud800", '{"prefix":' + "[" * 100_000],
    ids=["empty", "cut", "wrong type", "unknown member", "surrogate", "too deep"],
)
def test_a_stored_body_that_does_not_decode_is_an_integrity_failure(text: str) -> None:
    with pytest.raises(IntegrityFailure) as caught:
        decode_body("agent.joined", 1, text)
    assert caught.value.members == {"kind": "agent.joined"}
    assert "agent.joined" in caught.value.detail


def test_an_old_version_is_lifted_step_by_step_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    # What an entry of two imagined earlier versions would need: a member renamed, then one added.
    monkeypatch.setitem(
        upcast.UPCASTERS, ("entry.written", -1), lambda old: {"content": old["content"], "hash": old["sha"]}
    )
    monkeypatch.setitem(
        upcast.UPCASTERS,
        ("entry.written", 0),
        lambda old: {"value": old["content"], "payload_hash": old["hash"]},
    )
    lifted = decode_body("entry.written", -1, '{"content":{"b":1,"a":[1.5,"x"]},"sha":"ff"}')
    assert isinstance(lifted, kinds.EntryWritten)
    assert (bytes(lifted.value), lifted.payload_hash) == (b'{"a":[1.5,"x"],"b":1}', "ff")


def test_an_upcaster_that_meets_a_damaged_body_is_an_integrity_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(upcast.UPCASTERS, ("turn.ended", 0), lambda old: old)
    with pytest.raises(IntegrityFailure):
        decode_body("turn.ended", 0, "nonsense")
