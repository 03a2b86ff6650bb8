"""Threads from one LangGraph saver to another, and databases of the official savers taken over."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.errors import CopyDiffers, InvalidInput, MissingExtra, ThreadNotFound
from langgraph_wyrd.plans.carry import Key, Outline, Spot
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.sides import Found, Ours, Side, finish, parent_of, side_of
from langgraph_wyrd.store import url

logger = logging.getLogger("langgraph_wyrd")

Progress = Callable[[int, int], object]
Saver = BaseCheckpointSaver[Any]

_PAGE = 32  # checkpoints that are held at once


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
            f"{self.threads} threads: {self.checkpoints} checkpoints and {self.writes} writes "
            f"copied, {self.there} checkpoints were there already"
        )
        return f"{text}; {len(self.left)} threads left alone" if self.left else text

    def __add__(self, other: Report) -> Report:
        return Report(
            self.threads + other.threads,
            self.checkpoints + other.checkpoints,
            self.writes + other.writes,
            self.there + other.there,
            self.left + other.left,
        )


def copy(
    source_saver: Saver,
    target_saver: Saver,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Copy threads from one LangGraph saver to another: checkpoints, pending writes, everything.

    It may be stopped and started again: what the target has already is not sent twice. Each page
    is read back and compared. Between two of ours, the ledger and what people edited go along.

    Args:
        source_saver: Any LangGraph checkpointer. It is only read.
        target_saver: Any LangGraph checkpointer.
        threads: The ids to copy; None: all of them.
        progress: Called with how many checkpoints are done, of how many.

    Returns:
        What was copied. `left` names threads that were not touched, because the target's thread of
        that id is another one, or has gone on since.

    Raises:
        ThreadNotFound: The source has no thread of an id in `threads`.
        CopyDiffers: What was read back is not what was sent.
    """
    return finish(
        _copy(side_of(source_saver, False), side_of(target_saver, False), threads, progress)
    )


async def acopy(
    source_saver: Saver,
    target_saver: Saver,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Async version of `copy`. Savers that are only sync are called in worker threads."""
    return await _copy(side_of(source_saver, True), side_of(target_saver, True), threads, progress)


def adopt(
    conn_string: str,
    into: str | WyrdSaver | None = None,
    *,
    serde: SerializerProtocol | None = None,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Take over a database that SqliteSaver, PostgresSaver or their async twins wrote.

    Its own tables are only read. The threads go on under ours as if nothing had happened, and have
    their pillars. It may be run again, for what was written meanwhile.

    Args:
        conn_string: The database, as `WyrdSaver.from_conn_string` takes it.
        into: Where the threads go: a saver of ours, or the connection string of one. None: into
            the same database, beside the tables that are there.
        serde: What the official saver was given as `serde`; ours gets the same.
        threads: The ids to take over; None: all of them.
        progress: Called with how many checkpoints are done, of how many.
        options: For `WyrdSaver.from_conn_string`, where `into` is no saver.

    Raises:
        InvalidInput: The database holds no tables of an official saver.
        MissingExtra: The official saver of that database is not installed.
    """
    with (
        _official(conn_string, serde) as theirs,
        _receiver(conn_string, into, serde, options) as ours,
    ):
        return copy(theirs, ours, threads, progress)


async def aadopt(
    conn_string: str,
    into: str | WyrdSaver | None = None,
    *,
    serde: SerializerProtocol | None = None,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Async version of `adopt`."""
    with _official(conn_string, serde) as theirs:
        if isinstance(into, WyrdSaver):
            return await acopy(theirs, into, threads, progress)
        async with WyrdSaver.from_conn_string(into or conn_string, serde=serde, **options) as ours:
            return await acopy(theirs, ours, threads, progress)


# ---- copying


async def _copy(
    source: Side, target: Side, threads: Iterable[str] | None, progress: Progress | None
) -> Report:
    if isinstance(threads, str):
        raise InvalidInput("threads is one string: pass a list of ids")
    wanted = await source.threads()
    if threads is not None:
        counts = dict(wanted)
        chosen = list(dict.fromkeys(threads))
        if missing := [id for id in chosen if id not in counts]:
            raise ThreadNotFound(f"the source has no thread {missing[0]!r}; nothing was copied")
        wanted = [(id, counts[id]) for id in chosen]
    done, total = 0, sum(count for _, count in wanted)
    report = Report()
    for id, count in wanted:
        here = done

        def tell(sent: int, here: int = here) -> None:
            if progress is not None:
                progress(min(here + sent, total), total)

        report += await _Thread(source, target, id, tell).copy()
        done += count
        if progress is not None:
            progress(done, total)
    return report


class _Thread:
    """One thread on its way."""

    def __init__(self, source: Side, target: Side, id: Any, tell: Callable[[int], None]) -> None:
        self.source = source
        self.target = target
        self.id = id
        self._tell = tell
        self._version = _versions(target)
        self._sent = Report(threads=1)
        self._before: tuple[Key, dict[str, Any], set[str]] | None = None  # the checkpoint sent last

    async def copy(self) -> Report:
        theirs = await self.source.outline(self.id)
        ours = await self.target.outline(self.id)
        if why := _parted(theirs, ours):
            logger.warning("thread %r was not copied: %s", self.id, why)
            return Report(left=((str(self.id), why),))
        await self.target.expect(self.id)
        order = in_order(theirs)
        waiting = [
            key
            for key in order
            if key not in ours.parents
            or ours.writes.get(key) != theirs.writes.get(key)
            or not theirs.fixed(key)
        ]
        there = len(order) - len(waiting)
        self._sent = replace(self._sent, there=there)
        self._tell(there)
        for start in range(0, len(waiting), _PAGE):
            await self._page(waiting[start : start + _PAGE], ours)
            self._tell(there + start + _PAGE)
        await self._end(order)
        return self._sent

    async def _page(self, keys: Sequence[Key], ours: Outline) -> None:
        found = await self.source.read(self.id, keys)
        known = [key for key in keys if key in ours.parents]
        held = dict(zip(known, await self.target.read(self.id, known), strict=True))
        sent: dict[Key, Found] = {}
        for key, read in zip(keys, found, strict=True):
            if read is None:
                continue  # deleted at the source meanwhile
            carried = self._converted(read[0]), read[1]
            if (old := held.get(key)) is not None and await self._differs(carried, old) is None:
                self._sent = replace(self._sent, there=self._sent.there + 1)
                continue
            await self._send(key, carried, ours)
            sent[key] = carried
        back = await self.target.read(self.id, list(sent))
        for (key, carried), again in zip(sent.items(), back, strict=True):
            why = "it is not there" if again is None else await self._differs(carried, again)
            if why is not None:
                raise CopyDiffers(
                    f"checkpoint {key[1]} of thread {self.id!r}"
                    f"{f' in {key[0]!r}' if key[0] else ''} was sent, and read back as something "
                    f"else: {why}"
                )
        self._sent += Report(
            checkpoints=len(sent), writes=sum(len(spots) for _, spots in sent.values())
        )

    async def _send(self, key: Key, carried: Found, ours: Outline) -> None:
        found, spots = carried
        ns, id = key
        parent = parent_of(found)
        if key not in ours.parents:
            new = await self._new_versions(found, ns, parent)
            at = _config(self.id, ns, parent)
            await self.target.call("put", at, found.checkpoint, found.metadata, new)
            self._note(key, found)
        at = _config(self.id, ns, id)
        for path, task, writes in _calls(found.pending_writes or [], spots):
            await self.target.call("put_writes", at, writes, task, path)

    async def _new_versions(
        self, found: CheckpointTuple, ns: str, parent: str | None
    ) -> dict[str, Any]:
        """The versions that the parent, as the target has it, does not have with their values."""
        versions: dict[str, Any] = dict(found.checkpoint["channel_versions"])
        if parent is None:
            return versions
        if self._before is None or self._before[0] != (ns, parent):
            (read,) = await self.target.read(self.id, [(ns, parent)])
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
        """A checkpoint with versions of the kind that the target counts in."""
        version, old = self._version, found.checkpoint
        checkpoint: Any = {
            **old,
            "channel_versions": {k: version(v) for k, v in old["channel_versions"].items()},
            "versions_seen": {
                node: {k: version(v) for k, v in seen.items()}
                for node, seen in old["versions_seen"].items()
            },
        }
        return found._replace(checkpoint=checkpoint)

    # ---- the end of a thread

    async def _end(self, order: Sequence[Key]) -> None:
        source, target = self.source, self.target
        if not (isinstance(source, Ours) and isinstance(target, Ours)):
            if self._sent.checkpoints:
                await target.arrived(self.id)
            return
        there = await source.times(self.id)
        if there is None:
            return  # deleted meanwhile
        changed, woven = 0, there.status is not None
        for start in range(0, len(order) if woven else 0, _PAGE):
            said = await source.told(self.id, order[start : start + _PAGE])
            changed += await target.retell(self.id, said)
        if changed or self._sent.checkpoints:
            await target.settle(self.id, there, woven=woven, show=woven)

    # ---- comparing

    async def _differs(self, sent: Found, back: Found) -> str | None:
        """Where two checkpoints differ; None: nowhere."""
        (one, spots), (other, places) = sent, back
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
            if names and not await self._inherited(side, found, names):
                return f"channels {sorted(names)} are in one only"
        for name in values.keys() & held.keys():
            if not self._equal(values[name], held[name]):
                return f"the value of {name!r} differs"
        if not _alike(one.metadata, other.metadata):
            return "its metadata differ"
        writes, stored = one.pending_writes or [], other.pending_writes or []
        if [each[:2] for each in writes] != [each[:2] for each in stored]:
            return f"its pending writes are {len(stored)}, or in another order, of {len(writes)}"
        if [spot[:2] for spot in spots] != [spot[:2] for spot in places]:
            return "its writes' task paths differ"
        for (_, name, value), (_, _, again) in zip(writes, stored, strict=True):
            if not self._equal(value, again):
                return f"the value of a write to {name!r} differs"
        return None

    async def _inherited(self, side: Side, found: CheckpointTuple, names: Iterable[str]) -> bool:
        """Whether these are the parent's values, at the parent's versions.

        Most savers keep a value by its version, so a delta channel's snapshot is seen in every
        checkpoint of that version; the SQLite ones keep it where it was put.
        """
        config, parent = found.config["configurable"], parent_of(found)
        key = (config.get("checkpoint_ns", ""), parent or "")
        if parent is None or (read := (await side.read(self.id, [key]))[0]) is None:
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


def _alike(one: Any, other: Any) -> bool:
    """Whether two metadata are equal as far as JSON, which most savers keep them in, can tell."""
    if one == other:
        return True
    left, right = (
        json.loads(json.dumps({k: v for k, v in each.items() if k != "writes"}, default=repr))
        for each in (one, other)
    )
    return bool(left == right)


def _parted(theirs: Outline, ours: Outline) -> str | None:
    """Why the target's thread is not the source's, or a part of it."""
    unknown = [key for key in ours.parents if key not in theirs.parents]
    if unknown:
        return (
            f"the target's thread of this id has {len(unknown)} checkpoints that the source has "
            "not: it is another one, or went on"
        )
    moved = [key for key, parent in ours.parents.items() if theirs.parents[key] != parent]
    if moved:
        return f"checkpoint {moved[0][1]} has another parent in the target's thread of this id"
    return None


def in_order(outline: Outline) -> list[Key]:
    """Parents before children, else by their ids."""
    parents = outline.parents
    order: dict[Key, None] = {}
    for first in sorted(parents, key=lambda key: (key[1], key[0])):
        path, key = [], first
        while key in parents and key not in order and key not in path:
            path.append(key)
            key = (key[0], parents[key] or "")
        order.update(dict.fromkeys(reversed(path)))
    return list(order)


def _config(thread_id: Any, ns: str, id: str | None) -> Any:
    place: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ns}
    if id is not None:
        place["checkpoint_id"] = id
    return {"configurable": place}


def _calls(
    writes: Sequence[tuple[str, str, Any]], spots: Sequence[Spot]
) -> Iterator[tuple[str, str, list[tuple[str, Any]]]]:
    """The `put_writes` that leave these writes, each under the number that it had.

    Numbers are places in a call, so where one is missing a control write, whose number is fixed,
    stood between two others, and does so again.
    """
    by_task: dict[tuple[str, str], list[tuple[int, str, Any]]] = {}
    for (task, channel, value), spot in zip(writes, spots, strict=True):
        by_task.setdefault((spot.path, task), []).append((spot.idx, channel, value))
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


def _versions(target: Side) -> Callable[[Any], Any]:
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


# ---- adopting


@contextlib.contextmanager
def _receiver(
    conn_string: str, into: str | WyrdSaver | None, serde: Any, options: dict[str, Any]
) -> Iterator[WyrdSaver]:
    if isinstance(into, WyrdSaver):
        if options:
            raise InvalidInput(f"options are for a new saver: {', '.join(sorted(options))}")
        yield into
        return
    with WyrdSaver.from_conn_string(into or conn_string, serde=serde, **options) as ours:
        yield ours


@contextlib.contextmanager
def _official(conn_string: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    """The official saver of a database, for reading only."""
    address = url.parse(conn_string)
    if address.in_memory:
        raise InvalidInput("nothing can be adopted from a database in memory: name a file")
    opened = _sqlite if address.dialect == "sqlite" else _postgres
    with opened(address.target, serde) as saver:
        yield saver


@contextlib.contextmanager
def _sqlite(path: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError as error:
        raise MissingExtra(
            "adopting an SQLite database needs: pip install langgraph-checkpoint-sqlite"
        ) from error
    try:
        raw = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
        with contextlib.closing(raw):
            columns = {row[1] for row in raw.execute("PRAGMA table_info(writes)")}
            there = {row[1] for row in raw.execute("PRAGMA table_info(checkpoints)")}
            if "task_id" not in columns or "parent_checkpoint_id" not in there:
                raise InvalidInput(f"{path!r} holds no checkpoints of SqliteSaver")
            saver = SqliteSaver(raw, serde=serde)
            # Its setup would write, and there is nothing to set up.
            saver.is_setup, saver._has_task_path = True, "task_path" in columns
            yield saver
    except sqlite3.Error as error:
        raise InvalidInput(f"{path!r} can't be read as an SQLite database: {error}") from error


@contextlib.contextmanager
def _postgres(conninfo: str, serde: SerializerProtocol | None) -> Iterator[Saver]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection, OperationalError
        from psycopg.rows import dict_row
    except ImportError as error:
        raise MissingExtra(
            "adopting a Postgres database needs: pip install langgraph-checkpoint-postgres"
        ) from error
    try:
        raw = Connection.connect(
            conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
    except OperationalError as error:
        raise InvalidInput(f"Postgres can't be reached by this address: {error}") from error
    with raw:
        raw.execute("SET default_transaction_read_only = on")
        names = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]
        found = raw.execute(
            "SELECT to_regclass(name) AS there FROM unnest(%s::text[]) AS name", (names,)
        )
        if not all(row["there"] for row in found):
            raise InvalidInput("the database holds no checkpoints of PostgresSaver")
        path = raw.execute(
            "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('checkpoint_writes') "
            "AND attname = 'task_path'"
        ).fetchone()
        if path is None:
            raise InvalidInput(
                "the tables are of an old PostgresSaver: let a current one bring them up to date "
                "with its setup(), then adopt them"
            )
        yield PostgresSaver(raw, serde=serde)
