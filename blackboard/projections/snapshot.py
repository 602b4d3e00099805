"""A board as bytes and back: a discardable cache of the fold.

`capture` takes a consistent, shallow copy (entries are never changed in place); `encode` then turns it
into slices at leisure while the board moves on. The bytes are a pure function of the log: two folds of
one log encode alike.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from blackboard import canonical
from blackboard.errors import IntegrityFailure, Malformed
from blackboard.events.kinds import Mode
from blackboard.events.policy import Policy
from blackboard.projections.agent import AgentState, Checked, Counts, Raised, Refused
from blackboard.projections.board import MOVES_REMEMBERED, Board, Move, Notable, OpenProposal
from blackboard.projections.breadth import Breadth
from blackboard.projections.certificates import Basis, Certificates, SavedCertificates
from blackboard.projections.evolve import settle
from blackboard.projections.ledger import Entry, Ledger
from blackboard.projections.standing import Demotion
from blackboard.records import NEWEST, AnyRecord, Records, Unevaluable, read_record, record_bytes

FINGERPRINT = f"projections/4-{sys.byteorder}"
"""Raise it with every change of a fold or of the shapes below: older snapshots are then discarded.

Columns of numbers are saved as they lie in memory, so the order of bytes is part of it.
"""

_SLICE = 4096
_RECORDS = 256
_LENGTH = 4


class _Agent(Struct, array_like=True):
    id: str
    joined: bool
    demotion: Demotion
    breadth: Breadth
    counts: Counts
    recent: list[int]
    citations: list[tuple[int, int]]
    confidence: list[tuple[str, float, int]]
    habits: list[tuple[str, int]]
    proposals: list[tuple[str, int]]
    refusals: list[tuple[str, int]]
    refused: list[Refused]
    signals: list[tuple[str, int]]
    raised: list[Raised]
    base: int
    drops: list[tuple[int, int]]
    reads: list[tuple[str, int]]
    writes: list[tuple[str, int]]
    starts: list[str]
    marks: list[int]
    delivered: bytes
    held_base: int
    survivors: list[int]
    view_version: int
    gate_version: int
    verdicts: list[tuple[str, int]]
    checked: list[Checked]


class _Header(Struct, array_like=True):
    # A proposal is JSON here: its values are, and would not be read as msgpack.
    name: str
    head: int
    opened_at: int
    format: int
    policy: Policy
    mode: Mode
    coordinator: str | None
    notables: list[tuple[str, Notable]]
    moves: list[Move]
    proposals: list[tuple[str, bytes]]
    closed: list[tuple[str, Literal["accepted", "refused"], int]]
    written: bytes
    recorded: bytes
    clocks: list[tuple[str, int]]
    unseen_since: int
    records: int
    agents: int
    bases: int


class _Records(Struct, array_like=True):
    # JSON, since their numbers are exact. Which ones nobody could evaluate where they were added is no
    # question of what this release could: it stays as it was.
    texts: list[bytes]
    unevaluable: list[int]


_NOTHING: dict[str, int] = {}
"""What is known of a record that is unevaluable."""


class Captured(Struct):
    """A board at one moment: copies of maps and of columns of numbers, not of what the maps hold.

    Taking it is one copy of memory for each map and column; no record and no entry is looked at.
    """

    header: _Header
    records: list[AnyRecord]
    certificates: SavedCertificates
    bases: list[Basis]
    agents: list[_Agent]
    entries: list[Entry]


def capture(board: Board) -> Captured:
    """Copy a committed board. Settles what a command without a turn number left open."""
    settle(board)
    return Captured(
        _header(board),
        [*board.records.items],
        board.certificates.saved(),
        board.certificates.bases(),
        [_agent(agent) for agent in board.agents.values()],
        [*board.ledger.entries.values()],
    )


def encode(captured: Captured) -> Iterator[bytes]:
    """The snapshot in slices, each small enough to make between two turns of an event loop."""
    encoder = msgspec.msgpack.Encoder(order="deterministic")
    yield _framed(encoder.encode(captured.header))
    for at in range(0, len(captured.records), _RECORDS):
        yield _framed(encoder.encode(_slice_of(captured.records[at : at + _RECORDS])))
    yield _framed(encoder.encode(captured.certificates))
    for at in range(0, len(captured.bases), _SLICE):
        yield _framed(encoder.encode(captured.bases[at : at + _SLICE]))
    for agent in captured.agents:
        yield _framed(encoder.encode(agent))
    for at in range(0, len(captured.entries), _SLICE):
        yield _framed(encoder.encode(captured.entries[at : at + _SLICE]))


def _slice_of(records: list[AnyRecord]) -> _Records:
    unevaluable = [place for place, record in enumerate(records) if isinstance(record, Unevaluable)]
    return _Records([*map(record_bytes, records)], unevaluable)


def decode(data: bytes) -> Board:
    """The board that a snapshot holds. Raises `IntegrityFailure` for bytes that are none."""
    try:
        frames = _frames(data)
        header = msgspec.msgpack.decode(next(frames), type=_Header)
        records = _records(frames, header)
        certificates = _certificates(frames, header)
        agents = [msgspec.msgpack.decode(next(frames), type=_Agent) for _ in range(header.agents)]
        board = _board(header, records, agents, _entries(frames))
    except (msgspec.MsgspecError, Malformed, LookupError, ValueError, StopIteration) as error:
        raise IntegrityFailure("a snapshot does not decode; it is discarded and the log replayed") from error
    board.certificates = certificates
    return board


def _records(frames: Iterator[memoryview], header: _Header) -> Records:
    records = Records()
    slices = msgspec.msgpack.Decoder(_Records)
    while len(records) < header.records:
        found = slices.decode(next(frames))
        opaque = set(found.unevaluable)
        for place, text in enumerate(found.texts):
            known = _NOTHING if place in opaque else NEWEST
            records.add(read_record(canonical.parse_exact(text), known=known))
    records.clocks = dict(header.clocks)
    return records


def _certificates(frames: Iterator[memoryview], header: _Header) -> Certificates:
    columns = msgspec.msgpack.decode(next(frames), type=SavedCertificates)
    slices, bases = msgspec.msgpack.Decoder(list[Basis]), list[Basis]()
    while len(bases) < header.bases:
        bases += slices.decode(next(frames))
    return Certificates.of(columns, bases)


def _entries(frames: Iterator[memoryview]) -> dict[str, Entry]:
    slices = msgspec.msgpack.Decoder(list[Entry])
    entries: dict[str, Entry] = {}
    writers: dict[str, str] = {}
    for frame in frames:
        for entry in slices.decode(frame):
            entries[entry.key] = entry
            # One object for what a fold would have had one of: at a million entries it is 200 bytes each.
            force_setattr(entry, "writer", writers.setdefault(entry.writer, entry.writer))
            if entry.born == entry.seq:
                force_setattr(entry, "born", entry.seq)
    return entries


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH, "big") + data


def _frames(data: bytes) -> Iterator[memoryview]:
    view, at = memoryview(data), 0
    while at < len(view):
        size = int.from_bytes(view[at : at + _LENGTH], "big")
        at += _LENGTH
        yield view[at : at + size]
        at += size


def _header(board: Board) -> _Header:
    return _Header(
        board.name,
        board.head,
        board.opened_at,
        board.format,
        board.policy,
        board.mode,
        board.coordinator,
        list(board.notables.items()),
        list(board.moves),
        [(name, msgspec.json.encode(proposal)) for name, proposal in board.proposals.items()],
        [(proposal, decision, seq) for proposal, (decision, seq) in board.closed.items()],
        board.ledger.written,
        board.recorded,
        sorted(board.records.clocks.items()),
        board.unseen_since,
        len(board.records),
        len(board.agents),
        len(board.certificates.bases()),
    )


def _agent(agent: AgentState) -> _Agent:
    view = agent.view
    breadth = msgspec.structs.replace(
        agent.breadth,
        keys=set(agent.breadth.keys),
        loose=set(agent.breadth.loose),
        sizes=list(agent.breadth.sizes),
        seqs=list(agent.breadth.seqs),
    )
    return _Agent(
        agent.id,
        agent.joined,
        msgspec.structs.replace(agent.demotion),
        breadth,
        msgspec.structs.replace(agent.counts),
        list(agent.recent),
        list(agent.citations),
        [(key, value, seq) for key, (value, seq) in agent.confidence.items()],
        list(agent.habits.items()),
        list(agent.proposals.items()),
        list(agent.refusals.items()),
        list(agent.refused),
        list(agent.signals.items()),
        list(agent.raised),
        view.base,
        list(view.drops),
        list(view.reads.items()),
        list(view.writes.items()),
        list(view.starts),
        list(view.marks),
        agent.holding.deliveries(),
        agent.holding.base,
        sorted(agent.holding.survivors),
        agent.view_version,
        agent.gate_version,
        list(agent.verdicts.items()),
        list(agent.checked),
    )


def _board(header: _Header, records: Records, agents: list[_Agent], entries: dict[str, Entry]) -> Board:
    board = Board()
    board.name, board.head, board.opened_at = header.name, header.head, header.opened_at
    board.format = header.format
    board.set_policy(header.policy)
    board.mode, board.coordinator = header.mode, header.coordinator
    board.ledger = Ledger(entries, header.written)
    board.notables = dict(header.notables)
    board.moves = deque(header.moves, maxlen=MOVES_REMEMBERED)
    board.proposals = {
        name: msgspec.json.decode(proposal, type=OpenProposal) for name, proposal in header.proposals
    }
    board.closed = {proposal: (decision, seq) for proposal, decision, seq in header.closed}
    board.records, board.recorded = records, header.recorded
    board.unseen_since = header.unseen_since
    board.agents = {saved.id: _restore_agent(saved, records, entries) for saved in agents}
    board.demoted = {name: agent for name, agent in board.agents.items() if agent.demotion.stands}
    return board


def _restore_agent(saved: _Agent, records: Records, entries: dict[str, Entry]) -> AgentState:
    agent = AgentState(saved.id)
    agent.joined, agent.demotion, agent.breadth, agent.counts = (
        saved.joined,
        saved.demotion,
        saved.breadth,
        saved.counts,
    )
    agent.recent.extend(saved.recent)
    agent.citations.extend(saved.citations)
    agent.confidence = {_same(entries, key): (value, seq) for key, value, seq in saved.confidence}
    agent.habits = {_same(entries, key): habit for key, habit in saved.habits}
    agent.proposals = dict(saved.proposals)
    agent.refusals, agent.signals = dict(saved.refusals), dict(saved.signals)
    agent.refused.extend(saved.refused)
    agent.raised.extend(saved.raised)
    view = agent.view
    view.base, view.drops = saved.base, saved.drops
    view.reads = {_same(entries, key): seq for key, seq in saved.reads}
    view.writes = dict(_same_write(entries, key, seq) for key, seq in saved.writes)
    view.starts, view.marks = saved.starts, saved.marks
    agent.holding.restore(records, saved.delivered, base=saved.held_base, survivors=saved.survivors)
    agent.view_version, agent.gate_version = saved.view_version, saved.gate_version
    agent.verdicts = dict(saved.verdicts)
    agent.checked.extend(saved.checked)
    return agent


def _same(entries: dict[str, Entry], key: str) -> str:
    entry = entries.get(key)
    return key if entry is None else entry.key


def _same_write(entries: dict[str, Entry], key: str, seq: int) -> tuple[str, int]:
    entry = entries[key]  # who wrote a key left an entry
    return entry.key, entry.seq if entry.seq == seq else seq
