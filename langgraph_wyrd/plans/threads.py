"""A thread's row: found and locked, or added; and a write set that runs alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from langgraph_wyrd.errors import ThreadDeleted
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.naming import name_row
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell, WriteSet, merged


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def lock_or_add(thread_id: str, late: list[str], known: Known | None = None) -> Plan[Known]:
    """The thread's row, locked; a new one if there is none. `late` are ids that it must know.

    What was known of its namespaces is kept if the thread has not moved since.
    """
    key = thread_key(thread_id)
    found = yield Ask("lock_thread", (key,))
    if not found:
        rows = yield Ask("last_deleted", (key,))
        buried = rows[0][0]
        if buried is not None and any(id <= buried for id in late):
            raise _too_late(thread_id)
        yield from added(thread_id, buried)
        found = yield Ask("lock_thread", (key,))
    locked = Known.locked(found[0])
    if known is not None and (known.number, known.tick) == (locked.number, locked.tick):
        return replace(known, strands=max(known.strands, locked.strands))
    return locked


def added(thread_id: str, buried: str | None) -> Plan[None]:
    """A new thread; or the one that another writer opened at the same time."""
    key, moment = thread_key(thread_id), now()
    _, found = yield [
        Tell("add_thread", [(thread_id, key, moment, moment, buried)]),
        Ask("number_of", (key,)),
    ]
    yield Tell("put_name", [name_row(thread_id, found[0][0])])


def refuse_late(thread: Known, thread_id: str, ns: str, id: str | None) -> Plan[None]:
    """Raise if a checkpoint is not there because the thread that had it was deleted."""
    if thread.too_old(id) and not (yield Ask("ancestor", (thread.number, ns, id))):
        newest = (yield Ask("newest_id", (thread.number,)))[0][0]
        # What is newer than all that a living thread has was not buried before it: that is damage.
        if newest is None or newest > thread.buried:
            raise _too_late(thread_id)


def _too_late(thread_id: str) -> ThreadDeleted:
    return ThreadDeleted(
        f"thread {given(thread_id)!r} was deleted while this run was going on: what it sent now "
        "was not stored. Start a new run to use the thread id again."
    )


def run_alone(rows: WriteSet) -> Plan[None]:
    """The write set of a cold write, on its own: its thread is locked, so nothing can be stale."""
    yield [*([Tell("advance", rows.advance)] if rows.advance else ()), *merged([rows])]
