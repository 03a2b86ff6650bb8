"""Arguments of a wrong type are refused by name, before anything is stored."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from langgraph_wyrd.errors import InvalidInput, WrongUser
from tests.conftest import Backend
from tests.handmade import checkpoint, config, put

Call = Callable[..., Any]
NEW = checkpoint({"x": 1})


def at(**named: Any) -> Any:
    return {"configurable": {**config("t")["configurable"], **named}}


WRONG: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], str]] = {
    "no config": ("get_tuple", (None,), {}, "config is None: pass"),
    "a text": ("get_tuple", ("t",), {}, "config is 't': pass"),
    "its configurable": ("get_tuple", ({"configurable": ["t"]},), {}, "config is .*: pass"),
    "a namespace": ("get_tuple", (at(checkpoint_ns=5),), {}, "checkpoint_ns is 5, a int"),
    "a list's config": ("list", (5,), {}, "config is 5"),
    "a list's namespace": ("list", (at(checkpoint_ns=b"n"),), {}, "checkpoint_ns is b'n'"),
    "a filter": ("list", (None,), {"filter": ["source"]}, r"filter=\['source'\]"),
    "before": ("list", (None,), {"before": "1f0"}, "before.*has no checkpoint_id"),
    "a limit": ("list", (None,), {"limit": "3"}, "limit='3'"),
    "half a limit": ("list", (None,), {"limit": 1.5}, "limit=1.5"),
    "a checkpoint": ("put", (at(), None, {}, {}), {}, r"put\(\) takes a checkpoint .* None and"),
    "without an id": ("put", (at(), {"v": 4}, {}, {}), {}, r"put\(\) takes .* with an id"),
    "its id": ("put", (at(), {**NEW, "id": 7}, {}, {}), {}, "checkpoint_id is 7"),
    "its time": ("put", (at(), {**NEW, "ts": 7}, {}, {}), {}, "ts is 7"),
    "its metadata": ("put", (at(), NEW, None, {}), {}, r"put\(\) takes .* metadata"),
    "writes": ("put_writes", (at(checkpoint_id="1"), 5, "t"), {}, r"put_writes\(\) takes pairs"),
    "a write": ("put_writes", (at(checkpoint_id="1"), ["a"], "t"), {}, "takes pairs"),
    "a channel": ("put_writes", (at(checkpoint_id="1"), [(None, 1)], "t"), {}, "takes pairs"),
    "a task": ("put_writes", (at(checkpoint_id="1"), [("a", 1)], None), {}, "task_id is None"),
    "its path": ("put_writes", (at(checkpoint_id="1"), [("a", 1)], "t", 5), {}, "path is 5"),
    "threads": ("prune", (5,), {}, "thread_ids is 5"),
    "runs": ("delete_for_runs", (None,), {}, "run_ids is None"),
    "a run": ("delete_for_runs", ([5],), {}, "a run id is 5"),
    "channels": (
        "get_delta_channel_history", (), {"config": at(), "channels": 5}, "channels is 5",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_type_is_named(backend: Backend, call: Call, case: str) -> None:
    """InvalidInput says which argument it is; a saver for one user may see first whose it is."""
    method, args, options, said = WRONG[case]
    saver = backend.open()
    with pytest.raises(InvalidInput, match=said):
        await call(saver, method, *args, **options)
    with pytest.raises((InvalidInput, WrongUser)):
        await call(saver.for_user("ann"), method, *args, **options)
    assert saver.get_tuple(config("t")) is None


async def test_a_uuid_is_a_checkpoint_id(backend: Backend, call: Call) -> None:
    """In a listing as in a load."""
    saver = backend.open()
    id = put(saver, "t", {"x": 1})["configurable"]["checkpoint_id"]
    found = await call(saver, "get_tuple", at(checkpoint_id=uuid.UUID(id)))
    (listed,) = await call(saver, "list", at(checkpoint_id=uuid.UUID(id)))
    assert found.checkpoint["id"] == listed.checkpoint["id"] == id
    assert not await call(saver, "list", at(checkpoint_id="no uuid"))
    assert await call(saver, "get_tuple", at(checkpoint_id="no uuid")) is None


@pytest.mark.parametrize("key", ["a\0b", "a\ud800"])
async def test_a_context_key_that_no_database_stores(
    backend: Backend, call: Call, key: str
) -> None:
    """It is refused as such a value is, on both databases."""
    saver = backend.open()
    put(saver, "t", {"x": 1})
    with pytest.raises(InvalidInput, match="a context key holds a NUL or half a character"):
        await call(saver.thread("t"), "set_context", key, 1)
    assert saver.verify().ok
