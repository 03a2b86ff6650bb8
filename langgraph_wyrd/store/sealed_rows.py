"""Which columns of which statements are sealed by a key ring, and in which place.

Plans know nothing of it: rows are sealed on their way to the database, and opened on their way
back. A place is what identifies a row, and whatever else of it must not be changed. What does not
open is handed on with a checksum that is wrong: to a plan it is damage like any other.

The checksums that stand beside sealed values are masked, as one of a short text would tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langgraph_wyrd.store.keys import NotOpened
from langgraph_wyrd.store.sealed_texts import (
    NOTHING,
    Keys,
    Opening,
    Place,
    Sealing,
    summed,
    texts,
    wrong,
)
from langgraph_wyrd.store.sealed_users import OPEN_USERS, PLAIN_USERS, SEAL_USERS
from langgraph_wyrd.store.statements import Row

_DERIVED = 0x7FFF  # the bits of a checkpoint's checksum that are of what is derived, and plain


# ---- splices


def _splice_place(row: Sequence[Any]) -> Place:
    """Of strand, seq, part, keep, cut, count."""
    return ("splice", *row[:6])


def seal_splice(keys: Keys, row: Row) -> Row:
    thread, *where, data, total, chain = row
    sealed, one, two = keys.seal(thread, _splice_place(where), data)
    return (thread, *where, sealed, total ^ one, chain ^ two)


def open_splice(keys: Keys, thread: int, row: Row) -> Row:
    """Of the columns from strand to chain."""
    strand, seq, part, keep, cut, count, data, total, chain = row
    try:
        one, two = keys.masks(thread, data)
        total, chain = total ^ one, chain ^ two
        try:
            plain = keys.open(thread, ("splice", strand, seq, part, keep, cut, count), data)
        except NotOpened:  # its own checksum says so, and proves a copy
            return (strand, seq, part, keep, cut, count, data, total, chain)
        return (strand, seq, part, keep, cut, count, plain, total, chain)
    except (NotOpened, TypeError):
        return (strand, seq, part, keep, cut, count, NOTHING, wrong(total), chain)


# ---- writes


def _write_place(row: Sequence[Any], total: int) -> Place:
    """Of ns, checkpoint, task, idx, channel, path, shape. The checksum says which one is last."""
    return ("write", *row, total)


def seal_write(keys: Keys, row: Row) -> Row:
    thread, *where, data, total = row
    sealed, one, _ = keys.seal(thread, _write_place(where, total), data)
    return (thread, *where, sealed, total ^ one)


def open_write(keys: Keys, thread: int, row: Row) -> Row:
    """Of the columns from ns to sum."""
    *where, data, total = row
    try:
        one, _ = keys.masks(thread, data)
        total ^= one
        try:
            return (*where, keys.open(thread, _write_place(where, total), data), total)
        except NotOpened:
            return (*where, data, total)
    except (NotOpened, TypeError):
        return (*where, NOTHING, wrong(total))


# ---- checkpoints: metadata and its exact form are sealed together


def _checkpoint_place(ns: Any, id: Any, parent: Any, ts: Any, place: Sequence[Any]) -> Place:
    return ("checkpoint", ns, id, parent, ts, *place)


def seal_metadata(
    keys: Keys, thread: int, ns: str, id: str, parent: str | None, ts: str | None,
    metadata: str, exact: bytes | None, place: Sequence[int], total: int,
) -> tuple[str, bytes, int, int]:  # fmt: skip
    """Metadata, exact, chain, sum."""
    text = metadata.encode("utf-8", "surrogatepass")
    held = len(text).to_bytes(4, "big") + text + (b"" if exact is None else b"\1" + exact)
    bound = _checkpoint_place(ns, id, parent, ts, place[:3])
    sealed, one, two = keys.seal(thread, bound, held)
    return "{}", sealed, place[3] ^ two, total ^ (one & ~_DERIVED)


def open_metadata(
    keys: Keys, thread: int, ns: Any, id: Any, parent: Any, ts: Any, metadata: Any, exact: Any,
    place: Sequence[Any], total: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Metadata, exact, chain, sum."""
    try:
        one, two = keys.masks(thread, exact or b"")
        total ^= one & ~_DERIVED
        chain = place[3] ^ two
    except (NotOpened, TypeError):
        return metadata, exact, place[3], wrong(total)
    try:
        held = keys.open(thread, _checkpoint_place(ns, id, parent, ts, place[:3]), exact)
    except NotOpened:
        return metadata, exact, chain, wrong(total)
    end = 4 + int.from_bytes(held[:4], "big")
    text = held[4:end].decode("utf-8", "surrogatepass")
    return text, held[end + 1 :] if len(held) > end else None, chain, total


def seal_checkpoint(keys: Keys, row: Row) -> Row:
    (
        thread, ns, id, parent, ts, step, source, run_id, metadata, exact, *place, total, due, root,
    ) = row  # fmt: skip
    metadata, exact, chain, total = seal_metadata(
        keys, thread, ns, id, parent, ts, metadata, exact, place, total
    )
    return (
        thread, ns, id, parent, ts, step, source, run_id, metadata, exact, *place[:3], chain, total,
        due, root,
    )  # fmt: skip


def open_checkpoint(keys: Keys, thread: int, row: Row) -> Row:
    """Of the columns of `checkpoint_row`."""
    ns, id, parent, ts, step, source, run_id, metadata, exact, *place, due, root, total = row
    metadata, exact, chain, total = open_metadata(
        keys, thread, ns, id, parent, ts, metadata, exact, place, total
    )
    return (
        ns, id, parent, ts, step, source, run_id, metadata, exact, *place[:3], chain, due, root,
        total,
    )  # fmt: skip


def _seal_fixed_checkpoint(keys: Keys, row: Row) -> Row:
    ns, id, parent, ts, metadata, exact, *place, total, thread, old_ns, old_id = row
    metadata, exact, chain, total = seal_metadata(
        keys, thread, ns, id, parent, ts, metadata, exact, place, total
    )
    return (
        ns, id, parent, ts, metadata, exact, *place[:3], chain, total, thread, old_ns, old_id,
    )  # fmt: skip


def _open_stored(keys: Keys, _: Sequence[Any], row: Row) -> Row:
    """Of `checkpoint`, `latest`, `page`."""
    thread, *more, ns, id, parent, ts, metadata, exact = row[:11]
    metadata, exact, chain, total = open_metadata(
        keys, thread, ns, id, parent, ts, metadata, exact, row[11:15], row[15]
    )
    return (
        thread, *more, ns, id, parent, ts, metadata, exact, *row[11:14], chain, total, *row[16:],
    )  # fmt: skip


def _open_lineage(keys: Keys, params: Sequence[Any], row: Row) -> Row:
    id, parent, ts, metadata, exact, *place, total = row
    metadata, exact, chain, total = open_metadata(
        keys, params[0], params[1], id, parent, ts, metadata, exact, place, total
    )
    return (id, parent, ts, metadata, exact, *place[:3], chain, total)


def _open_own_row(keys: Keys, params: Sequence[Any], row: Row) -> Row:
    return _open_lineage(keys, params, (params[2], *row))[1:]


def _open_past(keys: Keys, params: Sequence[Any], row: Row) -> Row:
    id, parent, ts, step, source, run_id, due, metadata, exact, *place, total = row
    metadata, exact, chain, total = open_metadata(
        keys, params[0], "", id, parent, ts, metadata, exact, place, total
    )
    return (id, parent, ts, step, source, run_id, due, metadata, exact, *place[:3], chain, total)


def _open_path_row(keys: Keys, params: Sequence[Any], row: Row) -> Row:
    """A time stands behind the columns that a plan asked for."""
    id, parent, *place, metadata, exact, ts = row
    metadata, exact, chain, _ = open_metadata(
        keys, params[0], "", id, parent, ts, metadata, exact, place, 0
    )
    return (id, parent, *place[:3], chain, metadata, exact)


def _open_place(keys: Keys, params: Sequence[Any], row: Row) -> Row:
    """The beginning of what is sealed stands behind the columns that a plan asked for."""
    *columns, chain, sealed = row
    try:
        _, two = keys.masks(params[0], sealed or b"")
        return (*columns, chain ^ two)
    except (NotOpened, TypeError):
        return (*columns, chain)


def _seal_derived(keys: Keys, row: Row) -> Row:
    due, root, total, *where = row
    return (due, root, total & _DERIVED, *where)


# ---- the ledger


def seal_event(keys: Keys, row: Row) -> Row:
    thread, *where, body, source, total = row
    sealed, one, _ = keys.seal_text_masked(thread, ("event", *where, source), body)
    return (thread, *where, sealed, source, total ^ one)


def open_event(keys: Keys, thread: int, row: Row) -> Row:
    """Of the columns from ns to sum."""
    *where, body, source, total = row
    try:
        one, _ = keys.masks_of_text(thread, body)
        body = keys.open_text(thread, ("event", *where, source), body)
        return (*where, body, source, total ^ one)
    except (NotOpened, TypeError):
        return (*where, body, source, wrong(total))


# ---- which statements


_todo = texts("todo", 0, (2,), (5,), (-1,))
_context = texts("context", 0, (2,), (), (4, 5, -1))
_loop = texts("loop", 0, (2,), (4, 11), (5, -1))
_intention = texts("intention", 0, (2,), (3, 8), (-1,))
LABEL_BITS = 0x7FFF_FFFF  # the bits of a label's checksum that are over what it promoted
_label = partial(summed, "label", json_=True, bits=LABEL_BITS, bad="[]")
_heal = partial(summed, "heal")
_quarantine = partial(summed, "quarantine", json_=True)

SEAL: dict[str, Sealing] = {
    **SEAL_USERS,
    "put_splice": seal_splice,
    "fix_splice": seal_splice,
    "put_write": seal_write,
    "replace_write": seal_write,
    "fix_write": seal_write,
    "put_checkpoint": seal_checkpoint,
    "fix_checkpoint": _seal_fixed_checkpoint,
    "set_derived": _seal_derived,
    "put_event": seal_event,
    "put_todo": _todo[0],
    "put_context": _context[0],
    "put_loop": _loop[0],
    "put_intention": _intention[0],
    "put_label": _label(0, (1, 2), 7, 8)[0],
    "set_label": _label(0, (1, 2), 7, 8)[0],
    "put_quarantine": _quarantine(0, (1, 2), 3, 5)[0],
    "put_heal": _heal(0, (1,), 6, 8)[0],
    "carry_heal": _heal(0, (1,), 6, 9)[0],
    "fix_heal": _heal(2, (3,), 0, 1)[0],
    "fix_quarantine": _quarantine(2, (3, 4), 0, 1)[0],
    "advance": texts("thread", -2, (), (5, 7), ())[0],
    "show_thread": texts("thread", -1, (), (1, 3), ())[0],
}

OPEN: dict[str, Opening] = {
    **OPEN_USERS,
    "strand": lambda keys, params, row: open_splice(keys, params[0], row),
    "lineage_frames": lambda keys, params, row: open_splice(keys, params[0], row),
    "splices_of_thread": lambda keys, params, row: open_splice(keys, params[0], row),
    "all_splices": lambda keys, params, row: open_splice(keys, params[0], row),
    "writes": lambda keys, params, row: open_write(keys, params[0], (*params[1:3], *row))[2:],
    "writes_between": lambda keys, params, row: open_write(keys, params[0], (params[1], *row))[1:],
    "writes_beside": lambda keys, params, row: (
        row if row[6] is None else open_write(keys, params[0], (params[1], *row))[1:]
    ),
    "writes_of_thread": lambda keys, params, row: open_write(keys, params[0], row),
    "writes_of_users": lambda keys, params, row: open_write(keys, params[0], row),
    "all_writes": lambda keys, params, row: open_write(keys, params[0], row),
    "checkpoint": _open_stored,
    "latest": _open_stored,
    "page": _open_stored,
    "rows_of_thread": _open_stored,
    "lineage": _open_lineage,
    "own_row": _open_own_row,
    "past": _open_past,
    "path_rows": _open_path_row,
    "ancestor": _open_place,
    "checkpoint_ids": _open_place,
    "checkpoint_row": lambda keys, params, row: open_checkpoint(keys, params[0], row),
    "checkpoint_rows": lambda keys, params, row: open_checkpoint(keys, params[0], row),
    "events": lambda keys, params, row: open_event(keys, params[0], (params[1], *row))[1:],
    "events_of_steps": lambda keys, params, row: open_event(keys, params[0], (params[1], *row))[1:],
    "all_events": lambda keys, params, row: open_event(keys, params[0], row),
    "list_todos": texts("todo", 1, (2,), (6,), (-1,))[1],
    "list_loops": texts("loop", 1, (2,), (5, 12), (6, -1))[1],
    "list_intentions": texts("intention", 1, (2,), (4, 9), (-1,))[1],
    "list_threads": texts("thread", 1, (), (4, 5), ())[1],
    "shown_todos": _todo[1],
    "shown_contexts": _context[1],
    "shown_loops": _loop[1],
    "shown_intentions": _intention[1],
    "shown_thread": texts("thread", None, (), (1, 3), ())[1],
    "get_label": _label(None, (0, 1), 7, 6)[1],
    "all_labels": _label(None, (0, 1), 7, 6)[1],
    "labels_whole": _label(None, (0, 1), 7, 6)[1],
    "heals": _heal(None, (0,), 5, 8)[1],
    "in_quarantine": _quarantine(None, (0, 1), 2, 4)[1],
}

# Statements that a sealed store asks or tells in another form: with what opens a row.
INSTEAD = {
    "path_rows": "path_rows_sealed",
    "ancestor": "ancestor_sealed",
    "checkpoint_ids": "checkpoint_ids_sealed",
    "set_derived": "set_derived_sealed",
}

# Statements that write nothing of any value. One that is in neither list is refused.
PLAIN = PLAIN_USERS | frozenset((
    "add_thread", "put_name", "drop_name", "set_aside", "identify", "touch", "tidy", "moved",
    "bury_thread", "clear_thread",
    "fix_columns", "set_times", "drop_strand", "cut_strand", "drop_checkpoint", "drop_writes",
    "drop_write", "drop_splice", "drop_event", "drop_events", "drop_checkpoint_events",
    "drop_all_checkpoints",
    "drop_all_splices", "drop_all_writes", "drop_all_events", "drop_all_labels", "drop_all_heals",
    "drop_all_quarantine", "drop_label", "drop_labels", "drop_todo", "drop_context", "drop_loop",
    "drop_intention", "drop_all_todos", "drop_all_contexts", "drop_all_loops",
    "drop_all_intentions", "acknowledge_heal", "drop_tombstone", "record_migration", "add_key",
    "drop_key", "drop_heal", "drop_moved", "drop_migration",
    "add_thread_again", "want_lease", "hear_lease", "leave_lease", "drop_lease", "add_lease",
    "take_lease",
    "beat_lease",
))  # fmt: skip
