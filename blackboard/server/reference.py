"""The reference for people: one static HTML page made from the OpenAPI description.

It has no script and loads nothing but its own style sheet.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any, Final

from blackboard.server.openapi import document

__all__ = ["STYLE", "page"]

STYLE: Final = files("blackboard.server").joinpath("reference.css").read_bytes()

_INTRODUCTION: Final = """
<p>JSON over HTTP. Every request except those to the pages of the server carries
<code>Authorization: Bearer &lt;token&gt;</code>; the token says who acts, a body never does.
The same description for programs is at <a href="/openapi.json">/openapi.json</a>.</p>
<ul>
<li><code>Idempotency-Key</code> makes a command repeatable: the same key and command get the same answer,
whatever happened to the first one. Reads ignore it: an old answer is never given for a new one.</li>
<li><code>Blackboard-Seen</code> is the last seq that the caller knows of; replies carry <code>notices</code>
and <code>moved</code> since then.</li>
<li>Errors are problem documents (<code>application/problem+json</code>): <code>code</code> says what it is,
<code>member</code> and <code>limit</code> what is at fault, <code>detail</code> what to do next.</li>
<li>After 429 and 503, <code>Retry-After</code> says in how many seconds to try again.</li>
</ul>
"""


def page() -> str:
    """The whole page."""
    told = document()
    routes = [
        (method.upper(), path, operation)
        for path, operations in told["paths"].items()
        for method, operation in operations.items()
    ]
    types = told["components"]["schemas"]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>blackboard {escape(told['info']['version'])}: reference</title>\n"
        '<link rel="stylesheet" href="/docs/reference.css">\n</head>\n<body>\n<main>\n'
        f"<h1>blackboard <small>{escape(told['info']['version'])}</small></h1>\n"
        f"<p>{escape(told['info']['summary'])}</p>\n{_INTRODUCTION}"
        f"<h2>Operations</h2>\n{_contents(routes)}"
        + "".join(_operation(*route) for route in routes)
        + "<h2>Types</h2>\n"
        + "".join(_type(name, types[name]) for name in sorted(types))
        + "</main>\n</body>\n</html>\n"
    )


def _contents(routes: list[tuple[str, str, dict[str, Any]]]) -> str:
    rows = [
        f'<tr><td><a href="#{escape(told["operationId"])}">{escape(told["operationId"])}</a></td>'
        f"<td><code>{method} {escape(path)}</code></td><td>{escape(told['summary'])}</td></tr>"
        for method, path, told in routes
    ]
    return _table(("operation", "route", "does"), rows)


def _operation(method: str, path: str, told: dict[str, Any]) -> str:
    name = escape(told["operationId"])
    parts = [f'<section id="{name}">\n<h3>{name}</h3>\n<p><code>{method} {escape(path)}</code></p>\n']
    parts.append(f"<p>{escape(told['summary'])}</p>\n")
    parts += [f"<p>{escape(part)}</p>\n" for part in told.get("description", "").split("\n\n") if part]
    if told.get("parameters"):
        parts.append(
            _table(("parameter", "in", "type", "means"), [_parameter(one) for one in told["parameters"]])
        )
    body = told.get("requestBody")
    if body:
        content = body["content"]["application/json"]
        example = json.dumps(content["example"], indent=2)
        parts.append(f"<p>Body: {_kind(content['schema'])}, for example</p>\n<pre>{escape(example)}</pre>\n")
    parts.append(_answers(told["responses"]))
    return "".join(parts) + "</section>\n"


def _answers(responses: dict[str, Any]) -> str:
    told = []
    for status, response in responses.items():
        for media, content in response.get("content", {}).items():
            kind = _kind(content.get("x-data") or content.get("x-line") or content.get("schema") or {})
            told.append(f"<li>{status} <code>{escape(media)}</code> {kind}</li>\n")
    return f"<p>Answers</p>\n<ul>\n{''.join(told)}</ul>\n"


def _parameter(told: dict[str, Any]) -> str:
    means = told.get("description", "")
    if "default" in told["schema"]:
        means += f" Default {json.dumps(told['schema']['default'])}."
    return (
        f"<tr><td><code>{escape(told['name'])}</code></td><td>{told['in']}</td>"
        f"<td>{_kind(told['schema'])}</td><td>{escape(means.strip())}</td></tr>"
    )


def _type(name: str, schema: dict[str, Any]) -> str:
    told = f'<section id="type-{escape(name)}">\n<h3>{escape(name)}</h3>\n'
    for part in schema.get("description", "").split("\n\n"):
        told += f"<p>{escape(part)}</p>\n"
    required = schema.get("required", [])
    rows = [
        f"<tr><td><code>{escape(member)}</code></td><td>{_kind(kind)}</td>"
        f"<td>{_presence(member in required, kind)}</td></tr>"
        for member, kind in schema.get("properties", {}).items()
    ]
    return told + (_table(("member", "type", "default"), rows) if rows else "") + "</section>\n"


def _presence(required: bool, kind: dict[str, Any]) -> str:
    if required:
        return "required"
    return f"<code>{escape(json.dumps(kind['default']))}</code>" if "default" in kind else ""


def _kind(schema: dict[str, Any]) -> str:
    """A type in words; types of this description as links."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(f"<code>{escape(json.dumps(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {_kind(schema['additionalProperties'])}"
    return escape(str(schema.get("type", "any JSON value"))) + escape(_bounds(schema))


def _bounds(schema: dict[str, Any]) -> str:
    names = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "minLength": "length ≥",
        "maxLength": "length ≤",
        "pattern": "like",
    }
    told = [f"{sign} {schema[name]}" for name, sign in names.items() if name in schema]
    return f" ({', '.join(told)})" if told else ""


def _table(heads: tuple[str, ...], rows: list[str]) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>\n"
