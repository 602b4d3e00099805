"""Every operation, asked by every role, on a board that the token reaches and on one that it does not."""

import pytest

from blackboard.messages.operations import OPERATIONS, Operation
from blackboard.messages.principal import Role
from tests.server.support import BOARD, Driven, Stream, path_of

ROLES: tuple[Role, ...] = ("agent", "auditor", "operator")
NAMES = {"agent": "executor", "auditor": "kim", "operator": "ops"}


async def status(server: Driven, operation: Operation, who: str, board: str) -> tuple[int, str]:
    path = path_of(operation, board=board)
    if operation.stream:
        stream = Stream(server.app, path, server.tokens[who])
        await stream.reading.wait()
        if board == BOARD:
            await stream.until_caught_up()
        await stream.hang_up()
        return stream.status, ""
    body = operation.example if operation.method in ("PUT", "POST") else None
    answer = await server.ask(operation.method, path, body, who=who)
    return answer.status, "" if answer.status < 400 else answer.problem()["code"]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
async def test_an_operation_is_for_its_roles(server: Driven, operation: Operation, role: Role) -> None:
    before = await server.head()
    found, code = await status(server, operation, NAMES[role], BOARD)
    if role in operation.roles:
        assert found not in (401, 403), "whatever else may be wrong with the example, the role is not"
    else:
        assert (found, code) == (403, "not-allowed")
        assert await server.head() == before


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "operation", [row for row in OPERATIONS if "{board}" in row.path], ids=lambda row: row.name
)
async def test_without_a_grant_every_operation_says_that_there_is_no_such_board(
    server: Driven, operation: Operation, role: Role
) -> None:
    await server.token(role, "narrow", boards=["elsewhere-*"])
    before = await server.head()
    found, code = await status(server, operation, "narrow", BOARD) if not operation.stream else (404, "")
    if operation.stream:
        answer = await server.ask("GET", path_of(operation), who="narrow")
        found, code = answer.status, answer.problem()["code"]
    assert (found, code) == (404, "unknown-board")
    assert await server.head() == before


async def test_an_agent_sees_its_own_view_alone(server: Driven) -> None:
    await server.ask("GET", f"/v1/boards/{BOARD}/entries/k", who="executor")
    path = f"/v1/boards/{BOARD}/agents/executor"
    assert (await server.ask("GET", path, who="executor")).status == 200
    assert (await server.ask("GET", path, who="planner")).status == 403
    assert (await server.ask("GET", path, who="kim")).status == 200


async def test_reporting_a_peers_compaction_needs_the_grant_or_an_operator(server: Driven) -> None:
    path, body = f"/v1/boards/{BOARD}/compactions", {"cause": "summary", "agents": ["executor"]}
    assert (await server.ask("POST", path, body, who="planner")).status == 403
    assert (await server.ask("POST", path, body, who="hook")).status == 200
    assert (await server.ask("POST", path, body, who="ops")).status == 200


async def test_a_write_outside_the_grant_is_not_allowed(server: Driven) -> None:
    from blackboard.messages.principal import Grants

    await server.token("agent", "narrow", grants=Grants(writes=["mine/*"]))
    path = f"/v1/boards/{BOARD}/writes"
    for key, expected in (("mine/a", 200), ("theirs/a", 403)):
        body = {"writes": [{"key": key, "revision": 1, "value": 1}]}
        assert (await server.ask("POST", path, body, who="narrow")).status == expected
