"""Which tools a rule is for: names, `ns.*` (what lies under `ns`, not `ns` itself) and `*` (every tool)."""

from __future__ import annotations

from blackboard.records.faults import Path, fault, read_name

EVERY = "*"


def read_scope(value: object, path: Path) -> tuple[str, ...]:
    """Return the patterns of a scope, sorted and each once.

    Raises `Malformed` for what is no pattern, and for an empty list: it would match nothing.
    """
    if type(value) is not list:
        return (read_pattern(value, path),)
    if not value:
        raise fault(path, "an empty scope covers no tool; name one, or `*` for every tool")
    return tuple(sorted({read_pattern(item, (*path, at)) for at, item in enumerate(value)}))


def read_pattern(value: object, path: Path) -> str:
    """Return one pattern: a tool's name, `ns.*` or `*`."""
    pattern = read_name(value, path)
    if "*" in pattern.removesuffix(".*") and pattern != EVERY:
        raise fault(path, "an asterisk stands alone or ends a namespace, as in `refunds.*`", value=pattern)
    if pattern == ".*":
        raise fault(path, "a namespace comes before `.*`, as in `refunds.*`", value=pattern)
    return pattern


def read_tool(value: object, path: Path) -> str:
    """Return the name of one tool: no pattern."""
    tool = read_name(value, path)
    if "*" in tool:
        raise fault(path, "a tool's name holds no asterisk; a pattern is for scopes", value=tool)
    return tool


def patterns_of(tool: str) -> tuple[str, ...]:
    """Every pattern that covers the tool: `a.b.c` is covered by itself, `a.b.*`, `a.*` and `*`."""
    found = [tool]
    end = tool.rfind(".")
    while end > 0:
        found.append(tool[:end] + ".*")
        end = tool.rfind(".", 0, end)
    return (*found, EVERY)
