"""A thread as a JSON file: what people read and compare, and, on request, all that it takes to
bring the thread back.

One line holds one thing, in the thread's order, so two exports of a thread differ where the thread
does. A value that a checkpoint shares with an earlier one is written once.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import xxhash
from langchain_core.messages import BaseMessage

from langgraph_wyrd.errors import FileDamaged, InvalidInput, PayloadTooNew
from langgraph_wyrd.pillars.codec import to_dict
from langgraph_wyrd.pillars.model import WorkingState
from langgraph_wyrd.plans.carry import Carried, Key, Outline, Spot, Times, Told
from langgraph_wyrd.store.values import Codec, mark

FORMAT = "langgraph-wyrd thread"
SCHEMA = 1
_READABLE = ["working_state", "messages", "history"]


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


def _line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or _is_utf8(text) else json.dumps(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


def _sum(record: Mapping[str, Any]) -> str:
    """Over what a record says, however it is written down."""
    text = json.dumps({k: v for k, v in record.items() if k != "sum"}, sort_keys=True)
    return xxhash.xxh3_64_hexdigest(text.encode())


# ---- writing


@dataclass
class Letter:
    """A thread being written, as text, piece by piece."""

    codec: Codec
    payloads: bool
    _first: bool = True
    # What was written last of each channel: the marks of a list's elements, or that of all of it.
    _held: dict[tuple[str, str], list[int] | int | None] = field(default_factory=dict)

    def head(
        self, thread_id: str, times: Times, state: WorkingState, messages: Sequence[Any] | None
    ) -> str:
        clear = list(_READABLE)
        sealed = ["payloads"] if self.payloads and self.codec.seals else []
        if self.payloads and not sealed:
            clear.append("payloads")
        parts = {
            "format": FORMAT,
            "schema": SCHEMA,
            "thread_id": thread_id,
            "created": times.created,
            "updated": times.updated,
            "status": times.status,
            "user_id": times.user,
            "payloads": self.payloads,
            "in_the_clear": clear,
            "sealed": sealed,
        }
        lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in parts.items()]
        shown = json.dumps(to_dict(state, compact=True), ensure_ascii=True, indent=1)
        lines.append(f'"working_state": {shown}')
        said = ",\n".join(_line(_shown(each)) for each in messages or ())
        lines.append(f'"messages": [\n{said}\n]')
        return "{\n" + ",\n".join(lines) + ',\n"history": [\n'

    def checkpoint(self, carried: Carried, told: Told) -> str:
        """One checkpoint: a line for people, and with its payload one for `import_thread`."""
        read = carried.read
        record: dict[str, Any] = {
            "checkpoint_id": read.id,
            "parent_id": read.parent,
            "ns": read.ns,
            "ts": read.checkpoint.get("ts"),
            "step": read.metadata.get("step"),
            "source": read.metadata.get("source"),
            "run_id": read.metadata.get("run_id"),
            "writes": _written(carried),
        }
        if self.payloads:
            record["payload"] = self._payload(carried, told)
            record["sum"] = _sum(record)
        before, self._first = "" if self._first else ",\n", False
        return before + _line(record)

    def end(self) -> str:
        return "\n]\n}\n"

    def _payload(self, carried: Carried, told: Told) -> dict[str, Any]:
        read = carried.read
        rest = {k: v for k, v in read.checkpoint.items() if k != "channel_values"}
        values = read.checkpoint["channel_values"]
        return {
            "checkpoint": self._typed(rest),
            "metadata": self._typed(read.metadata),
            "values": {name: self._value(read.ns, name, value) for name, value in values.items()},
            "writes": [
                [*spot, channel, self._typed(value)]
                for spot, (_, channel, value) in zip(carried.spots, read.writes, strict=True)
            ],
            "ledger": [
                [task, n, pillar, op, item, self.codec.seal_text(body), source]
                for task, n, pillar, op, item, body, source in told.events
            ],
        }

    def _value(self, ns: str, name: str, value: Any) -> Any:
        """All of a value, or how it differs from the one before it: a list often goes on."""
        before = self._held.get((ns, name))
        if type(value) is list and self.codec.splices:
            now = [mark(self.codec.fingerprint_bytes(each)) for each in value]
            self._held[ns, name] = now
            keep = _alike(before, now) if isinstance(before, list) else 0
            return {"keep": keep, "add": [self._typed(each) for each in value[keep:]]}
        whole = self._whole(value)
        self._held[ns, name] = whole
        return (
            {"same": True}
            if whole is not None and whole == before
            else {"whole": self._typed(value)}
        )

    def _whole(self, value: Any) -> int | None:
        try:
            return mark(self.codec.fingerprint_bytes(value))
        except Exception:  # nothing is known of what the serde makes of it
            return None

    def _typed(self, value: Any) -> list[str]:
        kind, data = self.codec.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode()]


def _alike(before: Sequence[int], now: Sequence[int]) -> int:
    """How many elements two lists begin with alike."""
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return place
    return min(len(before), len(now))


def _written(carried: Carried) -> list[str]:
    """Who wrote to what."""
    by_path: dict[str, list[str]] = {}
    for spot, (_, channel, _) in zip(carried.spots, carried.read.writes, strict=True):
        node = spot.path.rpartition(", ")[2] if "__pregel_pull" in spot.path else spot.path
        by_path.setdefault(node, []).append(channel)
    return [f"{node or '-'}: {', '.join(names)}" for node, names in by_path.items()]


def _shown(message: Any) -> Any:
    """A message for reading."""
    if not isinstance(message, BaseMessage):
        return _plain(message)
    names = ("type", "id", "name", "content", "tool_calls", "tool_call_id", "status")
    held = {name: getattr(message, name, None) for name in names}
    return _plain({name: value for name, value in held.items() if value})


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=repr))


# ---- reading


@dataclass
class Opened:
    """A file that was read: the thread in it, ready to be sent."""

    thread_id: str
    times: Times
    codec: Codec
    outline: Outline
    _records: dict[Key, dict[str, Any]]
    _values: dict[Key, dict[str, Any]]

    def these(self, keys: Sequence[Key]) -> Iterator[tuple[dict[str, Any], list[Spot]]]:
        """Each as `config`-free parts: checkpoint, metadata, parent, writes."""
        for key in keys:
            record = self._records[key]
            payload = record["payload"]
            checkpoint = self._loaded(payload["checkpoint"])
            checkpoint["channel_values"] = {
                name: self._value(value) for name, value in self._values[key].items()
            }
            writes = payload["writes"]
            parts = {
                "checkpoint": checkpoint,
                "metadata": self._loaded(payload["metadata"]),
                "parent": record["parent_id"],
                "writes": [(task, name, self._loaded(held)) for _, task, _, name, held in writes],
            }
            yield parts, [Spot(path, task, idx) for path, task, idx, _, _ in writes]

    def told(self, keys: Sequence[Key]) -> list[Told]:
        return [
            Told(
                key,
                [
                    (*row[:5], self.codec.open_text(row[5]), row[6])
                    for row in self._records[key]["payload"]["ledger"]
                ],
            )
            for key in keys
        ]

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._loaded(each) for each in value]
        return self._loaded(value["whole"])

    def _loaded(self, typed: Sequence[str]) -> Any:
        kind, data = typed
        try:
            return self.codec.serde.loads_typed((kind, base64.b64decode(data)))
        except Exception as error:
            raise InvalidInput(
                f"the payloads of thread {self.thread_id!r} can't be read with this saver's serde: "
                f"use the one that they were exported with ({error!r})"
            ) from error


def opened(path: str | os.PathLike[str], codec: Codec) -> Opened:
    """The thread in a file.

    Raises:
        PayloadTooNew: A newer release wrote it.
        FileDamaged: It is not what was written.
        InvalidInput: It is no such file, or was written for reading only.
    """
    data = _read(path)
    try:
        records = {(each["ns"], each["checkpoint_id"]): each for each in data["history"]}
        for record in records.values():
            if _sum(record) != record["sum"]:
                raise FileDamaged(
                    f"{os.fspath(path)!r}: checkpoint {record['checkpoint_id']} was changed since "
                    "it was written"
                )
        if len(records) != len(data["history"]):
            raise FileDamaged(f"{os.fspath(path)!r} holds a checkpoint twice")
        outline = Outline({key: record["parent_id"] for key, record in records.items()}, {})
        times = Times(data["created"], data["updated"], data["status"], data["user_id"])
        return Opened(data["thread_id"], times, codec, outline, records, _values(records))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileDamaged(f"{os.fspath(path)!r} is damaged: {error!r}") from error


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # cut off, or no JSON at all
        raise FileDamaged(f"{name!r} is no whole JSON file: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidInput(f"{name!r} is no export of a thread")
    schema = data.get("schema")
    if type(schema) is not int:
        raise FileDamaged(f"{name!r} does not say which schema it has")
    if schema > SCHEMA:
        raise PayloadTooNew(
            f"{name!r} has schema {schema}, this release reads up to {SCHEMA}: upgrade "
            "langgraph-wyrd"
        )
    if not data.get("payloads"):
        raise InvalidInput(
            f"{name!r} was written for reading only: export with payloads=True to import it again"
        )
    return data


def _values(records: Mapping[Key, dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Lists put together again from what each checkpoint added; elements are shared."""
    held: dict[tuple[str, str], Any] = {}
    found: dict[Key, dict[str, Any]] = {}
    for key, record in records.items():
        made: dict[str, Any] = {}
        for name, value in record["payload"]["values"].items():
            before = held.get((key[0], name), [])
            if "whole" in value:
                made[name] = value
            elif "same" in value:
                made[name] = held[key[0], name]
            elif value["keep"] <= len(before):
                made[name] = [*before[: value["keep"]], *value["add"]]
            else:
                raise ValueError(f"{name} goes on from what is not there")
            held[key[0], name] = made[name]
        found[key] = made
    return found
