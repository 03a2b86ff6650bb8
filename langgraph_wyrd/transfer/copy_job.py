"""Copies one thread from one saver to another: in which order, and how it is compared."""

from __future__ import annotations

import contextlib
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import timezone
from functools import partial
from operator import add
from typing import Any, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.checkpoints import copy
from langgraph_wyrd.checkpoints.path import find
from langgraph_wyrd.checkpoints.read import merged
from langgraph_wyrd.configs import checkpoint_config, parent_of
from langgraph_wyrd.errors import CopyDiffers, Unserialisable
from langgraph_wyrd.state.wording import moment
from langgraph_wyrd.storage.keys import found_by
from langgraph_wyrd.storage.names import given, stored
from langgraph_wyrd.storage.scripts import Command, Query, Script
from langgraph_wyrd.transfer import thread_rows
from langgraph_wyrd.transfer.endpoint import (
    Endpoint,
    Found,
    Key,
    Outline,
    WritePlace,
    in_order,
)
from langgraph_wyrd.types.rebuild import refused
from langgraph_wyrd.views.text import count

logger = logging.getLogger("langgraph_wyrd")

PAGE = 32  # checkpoints that are held at once


@contextlib.contextmanager
def _explained(thread_id: Any, found: CheckpointTuple) -> Iterator[None]:
    """A serializer that refuses what was kept does not say what that is."""
    try:
        yield
    except Exception as error:
        held = [found.checkpoint["channel_values"], found.metadata, found.pending_writes]
        why = refused(held, error)
        if why == str(error):
            raise
        id = found.checkpoint["id"]
        raise Unserialisable(
            f"checkpoint {id} of thread {thread_id!r} can't be sent: {why}"
        ) from error


@dataclass(frozen=True)
class Report:
    """What a copy did. All that was sent was read back, and equalled what was sent."""

    threads: int = 0
    checkpoints: int = 0  # sent
    writes: int = 0  # pending writes sent with them
    there: int = 0  # checkpoints that the target had already
    left: tuple[tuple[str, str], ...] = ()  # threads that were left alone, and why

    def __str__(self) -> str:
        text = (
            f"{count(self.threads, 'thread')}: {count(self.checkpoints, 'checkpoint')} and "
            f"{count(self.writes, 'write')} copied, {self.there} were there already"
        )
        return f"{text}; {count(len(self.left), 'thread')} left alone" if self.left else text

    def __add__(self, other: Report) -> Report:
        return Report(*map(add, astuple(self), astuple(other)))


class CopyJob:
    """Copies one thread."""

    def __init__(
        self, source: Endpoint, target: Endpoint, id: Any, tell: Callable[[int], None]
    ) -> None:
        self.source = source
        self.target = target
        self.id = id
        self._progress = tell
        self._version = _versions(target)
        self._sent = Report(threads=1)
        self._before: tuple[Key, dict[str, Any], set[str]] | None = None  # the checkpoint sent last
        self._equals: dict[tuple[int, int], tuple[Any, Any]] = {}  # elements that equal each other

    def copy(self) -> Report:
        wanted = self.source.outline(self.id)
        ours = self.target.outline(self.id)
        if why := _why_not(wanted, ours):
            logger.warning("thread %r was not copied: %s", self.id, why)
            return Report(left=((str(self.id), why),))
        self.target.expect(self.id)
        order = in_order(wanted)
        waiting = [
            key
            for key in order
            if key not in ours.parents
            or ours.writes.get(key) != wanted.writes.get(key)
            or not wanted.fixed(key)
        ]
        there = len(order) - len(waiting)
        self._sent = replace(self._sent, there=there)
        self._progress(there)
        for start in range(0, len(waiting), PAGE):
            self._page(waiting[start : start + PAGE], ours)
            self._progress(there + min(start + PAGE, len(waiting)))
        if self._sent.checkpoints:
            self.target.arrived(self.id)
        return self._sent

    def _page(self, keys: Sequence[Key], ours: Outline) -> None:
        self._equals.clear()
        found = self.source.read(self.id, keys)
        known = [key for key in keys if key in ours.parents]
        held = dict(zip(known, self.target.read(self.id, known), strict=True))
        sent: dict[Key, Found] = {}
        for key, read in zip(keys, found, strict=True):
            if read is None:
                continue  # deleted at the source meanwhile
            carried = self._converted(read[0]), read[1]
            if (old := held.get(key)) is not None and self._differs(carried, old) is None:
                self._sent = replace(self._sent, there=self._sent.there + 1)
                continue
            self._send(key, carried, ours)
            sent[key] = carried
        back = self.target.read(self.id, list(sent))
        for (key, carried), again in zip(sent.items(), back, strict=True):
            why = "it is not there" if again is None else self._differs(carried, again)
            if why is not None:
                raise CopyDiffers(
                    f"checkpoint {key[1]} of thread {self.id!r}"
                    f"{f' in {key[0]!r}' if key[0] else ''} was sent, and read back as something "
                    f"else: {why}"
                )
        self._sent += Report(
            checkpoints=len(sent), writes=sum(len(places) for _, places in sent.values())
        )

    def _send(self, key: Key, carried: Found, ours: Outline) -> None:
        found, places = carried
        ns, id = key
        parent = parent_of(found)
        if key not in ours.parents:
            new = self._new_versions(found, ns, parent)
            at = checkpoint_config(self.id, ns, parent)
            with _explained(self.id, found):
                self.target.call("put", at, found.checkpoint, found.metadata, new)
            self._note(key, found)
        at = checkpoint_config(self.id, ns, id)
        at["metadata"] = {k: v for k, v in found.metadata.items() if k == "user_id"}  # whose it is
        for path, task, writes in _calls(found.pending_writes or [], places):
            with _explained(self.id, found):
                self.target.call("put_writes", at, writes, task, path)

    def _new_versions(self, found: CheckpointTuple, ns: str, parent: str | None) -> dict[str, Any]:
        """The versions that the parent, as the target has it, does not have with their values."""
        versions: dict[str, Any] = dict(found.checkpoint["channel_versions"])
        if parent is None:
            return versions
        if self._before is None or self._before[0] != (ns, parent):
            (read,) = self.target.read(self.id, [(ns, parent)])
            if read is None:
                return versions
            self._note((ns, parent), read[0])
        assert self._before is not None
        _, held, valued = self._before
        values = found.checkpoint["channel_values"]
        return {
            name: version
            for name, version in versions.items()
            if held.get(name) != version or (name in values and name not in valued)
        }

    def _note(self, key: Key, found: CheckpointTuple) -> None:
        checkpoint = found.checkpoint
        self._before = key, dict(checkpoint["channel_versions"]), {*checkpoint["channel_values"]}

    def _converted(self, found: CheckpointTuple) -> CheckpointTuple:
        """A checkpoint as the target takes it: versions of the kind that it counts in."""
        version, old = self._version, found.checkpoint
        checkpoint: Any = {
            **old,
            "channel_versions": {k: version(v) for k, v in old["channel_versions"].items()},
            "versions_seen": {
                node: {k: version(v) for k, v in seen.items()}
                for node, seen in old["versions_seen"].items()
            },
        }
        return found._replace(checkpoint=checkpoint, metadata=self.target.stored(found.metadata))

    # ---- comparing

    def _differs(self, sent: Found, back: Found) -> str | None:
        """Where two checkpoints differ; None: nowhere."""
        (one, wanted), (other, places) = sent, back
        if parent_of(one) != parent_of(other):
            return f"its parent is {parent_of(other)}, not {parent_of(one)}"
        mine, theirs = dict(one.checkpoint), dict(other.checkpoint)
        for name in ("channel_versions", "versions_seen", "updated_channels", "ts", "v"):
            if mine.get(name) != theirs.get(name):
                return f"its {name} differ"
        values, held = one.checkpoint["channel_values"], other.checkpoint["channel_values"]
        for side, found, names in (
            (self.source, one, values.keys() - held.keys()),
            (self.target, other, held.keys() - values.keys()),
        ):
            if names and not self._inherited(side, found, names):
                return f"channels {sorted(names)} are in one only"
        for name in values.keys() & held.keys():
            if not self._equal(values[name], held[name]):
                return f"the value of {name!r} differs"
        if not _alike(one.metadata, other.metadata):
            return "its metadata differ"
        writes, stored = one.pending_writes or [], other.pending_writes or []
        if [each[:2] for each in writes] != [each[:2] for each in stored]:
            return f"its pending writes are {len(stored)}, or in another order, of {len(writes)}"
        knows_paths = self.source.knows_paths and self.target.knows_paths
        if knows_paths and [each[:2] for each in wanted] != [each[:2] for each in places]:
            return "its writes' task paths differ"
        for (_, name, value), (_, _, again) in zip(writes, stored, strict=True):
            if not self._equal(value, again):
                return f"the value of a write to {name!r} differs"
        return None

    def _inherited(self, side: Endpoint, found: CheckpointTuple, names: Iterable[str]) -> bool:
        """Whether these are the parent's values, at the parent's versions.

        Most savers keep a value by its version, so a delta channel's snapshot is seen in every
        checkpoint of that version; the SQLite ones keep it where it was put.
        """
        config, parent = found.config["configurable"], parent_of(found)
        key = (config.get("checkpoint_ns", ""), parent or "")
        if parent is None or (read := (side.read(self.id, [key]))[0]) is None:
            return False
        old, new = self._converted(read[0]).checkpoint, found.checkpoint
        return all(
            old["channel_versions"].get(name) == new["channel_versions"].get(name)
            and name in old["channel_values"]
            and self._equal(old["channel_values"][name], new["channel_values"][name])
            for name in names
        )

    def _equal(self, one: Any, other: Any) -> bool:
        """Whether two values are the same: element by element, as lists and dicts that grow share
        theirs from checkpoint to checkpoint; else as a whole."""
        if type(one) is type(other) and type(one) in (list, dict) and len(one) == len(other):
            pairs = [*zip(one, other, strict=True)]
            if type(one) is dict:
                pairs += zip(one.values(), other.values(), strict=True)
            if all(self._known(*pair) for pair in pairs):
                return True
        return self._packed_alike(one, other)

    def _known(self, one: Any, other: Any) -> bool:
        """Whether two elements are the same, looked at once in a page."""
        if type(one) is str and type(other) is str:
            return one == other
        key = id(one), id(other)
        if key not in self._equals:
            if not self._packed_alike(one, other):
                return False
            self._equals[key] = one, other  # held: nothing else gets their ids
        return True

    def _packed_alike(self, one: Any, other: Any) -> bool:
        """Whether two values are the same: as the serde packs them, or as they compare."""
        for serde in (_PLAIN, self.target.saver.serde):
            with contextlib.suppress(Exception):
                if serde.dumps_typed(one) == serde.dumps_typed(other):
                    return True
        with contextlib.suppress(Exception):  # sets have no order, and ciphers no memory
            return type(one) is type(other) and bool(one == other)
        return False


_PLAIN = JsonPlusSerializer()


def _alike(one: Any, other: Any) -> bool:
    """Whether two metadata are equal as far as JSON, which most savers keep them in, can tell."""
    if one == other:
        return True
    left, right = (
        json.loads(json.dumps({k: v for k, v in each.items() if k != "writes"}, default=repr))
        for each in (one, other)
    )
    return bool(left == right)


def _why_not(theirs: Outline, ours: Outline) -> str | None:
    """Why the target's thread is not the source's, or a part of it."""
    if unknown := ours.parents.keys() - theirs.parents.keys():
        return (
            f"the target's thread of this id has {len(unknown)} checkpoints that the source has "
            "not: it is another one, or went on"
        )
    for key, parent in ours.parents.items():
        if theirs.parents[key] != parent:
            return f"checkpoint {key[1]} has another parent in the target's thread of this id"
    return None


def _calls(
    writes: Sequence[tuple[str, str, Any]], places: Sequence[WritePlace]
) -> Iterator[tuple[str, str, list[tuple[str, Any]]]]:
    """The `put_writes` that leave these writes, each under the number that it had.

    Numbers are places in a call, so where one is missing a control write, whose number is fixed,
    stood between two others, and does so again.
    """
    by_task: dict[tuple[str, str], list[tuple[int, str, Any]]] = {}
    for (task, channel, value), place in zip(writes, places, strict=True):
        by_task.setdefault((place.path, task), []).append((place.idx, channel, value))
    for (path, task), held in by_task.items():
        control = [(name, value) for _, name, value in held if name in WRITES_IDX_MAP]
        ordinary = sorted((w for w in held if w[1] not in WRITES_IDX_MAP), key=lambda w: w[0])
        if control:
            yield path, task, control
        call: list[tuple[str, Any]] = []
        for idx, name, value in ordinary:
            while control and len(call) < idx:
                call.append(control[0])
            call.append((name, value))
        if call:
            yield path, task, call


def _versions(target: Endpoint) -> Callable[[Any], Any]:
    """Versions as the target counts them: text that sorts, or numbers. Both kinds never mix."""
    first = target.saver.get_next_version(None, None)
    kind = type(first)

    def version(given: Any) -> Any:
        if isinstance(given, kind):
            return given
        if kind is str:
            return f"{int(given):032}.{0:016}"
        number, _, rest = str(given).partition(".")
        # Two forks may count alike: what stands behind the point tells their versions apart.
        return kind((int(number) << 20) + zlib.crc32(rest.encode()) % (1 << 20))

    return version


T = TypeVar("T")


class Ours(Endpoint):
    """A WyrdSaver."""

    knows_paths = True
    saver: Any

    def run(self, script: Callable[[], Script[T]], *, writes: bool = False) -> T:
        """Run a script on the saver's database."""
        found: T = self.saver._engine.run(script, writes=writes)
        return found

    def threads(self) -> list[tuple[Any, int]]:
        made: list[tuple[str, int]] = []
        while page := self.run(partial(thread_rows.threads, made[-1][0] if made else "")):
            made += page
        return [(given(name), count) for name, count in made if count]

    def outline(self, thread_id: Any) -> Outline:
        script = partial(_outline, self.saver._dialect, stored(str(thread_id), "thread_id"))
        return self.run(script)

    def _write_places(self, thread_id: Any, key: Key, writes: Sequence[Any]) -> list[WritePlace]:
        if not writes:
            return []
        place = (stored(str(thread_id), "thread_id"), *(stored(each, "an id") for each in key))
        return self.run(partial(_write_places, self.saver._dialect, self.saver._codec, *place))

    def stored(self, metadata: Any) -> Any:
        redaction = getattr(self.saver, "_redaction", None)
        return metadata if redaction is None else redaction(metadata)

    def expect(self, thread_id: Any) -> None:
        name = stored(str(thread_id), "thread_id")
        self.run(partial(_expect, name), writes=True)
        self.saver._cache.drop(name)

    def arrived(self, thread_id: Any) -> None:
        name = stored(str(thread_id), "thread_id")
        self.run(partial(_timed, self.saver._dialect, name), writes=True)
        if self.saver._reader is not None:  # the order in which tasks wrote matters to it
            self.call("reextract", thread_id)


def between(source: Ours, target: Ours, id: Any) -> Report | None:
    """Copy a thread from one of ours to another, row by row; None: it has to be read and put.

    That is so where values are packed in another way, and where no working state was read yet.
    """
    if source.saver._codec.splits != target.saver._codec.splits or not target.saver._codec.splits:
        return None
    name = stored(str(id), "thread_id")
    found = source.run(partial(thread_rows.stored, source.saver._dialect, name))
    if found is None:
        return Report()
    if found.thread.status is None and target.saver._reader is not None:
        return None
    saver = target.saver
    carried = copy.opened(source.saver._codec, found)
    made = target.run(
        partial(copy.arrive, saver._dialect, saver._codec, name, carried),
        writes=True,
    )
    saver._cache.drop(name)
    if made.why is not None:
        logger.warning("thread %r was not copied: %s", id, made.why)
        return Report(left=((str(id), made.why),))
    return Report(1, made.checkpoints, made.writes, made.there)


# ---- scripts

_KEY = {
    "sqlite": "(SELECT key FROM wyrd_threads WHERE thread_id = ?)",
    "postgres": "?",
}


def _outline(dialect: str, thread_id: str) -> Script[Outline]:
    by = (found_by(dialect, thread_id),)
    places, writes = yield [
        Query(f"SELECT ns, id, parent FROM wyrd_checkpoints WHERE thread = {_KEY[dialect]}", by),
        Query(
            "SELECT ns, checkpoint, count(*) FROM wyrd_writes "
            f"WHERE thread = {_KEY[dialect]} GROUP BY ns, checkpoint",
            by,
        ),
    ]
    return Outline(
        {(given(ns), given(id)): parent and given(parent) for ns, id, parent in places},
        # Calls, not writes, and any may hold what can be replaced: they are always compared.
        {(given(ns), given(id)): (count, -1) for ns, id, count in writes},
    )


def _write_places(
    dialect: str, codec: Any, thread_id: str, ns: str, id: str
) -> Script[list[WritePlace]]:
    found = yield from find(dialect, thread_id, ns, id)
    return [WritePlace(given(w.path), given(w.task), w.idx) for w in merged(codec, found.writes)]


def _expect(thread_id: str) -> Script[None]:
    """A person may bring back what was deleted: it is not refused."""
    yield Command(
        "UPDATE wyrd_threads SET buried = NULL, deleted_at = NULL, version = version + 1 "
        "WHERE thread_id = ? AND buried IS NOT NULL",
        [(thread_id,)],
    )


def _timed(dialect: str, thread_id: str) -> Script[None]:
    """The thread's times are those of its checkpoints, not of their arrival."""
    answer = yield Query(
        f"SELECT ts FROM wyrd_checkpoints WHERE thread = {_KEY[dialect]} AND ts IS NOT NULL",
        (found_by(dialect, thread_id),),
    )
    times = [at.astimezone(timezone.utc) for (ts,) in answer if (at := moment(given(ts)))]
    if times:
        yield Command(
            "UPDATE wyrd_threads SET created = ?, updated = ? WHERE thread_id = ?",
            [(min(times).isoformat(), max(times).isoformat(), thread_id)],
        )
