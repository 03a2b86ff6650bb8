"""Labels: named checkpoints, which no prune takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import ContextItem, config_at
from langgraph_wyrd.state.viewed import viewed

LONGEST = 200  # characters of a name

TODOS_COMPLETED = "todos-completed"
INTERRUPT = "interrupt"
RUN_END = "run-end"


@viewed("lists", "row_html", "label_text")
@dataclass(frozen=True, slots=True)
class Label:
    """A name for a checkpoint, and what was promoted of the context as it was there."""

    name: str
    checkpoint_id: str
    created_at: str  # when the label was set
    keys: tuple[str, ...] = ()  # what was promoted
    missing: tuple[str, ...] = ()  # what was asked for, and was not there
    context: tuple[ContextItem, ...] = ()  # the promoted items; a listing has none
    automatic: bool = False  # set on a boundary (see `AutoLabels`)
    elsewhere: tuple[str, ...] = ()  # asked for, and no value: a pillar, a channel kept as deltas
    thread_id: str | None = field(default=None, compare=False)
    _thread: Any = field(default=None, compare=False, repr=False)  # the handle that it came from

    @property
    def config(self) -> dict[str, Any]:
        """The config of its checkpoint: `graph.invoke(inputs, label.config)` goes on from there."""
        return config_at(self.thread_id, self.checkpoint_id)

    @property
    def cut(self) -> tuple[str, ...]:
        """Keys of which `context` has only the beginning; `values()` has them whole."""
        return tuple(item.key for item in self.context if item.metadata.get("shortened"))

    def get_context(self, key: str, default: Any = None) -> Any:
        """The promoted value under a key, as the context has it; see `cut`."""
        return next((item.value for item in self.context if item.key == key), default)

    def values(self) -> dict[str, Any]:
        """What was promoted, whole, by its keys: read when asked for, as it was at the label.

        Raises:
            ThreadNotFound: The label was taken off, or its thread deleted.
        """
        return self._handle().values_of_label(self)  # type: ignore[no-any-return]

    async def avalues(self) -> dict[str, Any]:
        """Async version of `values`."""
        return await self._handle().avalues_of_label(self)  # type: ignore[no-any-return]

    def _handle(self) -> Any:
        if self._thread is None:
            raise InvalidInput("this label came from no thread: get it from `thread.get_label`")
        return self._thread


@dataclass(frozen=True, slots=True)
class AutoLabels:
    """Which boundaries are labelled by themselves.

    Such a label promotes nothing: the working state at its checkpoint stays, as with any label.

    Args:
        todos_completed: "todos-completed", where the last open todo was completed.
        interrupt: "interrupt", at a checkpoint that waits for an answer.
        run_end: "run-end", where a run left nothing to do.
        every: "every-N", each time the thread has N checkpoints more.
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

    @property
    def every_name(self) -> str:
        return f"every-{self.every}"


def checked_name(name: object) -> str:
    """A label's name, if it can be one."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a label's name is text that says something, not {name!r}")
    if len(name) > LONGEST:
        raise InvalidInput(
            f"the label {name[:40]!r}… has {len(name)} characters; {LONGEST} is the most"
        )
    return name
