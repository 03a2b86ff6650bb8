"""Which extractors look at a checkpoint, and how a save is kept safe from them."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction import aims, context, conversation, declared, tasks, todos
from langgraph_wyrd.extraction.messages import digest
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
VERSION = 3

# A thread's row says in `read_by` what read its working state, as JSON: the version of the default
# extractors, those of them that were off, and the user's with their versions.
# NULL is the first reading that there was, all default ones of version 3; "" is none at all.
_FIRST: dict[str, Any] = {"wyrd": 3}

# What an extractor looks at: a task's writes; a checkpoint's channels but those of messages; new
# messages, an agent's words in them, its calls and those that failed.
WRITES, CHANNELS, MESSAGES, SPEECH, CALLS = 1, 2, 4, 8, 16
_ALL = WRITES | CHANNELS | MESSAGES | SPEECH | CALLS

# In the order in which they run: what is over comes before what is new.
DEFAULTS: dict[str, Extractor] = {
    "tasks": tasks.tasks,
    "conversation": conversation.conversation,
    "todos": todos.todos,
    "background": todos.background,
    "aims": aims.aims,
    "rubric": aims.rubric,
    "steps": aims.steps,
    "declared": declared.declared,
    "context": context.context,
}
LOOKS_AT = {
    "tasks": WRITES,
    "conversation": MESSAGES | CHANNELS,
    "todos": WRITES | CALLS | CHANNELS,
    "background": WRITES | CHANNELS,
    "aims": CHANNELS,
    "rubric": CHANNELS,
    "steps": SPEECH,
    "declared": CALLS,
    "context": CHANNELS,
}
_ROUTING = ("branch:to:", "join:")
_NO_NEWS = frozenset(("messages", "__start__", "__input__", "__pregel_tasks"))


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
        self._looking = tuple(  # those that look at any of this
            tuple(each for each in self._defaults if LOOKS_AT[each[0]] & kinds)
            for kinds in range(_ALL + 1)
        )
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
        self._label: tuple[str | None] | None = None  # made when it is first asked for

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
    def label(self) -> str | None:
        """What a thread's row says of a state that these read."""
        if self._label is None:
            off = [name for name in DEFAULTS if name not in dict(self._defaults)]
            own = {
                name: version if isinstance(version, int | float | None) else str(version)
                for name, run, _ in self._own
                if name not in self._off
                for version in (getattr(run, "version", None),)
            }
            held: dict[str, Any] = {"wyrd": VERSION}
            held |= ({"off": off} if off else {}) | ({"own": own} if own else {})
            label = None if held == _FIRST else json.dumps(held, separators=(",", ":"))
            self._label = (label,)
        return self._label[0]

    def covered_by(self, label: str | None) -> bool:
        """Whether a state with this label was read by all of these, in this version or a newer."""
        return label == self.label or _covers(label, self.label)

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
        for name, run in self._looking[_kinds(view)]:
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
        self._label = None
        logger.error(
            "extractor %r took %.0f ms, above its budget of %.0f for %d of the last %d "
            "checkpoints: it is switched off until this process ends",
            name, took * 1000, self._budget * 1000, sum(past), len(past),
        )  # fmt: skip
        return True


def _kinds(view: View) -> int:
    """What there is to look at in a view."""
    try:
        found = digest(view)
    except Exception:  # a channel whose values can't be looked at: the extractors say so
        return _ALL if view.putting else _ALL ^ CHANNELS
    kinds = MESSAGES if found.news or found.answers else 0
    if found.speaks:
        kinds |= SPEECH
    if found.calls or found.fails:
        kinds |= CALLS
    if not view.putting:
        return kinds | WRITES
    every = view.channels.context is not None
    for name in (*view.changed, *view.gone):
        if every or not (name in _NO_NEWS or name.startswith(_ROUTING)):
            return kinds | CHANNELS
    return kinds


def chosen(given: Extractors | Iterable[Extractor] | None) -> Extractors:
    """The extractors that somebody passed: the default ones, and these."""
    return given if isinstance(given, Extractors) else Extractors(given or ())


@lru_cache(maxsize=256)
def _covers(label: str | None, needed: str | None) -> bool:
    have, want = (_FIRST if each is None else _read(each) for each in (label, needed))
    if want["wyrd"] > have["wyrd"] or not {*have.get("off", ())} <= {*want.get("off", ())}:
        return False
    own = have.get("own", {})
    return all(
        name in own and not _newer(version, own[name])
        for name, version in want.get("own", {}).items()
    )


def _read(label: str) -> dict[str, Any]:
    try:
        held = json.loads(label)
    except ValueError:  # "", or damaged
        held = None
    return held if isinstance(held, dict) and isinstance(held.get("wyrd"), int) else {"wyrd": 0}


def _newer(version: Any, than: Any) -> bool:
    if version is None or version == than:
        return False
    if isinstance(version, int | float) and isinstance(than, int | float):
        return version > than
    return True  # of names nobody knows which is newer: another one is read again


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
