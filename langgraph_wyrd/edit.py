"""A draft of a thread's working state, with verbs to change it."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Literal

from langgraph_wyrd.checkpoints.put import now
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.operations import Operation, asynchronous, operation
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

    from langgraph_wyrd.declaring import Declaring

PERSON = "person"


class Edit:
    """A draft of a thread's working state. Get it from `thread.edit()`.

    NEW: nothing was read yet. LOADED: as the thread has it. DIRTY: something was said, and is not
    saved. The verbs read the thread when they are first used, and change nothing in the database:
    `save` does, in one transaction; `discard` forgets what was said.

    As a context manager it saves at the end, and discards if the block raises.
    """

    def __init__(self, thread: Declaring, by: str, auto_save: bool) -> None:
        if not isinstance(by, str) or not by.strip():
            raise InvalidInput(f"by={by!r}: name who edits")
        self._thread = thread
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
        return f"<Edit of thread {self._thread.id!r} by {self._by}: {self.status}>"

    # ---- life

    @operation
    def load(self) -> Operation[Self]:
        """Read the thread's state, if that was not done yet."""
        if self._editing is None:
            self._begin((yield from self._thread._state_to_edit()))
        return self

    aload = asynchronous(load)

    @operation
    def save(self) -> Operation[WorkingState]:
        """Store what was said; the state with it.

        If the thread moved on meanwhile, it is joined with what has become of it.

        Raises:
            EditConflict: Somebody else changed the same things otherwise. Nothing is stored, and
                the draft stays as it is.
        """
        if self._editing is None:
            self._begin((yield from self._thread._state_to_edit()))
        editing = self._loaded()
        if editing.verbs:
            self._begin((yield from self._thread._save(editing)))
        else:
            self._begin(editing.base)
        return self.state

    asave = asynchronous(save)

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
            self.load()
        assert self._editing is not None
        return self._editing

    def _say(self, verb: str, *args: Any) -> Any:
        said = self._loaded().say(verb, *args)
        if self._auto:
            self.save()
        return said

    # ---- verbs

    def add_todo(
        self, content: str, priority: Priority = "medium", *, key: str | None = None
    ) -> Todo:
        """Put a step on the list of those that were added by hand.

        Args:
            content: The step.
            priority: "low", "medium", "high" or "critical".
            key: Said again under the same key, in this thread, it is the same todo.
        """
        return self._say("add_todo", content, priority, key)  # type: ignore[no-any-return]

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
        *,
        key: str | None = None,
    ) -> OpenLoop:
        """Note something that waits.

        Args:
            description: What.
            context: What is needed to close it: a dict of what JSON holds exactly, or text, which
                is kept as `{"text": …}`.
            kind: "note", "decision", "question", "request", "task" or "promise".
            key: Said again under the same key, in this thread, it is the same loop.
        """
        return self._say("add_open_loop", description, context, kind, key)  # type: ignore[no-any-return]

    def resolve_open_loop(self, id: str, outcome: str | None = None) -> OpenLoop:
        """An open loop, whoever opened it, is over."""
        return self._say("resolve_open_loop", id, outcome)  # type: ignore[no-any-return]

    def set_intention(self, text: str | None) -> Intention | None:
        """What the agent is to be after from now on; None takes back what was said before."""
        return self._say("set_intention", text)  # type: ignore[no-any-return]

    def decide(
        self,
        decision: str,
        rationale: str | None = None,
        action: str | None = None,
        *,
        key: str | None = None,
    ) -> OpenLoop:
        """Write a decision down before it is acted on. It stays open until its outcome is known.

        Args:
            decision: What was decided.
            rationale: Why.
            action: What will be done.
            key: Said again under the same key, in this thread, it is the same decision: so a node
                that runs again decides once.
        """
        return self._say("decide", decision, rationale, action, key)  # type: ignore[no-any-return]

    def record_outcome(self, id: str, outcome: str) -> OpenLoop:
        """What came of a decision."""
        return self._say("record_outcome", id, outcome)  # type: ignore[no-any-return]
