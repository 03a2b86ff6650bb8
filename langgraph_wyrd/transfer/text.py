"""The text of a thread's file: JSON with one thing a line, written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import xxhash
from langchain_core.messages import BaseMessage

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


def line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or _is_utf8(text) else json.dumps(value)


def one_a_line(name: str, values: Iterable[Any]) -> str:
    """One a line."""
    said = ",\n".join(map(line, values))
    return f"{json.dumps(name)}: [\n{said}\n]"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


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
