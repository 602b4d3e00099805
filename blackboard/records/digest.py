"""The digest that names one action: what approvals are given for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard import canonical

_TAG = b"blackboard/action/1\0"


def action_digest(tool: str, params: Mapping[str, Any]) -> str:
    """Return the hex SHA-256 of a call: equal for equal parameters, however their numbers are written.

    `params` are JSON values; a float counts as the decimal that it is written as.
    """
    action = {"params": canonical.exactly(dict(params)), "tool": tool}
    return canonical.digest(_TAG, canonical.normal(action).encode()).hex()
