"""What a task was answered before its last question stands beside that question once more.

LangGraph counts a task's questions, and gives each the answer of its place: without the earlier
answers the next one would be taken for one of theirs. So a lost row of answers is had back from
there, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import ormsgpack

from langgraph_wyrd.errors import CheckpointDamaged
from langgraph_wyrd.plans import marks
from langgraph_wyrd.plans.loading import Write, write_sum
from langgraph_wyrd.store.refs import REF
from langgraph_wyrd.store.values import Codec

Held = tuple[int, str, str, bytes]  # a write as it will be stored: number, channel, shape, block


def doubled(codec: Codec, held: Sequence[Held]) -> list[Held]:
    """The writes of a call, with the answers beside the question."""
    answers = {each[0]: each for each in held}.get(marks.RESUME)
    return [
        (idx, channel, shape, _with(codec, block, answers))
        if answers is not None and idx == marks.INTERRUPT and _is_whole(shape)
        else (idx, channel, shape, block)
        for idx, channel, shape, block in held
    ]


def _is_whole(shape: str) -> bool:
    """Whether a value is the first of a block's elements, so that there may be others."""
    return shape[0] == "w" or shape == REF


def _with(codec: Codec, block: bytes, answers: Held) -> bytes:
    _, _, shape, data = answers
    copy = ormsgpack.packb([shape, codec.open_block(data)])
    return codec.block([*codec.open_block(block), b"\0" + copy])


def had_back(codec: Codec, ns: str, checkpoint: str, question: Write) -> Write | None:
    """A row of the answers before a question; None if there are none beside it."""
    if not _is_whole(question.shape):
        return None
    try:
        _, copy = codec.open_block(question.data)
        shape, held = ormsgpack.unpackb(copy[1:])
        block = codec.block(held)
        codec.open_value(shape, block)
    except (CheckpointDamaged, TypeError, ValueError):  # there are none, or somebody made them
        return None
    row = (question.task, marks.RESUME, marks.NAMES[marks.RESUME], question.path)
    return Write(*row, shape, block, write_sum(ns, checkpoint, *row, shape, block))
