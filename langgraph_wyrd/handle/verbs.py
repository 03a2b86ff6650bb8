"""The verbs of an edit for one-off use: each is a draft of its own, saved at once."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from langgraph_wyrd.handle.editing import PERSON, Editable
from langgraph_wyrd.state.editing import Notes, Priority
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    LoopKind,
    OpenLoop,
    Todo,
    WorkingState,
)

T = TypeVar("T", Todo, ContextItem, OpenLoop, "Intention | None")


class Verbs(Editable):
    """Verbs directly on a thread. `by` says whose word it is; see `Edit` for what they do."""

    def add_todo(self, content: str, priority: Priority = "medium", *, by: str = PERSON) -> Todo:
        """Put a step on the list of those that were added by hand."""
        with self.edit(by) as draft:
            said = draft.add_todo(content, priority)
        return _stored(draft.state, said)

    async def aadd_todo(
        self, content: str, priority: Priority = "medium", *, by: str = PERSON
    ) -> Todo:
        """Async version of `add_todo`."""
        async with self.edit(by) as draft:
            said = draft.add_todo(content, priority)
        return _stored(draft.state, said)

    def start_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """A pending todo is in progress now."""
        with self.edit(by) as draft:
            said = draft.start_todo(id)
        return _stored(draft.state, said)

    async def astart_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """Async version of `start_todo`."""
        async with self.edit(by) as draft:
            said = draft.start_todo(id)
        return _stored(draft.state, said)

    def complete_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """An open todo is done."""
        with self.edit(by) as draft:
            said = draft.complete_todo(id)
        return _stored(draft.state, said)

    async def acomplete_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """Async version of `complete_todo`."""
        async with self.edit(by) as draft:
            said = draft.complete_todo(id)
        return _stored(draft.state, said)

    def cancel_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """An open todo is given up."""
        with self.edit(by) as draft:
            said = draft.cancel_todo(id)
        return _stored(draft.state, said)

    async def acancel_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """Async version of `cancel_todo`."""
        async with self.edit(by) as draft:
            said = draft.cancel_todo(id)
        return _stored(draft.state, said)

    def reopen_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """A todo that was completed or cancelled is pending again."""
        with self.edit(by) as draft:
            said = draft.reopen_todo(id)
        return _stored(draft.state, said)

    async def areopen_todo(self, id: str, *, by: str = PERSON) -> Todo:
        """Async version of `reopen_todo`."""
        async with self.edit(by) as draft:
            said = draft.reopen_todo(id)
        return _stored(draft.state, said)

    def set_context(
        self,
        key: str,
        value: Any,
        metadata: Notes = None,
        *,
        by: str = PERSON,
    ) -> ContextItem:
        """Keep a value under a key: anything that JSON holds exactly."""
        with self.edit(by) as draft:
            said = draft.set_context(key, value, metadata)
        return _stored(draft.state, said)

    async def aset_context(
        self,
        key: str,
        value: Any,
        metadata: Notes = None,
        *,
        by: str = PERSON,
    ) -> ContextItem:
        """Async version of `set_context`."""
        async with self.edit(by) as draft:
            said = draft.set_context(key, value, metadata)
        return _stored(draft.state, said)

    def remove_context(self, key: str, *, by: str = PERSON) -> None:
        """Take a key out of the context."""
        with self.edit(by) as draft:
            draft.remove_context(key)

    async def aremove_context(self, key: str, *, by: str = PERSON) -> None:
        """Async version of `remove_context`."""
        async with self.edit(by) as draft:
            draft.remove_context(key)

    def add_open_loop(
        self,
        description: str,
        context: Notes = None,
        kind: LoopKind = "note",
        *,
        by: str = PERSON,
    ) -> OpenLoop:
        """Note something that waits."""
        with self.edit(by) as draft:
            said = draft.add_open_loop(description, context, kind)
        return _stored(draft.state, said)

    async def aadd_open_loop(
        self,
        description: str,
        context: Notes = None,
        kind: LoopKind = "note",
        *,
        by: str = PERSON,
    ) -> OpenLoop:
        """Async version of `add_open_loop`."""
        async with self.edit(by) as draft:
            said = draft.add_open_loop(description, context, kind)
        return _stored(draft.state, said)

    def resolve_open_loop(
        self, id: str, outcome: str | None = None, *, by: str = PERSON
    ) -> OpenLoop:
        """An open loop, whoever opened it, is over."""
        with self.edit(by) as draft:
            said = draft.resolve_open_loop(id, outcome)
        return _stored(draft.state, said)

    async def aresolve_open_loop(
        self, id: str, outcome: str | None = None, *, by: str = PERSON
    ) -> OpenLoop:
        """Async version of `resolve_open_loop`."""
        async with self.edit(by) as draft:
            said = draft.resolve_open_loop(id, outcome)
        return _stored(draft.state, said)

    def set_intention(self, text: str | None, *, by: str = PERSON) -> Intention | None:
        """What the agent is to be after from now on; None takes back what was said before."""
        with self.edit(by) as draft:
            said = draft.set_intention(text)
        return _stored(draft.state, said)

    async def aset_intention(self, text: str | None, *, by: str = PERSON) -> Intention | None:
        """Async version of `set_intention`."""
        async with self.edit(by) as draft:
            said = draft.set_intention(text)
        return _stored(draft.state, said)

    def decide(
        self,
        decision: str,
        rationale: str | None = None,
        action: str | None = None,
        *,
        by: str = PERSON,
    ) -> OpenLoop:
        """Write a decision down before it is acted on; open until its outcome is recorded."""
        with self.edit(by) as draft:
            said = draft.decide(decision, rationale, action)
        return _stored(draft.state, said)

    async def adecide(
        self,
        decision: str,
        rationale: str | None = None,
        action: str | None = None,
        *,
        by: str = PERSON,
    ) -> OpenLoop:
        """Async version of `decide`."""
        async with self.edit(by) as draft:
            said = draft.decide(decision, rationale, action)
        return _stored(draft.state, said)

    def record_outcome(self, id: str, outcome: str, *, by: str = PERSON) -> OpenLoop:
        """What came of a decision."""
        with self.edit(by) as draft:
            said = draft.record_outcome(id, outcome)
        return _stored(draft.state, said)

    async def arecord_outcome(self, id: str, outcome: str, *, by: str = PERSON) -> OpenLoop:
        """Async version of `record_outcome`."""
        async with self.edit(by) as draft:
            said = draft.record_outcome(id, outcome)
        return _stored(draft.state, said)

    def get_context(self, key: str, default: Any = None) -> Any:
        """The value under a key, as of the head."""
        return self.edit().get_context(key, default)

    async def aget_context(self, key: str, default: Any = None) -> Any:
        """Async version of `get_context`."""
        return (await self.edit().aload()).get_context(key, default)


def _stored(state: WorkingState, said: T) -> T:
    """An item as it was stored: its times are those of the save."""
    items: tuple[Item, ...] = (*state.todos, *state.context, *state.loops, *state.intentions)
    found = next((item for item in items if said is not None and item.id == said.id), said)
    return cast("T", found)
