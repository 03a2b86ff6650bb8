"""Which extractors look at a checkpoint, and how a save is kept safe from them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
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
PATIENCE = 3  # times that it may take longer ...
WITHIN = 20  # ... among this many views
_FAR = 20  # budgets that one view may cost before the extractor is off at once

_FACTS = frozenset(get_args(Fact))

# Raised when the default extractors read something differently: what was read by an older number
# can be read again.
VERSION = 2

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
            facts; its name is the function's. Where it has a `version` (an attribute of the
            function), it is kept with what it said.
        off: Names of default extractors that are not to run.
        budget: Seconds that one of the user's extractors may take for a checkpoint. One that takes
            longer for three of twenty checkpoints, or once for twenty times as long, is switched
            off until the process ends; that is logged, and reported with the checkpoint.
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
        self._defaults = tuple((name, run) for name, run in DEFAULTS.items() if name not in off)
        names = {name for name, _ in self._defaults}
        mine: list[tuple[str, Extractor, str]] = []
        for run in own:
            if not callable(run):
                raise InvalidInput(f"{run!r} is no extractor: pass a function that takes a View")
            name = _name(run, names)
            names.add(name)
            version = getattr(run, "version", None)
            mine.append((name, run, name if version is None else f"{name} {version}"))
        self._own = tuple(mine)
        self._budget = budget
        self._clock = clock
        self._late: dict[str, deque[bool]] = {}
        self._off: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Those that run, in order."""
        chosen = [*(name for name, _ in self._defaults), *(name for name, _, _ in self._own)]
        return tuple(name for name in chosen if name not in self._off)

    @property
    def versions(self) -> tuple[str, ...]:
        """What reads: the default ones as a whole with their version, then each of the user's."""
        off = sorted(DEFAULTS.keys() - {name for name, _ in self._defaults})
        default = f"wyrd {VERSION}" + (f" without {', '.join(off)}" if off else "")
        return (default, *(label for _, _, label in self._own))

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
        for name, run in self._defaults:
            try:
                facts = run(view)
                if facts:
                    found += tuple(facts)
            except Exception as error:
                failures.append(self._failed(name, error, view, thread_id))
        if self._own:
            for name, run, label in self._own:
                if name not in self._off:
                    self._runs_own(name, run, label, view, thread_id, found, failures)
        return found, failures

    def _runs_own(
        self, name: str, run: Extractor, label: str, view: View, thread_id: str | None,
        found: list[Fact], failures: list[Failure],
    ) -> None:  # fmt: skip
        start = self._clock()
        try:
            facts = tuple(run(view) or ())
            for fact in facts:
                if type(fact) not in _FACTS:
                    raise TypeError(f"gave a {type(fact).__name__}, which is no fact")
            found += (_signed(fact, label) for fact in facts)
        except Exception as error:
            failures.append(self._failed(name, error, view, thread_id))
        took = self._clock() - start
        if self._overran(name, took):
            failures.append(_failure(name, "switched off: it kept taking too long", view))

    def _failed(self, name: str, error: Exception, view: View, thread_id: str | None) -> Failure:
        logger.warning(
            "extractor %r failed on checkpoint %s of thread %s, and is skipped",
            name, view.checkpoint_id, thread_id or view.previous.thread_id, exc_info=error,
        )  # fmt: skip
        return _failure(name, f"{type(error).__name__}: {error}", view)

    def _overran(self, name: str, took: float) -> bool:
        """Keep account of an extractor's time; whether it was switched off for it."""
        late = took > self._budget
        past = self._late.get(name)
        if past is None:
            if not late:
                return False
            past = self._late[name] = deque(maxlen=WITHIN)
        past.append(late)
        if not late or (sum(past) < PATIENCE and took <= _FAR * self._budget):
            return False
        self._off |= {name}
        logger.error(
            "extractor %r took %.0f ms, above its budget of %.0f for %d of the last %d "
            "checkpoints: it is switched off until this process ends",
            name, took * 1000, self._budget * 1000, sum(past), len(past),
        )  # fmt: skip
        return True


def _signed(fact: Fact, label: str) -> Fact:
    """A fact with the name and version of the user's extractor that found it."""
    source = replace(fact.source, extra={**fact.source.extra, "extractor": label})
    return replace(fact, source=source)


def _failure(name: str, error: str, view: View) -> Failure:
    return Failure(name, shortened(error[:2000], 500), view.checkpoint_id, view.ns)


def _name(run: Any, taken: set[str]) -> str:
    """The function's name; a second one of the same name gets a number."""
    name = getattr(run, "__name__", None) or type(run).__name__
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)
