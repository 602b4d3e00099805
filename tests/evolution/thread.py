"""One thread of work on a board of format 2, with all that has a second version since."""

from __future__ import annotations

from typing import Any

from tests.pure.driver import World
from tests.pure.records import amount_over, approval, chatter, fact, policy


def worked(world: World) -> World:
    """Two agents write, speak, are compacted and checked; refunds are asked for, approved and refused."""
    ann, bob = world.agent("ann", records=["chatter", "fact:*"]), world.agent("bob")
    ops = world.operator
    ops.adds(policy("cap", amount_over(5), "require_approval"))
    ops.adds(fact("tier", "tier", "gold"))
    ann.writes("task/A", 1, {"status": "failed"}, confidence=0.5)
    ann.says("A failed, see entry:4")
    bob.reads("task/A")
    bob.says("the tasks are done")
    call: dict[str, Any] = {"amount": 9}
    ops.adds(approval("cap", "yes", params=call))
    ann.reads_records()
    ann.checks("t", call)
    ann.certifies("t")
    ann.adds(chatter("see cap"))
    ops.adds(approval("cap", "no", params=call, granted=False, supersedes="yes"))
    ann.compacts(cause="summary", kept=["cap", "yes"], tokens_before=9_000, tokens_after=800)
    ann.checks("t", call)
    ann.certifies("t")
    bob.compacts(base_seq=3, cause="clear")
    ops.reports_compaction("ann", "bob", tokens_after=7)
    bob.reads_all()
    bob.writes("task/A", 2, {"status": "complete"}, turn=4)
    world.check()
    return world
