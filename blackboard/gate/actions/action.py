"""The action that is judged: a tool and its parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

from blackboard.records.digest import action_digest
from blackboard.records.faults import Path, fault, read_name, read_object, refuse_others
from blackboard.records.scope import read_tool


class Action(NamedTuple):
    """`params` maps names to exact JSON values (int, Decimal, str, bool, None, lists, objects)."""

    tool: str
    params: dict[str, Any]

    @property
    def digest(self) -> str:
        """Hex SHA-256 that approvals name: equal for equal parameters, however their numbers are written."""
        return action_digest(self.tool, self.params)


def read_action(value: object, path: Path = ()) -> Action:
    """Return the action that a JSON value (exact numbers) writes down: `{"tool", "params"?}`.

    Raises `Malformed`, naming the place.
    """
    members = read_object(value, path)
    refuse_others(members, {"tool", "params"}, path)
    if "tool" not in members:
        raise fault((*path, "tool"), "is required")
    tool = read_tool(members["tool"], (*path, "tool"))
    params = read_object(members.get("params", {}), (*path, "params"))
    for name in params:
        read_name(name, (*path, "params", name))
    return Action(tool, params)
