"""What a board's format lets be written, and that a stored row stays what it is, however it is read later.

Each claim of the design of a schema that evolves has a test named for it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from blackboard import canonical
from blackboard.errors import BlackboardError, FormatTooLow, IntegrityFailure
from blackboard.events import envelope, kinds, upcast
from blackboard.events.downcast import DOWNCASTERS, lowered
from blackboard.events.envelope import GENESIS, Command, Draft, Row, encode_body, seal, unseal, verify_row
from blackboard.events.upcast import UPCASTERS, decode_body
from blackboard.events.vocabulary import OLDER, VOCABULARY
from blackboard.gate.query import state_digest, view_digest
from blackboard.gate.signals import SIGNALS
from blackboard.gate.writes import RULES
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared
from blackboard.projections.board import Board
from blackboard.store import folding
from blackboard.store.memory import MemoryStore
from tests.evolution import vocabulary_2
from tests.evolution.thread import worked
from tests.pure.driver import NAME, Agent, World, frozen, refold
from tests.pure.records import amount_over, approval, policy
from tests.pure.rejudge import everything_follows
from tests.pure.strategies import bodies

COMMAND = Command("agent:executor", "c1", b"{}", 3)
FORMATS = sorted(VOCABULARY)

LOG_OF_0_2_0 = (20, "d9244fd4f0d8f087b371ceb10b1531c98c0fe617def894b60b124c9a568a6817")
STATE_OF_0_2_0 = "54e58d53cb926c5075b2a47adebbf76e01668092141e3b9cc12b32531f77659a"
VIEWS_OF_0_2_0 = {
    "ad6d52cd1868395aa5a89333be0fb6b78ba258e7bd1065600a3ebb397b0b8f12",
    "ba6c059c1f3c7dad25197aae4a07a75ca8adf1146550c9f23afac92328f71a28",
}
CERTIFICATES_OF_0_2_0 = [
    "3e8e5e4250e5774eb42003eab31bc51e844f0d5db969da05bf3e91fe941c8971",
    "195f4e32c6b48d98eb1055f74b5449cce231f3df3b0c238c61dbcd8968bacb70",
]
VERDICTS_OF_0_2_0 = [
    "010c903feceaf37c2177476ec0b4676ba8fd547e9439f3ee45991a63867d996b",
    "f627d61aff0f38f0d0f1f0ce0e8f2d3758ae34e0bae649944976d7240924697b",
]


def sealed(body: kinds.EventBody, board_format: int = kinds.FORMAT) -> Row:
    (row,), _ = seal(
        NAME, GENESIS, COMMAND, [Draft(body)], salts=[bytes(16)], now=9, board_format=board_format
    )
    return row


# -- the vocabulary


def test_every_format_up_to_the_newest_has_a_vocabulary_and_no_version_ever_falls() -> None:
    assert list(range(1, kinds.FORMAT + 1)) == FORMATS
    for older, newer in pairwise(FORMATS):
        assert VOCABULARY[older].keys() <= VOCABULARY[newer].keys()
        assert all(version <= VOCABULARY[newer][kind] for kind, version in VOCABULARY[older].items())


def test_the_newest_format_writes_every_kind_in_its_newest_version() -> None:
    assert set(VOCABULARY[kinds.FORMAT].items()) == set(kinds.KINDS)
    assert OLDER[kinds.FORMAT] == {}


def test_format_2_writes_what_release_0_2_0_knew() -> None:
    assert vocabulary_2.FORMAT_2 == 2
    assert set(VOCABULARY[2].items()) == set(vocabulary_2.KINDS_2)


def test_there_is_a_step_up_and_one_down_for_every_version_that_is_not_the_first() -> None:
    later = {(kind, version) for kind, newest in kinds.KINDS for version in range(2, newest + 1)}
    assert set(DOWNCASTERS) == later
    assert {(kind, version + 1) for kind, version in UPCASTERS} == later


@pytest.mark.parametrize("board_format", FORMATS)
@given(body=bodies)
def test_lifting_what_was_lowered_gives_the_same_body(board_format: int, body: kinds.EventBody) -> None:
    try:
        row = sealed(body, board_format)
    except FormatTooLow:
        assert says_something_new(body)
        return
    assert row.version == VOCABULARY[board_format].get(body.KIND, 1)
    assert unseal(row).body == body
    assert verify_row(row, GENESIS.hash)


def says_something_new(body: kinds.EventBody) -> bool:
    match body:
        case kinds.AgentCompacted(tokens=kinds.Tokens(window=window)):
            return window is not None
        case kinds.MessagePosted(reply_to=reply_to):
            return reply_to is not None
        case _:
            return False


@given(body=bodies)
def test_what_is_written_on_a_board_of_format_2_release_0_2_0_reads_and_would_have_written_alike(
    body: kinds.EventBody,
) -> None:
    if says_something_new(body):
        return
    row = sealed(body, 2)
    assert row.body is not None
    read = vocabulary_2.decode_2(row.kind, row.version, row.body)
    assert type(read).__name__ == type(body).__name__
    assert canonical.encode(read) == row.body.encode()


@given(body=bodies)
def test_a_body_that_was_read_is_lowered_as_the_one_that_was_made(body: kinds.EventBody) -> None:
    """What equals its default is left out, also where it is another object than the default."""
    if says_something_new(body):
        return
    read = unseal(sealed(body)).body
    assert not isinstance(read, kinds.Opaque)
    assert sealed(read, 2) == sealed(body, 2)


@given(body=bodies)
def test_on_a_board_of_the_newest_format_bodies_are_encoded_as_they_are(body: kinds.EventBody) -> None:
    row = sealed(body)
    assert (row.version, row.body) == (body.VERSION, encode_body(body).decode())


@pytest.mark.parametrize(
    ("body", "member"),
    [
        (kinds.AgentCompacted(agents=["a"], base_seq=1, tokens=kinds.Tokens(window=8)), "window"),
        (kinds.MessagePosted(text="x", reply_to=2), "reply_to"),
    ],
)
def test_no_older_version_is_made_to_say_what_it_cannot(body: kinds.EventBody, member: str) -> None:
    with pytest.raises(FormatTooLow, match=f"has no {member}") as caught:
        lowered(body, 1)
    assert caught.value.members == {"limit": 3}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("agent.compacted", '{"agents":["a"],"base_seq":1,"tokens":{"before":1}}'),
        ("message.posted", '{"reply_to":2,"text":"x"}'),
    ],
)
def test_an_old_version_with_a_member_that_came_later_does_not_decode(kind: str, text: str) -> None:
    with pytest.raises(IntegrityFailure, match="unknown field"):
        decode_body(kind, 1, text)


# -- the release before, byte for byte


def test_a_board_of_format_2_has_the_log_that_release_0_2_0_wrote() -> None:
    """The figures are those that release 0.2.0 gave for the same commands."""
    world = worked(World(at_format=2))
    assert (len(world.rows), world.rows[-1].hash.hex()) == LOG_OF_0_2_0
    assert state_digest(world.board) == STATE_OF_0_2_0
    assert {view_digest(world.board, agent) for agent in world.board.agents.values()} == VIEWS_OF_0_2_0
    assert [certificate.digest for certificate in world.bodies(kinds.CertificateIssued)] == (
        CERTIFICATES_OF_0_2_0
    )
    assert [verdict.digest for verdict in world.bodies(kinds.ActionChecked)] == VERDICTS_OF_0_2_0
    assert everything_follows(world.rows) == {"action.checked": 2, "certificate.issued": 2}


def test_the_log_of_release_0_2_0_is_judged_the_same_after_the_format_is_raised() -> None:
    world = worked(World(at_format=2))
    world.operator.raises_format(3)
    assert world.rows[-2].hash.hex() == LOG_OF_0_2_0[1]
    assert everything_follows(world.rows) == {"action.checked": 2, "certificate.issued": 2}
    assert state_digest(world.board) == STATE_OF_0_2_0


# -- the (kind, version) of a stored row never changes


def speaks(agent: Agent) -> None:
    agent.says("hello")
    agent.compacts(cause="summary", tokens_before=9, tokens_after=2)


def test_the_kind_and_version_of_a_stored_row_never_change() -> None:
    world = World(at_format=1)
    agent = world.agent("ann")
    speaks(agent)
    before = list(world.rows)
    world.operator.raises_format(2)
    speaks(agent)
    world.operator.raises_format(3)
    speaks(agent)
    assert world.rows[: len(before)] == before
    assert [(row.kind, row.version) for row in world.rows] == [
        ("board.opened", 1),
        ("message.posted", 1),
        ("agent.compacted", 1),
        ("board.format-raised", 1),
        ("message.posted", 1),
        ("agent.compacted", 1),
        ("board.format-raised", 1),
        ("message.posted", 2),
        ("agent.compacted", 2),
    ]
    world.check()
    assert world.bodies(kinds.AgentCompacted)[0] == unseal(world.rows[2]).body


@pytest.mark.parametrize("board_format", [1, 2])
def test_the_same_commands_make_the_same_board_in_every_format(board_format: int) -> None:
    old, new = World(at_format=board_format), World(at_format=board_format)
    new.operator.raises_format(3)
    old.operator.sets_policy(completion_window=7)  # so that both heads move alike
    for world in (old, new):
        for agent in world.agents("ann", "bob"):
            speaks(agent)
            agent.reads("k")
            agent.writes("k", world.entry("k").revision + 1 if "k" in world.board.ledger.entries else 1, 1)
    assert [event.body for event in old.events[2:]] == [event.body for event in new.events[2:]]
    assert {row.version for row in old.rows} == {1}
    assert {row.version for row in new.rows} == {1, 2}
    for name, state in old.board.agents.items():
        assert state.counts == new.board.agents[name].counts
        assert state.view.base == new.board.agents[name].view.base


# -- every reader uses one decode function


async def test_every_reader_of_the_log_uses_one_decode_function() -> None:
    assert {vars(module)["decode_body"] for module in (envelope, folding, upcast)} == {decode_body}
    world = World(at_format=2)
    speaks(world.agent("ann"))
    world.agent("ann").says("still here")
    lifted = kinds.AgentCompacted(
        agents=["ann"], base_seq=2, cause="summary", tokens=kinds.Tokens(before=9, after=2)
    )
    store = MemoryStore("memory://decode")
    await store.append(world.rows[:1])
    await store.append(world.rows[1:2])
    await store.append(world.rows[2:3])
    await store.append(world.rows[3:])
    assert world.rows[2].version == 1
    assert unseal(world.rows[2]).body == lifted
    assert (await store.events(NAME, [3]))[3].body == lifted
    for verify in (False, True):
        loaded = await store.load(NAME, verify=verify)
        assert loaded is not None
        assert frozen(loaded.board) == frozen(world.board)


# -- rules and signals are kept per format


def test_rules_and_signals_are_kept_per_format_so_old_verdicts_judge_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(at_format=2)
    ann = world.agent("ann")
    ann.writes("k", 1, "pending")
    refused(ann, 1)
    world.operator.raises_format(3)
    # A later format without rules and signals: what was judged before is judged by those of its time.
    monkeypatch.setitem(RULES, 3, ())
    monkeypatch.setitem(SIGNALS, 3, ())
    ann.writes("k", 1, "done")
    assert world.kinds[2:] == ["write.rejected", "board.format-raised", "entry.written"]
    assert everything_follows(world.rows) == {"write.rejected": 1}


def refused(agent: Agent, revision: int) -> None:
    with pytest.raises(BlackboardError):
        agent.writes("k", revision, "done")


def added_by_release_0_2_0(world: World, record: dict[str, Any]) -> None:
    """A record as it stands in the log of a server that could keep it, and not evaluate it."""
    body = kinds.RecordAdded(record=Raw(canonical.encode(record)))
    prepared = Prepared(ask.AddRecord(record=record), b"{}")
    world._append(world.operator.principal, prepared, [Draft(body)], None)


LATER = {"id": "why", "kind": "approval", "version": 2, "says": "what nobody here can read"}


@pytest.mark.parametrize("board_format", [2, 3])
def test_a_record_that_nobody_could_evaluate_where_it_was_added_stays_so(board_format: int) -> None:
    world = World(at_format=2)
    ann = world.agent("ann", records=["chatter"])
    world.operator.adds(policy("p", amount_over(5), "require_approval"))
    added_by_release_0_2_0(world, LATER)
    verdict = ann.checks("t", {"amount": 9})
    told = [note.code for note in verdict.notes] + [reason.code for reason in verdict.reasons]
    assert "unseen-unevaluable-record" in told
    if board_format == 3:
        world.operator.raises_format(3)
    ann.reads_records()
    ann.compacts(kept=["p"])
    assert "dropped-unevaluable-record" in [one.code for one in ann.checks("t", {"amount": 1}).reasons]
    assert world.board.records.unevaluable == [1]
    assert everything_follows(world.rows)["action.checked"] == 2
    world.check()  # folded again, and from its snapshot, the board is the same


def test_an_approval_of_the_same_words_is_evaluated_once_the_board_has_format_3() -> None:
    world = World(at_format=2)
    ann = world.agent("ann")
    world.operator.adds(policy("p", amount_over(5), "require_approval"))
    yes = approval("p", "yes", params={"amount": 9}, version=2, text="paid twice")
    with pytest.raises(FormatTooLow, match=r"version 2 of approval records.*raise_format\(3\)") as caught:
        world.operator.adds(yes)
    assert caught.value.members == {"format": 2, "limit": 3}
    assert world.head == 2
    world.operator.raises_format(3)
    world.operator.adds(yes)
    ann.reads_records()
    assert ann.checks("t", {"amount": 9}).policy.answer == "default"
    assert world.board.records.unevaluable == []
    world.check()


@pytest.mark.parametrize("board_format", FORMATS)
def test_a_text_is_never_written_as_version_1_of_an_approval(board_format: int) -> None:
    world = World(at_format=max(board_format, 2))
    world.operator.adds(policy("p", amount_over(5), "require_approval"))
    with pytest.raises(BlackboardError, match="/record/text"):
        world.operator.adds(approval("p", text="paid twice"))


# -- unknown kinds are opaque


@given(number=st.integers(1, 9), text=st.sampled_from(['{"sky":"grey"}', "{}", '{"text":1}']))
def test_audit_shows_unknown_kinds_as_opaque_chained_events(number: int, text: str) -> None:
    world = World()
    world.agent("ann").says("hello")
    kind = "weather.changed" if number < 5 else "message.posted"
    version = number if number < 5 else number - 2
    row = _unheard_of(world.rows[-1], kind, version, text)
    assert verify_row(row, world.rows[-1].hash)
    assert unseal(row).body == kinds.Opaque(kind=kind, version=version, text=text)
    fold = folding.Fold(NAME, Board())
    fold.verify([*world.rows, row])
    assert (fold.board.head, fold.hash) == (3, row.hash)
    live = refold(world.rows)
    live.head = 3
    assert frozen(fold.board) == frozen(live)


def _unheard_of(last: Row, kind: str, version: int, text: str) -> Row:
    """The next row, as a later release would have written it."""
    salt = bytes(16)
    row = last._replace(
        seq=last.seq + 1,
        kind=kind,
        version=version,
        actor="operator:ops",
        command_id="c9",
        request_digest=bytes(32),
        body=text,
        salt=salt,
        body_digest=canonical.body_digest(salt, text.encode()),
    )
    return row._replace(hash=canonical.chain(last.hash, *row[:11], row.body_digest))


def test_every_kind_has_its_place_in_the_closed_union() -> None:
    assert {body.KIND for body in get_args(kinds.EventBody)} == set(VOCABULARY[kinds.FORMAT])
