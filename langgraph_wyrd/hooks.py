"""Hooks: functions that are called with what happened to a thread, after it was stored.

They run in the caller's own context, never on the writer's thread: so a hook may use the saver, and
a run has ended only when its hooks have. A hook that raises is logged and changes nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args, overload

from langgraph_wyrd.drive import drive, finish
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import OpenLoop, WorkingState

logger = logging.getLogger("langgraph_wyrd")

EventName = Literal[
    "save",  # a root checkpoint was stored, with its working state
    "resume",  # a thread was picked up again: by `resume`, or by a run in a new process
    "run_end",  # a run of a graph ended, in whichever way
    "discard",  # a thread, or checkpoints of it, were deleted
    "heal",  # damage was found, and something was put in its place; once each
    "fork",  # a checkpoint was stored beside the head, not behind it
    "loop_opened",
    "loop_closed",
    "edit",  # somebody changed the working state by hand
    "label",  # a checkpoint got a name
]
EVENTS: tuple[EventName, ...] = get_args(EventName)


@dataclass(frozen=True, slots=True)
class Happening:
    """What a hook is called with. Fields that an event has no use for are None."""

    event: EventName
    thread_id: str
    checkpoint_id: str | None = None
    ns: str = ""
    state: WorkingState | None = None  # "save": the thread's; None with pillars=False
    loop: OpenLoop | None = None  # "loop_opened", "loop_closed"
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        loop = "" if self.loop is None else f", {self.loop.kind} {self.loop.id}"
        return f"{self.event} of thread {self.thread_id!r}, checkpoint {self.checkpoint_id}{loop}"


Hook = Callable[[Happening], object]
F = TypeVar("F", bound=Hook)

# The hooks that are running: a hook is not called for what it does itself.
_running: contextvars.ContextVar[tuple[Hook, ...]] = contextvars.ContextVar("hooks", default=())


class Hooks:
    """The hooks of one saver, which all its clones share."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[str, list[Hook]] = {}
        self.listen: Callable[[], object] = tuple  # starts listening for the ends of runs

    def add(self, event: str, hook: Hook) -> Callable[[], None]:
        """Have a function called on an event; returns a function that removes it."""
        check(event)
        if not callable(hook):
            raise InvalidInput(f"the hook for {event!r} can't be called: {hook!r}")
        if event == "run_end":
            self.listen()
        added = [hook]
        with self._guard:
            self._held.setdefault(event, []).append(hook)

        def remove() -> None:
            with self._guard:
                if added:  # once, even if the same function was added twice
                    self._held[event].remove(added.pop())
                if not self._held.get(event, True):
                    del self._held[event]

        return remove

    def add_all(self, hooks: Mapping[str, Any] | None) -> None:
        """Add what `from_conn_string(hooks=…)` takes: a function, or several, for each event."""
        for event, some in (hooks or {}).items():
            check(event)
            many = some if isinstance(some, Iterable) and not callable(some) else [some]
            for hook in many:
                self.add(event, hook)

    def of(self, event: str) -> tuple[Hook, ...]:
        """The hooks to call for an event; not one that is running already, further up the stack."""
        running = _running.get()
        return tuple(hook for hook in self._held.get(event, ()) if hook not in running)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._held)

    def has(self, *events: EventName) -> bool:
        """Whether there is a hook for one of these events."""
        return any(event in self._held for event in events)


def check(event: str) -> None:
    if event not in EVENTS:
        raise InvalidInput(f"there is no event {event!r}: use one of {', '.join(EVENTS)}")


# ---- calling them


class Fire(NamedTuple):
    """Hooks to call, for who drives a generator."""

    hooks: Any  # a saver, or what else has `hooks`
    happenings: tuple[Happening, ...]


def fire(core: Any, *happenings: Happening) -> None:
    """Call the hooks, from sync code: after the commit, in the caller's own thread.

    An async hook runs to its end: here, or, if a loop is running in this thread, on another one.
    """
    finish(drive(_called(core, happenings), _run_to_its_end))


async def afire(core: Any, *happenings: Happening) -> None:
    """Call the hooks, from async code: after the commit, on the caller's own loop."""
    await drive(_called(core, happenings), lambda answer: answer)


def _called(core: Any, happenings: Iterable[Happening]) -> Generator[Any, Any, None]:
    """Call the hooks, one after the other; yields what an async one is to be awaited for."""
    for happening in happenings:
        for hook in core.hooks.of(happening.event):
            token = _running.set((*_running.get(), hook))
            try:
                answer = hook(happening)
                if inspect.isawaitable(answer):
                    yield answer
            except Exception:
                logger.exception(
                    "hook %s for %r of thread %r raised; nothing else is changed by that",
                    getattr(hook, "__qualname__", None) or repr(hook),
                    happening.event,
                    happening.thread_id,
                )
            finally:
                _running.reset(token)


async def _run_to_its_end(answer: Awaitable[object]) -> None:
    async def awaited() -> None:
        await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    with ThreadPoolExecutor(1, "wyrd-hook") as helper:
        helper.submit(contextvars.copy_context().run, asyncio.run, awaited()).result()


def of_loops(
    before: WorkingState, after: WorkingState, how: Mapping[str, Any],
    where: tuple[str, str, str] | None = None,
) -> Iterator[Happening]:  # fmt: skip
    """What hooks are called with for the loops that were opened and closed between two states.

    `where`: thread, checkpoint and namespace; without it the later state's, and each loop's own.
    """
    if before.loops is after.loops:
        return
    was_open = {loop.id: loop for loop in before.loops if not loop.resolved}
    now = {loop.id: loop for loop in after.loops}
    opened = [loop for loop in after.loops if not loop.resolved and loop.id not in was_open]
    gone = [id for id in was_open if id not in now or now[id].resolved]
    event: EventName
    for event, loops in (
        ("loop_opened", opened), ("loop_closed", [now.get(id, was_open[id]) for id in gone]),
    ):  # fmt: skip
        for loop in loops:
            place = where or (after.thread_id or "", after.checkpoint_id, loop.source.ns)
            taken_back = event == "loop_closed" and not loop.resolved
            detail = {**how, "taken_back": True} if taken_back else how
            yield Happening(event, *place, None, loop, detail)


class HookMethods:
    """The part of a saver that takes hooks."""

    if TYPE_CHECKING:
        hooks: Hooks

    @overload
    def on(self, event: EventName, fn: Hook) -> Callable[[], None]: ...
    @overload
    def on(self, event: EventName) -> Callable[[F], F]: ...

    def on(self, event: EventName, fn: Hook | None = None) -> Callable[[], None] | Callable[[F], F]:
        """Have a function, sync or async, called with the `Happening` of an event after it was
        stored; returns a function that removes it. Without `fn` it is a decorator. The events:
        "save", "resume", "discard", "heal", "fork", "loop_opened", "loop_closed", "edit", "label"
        and "run_end". See docs/hooks.md.
        """
        check(event)
        if fn is not None:
            return self.hooks.add(event, fn)

        def decorate(hook: F) -> F:
            self.hooks.add(event, hook)
            return hook

        return decorate
