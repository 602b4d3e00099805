"""From an operation's row to its route and its message, for rows that today's table does not have too."""

from __future__ import annotations

import msgspec
import pytest

from blackboard.errors import Malformed, NotFound
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.operations import BY_NAME, OPERATIONS, Operation
from blackboard.server import routes
from blackboard.server.endpoint import Endpoint, body_of
from blackboard.server.routes import Routes


def endpoint(name: str, **changes: object) -> Endpoint:
    return Endpoint(msgspec.structs.replace(BY_NAME[name], **changes), DEFAULT_LIMITS)


def all_routes() -> Routes:
    return Routes((Endpoint(row, DEFAULT_LIMITS) for row in OPERATIONS), DEFAULT_LIMITS)


def test_a_query_parameter_without_a_default_is_required() -> None:
    asked = endpoint("end_turn", method="GET")
    assert asked.message({"board": "b"}, b"turn=7", b"") == ask.EndTurn(turn=7)
    with pytest.raises(Malformed, match="turn is required") as caught:
        asked.message({"board": "b"}, b"", b"")
    assert caught.value.member == "turn"


def test_a_body_leaves_out_what_the_path_names_and_keeps_the_defaults() -> None:
    class Described(ask.Message, frozen=True):
        agent: str
        needed: int
        tags: list[str] = msgspec.field(default_factory=list)
        why: str = "because"

    row = msgspec.structs.replace(BY_NAME["join"], message=Described)
    body = body_of(row)
    assert body.__struct_fields__ == ("needed", "tags", "why")
    message = Endpoint(row, DEFAULT_LIMITS).message({"board": "b", "agent": "a"}, b"", b'{"needed":1}')
    assert message == Described(agent="a", needed=1, tags=[], why="because")


def test_a_message_that_the_path_says_nothing_of_is_its_own_body() -> None:
    assert body_of(BY_NAME["write"]) is ask.WriteBatch


def test_two_names_for_one_place_in_a_path_are_refused() -> None:
    other = msgspec.structs.replace(BY_NAME["get_board"], path="/v1/boards/{name}/policy")
    with pytest.raises(ValueError, match="where 'board' stands"):
        Routes([endpoint("open_board"), Endpoint(other, DEFAULT_LIMITS)], DEFAULT_LIMITS)


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
def test_every_row_is_found_by_its_path(row: Operation) -> None:
    found = all_routes().find(row.path.replace("{", "").replace("}", "").encode())
    assert found.methods[row.method].operation is row
    assert found.board == ("board" if "{board}" in row.path else None)


def test_remembered_paths_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "REMEMBERED", 4)
    found = all_routes()
    for number in range(20):
        assert found.find(b"/v1/boards/b%d" % number).board == f"b{number}"
        assert len(found._recent) <= 4
    long = b"/v1/boards/b/entries/" + b"k" * 300
    assert found.find(long).params["key"] == "k" * 300
    assert long not in found._recent
    with pytest.raises(NotFound):
        found.find(b"/v1/none")
    assert b"/v1/none" not in found._recent
