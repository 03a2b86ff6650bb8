"""Labels that are set by themselves, in the transaction of the write that meets a boundary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_wyrd.checkpoints.working import NamespaceState
from langgraph_wyrd.codec.payload import packed
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.storage.rows import summed, upsert
from langgraph_wyrd.storage.scripts import Step
from langgraph_wyrd.storage.tables import LABELS, Key, LabelRow

TODOS_COMPLETED = "todos-completed"
INTERRUPT = "interrupt"
RUN_END = "run-end"
_NOT_RUNS = ("update", "fork")  # sources of checkpoints that no run made


@dataclass(frozen=True, slots=True)
class AutoLabels:
    """Which boundaries are labelled by themselves.

    Such a label promotes nothing: the working state at its checkpoint stays, as with any label.

    Args:
        todos_completed: "todos-completed", where the last open todo was completed.
        interrupt: "interrupt", at a checkpoint that waits for an answer.
        run_end: "run-end", where a run left nothing to do.
        every: "every-N", at each root checkpoint whose step is a multiple of N.
    """

    todos_completed: bool = False
    interrupt: bool = False
    run_end: bool = False
    every: int | None = None

    def __post_init__(self) -> None:
        every = self.every
        if every is not None and (type(every) is not int or every < 1):
            raise InvalidInput(f"every={every!r}: use a whole number from 1 on, or None")

    @property
    def any(self) -> bool:
        """Whether there is anything to look out for."""
        return self.todos_completed or self.interrupt or self.run_end or self.every is not None


def watched(labels: AutoLabels, pillars: bool) -> AutoLabels | None:
    """What is labelled by itself, if anything is; raises InvalidInput."""
    if not isinstance(labels, AutoLabels):
        raise InvalidInput(f"labels={labels!r}: use an AutoLabels, as AutoLabels(run_end=True)")
    if not labels.any:
        return None
    if not pillars:
        raise InvalidInput("labels= needs the pillars, which say where the boundaries are")
    return labels


def of_put(
    policy: AutoLabels,
    ns: str,
    source: str | None,
    step: int | None,
    before: NamespaceState | None,
    after: NamespaceState,
    shown: WorkingState,
) -> list[str]:
    """The labels that a put of the head, or of a subgraph that runs there, sets at the head."""
    names = []
    if policy.todos_completed and _completed(before, after) and not shown.open_todos:
        names.append(TODOS_COMPLETED)
    if policy.run_end and ns == "" and not after.due and source not in _NOT_RUNS:
        names.append(RUN_END)
    every = policy.every
    if every is not None and ns == "" and step is not None and step > 0 and step % every == 0:
        names.append(f"every-{every}")
    return names


def of_writes(policy: AutoLabels | None, ns: str, channels: Iterable[str]) -> list[str]:
    """The label that a task's writes set, if they ask something."""
    asks = policy is not None and policy.interrupt and ns == "" and "__interrupt__" in channels
    return [INTERRUPT] if asks else []


def row_of(
    codec: Codec, key: Key, name: str, checkpoint: str, seq: int, at: str,
    kept: Mapping[str, Sequence[Any]], automatic: int = 0,
) -> LabelRow:  # fmt: skip
    """The row of a label, with what it promotes."""
    row = LabelRow(key, name, checkpoint, seq, at, automatic, 0, packed(kept))
    return summed(LABELS, row, codec.sealer)


_NOTHING: dict[str, list[Any]] = {"keys": [], "missing": [], "items": []}


def steps(
    codec: Codec, key: Key, names: Iterable[str], checkpoint: str, seq: int, at: str
) -> list[Step]:
    """What stores these labels; they promote nothing."""
    rows = [row_of(codec, key, name, checkpoint, seq, at, _NOTHING, 1) for name in names]
    return [Step(upsert(LABELS), row) for row in rows]


def _completed(before: NamespaceState | None, after: NamespaceState) -> bool:
    """Whether the last of some open todos was completed, rather than given up."""
    if before is None:
        return False
    open_before = {todo.id for todo in before.lasting.todos if todo.open}
    if not open_before or any(todo.open for todo in after.lasting.todos):
        return False
    return any(t.id in open_before and t.status == "completed" for t in after.lasting.todos)
