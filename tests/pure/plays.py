"""Random plays: several agents do anything on one board. Laws that hold for all logs are shown on these."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from blackboard.errors import BlackboardError
from blackboard.messages import replies as say
from blackboard.records.digest import action_digest
from blackboard.records.kinds import kind_of
from tests.pure.driver import Agent, World, write

AGENTS = ("ann", "bob", "cyd")
KEYS = ("a/1", "a/2", "b", "c")
STATUSES = ("open", "failed", "done", {"status": "running"}, {"status": "merged"}, 7, "a/1@1 done")
TEXTS = (
    "see entry:3",
    "a/1@1, a/2@1, b@1 or c@1",
    "one of a/1 a/2 b c revision 1",
    "the tasks are done",
    "b failed",
    "hello",
)

LARGE = {"field": "amount", "op": "gt", "value": 5}
ENTRY = {"field": "b", "op": "eq", "value": "open", "source": "ledger"}

POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"coordinator": "ann", "completion_window": 2},
    {"demotion": "read-only", "signals": {"revision-break": "suspect"}},
    {"revisions": "contiguous", "completion": "view"},
    {"revisions": "advisory", "require_view": False, "demotion": "off", "unseen": "note"},
    {"require_view": False, "completion": "off", "broadcast": False, "coordinator": "bob"},
    {"signals": {"citation-decay": {"minimum": 1, "window": 2}, "write-breadth": {"minimum": 1}}},
)

BEGUN_EARLIER = POLICIES[1::2]
"""Boards with one of these policies begin with format 2."""

RECORDS: tuple[dict[str, Any], ...] = (
    {"kind": "policy", "scope": "t", "predicate": LARGE, "effect": "deny"},
    {"kind": "policy", "scope": ["t", "u.*"], "predicate": LARGE, "effect": "require_approval"},
    {"kind": "policy", "scope": "*", "predicate": {"not": LARGE}, "effect": "allow", "expires_seq": 30},
    {"kind": "policy", "scope": "t", "predicate": ENTRY, "effect": "deny"},
    {"kind": "policy", "scope": "u.x", "predicate": ENTRY, "effect": "allow"},
    {"kind": "fact", "field": "amount", "value": 9},
    {"kind": "fact", "field": "amount", "value": 1.5},
    {"kind": "fact", "field": "amount", "retracted": True},
    {"kind": "fact", "field": "unread", "value": 1, "expires_seq": 25},
    {"kind": "chatter", "text": "b failed"},
    {"kind": "oath", "words": ["x"]},
    {"kind": "approval", "granted": True, "action_digest": action_digest("t", {"amount": 9})},
    {"kind": "approval", "granted": False, "action_digest": action_digest("t", {"amount": 9})},
    {
        "kind": "approval",
        "version": 2,
        "granted": False,
        "action_digest": action_digest("t", {"amount": 9}),
        "text": "paid twice",
    },
)
"""Records to add. An approval names the newest policy, and `supersedes` the newest record of its kind."""

GRANTS: dict[str, dict[str, Any]] = {
    "ann": {"writes": ["*"], "records": ["chatter", "fact:*", "policy", "approval", "opaque"]},
    "bob": {"writes": ["b", "a/*", "c"], "records": ["chatter", "fact:unread"]},
    "cyd": {},
}


class Step(NamedTuple):
    """What one of them does. `deltas` are added to the current revision of each key that is written."""

    what: str
    who: str = AGENTS[0]
    keys: tuple[str, ...] = (KEYS[0],)
    deltas: tuple[int, ...] = (1, 1, 1, 1)
    value: Any = "open"
    back: int = 0
    number: int = 0
    flag: bool = False
    confidence: float | None = None
    basis: str | None = None
    turn: int | None = None
    text: str = TEXTS[0]
    picks: tuple[int, ...] = ()


def _step(what: str, **members: Any) -> st.SearchStrategy[Step]:
    parts = {"what": st.just(what), "who": st.sampled_from(AGENTS), **members}
    return st.fixed_dictionaries(parts).map(lambda drawn: Step(**drawn))


_keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True).map(tuple)
_deltas = st.tuples(*[st.sampled_from([1, 1, 1, 1, 1, 0, -1, 2, 1_000_001])] * 3)
_turn = st.sampled_from([None, None, None, 0, 1])

writes = _step(
    "write",
    keys=_keys,
    deltas=_deltas,
    value=st.sampled_from(STATUSES),
    flag=st.sampled_from([False] * 5 + [True]),
    confidence=st.sampled_from([None, None, 0.25, 0.75]),
    basis=st.sampled_from([None, None, None, *KEYS]),
    turn=_turn,
)
updates = _step("update", keys=_keys, value=st.sampled_from(STATUSES), turn=_turn)
repeats = _step("repeat", back=st.integers(1, 6))
missing = _step("write without a revision", keys=_keys, turn=_turn)
reads = _step("read", keys=_keys, turn=_turn)
pages = _step("page", number=st.integers(1, 2), flag=st.booleans(), turn=_turn)
full = _step("read all", number=st.sampled_from([1, 2, 1000]), turn=_turn)
_picks = st.lists(st.integers(0, 6), max_size=4).map(tuple)
compactions = _step(
    "compact",
    back=st.integers(0, 6),
    flag=st.booleans(),
    number=st.integers(0, 2),
    picks=_picks,
    turn=_turn,
)
reports = _step("report", keys=st.just(()), back=st.integers(0, 3))
sayings = _step(
    "say",
    text=st.sampled_from(TEXTS),
    turn=_turn,
    flag=st.sampled_from([False, True]),
    back=st.integers(0, 6),
)
formats = _step("format", number=st.just(3))
endings = _step("end turn")
proposals = _step("propose", keys=_keys, deltas=_deltas, value=st.sampled_from(STATUSES), turn=_turn)
listings = _step("read proposals", turn=_turn)
acceptances = _step(
    "accept", back=st.sampled_from([0, 0, 1, 2]), flag=st.booleans(), number=st.integers(0, 3), turn=_turn
)
refusals = _step("refuse", back=st.integers(0, 2), number=st.integers(0, 3), turn=_turn)
modes = _step("mode", flag=st.sampled_from([True, False, False]))
policies = _step("policy", number=st.integers(0, len(POLICIES) - 1))
joins = _step("join", number=st.integers(0, 2))
records = _step(
    "record",
    who=st.sampled_from(["ops", "ops", *AGENTS]),
    number=st.integers(0, len(RECORDS) - 1),
    flag=st.booleans(),
    turn=_turn,
)
record_reads = _step("read records", picks=_picks, number=st.sampled_from([0, 0, 1, 2]), turn=_turn)
checks = _step(
    "check",
    text=st.sampled_from(["t", "t", "u.x", "v"]),
    value=st.sampled_from([{}, {}, {"amount": 9}, {"amount": 1}, {"amount": "9"}]),
    basis=st.sampled_from([None] * 12 + [*KEYS]),
    flag=st.sampled_from([False, False, True]),
    turn=_turn,
)
threads = _step(
    "thread",
    number=st.integers(0, 4),
    back=st.integers(5, len(RECORDS) - 1),
    picks=_picks,
    text=st.sampled_from(["t", "t", "u.x"]),
    value=st.sampled_from([{}, {"amount": 9}]),
)
answers = _step(
    "answer", number=st.integers(0, 3), picks=_picks, flag=st.booleans(), text=st.sampled_from(["t", "u.x"])
)
certificates = _step("certify", text=st.sampled_from(["t", "u.x"]), turn=_turn)

_WEIGHTS = {
    "writes": (writes, 5),
    "updates": (updates, 6),
    "reads": (reads, 4),
    "sayings": (sayings, 4),
    "pages": (pages, 2),
    "full": (full, 2),
    "compactions": (compactions, 2),
    "repeats": (repeats, 2),
    "proposals": (proposals, 2),
    "acceptances": (acceptances, 2),
    "endings": (endings, 1),
    "listings": (listings, 1),
    "missing": (missing, 1),
    "modes": (modes, 1),
    "policies": (policies, 1),
    "joins": (joins, 1),
    "refusals": (refusals, 1),
    "records": (records, 5),
    "record_reads": (record_reads, 3),
    "checks": (checks, 4),
    "threads": (threads, 3),
    "answers": (answers, 2),
    "certificates": (certificates, 1),
    "reports": (reports, 1),
    "formats": (formats, 1),
}
_drawn = [name for name, (_, weight) in _WEIGHTS.items() for _ in range(weight)]
steps = st.sampled_from(_drawn).flatmap(lambda name: _WEIGHTS[name][0])
_lists = st.integers(0, 50).flatmap(lambda size: st.lists(steps, min_size=size, max_size=size))
plays = st.tuples(st.sampled_from(POLICIES), _lists)
"""A policy and what is done under it. Lengths are even: short lists meet few rules."""


class Play:
    """A world in which steps are played; what they raise is an answer like any other."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.world = World(policy, at_format=2 if policy in BEGUN_EARLIER else None)
        self.turns: dict[str, int] = {}
        self.cursors: dict[str, str | None] = {}
        self.sent: list[tuple[str, list[dict[str, Any]]]] = []
        self.proposals: list[str] = []

    def play(self, step: Step) -> say.Reply | BlackboardError:
        try:
            answer: say.Reply = self._act(step)
        except BlackboardError as error:
            return error
        if isinstance(answer, say.ProposeReply):
            self.proposals.append(answer.proposal)
        return answer

    def agent(self, name: str) -> Agent:
        return self.world.agent(name, **GRANTS.get(name, {}))

    def names(self, picks: tuple[int, ...]) -> list[str]:
        """The ids of the records at these places, the newest first."""
        items = self.world.board.records.items
        return [items[-1 - pick].id for pick in picks if pick < len(items)]

    def _act(self, step: Step) -> Any:
        agent = self.agent(step.who)
        if step.what in _PLAIN:
            return _PLAIN[step.what](self, agent, step)
        turn = None if step.what in ("accept", "refuse") else self._turn(step)
        match step.what:
            case "write":
                batch = self._batch(step)
                self.sent.append((step.who, batch))
                return agent.writes_many(*batch, turn=turn)
            case "update":
                agent.reads(*step.keys, turn=turn)
                batch = self._batch(step)
                self.sent.append((step.who, batch))
                return agent.writes_many(*batch, turn=turn)
            case "write without a revision":
                batch = self._batch(step._replace(deltas=(1, 1, 1)))
                del batch[-1]["revision"]
                return agent.writes_many(*batch, turn=turn)
            case "read":
                return agent.reads(*step.keys, turn=turn)
            case "page":
                cursor = self.cursors.get(step.who) if step.flag else None
                page = agent.reads_page(cursor, limit=step.number, turn=turn)
                self.cursors[step.who] = page.cursor
                return page
            case "read all":
                return agent.reads_all(limit=step.number, turn=turn)
            case "compact":
                base = max(0, self.world.head - step.back)
                notify = "impossible" if step.number == 2 else "in-band"
                kept = self.names(step.picks) if step.flag else None
                if kept is not None and step.number == 1:
                    kept.append("r1")
                window = 16_000 if step.number == 1 and step.flag else None
                return agent.compacts(
                    base_seq=base, notify=notify, kept=kept, context_window=window, turn=turn
                )
            case "record":
                return self._add(step, turn)
            case "read records":
                names = self.names(step.picks)
                return agent.reads_records(
                    *names, turn=turn, **({} if names else {"limit": step.number or 9})
                )
            case "check":
                basis = None if step.basis is None else self._basis(step.basis)
                return agent.checks(
                    step.text, step.value, basis=basis, allow_unevaluable=step.flag, turn=turn
                )
            case "certify":
                return agent.certifies(step.text, turn=turn)
            case "say":
                answered = max(0, self.world.head - step.back) if step.flag else None
                return agent.says(step.text, reply_to=answered, turn=turn)
            case "propose":
                return agent.proposes(*self._batch(step), turn=turn)
            case "read proposals":
                return agent.reads_proposals(turn=turn)
            case "accept":
                return self._coordinator(step).accepts(self._proposal(step), restate=step.flag)
            case _:
                assert step.what == "refuse"
                return self._coordinator(step).refuses(self._proposal(step))

    def _add(self, step: Step, turn: int | None) -> Any:
        record, items = dict(RECORDS[step.number]), self.world.board.records.items
        alike = [one.id for one in items if kind_of(one) == record["kind"]]
        if step.flag and alike and record["kind"] != "oath":
            record["supersedes"] = alike[-1]
        if record["kind"] == "approval":
            policies = [one.id for one in items if kind_of(one) == "policy"]
            record["policy"] = policies[-1] if policies else "none"
        author = self.world.operator if step.who == "ops" else self.agent(step.who)
        return author.adds(record, **({} if step.who == "ops" else {"turn": turn}))

    def _basis(self, key: str) -> dict[str, int]:
        entry = self.world.board.ledger.entries.get(key)
        return {key: 0 if entry is None else entry.revision}

    def _turn(self, step: Step) -> int | None:
        if step.turn is None:
            return None
        self.turns[step.who] = self.turns.get(step.who, 0) + step.turn
        return self.turns[step.who]

    def _batch(self, step: Step) -> list[dict[str, Any]]:
        entries = self.world.board.ledger.entries
        batch = []
        for key, delta in zip(step.keys, step.deltas, strict=False):
            current = entries[key].revision if key in entries else 0
            members: dict[str, Any] = {"deleted": True} if step.flag else {}
            if step.confidence is not None:
                members["confidence"] = step.confidence
            if step.basis is not None:
                members["basis"] = self._basis(step.basis)
            batch.append(write(key, max(1, current + delta), step.value, **members))
        return batch

    def _coordinator(self, step: Step) -> Agent:
        """Mostly the coordinator, which mostly has read what it decides about."""
        board = self.world.board
        name = board.coordinator or board.policy.coordinator
        agent = self.agent(step.who if step.number == 0 or name is None else name)
        if step.number > 1:
            agent.reads_proposals()
        if step.number > 2:
            agent.reads_all()
        return agent

    def _proposal(self, step: Step) -> str:
        return (
            self.proposals[-1 - min(step.back, len(self.proposals) - 1)] if self.proposals else "proposal:9"
        )


def _repeat(play: Play, _agent: Agent, step: Step) -> Any:
    if len(play.sent) < step.back:
        return play.world.operator.opens()
    who, batch = play.sent[-step.back]
    return play.agent(who).writes_many(*batch)


def _end(play: Play, agent: Agent, step: Step) -> Any:
    turn = play.turns.get(step.who, 0)
    play.turns[step.who] = turn + 1
    return agent.ends_turn(turn)


def _report(play: Play, _agent: Agent, step: Step) -> Any:
    base = max(0, play.world.head - step.back)
    return play.world.operator.reports_compaction(step.who, AGENTS[0], base_seq=base)


def _thread(play: Play, agent: Agent, step: Step) -> Any:
    """Records are added and read, some while the agent's summary is made; then it checks."""
    for number in (step.number, step.back):
        play.play(Step("record", "ops", number=number, flag=step.number % 2 == 1))
    agent.reads_records()
    agent.compacts(kept=play.names(step.picks))
    play.play(Step("record", "ops", number=5 + step.number % 3, flag=True))
    return agent.checks(step.text, step.value)


def _answer(play: Play, agent: Agent, step: Step) -> Any:
    """An approval is read and counted on; another ends it, of the same policy or of one of another tool.

    Both may be for the same call, and what ends it may be read or not.
    """
    ops, call = play.world.operator, {"amount": 9}
    # Another rule each time, as copies of one have to be approved together.
    large = LARGE | {"value": play.world.head % 9}
    asking = {"kind": "policy", "effect": "require_approval", "predicate": large}
    mine, other = (ops.adds(asking | {"scope": scope}).id for scope in (["t", "u.*"], "v"))
    approval = {"kind": "approval", "granted": True, "action_digest": action_digest(step.text, call)}
    first = ops.adds(approval | {"policy": mine}).id
    agent.reads_records()
    agent.checks(step.text, call)
    agent.certifies(step.text)
    ended = {"granted": step.flag, "policy": (mine, other)[step.number % 2], "supersedes": first}
    if step.number > 1:
        ended["action_digest"] = "00" * 32
    ops.adds(approval | ended)
    agent.certifies(step.text)
    return agent.checks(step.text, call)


_PLAIN: dict[str, Any] = {
    "answer": _answer,
    "repeat": _repeat,
    "thread": _thread,
    "end turn": _end,
    "report": _report,
    "format": lambda play, _agent, step: play.world.operator.raises_format(step.number),
    "mode": lambda play, _agent, step: play.world.operator.sets_mode(
        "single-writer" if step.flag else "open", step.who if step.flag else None
    ),
    "policy": lambda play, _agent, step: play.world.operator.sets_policy(**POLICIES[step.number]),
    "join": lambda play, _agent, step: play.world.operator.joins(step.who, ("", "a/", "zz")[step.number]),
}


def played(policy: dict[str, Any], found: list[Step]) -> Play:
    play = Play(policy)
    for step in found:
        play.play(step)
    return play
