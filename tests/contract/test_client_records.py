"""Every client: records are added under grants, read into views, kept and lost in compactions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import aiohttp
import pytest

import blackboard
from blackboard import Approval, Chatter, Fact, Policy
from blackboard.client import Board
from blackboard.records.drafts import Draft
from tests.client.desk import BIG, CAP, LARGE, TOOL, atom, codes, desk
from tests.client.drive import Place
from tests.client.live import LiveServer

DIGEST = "ab" * 32
RULE = {"kind": "policy", "scope": TOOL, "predicate": LARGE, "effect": "deny"}
FACT = {"kind": "fact", "field": "tier", "value": "gold"}
YES = {"kind": "approval", "policy": "cap", "action_digest": DIGEST, "granted": True}


# -- adding


EACH: dict[str, tuple[Draft, dict[str, Any], dict[str, Any]]] = {
    "a policy": (
        Policy([TOOL, "notes.*"], LARGE, "require_approval", id="p", expires_seq=900, text="large ones"),
        {**RULE, "scope": [TOOL, "notes.*"], "effect": "require_approval", "id": "p", "expires_seq": 900}
        | {"text": "large ones"},
        {"scope": ["notes.*", TOOL]},
    ),
    "a fact": (Fact("tier", "gold", id="p"), {**FACT, "id": "p"}, {}),
    "a fact of null": (Fact("tier", None, id="p"), {**FACT, "id": "p", "value": None}, {}),
    "a fact of false": (Fact("tier", False, id="p"), {**FACT, "id": "p", "value": False}, {}),
    "a fact of a list": (Fact("tier", (1, [2.5]), id="p"), {**FACT, "id": "p", "value": [1, [2.5]]}, {}),
    "a retracted fact": (
        Fact("tier", retracted=True, id="p"),
        {"kind": "fact", "field": "tier", "retracted": True, "id": "p"},
        {},
    ),
    "an approval": (Approval("cap", DIGEST, True, id="p"), {**YES, "id": "p"}, {"approver": "operator:ops"}),
    "a refusal": (
        Approval("cap", DIGEST, False, id="p"),
        {**YES, "id": "p", "granted": False},
        {"approver": "operator:ops"},
    ),
    "chatter": (Chatter("hello", id="p"), {"kind": "chatter", "text": "hello", "id": "p"}, {}),
    "bare chatter": (Chatter(id="p"), {"kind": "chatter", "id": "p"}, {}),
}


@pytest.mark.parametrize("case", EACH)
async def test_a_record_of_each_kind_is_added_as_a_draft_or_as_a_mapping(place: Place, case: str) -> None:
    draft, mapping, filled = EACH[case]
    operator, agent = await desk(place, CAP, draft)
    wanted = mapping | filled | {"seq": 3}
    assert (await agent.read_records()).records[1:] == [wanted]
    reply = await operator.add_record(mapping | {"id": "q"})
    assert (reply.id, reply.record) == ("q", wanted | {"id": "q", "seq": reply.seq})
    (_, first, second) = [event async for event in agent.log(kind="record.added")]
    assert (first.actor, first.body) == ("operator:ops", {"record": _without(first.body["record"], "seq")})
    assert first.body["record"] | {"id": "q"} == second.body["record"]


def _without(members: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key != name}


async def test_what_nobody_can_evaluate_is_kept_whole(place: Place) -> None:
    operator, agent = await desk(place)
    unknown: list[dict[str, Any]] = [
        {"kind": "summary", "text": "B is done", "of": {"seqs": [1, 2]}},
        {"kind": "policy", "version": 2, "when": "always"},
    ]
    for record in unknown:
        reply = await operator.add_record(record)
        assert reply.record == record | {"id": reply.id, "seq": reply.seq}
    assert [_without(one, "id") for one in (await agent.read_records()).records] == [
        record | {"seq": seq} for seq, record in enumerate(unknown, 2)
    ]


async def test_an_id_is_the_authors_or_made_of_the_seq(place: Place) -> None:
    operator, _ = await desk(place)
    made = await operator.add_record(Chatter("first"))
    given = await operator.add_record(Chatter("second", id="nötiz/2"))
    assert (made.id, made.seq) == ("record:2", 2)
    assert (given.id, given.seq) == ("nötiz/2", 3)


async def test_a_retry_gets_the_same_record_and_adds_none(place: Place) -> None:
    operator, _ = await desk(place)
    first = await operator.add_record(Chatter("hello"), idempotency_key="k")
    again = await operator.add_record(Chatter("hello"), idempotency_key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.id, again.record, again.seq) == (first.id, first.record, first.seq)
    assert again.head == first.head
    with pytest.raises(blackboard.IdempotencyKeyReused):
        await operator.add_record(Chatter("bye"), idempotency_key="k")


Call = Callable[[Any], Awaitable[Any]]


def add(record: Any) -> Call:
    return lambda board: board.add_record(record)


def nested(depth: int) -> dict[str, Any]:
    predicate = LARGE
    for _ in range(depth):
        predicate = {"not": predicate}
    return predicate


MALFORMED: dict[str, tuple[Call, str]] = {
    "no record": (add(None), "/record"),
    "a record that is a list": (add([]), "/record"),
    "nothing in it": (add({}), "/record/kind"),
    "a kind that is no text": (add({"kind": 5}), "/record/kind"),
    "a seq": (add(FACT | {"seq": 7}), "/record/seq"),
    "a version that is no number": (add(FACT | {"version": "1"}), "/record/version"),
    "an id that the board gives": (add(FACT | {"id": "record:2"}), "/record/id"),
    "an id that reads as an entry": (add(FACT | {"id": "entry:2"}), "/record/id"),
    "an empty id": (add(FACT | {"id": ""}), "/record/id"),
    "an id of null": (add(FACT | {"id": None}), "/record/id"),
    "an id with a line break": (add(FACT | {"id": "a\nb"}), "/record/id"),
    "an id of 129 bytes": (add(FACT | {"id": "x" * 129}), "/record/id"),
    "an id that is taken": (add(FACT | {"id": "cap"}), "/record/id"),
    "a member that is none": (add(FACT | {"vale": 1}), "/record/vale"),
    "a text that is none": (add(FACT | {"text": 5}), "/record/text"),
    "a policy without effect": (add(_without(RULE, "effect")), "/record/effect"),
    "an effect that is none": (add(RULE | {"effect": "forbid"}), "/record/effect"),
    "a scope of nothing": (add(RULE | {"scope": []}), "/record/scope"),
    "an asterisk in a scope": (add(RULE | {"scope": ["a", "re*"]}), "/record/scope/1"),
    "no predicate": (add(_without(RULE, "predicate")), "/record/predicate"),
    "a predicate of nothing": (add(RULE | {"predicate": {}}), "/record/predicate"),
    "an operator that is none": (
        add(RULE | {"predicate": {"all": [atom("a", 1, op="matches")]}}),
        "/record/predicate/all/0/op",
    ),
    "a constant that cannot be compared": (
        add(RULE | {"predicate": atom("a", [1], op="gt")}),
        "/record/predicate/value",
    ),
    "a source that is none": (
        add(RULE | {"predicate": atom("a", 1, source="memory")}),
        "/record/predicate/source",
    ),
    "a predicate nested too deep": (add(RULE | {"predicate": nested(16)}), "/record/predicate/not"),
    "a predicate of 257 atoms": (
        add(RULE | {"predicate": {"any": [LARGE] * 257}}),
        "/record/predicate/any/256",
    ),
    "an expiry that is none": (add(RULE | {"expires_seq": -1}), "/record/expires_seq"),
    "a fact without value": (add(Fact("tier")), "/record/value"),
    "a retracted fact with a value": (add(FACT | {"retracted": True}), "/record/value"),
    "a field that is no text": (add(FACT | {"field": 5}), "/record/field"),
    "NaN": (add(Fact("tier", {"n": float("nan")})), "/record/value/n"),
    "a set": (add(Fact("tier", {1})), "/record/value"),
    "bytes": (add(Fact("tier", [b"x"])), "/record/value/0"),
    "a decimal, which JSON does not hold": (add(Fact("tier", Decimal("19.99"))), "/record/value"),
    "an integer beyond 2^53": (add(Fact("tier", 2**53)), "/record/value"),
    "a value nested too deep": (add(FACT | {"value": {"a": nested(40)}}), "/record/value"),
    "a digest that is none": (add(Approval("cap", "ab", True)), "/record/action_digest"),
    "an answer that is none": (add(YES | {"granted": "yes"}), "/record/granted"),
    "an approver that is no text": (add(YES | {"approver": 5}), "/record/approver"),
    "superseding what is not there": (add(Fact("tier", 1, supersedes="f0")), "/record/supersedes"),
    "superseding another kind": (add(Fact("tier", 1, supersedes="cap")), "/record/supersedes"),
    "superseding another field": (add(Fact("level", 1, supersedes="f1")), "/record/supersedes"),
    "superseding what is superseded": (add(Fact("tier", 1, supersedes="f1")), "/record/supersedes"),
    "ids that are none": (lambda board: board.read_records([]), "/records"),
    "ids as text": (lambda board: board.read_records("all of them"), "/records"),
    "an id that is a number": (lambda board: board.read_records(["cap", 5]), "/records/1"),
}


async def everything(place: Place) -> Board:
    """An agent that may add everything, on a board with a policy and a fact that is superseded."""
    _, agent = await desk(
        place,
        CAP,
        Fact("tier", "gold", id="f1"),
        Fact("tier", "base", id="f2", supersedes="f1"),
        records=["policy", "approval", "chatter", "opaque", "fact:*"],
    )
    return agent


@pytest.mark.parametrize("case", MALFORMED)
async def test_what_is_malformed_names_the_member_and_stores_nothing(place: Place, case: str) -> None:
    call, member = MALFORMED[case]
    board = await everything(place)
    with pytest.raises(blackboard.Malformed) as caught:
        await call(board)
    assert (caught.value.status, caught.value.detail != "") == (422, True)
    assert (caught.value.member or "").startswith(member), caught.value.member
    assert (await board.events()).head == 4


TOO_LARGE: dict[str, Call] = {
    "a record above 64 KiB": add(Chatter("x" * 65_536)),
    "1001 ids": lambda board: board.read_records([f"r{number}" for number in range(1001)]),
    "10001 kept ids": lambda board: board.compacted(kept=[f"{number}" for number in range(10_001)]),
}


@pytest.mark.parametrize("case", TOO_LARGE)
async def test_what_is_too_large_is_refused_with_its_limit(place: Place, case: str) -> None:
    board = await everything(place)
    with pytest.raises(blackboard.TooLarge) as caught:
        await TOO_LARGE[case](board)
    assert isinstance(caught.value.limit, int)
    assert caught.value.member
    assert (await board.events()).head == 4


async def test_a_second_superseder_is_refused_and_told_the_first(place: Place) -> None:
    board = await everything(place)
    with pytest.raises(blackboard.Malformed, match="'f2'"):
        await board.add_record(Fact("tier", "silver", supersedes="f1"))
    await board.add_record(Fact("tier", "silver", id="f3", supersedes="f2"))


async def test_each_kind_supersedes_its_own(place: Place) -> None:
    board = await everything(place)
    await board.add_record(Policy(TOOL, LARGE, "allow", supersedes="cap"))
    await board.add_record(Approval("cap", DIGEST, True, id="yes"))
    await board.add_record(Policy("other", LARGE, "require_approval", id="other"))
    await board.add_record(Approval("other", DIGEST, False, supersedes="yes"))


NUMBERS = {"19.99": 19.99, "5e3": 5000, "5000.0": 5000, "1e-7": 1e-7, "-0": 0}
ROUNDED = ["0.1000000000000000055", "1.00000000000000000001", "1e400", "9007199254740993"]


async def test_a_number_is_stored_as_it_is_or_refused_and_never_rounded(live_server: LiveServer) -> None:
    headers = {"Authorization": f"Bearer {live_server.token}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(live_server.url, headers=headers) as session:
        await session.put("/v1/boards/numbers", data=b"{}")

        async def post(literal: str) -> tuple[int, dict[str, Any]]:
            body = '{"record":{"kind":"fact","field":"amount","value":%s}}' % literal  # noqa: UP031 - braces
            async with session.post("/v1/boards/numbers/records", data=body.encode()) as answer:
                return answer.status, await answer.json(content_type=None)

        for literal, value in NUMBERS.items():
            status, told = await post(literal)
            assert (status, told["record"]["value"]) == (200, value)
        for literal in ROUNDED:
            status, told = await post(literal)
            assert (status, told["code"], told["member"]) == (422, "malformed", "/record/value")


async def test_of_many_at_once_one_takes_the_id_and_one_supersedes(place: Place) -> None:
    operator, _ = await desk(place, Fact("tier", "gold", id="f1"))
    takers = [operator.add_record(Chatter(f"{number}", id="same")) for number in range(8)]
    enders = [operator.add_record(Fact("tier", number, supersedes="f1")) for number in range(8)]
    others = [operator.add_record(Chatter(f"{number}")) for number in range(8)]
    for calls, accepted in ((takers, 1), (enders, 1), (others, 8)):
        found = await asyncio.gather(*calls, return_exceptions=True)
        refused = [one for one in found if isinstance(one, blackboard.Malformed)]
        assert len(refused) == len(found) - accepted
        assert {one.member for one in refused} <= {"/record/id", "/record/supersedes"}
    assert (await operator.events()).head == 12


# -- reading


async def test_all_records_are_read_page_by_page(place: Place) -> None:
    large = [Chatter("x" * 60_000, id=f"c{number}") for number in range(20)]
    _, board = await desk(place, *large, CAP)
    reply = await board.read_records()
    assert [record["id"] for record in reply.records] == [*(one.id for one in large), "cap"]
    assert (reply.cursor, reply.unknown_records) == (None, [])
    pages = [event.body async for event in board.log(kind="board.read")]
    assert [page["page"] for page in pages] == [1, 2]
    assert [name for page in pages for name in page["records"]] == [record["id"] for record in reply.records]
    assert codes(await board.check(TOOL, BIG)) == []


async def test_records_are_read_by_id_each_once_in_their_order(place: Place) -> None:
    _, board = await desk(place, CAP, Chatter(id="c1"), Chatter(id="c2"))
    reply = await board.read_records(["c2", "nope", "cap", "c2", "nöpe"])
    assert [record["id"] for record in reply.records] == ["cap", "c2"]
    assert reply.unknown_records == ["nope", "nöpe"]
    (event,) = [event async for event in board.log(kind="board.read")]
    assert event.body == {"records": ["cap", "c2"]}


async def test_a_read_that_serves_nothing_is_not_recorded(place: Place) -> None:
    operator, board = await desk(place)
    for reply in (await board.read_records(), await board.read_records(["nope"])):
        assert (reply.seq, reply.records, reply.head) == (None, [], 1)
    assert reply.unknown_records == ["nope"]
    await operator.add_record(CAP)
    assert (await board.read_records(["nope"])).seq is None


async def test_what_was_served_enters_the_view_and_nobody_elses(place: Place) -> None:
    _, reader = await desk(place, CAP)
    other = await place.agent("b")
    assert codes(await reader.check(TOOL, BIG)) == ["unseen-binding-constraint"]
    await reader.read_records(["cap"])
    assert codes(await reader.check(TOOL, BIG)) == []
    assert codes(await other.check(TOOL, BIG)) == ["unseen-binding-constraint"]


async def test_a_feed_and_the_log_put_no_record_into_a_view(place: Place) -> None:
    _, board = await desk(place, CAP)
    assert [event.kind async for event in board.log()] == ["board.opened", "record.added"]
    async for event in board.follow():
        if event.kind == "record.added":
            break
    assert codes(await board.check(TOOL, BIG)) == ["unseen-binding-constraint"]


async def test_who_adds_a_record_holds_it(place: Place) -> None:
    _, author = await desk(place, records=["policy"])
    other = await place.agent("b")
    await author.add_record(CAP)
    assert codes(await author.check(TOOL, BIG)) == []
    assert codes(await other.check(TOOL, BIG)) == ["unseen-binding-constraint"]
    await author.compacted(kept=[])
    assert codes(await author.check(TOOL, BIG)) == ["dropped-binding-constraint"]


async def test_a_message_may_cite_a_record(place: Place) -> None:
    _, board = await desk(place, CAP, Chatter("hello"))
    assert (await board.say("cap stands, see record:3; record:9 is no record")).cited == ["cap", "record:3"]


# -- compaction


async def holds(board: Board) -> set[str]:
    """Which of the two rules the agent holds: those of which a check does not say that they are missing."""
    missing = {reason.id for reason in (await board.check(TOOL, BIG)).reasons}
    return {"cap", "floor"} - missing


async def two_rules(place: Place) -> tuple[Board, Board]:
    floor = Policy(TOOL, atom("amount", 10, op="gt"), "require_approval", id="floor")
    operator, board = await desk(place, CAP, floor)
    await board.read_records()
    return operator, board


async def test_a_compaction_keeps_what_it_names_and_nothing_else(place: Place) -> None:
    _, board = await two_rules(place)
    reply = await board.compacted(cause="summary", kept=["cap", "cap"])
    assert (reply.unknown_kept, reply.lost_kept, reply.signals) == ([], [], [])
    assert await holds(board) == {"cap"}


@pytest.mark.parametrize("kept", [None, []])
async def test_a_compaction_that_names_nothing_keeps_nothing(place: Place, kept: list[str] | None) -> None:
    _, board = await two_rules(place)
    await board.compacted(kept=kept)
    assert await holds(board) == set()


async def test_what_was_read_after_the_base_is_still_held(place: Place) -> None:
    _, board = await desk(place, CAP, Policy(TOOL, atom("amount", 10, op="gt"), "deny", id="floor"))
    await board.read_records(["cap"])
    base = board.head
    await board.read_records(["floor"])
    await board.compacted(base_seq=base, kept=[])
    assert await holds(board) == {"floor"}


async def test_records_that_were_never_delivered_are_not_kept_and_raise_a_flag(place: Place) -> None:
    _, board = await desk(place, CAP, Policy(TOOL, atom("amount", 10, op="gt"), "deny", id="floor"))
    await board.read_records(["cap"])
    reply = await board.compacted(kept=["cap", "floor", "my own rule"])
    assert (reply.unknown_kept, reply.lost_kept) == (["floor", "my own rule"], [])
    (signal,) = reply.signals
    assert (signal.name, signal.effect, signal.agent) == ("invented-record", "flag", "a")
    assert signal.numbers == {"unknown": ["floor", "my own rule"], "count": 2}
    (event,) = [event async for event in board.log(kind="agent.compacted")]
    assert (event.body["kept"], event.body["unknown"]) == (["cap"], ["floor", "my own rule"])
    verdict = await board.check(TOOL, BIG)
    assert [(reason.code, reason.id) for reason in verdict.reasons] == [
        ("unseen-binding-constraint", "floor")
    ]


async def test_a_second_compaction_does_not_launder_the_first(place: Place) -> None:
    _, board = await two_rules(place)
    await board.compacted(kept=["floor"])
    reply = await board.compacted(kept=["cap", "floor"])
    assert (reply.unknown_kept, reply.lost_kept, reply.signals) == ([], ["cap"], [])
    assert await holds(board) == {"floor"}
    last = [event async for event in board.log(kind="agent.compacted")][-1]
    assert (last.body["kept"], last.body["lost"]) == (["floor"], ["cap"])
    await board.read_records(["cap"])
    assert await holds(board) == {"cap", "floor"}
    assert (await board.compacted(kept=["cap", "floor"])).lost_kept == []
    assert await holds(board) == {"cap", "floor"}


async def test_a_retried_compaction_is_told_the_same(place: Place) -> None:
    _, board = await two_rules(place)
    await board.compacted(kept=["floor"])
    told = [await board.compacted(kept=["cap", "floor", "x"], idempotency_key="again") for _ in range(2)]
    assert [(one.replayed, one.unknown_kept, one.lost_kept) for one in told] == [
        (False, ["x"], ["cap"]),
        (True, ["x"], ["cap"]),
    ]


async def test_what_others_report_keeps_nothing(place: Place) -> None:
    operator, board = await two_rules(place)
    await operator.compacted(agents=["a"], kept=["cap", "floor"])
    assert await holds(board) == set()


# -- older boards


NEEDS_FORMAT_2: dict[str, Call] = {
    "add_record": add(Chatter("hello")),
    "read_records": lambda board: board.read_records(),
    "read_records by id": lambda board: board.read_records(["cap"]),
    "check": lambda board: board.check(TOOL, BIG),
    "certificate": lambda board: board.certificate(TOOL),
    "must_keep": lambda board: board.must_keep([TOOL]),
    "repair": lambda board: board.repair([], [TOOL]),
}


async def test_a_board_of_format_1_has_no_records_until_its_format_is_raised(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board(format=1)
    board = await place.agent("a", records=["chatter"])
    await board.write("k", 1, revision=1)
    for call in NEEDS_FORMAT_2.values():
        with pytest.raises(blackboard.FormatTooLow) as caught:
            await call(board)
        assert (caught.value.code, caught.value.status) == ("format-too-low", 409)
        assert caught.value.members == {"format": 1, "limit": 2}
        assert "raise_format(2)" in caught.value.detail
    assert (await board.compacted(kept=["cap"])).unknown_kept == ["cap"]
    assert {event.kind async for event in board.log()} <= {
        "board.opened",
        "entry.written",
        "agent.compacted",
        "signal.raised",
    }
    await operator.raise_format(2)
    for name, call in NEEDS_FORMAT_2.items():
        assert await call(board) is not None, name
