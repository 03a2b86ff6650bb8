"""Saying outright what a thread is about: a draft with verbs, and the verbs for one-off use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from langgraph_wyrd.checkpoints import declare
from langgraph_wyrd.checkpoints.declare import Declaration, Saved, Where
from langgraph_wyrd.edit import PERSON, Edit
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.hooks import Happening, loops_between
from langgraph_wyrd.operations import (
    Call,
    Fire,
    Operation,
    Read,
    Write,
    asynchronous,
    operation,
)
from langgraph_wyrd.state.editing import Editing, Notes, Priority
from langgraph_wyrd.state.model import (
    ContextItem,
    Intention,
    Item,
    LoopKind,
    OpenLoop,
    Todo,
    WorkingState,
)
from langgraph_wyrd.state.reported import READ, Findings, Report
from langgraph_wyrd.storage.names import given

if TYPE_CHECKING:
    from langgraph_wyrd.operations import Write
    from langgraph_wyrd.saver import WyrdSaver
    from langgraph_wyrd.storage.scripts import Script

T = TypeVar("T")


def where_running(thread_id: str) -> Where:
    """Where the run that calls this stands, if it is a run of this thread."""
    from langchain_core.runnables.config import var_child_runnable_config

    config = var_child_runnable_config.get()
    held = (config or {}).get("configurable") or {}
    if config is None or str(held.get("thread_id")) != thread_id:
        return Where()
    at = held.get("checkpoint_map")
    root = at.get("") if isinstance(at, Mapping) else None
    run_id = (config.get("metadata") or {}).get("run_id") or held.get("run_id")
    return Where(
        root if isinstance(root, str) else None, run_id if isinstance(run_id, str) else None
    )


class Reader(Protocol):
    """What reads a conversation: `ModelExtractor`, or something like it."""

    author: str

    def read(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...

    async def aread(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...


class Declaring:
    """The part of a thread's handle that declares. `by` says whose word it is; see `Edit`.

    What is declared is stored when the call returns, also inside a running node and before the
    thread's first checkpoint. Decisions, their outcomes and loops opened by hand belong to the
    thread: every branch shows them, marked `elsewhere` where they were said on another one. Todos,
    context and intentions follow the branch on which they were said.
    """

    if TYPE_CHECKING:
        _saver: WyrdSaver
        _stored: str

        @property
        def id(self) -> str: ...
        def _writing(self, script: Callable[[], Script[Any]]) -> Write: ...

    def edit(self, by: str = PERSON, *, auto_save: bool = False) -> Edit:
        """A draft of the working state, with verbs to change it.

        ```python
        with thread.edit(by="anna") as draft:
            draft.complete_todo(todo.id)
            draft.set_intention("ship it on Friday")
        ```

        What is said lies on top of the head and lasts, whatever the agent does next; the
        checkpoints themselves are not touched.

        Args:
            by: Who edits; it is the `source.author` of what is said.
            auto_save: Save after each verb.
        """
        return Edit(self, by, auto_save)

    # ---- verbs for one-off use

    @operation
    def add_todo(
        self, content: str, priority: Priority = "medium", *, by: str = PERSON,
        key: str | None = None,
    ) -> Operation[Todo]:  # fmt: skip
        """Put a step on the list of those that were added by hand."""
        return (yield from self._say(Todo, by, "add_todo", content, priority, key))

    aadd_todo = asynchronous(add_todo)

    @operation
    def start_todo(self, id: str, *, by: str = PERSON) -> Operation[Todo]:
        """A pending todo is in progress now."""
        return (yield from self._say(Todo, by, "start_todo", id))

    astart_todo = asynchronous(start_todo)

    @operation
    def complete_todo(self, id: str, *, by: str = PERSON) -> Operation[Todo]:
        """An open todo is done."""
        return (yield from self._say(Todo, by, "complete_todo", id))

    acomplete_todo = asynchronous(complete_todo)

    @operation
    def cancel_todo(self, id: str, *, by: str = PERSON) -> Operation[Todo]:
        """An open todo is given up."""
        return (yield from self._say(Todo, by, "cancel_todo", id))

    acancel_todo = asynchronous(cancel_todo)

    @operation
    def reopen_todo(self, id: str, *, by: str = PERSON) -> Operation[Todo]:
        """A todo that was completed or cancelled is pending again."""
        return (yield from self._say(Todo, by, "reopen_todo", id))

    areopen_todo = asynchronous(reopen_todo)

    @operation
    def set_context(
        self, key: str, value: Any, metadata: Notes = None, *, by: str = PERSON
    ) -> Operation[ContextItem]:
        """Keep a value under a key: anything that JSON holds exactly."""
        return (yield from self._say(ContextItem, by, "set_context", key, value, metadata))

    aset_context = asynchronous(set_context)

    @operation
    def remove_context(self, key: str, *, by: str = PERSON) -> Operation[None]:
        """Take a key out of the context."""
        yield from self._say(ContextItem, by, "remove_context", key)

    aremove_context = asynchronous(remove_context)

    @operation
    def add_open_loop(
        self, description: str, context: Notes = None, kind: LoopKind = "note",
        *, by: str = PERSON, key: str | None = None,
    ) -> Operation[OpenLoop]:  # fmt: skip
        """Note something that waits."""
        return (
            yield from self._say(OpenLoop, by, "add_open_loop", description, context, kind, key)
        )

    aadd_open_loop = asynchronous(add_open_loop)

    @operation
    def resolve_open_loop(
        self, id: str, outcome: str | None = None, *, by: str = PERSON
    ) -> Operation[OpenLoop]:
        """An open loop, whoever opened it, is over."""
        return (yield from self._say(OpenLoop, by, "resolve_open_loop", id, outcome))

    aresolve_open_loop = asynchronous(resolve_open_loop)

    @operation
    def set_intention(self, text: str | None, *, by: str = PERSON) -> Operation[Intention | None]:
        """What the agent is to be after from now on; None takes back what was said before."""
        return (yield from self._say(Intention, by, "set_intention", text))

    aset_intention = asynchronous(set_intention)

    @operation
    def decide(
        self, decision: str, rationale: str | None = None, action: str | None = None, *,
        by: str = PERSON, key: str | None = None,
    ) -> Operation[OpenLoop]:  # fmt: skip
        """Write a decision down before it is acted on; open until its outcome is recorded.

        Args:
            decision: What was decided.
            rationale: Why.
            action: What will be done.
            by: Who decided.
            key: Said again under the same key, in this thread, it is the same decision: so a node
                that runs again decides once.
        """
        return (yield from self._say(OpenLoop, by, "decide", decision, rationale, action, key))

    adecide = asynchronous(decide)

    @operation
    def record_outcome(self, id: str, outcome: str, *, by: str = PERSON) -> Operation[OpenLoop]:
        """What came of a decision."""
        return (yield from self._say(OpenLoop, by, "record_outcome", id, outcome))

    arecord_outcome = asynchronous(record_outcome)

    @operation
    def get_context(self, key: str, default: Any = None) -> Operation[Any]:
        """The value under a key, as of the head."""
        state = yield from self._state_to_edit()
        return state.get_context(key, default)

    aget_context = asynchronous(get_context)

    # ---- asking a model

    @operation
    def extract_with_model(self, extractor: Reader, *, again: bool = False) -> Operation[Findings]:
        """Ask a model what the conversation left open, and store what it can quote.

        ```python
        found = thread.extract_with_model(ModelExtractor(model))
        ```

        What is found has confidence `model` and the quoted words in its context, lies on top of the
        head as an edit does, and lasts as that does. What was declared, or seen without a model,
        stands as it is; what a model said before is not said twice. If nothing was said since the
        last time, no model is asked.

        Args:
            extractor: A `ModelExtractor`.
            again: Ask even if nothing was said since.

        Raises:
            ThreadNotFound: No such thread.
            UnusableAnswer: The model gave no report; nothing is stored.
            EditConflict: The thread was taken back while the model read it; nothing is stored.
        """
        if not hasattr(extractor, "aread"):
            raise InvalidInput(
                f"{type(extractor).__name__} is no extractor: pass ModelExtractor(model), which is "
                "in langgraph_wyrd.agents.model_extractor"
            )
        self._refuse_without_pillars()
        saver = self._saver
        script = partial(declare.to_read, saver._dialect, saver._codec, self._stored)
        state, messages = yield Read(saver._engine, script, (self._stored,))
        before = None if again else _read_before(state, extractor.author)
        asked = (messages, state, before)
        said: Report = yield Call(lambda: extractor.read(*asked), lambda: extractor.aread(*asked))
        if not said.calls:
            return Findings(state)
        made = self._declaration(extractor.author)
        was, found = yield self._writing(partial(declare.report, made, said))
        how = {"by": "model", "author": said.author}
        yield Fire(saver, tuple(of_loops(was, found.state, how)))
        return found  # type: ignore[no-any-return]

    aextract_with_model = asynchronous(extract_with_model)

    # ---- what the methods share

    def _say(self, kind: type[T], by: str, verb: str, *args: Any) -> Operation[T]:
        draft = Edit(self, by, False)
        draft._begin((yield from self._state_to_edit()))
        said = draft._say(verb, *args)
        state = yield from self._save(draft._loaded())
        return cast("T", _stored(state, said))

    def _state_to_edit(self) -> Operation[WorkingState]:
        self._refuse_without_pillars()
        script = self._declaration(None).begin
        found: WorkingState = yield Read(self._saver._engine, script, (self._stored,))
        return found

    def _save(self, editing: Editing) -> Operation[WorkingState]:
        saver = self._saver
        made = self._declaration(editing.author)
        saved: Saved = yield self._writing(partial(made.save, editing))
        yield Fire(saver, tuple(_happenings(editing, *saved)))
        return saved.after

    def _declaration(self, author: str | None) -> Declaration:
        saver = self._saver
        return Declaration(
            saver._dialect, saver._codec, saver._engine.nonce, self._stored,
            where_running(self.id), author,
        )  # fmt: skip

    def _refuse_without_pillars(self) -> None:
        if self._saver._reader is None:
            raise InvalidInput(
                f"thread {given(self._stored)!r}: this saver was opened with pillars=False, so it "
                "has no working state to edit"
            )


def _read_before(state: WorkingState, author: str) -> str | None:
    """What this author read the last time."""
    read = state.extra.get(READ)
    found = read.get(author) if isinstance(read, dict) else None
    return found if isinstance(found, str) else None


def _stored(state: WorkingState, said: Any) -> Any:
    """An item as it was stored: its times are those of the save."""
    items: tuple[Item, ...] = (*state.todos, *state.context, *state.loops, *state.intentions)
    return next((item for item in items if said is not None and item.id == said.id), said)


def _happenings(editing: Editing, before: WorkingState, after: WorkingState) -> Iterator[Happening]:
    """What hooks are called with for an edit that was stored."""
    if after is before:
        return
    thread_id, checkpoint_id = after.thread_id or "", after.checkpoint_id
    told = {"by": editing.author, "verbs": [verb.name for verb in editing.verbs]}
    yield Happening("edit", thread_id, checkpoint_id or None, state=after, detail=told)
    yield from of_loops(before, after, {"by": "edit"})


def of_loops(
    before: WorkingState, after: WorkingState, how: Mapping[str, Any]
) -> Iterator[Happening]:
    """What hooks are called with for the loops that were opened and closed."""
    opened, closed = loops_between(before.loops, after.loops)
    for event, loops in (("loop_opened", opened), ("loop_closed", closed)):
        for loop in loops:
            where = after.thread_id or "", after.checkpoint_id, loop.source.ns
            yield Happening(cast("Any", event), *where, None, loop, how)
