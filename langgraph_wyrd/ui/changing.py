"""Operations that change a thread. Each is a POST, and refused where the inspector is read-only."""

from __future__ import annotations

from typing import Any

from langgraph_wyrd.state.records import record
from langgraph_wyrd.ui.operations import ONE, Call, Field, Operation


async def answer(call: Call) -> Any:
    asked = call.body
    stored = await call.thread.aanswer(
        asked["value"], asked.get("loop"), asked.get("by"), replace=asked.get("replace", False)
    )
    return {"thread_id": call.id, "answers": stored}


async def assign(call: Call) -> Any:
    asked = call.body
    await call.thread.aassign(
        asked.get("loop"), to=asked.get("to"), expires_at=asked.get("expires_at"),
        by=asked.get("by"),
    )  # fmt: skip
    return {"thread_id": call.id}


async def resolve(call: Call) -> Any:
    asked = dict(call.body)
    made = await call.thread.aresolve_open_loop(
        asked["loop"], asked.get("outcome"), by=asked.get("by", "person")
    )
    return {"thread_id": call.id, "loop": record(made)}


async def complete(call: Call) -> Any:
    todo, by = call.body["todo"], call.body.get("by", "person")
    made = await call.thread.acomplete_todo(todo, by=by)
    return {"thread_id": call.id, "todo": record(made)}


async def reopen(call: Call) -> Any:
    todo, by = call.body["todo"], call.body.get("by", "person")
    made = await call.thread.areopen_todo(todo, by=by)
    return {"thread_id": call.id, "todo": record(made)}


async def label(call: Call) -> Any:
    made = await call.thread.alabel(call.body["name"], at=call.body.get("at"))
    return {"thread_id": call.id, "name": made.name, "checkpoint_id": made.checkpoint_id}


async def unlabel(call: Call) -> Any:
    gone = await call.thread.aunlabel(call.body["name"], at=call.body.get("at"))
    return {"thread_id": call.id, "removed": gone}


async def rewind(call: Call) -> Any:
    config = await call.thread.arewind(call.body["to"])
    return {"thread_id": call.id, "checkpoint_id": config["configurable"]["checkpoint_id"]}


async def fork(call: Call) -> Any:
    made = await call.thread.afork(call.body["new_thread_id"], at=call.body.get("at"))
    return {"thread_id": made.id}


async def login(call: Call) -> Any:
    """The token itself is checked by the caller: a wrong one never comes here."""
    return {"known": True}


_BY = Field("by", 'whose word it is; "person" if not given')
_AT = Field("at", "a checkpoint id, a label, a run id or a time; without it, the head")
_TODO = (Field("todo", "the todo's id", required=True), _BY)


def _change(name: str, run: Any, about: str, gives: str, *body: Field) -> Operation:
    return Operation("POST", f"{ONE}/{name}", run, about, gives, body=body, changes=True)


OPERATIONS = (
    Operation(
        "POST", "/login", login, "Exchange the token for a cookie.", "Known", public=True,
        body=(Field("token", "the token", required=True),),
    ),
    _change(
        "answer", answer, "Answer an interrupt: the next run goes on with it.", "Answered",
        Field("value", "the answer: a decision, a list of them, or any JSON", "any", required=True),
        Field("loop", "the id of the loop or the interrupt; without it, the only one that waits"),
        Field("by", "who answers"),
        Field("replace", "take the place of an answer that no run has taken up", "boolean"),
    ),
    _change(
        "assign", assign, "Say whose question an interrupt is, and until when.", "Done",
        Field("loop", "as for `answer`"), Field("to", "whose it is"),
        Field("expires_at", "answers after this time are refused"), _BY,
    ),
    _change(
        "resolve", resolve, "Say that an open loop is over.", "ChangedLoop",
        Field("loop", "the loop's id", required=True), Field("outcome", "how it ended"), _BY,
    ),
    _change("complete", complete, "Say that a todo is done.", "ChangedTodo", *_TODO),
    _change("reopen", reopen, "Make a finished todo pending again.", "ChangedTodo", *_TODO),
    _change(
        "label", label, "Name a checkpoint.", "Labelled",
        Field("name", "the label", required=True), _AT,
    ),
    _change(
        "unlabel", unlabel, "Take a label away.", "Unlabelled",
        Field("name", "the label", required=True), _AT,
    ),
    _change(
        "rewind", rewind, "Make an older point the head again. Nothing is deleted.", "Moved",
        Field("to", "a checkpoint id, a label, a time, or a message's id", required=True),
    ),
    _change(
        "fork", fork, "Make a new thread with this one's past up to a point.", "Done",
        Field("new_thread_id", "a thread that has no checkpoints yet", required=True), _AT,
    ),
)  # fmt: skip
