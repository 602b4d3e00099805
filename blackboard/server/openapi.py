"""OpenAPI 3.1, made from OPERATIONS and the types of its messages: nothing is described twice."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from blackboard import __version__
from blackboard.errors import ERRORS_BY_CODE, BlackboardError
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.idempotency import KEY_CHARACTERS
from blackboard.messages.limits import MAX_INTEGER
from blackboard.messages.operations import OPERATIONS, Operation
from blackboard.messages.problem import ProblemDocument
from blackboard.server.endpoint import body_of, path_params
from blackboard.server.logs import CLOUD_EVENTS, NDJSON, CloudEvent
from blackboard.server.pagelist import PAGES

__all__ = ["document", "schemas"]

_REF: Final = "#/components/schemas/{name}"
_SEQ: Final = {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER}
_PATH_TOLD: Final = {
    "board": "The board's name.",
    "key": "The entry's key. It may hold slashes, as they are or as %2F.",
    "agent": "The agent's id.",
    "proposal": "The proposal's id, `proposal:<seq>`.",
    "certificate": "The certificate's id, `certificate:<seq>`.",
    "id": "The token's id.",
}
_STATUSES: Final = {
    401: "No token, or one that is unknown, expired or revoked.",
    403: "The token's role does not permit this.",
    404: "No such board or thing, or the token does not reach it.",
    409: "Refused by the write gate (with `rules`, `evidence`, `remedy`), or in conflict with the board.",
    413: "A size limit is broken; `limit` names it.",
    422: "Not a request that the board understands; `member` names the part at fault.",
    429: "Too many refused writes; this one was not logged.",
    503: "The store cannot answer now. Send it again after `Retry-After`, a command with the same key.",
}


def document() -> dict[str, Any]:
    """The whole description, ready to be encoded."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    for page in PAGES:
        paths[page.path] = {"get": _page(page.path, page.media, page.summary)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "blackboard",
            "version": __version__,
            "summary": "A shared blackboard that remembers what each agent has seen and still holds.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "responses": {f"Problem{status}": _problem(told) for status, told in _STATUSES.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def schemas() -> dict[str, Any]:
    """The JSON Schema of every type that travels, by name."""
    types: dict[type[Any], None] = {ProblemDocument: None, CloudEvent: None}
    for operation in OPERATIONS:
        types[operation.reply] = None
        if operation.method != "GET":
            types[body_of(operation)] = None
    _, components = msgspec.json.schema_components(list(types), ref_template=_REF)
    problem = components["ProblemDocument"]["properties"]
    problem["code"]["examples"] = sorted(code for code in ERRORS_BY_CODE if code != BlackboardError.code)
    return components


def _operation(operation: Operation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"{operation.message.__doc__}\n\nFor: {', '.join(operation.roles)}.",
        "tags": ["boards" if "{board}" in operation.path or operation.path == "/v1/boards" else "tokens"],
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "x-roles": list(operation.roles),
    }
    if operation.method in ("POST", "PUT"):
        body = body_of(operation)
        told["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(body)),
            "content": {"application/json": {"schema": _ref(body.__name__), "example": operation.example}},
        }
    return told


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found = [
        _parameter(name, "path", {"type": "string"}, _PATH_TOLD[name]) for name in path_params(operation)
    ]
    if operation.method == "GET":
        for field in msgspec.structs.fields(body_of(operation)):
            schema = _in_query(field.type)
            if field.default not in (msgspec.NODEFAULT, None):
                schema = schema | {"default": field.default}
            parameter = _parameter(field.name, "query", schema, required=field.required)
            if field.name in operation.example:
                parameter["example"] = operation.example[field.name]
            found.append(parameter)
    if operation.appends:
        schema = {"type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS}
        told = "Makes the command repeatable: the same key and command get the same answer, for ever."
        found.append(_parameter("Idempotency-Key", "header", schema, told))
    if operation.stream:
        found.append(
            _parameter("Last-Event-ID", "header", _SEQ, "Goes on after this seq; wins over `after`.")
        )
    elif issubclass(operation.reply, say.Reply):
        found.append(_parameter("Blackboard-Seen", "header", _SEQ, "The last seq that the caller knows of."))
    return found


def _parameter(
    name: str, place: str, schema: dict[str, Any], told: str | None = None, *, required: bool = False
) -> dict[str, Any]:
    parameter: dict[str, Any] = {"name": name, "in": place, "schema": schema}
    if required or place == "path":
        parameter["required"] = True
    if told:
        parameter["description"] = told
    return parameter


def _responses(operation: Operation) -> dict[str, Any]:
    reply = _ref(operation.reply.__name__)
    content: dict[str, Any] = {"application/json": {"schema": reply}}
    if operation.stream:
        content = {"text/event-stream": {"schema": {"type": "string"}, "x-data": reply}}
    elif operation.reply is say.EventsReply:
        content[NDJSON.decode()] = {"schema": {"type": "string"}, "x-line": _ref("EventView")}
        content[CLOUD_EVENTS.decode()] = {"schema": {"type": "array", "items": _ref("CloudEvent")}}
    done: dict[str, Any] = {"description": operation.summary, "content": content}
    if operation.reply is say.EntryReply:
        done["headers"] = {"ETag": {"description": "The revision, in quotes.", "schema": {"type": "string"}}}
    responses = {"201" if operation.message is ask.CreateToken else "200": done}
    if operation.message is ask.OpenBoard:
        responses["201"] = done | {"description": "The board was made."}
    responses |= {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in _STATUSES}
    return responses


def _page(path: str, media: str, summary: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": path.strip("/").replace(".", "_"),
        "summary": summary,
        "tags": ["server"],
        "responses": {"200": {"description": summary, "content": {media: {}}}},
    }
    if path != "/metrics":
        told["security"] = []
    return told


def _problem(told: str) -> dict[str, Any]:
    return {"description": told, "content": {"application/problem+json": {"schema": _ref("ProblemDocument")}}}


def _in_query(kind: Any) -> dict[str, Any]:
    """The schema of a query parameter: what it is when it is there (nothing there is null)."""
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
    options = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    return options[0] if len(options) == 1 else {"anyOf": options}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}
