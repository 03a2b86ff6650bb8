"""What a task asks, failed with or was answered, where a row of that is damaged or missing.

Without the answers before it, a question would get its answer for that to another: LangGraph counts
them. They stand beside the question once more; where that is lost as well, the question goes too,
so that the task asks all of them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.healing.found import Kind
from langgraph_wyrd.plans import answers, loading, marks
from langgraph_wyrd.plans.loading import Write
from langgraph_wyrd.plans.owned import Pending
from langgraph_wyrd.store.values import Codec


@dataclass(slots=True)
class Settled:
    """The writes of a task that a load can use."""

    writes: list[Write]
    told: list[tuple[Kind, int, str]] = field(default_factory=list)  # of which number, and what
    back: Write | None = None  # had back
    gone: Write | None = None  # the question, whose answers are lost


def settled(
    codec: Codec, ns: str, id: str, task: str, held: Sequence[Write], unread: Iterable[int] = ()
) -> Settled:
    """`held` are a task's sound writes, the ordinary ones whole or left out; what can't be read has
    the numbers `unread`."""
    made = Settled([*held])
    ordinary = [write for write in held if write.idx >= 0]
    beside = loading.refuse_half(ns, id, task, held) if ordinary else 0
    lost = {*loading.control_lost(ns, id, held, beside), *unread}
    by_number = {write.idx: write for write in held}
    for idx in sorted(lost - {marks.RESUME}, reverse=True):
        what = f"what task {task} waits for, or failed with, is left out"
        made.told.append(("left_out", idx, what))
    if marks.RESUME not in lost:
        return made
    question = by_number.get(marks.INTERRUPT)
    if ordinary or question is None:  # it is done, or shows no question
        what = f"what task {task} was answered is left out"
        made.told.append(("left_out", marks.RESUME, what))
        return made
    made.back = answers.had_back(codec, ns, id, question)
    if made.back is None:
        made.gone = question
        made.writes.remove(question)
        what = f"what task {task} was answered is lost: it asks again from its first question on"
        made.told.append(("left_out", marks.RESUME, what))
        return made
    made.writes.append(made.back)
    if marks.ERROR in by_number:  # it may have been answered once more before it failed
        what = f"what task {task} was answered last is left out: it asks that again"
        made.told.append(("left_out", marks.RESUME, what))
    else:
        what = f"what task {task} was answered was read beside its question"
        made.told.append(("exact", marks.RESUME, what))
    return made


def without_questions(writes: Sequence[Pending], is_lost: Callable[[Any], bool]) -> list[Pending]:
    """Loaded writes without the questions of tasks whose earlier answers are lost."""
    answers = marks.NAMES[marks.RESUME]
    tasks = {task for task, name, value in writes if name == answers and is_lost(value)}
    return [w for w in writes if w[0] not in tasks or w[1] != marks.NAMES[marks.INTERRUPT]]
