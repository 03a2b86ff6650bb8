"""The API's description, made of the operations and of the models that they answer with."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from langgraph_wyrd import __version__
from langgraph_wyrd.state.listed import ThreadInfo
from langgraph_wyrd.state.model import OpenLoop, Todo, WorkingState
from langgraph_wyrd.state.past import HistoryEntry
from langgraph_wyrd.ui.operations import Field, Operation
from langgraph_wyrd.ui.security import HEADER

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer"}
_MAYBE: Schema = {"type": ["string", "null"]}
_ANY: Schema = {}
_OBJECT: Schema = {"type": "object"}
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def document(operations: Iterable[Operation], root: str = "") -> Schema:
    """The OpenAPI 3.1 document."""
    paths: dict[str, Schema] = {}
    for each in operations:
        paths.setdefault(f"/api{each.path}", {})[each.method.lower()] = _operation(each)
    paths["/api/events"] = {"get": _EVENTS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "langgraph-wyrd", "version": __version__, "description": _ABOUT},
        "servers": [{"url": root or "/"}],
        "security": [{"bearer": []}, {"cookie": []}, {}],
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": _SECURITY},
    }


_ABOUT = (
    "What LangGraph agents were doing, as WyrdSaver has stored it. A thread's id is one part of "
    "the path, percent-encoded (`encodeURIComponent`), slashes too. `/api/thread/…?id=…` is the "
    "same as `/api/threads/{id}/…`, for ids that a path can't carry (`.` and `..`) and for proxies "
    f"that decode slashes. Every POST needs the header `{HEADER}`, with any value. Integers beyond "
    "2^53 are strings, so are NaN and infinities."
)
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "wyrd_ui_…"},
}
_REFUSED: Schema = {
    "description": "refused, or failed",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_EVENTS: Schema = {
    "operationId": "events",
    "summary": "Live updates as server-sent events: `ready`, then a `thread` for each change.",
    "parameters": [
        {"name": "since", "in": "query", "schema": _TEXT,
         "description": "begin with what changed after this time (an event's id)"},
    ],
    "responses": {
        "200": {"description": "events; the data of a `thread` is a ThreadInfo",
                "content": {"text/event-stream": {"schema": _TEXT}}},
        "default": _REFUSED,
    },
}  # fmt: skip


def _operation(each: Operation) -> Schema:
    given: list[Schema] = []
    if each.of_thread:
        about = "the thread's id, percent-encoded"
        given.append(
            {"name": "id", "in": "path", "required": True, "schema": _TEXT, "description": about}
        )
    if each.method == "POST":
        given.append({"name": HEADER, "in": "header", "required": True, "schema": _TEXT})
    given += [_parameter(one) for one in each.query]
    made: Schema = {
        "operationId": each.name,
        "summary": each.about,
        "parameters": given,
        "responses": {
            "200": {"description": "done", "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{each.gives}"}}}},
            "default": _REFUSED,
        },
    }  # fmt: skip
    if each.body:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _body(each.body)}},
        }
    if each.public:
        made["security"] = [{}]
    return made


def _parameter(each: Field) -> Schema:
    schema: Schema = {"type": each.kind}
    if each.least is not None:
        schema["minimum"] = each.least
    if each.most is not None:
        schema["maximum"] = each.most
    if each.many:
        schema = {"type": "array", "items": schema}
    return {
        "name": each.name, "in": "query", "required": each.required, "description": each.about,
        "schema": schema,
    }  # fmt: skip


def _body(given: tuple[Field, ...]) -> Schema:
    return _object(
        {
            each.name: {**({} if each.kind == "any" else {"type": each.kind}),
                        "description": each.about}
            for each in given
        },
        [each.name for each in given if each.required],
        closed=True,
    )  # fmt: skip


# ---- schemas


def _object(
    properties: Mapping[str, Schema], required: Iterable[str] | None = None, closed: bool = False
) -> Schema:
    needed = sorted(properties if required is None else required)
    made: Schema = {"type": "object", "properties": dict(properties), "required": needed}
    return {**made, "additionalProperties": False} if closed else made


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _record(cls: Any) -> Schema:
    """A model as `records.record` gives it: where it was seen stands beside its fields."""
    hints = get_type_hints(cls)
    properties: dict[str, Schema] = {}
    for each in fields(cls):
        if is_dataclass(hints[each.name]):  # the source
            places = ("checkpoint", "ns", "node", "channel", "message_id", "task_id",
                      "tool_call_id", "rule", "author")  # fmt: skip
            properties |= dict.fromkeys(places, _MAYBE)
        else:
            properties[each.name] = _of(hints[each.name], flat=True)
    return _object(properties)


def _of(hint: Any, *, flat: bool = False) -> Schema:
    """The schema of a type. `flat`: models in it are given by name."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is Literal:  # later releases may know more values: these are the known ones
        return {"type": "string", "examples": list(args)}
    if origin in (Union, types.UnionType):
        kinds = [_of(each, flat=flat).get("type", "object") for each in args]
        return {
            "type": [one for kind in kinds for one in ([kind] if isinstance(kind, str) else kind)]
        }
    if origin is tuple:
        return _list(_TEXT if flat and is_dataclass(args[0]) else _of(args[0]))
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        given = {f.name: _of(hints[f.name]) for f in fields(hint) if f.name != "extra"}
        return _object(given, set(given) - {"thread_id"})
    return _OBJECT if origin is not None and hint is not Any else _ANY


def _schemas() -> dict[str, Schema]:
    state = {**_of(WorkingState)}
    state["properties"] = {**state["properties"], "schema": _COUNT}
    message = {
        "role": {"type": "string", "examples": ["user", "assistant", "system", "tool"]},
        "content": _ANY,
        "id": _MAYBE,
        "name": _MAYBE,
        "tool_calls": _list(_object({"id": _MAYBE, "name": _MAYBE, "args": _ANY})),
        "tool_call_id": _MAYBE,
        "status": _MAYBE,
        "usage": {"type": ["object", "null"]},
        "ts": _MAYBE,
        "checkpoint_id": _MAYBE,
        "in_state": _FLAG,
        "pending": _FLAG,
    }
    action = {"name": _TEXT, "args": _ANY, "allowed": _list(_TEXT), "description": _MAYBE}
    entry = {
        **dict.fromkeys(("thread_id", "kind", "question", "form"), _TEXT),
        **dict.fromkeys(("since", "node", "ns", "agent", "loop_id", "interrupt_id"), _MAYBE),
        **dict.fromkeys(("user_id", "assigned_to", "expires_at"), _MAYBE),
        "allowed": _list(_TEXT),
        "value": _ANY,
        "actions": _list(_object(action)),
        "schema": {"type": ["object", "null"]},
    }
    label = {
        "name": _TEXT,
        "checkpoint_id": _TEXT,
        "created_at": _TEXT,
        "keys": _list(_TEXT),
        "missing": _list(_TEXT),
        "automatic": _FLAG,
    }
    at = {"thread_id": _TEXT}
    return {
        "Error": _object({"error": _object({"kind": _TEXT, "message": _TEXT})}),
        "About": _object({"version": _MAYBE, "read_only": _FLAG, "token": _FLAG, "known": _FLAG}),
        "Known": _object({"known": _FLAG}),
        "ThreadInfo": _record(ThreadInfo),
        "Threads": _object({"threads": _list(_ref("ThreadInfo")), "next": _MAYBE}),
        "InboxEntry": _object(entry),
        "Inbox": _object({"entries": _list(_ref("InboxEntry")), "next": _MAYBE}),
        "OpenLoop": _record(OpenLoop),
        "Loops": _object({"loops": _list(_ref("OpenLoop")), "next": _MAYBE}),
        "Todo": _record(Todo),
        "WorkingState": state,
        "Label": _object(label),
        "Thread": _object(
            {**at, "state": _ref("WorkingState"), "brief": _TEXT,
             "labels": _list(_ref("Label")), "heals": _list(_OBJECT)}
        ),
        "State": _object({**at, "state": _ref("WorkingState"), "brief": _TEXT}),
        "Message": _object({**message, "cut": _FLAG}, message),
        "Messages": _object(
            {**at, "total": _COUNT, "start": _COUNT, "messages": _list(_ref("Message"))}
        ),
        "HistoryEntry": _record(HistoryEntry),
        "History": _object({**at, "entries": _list(_ref("HistoryEntry"))}),
        "Diff": _object(
            {"summary": _TEXT, "empty": _FLAG, "state_lines": _list(_TEXT),
             "value_lines": _list(_TEXT), "diff": _OBJECT}
        ),
        "File": _OBJECT,
        "Done": _object(at),
        "Answered": _object({**at, "answers": _OBJECT}),
        "ChangedLoop": _object({**at, "loop": _ref("OpenLoop")}),
        "ChangedTodo": _object({**at, "todo": _ref("Todo")}),
        "Labelled": _object({**at, "name": _TEXT, "checkpoint_id": _TEXT}),
        "Unlabelled": _object({**at, "removed": _FLAG}),
        "Moved": _object({**at, "checkpoint_id": _TEXT}),
    }  # fmt: skip
