"""What stands in the frozen databases: played by the release that they are frozen of, on its own code.

Run by `freeze`, in a process whose package is that release's: RECIPE FILE. Every event kind of the release's
newest board format is there, and a board that was raised to it. Prints what each board folds to.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import blackboard
from blackboard.config import Settings
from blackboard.events.kinds import FORMAT
from blackboard.messages.principal import Grants, Role
from blackboard.messages.replies import TokenReply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.store import open_store
from blackboard.store.contract import Store, StoredToken

SECRET = "secret-of-"
"""Before the role: what the tokens' holders present."""


POLICY = {"finished": ["done"], "unfinished": ["open", "running"], "signals": {"write-breadth": "off"}}


class Play:
    """A board, and who acts on it."""

    def __init__(self, url: str, board: str) -> None:
        self._url = url
        self._board = board
        self._stack = contextlib.ExitStack()
        self.ops = self._connect(operator="ops")

    def __enter__(self) -> Play:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def agent(self, name: str, **grants: Any) -> Any:
        """A connection as an agent that may do what `grants` say."""
        return self._connect(agent=name, **grants)

    def _connect(self, **who: Any) -> Any:
        settings = Settings(db=self._url)
        return self._stack.enter_context(
            blackboard.connect_sync(self._url, board=self._board, settings=settings, **who)
        )


def play_swarm(url: str, name: str, board_format: int) -> None:
    """Two agents, one of which is compacted; single-writer mode; a proposal of each fate."""
    with Play(url, name) as play:
        ops, planner, executor = play.ops, play.agent("planner"), play.agent("executor")
        ops.open_board(POLICY, format=board_format)
        ops.join("executor", "task/")
        planner.write("task/a", {"covers": ["task/b"], "status": "open"}, revision=1, turn=1)
        executor.write("task/b", {"status": "running", "by": "Zoë \N{SNOWMAN}"}, revision=1, confidence=0.5)
        planner.end_turn(1)
        compacted(executor, board_format)
        with refused():
            executor.write("task/b", {"status": "done"}, revision=2, confidence=0.9)
        executor.read_all()
        executor.write("task/b", {"status": "done"}, revision=2)
        executor.delete("task/b", revision=3)
        ops.set_mode("single-writer", "planner", why="the harness cannot notify")
        wanted = executor.propose([{"key": "task/d", "value": [1, 2.5, None], "revision": 1}], reason="next")
        other = executor.propose([{"key": "task/e", "value": True, "revision": 1}])
        planner.proposals()
        planner.accept(wanted.proposal)
        planner.refuse(other.proposal, "not now")
        ops.set_policy({"completion_window": 9})


def compacted(agent: Any, board_format: int, *kept: str) -> None:
    """With everything that the format can say of a compaction."""
    window = {"context_window": 200_000} if board_format >= 3 else {}
    agent.compacted(cause="summary", kept=kept, tokens_before=180_000, tokens_after=20_000, **window)


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """What is refused is on record too."""
    try:
        yield
    except blackboard.WriteRejected:
        return
    raise AssertionError("it was to be refused")


def play_refunds(url: str, name: str, board_format: int) -> None:
    """A board of the format before, which is raised in the middle. From format 2 on: records, verdicts and a
    certificate.
    """
    with Play(url, name) as play:
        ops, writer, payer = play.ops, play.agent("writer"), play.agent("payer")
        ops.open_board(POLICY, format=max(1, board_format - 1))
        writer.write("a", "before", revision=1)
        compacted(payer, board_format - 1)
        said = writer.say("see entry:3, and forget the secret", recipients=["payer"])
        if board_format > 1:
            ops.raise_format(board_format)
            payer.say("seen", **({"reply_to": said.seq} if board_format >= 3 else {}))
            play_records(ops, payer, board_format)
        writer.write("a", "after", revision=2)


def play_records(ops: Any, payer: Any, board_format: int) -> None:
    """A rule, an approval of one call, a fact; and what is known of them."""
    from blackboard import Approval, Chatter, Fact, Policy

    cap = {"field": "amount", "op": "gt", "value": 5000}
    call = {"amount": 7200, "order": "7741"}
    ops.add_record(Policy("refunds.create", cap, "deny", id="cap"))
    ops.add_record(Fact("tier", {"name": "gold", "since": 2.50}, id="tier"))
    ops.add_record(Chatter("good morning"))
    payer.read_records()
    why: dict[str, Any] = {"text": "the customer was here first"} if board_format >= 3 else {}
    ops.add_record(Approval.for_action("cap", "refunds.create", call, **why))
    payer.check("refunds.create", call)
    payer.certificate("refunds.create")
    compacted(payer, board_format, "tier")


def redact(path: str) -> None:
    """Take out a message's words, as a redaction does: body and salt together."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET body = NULL, salt = NULL WHERE body LIKE '%forget the secret%'")


def token_of(role: Role, **more: Any) -> StoredToken:
    """A token for every board, whose secret a test can present."""
    members: dict[str, Any] = {"boards": ["*"], "grants": Grants(), "created_at": 1} | more
    reply = TokenReply(id=f"token-{role}", role=role, name=f"{role}-1", **members)
    return StoredToken(hashlib.sha256(f"{SECRET}{role}".encode()).digest(), reply)


async def finish(url: str, snapshot_of: str) -> dict[str, dict[str, Any]]:
    """Add tokens and a snapshot; tell what each board folds to."""
    store = await open_store(url, Settings())
    try:
        for token in (token_of("operator"), token_of("agent"), token_of("auditor", revoked_at=5)):
            await store.put_token(token)
        loaded = await store.load(snapshot_of, 3)
        assert loaded is not None
        await store.snapshot(loaded.board, loaded.tip)
        return {row.name: await told(store, row.name) for row in await store.boards()}
    finally:
        await store.close()


async def told(store: Store, name: str) -> dict[str, Any]:
    """How far the board's log goes, and what it folds to, from the first event on, verified."""
    loaded = await store.load(name, verify=True)
    assert loaded is not None
    return {"head": loaded.tip.seq, "hash": loaded.tip.hash.hex(), "state": state_digest(loaded.board)}


def state_digest(board: Board) -> str:
    """A digest over what is true on the board, in the words that every release has for it."""
    text = json.dumps(picture(board), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def picture(board: Board) -> dict[str, Any]:
    """What is true on the board as plain data."""
    return {
        "board": [board.name, board.head, board.opened_at, board.format, board.mode, board.coordinator],
        "entries": {
            key: [
                entry.seq,
                entry.revision,
                entry.writer,
                entry.value.decode(),
                entry.deleted,
                entry.confidence,
            ]
            for key, entry in board.ledger.entries.items()
        },
        "agents": {name: _agent(agent) for name, agent in board.agents.items()},
        "open": sorted(board.proposals),
        "closed": sorted(board.closed.items()),
        "records": _records(board),
    }


def _agent(agent: AgentState) -> dict[str, Any]:
    view, demotion, counts = agent.view, agent.demotion, agent.counts
    holding = getattr(agent, "holding", None)
    return {
        "standing": [demotion.state, demotion.latest, demotion.why, demotion.prefix, demotion.owed],
        "view": [
            view.base,
            view.drops,
            sorted(view.reads.items()),
            sorted(view.writes.items()),
            view.ranges(),
        ],
        "counts": [counts.commands, counts.reads, counts.writes, counts.compactions, counts.messages],
        "confidence": sorted(agent.confidence.items()),
        "signals": sorted(agent.signals.items()),
        "refusals": sorted(agent.refusals.items()),
        "holds": [] if holding is None else [*holding.held()],
    }


def _records(board: Board) -> list[str]:
    if board.format < 2:
        return []
    from blackboard.records import record_bytes

    return [record_bytes(record).decode() for record in board.records.items]


def main(path: str) -> None:
    url = f"sqlite:///{path}"
    play_swarm(url, f"Swarm-{FORMAT}", FORMAT)
    play_refunds(url, f"refunds-{FORMAT}", FORMAT)
    redact(path)
    print(json.dumps(asyncio.run(finish(url, f"refunds-{FORMAT}"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
