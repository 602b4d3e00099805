"""A guard in front of a callable: it runs where the action gate passes and the rules permit, else never."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blackboard.client.portal import Portal, run
from blackboard.errors import ActionBlocked, Malformed
from blackboard.messages.verdicts import CheckReply
from blackboard.records.verdict import PERMITTING

if TYPE_CHECKING:
    from blackboard.client.actions import ActionGate

__all__ = ["Guard", "SyncGuard"]


class Guard:
    """`await guarded(fn, **params)` checks the call of `tool` with `params`, then calls `fn(**params)`.

    Made by `Board.guard`. The parameters that were checked are those that `fn` gets: a copy, which nobody
    changes between the two.
    """

    def __init__(self, board: ActionGate, tool: str, *, allow_unevaluable: bool = False) -> None:
        self._board = board
        self._tool = tool
        self._allow_unevaluable = allow_unevaluable

    async def check(self, params: dict[str, Any]) -> CheckReply:
        """Return the verdict on a call that may run; raises `ActionBlocked` for every other one."""
        verdict = await self._board.check(self._tool, params, allow_unevaluable=self._allow_unevaluable)
        require_permission(self._tool, verdict)
        return verdict

    async def __call__(self, fn: Callable[..., Any], /, **params: Any) -> Any:
        """Return what `fn(**params)` does, awaited where it is awaitable.

        Raises `ActionBlocked`, and `fn` is not called, unless the verdict is PASS and the rules permit the
        call; what `fn` raises.
        """
        params = own(params)
        await self.check(params)
        result = fn(**params)
        return await result if inspect.isawaitable(result) else result


class SyncGuard:
    """The same for code without an event loop: `fn` runs in the caller's thread."""

    def __init__(self, guard: Guard, portal: Portal) -> None:
        self._guard = guard
        self._portal = portal

    def __call__(self, fn: Callable[..., Any], /, **params: Any) -> Any:
        """Return what `fn(**params)` does; raises `ActionBlocked` as `Guard` does.

        Raises `Malformed` for a coroutine function.
        """
        params = own(params)
        if inspect.iscoroutinefunction(fn):
            raise Malformed("fn is a coroutine function, which nobody would await here", member="fn")
        run(self._portal, self._guard.check(params))
        return fn(**params)


def own(params: dict[str, Any]) -> dict[str, Any]:
    """A copy of the parameters down to the last list, so that what was judged is what runs."""
    try:
        return copy.deepcopy(params)
    except (TypeError, RecursionError):
        return params  # what cannot be copied is no JSON, and the check refuses it


def require_permission(tool: str, reply: CheckReply) -> None:
    """Raise `ActionBlocked` unless the verdict is PASS and the rules permit the action."""
    answer = reply.policy.answer
    if reply.verdict == "PASS" and answer in PERMITTING:
        return
    if reply.verdict != "PASS":
        told = "; ".join(f"{reason.code}: {reason.detail}" for reason in reply.reasons)
        again = sorted({name for reason in reply.reasons for name in (*reason.reread, *reason.keys)})
        then = f"; read again: {', '.join(again)}" if again else ""
        detail = f"{tool} was not run: {reply.verdict} ({told}){then}"
    else:
        rules = f" ({', '.join(reply.policy.rules)})" if reply.policy.rules else ""
        detail = f"{tool} was not run: nothing is lost, and the rules say {answer}{rules}"
    members = {"verdict": reply.verdict, "reasons": reply.reasons, "policy": reply.policy}
    raise ActionBlocked(detail, members=members, reply=reply)
