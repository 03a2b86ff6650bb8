"""The part of a saver that takes hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, overload

from langgraph_wyrd.hooks import EventName, F, Hook, check

if TYPE_CHECKING:
    from langgraph_wyrd.hooks import Hooks


class Watching:
    """Has functions called with what happened to threads, after it was stored."""

    if TYPE_CHECKING:
        hooks: Hooks

    @overload
    def on(self, event: EventName, fn: Hook) -> Callable[[], None]: ...
    @overload
    def on(self, event: EventName) -> Callable[[F], F]: ...

    def on(self, event: EventName, fn: Hook | None = None) -> Callable[[], None] | Callable[[F], F]:
        """Have a function called on an event, after it was stored. See docs/hooks.md.

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
            return self.hooks.add(event, fn)

        def decorate(hook: F) -> F:
            self.hooks.add(event, hook)
            return hook

        return decorate
