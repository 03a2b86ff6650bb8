"""Copying a thread: every checkpoint, value and write, under another id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.shown import PILLARS
from langgraph_wyrd.plans.threads import lock_or_add, now
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.thread_sums import moved
from langgraph_wyrd.store.values import Codec

_PAGE = 500


@dataclass(slots=True)
class CopyThread:
    """Strands and writes are copied as they are; checkpoints get their new thread's checksum."""

    codec: Codec
    source: str
    target: str
    in_part: bool = False  # only some of the checkpoints stay
    tried: bool = False

    def plan(self) -> Plan[None]:
        if self.source == self.target:
            raise InvalidInput(f"thread {given(self.source)!r} can't be copied onto itself")
        again, self.tried = self.tried, True
        found = yield Ask("lock_thread", (thread_key(self.source),))
        if found:
            yield from copied(self.codec, self.source, self.target, found[0], again, self.in_part)


def copied(
    codec: Codec, source: str, target: str, row: Sequence[Any], again: bool, in_part: bool = False
) -> Plan[None]:
    """Copy the thread of this row, which is locked; `again`: it may have been copied already."""
    old, _, strands, _ = row
    thread = yield from lock_or_add(target, [])
    new = thread.number
    if (yield Ask("has_checkpoints", (new,))):
        if again and (yield from _same(old, new, in_part)):
            return  # the answer to the first try's commit was lost
        raise InvalidInput(
            f"thread {given(target)!r} has checkpoints already: copy to a new id, or delete it"
        )
    between = moved(old, new)
    yield [
        Tell("copy_splices", [(new, between, between, old)]),
        Tell("copy_writes", [(new, between, between, old)]),
        Tell("copy_user_data", [(new, old)]),
        Tell("copy_events", [(new, between, between, old)]),
        Tell("copy_heals", [(new, old)]),
        *(Tell(f"copy_{name}s", [(new, target, old)]) for name in PILLARS),
        Tell("copy_labels", [(new, between, between, old)]),
        Tell("copy_shown", [(old, new)]),
    ]
    after = ("", "")
    while True:
        rows = yield Ask("checkpoint_rows", (old, *after, _PAGE))
        copies = []
        for ns, id, parent, ts, step, source_, run_id, metadata, exact, *more in rows:
            place, (due, root, total) = more[:4], more[4:]
            was = (old, ns, id, parent, ts, metadata, exact, place)
            metadata, exact = _owned(codec, metadata, exact, given(source), given(target))
            same = (new, ns, id, parent, ts, metadata, exact, place)
            total = loading.sum_again(total, was, same)
            copies.append(
                (
                    new, ns, id, parent, ts, step, source_, run_id, metadata, exact, *place, total,
                    due, root,
                )
            )  # fmt: skip
        if copies:
            yield Tell("put_checkpoint", copies)
        if len(rows) < _PAGE:
            break
        after = (rows[-1][0], rows[-1][1])
    yield Tell("touch", [(strands, now(), new)])


def _owned(
    codec: Codec, text: str, exact: bytes | None, source: str, target: str
) -> tuple[str, bytes | None]:
    """A server notes the thread's id in the metadata: in a copy it is the copy's."""
    if exact is None and '"thread_id"' not in text:
        return text, exact
    metadata = codec.open_metadata(text, exact)
    if metadata.get("thread_id") != source:
        return text, exact
    return codec.metadata({**metadata, "thread_id": target})


def _same(old: int, new: int, in_part: bool) -> Plan[bool]:
    """Whether two threads have the same checkpoints, or one has some of the other's."""
    theirs, ours = yield [Ask("checkpoint_ids", (old,)), Ask("checkpoint_ids", (new,))]
    if in_part:
        return {row[:2] for row in ours} <= {row[:2] for row in theirs}
    return [row[:3] for row in theirs] == [row[:3] for row in ours]
