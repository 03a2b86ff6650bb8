"""What a saver's own calls tell the hooks: what was stored, what opened and closed, what went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from langgraph_wyrd.hooks import EventName, F, Happening, Hook, afire, check, fire, loops_between
from langgraph_wyrd.plans.known import Known
from langgraph_wyrd.plans.task_writes import PutWrites
from langgraph_wyrd.plans.woven import Weave
from langgraph_wyrd.plans.write import Put
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.store.names import given
from langgraph_wyrd.store.statements import Plan, WriteSet

if TYPE_CHECKING:
    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.core import Core
    from langgraph_wyrd.store.roles import Hot

OF_PUTS: tuple[EventName, ...] = ("save", "fork", "loop_opened", "loop_closed")
OF_WRITES: tuple[EventName, ...] = ("loop_opened", "loop_closed")


class Watching:
    """The part of a saver that takes hooks."""

    if TYPE_CHECKING:
        _core: Core[Memory]

    @overload
    def on(self, event: EventName, fn: Hook) -> Callable[[], None]: ...
    @overload
    def on(self, event: EventName) -> Callable[[F], F]: ...

    def on(self, event: EventName, fn: Hook | None = None) -> Callable[[], None] | Callable[[F], F]:
        """Have a function told of an event, after it was stored. See docs/hooks.md.

        Args:
            event: "save", "resume", "discard", "heal", "fork", "loop_opened", "loop_closed",
                "edit" or "label".
            fn: Called with a `Happening`; sync or async. Without it, `on` is a decorator.

        Returns:
            What takes the hook away again; as a decorator, the function itself.

        Raises:
            InvalidInput: There is no such event.
        """
        check(event)
        if fn is not None:
            return self._core.hooks.add(event, fn)

        def decorate(hook: F) -> F:
            self._core.hooks.add(event, hook)
            return hook

        return decorate


class Watched:
    """A write of which somebody is to be told: it notes what was known before it, and after."""

    __slots__ = ("_after", "_before", "_write", "thread_id")

    def __init__(self, write: Hot[Known]) -> None:
        self.thread_id = write.thread_id
        self._write = write
        self._before: Known | None = None
        self._after: Known | None = None

    def hot(self, known: Known, /) -> tuple[WriteSet, Known] | None:
        return self._write.hot(known)

    def cold(self, known: Known | None, /) -> Plan[Known]:
        return self._write.cold(known)

    def stored(self, before: Known | None, after: Known, /) -> None:
        self._before, self._after = before, after
        self._write.stored(before, after)

    def happenings(self, made: Put | PutWrites) -> list[Happening]:
        """What there is to tell."""
        after = self._after
        if after is None:
            return []
        found: list[Happening] = []
        thread_id, ns = given(made.thread_id), given(made.ns)
        is_put = isinstance(made, Put)
        checkpoint_id = given(made.id if isinstance(made, Put) else made.checkpoint)
        change = after.change
        if isinstance(made, Put) and ns == "":
            if change is not None and change.fork is not None:
                detail = {**change.fork.detail(), "run_id": made.run_id}
                found.append(Happening("fork", thread_id, checkpoint_id, detail=detail))
            detail = {"step": made.step, "source": made.source, "run_id": made.run_id}
            state = _state_at(after.weave, made.id)
            found.append(Happening("save", thread_id, checkpoint_id, state=state, detail=detail))
        shown = self._shown(change.before if change is not None else None)
        if shown is None:
            return found
        opened, closed = loops_between(shown[0].loops, shown[1].loops)
        how = {"by": "put" if is_put else "task"}
        for loop in opened:
            found.append(Happening("loop_opened", thread_id, checkpoint_id, ns, None, loop, how))
        for loop in closed:
            more = how if loop.resolved else {**how, "taken_back": True}
            found.append(Happening("loop_closed", thread_id, checkpoint_id, ns, None, loop, more))
        return found

    def _shown(self, before: WorkingState | None) -> tuple[WorkingState, WorkingState] | None:
        """What the thread's tables showed before, and show now."""
        if self._before is not None and self._before.weave is not None:
            before = self._before.weave.shown
        after = None if self._after is None else self._after.weave
        return None if before is None or after is None else (before, after.shown)


def _state_at(weave: Weave | None, id: str) -> WorkingState | None:
    if weave is None:
        return None
    if weave.top == id:
        return weave.shown
    woven = weave.at("", id)
    return None if woven is None else Weave(id, {"": woven}, WorkingState()).visible()


def _about(made: Put | PutWrites) -> tuple[EventName, ...]:
    return OF_PUTS if isinstance(made, Put) else OF_WRITES


def store(core: Core[Memory], made: Put | PutWrites, write: Hot[Known], alone: bool) -> None:
    """Store a write (`write` is how), and tell the hooks what came of it."""
    if not core.hooks or not core.hooks.hear(*_about(made)):
        core.store(write, alone=alone)
        return
    watched = Watched(write)
    core.store(watched, alone=alone)
    fire(core, *watched.happenings(made))


async def astore(core: Core[Memory], made: Put | PutWrites, write: Hot[Known], alone: bool) -> None:
    """Async version of `store`."""
    if not core.hooks or not core.hooks.hear(*_about(made)):
        await core.astore(write, alone=alone)
        return
    watched = Watched(write)
    await core.astore(watched, alone=alone)
    await afire(core, *watched.happenings(made))


def discarded(threads: Sequence[tuple[str, int]], how: str, **detail: Any) -> list[Happening]:
    """What is told of threads of which so many checkpoints were deleted."""
    return [
        Happening("discard", given(thread_id), detail={"how": how, "checkpoints": count, **detail})
        for thread_id, count in threads
        if count
    ]
