"""What is documented exists, and what exists is documented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
import pytest

from blackboard import config
from blackboard.cli import app
from blackboard.cli.options import PLACE
from blackboard.config import Settings
from blackboard.errors import ERRORS_BY_CODE, BlackboardError
from blackboard.events.kinds import KINDS
from blackboard.events.policy import SIGNAL_DEFAULTS, Policy
from blackboard.events.vocabulary import VOCABULARY
from blackboard.gate.actions.retention import SCHEMES
from blackboard.gate.actions.verifying import load_certificate, verify_certificate
from blackboard.gate.signals import SIGNALS
from blackboard.gate.writes import CODES
from blackboard.messages.operations import OPERATIONS
from blackboard.messages.principal import OPAQUE
from blackboard.messages.replies import EventView, Reply
from blackboard.records.atoms import Op
from blackboard.records.kinds import EVALUABLE, RECORD_KINDS, Fact, Record
from blackboard.records.predicate import Source
from blackboard.records.verdict import AnswerWord
from tests.docs.pages import PAGES
from tests.docs.tables import names, rows, sections

DOCS = Path(__file__).resolve().parents[2] / "docs"
ACTING = {"board", "agent", "operator", "auditor"}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# -- errors


def test_every_error_is_documented_with_its_class_status_and_exit_code() -> None:
    told = [cells for cells in rows(page("reference/errors.md")) if len(cells) == 5 and cells[0] != "code"]
    assert [[cell.strip("`") for cell in cells[:4]] for cells in told] == [
        [code, error.__name__, str(error.status), str(error.exit_code)]
        for code, error in _in_tree_order(told)
    ]
    assert {cells[0].strip("`") for cells in told} == set(ERRORS_BY_CODE)


def _in_tree_order(told: list[list[str]]) -> list[tuple[str, type[BlackboardError]]]:
    return [(code, ERRORS_BY_CODE[code]) for cells in told if (code := cells[0].strip("`")) in ERRORS_BY_CODE]


def test_the_rules_are_documented_in_their_order() -> None:
    told = [cells[0].strip("`") for cells in rows(sections(page("concepts.md"))["The rules"])][1:]
    assert told == list(CODES)


# -- events


def test_every_kind_of_event_is_documented_member_by_member() -> None:
    told = sections(page("reference/events.md"))
    assert set(told) - {"Formats"} == {kind for kind, _ in KINDS}
    for (kind, _), body in KINDS.items():
        members = [name for cells in rows(told[kind]) for name in names(cells[0])]
        assert set(members) == set(body.__struct_fields__), kind


def test_every_format_is_documented_with_what_it_writes() -> None:
    told = {cells[0]: cells[2] for cells in rows(sections(page("reference/events.md"))["Formats"])[1:]}
    assert list(told) == [str(board_format) for board_format in VOCABULARY]
    for board_format, written in VOCABULARY.items():
        second = {kind for kind, version in written.items() if version == 2}
        second |= {kind for kind, version in EVALUABLE[board_format].items() if version == 2}
        unwritten = {kind for kind, _ in KINDS} - set(written)
        assert set(names(told[str(board_format)])) == second | unwritten


def test_every_member_of_an_event_is_documented() -> None:
    envelope = page("reference/events.md").split("\n## ")[0]
    assert {name for cells in rows(envelope) for name in names(cells[0])} == set(EventView.__struct_fields__)


# -- settings


def test_every_setting_is_documented_with_its_default_and_in_the_words_of_the_help() -> None:
    told = {
        cells[0].strip("`"): cells[1:] for cells in rows(page("reference/settings.md")) if len(cells) == 3
    }
    del told["setting"]
    fields = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    assert list(told) == list(fields) == list(config.ABOUT)
    for name, (default, about) in told.items():
        value = fields[name]
        assert default == ("–" if value is None else f"`{_written(value)}`"), name
        assert about == config.ABOUT[name]


def _written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def test_every_variable_that_is_no_setting_is_documented() -> None:
    told = sections(page("reference/settings.md"))["Variables that are no settings"]
    assert {cells[0].strip("`"): cells[1] for cells in rows(told)[1:]} == config.COMMAND_VARIABLES


# -- the command


def commands(group: click.Group, path: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        here = f"{path}{name}"
        found |= commands(command, f"{here} ") if isinstance(command, click.Group) else {here: command}
    return found


COMMANDS = commands(app.root)


def shared() -> set[str]:
    def probe() -> None: ...

    for option in PLACE:
        option(probe)
    return {param.name for param in probe.__click_params__} | ACTING  # type: ignore[attr-defined] # click's own


def test_every_command_is_documented() -> None:
    told = set(sections(page("reference/cli.md"))) - {"Where a command goes"}
    assert told == set(COMMANDS)


@pytest.mark.parametrize("name", set(COMMANDS) - {"serve"})
def test_every_option_of_a_command_is_documented_and_no_other(name: str) -> None:
    told = sections(page("reference/cli.md"))[name]
    options = {
        param.opts[-1]
        for param in COMMANDS[name].params
        if isinstance(param, click.Option) and param.name not in shared()
    }
    assert {names(cells[0])[0].split()[0] for cells in rows(told)[1:]} == options


def test_the_options_that_commands_share_are_documented() -> None:
    told = sections(page("reference/cli.md"))["Where a command goes"]
    flags = {word.split()[0] for cells in rows(told)[1:] for word in names(cells[0])}
    assert flags == {f"--{name.replace('_', '-')}" for name in shared()}


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_every_command_that_a_page_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for words in re.findall(r"(?:^|[`(])blackboard ((?:[a-z-]+ ?)+)", text, flags=re.MULTILINE):
        first, *rest = words.split()
        assert first in app.ROWS, words
        group = [name for name in COMMANDS if name.startswith(f"{first} ")]
        assert not group or not rest or f"{first} {rest[0]}" in group, words


# -- http


def test_every_operation_is_documented_with_route_and_roles() -> None:
    told = [cells for cells in rows(sections(page("reference/http.md"))["Operations"])[1:] if len(cells) == 4]
    assert told == [
        [
            f"`{row.method} {row.path}`",
            f"`{row.name}`",
            "any" if len(row.roles) == 3 else ", ".join(row.roles),
            row.summary,
        ]
        for row in OPERATIONS
    ]


def test_the_members_that_every_reply_has_are_documented() -> None:
    told = rows(sections(page("reference/http.md"))["Replies"])[1:]
    assert [cells[0].strip("`") for cells in told] == list(Reply.__struct_fields__)


# -- policy and signals


def test_the_signals_are_documented_in_their_order_with_their_default_effect() -> None:
    told = rows(sections(page("reference/policy.md"))["Signals"])[1:]
    assert [cells[0].strip("`") for cells in told] == [name for name, _ in SIGNALS[1]]
    assert {cells[0].strip("`"): cells[1] for cells in told} == {
        name: f"`{setting.effect}`" for name, setting in SIGNAL_DEFAULTS.items()
    }


def test_every_member_of_a_policy_is_documented_with_its_default() -> None:
    told = {
        cells[0].strip("`"): cells[1] for cells in rows(sections(page("reference/policy.md"))["Members"])[1:]
    }
    fields = {field.name: field.default for field in msgspec.structs.fields(Policy)}
    assert list(told) == list(fields)
    for name, default in fields.items():
        if name in ("finished", "unfinished"):
            assert names(told[name]) == list(default)
        elif name != "signals":
            assert told[name] == ("none" if default is None else f"`{_written(default)}`"), name


# -- records


def subsections(name: str, heading: str) -> dict[str, str]:
    """Heading of the third level -> what stands below it, in one section of a page."""
    parts = re.split(r"^### (.+)$", sections(page(name))[heading], flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def members_of(text: str) -> set[str]:
    return {member for cells in rows(text) for member in names(cells[0])}


def test_every_kind_of_record_is_documented_member_by_member() -> None:
    told = subsections("reference/gate.md", "Records")
    common = members_of(told.pop(""))
    assert common == {"kind", "version", *Record.__struct_fields__}
    assert set(told) == {f"`{kind}`" for kind, _ in RECORD_KINDS}
    for (kind, _), record in RECORD_KINDS.items():
        assert members_of(told[f"`{kind}`"]) | {"id", "seq"} == set(record.__struct_fields__), kind


def test_every_operator_and_source_of_a_predicate_is_documented() -> None:
    told = rows(sections(page("reference/gate.md"))["Predicates"])
    operators = {name for cells in told if len(cells) == 4 for name in names(cells[0])} - {"op"}
    assert operators == set(get_args(Op))
    sources = {name for cells in told if len(cells) == 2 for name in names(cells[0])}
    assert set(get_args(Source)) <= sources


def test_every_retention_scheme_is_documented() -> None:
    told = rows(sections(page("reference/gate.md"))["Retention schemes"])[1:]
    assert [cells[0].strip("`") for cells in told] == list(SCHEMES)


def test_every_answer_of_the_rules_is_documented_in_its_order() -> None:
    told = rows(sections(page("action-gate.md"))["What PASS means"])[1:]
    assert [cells[0].strip("`") for cells in told] == list(get_args(AnswerWord))


def test_every_grant_for_records_is_documented_with_what_it_amounts_to() -> None:
    told = rows(subsections("action-gate.md", "Records")["Who may add what"])[1:]
    grants = [name.removeprefix("records: ") for cells in told for name in names(cells[0])]
    kinds = {kind if kind != Fact.KIND else "fact:<pattern>" for kind, _ in RECORD_KINDS}
    assert set(grants) == kinds | {OPAQUE, "writes: <patterns>"}


# -- certificates


@pytest.mark.parametrize("function", [verify_certificate, load_certificate])
def test_what_verifies_a_certificate_is_documented_with_its_signature(function: Callable[..., Any]) -> None:
    signature = inspect.signature(function)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    shown = signature.replace(parameters=bare, return_annotation=signature.empty)
    assert f"### `blackboard.{function.__name__}{shown}`\n" in page("reference/client.md")


# -- links


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_goes_to_a_page_and_a_heading_that_exist(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """What a heading is called in a link: lower case, without punctuation, dashes for spaces."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
