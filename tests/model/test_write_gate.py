"""The write gate against the plain model: whatever agents do, both say the same."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from blackboard.errors import (
    BlackboardError,
    NotAllowed,
    ProposalClosed,
    RevisionMissing,
    TurnOutOfOrder,
    UnknownProposal,
    WriteRejected,
)
from blackboard.messages import replies as say
from tests.model.plain import Answer, Ask, Plain
from tests.pure.driver import Agent, World, raised, write

NAMES = ("ann", "bob", "cyd")
KEYS = ("a/1", "a/2", "b", "c")
OUTCOMES: dict[type[BlackboardError], str] = {
    TurnOutOfOrder: "out of turn",
    RevisionMissing: "revision missing",
    ProposalClosed: "closed",
    UnknownProposal: "unknown",
    NotAllowed: "not allowed",
}
WORDS = ("tasks", "done", "b", "hello", "entry:9999", "b@99")

POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"coordinator": "ann"},
    {"demotion": "read-only", "completion_window": 3},
    {"demotion": "off", "completion": "view", "completion_window": 2},
    {"completion": "off", "require_view": False, "effects": {"revision-break": "suspect"}},
    {"effects": {"read-elision": "suspect", "citation-decay": "flag", "write-breadth": "off"}},
)

names = st.sampled_from(NAMES)
keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)
deltas = st.sampled_from([1] * 8 + [0, -1, 2, 1_000_001])
values = st.sampled_from(
    [
        "open",
        "failed",
        "done",
        7,
        {"status": "running"},
        {"status": "merged", "covers": ["a/1", "b@1"]},
        {"status": "done", "covers": ["c", "a/2@2"]},
    ]
)
confidences = st.sampled_from([None, None, 0.25, 0.5, 0.75])
turns = st.sampled_from([None, None, None, 0, 0, 1, -1])


class WriteGate(RuleBasedStateMachine):
    """Both sides are asked the same; `answers` compares what they say."""

    @initialize(
        members=st.sampled_from(POLICIES),
        revisions=st.sampled_from(["advancing", "advancing", "contiguous", "advisory"]),
    )
    def opened(self, members: dict[str, Any], revisions: str) -> None:
        policy = {"revisions": revisions} | members
        self.plain = Plain(policy)
        self.world = World(self.members(policy))
        self.sent: list[tuple[str, list[Ask]]] = []
        self.proposals: list[str] = []
        self.cursors: dict[str, str | None] = {}
        self.joined: set[str] = set()
        self.turn: dict[str, int] = {}

    @staticmethod
    def members(policy: dict[str, Any]) -> dict[str, Any]:
        """The model's policy as the board's."""
        return {"signals" if name == "effects" else name: value for name, value in policy.items()}

    # -- asking both

    def answers(self, expected: Answer, act: Any) -> None:
        try:
            answer: say.Reply | BlackboardError = act()
        except BlackboardError as error:
            answer = error
        assert self.outcome(answer) == expected.outcome
        assert raised(answer) == list(expected.signals)
        if isinstance(answer, WriteRejected):
            assert answer.code == expected.code
            found = [(violation.key, violation.code) for violation in answer.rules]
            assert sorted(found, key=str) == sorted(expected.codes, key=str)
        elif isinstance(answer, say.Ack):
            entries = [(entry.key, entry.revision, entry.replayed) for entry in answer.entries]
            assert tuple(entries) == expected.revisions
        elif isinstance(answer, say.ProposeReply):
            self.proposals.append(answer.proposal)

    @staticmethod
    def outcome(answer: say.Reply | BlackboardError) -> str:
        if isinstance(answer, WriteRejected):
            return "rejected"
        if isinstance(answer, BlackboardError):
            return OUTCOMES[type(answer)]
        return "accepted" if isinstance(answer, say.Ack) else "done"

    def agent(self, name: str) -> Agent:
        return self.world.agent(name)

    def numbered(self, name: str, step: int | None) -> int | None:
        """The agent's turn number: none, the same, the next, or (a mistake) the one before."""
        if step is None:
            return None
        wanted = max(0, self.turn.get(name, 1) + step)
        self.turn[name] = max(self.turn.get(name, 1), wanted)
        return wanted

    @staticmethod
    def sendable(asks: list[Ask]) -> list[dict[str, Any]]:
        sent = []
        for ask in asks:
            members: dict[str, Any] = {"deleted": True} if ask.deleted else {}
            if ask.confidence is not None:
                members["confidence"] = ask.confidence
            if ask.basis:
                members["basis"] = dict(ask.basis)
            sent.append(write(ask.key, ask.revision, ask.value, **members))
        return sent

    def writing(self, name: str, asks: list[Ask], turn: int | None) -> None:
        expected = self.plain.write(name, asks, turn)
        self.answers(expected, lambda: self.agent(name).writes_many(*self.sendable(asks), turn=turn))
        self.sent.append((name, asks))

    def asking(self, data: st.DataObject, keys: list[str]) -> list[Ask]:
        asks = []
        for key in keys:
            deleted = data.draw(st.sampled_from([False] * 6 + [True]))
            basis = data.draw(st.sampled_from([None] * 4 + [*KEYS]))
            moved = data.draw(st.sampled_from([0, 0, 0, 1]))
            asks.append(
                Ask(
                    key,
                    max(1, self.plain.revision(key) + data.draw(deltas)),
                    None if deleted else data.draw(values),
                    data.draw(confidences),
                    deleted,
                    () if basis is None else ((basis, self.plain.revision(basis) + moved),),
                )
            )
        return asks

    # -- what they do

    @rule(name=names, keys=keys, step=turns, data=st.data())
    def writes(self, name: str, keys: list[str], step: int | None, data: st.DataObject) -> None:
        self.writing(name, self.asking(data, keys), self.numbered(name, step))

    @rule(name=names, keys=keys, step=turns, data=st.data())
    def reads_and_writes(self, name: str, keys: list[str], step: int | None, data: st.DataObject) -> None:
        turn = self.numbered(name, step)
        self.answers(self.plain.read(name, keys, turn), lambda: self.agent(name).reads(*keys, turn=turn))
        self.writing(name, self.asking(data, keys), turn)

    @rule(name=names, key=st.sampled_from(KEYS), value=values, count=st.integers(3, 5))
    def works_on_one_key(self, name: str, key: str, value: Any, count: int) -> None:
        for _ in range(count):
            self.answers(self.plain.read(name, [key]), lambda: self.agent(name).reads(key))
            self.writing(name, [Ask(key, self.plain.revision(key) + 1, value)], None)

    @rule(name=names, key=st.sampled_from(KEYS), step=turns)
    def forgets_the_revision(self, name: str, key: str, step: int | None) -> None:
        turn = self.numbered(name, step)
        expected = self.plain.write(name, [Ask(key, None, "open")], turn)
        self.answers(expected, lambda: self.agent(name).writes(key, None, "open", turn=turn))

    @precondition(lambda self: bool(self.sent))
    @rule(back=st.integers(0, 5), who=st.none() | names, step=turns)
    def sends_it_again(self, back: int, who: str | None, step: int | None) -> None:
        name, asks = self.sent[-1 - min(back, len(self.sent) - 1)]
        self.writing(who or name, asks, self.numbered(who or name, step))

    @rule(name=names, keys=keys, step=turns)
    def reads(self, name: str, keys: list[str], step: int | None) -> None:
        turn = self.numbered(name, step)
        self.answers(self.plain.read(name, keys, turn), lambda: self.agent(name).reads(*keys, turn=turn))

    @rule(name=names, limit=st.integers(1, 3), again=st.booleans(), step=turns)
    def reads_a_page(self, name: str, limit: int, again: bool, step: int | None) -> None:
        turn = self.numbered(name, step)
        after = None if again else self.cursors.get(name)
        expected, self.cursors[name] = self.plain.read_page(name, after, limit, turn)
        cursor = None if after is None else f"2:{after}"
        self.answers(expected, lambda: self.agent(name).reads_page(cursor, limit=limit, turn=turn))

    @rule(name=names)
    def reads_everything(self, name: str) -> None:
        expected, _ = self.plain.read_page(name, None, 1000)
        self.answers(expected, lambda: self.agent(name).reads_page())

    @rule(
        name=names,
        back=st.integers(0, 8),
        kept=st.sampled_from([False, False, True]),
        impossible=st.sampled_from([False, False, False, True]),
        step=turns,
        operator=st.sampled_from([False, False, True]),
    )
    def is_compacted(
        self, name: str, back: int, kept: bool, impossible: bool, step: int | None, operator: bool
    ) -> None:
        base = max(0, self.plain.head - back)
        notify = "impossible" if impossible else "in-band"
        if operator:
            expected = self.plain.compact(name, base, impossible=impossible, operator=True)
            report = self.world.operator.reports_compaction
            self.answers(expected, lambda: report(name, base_seq=base, notify=notify))
            return
        turn = self.numbered(name, step)
        expected = self.plain.compact(name, base, kept=kept, impossible=impossible, turn=turn)
        records = ["r1"] if kept else None
        agent = self.agent(name)
        self.answers(expected, lambda: agent.compacts(base, kept=records, notify=notify, turn=turn))

    @rule(name=names, words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), step=turns)
    def speaks(self, name: str, words: list[str], step: int | None) -> None:
        turn = self.numbered(name, step)
        # A key is spoken of once it exists; a status or a category always.
        about = bool({"tasks", "done"} & {*words}) or ("b" in words and "b" in self.plain.versions)
        expected = self.plain.say(name, cites=False, about=about, turn=turn)
        self.answers(expected, lambda: self.agent(name).says(" ".join(words), turn=turn))

    @precondition(lambda self: bool(self.plain.versions))
    @rule(name=names, data=st.data(), step=turns, count=st.integers(1, 4))
    def cites(self, name: str, data: st.DataObject, step: int | None, count: int) -> None:
        turn = self.numbered(name, step)
        key = data.draw(st.sampled_from(sorted(self.plain.versions)))
        version = data.draw(st.sampled_from(self.plain.versions[key]))
        text = data.draw(st.sampled_from([f"entry:{version.seq}", f"{key}@{version.revision}"]))
        for _ in range(count):
            expected = self.plain.say(name, cites=True, about=False, turn=turn)
            self.answers(expected, lambda: self.agent(name).says(f"see {text}", turn=turn))

    @rule(name=names)
    def ends_its_turn(self, name: str) -> None:
        turn = self.turn.get(name, 1)
        self.turn[name] = turn + 1
        self.answers(self.plain.end_turn(name, turn), lambda: self.agent(name).ends_turn(turn))

    @rule(name=names, keys=keys, step=turns, data=st.data())
    def proposes(self, name: str, keys: list[str], step: int | None, data: st.DataObject) -> None:
        turn, asks = self.numbered(name, step), self.asking(data, keys)
        expected = self.plain.propose(name, asks, turn)
        self.answers(expected, lambda: self.agent(name).proposes(*self.sendable(asks), turn=turn))

    def pen(self) -> str:
        """Who decides, or who would."""
        return self.plain.coordinator or self.plain.policy["coordinator"] or NAMES[0]

    @rule(prepared=st.booleans(), restate=st.booleans(), back=st.integers(0, 2), name=st.none() | names)
    def accepts(self, prepared: bool, restate: bool, back: int, name: str | None) -> None:
        name = name or self.pen()
        if prepared:
            expected = self.plain.read_proposals(name)
            self.answers(expected, lambda: self.agent(name).reads_proposals())
            self.reads_everything(name)
        proposal = self.proposals[-1 - min(back, len(self.proposals) - 1)] if self.proposals else "proposal:1"
        expected = self.plain.accept_proposal(name, proposal, restate=restate)
        self.answers(expected, lambda: self.agent(name).accepts(proposal, restate=restate))

    @precondition(lambda self: bool(self.proposals))
    @rule(back=st.integers(0, 2))
    def refuses(self, back: int) -> None:
        name, proposal = self.pen(), self.proposals[-1 - min(back, len(self.proposals) - 1)]
        expected = self.plain.refuse_proposal(name, proposal)
        self.answers(expected, lambda: self.agent(name).refuses(proposal))

    @rule(name=names, single=st.sampled_from([False, False, True]))
    def the_mode_is_set(self, name: str, single: bool) -> None:
        mode, coordinator = ("single-writer", name) if single else ("open", None)
        expected = self.plain.set_mode(mode, coordinator)
        self.answers(expected, lambda: self.world.operator.sets_mode(mode, coordinator))

    @rule(members=st.sampled_from(POLICIES))
    def the_policy_is_changed(self, members: dict[str, Any]) -> None:
        members = {name: value for name, value in members.items() if name != "effects"}
        expected = self.plain.set_policy(members)
        self.answers(expected, lambda: self.world.operator.sets_policy(**members))

    @rule(name=names, prefix=st.sampled_from(["", "a/", "zz"]))
    def the_prefix_is_set(self, name: str, prefix: str) -> None:
        expected = self.plain.join(name, prefix, known=name in self.joined)
        self.joined.add(name)
        self.answers(expected, lambda: self.world.operator.joins(name, prefix))

    # -- what always holds

    @invariant()
    def the_logs_are_as_long(self) -> None:
        assert self.world.head == self.plain.head

    @invariant()
    def the_ledgers_agree(self) -> None:
        entries = self.world.board.ledger.entries
        assert {key: (entry.revision, entry.seq, entry.writer) for key, entry in entries.items()} == {
            key: (versions[-1].revision, versions[-1].seq, versions[-1].writer)
            for key, versions in self.plain.versions.items()
        }

    @invariant()
    def the_agents_agree(self) -> None:
        for name, found in self.world.board.agents.items():
            expected = self.plain.agent(name)
            assert found.demotion.state == expected.standing
            if expected.standing != "active":
                assert found.demotion.owed == len(expected.owed)
            for key in KEYS:
                entry = self.world.board.ledger.entries.get(key)
                assert found.view.holds(key, entry) == self.plain.holds(expected, key)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.check()


WriteGate.TestCase.settings = settings(stateful_step_count=50, max_examples=settings().max_examples * 6 // 10)
TestWriteGate = WriteGate.TestCase
