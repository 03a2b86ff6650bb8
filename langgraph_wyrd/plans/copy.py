"""Copying a thread: every checkpoint, value and write, under another id."""

from __future__ import annotations

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.plans import loading
from langgraph_wyrd.plans.write import lock_or_add, now
from langgraph_wyrd.store.names import given, thread_key
from langgraph_wyrd.store.statements import Ask, Plan, Tell
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.values import Codec

_PAGE = 500


def copy_thread(codec: Codec, source: str, target: str) -> Plan[None]:
    """Strands and writes are copied where they are; checkpoints get their new thread's checksum."""
    if source == target:
        raise InvalidInput(f"thread {given(source)!r} can't be copied onto itself")
    found = yield Ask("lock_thread", (thread_key(source),))
    if not found:
        return
    old, _, strands, _ = found[0]
    thread = yield from lock_or_add(target, [])
    new = thread.number
    if (yield Ask("has_checkpoints", (new,))):
        raise InvalidInput(
            f"thread {given(target)!r} has checkpoints already: copy to a new id, or delete it"
        )
    yield [Tell("copy_splices", [(new, old)]), Tell("copy_writes", [(new, old)])]
    after = ("", "")
    while True:
        rows = yield Ask("checkpoint_rows", (old, *after, _PAGE))
        copies = []
        for ns, id, parent, ts, step, source_, run_id, metadata, exact, *place in rows:
            metadata, exact = _owned(codec, metadata, exact, given(source), given(target))
            total = loading.checkpoint_sum(new, ns, id, parent, ts, metadata, exact, Place(*place))
            copies.append(
                (new, ns, id, parent, ts, step, source_, run_id, metadata, exact, *place, total)
            )
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
