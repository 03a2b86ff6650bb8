"""The API's OpenAPI document. docs/ui.md says more of what each operation takes and gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph_wyrd import __version__
from langgraph_wyrd.ui.api import Field, Operation
from langgraph_wyrd.ui.security import HEADER

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_ABOUT = (
    "What LangGraph agents were doing, as WyrdSaver has stored it. A thread is named by its id, "
    "URL-encoded, in the path (`/api/threads/{id}/messages`) or in the query "
    f"(`/api/thread/messages?id=`). Every POST needs the header `{HEADER}`, with any value. "
    "Integers beyond 2^53 are strings, so are NaN and infinities."
)
_ERROR: Schema = {"description": 'refused, or failed: {"error": {"kind": …, "message": …}}'}


def document(operations: Iterable[Operation], root: str = "") -> Schema:
    """The OpenAPI 3.1 document."""
    paths: dict[str, Schema] = {}
    for each in operations:
        said = _described(each)
        paths[f"/api{each.path}"] = {each.method.lower(): said}
        if any(field.name == "id" for field in each.query):
            path = each.path.replace("/thread", "/threads/{id}", 1)
            paths[f"/api{path}"] = {each.method.lower(): _by_path(said)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "langgraph-wyrd", "version": __version__, "description": _ABOUT},
        "servers": [{"url": root or "/"}],
        "security": [{"bearer": []}, {}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _described(each: Operation) -> Schema:
    header = {"name": HEADER, "in": "header", "required": True, "schema": _TEXT}
    answer = {"application/json": {"schema": {"type": "object"}}}
    made: Schema = {
        "operationId": each.name,
        "summary": " ".join((each.run.__doc__ or "").split()),
        "parameters": [header] * (each.method == "POST") + [_parameter(one) for one in each.query],
        "responses": {"200": {"description": "done", "content": answer}, "default": _ERROR},
    }
    if each.body:
        needed = [one.name for one in each.body if one.required]
        fields = {one.name: _schema(one) for one in each.body}
        body = {"type": "object", "properties": fields, "required": needed}
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if each.public:
        made["security"] = [{}]
    return made


def _by_path(said: Schema) -> Schema:
    """An operation on a thread whose id is in the path."""
    id = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    others = [each for each in said["parameters"] if each["name"] != "id"]
    return {**said, "operationId": f"{said['operationId']}_by_path", "parameters": [id, *others]}


def _parameter(each: Field) -> Schema:
    schema = _schema(each)
    return {
        "name": each.name, "in": "query", "required": each.required,
        "schema": {"type": "array", "items": schema} if each.many else schema,
    }  # fmt: skip


def _schema(each: Field) -> Schema:
    if each.kind == "any":
        return {}
    limits = {"minimum": each.least, "maximum": each.most} if each.kind == "integer" else {}
    return {"type": each.kind, **limits}
