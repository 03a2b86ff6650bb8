"""A thread's file read piece by piece: memory holds one state of the thread, whatever its length.

The file is gone through several times: first all of it is checked, so that a damaged file changes
nothing; then its checkpoints are read in their order, a page at a time; then what they say in the
ledger.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from langgraph_wyrd.errors import FileDamaged, InvalidInput, PayloadTooNew, WyrdError
from langgraph_wyrd.plans.beside import Beside
from langgraph_wyrd.plans.carry import Key, Outline, Spot, Times, Told
from langgraph_wyrd.store.values import Codec
from langgraph_wyrd.transfer.files import HEAL, LABEL, Whole
from langgraph_wyrd.transfer.text import FORMAT, SCHEMA, sum_of

_CHUNK = 1 << 16  # characters
_NEAR = 64  # an error so near to what was read last may be one only because there is more
_HELD = 40  # checkpoints that somebody may ask for again
_SPACE = re.compile(r"[ \t\r\n]*")


class Pieces:
    """The members of a JSON object; those of its array `history` one by one."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decode = json.JSONDecoder().raw_decode

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        self._take("{")
        while True:
            name = self._value()
            self._take(":")
            if name != "history":
                yield name, self._value()
            else:
                self._take("[")
                while self._peek() != "]":
                    yield name, self._value()
                    if self._peek() != "]":
                        self._take(",")
                self._take("]")
            if self._take(",}") == "}":
                break
        if self._peek():
            raise ValueError("something stands behind the end")

    def _peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _take(self, marks: str) -> str:
        found = self._peek()
        if not found or found not in marks:
            raise ValueError(f"{found!r} stands where {' or '.join(marks)} should")
        self._at += 1
        return found

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut_off = error.msg.startswith("Unterm") or error.pos > len(self._text) - _NEAR
                if not cut_off or not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():
                continue  # a number may go on
            self._at = end
            return value

    def _more(self) -> bool:
        """Read on, twice as much each time, so that a long piece is not looked at too often."""
        chunk = self._file.read(max(_CHUNK, len(self._text) - self._at))
        self._text = self._text[self._at :] + chunk
        self._at = 0
        return bool(chunk)


Record = dict[str, Any]
Parts = tuple[dict[str, Any], list[Spot]]


@dataclass
class Opened:
    """A file that was checked: the thread in it, ready to be sent."""

    path: str
    thread_id: str
    times: Times
    beside: Beside
    outline: Outline
    codec: Codec
    _file: IO[str]
    _last: dict[str, Key]  # the last checkpoint of each namespace
    _records: Iterator[tuple[Key, Record]] = field(default_factory=lambda: iter(()))
    _telling: Iterator[tuple[Key, Record]] = field(default_factory=lambda: iter(()))
    _held: dict[tuple[str, str], Any] = field(default_factory=dict)  # values read last
    _kept: OrderedDict[Key, Parts] = field(default_factory=OrderedDict)

    def these(self, keys: Sequence[Key]) -> list[Parts]:
        """Each as `config`-free parts, checkpoint, metadata, parent, writes; and where the writes
        stand. Asked for in the file's order they are read once."""
        found: dict[Key, Parts] = {}
        for key in keys:
            found[key] = self._kept[key] if key in self._kept else self._read_to(key)
        return [found[key] for key in keys]

    def _read_to(self, wanted: Key) -> Parts:
        for again in (False, True):
            if again:  # it stands before what was read
                self._records, self._held = _records(self._file), {}
                self._telling = iter(())  # there is one place in the file
            for key, record in self._records:
                parts = self._kept[key] = self._parts(key, record)
                if len(self._kept) > _HELD:
                    self._kept.popitem(last=False)
                if key == wanted:
                    return parts
        raise FileDamaged(f"{self.path!r} was changed while it was read")

    def told(self, keys: Sequence[Key]) -> list[Told]:
        """What these checkpoints say in the ledger. Values are not read meanwhile."""
        wanted, found = set(keys), dict[Key, Told]()
        self._records = iter(())
        for again in (False, True):
            if again and len(found) < len(wanted):  # some stand before what was read
                self._telling = _records(self._file)
            while len(found) < len(wanted) and (step := next(self._telling, None)) is not None:
                key, record = step
                if key in wanted:
                    rows = record["payload"]["ledger"]
                    found[key] = Told(
                        key, [(*r[:5], self.codec.open_text(r[5]), r[6]) for r in rows]
                    )
        if len(found) < len(wanted):
            raise FileDamaged(f"{self.path!r} was changed while it was read")
        return [found[key] for key in keys]

    def _parts(self, key: Key, record: Record) -> Parts:
        payload = record["payload"]
        checkpoint = self._loaded(payload["checkpoint"])
        checkpoint["channel_values"] = {
            name: self._value((key[0], name), value) for name, value in payload["values"].items()
        }
        if self._last.get(key[0]) == key:  # nothing more goes on from these
            for place in [place for place in self._held if place[0] == key[0]]:
                del self._held[place]
        writes = payload["writes"]
        parts = {
            "checkpoint": checkpoint,
            "metadata": self._loaded(payload["metadata"]),
            "parent": record["parent_id"],
            "writes": [(task, name, self._loaded(held)) for _, task, _, name, held in writes],
        }
        return parts, [Spot(path, task, idx) for path, task, idx, _, _ in writes]

    def _value(self, place: tuple[str, str], value: Record) -> Any:
        """A value put together from what the checkpoint before held, and what is new."""
        if "same" in value:
            return self._held[place]
        if "whole" in value:
            made = self._loaded(value["whole"])
        else:
            before = self._held[place][: value["keep"]] if value["keep"] else []
            made = [*before, *map(self._loaded, value["add"])]
        self._held[place] = made
        return made

    def _loaded(self, typed: Sequence[str]) -> Any:
        kind, data = typed
        try:
            return self.codec.load_typed(kind, base64.b64decode(data))
        except Exception as error:
            raise InvalidInput(
                f"the payloads of thread {self.thread_id!r} can't be read with this saver's serde: "
                f"use the one that they were exported with ({error!r})"
            ) from error


def _records(file: IO[str]) -> Iterator[tuple[Key, Record]]:
    file.seek(0)
    for name, each in Pieces(file):
        if name == "history":
            yield (each["ns"], each["checkpoint_id"]), each


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], codec: Codec) -> Iterator[Opened]:
    """The thread in a file, all of which was checked.

    Raises:
        PayloadTooNew: A newer release wrote it.
        FileDamaged: It is not what was written.
        InvalidInput: It is no such file, or was written for reading only.
    """
    name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        try:
            found = _Check(name).over(file, codec)
        except WyrdError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
            raise FileDamaged(f"{name!r} is damaged, or cut off: {error!r}") from error
        yield found


class _Check:
    """A file gone through once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._head: dict[str, Any] = {}
        self._parents: dict[Key, str | None] = {}
        self._last: dict[str, Key] = {}
        self._lengths: dict[tuple[str, str], int] = {}  # of lists, -1: of something else
        self._whole: Whole | None = None

    def over(self, file: IO[str], codec: Codec) -> Opened:
        for name, each in Pieces(file):
            if name != "history":
                self._head[name] = each
                continue
            if self._whole is None:
                self._begin()
            self._record(each)
        whole = self._whole or self._begin()
        head = self._head
        if head["whole"] != whole.as_dict():
            raise FileDamaged(
                f"{self._name!r} was changed since it was written: something is missing, or new"
            )
        return Opened(
            self._name,
            head["thread_id"],
            Times(head["created"], head["updated"], head["status"], head["user_id"]),
            Beside(
                [tuple(each[name] for name in LABEL) for each in head["labels"]],
                [tuple(each[name] for name in HEAL) for each in head["heals"]],
            ),
            Outline(self._parents, {}),
            codec,
            file,
            self._last,
        )

    def _begin(self) -> Whole:
        head, name = self._head, self._name
        if head.get("format") != FORMAT:
            raise InvalidInput(f"{name!r} is no export of a thread")
        schema = head.get("schema")
        if type(schema) is not int:
            raise FileDamaged(f"{name!r} does not say which schema it has")
        if schema > SCHEMA:
            raise PayloadTooNew(
                f"{name!r} has schema {schema}, this release reads up to {SCHEMA}: upgrade "
                "langgraph-wyrd"
            )
        if not head.get("payloads"):
            raise InvalidInput(
                f"{name!r} was written for reading only: export with payloads=True (--payloads in "
                "a terminal) to import it again"
            )
        self._whole = Whole(head)
        return self._whole

    def _record(self, record: Record) -> None:
        assert self._whole is not None
        key = record["ns"], record["checkpoint_id"]
        if sum_of(record) != record["sum"]:
            raise FileDamaged(
                f"{self._name!r}: checkpoint {key[1]} was changed since it was written"
            )
        if key in self._parents:
            raise FileDamaged(f"{self._name!r} holds a checkpoint twice")
        self._whole.add(record)
        self._parents[key], self._last[key[0]] = record["parent_id"], key
        for name, value in record["payload"]["values"].items():
            place = (key[0], name)
            if "whole" in value:
                self._lengths[place] = -1
            elif "same" not in value:
                if value["keep"] > max(0, self._lengths.get(place, 0)):
                    raise ValueError(f"{name} goes on from what is not there")
                self._lengths[place] = value["keep"] + len(value["add"])
            elif place not in self._lengths:
                raise ValueError(f"{name} is the same as what is not there")
