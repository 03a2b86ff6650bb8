"""A thread as a JSON file.

A file holds what people read and, on request, the rows that bring the thread back. It is written
whole or not at all. Rows are written as they are stored, with their checksums;
encrypted ones stay encrypted. So writing and reading are loops over the declared tables.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import xxhash
from langchain_core.messages import BaseMessage

from langgraph_wyrd import errors
from langgraph_wyrd.checkpoints import copy, declare
from langgraph_wyrd.checkpoints.copy import Carried
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.state.codec import to_dict
from langgraph_wyrd.storage import tables
from langgraph_wyrd.storage.encryption import NotOpened
from langgraph_wyrd.storage.names import given, has_surrogate, stored
from langgraph_wyrd.storage.rows import unsound
from langgraph_wyrd.storage.scripts import Script
from langgraph_wyrd.storage.tables import CHECKPOINTS
from langgraph_wyrd.transfer import rows

logger = logging.getLogger("langgraph_wyrd")

FORMAT = "langgraph-wyrd thread"
SCHEMA = 1


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """A file that takes the place of another at once, when all of it is on disk; or not at all."""
    target = Path(path)
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(made, "x", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sum_of(record: Mapping[str, Any]) -> str:
    """Over what a record says, however it is written down."""
    text = json.dumps({k: v for k, v in record.items() if k != "sum"}, sort_keys=True)
    return xxhash.xxh3_64_hexdigest(text.encode())


def shown(message: Any) -> Any:
    """A message for reading."""
    if not isinstance(message, BaseMessage):
        return _plain(message)
    names = ("type", "id", "name", "content", "tool_calls", "tool_call_id", "status")
    held = {name: getattr(message, name, None) for name in names}
    return _plain({name: value for name, value in held.items() if value})


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=repr))


_READABLE = ("working_state", "labels", "heals", "messages", "history")
_OF_THREAD = ("key", "version", "head", "created", "updated", "status", "user_id")


# ---- writing


class Export(NamedTuple):
    """What is written of a thread: its rows as they are stored, and its head for reading."""

    carried: Carried
    state: Any
    messages: list[Any]


def export(dialect: str, codec: Codec, thread_id: str) -> Script[Export | None]:
    carried = yield from rows.stored_rows(dialect, thread_id)
    if carried is None or not carried.rows[CHECKPOINTS.name]:
        return None
    state, messages = yield from declare.to_read(dialect, codec, thread_id)
    return Export(carried, state, messages)


def write(path: str | os.PathLike[str], codec: Codec, found: Export, *, payloads: bool) -> None:
    data = _data(codec, found, payloads)
    text = json.dumps(data, ensure_ascii=False, indent=1)
    with replacing(path) as file:
        # JSON with escapes carries halves of surrogate pairs, UTF-8 does not.
        file.write(json.dumps(data, indent=1) if has_surrogate(text) else text)


def _data(codec: Codec, found: Export, payloads: bool) -> dict[str, Any]:
    """What is written."""
    thread, opened = found.carried.thread, copy.opened(codec, found.carried)
    sealed = ["payloads"] if payloads and codec.sealer is not None else []
    clear = [*_READABLE, *(["payloads"] if payloads and not sealed else [])]
    data: dict[str, Any] = {
        "format": FORMAT, "schema": SCHEMA, "thread_id": given(thread.thread_id),
        **{name: _json(getattr(thread, name)) for name in _OF_THREAD if payloads or name != "key"},
        "payloads": payloads, "in_the_clear": clear, "sealed": sealed,
        "working_state": to_dict(found.state, compact=True),
        "labels": [_label(row) for row in opened.rows[tables.LABELS.name]],
        "heals": [
            {name: value for name, value in row._asdict().items() if name != "thread"}
            for row in opened.rows[tables.HEALS.name]
        ],
        "messages": [*map(shown, found.messages)],
        "history": _history(found.carried),
    }  # fmt: skip
    if payloads:
        data["rows"] = {name: [*map(_row, each)] for name, each in found.carried.rows.items()}
        data["sum"] = sum_of(json.loads(json.dumps(data)))
    return data


def _history(carried: Carried) -> list[dict[str, Any]]:
    """The checkpoints for reading, in the order of their ids."""
    rows = sorted(carried.rows[CHECKPOINTS.name], key=lambda row: (row.id, row.ns))
    return [
        {
            "checkpoint_id": given(row.id), "parent_id": row.parent and given(row.parent),
            "ns": given(row.ns), "ts": row.ts and given(row.ts), "step": row.step,
            "source": row.source, "run_id": row.run_id,
        }
        for row in rows
    ]  # fmt: skip


def _label(row: Any) -> dict[str, Any]:
    return {
        "name": given(row.name), "checkpoint_id": given(row.checkpoint),
        "created_at": row.created_at, "automatic": bool(row.automatic),
    }  # fmt: skip


def _row(row: Any) -> list[Any]:
    return [_json(value) for name, value in zip(row._fields, row, strict=True) if name != "thread"]


def _json(value: Any) -> Any:
    return {"b": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


# ---- reading


def read(path: str | os.PathLike[str], codec: Codec) -> Carried:
    """The thread in a file, its rows opened.

    Raises:
        PayloadTooNew: A newer release wrote it.
        FileDamaged: It is not what was written.
        InvalidInput: It is no such file, was written for reading only, or by another key or serde.
    """
    name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
            if not isinstance(data, Mapping) or data.get("format") != FORMAT:
                raise errors.InvalidInput(f"{name!r} is no export of a thread")
            found = _checked(name, data)
        except errors.WyrdError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
            raise errors.FileDamaged(f"{name!r} is damaged, or cut off: {error!r}") from error
    if not data["sealed"]:
        return found
    refused = (
        f"the payloads of thread {data['thread_id']!r} are encrypted: import them with a saver "
        "that has the serde, or the keys, that they were exported with"
    )
    if codec.sealer is None:
        raise errors.InvalidInput(refused)
    try:
        return copy.opened(codec, found)
    except NotOpened as error:
        raise errors.InvalidInput(refused) from error


def _checked(name: str, data: Mapping[str, Any]) -> Carried:
    schema = data.get("schema")
    if type(schema) is not int:
        raise errors.FileDamaged(f"{name!r} does not say which schema it has")
    if schema > SCHEMA:
        raise errors.PayloadTooNew(
            f"{name!r} has schema {schema}, this release reads up to {SCHEMA}: upgrade "
            "langgraph-wyrd"
        )
    if not data["payloads"]:
        raise errors.InvalidInput(
            f"{name!r} was written for reading only: export with payloads=True (--payloads in a "
            "terminal) to import it again"
        )
    if sum_of(data) != data["sum"]:
        raise errors.FileDamaged(f"{name!r} was changed since it was written")
    key = _value(data["key"])
    held: dict[str, list[Any]] = {}
    for table in copy.COPIED:
        at = table.names.index("thread")
        made = held[table.name] = []
        for each in data["rows"][table.name]:
            values = [*map(_value, each)]
            values.insert(at, key)
            row = table.row._make(values)
            if unsound(table, row):
                raise errors.FileDamaged(f"{name!r}: a row of {table.name} fails its checksum")
            made.append(row)
    head = {each: data[each] for each in _OF_THREAD}
    blank = dict.fromkeys(tables.ThreadRow._fields)
    thread = tables.ThreadRow(**{
        **blank, **head, "key": key, "thread_id": stored(data["thread_id"], "thread_id"),
    })  # fmt: skip
    return Carried(thread, held)


def _value(held: Any) -> Any:
    return base64.b64decode(held["b"]) if isinstance(held, dict) else held
