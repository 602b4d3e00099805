"""OPERATIONS is the one table of what can be asked: every row is complete, and its example works."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec
import pytest

from blackboard import canonical
from blackboard.messages import commands as ask
from blackboard.messages.operations import BY_MESSAGE, BY_NAME, OPERATIONS, Operation
from blackboard.messages.prepare import prepare
from blackboard.messages.replies import Reply

COMMANDS = {*get_args(ask.Command)}
FROM_PATH: dict[str, Any] = {
    "agent": "executor",
    "key": "task/B",
    "proposal": "proposal:7",
    "certificate": "certificate:7",
    "id": "t1",
}

rows = pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)


def message(row: Operation) -> ask.Message:
    """The example as the message that it stands for; what the path names is filled in."""
    named = {name: FROM_PATH[name] for name in parameters(row) if name != "board"}
    return canonical.decode(canonical.encode(row.example | named), row.message, max_bytes=10_000)


def parameters(row: Operation) -> list[str]:
    return re.findall(r"{(\w+)}", row.path)


@rows
def test_every_row_has_a_summary_and_an_example(row: Operation) -> None:
    assert re.fullmatch(r"[A-Z].*\.", row.summary), "a sentence"
    assert len(row.summary) <= 90
    required = {field.name for field in msgspec.structs.fields(row.message) if field.required}
    assert required - set(parameters(row)) <= set(row.example), "what is required stands in the example"


@rows
def test_every_example_decodes_into_its_message_and_passes_its_checks(row: Operation) -> None:
    found: Any = message(row)
    kind = type(found)
    assert kind is row.message
    if row.message in COMMANDS:
        assert prepare(found, agent="executor").command == found


@rows
def test_what_the_path_names_is_a_member_of_the_message_and_not_of_the_example(row: Operation) -> None:
    named = set(parameters(row)) - {"board"}
    assert named <= set(row.message.__struct_fields__)
    assert not named & set(row.example)


@rows
def test_a_row_appends_iff_its_message_is_a_command_that_may_be_repeated(row: Operation) -> None:
    # An old read, or an old verdict, is never replayed as a new one.
    unkeyed = {ask.Read, ask.ReadEntry, ask.ReadProposals, ask.Check}
    assert row.appends == (row.message in COMMANDS - unkeyed)
    if row.message in COMMANDS:
        assert issubclass(row.reply, Reply)


@rows
def test_the_method_says_whether_anything_is_recorded(row: Operation) -> None:
    if row.appends:
        assert row.method in ("POST", "PUT")
    assert row.roles
    assert row.path.startswith("/v1/")


def test_names_and_routes_are_unique() -> None:
    assert len(BY_NAME) == len(OPERATIONS)
    assert len({(row.method, row.path) for row in OPERATIONS}) == len(OPERATIONS)


def test_every_message_has_a_row() -> None:
    messages = {*COMMANDS, *get_args(ask.Query), *get_args(ask.TokenCommand), ask.Follow}
    assert messages == set(BY_MESSAGE)
    assert all(BY_MESSAGE[row.message].message is row.message for row in OPERATIONS)


def test_of_two_routes_with_one_message_the_first_is_its_own() -> None:
    assert BY_MESSAGE[ask.GetBoard].name == "get_board"


def test_every_command_member_is_explained() -> None:
    for kind in BY_MESSAGE:
        assert kind.__doc__
        assert kind.__doc__ != ask.Message.__doc__
