"""The plain model with records: holdings are dicts of ids, and verdicts are the oracle's."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.actions import oracle
from tests.actions.truths import Record
from tests.model.plain import Agent, Answer, Plain, Version


class Said(NamedTuple):
    """A verdict as the model has it; reasons are codes with the ids or keys that they are about."""

    outcome: str
    verdict: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    policy: str = ""
    signals: tuple[str, ...] = ()


class PlainGate(Plain):
    """The board of the write gate, and the records beside it."""

    def __init__(self, policy: dict[str, Any]) -> None:
        super().__init__(policy)
        self.records: list[Record] = []
        self.holdings: dict[str, dict[str, int]] = {}
        self.delivered: dict[str, set[str]] = {}

    def held(self, name: str) -> dict[str, int]:
        return self.holdings.setdefault(name, {})

    def deliver(self, name: str, record: str) -> None:
        self.held(name)[record] = self.head
        self.delivered.setdefault(name, set()).add(record)

    def add(self, author: str | None, record: Record, turn: int | None = None) -> Answer:
        """An operator (None) or an agent adds a record that is well-formed."""
        signals: list[str] = []
        if author is not None:
            if self.out_of_turn(author, turn):
                return Answer("out of turn")
            signals = self.signals(author, turn, []) if turn is not None else []
            self.begin(author, turn)
        self.head += 1
        identity = f"record:{self.head}"
        self.records.append({"id": identity, "seq": self.head} | record)
        if author is not None:
            self.deliver(author, identity)
            self.raise_(author, signals)
        return Answer("done", signals=tuple(signals))

    def read_records(self, name: str, wanted: list[str], turn: int | None = None) -> Answer:
        if self.out_of_turn(name, turn):
            return Answer("out of turn")
        if not wanted:
            return Answer("done")
        signals = self.signals(name, turn, []) if turn is not None else []
        self.begin(name, turn)
        self.head += 1
        for record in wanted:
            self.deliver(name, record)
        self.raise_(name, signals)
        return Answer("done", signals=tuple(signals))

    def compact_with(self, name: str, base: int, kept: list[str] | None, *, operator: bool = False) -> Answer:
        """A compaction whose summary claims to hold these records."""
        claimed = kept if not operator else None
        unknown = set(claimed or ()) - self.delivered.get(name, set())
        answer = super().compact(name, base, kept=bool(unknown), operator=operator)
        left = {id_: at for id_, at in self.held(name).items() if at > base or id_ in (claimed or ())}
        self.holdings[name] = left
        return answer

    # -- verdicts

    def check(
        self, name: str, tool: str, params: dict[str, Any], basis: dict[str, int], turn: int | None
    ) -> Said:
        if self.out_of_turn(name, turn):
            return Said("out of turn")
        agent = self.agent(name)
        said = oracle.judge(
            self.records,
            list(self.held(name)),
            tool,
            params,
            delivered_ids=self.delivered.get(name, set()),
            head=self.head,
            agent=f"agent:{name}",
            ledger_full={key: found.ask.value for key, found in self.now().items()},
            ledger_held={key: found.ask.value for key, found in self.seen(agent).items()},
            ledger_delivered=[key for key in self.now() if self.had(agent, key)],
        )
        moved = [
            ("basis-moved", key)
            for key, revision in basis.items()
            if self.revision(key) != revision or not self.holds(agent, key)
        ]
        signals = self.signals(name, turn, []) if turn is not None else []
        self.begin(name, turn)
        self.head += 1
        self.raise_(name, signals)
        reasons = tuple(sorted([*said.reasons, *moved]))
        return Said("done", "BLOCK" if reasons else "PASS", reasons, said.policy, tuple(signals))

    def now(self) -> dict[str, Version]:
        """The entries that stand."""
        return {key: found[-1] for key, found in self.versions.items() if not found[-1].ask.deleted}

    def seen(self, agent: Agent) -> dict[str, Version]:
        """The entries that the agent holds, the older ones too."""
        found = {}
        for key, versions in self.versions.items():
            then = [version for version in versions if version.seq <= agent.observed(key)]
            if then and not then[-1].ask.deleted:
                found[key] = then[-1]
        return found

    def had(self, agent: Agent, key: str) -> bool:
        """Whether the agent once observed the current entry."""
        seen = max(agent.last_read(key), agent.last_write(key))
        return seen >= self.versions[key][-1].seq
