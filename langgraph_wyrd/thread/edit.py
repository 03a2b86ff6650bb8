"""Editing a thread's working state: a draft with verbs, and the same verbs for one-off use."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from typing_extensions import ParamSpec

from langgraph_wyrd.checkpoints import declare
from langgraph_wyrd.checkpoints.declare import Declaration, Where
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.extraction.view import AGENT
from langgraph_wyrd.hooks import Happening, of_loops
from langgraph_wyrd.operations import Fire, Operation, arun, ask, asynchronous, operation, run
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
from langgraph_wyrd.state.model_report import READ, Findings, Report
from langgraph_wyrd.storage.names import given
from langgraph_wyrd.storage.rows import now
from langgraph_wyrd.thread.base import ThreadBase

if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")

PERSON = "person"


class Verbs:
    """What can be said of a working state, in a draft or at once.

    `by` says whose word it is: of a thread's verbs "person", if it is left out; a draft has one
    author. Said again under the same `key` in this thread, it is the same item: so a node that
    runs again decides once. A `context`, or `metadata`, is a dict of what JSON holds exactly, or
    text, which is kept as `{"text": …}`.
    """

    def _say(self, by: str | None, verb: str, *args: Any) -> Any:
        raise NotImplementedError

    def add_todo(
        self,
        content: str,
        priority: Priority = "medium",
        *,
        key: str | None = None,
        by: str | None = None,
    ) -> Todo:
        """Put a step on the list of those that were added by hand."""
        return self._say(by, "add_todo", content, priority, key)  # type: ignore[no-any-return]

    def start_todo(self, id: str, *, by: str | None = None) -> Todo:
        """A pending todo is in progress now."""
        return self._say(by, "start_todo", id)  # type: ignore[no-any-return]

    def complete_todo(self, id: str, *, by: str | None = None) -> Todo:
        """An open todo is done. If its tracker goes on listing it as it did, it stays done."""
        return self._say(by, "complete_todo", id)  # type: ignore[no-any-return]

    def cancel_todo(self, id: str, *, by: str | None = None) -> Todo:
        """An open todo is given up."""
        return self._say(by, "cancel_todo", id)  # type: ignore[no-any-return]

    def reopen_todo(self, id: str, *, by: str | None = None) -> Todo:
        """A todo that was completed or cancelled is pending again."""
        return self._say(by, "reopen_todo", id)  # type: ignore[no-any-return]

    def set_context(
        self, key: str, value: Any, metadata: Notes = None, *, by: str | None = None
    ) -> ContextItem:
        """Keep a value under a key: anything that JSON holds exactly. A tuple or an enum is
        refused, with its path."""
        return self._say(by, "set_context", key, value, metadata)  # type: ignore[no-any-return]

    def remove_context(self, key: str, *, by: str | None = None) -> None:
        """Take a key out of the context."""
        return self._say(by, "remove_context", key)  # type: ignore[no-any-return]

    def add_open_loop(
        self,
        description: str,
        context: Notes = None,
        kind: LoopKind = "note",
        *,
        key: str | None = None,
        by: str | None = None,
    ) -> OpenLoop:
        """Note something that waits, with what is needed to close it as its context."""
        return self._say(by, "add_open_loop", description, context, kind, key)  # type: ignore[no-any-return]

    def resolve_open_loop(
        self, id: str, outcome: str | None = None, *, by: str | None = None
    ) -> OpenLoop:
        """An open loop, whoever opened it, is over."""
        return self._say(by, "resolve_open_loop", id, outcome)  # type: ignore[no-any-return]

    def set_intention(self, text: str | None, *, by: str | None = None) -> Intention | None:
        """What the agent is to be after from now on; None takes back what was said before."""
        return self._say(by, "set_intention", text)  # type: ignore[no-any-return]

    def decide(
        self,
        decision: str,
        rationale: str | None = None,
        action: str | None = None,
        *,
        metadata: Notes = None,
        key: str | None = None,
        by: str | None = None,
    ) -> OpenLoop:
        """Write a decision down before it is acted on. It stays open until its outcome is known.

        The rationale, the action that will be taken and the metadata are in the loop's context.
        """
        return self._say(by, "decide", decision, rationale, action, key, metadata)  # type: ignore[no-any-return]

    def record_outcome(self, id: str, outcome: str, *, by: str | None = None) -> OpenLoop:
        """What came of a decision."""
        return self._say(by, "record_outcome", id, outcome)  # type: ignore[no-any-return]


class Edit(Verbs):
    """A draft of a thread's working state. Get it from `thread.edit()`.

    NEW: nothing was read yet. LOADED: as the thread has it. DIRTY: something was said, and is not
    saved. The verbs read the thread when they are first used, and change nothing in the database:
    `save` does, in one transaction; `discard` forgets what was said.

    As a context manager it saves at the end, and discards if the block raises.
    """

    def __init__(self, thread: EditMethods, by: str, auto_save: bool) -> None:
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

    def get_context(self, key: str, default: Any = None) -> Any:
        """The value under a key."""
        return self.state.get_context(key, default)

    def _begin(self, state: WorkingState) -> None:
        self._editing = Editing(state, self._by, now(), secrets.token_hex(6))

    def _loaded(self) -> Editing:
        if self._editing is None:
            self.load()
        assert self._editing is not None
        return self._editing

    def _say(self, by: str | None, verb: str, *args: Any) -> Any:
        if by not in (None, self._by):
            raise InvalidInput(f"by={by!r}: this draft is {self._by!r}'s; use one for each author")
        said = self._loaded().say(verb, *args)
        if self._auto:
            self.save()
        return said


def where_running(thread_id: str) -> Where:
    """Checkpoint, run, node and agent of the calling run, if it is a run of this thread."""
    from langchain_core.runnables.config import var_child_runnable_config

    config = var_child_runnable_config.get()
    held = (config or {}).get("configurable") or {}
    if config is None or str(held.get("thread_id")) != thread_id:
        return Where()
    at = held.get("checkpoint_map")
    root = at.get("") if isinstance(at, Mapping) else None
    meta = config.get("metadata") or {}
    run_id = meta.get("run_id") or held.get("run_id")
    known = (root, run_id, meta.get("langgraph_node"), meta.get(AGENT))
    return Where(*(each if isinstance(each, str) else None for each in known))


class Reader(Protocol):
    """Reads a conversation: `ModelExtractor`, or something like it."""

    author: str

    def read(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...

    async def aread(
        self, messages: Sequence[Any], state: WorkingState, before: str | None = None
    ) -> Report: ...


class _Awaited(Verbs):
    """The verbs of a thread, each of which returns an awaitable."""

    def __init__(self, thread: EditMethods) -> None:
        self._thread = thread

    def _say(self, by: str | None, verb: str, *args: Any) -> Any:
        return arun(self._thread._said(by, verb, *args))


def _asynchronous(
    verb: Callable[Concatenate[Verbs, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The async method of a thread for a verb."""

    @wraps(verb)
    async def said(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return await cast("Any", verb(_Awaited(self), *args, **kwargs))

    said.__name__ = f"a{verb.__name__}"
    said.__qualname__ = f"Thread.{said.__name__}"
    said.__doc__ = f"Async version of `{verb.__name__}`."
    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]", said)


class EditMethods(Verbs, ThreadBase):
    """The part of a thread's handle that declares. `by` says whose word it is; see `Edit`.

    What is declared is stored when the call returns, also inside a running node and before the
    thread's first checkpoint. Decisions, their outcomes and loops opened by hand belong to the
    thread: every branch shows them, marked `elsewhere` where they were said on another one. Todos,
    context and intentions follow the branch on which they were said.
    """

    def edit(self, by: str = PERSON, *, auto_save: bool = False) -> Edit:
        """A draft of the working state, with verbs to change it: see docs/edit.md.

        What is said lies on top of the head and lasts, whatever the agent does next; the
        checkpoints themselves are not touched. `by` is the `source.author` of what is said; with
        `auto_save` each verb is saved at once.
        """
        return Edit(self, by, auto_save)

    # ---- verbs for one-off use: read, said and saved in one call

    def _say(self, by: str | None, verb: str, *args: Any) -> Any:
        return run(self._said(by, verb, *args))

    def _said(self, by: str | None, verb: str, *args: Any) -> Operation[Any]:
        draft = Edit(self, PERSON if by is None else by, False)
        draft._begin((yield from self._state_to_edit()))
        item = draft._loaded().say(verb, *args)
        return _stored((yield from self._save(draft._loaded())), item)

    aadd_todo = _asynchronous(Verbs.add_todo)
    astart_todo = _asynchronous(Verbs.start_todo)
    acomplete_todo = _asynchronous(Verbs.complete_todo)
    acancel_todo = _asynchronous(Verbs.cancel_todo)
    areopen_todo = _asynchronous(Verbs.reopen_todo)
    aset_context = _asynchronous(Verbs.set_context)
    aremove_context = _asynchronous(Verbs.remove_context)
    aadd_open_loop = _asynchronous(Verbs.add_open_loop)
    aresolve_open_loop = _asynchronous(Verbs.resolve_open_loop)
    aset_intention = _asynchronous(Verbs.set_intention)
    adecide = _asynchronous(Verbs.decide)
    arecord_outcome = _asynchronous(Verbs.record_outcome)

    @operation
    def get_context(self, key: str, default: Any = None) -> Operation[Any]:
        """The value under a key, as of the head."""
        state = yield from self._state_to_edit()
        return state.get_context(key, default)

    aget_context = asynchronous(get_context)

    @operation
    def standing_orders(self) -> Operation[list[ContextItem]]:
        """The pinned context entries of the head: what holds for whoever goes on."""
        state = yield from self._state_to_edit()
        return [item for item in state.context if item.pinned]

    astanding_orders = asynchronous(standing_orders)

    # ---- asking a model

    @operation
    def extract_with_model(self, extractor: Reader, *, again: bool = False) -> Operation[Findings]:
        """Ask a model what the conversation left open, and store what it can quote.

        What is found has confidence `model` and the quoted words in its context, and lasts as an
        edit does. What was declared, or seen without a model, stands as it is. If nothing was said
        since the last time, no model is asked, but with `again`.

        Raises:
            UnusableAnswer: The model gave no report; nothing is stored.
            EditConflict: The thread was taken back while the model read it; nothing is stored.
        """
        if not hasattr(extractor, "aread"):
            raise InvalidInput(
                f"{type(extractor).__name__} is no extractor: pass ModelExtractor(model), which is "
                "in langgraph_wyrd.agents.model_extractor"
            )
        self._refuse_without_pillars()
        state, messages = yield from self._reads(self._bound(declare.to_read))
        before = None if again else _read_before(state, extractor.author)
        asked = (messages, state, before)
        said: Report = yield ask(extractor, "read", *asked)
        if not said.calls:
            return Findings(state)
        made = self._declaration(extractor.author)
        was, found = yield from self._writes(partial(declare.report, made, said))
        how = {"by": "model", "author": said.author}
        yield Fire(self._saver, tuple(of_loops(was, found.state, how)))
        return found

    aextract_with_model = asynchronous(extract_with_model)

    # ---- what the methods share

    def _state_to_edit(self) -> Operation[WorkingState]:
        self._refuse_without_pillars()
        saver, script = self._saver, self._declaration(None).begin
        return (yield from saver._read(saver._to_declare(self._stored, script), self._stored))

    def _save(self, editing: Editing) -> Operation[WorkingState]:
        saver, save = self._saver, partial(self._declaration(editing.author).save, editing)
        script = saver._to_declare(self._stored, save, writes=True)
        saved = yield from saver._write(script, self._stored)
        yield Fire(self._saver, tuple(_happenings(editing, *saved)))
        return saved.after

    def _declaration(self, author: str | None) -> Declaration:
        where, saver = where_running(self.id), self._saver
        return Declaration(saver._dialect, saver._codec, self._stored, where, author)

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
    how = {"by": editing.author, "verbs": [name for name, _ in editing.verbs]}
    yield Happening("edit", thread_id, checkpoint_id or None, state=after, detail=how)
    yield from of_loops(before, after, {"by": "edit"})
