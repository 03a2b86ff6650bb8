"""Copies one thread from one saver to another: in which order, and how it is compared."""

from __future__ import annotations

import contextlib
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.checkpoints import copy
from langgraph_wyrd.checkpoints.lookup import thread_row
from langgraph_wyrd.configs import checkpoint_config, parent_of
from langgraph_wyrd.errors import CopyDiffers, Unserialisable
from langgraph_wyrd.state.wording import count
from langgraph_wyrd.storage.names import stored
from langgraph_wyrd.storage.scripts import Query, Script
from langgraph_wyrd.transfer import rows
from langgraph_wyrd.transfer.endpoint import Endpoint, Found, Key, Ours, Parents, WritePlace
from langgraph_wyrd.types.rebuild import refused

logger = logging.getLogger("langgraph_wyrd")

PAGE = 32  # checkpoints that are held at once


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


def copied(source: Endpoint, target: Endpoint, id: Any, tell: Callable[[int], None]) -> Report:
    """Copy one thread; `tell` is called with how many checkpoints are done."""
    if isinstance(source, Ours) and isinstance(target, Ours):
        report = _between(source, target, id)
        if report is not None:
            return report
    return _CopyJob(source, target, id, tell).copy()


def _between(source: Ours, target: Ours, id: Any) -> Report | None:
    """Copy a thread from one of ours to another, row by row; None: it has to be read and put.

    That is so where values are packed in another way, and where no working state was read yet.
    """
    codec, saver = source.saver._codec, target.saver
    name = stored(str(id), "thread_id")
    if not codec.splits or not saver._codec.splits:
        if source.run(_has_declarations, source.saver._dialect, name):
            logger.warning(
                "thread %r: one of the two savers has a serde of its own, so checkpoints and "
                "writes are copied, and what was declared (edits, decisions) is not",
                id,
            )
        return None
    found = source.run(rows.stored_rows, source.saver._dialect, name)
    if found is None:
        return Report()
    if found.thread.status is None and saver._reader is not None:
        return None
    carried = copy.opened(codec, found)
    made = target.run(copy.arrive, saver._dialect, saver._codec, name, carried, writes=True)
    saver._cache.drop(name)
    if made.why is not None:
        return _left(id, made.why)
    return Report(1, made.checkpoints, made.writes, made.there)


def _has_declarations(dialect: str, name: str) -> Script[bool]:
    """Whether people or agents declared anything in a thread."""
    thread = yield from thread_row(dialect, name)
    return bool((yield Query("SELECT 1 FROM wyrd_journal WHERE thread = ? LIMIT 1", (thread.key,))))


def _left(id: Any, why: str) -> Report:
    logger.warning("thread %r was not copied: %s", id, why)
    return Report(left=((str(id), why),))


class _CopyJob:
    """Copies one thread by LangGraph's contract: what is sent is read back, and compared."""

    def __init__(
        self, source: Endpoint, target: Endpoint, id: Any, tell: Callable[[int], None]
    ) -> None:
        self.source = source
        self.target = target
        self.id = id
        self.tell = tell
        self.version = _versions(target)
        self.last: tuple[Key, CheckpointTuple] | None = None  # the checkpoint that was sent last

    def copy(self) -> Report:
        wanted, there = self.source.parents(self.id), self.target.parents(self.id)
        if why := _why_not(wanted, there):
            return _left(self.id, why)
        self.target.expect(self.id)
        order, report = _in_order(wanted), Report(threads=1)
        for start in range(0, len(order), PAGE):
            report += self._page(order[start : start + PAGE], there)
            self.tell(min(start + PAGE, len(order)))
        if report.checkpoints:
            self.target.arrived(self.id)
        return report

    def _page(self, keys: Sequence[Key], there: Parents) -> Report:
        found = zip(keys, self.source.read(self.id, keys), strict=True)
        sent: dict[Key, Found] = {}
        equal = 0
        for key, read in found:
            if read is None:
                continue  # deleted at the source meanwhile
            carried = self._converted(read[0]), read[1]
            old = self.target.read(self.id, [key])[0] if key in there else None
            if old is not None and self._differs(carried, old) is None:
                equal += 1
                continue
            with _explained(self.id, carried[0]):
                self._send(key, *carried, is_new=key not in there)
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
        return Report(0, len(sent), sum(len(places) for _, places in sent.values()), equal)

    def _send(
        self, key: Key, found: CheckpointTuple, places: list[WritePlace], *, is_new: bool
    ) -> None:
        ns, id = key
        if is_new:
            parent = parent_of(found)
            at = checkpoint_config(self.id, ns, parent)
            new = self._new_versions(found, ns, parent)
            self.target.call("put", at, found.checkpoint, found.metadata, new)
            self.last = key, found
        at = checkpoint_config(self.id, ns, id)
        at["metadata"] = {k: v for k, v in found.metadata.items() if k == "user_id"}  # whose it is
        for path, task, writes in _calls(found.pending_writes or [], places):
            self.target.call("put_writes", at, writes, task, path)

    def _new_versions(self, found: CheckpointTuple, ns: str, parent: str | None) -> dict[str, Any]:
        """The versions that the parent, as the target has it, does not have with their values."""
        versions: dict[str, Any] = dict(found.checkpoint["channel_versions"])
        if parent is None:
            return versions
        if self.last is None or self.last[0] != (ns, parent):
            (read,) = self.target.read(self.id, [(ns, parent)])
            if read is None:
                return versions
            self.last = (ns, parent), read[0]
        before = self.last[1].checkpoint
        held, valued = before["channel_versions"], before["channel_values"]
        values = found.checkpoint["channel_values"]
        return {
            name: version
            for name, version in versions.items()
            if held.get(name) != version or (name in values and name not in valued)
        }

    def _converted(self, found: CheckpointTuple) -> CheckpointTuple:
        """A checkpoint as the target takes it: versions of the kind that it counts in."""
        old = found.checkpoint

        def converted(versions: Any) -> Any:
            return {name: self.version(version) for name, version in versions.items()}

        seen = {node: converted(versions) for node, versions in old["versions_seen"].items()}
        checkpoint: Any = {
            **old, "channel_versions": converted(old["channel_versions"]), "versions_seen": seen,
        }  # fmt: skip
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
        """Whether two values are the same: as the serde packs them, or as they compare."""
        for serde in (_PLAIN, self.target.saver.serde):
            with contextlib.suppress(Exception):
                if serde.dumps_typed(one) == serde.dumps_typed(other):
                    return True
        with contextlib.suppress(Exception):  # sets have no order, and ciphers no memory
            return type(one) is type(other) and bool(one == other)
        return False


_PLAIN = JsonPlusSerializer()


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


def _alike(one: Any, other: Any) -> bool:
    """Whether two metadata are equal as far as JSON, which most savers keep them in, can tell."""
    if one == other:
        return True
    left, right = (
        json.loads(json.dumps({k: v for k, v in each.items() if k != "writes"}, default=repr))
        for each in (one, other)
    )
    return bool(left == right)


def _in_order(parents: Parents) -> list[Key]:
    """Parents before children, else by their ids."""
    order: dict[Key, None] = {}
    for first in sorted(parents, key=lambda key: (key[1], key[0])):
        path, key = [], first
        while key in parents and key not in order and key not in path:
            path.append(key)
            key = (key[0], parents[key] or "")
        order.update(dict.fromkeys(reversed(path)))
    return list(order)


def _why_not(theirs: Parents, ours: Parents) -> str | None:
    """Why the target's thread is not the source's, or a part of it."""
    if unknown := ours.keys() - theirs.keys():
        return (
            f"the target's thread of this id has {len(unknown)} checkpoints that the source has "
            "not: it is another one, or went on"
        )
    for key, parent in ours.items():
        if theirs[key] != parent:
            return f"checkpoint {key[1]} has another parent in the target's thread of this id"
    return None


def _calls(
    writes: Sequence[tuple[str, str, Any]], places: Sequence[WritePlace]
) -> Iterator[tuple[str, str, list[tuple[str, Any]]]]:
    """The `put_writes` calls that store these writes under the numbers that they had.

    A write's number is its place in its call. Where one is missing a control write, whose own
    number is fixed, stood there: it is put there again.
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
