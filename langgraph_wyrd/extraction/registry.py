"""Which extractors look at a checkpoint, and how a save is kept safe from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction import aims, context, conversation, declared, promises, tasks, todos
from langgraph_wyrd.state.facts import Fact
from langgraph_wyrd.state.model import shortened

if TYPE_CHECKING:
    from langgraph_wyrd.extraction.view import View

Extractor = Callable[["View"], Iterable[Fact]]

logger = logging.getLogger("langgraph_wyrd")

BUDGET = 0.05  # seconds that an extractor may take for one view
PATIENCE = 3  # times in a row that it may take longer

_FACTS = frozenset(get_args(Fact))

# In the order in which they run: what is over comes before what is new.
DEFAULTS: dict[str, Extractor] = {
    "tasks": tasks.tasks,
    "conversation": conversation.conversation,
    "promises": promises.promises,
    "todos": todos.todos,
    "background": todos.background,
    "aims": aims.aims,
    "rubric": aims.rubric,
    "steps": aims.steps,
    "declared": declared.declared,
    "context": context.context,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """An extractor that was skipped, and why. What it had found until then does not count."""

    extractor: str
    error: str
    checkpoint_id: str
    ns: str = ""


class Extractors:
    """The extractors of one database.

    Args:
        own: Extractors of the user's, run after the default ones. Each takes a `View` and gives
            facts; its name is the function's.
        off: Names of default extractors that are not to run.
        budget: Seconds that an extractor may take. One that takes longer three times in a row is
            switched off until the process ends.
    """

    def __init__(
        self,
        own: Iterable[Extractor] = (),
        *,
        off: Collection[str] = (),
        budget: float = BUDGET,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        if isinstance(off, str):
            raise InvalidInput("off is one string: pass a list of names")
        unknown = sorted(set(off) - DEFAULTS.keys())
        if unknown:
            raise InvalidInput(f"no extractor is called {unknown[0]!r}: {', '.join(DEFAULTS)}")
        chosen = [(name, run) for name, run in DEFAULTS.items() if name not in off]
        for run in own:
            if not callable(run):
                raise InvalidInput(f"{run!r} is no extractor: pass a function that takes a View")
            chosen.append((_name(run, {name for name, _ in chosen}), run))
        self._chosen = tuple(chosen)
        self._budget = budget
        self._clock = clock
        self._slow: dict[str, int] = {}
        self._off: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Those that run, in order."""
        return tuple(name for name, _ in self._chosen if name not in self._off)

    @property
    def switched_off(self) -> frozenset[str]:
        """Those that kept overrunning their budget."""
        return self._off

    def __call__(
        self, view: View, thread_id: str | None = None
    ) -> tuple[list[Fact], Sequence[Failure]]:
        """What they find, and which of them failed. Never raises."""
        found: list[Fact] = []
        failures: list[Failure] = []
        clock, off = self._clock, self._off
        start = clock()
        for name, run in self._chosen:
            if name in off:
                continue
            try:
                facts = run(view)
                if facts:
                    facts = tuple(facts)
                    for fact in facts:
                        if type(fact) not in _FACTS:
                            raise TypeError(f"gave a {type(fact).__name__}, which is no fact")
                    found += facts
            except Exception as error:
                failures.append(self._failed(name, error, view, thread_id))
            end = clock()
            if end - start > self._budget:
                self._overran(name, end - start)
                if name in self._off:
                    failures.append(_failure(name, "switched off: it kept taking too long", view))
            elif self._slow:
                self._slow.pop(name, None)
            start = end
        return found, failures

    def _failed(self, name: str, error: Exception, view: View, thread_id: str | None) -> Failure:
        logger.warning(
            "extractor %r failed on checkpoint %s of thread %s, and is skipped",
            name, view.checkpoint_id, thread_id or view.previous.thread_id, exc_info=error,
        )  # fmt: skip
        return _failure(name, f"{type(error).__name__}: {error}", view)

    def _overran(self, name: str, took: float) -> None:
        times = self._slow[name] = self._slow.get(name, 0) + 1
        if times >= PATIENCE:
            self._off |= {name}
            logger.error(
                "extractor %r took %.0f ms, the third time in a row above %.0f: it is switched "
                "off until this process ends",
                name, took * 1000, self._budget * 1000,
            )  # fmt: skip


def _failure(name: str, error: str, view: View) -> Failure:
    return Failure(name, shortened(error[:2000], 500), view.checkpoint_id, view.ns)


def _name(run: Any, taken: set[str]) -> str:
    """The function's name; a second one of the same name gets a number."""
    name = getattr(run, "__name__", None) or type(run).__name__
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
