"""Threads from one LangGraph saver to another, and databases of the official savers taken over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_wyrd.errors import CheckpointDamaged, InvalidInput, ThreadNotFound
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.transfer.copy_job import Report, copied
from langgraph_wyrd.transfer.endpoint import Endpoint, endpoint_of, official

__all__ = ["Report", "aadopt", "acopy", "adopt", "copy"]

logger = logging.getLogger("langgraph_wyrd")

Progress = Callable[[int, int], object]
Saver = BaseCheckpointSaver[Any]


def copy(
    source_saver: Saver,
    target_saver: Saver,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Copy threads from one LangGraph saver to another: checkpoints, pending writes, everything.

    It may be stopped and started again: what the target has already is not sent twice. Each page
    is read back and compared. Between two of ours, events and what people edited go along.

    Args:
        threads: The ids to copy; None: all of them. One that the source has not raises
            `ThreadNotFound`.
        progress: Called with how many checkpoints are done, of how many.

    Returns:
        What was copied. `left` names threads that were not touched, because the target's thread of
        that id is another one, or has gone on since; and damaged ones.

    Raises:
        CopyDiffers: What was read back is not what was sent.
    """
    return _copy(endpoint_of(source_saver), endpoint_of(target_saver), threads, progress)


async def acopy(
    source_saver: Saver,
    target_saver: Saver,
    threads: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Async version of `copy`: a worker thread does it, which calls `progress`, too."""
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def report(done: int, total: int) -> None:
        if stopped.is_set():
            raise asyncio.CancelledError
        if progress is not None:
            progress(done, total)

    source, target = endpoint_of(source_saver, loop), endpoint_of(target_saver, loop)
    try:
        return await asyncio.to_thread(_copy, source, target, threads, report)
    finally:
        stopped.set()


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
        threads, progress: As for `copy`.
        options: For `WyrdSaver.from_conn_string`, where `into` is no saver.

    Raises:
        InvalidInput: The database holds no tables of an official saver.
        MissingExtra: The official saver of that database is not installed.
    """
    with (
        official(conn_string, serde) as theirs,
        _receiver(conn_string, into, serde, options) as ours,
    ):
        return copy(theirs, ours, threads, progress)


async def aadopt(conn_string: str, into: str | WyrdSaver | None = None, **how: Any) -> Report:
    """Async version of `adopt`: a worker thread does it, which calls `progress`, too."""
    return await asyncio.to_thread(adopt, conn_string, into, **how)


# ---- copying


def _copy(
    source: Endpoint, target: Endpoint, threads: Iterable[str] | None, progress: Progress | None
) -> Report:
    if isinstance(threads, str):
        raise InvalidInput("threads is one string: pass a list of ids")
    wanted = dict(source.threads())
    if threads is not None:
        chosen = list(dict.fromkeys(threads))
        if missing := [id for id in chosen if id not in wanted]:
            raise ThreadNotFound(f"the source has no thread {missing[0]!r}; nothing was copied")
        wanted = {id: wanted[id] for id in chosen}
    done, total, report = 0, sum(wanted.values()), Report()

    def tell(sent: int) -> None:
        if progress is not None:
            progress(min(done + sent, total), total)

    for id, count in wanted.items():
        try:
            report += copied(source, target, id, tell)
        except CheckpointDamaged as error:  # the others can be carried all the same
            logger.warning("thread %r is damaged, and was not copied to its end: %s", id, error)
            report += Report(left=((str(id), f"it is damaged: {error}"),))
        done += count
        tell(0)
    return report


@contextlib.contextmanager
def _receiver(
    conn_string: str, into: str | WyrdSaver | None, serde: Any, options: dict[str, Any]
) -> Iterator[WyrdSaver]:
    if isinstance(into, WyrdSaver):
        if options:
            raise InvalidInput(f"options are for a new saver: {', '.join(sorted(options))}")
        yield into
        return
    options = {"adopting": True, "serde": serde, **options}
    with WyrdSaver.from_conn_string(into or conn_string, **options) as ours:
        yield ours
