"""The write gate as its specification reads: dicts, sets and scans, no index and no counter.

A second, naive implementation to hold the real one against. It keeps everything that ever happened and looks
it up by scanning; what it decides is written sentence by sentence from the specification's tables. Seqs are
those of the log, so it must also foresee every event that a command leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

ORDER = (
    "revision-reused",
    "single-writer",
    "agent-read-only",
    "revalidation-required",
    "revision-not-advancing",
    "revision-skipped",
    "unseen-revision",
    "completion-unverified",
    "basis-moved",
)
FINISHED = {"done", "merged"}
UNFINISHED = {"open", "failed", "running"}


class Ask(NamedTuple):
    """One write as asked for. `value` is a text, a number or `{"status", "covers"}`."""

    key: str
    revision: int | None
    value: Any = None
    confidence: float | None = None
    deleted: bool = False
    basis: tuple[tuple[str, int], ...] = ()


class Version(NamedTuple):
    """One accepted write."""

    seq: int
    revision: int
    asserted: int
    writer: str
    ask: Ask


class Answer(NamedTuple):
    """What a command comes to: its outcome, the codes that its writes violate, the signals raised."""

    outcome: str
    codes: tuple[tuple[str | None, str], ...] = ()
    signals: tuple[str, ...] = ()
    revisions: tuple[tuple[str, int, bool], ...] = ()

    @property
    def code(self) -> str | None:
        return min((code for _, code in self.codes), key=ORDER.index) if self.codes else None


@dataclass
class Agent:
    """What is remembered of one agent, in full."""

    prefix: str = ""
    reads: list[tuple[int, Any]] = field(default_factory=list)  # (seq, does it cover this key?)
    writes: list[tuple[int, str]] = field(default_factory=list)
    compactions: list[tuple[int, int]] = field(default_factory=list)  # (seq, base)
    commands: list[int] = field(default_factory=list)
    demotions: list[int] = field(default_factory=list)
    compacted_at: int = 0
    suspected_at: int = 0
    alive: set[str] = field(default_factory=set)  # live at the demotion, since neither deleted nor served
    served: bool = False
    turn: int | None = None
    ended: bool = False
    tried: set[str] = field(default_factory=set)
    wide: list[int] = field(default_factory=list)
    narrow: int = 0
    messages: list[bool] = field(default_factory=list)
    confidence: dict[str, tuple[float, int]] = field(default_factory=dict)
    read_before: dict[str, list[bool]] = field(default_factory=dict)
    proposals: dict[str, int] = field(default_factory=dict)

    @property
    def standing(self) -> str:
        return "compacted" if self.compacted_at else "suspected" if self.suspected_at else "active"

    @property
    def owed(self) -> set[str]:
        return {key for key in self.alive if key.startswith(self.prefix)}

    def last_read(self, key: str) -> int:
        return max((seq for seq, covers in self.reads if covers(key)), default=0)

    def last_write(self, key: str) -> int:
        return max((seq for seq, written in self.writes if written == key), default=0)

    def observed(self, key: str) -> int:
        """The last observation that no compaction has taken; 0 for none."""
        seen = max(self.last_read(key), self.last_write(key))
        taken = any(base >= seen and at > seen for at, base in self.compactions)
        return 0 if taken else seen


class Proposal(NamedTuple):
    seq: int
    asks: tuple[Ask, ...]
    held: dict[str, int | None]


def status(value: Any) -> str | None:
    text = value.get("status") if isinstance(value, dict) else value
    return text.split()[0] if isinstance(text, str) else None


def covers(value: Any) -> list[str]:
    return value.get("covers", []) if isinstance(value, dict) else []


class Plain:
    """The board. Policy members keep the names of the specification; `effects` are those of the signals."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.policy: dict[str, Any] = {
            "revisions": "advancing",
            "require_view": True,
            "demotion": "revalidate",
            "completion": "reread",
            "completion_window": 8,
            "coordinator": None,
            "effects": {},
        } | policy
        self.head = 1
        self.mode = "open"
        self.coordinator: str | None = None
        self.versions: dict[str, list[Version]] = {}
        self.agents: dict[str, Agent] = {}
        self.proposals: dict[str, Proposal] = {}
        self.decided: set[str] = set()

    # -- looking things up

    def agent(self, name: str) -> Agent:
        return self.agents.setdefault(name, Agent())

    def current(self, key: str) -> Version | None:
        return self.versions[key][-1] if key in self.versions else None

    def revision(self, key: str) -> int:
        found = self.current(key)
        return found.revision if found is not None else 0

    def live(self) -> set[str]:
        return {key for key, versions in self.versions.items() if not versions[-1].ask.deleted}

    def holds(self, agent: Agent, key: str) -> bool:
        seen, found = agent.observed(key), self.current(key)
        return seen > 0 and (found is None or seen >= found.seq)

    def held_revision(self, agent: Agent, key: str) -> int | None:
        seen = agent.observed(key)
        if not seen:
            return None
        then = [version.revision for version in self.versions.get(key, []) if version.seq <= seen]
        return then[-1] if then else 0

    def last_status(self, key: str) -> str | None:
        """A deleted key keeps its last status."""
        alive = [version for version in self.versions[key] if not version.ask.deleted]
        return status(alive[-1].ask.value) if alive else None

    def known(self, key: str) -> list[Version]:
        """The accepted writes that rules 0 and 1 compare with."""
        versions = self.versions.get(key, [])
        return versions[-1:] if self.policy["revisions"] == "advisory" else versions

    # -- the rules, in order

    def replayed(self, name: str, ask: Ask) -> Version | None:
        for version in self.known(ask.key):
            same = version.ask._replace(basis=()) == ask._replace(basis=())
            if version.writer == name and version.asserted == ask.revision and same:
                return version
        return None

    def judge(self, name: str, ask: Ask) -> list[str]:
        assert ask.revision is not None
        agent, policy, found = self.agent(name), self.policy, self.current(ask.key)
        revision, now = ask.revision, self.revision(ask.key)
        read, advisory = agent.last_read(ask.key), policy["revisions"] == "advisory"
        broken = {
            "revision-reused": any(
                version.writer == name and version.asserted == revision for version in self.known(ask.key)
            ),
            "single-writer": self.mode == "single-writer"
            and (self.coordinator != name or agent.standing != "active"),
            "agent-read-only": policy["demotion"] == "read-only" and agent.standing != "active",
            "revalidation-required": policy["demotion"] == "revalidate"
            and (agent.suspected_at > 0 or (agent.compacted_at > 0 and not read > agent.compacted_at)),
            "revision-not-advancing": not advisory and found is not None and revision <= now,
            "revision-skipped": revision > now + (1 if policy["revisions"] == "contiguous" else 1_000_000),
            "unseen-revision": policy["require_view"]
            and found is not None
            and not self.holds(agent, ask.key),
            "completion-unverified": self.unverified(agent, ask),
            "basis-moved": any(
                self.revision(key) != named or not self.holds(agent, key) for key, named in ask.basis
            ),
        }
        return [code for code in ORDER if broken[code]]

    def unverified(self, agent: Agent, ask: Ask) -> bool:
        found, policy = self.current(ask.key), self.policy
        if found is None or policy["completion"] == "off" or ask.deleted:
            return False
        if status(ask.value) not in FINISHED or self.last_status(ask.key) not in UNFINISHED:
            return False
        seen = agent.last_read(ask.key)
        if policy["completion"] == "view":
            seen = max(seen, agent.last_write(ask.key))
        window = policy["completion_window"]
        begin = agent.commands[-window] if len(agent.commands) >= window else 0
        demoted = agent.demotions[-1] if agent.demotions else 0
        return not (seen >= found.seq and seen > demoted and seen >= begin)

    # -- signals

    def completes(self, agent: Agent, turn: int | None, asks: list[Ask], *, ends: bool = False) -> int:
        """The breadth of the writing turn that a command completes; 0 for none."""
        if turn is None:
            return len({ask.key for ask in asks})
        if ends or agent.turn is None or turn > agent.turn:
            return len(agent.tried)
        return 0

    def is_narrow(self, agent: Agent, breadth: int) -> bool:
        last = agent.wide[-8:]
        return len(last) >= 3 and 2 * breadth < median(last)

    def signals(
        self,
        name: str,
        turn: int | None,
        asks: list[Ask],
        *,
        code: str | None = None,
        missing: bool = False,
        decays: bool = False,
        ends: bool = False,
        invented: bool = False,
        accepted: bool = False,
    ) -> list[str]:
        agent = self.agent(name)
        breadth = self.completes(agent, turn, asks, ends=ends)
        breaking = code in ("revision-not-advancing", "revision-skipped", "unseen-revision")
        skips = any(ask.revision != self.revision(ask.key) + 1 for ask in asks)
        found = {
            "revision-break": missing or breaking or (accepted and skips),
            "write-breadth": breadth > 0 and agent.narrow == 1 and self.is_narrow(agent, breadth),
            "citation-decay": decays,
            "read-elision": accepted and any(self.elides(agent, ask.key) for ask in asks),
            "confidence-inflation": any(self.inflates(agent, ask) for ask in asks),
            "completion-over-open": accepted and any(self.covers_open(ask, asks) for ask in asks),
            "invented-record": invented,
        }
        return [signal for signal, raised in found.items() if raised and self.effect(signal) != "off"]

    def effect(self, signal: str) -> str:
        default = "suspect" if signal == "citation-decay" else "flag"
        effect: str = self.policy["effects"].get(signal, default)
        return effect

    def elides(self, agent: Agent, key: str) -> bool:
        before = agent.last_write(key)
        if not before or agent.last_read(key) > before:
            return False
        habit = agent.read_before.get(key, [])[-8:]
        return len(habit) >= 3 and 2 * sum(habit) >= len(habit)

    def inflates(self, agent: Agent, ask: Ask) -> bool:
        last = agent.confidence.get(ask.key)
        if ask.confidence is None or last is None or not ask.confidence > last[0]:
            return False
        between = [seq for seq in agent.demotions if seq > last[1]]
        return bool(between) and not agent.last_read(ask.key) > between[-1]

    def covers_open(self, ask: Ask, asks: list[Ask]) -> bool:
        if ask.deleted or status(ask.value) not in FINISHED:
            return False
        beside = {other.key: other for other in asks}
        for reference in covers(ask.value):
            key, _, cited = reference.partition("@")
            if key == ask.key:
                continue
            if key in beside:
                now = None if beside[key].deleted else status(beside[key].value)
            else:
                now = self.last_status(key) if key in self.versions else None
            if now in UNFINISHED or (cited and key in self.versions and int(cited) < self.revision(key)):
                return True
        return False

    # -- commands

    def begin(self, name: str, turn: int | None, *, page: bool = False) -> Agent:
        """The first event of a command by an agent."""
        agent = self.agent(name)
        if not page:
            agent.commands.append(self.head + 1)
        if turn is not None and (agent.turn is None or turn > agent.turn):
            self.close(agent)
            agent.turn, agent.ended = turn, False
        return agent

    def close(self, agent: Agent) -> None:
        self.complete(agent, len(agent.tried))
        agent.tried = set()

    def complete(self, agent: Agent, breadth: int) -> None:
        if breadth and self.is_narrow(agent, breadth):
            agent.narrow += 1
        elif breadth:
            agent.narrow = 0
            agent.wide.append(breadth)

    def tried(self, agent: Agent, turn: int | None, asks: list[Ask]) -> None:
        keys = {ask.key for ask in asks}
        if turn is None:
            self.complete(agent, len(keys))
        else:
            agent.tried |= keys

    def raise_(self, name: str, signals: list[str]) -> None:
        for signal in signals:
            self.head += 1
            if self.effect(signal) == "suspect":
                self.agent(name).suspected_at = self.head
                self.demote(self.agent(name))

    def demote(self, agent: Agent) -> None:
        agent.demotions.append(self.head)
        agent.alive, agent.served = self.live(), False

    def restore(self, agent: Agent) -> None:
        if agent.standing != "active" and agent.served and not agent.owed:
            agent.compacted_at = agent.suspected_at = 0

    def out_of_turn(self, name: str, turn: int | None) -> bool:
        agent = self.agents.get(name)
        if turn is None or agent is None or agent.turn is None:
            return False
        return turn < agent.turn or (turn == agent.turn and agent.ended)

    def write(self, name: str, asks: list[Ask], turn: int | None = None) -> Answer:
        if any(ask.revision is None for ask in asks):
            if self.out_of_turn(name, turn):
                return Answer("out of turn")
            signals = self.signals(name, turn, [], missing=True)
            self.begin(name, turn)
            self.head += 1
            self.raise_(name, signals)
            return Answer("revision missing", signals=tuple(signals))
        replays = {ask.key: found for ask in asks if (found := self.replayed(name, ask)) is not None}
        new = [ask for ask in asks if ask.key not in replays]
        if new and self.out_of_turn(name, turn):
            return Answer("out of turn")
        codes = [(ask.key, code) for ask in new for code in self.judge(name, ask)]
        if codes:
            return self.reject(name, turn, new, codes)
        if not new:
            return Answer("accepted", revisions=self.acknowledge(asks, replays, {}))
        return self.accept(name, turn, asks, replays)

    def reject(self, name: str, turn: int | None, new: list[Ask], codes: list[tuple[Any, str]]) -> Answer:
        answer = Answer("rejected", tuple(codes))
        signals = self.signals(name, turn, new, code=answer.code)
        agent = self.begin(name, turn)
        self.head += 1
        self.tried(agent, turn, new)
        for ask in new:
            if ask.confidence is not None:
                agent.confidence[ask.key] = (ask.confidence, self.head)
        self.raise_(name, signals)
        return answer._replace(signals=tuple(signals))

    def accept(
        self,
        name: str,
        turn: int | None,
        asks: list[Ask],
        replays: dict[str, Version],
        proposal: str | None = None,
    ) -> Answer:
        new = [ask for ask in asks if ask.key not in replays]
        signals = self.signals(name, turn, new, accepted=True)
        agent = self.begin(name, turn)
        if proposal is not None:
            self.head += 1
            self.decide(proposal)
        stored = {}
        for ask in new:
            self.head += 1
            stored[ask.key] = self.store(name, agent, ask)
        self.tried(agent, turn, new)
        self.raise_(name, signals)
        return Answer("accepted", signals=tuple(signals), revisions=self.acknowledge(asks, replays, stored))

    def store(self, name: str, agent: Agent, ask: Ask) -> int:
        assert ask.revision is not None
        key, revision = ask.key, ask.revision
        if self.policy["revisions"] == "advisory":
            revision = max(revision, self.revision(key) + 1)
        agent.read_before.setdefault(key, []).append(agent.last_read(key) > agent.last_write(key))
        self.versions.setdefault(key, []).append(Version(self.head, revision, ask.revision, name, ask))
        agent.writes.append((self.head, key))
        if ask.confidence is not None:
            agent.confidence[key] = (ask.confidence, self.head)
        if ask.deleted:
            for other in self.agents.values():
                other.alive.discard(key)
                self.restore(other)
        return revision

    def acknowledge(
        self, asks: list[Ask], replays: dict[str, Version], stored: dict[str, int]
    ) -> tuple[tuple[str, int, bool], ...]:
        return tuple(
            (ask.key, stored[ask.key], False)
            if ask.key in stored
            else (ask.key, replays[ask.key].revision, True)
            for ask in asks
        )

    def read(self, name: str, keys: list[str], turn: int | None = None) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        return self.serve(name, turn, lambda key: key in keys)

    def read_page(
        self, name: str, after: str | None, limit: int, turn: int | None = None
    ) -> tuple[Answer, str | None]:
        """The answer, and the key after which the next page begins (None: that was all)."""
        if self.out_of_turn(name, turn):
            return Answer("out of turn"), after
        prefix = self.agent(name).prefix
        rest = sorted(
            key for key in self.versions if key.startswith(prefix) and (after is None or key > after)
        )
        through = rest[limit - 1] if len(rest) > limit else None

        def served(key: str) -> bool:
            inside = (after is None or key > after) and (through is None or key <= through)
            return key.startswith(prefix) and inside

        return self.serve(name, turn, served, page=after is not None), through

    def serve(self, name: str, turn: int | None, served: Any, *, page: bool = False) -> Answer:
        signals = self.signals(name, turn, []) if turn is not None else []
        agent = self.begin(name, turn, page=page)
        self.head += 1
        agent.reads.append((self.head, served))
        agent.alive = {key for key in agent.alive if not served(key)}
        agent.served = True
        self.restore(agent)
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def compact(
        self,
        name: str,
        base: int,
        *,
        kept: bool = False,
        impossible: bool = False,
        turn: int | None = None,
        operator: bool = False,
    ) -> Answer:
        if not operator and self.out_of_turn(name, turn):
            return Answer("out of turn")
        signals = [] if operator else self.signals(name, turn, [], invented=kept)
        if not operator:
            self.begin(name, turn)
        self.head += 1
        agent = self.agent(name)
        agent.compactions.append((self.head, base))
        agent.compacted_at = self.head
        self.demote(agent)
        if impossible and self.policy["coordinator"] and self.mode != "single-writer":
            self.head += 1
            self.mode, self.coordinator = "single-writer", self.policy["coordinator"]
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def say(self, name: str, *, cites: bool, about: bool, turn: int | None = None) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        last = self.agent(name).messages[-8:]
        decays = not cites and about and len(last) >= 4 and 2 * sum(last) >= len(last)
        signals = self.signals(name, turn, [], decays=decays)
        agent = self.begin(name, turn)
        self.head += 1
        agent.messages.append(cites)
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def end_turn(self, name: str, turn: int) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        signals = self.signals(name, turn, [], ends=True)
        agent = self.begin(name, turn)
        self.head += 1
        self.close(agent)
        agent.ended = True
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def propose(self, name: str, asks: list[Ask], turn: int | None = None) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        held = {ask.key: self.held_revision(self.agent(name), ask.key) for ask in asks}
        signals = self.signals(name, turn, []) if turn is not None else []
        self.begin(name, turn)
        self.head += 1
        self.proposals[f"proposal:{self.head}"] = Proposal(self.head, tuple(asks), held)
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def read_proposals(self, name: str, turn: int | None = None) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        if not self.proposals:
            return Answer("done")
        signals = self.signals(name, turn, []) if turn is not None else []
        agent = self.begin(name, turn)
        self.head += 1
        agent.proposals |= dict.fromkeys(self.proposals, self.head)
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def decide(self, proposal: str) -> None:
        del self.proposals[proposal]
        self.decided.add(proposal)

    def may_decide(self, name: str, proposal: str) -> str | None:
        if proposal in self.decided:
            return "closed"
        if proposal not in self.proposals:
            return "unknown"
        pen = self.coordinator if self.mode == "single-writer" else self.policy["coordinator"]
        return None if pen == name else "not allowed"

    def accept_proposal(self, name: str, proposal: str, *, restate: bool = False) -> Answer:
        refusal = self.may_decide(name, proposal)
        if refusal is not None:
            return Answer(refusal)
        found, agent = self.proposals[proposal], self.agent(name)
        asks = list(found.asks)
        replays = {ask.key: old for ask in asks if (old := self.replayed(name, ask)) is not None}
        new = [ask for ask in asks if ask.key not in replays]
        codes: list[tuple[str | None, str]] = [
            (ask.key, code) for ask in new for code in self.judge(name, ask)
        ]
        served = agent.proposals.get(proposal, 0)
        taken = any(base >= served and at > served for at, base in agent.compactions)
        if not served or taken:
            codes.append((None, "unseen-revision"))
        for ask in new:
            stale = self.current(ask.key) is not None and found.held[ask.key] != self.revision(ask.key)
            if stale and not restate:
                codes.append((ask.key, "unseen-revision"))
        if codes:
            return self.reject(name, None, new, codes)
        ordered = [*new, *(ask for ask in asks if ask.key in replays)]
        return self.accept(name, None, ordered, replays, proposal)

    def refuse_proposal(self, name: str, proposal: str) -> Answer:
        refusal = self.may_decide(name, proposal)
        if refusal is not None:
            return Answer(refusal)
        self.begin(name, None)
        self.head += 1
        self.decide(proposal)
        return Answer("done")

    def set_mode(self, mode: str, coordinator: str | None) -> Answer:
        if (mode, coordinator) != (self.mode, self.coordinator):
            self.head += 1
            self.mode, self.coordinator = mode, coordinator
        return Answer("done")

    def set_policy(self, members: dict[str, Any]) -> Answer:
        if any(self.policy[name] != value for name, value in members.items()):
            self.head += 1
            self.policy |= members
        return Answer("done")

    def join(self, name: str, prefix: str, *, known: bool) -> Answer:
        if known and self.agent(name).prefix == prefix:
            return Answer("done")
        self.head += 1
        agent = self.agent(name)
        agent.prefix = prefix
        self.restore(agent)
        return Answer("done")
