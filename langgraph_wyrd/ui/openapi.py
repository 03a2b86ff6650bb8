"""The API's description, made of the operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph_wyrd import __version__
from langgraph_wyrd.ui.api import Field, Operation
from langgraph_wyrd.ui.security import HEADER

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_ABOUT = (
    "What LangGraph agents were doing, as WyrdSaver has stored it. A thread is named by `id` in "
    f"the query. Every POST needs the header `{HEADER}`, with any value. Integers beyond 2^53 are "
    "strings, so are NaN and infinities. Items, states and messages have the fields of the "
    "library's own results."
)
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "wyrd_ui_…"},
}


def document(operations: Iterable[Operation], root: str = "") -> Schema:
    """The OpenAPI 3.1 document."""
    paths: dict[str, Schema] = {}
    for each in operations:
        paths[f"/api{each.path}"] = {each.method.lower(): _operation(each)}
    paths["/api/events"] = {"get": _EVENTS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "langgraph-wyrd", "version": __version__, "description": _ABOUT},
        "servers": [{"url": root or "/"}],
        "security": [{"bearer": []}, {"cookie": []}, {}],
        "paths": paths,
        "components": {"securitySchemes": _SECURITY},
    }


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _object(properties: dict[str, Schema], required: Iterable[str]) -> Schema:
    return {
        "type": "object", "properties": properties, "required": sorted(required),
        "additionalProperties": False,
    }  # fmt: skip


_ERROR = _object({"kind": _TEXT, "message": _TEXT}, ("kind", "message"))
_REFUSED: Schema = {
    "description": "refused, or failed",
    "content": _json(_object({"error": _ERROR}, ("error",))),
}
_EVENTS: Schema = {
    "operationId": "events",
    "summary": "Live updates, server-sent: `ready`, then a `thread` for each that changed.",
    "parameters": [
        {"name": "since", "in": "query", "schema": _TEXT,
         "description": "an event's id: begin behind it. Without one: from now on"},
    ],
    "responses": {
        "200": {"description": "a `thread` has `thread_id` and `events`: `kind`, `item`, `at`, …",
                "content": {"text/event-stream": {"schema": _TEXT}}},
        "default": _REFUSED,
    },
}  # fmt: skip


def _operation(each: Operation) -> Schema:
    header = {"name": HEADER, "in": "header", "required": True, "schema": _TEXT}
    given = {name: _typed(kind) for name, kind in each.gives.items()}
    answer = _object(given, given) if given else {"type": "object"}
    made: Schema = {
        "operationId": each.name,
        "summary": each.about,
        "parameters": [header] * (each.method == "POST") + [_parameter(one) for one in each.query],
        "responses": {"200": {"description": "done", "content": _json(answer)},
                      "default": _REFUSED},
    }  # fmt: skip
    if each.body:
        fields = {one.name: {**_typed(one.kind), "description": one.about} for one in each.body}
        body = _object(fields, [one.name for one in each.body if one.required])
        made["requestBody"] = {"required": True, "content": _json(body)}
    if each.public:
        made["security"] = [{}]
    return made


def _typed(kind: str) -> Schema:
    """The schema of a JSON type; `?` behind it: or null."""
    if kind == "any":
        return {}
    return {"type": [kind[:-1], "null"]} if kind.endswith("?") else {"type": kind}


def _parameter(each: Field) -> Schema:
    schema = _typed(each.kind)
    if each.kind == "integer":
        schema |= {"minimum": each.least, "maximum": each.most}
    return {
        "name": each.name, "in": "query", "required": each.required, "description": each.about,
        "schema": {"type": "array", "items": schema} if each.many else schema,
    }  # fmt: skip
