"""Plays one write case through the client and checks its expectations as they are written.

The format of a case is told in `cases/README.md`.
"""

from __future__ import annotations

from typing import Any

from blackboard.client import Board
from blackboard.errors import BlackboardError, Malformed, WriteRejected
from blackboard.gate.writes import CODES
from tests.client.drive import Place


class Scenario:
    """One case on one fresh board: its agents, its proposals, and the head after each step."""

    def __init__(self, place: Place, case: dict[str, Any]) -> None:
        self._place = place
        self._case = case
        self._agents: dict[str, Board] = {}
        self._proposals: dict[str, str] = {}
        self._heads: list[int] = []

    async def play(self) -> None:
        """Open the board, play every step, compare the ledger."""
        self._operator = await self._place.operator()
        await self._operator.open_board(self._case.get("policy"))
        for number, step in enumerate(self._case["steps"]):
            found = await self._step(step)
            self._heads.append(found.pop("head"))
            wanted = step.get("expect", {})
            assert {name: found.get(name) for name in wanted} == wanted, f"step {number}: {step}"
        await self._check_ledger()

    async def _step(self, step: dict[str, Any]) -> dict[str, Any]:
        actor = self._operator if step.get("operator") else await self._agent(step["agent"])
        try:
            return told(await self._do(actor, step))
        except BlackboardError as error:
            if not isinstance(error, (WriteRejected, Malformed)):
                raise
            return refused(error)

    async def _agent(self, name: str) -> Board:
        if name not in self._agents:
            self._agents[name] = await self._place.agent(name)
        return self._agents[name]

    async def _do(self, board: Board, step: dict[str, Any]) -> Any:
        match step["do"]:
            case "read":
                return await board.read_many(step["keys"])
            case "read_all":
                return await board.read_all()
            case "write":
                return await board.write_many(step["writes"], turn=step.get("turn"))
            case "compacted":
                return await self._compacted(board, step)
            case "say":
                return await board.say(step["text"])
            case "propose":
                reply = await board.propose(step["writes"])
                self._proposals[step["as"]] = reply.proposal
                return reply
            case "accept":
                await board.proposals()
                return await board.accept(self._proposals[step["proposal"]], step.get("restate", False))
            case "refuse":
                return await board.refuse(self._proposals[step["proposal"]], step.get("reason", ""))
            case "mode":
                return await board.set_mode(step["mode"], step.get("coordinator"))
            case unknown:
                raise AssertionError(f"no such step: {unknown}")

    async def _compacted(self, board: Board, step: dict[str, Any]) -> Any:
        base = step.get("base_seq")
        if "base_step" in step:
            base = self._heads[step["base_step"]]
        return await board.compacted(
            cause=step.get("cause", "unknown"),
            kept=step.get("kept"),
            base_seq=base,
            agents=step.get("agents"),
        )

    async def _check_ledger(self) -> None:
        ledger = await (await self._place.auditor()).ledger()
        entries = {entry.key: entry for entry in ledger.entries}
        for key, wanted in self._case["expect_ledger"].items():
            assert {name: getattr(entries[key], name) for name in wanted} == wanted, key


def told(reply: Any) -> dict[str, Any]:
    """What a reply says, in the words of the cases."""
    found = {"signals": [signal.name for signal in reply.signals], "head": reply.head}
    match type(reply).__name__:
        case "Ack":
            found["outcome"] = "replayed" if reply.replayed else "accepted"
            found["superseded"] = reply.superseded_by is not None
        case "ProposeReply":
            found["outcome"] = "proposed"
        case "Done":
            found["outcome"] = "refused"
        case "CompactReply":
            found["unknown_kept"] = reply.unknown_kept
    return found


def refused(error: BlackboardError) -> dict[str, Any]:
    """What a refusal says, in the words of the cases."""
    rules = error.rules if isinstance(error, WriteRejected) else ()
    return {
        "outcome": "rejected" if isinstance(error, WriteRejected) else "malformed",
        "code": error.code,
        "rules": in_table_order({rule.code for rule in rules}),
        "signals": [signal.name for signal in error.signals],
        "head": error.head,
    }


def in_table_order(codes: set[str]) -> list[str]:
    """The distinct codes in the order of the table of rules."""
    assert codes <= set(CODES)
    return [code for code in CODES if code in codes]
