"""What is documented exists, and what exists is documented."""

from __future__ import annotations

import re
from pathlib import Path

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
from blackboard.gate.signals import SIGNALS
from blackboard.gate.writes import CODES
from blackboard.messages.operations import OPERATIONS
from blackboard.messages.replies import EventView, Reply

DOCS = Path(__file__).resolve().parents[2] / "docs"
ACTING = {"board", "agent", "operator", "auditor"}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The rows of all tables of a text, cell by cell."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def sections(text: str) -> dict[str, str]:
    """Heading of the second level -> what stands below it."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names(text: str) -> list[str]:
    """Everything in backticks."""
    return re.findall(r"`([^`]+)`", text)


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
    assert set(told) == {kind for kind, _ in KINDS}
    for (kind, _), body in KINDS.items():
        members = [name for cells in rows(told[kind]) for name in names(cells[0])]
        assert set(members) == set(body.__struct_fields__), kind


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
