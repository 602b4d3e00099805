"""The OpenAPI description: valid, complete, and true of what the server answers."""

import json
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from blackboard.messages.operations import BY_NAME, OPERATIONS, Operation
from blackboard.server.openapi import document
from blackboard.server.pagelist import PAGES
from tests.server.support import BOARD, Answer, Driven, path_of

DOCUMENT: dict[str, Any] = json.loads(msgspec.json.encode(document()))


def check(value: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return found


def test_the_description_is_valid() -> None:
    errors = list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors())
    assert errors == []


def test_every_operation_and_every_page_is_described_and_nothing_else() -> None:
    told = {
        (path, method): operation["operationId"]
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
    }
    rows = {(row.path, row.method.lower()): row.name for row in OPERATIONS}
    pages = {(page.path, "get") for page in PAGES}
    assert told.keys() == rows.keys() | pages
    assert {key: told[key] for key in rows} == rows
    assert len(set(told.values())) == len(told)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_an_example_is_valid_against_its_schema(operation: Operation) -> None:
    told = described(operation)
    if operation.method in ("POST", "PUT"):
        content = told["requestBody"]["content"]["application/json"]
        assert content["example"] == operation.example
        check(content["example"], content["schema"])
    for parameter in told["parameters"]:
        if "example" in parameter:
            check(parameter["example"], parameter["schema"])
    if operation.method == "GET":
        assert operation.example.keys() <= {parameter["name"] for parameter in told["parameters"]}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_parameters_are_told_where_they_count(operation: Operation) -> None:
    names = {(parameter["in"], parameter["name"]) for parameter in described(operation)["parameters"]}
    in_path = {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
    assert {name for place, name in names if place == "path"} == in_path
    assert (("header", "Idempotency-Key") in names) is operation.appends
    assert (("header", "Last-Event-ID") in names) is operation.stream
    if operation.method == "GET":
        wanted = set(operation.message.__struct_fields__) - in_path
        assert {name for place, name in names if place == "query"} == wanted


@pytest.mark.parametrize(
    "operation", [row for row in OPERATIONS if row.method in ("POST", "PUT")], ids=lambda row: row.name
)
def test_unknown_members_are_refused_by_the_schema_as_by_the_server(operation: Operation) -> None:
    schema = described(operation)["requestBody"]["content"]["application/json"]["schema"]
    body = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert body["additionalProperties"] is False


def reply_schema(operation: Operation, answer: Answer) -> dict[str, Any]:
    response = described(operation)["responses"].get(str(answer.status))
    assert response is not None, (operation.name, answer.status)
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
    media = answer.headers["content-type"]
    found: dict[str, Any] = response["content"][media]["schema"]
    return found


@pytest.mark.parametrize("operation", [row for row in OPERATIONS if not row.stream], ids=lambda row: row.name)
async def test_what_the_server_answers_is_what_the_description_says(
    server: Driven, operation: Operation
) -> None:
    await server.ask("GET", f"/v1/boards/{BOARD}/entries/k", who="executor")
    mode = {"mode": "single-writer", "coordinator": "executor"}
    await server.ask("PUT", f"/v1/boards/{BOARD}/mode", mode, who="ops")
    await server.ask("POST", f"/v1/boards/{BOARD}/compactions", {}, who="executor")
    made = await server.ask(
        "POST", path_of(BY_NAME["propose"]), {"writes": [{"key": "k", "revision": 1}]}, who="planner"
    )
    path = path_of(operation, proposal=quote(made.json()["proposal"]))
    body = operation.example if operation.method in ("POST", "PUT") else None
    for who in ("executor", "ops", None):
        answer = await server.ask(operation.method, path, body, who=who)
        check(answer.json(), reply_schema(operation, answer))


@pytest.mark.parametrize("media", ["application/json", "application/cloudevents-batch+json"])
async def test_each_form_of_the_log_is_what_the_description_says(server: Driven, media: str) -> None:
    path = path_of(BY_NAME["events"])
    answer = await server.ask("GET", path, who="kim", headers=[("Accept", media)])
    assert answer.headers["content-type"] == media
    check(answer.json(), reply_schema(BY_NAME["events"], answer))
