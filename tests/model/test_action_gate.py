"""The action gate on a board against the plain model: whatever was read, written and compacted before."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from blackboard.errors import TurnOutOfOrder
from tests.actions.truths import Record, action_digest
from tests.model.records import PlainGate, Said
from tests.model.test_write_gate import KEYS, NAMES, POLICIES, WriteGate, names, turns
from tests.pure.driver import Agent, World

LARGE = {"field": "amount", "op": "gt", "value": 5}
OPEN = {"field": "b", "op": "eq", "value": "open", "source": "ledger"}
SHUT = {"field": "a/1", "op": "ne", "value": "running", "source": "ledger", "at": "/status"}
TEMPLATES: tuple[Record, ...] = (
    {"kind": "policy", "scope": "t", "predicate": LARGE, "effect": "deny"},
    {"kind": "policy", "scope": "t", "predicate": LARGE, "effect": "require_approval"},
    {"kind": "policy", "scope": ["t", "u.*"], "predicate": LARGE, "effect": "allow"},
    {"kind": "policy", "scope": "*", "predicate": {"any": [OPEN, LARGE]}, "effect": "deny"},
    {"kind": "policy", "scope": "t", "predicate": {"all": [SHUT, LARGE]}, "effect": "allow"},
    {"kind": "fact", "field": "amount", "value": 9},
    {"kind": "fact", "field": "amount", "value": 1},
    {"kind": "fact", "field": "amount", "retracted": True},
    {"kind": "chatter", "text": "x"},
    {"kind": "oath"},
)
PARAMS: tuple[dict[str, Any], ...] = ({}, {}, {"amount": 9}, {"amount": 1})


class ActionGate(WriteGate):
    """The machine of the write gate, with records and checks beside what it does."""

    plain: PlainGate

    @initialize(members=st.sampled_from(POLICIES), revisions=st.sampled_from(["advancing", "advisory"]))
    def opened(self, members: dict[str, Any], revisions: str) -> None:
        super().opened(members, revisions)
        policy = {"revisions": revisions} | members
        self.plain = PlainGate(policy)
        self.world = World(self.members(policy))

    def agent(self, name: str) -> Agent:
        return self.world.agent(name, writes=["*"], records=["policy", "fact:*", "approval", "chatter"])

    def picked(self, picks: list[int]) -> list[str]:
        """The ids of the records at these places, newest first, each once."""
        found = [record["id"] for record in reversed(self.plain.records)]
        return list(dict.fromkeys(found[pick] for pick in picks if pick < len(found)))

    @rule(template=st.sampled_from(TEMPLATES), follow=st.booleans(), expires=st.none() | st.integers(1, 9))
    def the_operator_adds(self, template: Record, follow: bool, expires: int | None) -> None:
        record = dict(template)
        if expires is not None and record["kind"] in ("policy", "fact"):
            record["expires_seq"] = self.plain.head + 1 + expires
        taken = {other.get("supersedes") for other in self.plain.records}
        free = [
            other["id"]
            for other in self.plain.records
            if (other["kind"], other.get("field")) == (record["kind"], record.get("field"))
            and other["id"] not in taken
        ]
        if follow and free and record["kind"] in ("policy", "fact"):
            record["supersedes"] = free[-1]
        self.answers(self.plain.add(None, record), lambda: self.world.operator.adds(record))

    @rule(granted=st.booleans(), params=st.sampled_from(PARAMS), by=st.none() | names)
    def somebody_approves(self, granted: bool, params: dict[str, Any], by: str | None) -> None:
        policies = [record["id"] for record in self.plain.records if record["kind"] == "policy"]
        if not policies:
            return
        record = {
            "kind": "approval",
            "policy": policies[-1],
            "granted": granted,
            "action_digest": action_digest("t", params),
        }
        approver = "operator:ops" if by is None else f"agent:{by}"
        actor = self.world.operator if by is None else self.agent(by)
        self.answers(self.plain.add(by, record | {"approver": approver}), lambda: actor.adds(record))

    @rule(name=names, field=st.sampled_from(["amount", "other"]), value=st.integers(1, 9), step=turns)
    def an_agent_adds_a_fact(self, name: str, field: str, value: int, step: int | None) -> None:
        turn = self.numbered(name, step)
        record = {"kind": "fact", "field": field, "value": value}
        self.answers(self.plain.add(name, record, turn), lambda: self.agent(name).adds(record, turn=turn))

    @rule(name=names, picks=st.lists(st.integers(0, 6), min_size=1, max_size=4), step=turns)
    def reads_some_records(self, name: str, picks: list[int], step: int | None) -> None:
        wanted = self.picked(picks)
        if wanted:
            turn = self.numbered(name, step)
            expected = self.plain.read_records(name, wanted, turn)
            self.answers(expected, lambda: self.agent(name).reads_records(*wanted, turn=turn))

    @rule(name=names)
    def reads_every_record(self, name: str) -> None:
        wanted = [record["id"] for record in self.plain.records]
        expected = self.plain.read_records(name, wanted)
        self.answers(expected, lambda: self.agent(name).reads_records())

    @rule(
        name=names,
        back=st.integers(0, 6),
        picks=st.none() | st.lists(st.integers(0, 6), max_size=5),
        invents=st.sampled_from([False, False, True]),
        operator=st.sampled_from([False, False, False, True]),
    )
    def is_compacted_and_keeps(
        self, name: str, back: int, picks: list[int] | None, invents: bool, operator: bool
    ) -> None:
        base = max(0, self.plain.head - back)
        kept = None if picks is None else self.picked(picks) + (["r-9"] if invents else [])
        expected = self.plain.compact_with(name, base, kept, operator=operator)
        if operator:
            report = self.world.operator.reports_compaction
            self.answers(expected, lambda: report(name, base_seq=base, kept=kept))
        else:
            self.answers(expected, lambda: self.agent(name).compacts(base, kept=kept))

    def is_compacted(self, *_: Any, **__: Any) -> None:
        """Instead of the write gate's own rule, `is_compacted_and_keeps`."""

    @rule(
        name=names,
        templates=st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=3),
        late=st.sampled_from(TEMPLATES),
        picks=st.lists(st.integers(0, 4), max_size=4),
        key=st.sampled_from(["b", "a/1"]),
        params=st.sampled_from(PARAMS),
    )
    def loses_the_thread(
        self,
        name: str,
        templates: list[Record],
        late: Record,
        picks: list[int],
        key: str,
        params: dict[str, Any],
    ) -> None:
        """Records are read, a compaction takes some of them, the world goes on, and the agent acts."""
        for template in templates:
            self.the_operator_adds(template, follow=False, expires=None)
        self.reads_every_record(name)
        self.is_compacted_and_keeps(name, back=0, picks=picks, invents=False, operator=False)
        self.answers(self.plain.read(name, [key]), lambda: self.agent(name).reads(key))
        self.the_operator_adds(late, follow=True, expires=None)
        self.checks(name, "t", params, basis=None, off=0, step=None)

    @rule(
        name=names,
        tool=st.sampled_from(["t", "t", "t", "u.x", "v"]),
        params=st.sampled_from(PARAMS),
        basis=st.sampled_from([None] * 12 + [*KEYS]),
        off=st.sampled_from([0, 0, 1]),
        step=turns,
    )
    def checks(
        self, name: str, tool: str, params: dict[str, Any], basis: str | None, off: int, step: int | None
    ) -> None:
        turn = self.numbered(name, step)
        named = {} if basis is None else {basis: self.plain.revision(basis) + off}
        expected = self.plain.check(name, tool, params, named, turn)
        try:
            reply = self.agent(name).checks(tool, params, basis=named, turn=turn)
        except TurnOutOfOrder:
            assert expected == Said("out of turn")
            return
        found = tuple(sorted((reason.code, reason.id) for reason in reply.reasons))
        assert (reply.verdict, reply.policy.answer) == (expected.verdict, expected.policy)
        assert [name for _, name in found] == [name for _, name in expected.reasons]
        assert [code.partition("-")[0] for code, _ in found] == [
            code.partition("-")[0] for code, _ in expected.reasons
        ]
        assert tuple(signal.name for signal in reply.signals) == expected.signals

    @invariant()
    def the_holdings_agree(self) -> None:
        records = self.world.board.records
        for name in NAMES:
            found = self.world.board.agents.get(name)
            if found is None:
                assert not self.plain.held(name)
                continue
            assert {records.items[at].id for at in found.holding.held()} == self.plain.held(name).keys()
            facts = [record for record in self.plain.records if record["id"] in self.plain.held(name)]
            newest = {fact["field"]: fact["id"] for fact in facts if fact["kind"] == "fact"}
            for field in ("amount", "other"):
                at = found.holding.newest_fact(field)
                assert (None if at is None else records.items[at].id) == newest.get(field)


ActionGate.TestCase.settings = settings(stateful_step_count=40, max_examples=settings().max_examples // 2)
TestActionGate = ActionGate.TestCase
