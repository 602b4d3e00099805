"""The pure core on a table: a board, its log, and agents that act in prose.

`World` does what the service does around the core, without storage: prepare, fetch what is needed, decide,
number, fold, complete. Every command travels as canonical JSON, as over a transport, and every event is
sealed into a row, so that `World.check` can fold the rows again and compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from blackboard import canonical
from blackboard.errors import BlackboardError
from blackboard.events import kinds
from blackboard.events.envelope import GENESIS, Command, Event, Row, number, seal, unseal, verify_row
from blackboard.events.policy import PolicyPatch
from blackboard.gate.authorize import authorize
from blackboard.gate.case import Fetched, Need
from blackboard.gate.decide import complete, decide, needs
from blackboard.gate.keeping import keep
from blackboard.gate.outcome import outcome, outcome_needs
from blackboard.gate.writes import CODES
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Call, Grants, Principal
from blackboard.messages.verdicts import CertificateReply, CheckReply, KeepReply, RecordReply
from blackboard.projections import snapshot
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve, settle
from blackboard.projections.ledger import Entry
from blackboard.projections.view import View

B = TypeVar("B", bound=kinds.Body)
T = TypeVar("T")

NAME = "release-42"


def _strictly(value: Any, into: type[T]) -> T:
    return canonical.decode(canonical.encode(value), into, max_bytes=10_000_000)


def frozen(board: Board) -> bytes:
    """The board as bytes."""
    return b"".join(snapshot.encode(snapshot.capture(board)))


def in_order(view: View) -> bool:
    """Whether the view's range reads are a step function: one seq for each start, starts ascending."""
    return view.starts == sorted(set(view.starts)) and len(view.starts) == len(view.marks)


def refold(rows: Iterable[Row]) -> Board:
    """The board that these rows are, folded from nothing."""
    board = Board()
    for row in rows:
        evolve(board, unseal(row))
    return board


def write(key: str, revision: int | None, value: Any = None, **members: Any) -> dict[str, Any]:
    """One write as it is sent; `revision` None leaves it out."""
    sent = {"key": key, **members}
    if revision is not None:
        sent["revision"] = revision
    if not members.get("deleted"):
        sent["value"] = value
    return sent


class World:
    """One board. `policy` are the members that differ from the default; `opened` False leaves it unopened.

    `at_format` is the one it is opened with, None for the newest.
    """

    def __init__(
        self,
        policy: Mapping[str, Any] | None = None,
        *,
        opened: bool = True,
        auto_open: bool = False,
        at_format: int | None = None,
    ) -> None:
        self.board = Board()
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.auto_open = auto_open
        self.operator = Operator(self)
        self._tip = GENESIS
        self._commands = 0
        self._bound: dict[tuple[str, str], list[Event]] = {}
        if opened:
            self.operator.opens(policy, at_format=at_format)

    # -- who acts

    def agent(self, name: str, **grants: Any) -> Agent:
        return Agent(self, Principal(role="agent", name=name, grants=Grants(**grants)))

    def agents(self, *names: str) -> list[Agent]:
        return [self.agent(name) for name in names]

    # -- one command

    def send(
        self, principal: Principal, command: ask.Command, *, seen: int | None = None, once: str | None = None
    ) -> Any:
        """Execute the command; raise what its sender would see raised."""
        answer = self.answer(principal, command, seen=seen, once=once)
        if isinstance(answer, BlackboardError):
            raise answer
        return answer

    def answer(
        self, principal: Principal, command: ask.Command, *, seen: int | None = None, once: str | None = None
    ) -> say.Reply | BlackboardError:
        """Execute the command; return the reply, or the error after which something was logged."""
        sent = _strictly(command, type(command))
        prepared = prepare(sent, agent=principal.agent)
        call = Call(seen=seen, idempotency_key=once)
        if once is not None and (earlier := self._bound.get((principal.actor, once))):
            wanted = outcome_needs(self.board, prepared, earlier)
            return outcome(self.board, principal, prepared, call, earlier, fetched=self._fetch(wanted))
        fetched = self._fetch(needs(self.board, principal, prepared))
        decision = decide(self.board, NAME, principal, prepared, fetched, auto_open=self.auto_open)
        self._append(principal, prepared, decision.drafts, once)
        return complete(self.board, principal, prepared, call, decision)

    def _fetch(self, wanted: Iterable[Need]) -> Fetched:
        return {need: self._find(need) for need in wanted}

    def _find(self, need: Need) -> Event | None:
        if need.seq is not None:
            return self.events[need.seq - 1]
        for event in reversed(self.events):
            if event.key != need.key:
                continue
            if need.revision is not None and event.revision == need.revision:
                return event
            if need.as_of is not None and event.seq <= need.as_of:
                return event
        return None

    def _append(self, principal: Principal, prepared: Prepared, drafts: list[Any], once: str | None) -> None:
        if not drafts:
            return
        self._commands += 1
        command = Command(
            principal.actor,
            once or f"c{self._commands}",
            prepared.canonical,
            getattr(prepared.command, "turn", None),
        )
        now, written_in = self._commands * 1000, self.board.format
        events = number(command, drafts, self.board.head, recorded_at=now)
        for event in events:
            evolve(self.board, event)
        salts = [event.seq.to_bytes(16, "big") for event in events]
        rows, self._tip = seal(
            NAME, self._tip, command, drafts, salts=salts, now=now, board_format=written_in
        )
        self.events += events
        self.rows += rows
        if once is not None:
            self._bound[principal.actor, once] = events

    # -- what a test looks at

    @property
    def head(self) -> int:
        return self.board.head

    def entry(self, key: str) -> Entry:
        return self.board.ledger.entries[key]

    def value(self, key: str) -> Any:
        return msgspec.json.decode(self.entry(key).value)

    def state(self, agent: Agent | str) -> AgentState:
        """The agent as the next decision finds it."""
        settle(self.board)
        return self.board.agents[agent if isinstance(agent, str) else agent.name]

    def bodies(self, kind: type[B]) -> list[B]:
        """Every body of this kind, in order."""
        return [event.body for event in self.events if isinstance(event.body, kind)]

    def last(self, kind: type[B]) -> B:
        return self.bodies(kind)[-1]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events, in order."""
        return [event.body.KIND for event in self.events]

    def check(self) -> None:
        """The laws that hold after every scenario (G2, G6)."""
        assert [row.seq for row in self.rows] == list(range(1, len(self.rows) + 1))
        previous = canonical.GENESIS
        for row in self.rows:
            assert verify_row(row, previous)
            previous = row.hash
        live = frozen(self.board)
        assert frozen(refold(self.rows)) == live, "folding the rows again gives another board"
        assert frozen(snapshot.decode(live)) == live, "the snapshot is not the board"
        for agent in self.board.agents.values():
            assert in_order(agent.view)
            if agent.demotion.stands:
                owed = sum(agent.demotion.owes(agent.view, e) for e in self.board.ledger.entries.values())
                assert agent.demotion.owed == owed


class Actor:
    """Somebody with a credential."""

    def __init__(self, world: World, principal: Principal) -> None:
        self.world = world
        self.principal = principal
        self.name = principal.name

    def sends(self, command: ask.Command, *, seen: int | None = None, once: str | None = None) -> Any:
        return self.world.send(self.principal, command, seen=seen, once=once)

    def adds(self, record: Mapping[str, Any], **options: Any) -> RecordReply:
        """Add a record, written as in a file but without its seq."""
        turn = options.pop("turn", None)
        return cast(RecordReply, self.sends(ask.AddRecord(record=dict(record), turn=turn), **options))

    def keeps(self, *tools: Any, kept: list[str] | None = None, agent: str | None = None) -> KeepReply:
        query = _strictly(ask.Keep(tools=list(tools), kept=kept, agent=agent), ask.Keep)
        authorize(self.principal, NAME, query)
        return keep(self.world.board, self.principal, query, head=self.world.head)


class Agent(Actor):
    """One agent. `turn`, `seen` and `once` (an idempotency key) travel with any of its commands."""

    def _sends(self, command: ask.Command, options: Mapping[str, Any]) -> Any:
        turn = options.get("turn")
        if turn is not None:
            command = msgspec.structs.replace(command, turn=turn)
        return self.sends(command, seen=options.get("seen"), once=options.get("once"))

    def reads(self, *keys: str, **options: Any) -> say.ReadReply:
        return cast(say.ReadReply, self._sends(ask.Read(keys=list(keys)), options))

    def reads_entry(self, key: str, **options: Any) -> say.EntryReply:
        return cast(say.EntryReply, self._sends(ask.ReadEntry(key=key), options))

    def reads_page(
        self, cursor: str | None = None, *, limit: int | None = None, **options: Any
    ) -> say.ReadReply:
        return cast(say.ReadReply, self._sends(ask.Read(all=True, cursor=cursor, limit=limit), options))

    def reads_all(self, *, limit: int | None = None, **options: Any) -> say.ReadReply:
        """Page by page; the last page's reply."""
        page = self.reads_page(limit=limit, **options)
        while page.cursor is not None:
            page = self.reads_page(page.cursor, limit=limit, **options)
        return page

    def writes(self, key: str, revision: int | None, value: Any = None, **options: Any) -> say.Ack:
        members = {
            name: options.pop(name)
            for name in ("confidence", "basis", "deleted", "payload_hash")
            if name in options
        }
        return self.writes_many(write(key, revision, value, **members), **options)

    def writes_many(self, *writes: Mapping[str, Any], **options: Any) -> say.Ack:
        batch = [_strictly(one, ask.Write) for one in writes]
        return cast(say.Ack, self._sends(ask.WriteBatch(writes=batch), options))

    def deletes(self, key: str, revision: int, **options: Any) -> say.Ack:
        return self.writes(key, revision, deleted=True, **options)

    def updates(self, key: str, value: Any = None, **options: Any) -> say.Ack:
        """Read the key, then write the next revision of it: what a healthy agent does."""
        served = self.reads(key).entries[0]
        return self.writes(key, served.revision + 1, value, **options)

    def compacts(self, base_seq: int | None = None, **options: Any) -> say.CompactReply:
        travel: dict[str, Any] = {
            name: options.pop(name) for name in ("turn", "seen", "once") if name in options
        }
        return cast(say.CompactReply, self._sends(ask.Compact(base_seq=base_seq, **options), travel))

    def reads_records(self, *names: str, **options: Any) -> say.ReadReply:
        """Read records by their ids; without any, all of them, page by page."""
        if names:
            return cast(say.ReadReply, self._sends(ask.Read(records=list(names)), options))
        limit, cursor, served = options.pop("limit", None), None, []
        while True:
            page = self._sends(ask.Read(records="all", cursor=cursor, limit=limit), options)
            served += page.records
            cursor = page.cursor
            if cursor is None:
                return cast(say.ReadReply, msgspec.structs.replace(page, records=served))

    def checks(self, tool: str, params: Mapping[str, Any] | None = None, **options: Any) -> CheckReply:
        travel: dict[str, Any] = {
            name: options.pop(name) for name in ("turn", "seen", "once") if name in options
        }
        command = ask.Check(tool=tool, params=dict(params or {}), **options)
        return cast(CheckReply, self._sends(command, travel))

    def certifies(self, tool: str, **options: Any) -> CertificateReply:
        return cast(CertificateReply, self._sends(ask.IssueCertificate(tool=tool), options))

    def holds_record(self, name: str) -> bool:
        position = self.world.board.records.position(name)
        assert position is not None
        return self.world.state(self).holding.holds(position)

    def says(self, text: str, *, reply_to: int | None = None, **options: Any) -> say.SayReply:
        return cast(say.SayReply, self._sends(ask.Say(text=text, reply_to=reply_to), options))

    def ends_turn(self, turn: int, **options: Any) -> say.Done:
        return cast(say.Done, self._sends(ask.EndTurn(turn=turn), options))

    def proposes(self, *writes: Mapping[str, Any], reason: str = "", **options: Any) -> say.ProposeReply:
        batch = [_strictly(one, ask.Write) for one in writes]
        return cast(say.ProposeReply, self._sends(ask.Propose(writes=batch, reason=reason), options))

    def reads_proposals(self, **options: Any) -> say.ProposalsReply:
        return cast(say.ProposalsReply, self._sends(ask.ReadProposals(), options))

    def accepts(self, proposal: str, *, restate: bool = False, **options: Any) -> say.Ack:
        return cast(say.Ack, self._sends(ask.AcceptProposal(proposal=proposal, restate=restate), options))

    def refuses(self, proposal: str, reason: str = "", **options: Any) -> say.Done:
        return cast(say.Done, self._sends(ask.RefuseProposal(proposal=proposal, reason=reason), options))

    @property
    def standing(self) -> str:
        return self.world.state(self).demotion.state

    @property
    def owed(self) -> int:
        return self.world.state(self).demotion.owed

    def holds(self, key: str) -> bool:
        return self.world.state(self).view.holds(key, self.world.board.ledger.entries.get(key))


class Operator(Actor):
    """The operator `ops`."""

    def __init__(self, world: World) -> None:
        super().__init__(world, Principal(role="operator", name="ops"))

    def opens(
        self, policy: Mapping[str, Any] | None = None, *, at_format: int | None = None, **options: Any
    ) -> say.BoardReply:
        patch = msgspec.convert(dict(policy), PolicyPatch) if policy is not None else None
        return cast(say.BoardReply, self.sends(ask.OpenBoard(policy=patch, format=at_format), **options))

    def raises_format(self, number: int) -> say.Done:
        return cast(say.Done, self.sends(ask.RaiseFormat(format=number)))

    def sets_policy(self, **members: Any) -> say.Done:
        return cast(say.Done, self.sends(ask.SetPolicy(policy=msgspec.convert(members, PolicyPatch))))

    def sets_mode(self, mode: Any, coordinator: str | None = None, **options: Any) -> say.Done:
        return cast(say.Done, self.sends(ask.SetMode(mode=mode, coordinator=coordinator, **options)))

    def joins(self, agent: str, prefix: str = "") -> say.Done:
        return cast(say.Done, self.sends(ask.JoinAgent(agent=agent, prefix=prefix)))

    def reports_compaction(self, *agents: str, **members: Any) -> say.CompactReply:
        return cast(say.CompactReply, self.sends(ask.Compact(agents=list(agents), **members)))


def attempt(act: Callable[[], say.Reply]) -> say.Reply | BlackboardError:
    """What the caller gets: the reply, or the error that is raised."""
    try:
        return act()
    except BlackboardError as error:
        return error


def codes(error: BlackboardError) -> list[str]:
    """The distinct codes of a rejection, in the order of the rules."""
    return sorted({violation.code for violation in error.members.get("rules", [])}, key=CODES.index)


def raised(answer: say.Reply | BlackboardError) -> list[str]:
    """The names of the signals that the command raised."""
    return [signal.name for signal in answer.signals]
