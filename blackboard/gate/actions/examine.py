"""One file, answered: every action against the one compaction, or every call of the tools (precheck).

Nothing is done twice: the records are indexed once, and what rules leave of a tool's parameters is worked
out once for all actions on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blackboard.errors import BlackboardError, Malformed
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.domain import Tool
from blackboard.gate.actions.file import FileCase, read_file
from blackboard.gate.actions.judging import judge
from blackboard.gate.actions.keep import Keep, must_keep, repair
from blackboard.gate.actions.precheck import precheck
from blackboard.gate.actions.report import BLOCK_EXIT, ERROR_EXIT, PASS_EXIT, Error, Section
from blackboard.gate.actions.retention import Compaction, Scheme, compact
from blackboard.gate.actions.world import World
from blackboard.records.faults import fault
from blackboard.records.verdict import PERMITTING, VerdictWord


class Options(NamedTuple):
    """How files are judged. `tools` are names asked about by hand, `catalog` tools from elsewhere; both go
    before what a file says, as `k` does.
    """

    retention: Scheme = "given"
    k: int | None = None
    precheck: bool = False
    tools: tuple[str, ...] | None = None
    catalog: tuple[Tool, ...] | None = None
    allow_unevaluable: bool = False
    enforce: bool = False


def examine(raw: bytes, options: Options) -> list[Section]:
    """Answer one file; whatever is wrong with it is a section with the verdict ERROR."""
    try:
        case = read_file(raw, actions=not options.precheck)
        compaction = compact(case, options.retention, options.k)
        if options.precheck:
            return [_prechecked(case, compaction, options)]
        return _judged(case, compaction, options)
    except BlackboardError as error:
        return [failed(Error.of(error))]


def to_keep(
    raw: bytes,
    *,
    names: Sequence[str] | None = None,
    catalog: Sequence[Tool] | None = None,
    repaired: bool = False,
) -> Keep:
    """Return what a compaction of the file's agent has to keep: the least, or the file's `kept` `repaired`.

    The compaction is yet to come: the agent holds all that it was delivered. Raises as `read_file` does.
    """
    case = read_file(raw, actions=False)
    tools = chosen_tools(case, names, catalog)
    world = case.world(case.shown)
    return repair(world, compact(case).kept, tools) if repaired else must_keep(world, tools)


def failed(error: Error) -> Section:
    """The section of what cannot be judged."""
    return Section("ERROR", ERROR_EXIT, error=error)


def chosen_tools(
    case: FileCase, names: Sequence[str] | None, catalog: Sequence[Tool] | None
) -> tuple[Tool, ...]:
    """The tools that are asked about: those named, else the file's, else all of the catalog.

    Raises `Malformed` where there is none, or where a catalog does not know one.
    """
    known = known_tools(case, catalog)
    if names is not None:
        return tuple(_known(name, known) for name in names)
    if case.tools is not None and catalog is not None:
        return tuple(_known(tool.name, known, at) for at, tool in enumerate(case.tools))
    found = case.tools if case.tools is not None else catalog
    if not found:
        raise fault(("tools",), "is required: the tools to ask about (or name them with --tools)")
    return tuple(found)


def known_tools(case: FileCase, catalog: Sequence[Tool] | None) -> dict[str, Tool] | None:
    """The catalog by name; None where there is none, and every tool may be called."""
    found = catalog if catalog is not None else case.tools or ()
    if catalog is None and all(tool.domain is None for tool in found):
        return None
    return {tool.name: tool for tool in found}


def _known(name: str, known: dict[str, Tool] | None, at: int | None = None) -> Tool:
    if known is None:
        return Tool(name, None)
    if name not in known:
        place = ("tools",) if at is None else ("tools", at)
        raise fault(place, f"the catalog has no tool {name!r}")
    return known[name]


# ---- every call


def _prechecked(case: FileCase, compaction: Compaction, options: Options) -> Section:
    tools = chosen_tools(case, options.tools, options.catalog)
    world = case.world(compaction.kept)
    found = precheck(world, tools, allow_unevaluable=options.allow_unevaluable)
    return Section(
        found.verdict,
        _exit(found.verdict),
        name=case.name,
        compaction=compaction,
        tools=tuple(tool.name for tool in tools),
        reasons=found.reasons,
        notes=found.notes,
    )


# ---- action by action


def _judged(case: FileCase, compaction: Compaction, options: Options) -> list[Section]:
    known = known_tools(case, options.catalog)
    world = case.world(compaction.kept)
    compiled: dict[str, Compiled] = {}
    sections = []
    for at, action in enumerate(case.actions):
        place = (at + 1, len(case.actions)) if len(case.actions) > 1 else None
        try:
            if known is not None:
                _check(action, known, ("actions", at) if place else ("action",))
            section = _answer(world, compiled, action, options)
        except Malformed as error:
            section = failed(Error.of(error))
        sections.append(section._replace(name=case.name, place=place, compaction=compaction, action=action))
    return sections


def _check(action: Action, known: dict[str, Tool], path: tuple[str | int, ...]) -> None:
    tool = known.get(action.tool)
    if tool is None:
        raise fault((*path, "tool"), f"the catalog has no tool {action.tool!r}")
    if tool.domain is not None:
        tool.domain.check(action.params, (*path, "params"))


def _answer(world: World, compiled: dict[str, Compiled], action: Action, options: Options) -> Section:
    if action.tool not in compiled:
        compiled[action.tool] = compile_tool(world, action.tool)
    found = judge(compiled[action.tool], action, allow_unevaluable=options.allow_unevaluable)
    code = _exit(found.word)
    if options.enforce and found.policy.answer not in PERMITTING:
        code = BLOCK_EXIT
    return Section(found.word, code, reasons=found.reasons, notes=found.notes(), policy=found.policy)


def _exit(verdict: VerdictWord) -> int:
    return PASS_EXIT if verdict == "PASS" else BLOCK_EXIT
