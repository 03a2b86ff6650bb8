"""Saying outright what a thread is about: a draft with verbs, and the verbs for one-off use."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langgraph_wyrd.alone import alone
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.handle.base import Handle
from langgraph_wyrd.hooks import Happening, afire, fire, loops_between
from langgraph_wyrd.plans import edits
from langgraph_wyrd.plans.threads import now
from langgraph_wyrd.state.editing import Editing, Notes, Priority
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    LoopKind,
    OpenLoop,
    Todo,
    WorkingState,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from langgraph_wyrd.plans.known import Memory
    from langgraph_wyrd.store.running import Running

T = TypeVar("T")
PERSON = "person"


class Edit:
    """A draft of a thread's working state. Get it from `thread.edit()`.

    NEW: nothing was read yet. LOADED: as the thread has it. DIRTY: something was said, and is not
    saved. The verbs read the thread when they are first used, and change nothing in the database:
    `save` does, in one transaction; `discard` forgets what was said.

    As a context manager it saves at the end, and discards if the block raises.
    """

    def __init__(self, handle: Editable, by: str, auto_save: bool) -> None:
        if not isinstance(by, str) or not by.strip():
            raise InvalidInput(f"by={by!r}: name who edits")
        self._handle = handle
        self._by = by
        self._auto = auto_save
        self._editing: Editing | None = None

    @property
    def status(self) -> Literal["NEW", "LOADED", "DIRTY"]:
        if self._editing is None:
            return "NEW"
        return "DIRTY" if self._editing.verbs else "LOADED"

    @property
    def state(self) -> WorkingState:
        """The working state with all that was said."""
        return self._loaded().state

    def __repr__(self) -> str:
        return f"<Edit of thread {self._handle.id!r} by {self._by}: {self.status}>"

    # ---- life

    def load(self) -> Self:
        """Read the thread's state, if that was not done yet."""
        self._loaded()
        return self

    async def aload(self) -> Self:
        """Async version of `load`."""
        if self._editing is None:
            self._begin(await self._handle._abegin())
        return self

    def save(self) -> WorkingState:
        """Store what was said; the state with it.

        If the thread moved on meanwhile, it is joined with what has become of it.

        Raises:
            EditConflict: Somebody else changed the same things otherwise. Nothing is stored, and
                the draft stays as it is.
        """
        editing = self._loaded()
        self._begin(self._handle._save(editing) if editing.verbs else editing.base)
        return self.state

    async def asave(self) -> WorkingState:
        """Async version of `save`."""
        await self.aload()
        editing = self._loaded()
        self._begin(await self._handle._asave(editing) if editing.verbs else editing.base)
        return self.state

    def discard(self) -> None:
        """Forget what was said and not saved. The next verb reads the thread anew."""
        self._editing = None

    def __enter__(self) -> Self:
        return self.load()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.save()
        else:
            self.discard()

    async def __aenter__(self) -> Self:
        return await self.aload()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.asave()
        else:
            self.discard()

    def _begin(self, state: WorkingState) -> None:
        self._editing = Editing(state, self._by, now(), secrets.token_hex(6))

    def _loaded(self) -> Editing:
        if self._editing is None:
            self._begin(self._handle._begin())
        assert self._editing is not None
        return self._editing

    def _say(self, verb: str, *args: Any) -> Any:
        said = self._loaded().say(verb, *args)
        if self._auto:
            self.save()
        return said

    # ---- verbs

    def add_todo(self, content: str, priority: Priority = "medium") -> Todo:
        """Put a step on the list of those that were added by hand.

        Args:
            content: The step.
            priority: "low", "medium", "high" or "critical".
        """
        return self._say("add_todo", content, priority)  # type: ignore[no-any-return]

    def start_todo(self, id: str) -> Todo:
        """A pending todo is in progress now."""
        return self._say("start_todo", id)  # type: ignore[no-any-return]

    def complete_todo(self, id: str) -> Todo:
        """An open todo is done. If its tracker goes on listing it as it did, it stays done."""
        return self._say("complete_todo", id)  # type: ignore[no-any-return]

    def cancel_todo(self, id: str) -> Todo:
        """An open todo is given up."""
        return self._say("cancel_todo", id)  # type: ignore[no-any-return]

    def reopen_todo(self, id: str) -> Todo:
        """A todo that was completed or cancelled is pending again."""
        return self._say("reopen_todo", id)  # type: ignore[no-any-return]

    def set_context(self, key: str, value: Any, metadata: Notes = None) -> ContextItem:
        """Keep a value under a key.

        Args:
            key: The key.
            value: Anything that JSON holds exactly; a tuple or an enum is refused, with its path.
            metadata: A dict, or text, which is kept as `{"text": …}`.
        """
        return self._say("set_context", key, value, metadata)  # type: ignore[no-any-return]

    def get_context(self, key: str, default: Any = None) -> Any:
        """The value under a key."""
        return self.state.get_context(key, default)

    def remove_context(self, key: str) -> None:
        """Take a key out of the context."""
        self._say("remove_context", key)

    def add_open_loop(
        self,
        description: str,
        context: Notes = None,
        kind: LoopKind = "note",
    ) -> OpenLoop:
        """Note something that waits.

        Args:
            description: What.
            context: What is needed to close it: a dict of what JSON holds exactly, or text, which
                is kept as `{"text": …}`.
            kind: "note", "decision", "question", "request", "task" or "promise".
        """
        return self._say("add_open_loop", description, context, kind)  # type: ignore[no-any-return]

    def resolve_open_loop(self, id: str, outcome: str | None = None) -> OpenLoop:
        """An open loop, whoever opened it, is over."""
        return self._say("resolve_open_loop", id, outcome)  # type: ignore[no-any-return]

    def set_intention(self, text: str | None) -> Intention | None:
        """What the agent is to be after from now on; None takes back what was said before."""
        return self._say("set_intention", text)  # type: ignore[no-any-return]

    def decide(
        self, decision: str, rationale: str | None = None, action: str | None = None
    ) -> OpenLoop:
        """Write a decision down before it is acted on. It stays open until its outcome is known."""
        return self._say("decide", decision, rationale, action)  # type: ignore[no-any-return]

    def record_outcome(self, id: str, outcome: str) -> OpenLoop:
        """What came of a decision."""
        return self._say("record_outcome", id, outcome)  # type: ignore[no-any-return]


class Editable(Handle):
    """The part of a thread's handle that edits its working state."""

    def edit(self, by: str = PERSON, *, auto_save: bool = False) -> Edit:
        """A draft of the working state, with verbs to change it.

        ```python
        with thread.edit(by="anna") as draft:
            draft.complete_todo(todo.id)
            draft.set_intention("ship it on Friday")
        ```

        What is said lies on top of the head and lasts, whatever the agent does next; the
        checkpoints themselves are not touched. On a branch that forks from before, it was not said.

        Args:
            by: Who edits; it is the `source.author` of what is said.
            auto_save: Save after each verb.
        """
        return Edit(self, by, auto_save)

    def _begin(self) -> WorkingState:
        codec = self._refuse()
        return self._core.run(lambda core: core.read(lambda: edits.begin(codec, self._stored)))

    async def _abegin(self) -> WorkingState:
        codec = self._refuse()
        return await self._core.arun(
            lambda core: core.read(lambda: edits.begin(codec, self._stored))
        )

    def _save(self, editing: Editing) -> WorkingState:
        before, after = self._core.run(lambda core: self._stores(core, editing))
        fire(self._core, *_happenings(editing, before, after))
        return after

    async def _asave(self, editing: Editing) -> WorkingState:
        before, after = await self._core.arun(lambda core: self._stores(core, editing))
        await afire(self._core, *_happenings(editing, before, after))
        return after

    async def _stores(
        self, core: Running[Memory], editing: Editing
    ) -> tuple[WorkingState, WorkingState]:
        codec = self._codec
        return await alone(core, self._stored, lambda: edits.save(codec, self._stored, editing))

    def _refuse(self) -> Any:
        if self._weaver is None:
            raise edits.refuse_without_pillars(self._stored)
        return self._codec


def _happenings(editing: Editing, before: WorkingState, after: WorkingState) -> Iterator[Happening]:
    """What hooks are told of an edit that was stored."""
    if after is before:
        return
    thread_id, checkpoint_id = after.thread_id or "", after.checkpoint_id
    told = {"by": editing.author, "verbs": [verb.name for verb in editing.verbs]}
    yield Happening("edit", thread_id, checkpoint_id, state=after, detail=told)
    yield from told_of_loops(before, after, {"by": "edit"})


def told_of_loops(
    before: WorkingState, after: WorkingState, how: Mapping[str, Any]
) -> Iterator[Happening]:
    """What hooks are told of the loops that were opened and closed by what was said."""
    opened, closed = loops_between(before.loops, after.loops)
    for event, loops in (("loop_opened", opened), ("loop_closed", closed)):
        for loop in loops:
            where = after.thread_id or "", after.checkpoint_id, loop.source.ns
            yield Happening(event, *where, None, loop, how)  # type: ignore[arg-type]
