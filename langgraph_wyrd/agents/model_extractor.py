"""What only a reader understands: a model is asked what a conversation left open.

Off the save path, and never by default. One call of bounded size; what comes back counts only with
a quote that stands in the messages, and has confidence `model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from pydantic import BaseModel, Field

from langgraph_wyrd.agents.standing import Asking, aask, ask
from langgraph_wyrd.errors import InvalidInput, ThreadNotFound
from langgraph_wyrd.pillars.events import Event, Moment
from langgraph_wyrd.pillars.facts import Fact, Opens, Settles, Wants
from langgraph_wyrd.pillars.fold import fold
from langgraph_wyrd.pillars.model import OpenLoop, WorkingState, shortened
from langgraph_wyrd.saver import WyrdSaver
from langgraph_wyrd.signals.declared import closable
from langgraph_wyrd.signals.messages import read
from langgraph_wyrd.signals.view import View

RULE = "model"
Kind = Literal["question", "request", "promise", "decision", "note"]

_ONE = 2000  # characters of a message
_QUOTE = 8  # characters that a quote has at least, unless it is a whole message
_KNOWN = 50  # open loops that the model is told of
_TEXT = 500

_PROMPT = """You keep track of what a conversation between people and an AI agent left unfinished.

Report only what the messages show, in few words:
- `open`: what is still open at the end: a question nobody answered, a request nobody fulfilled, a
  promise nobody kept, a decision whose outcome is not known, anything else to be remembered. Not
  what is already in the list of known open items.
- `settled`: known open items, by id, that the messages show to be settled.
- `intention`: what the work is after now, if the messages say it.

Each needs a `quote`: words copied exactly from one message, and that message's number. What you
can't quote, leave out. An empty report is a good one."""


class _Open(BaseModel):
    kind: Kind
    description: str
    quote: str
    message: int = -1


class _Settled(BaseModel):
    id: str
    outcome: str
    quote: str
    message: int = -1


class _Aim(BaseModel):
    text: str
    quote: str
    message: int = -1


class Report(BaseModel):
    """What is open, what is settled, and what the work is after."""

    open: list[_Open] = Field(default_factory=list)
    settled: list[_Settled] = Field(default_factory=list)
    intention: _Aim | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What a model found in a thread. Nothing of it is stored.

    `state` is the thread's working state with it; `events` lead there from the one without.
    `unfounded` counts what was left out because its quote stands in no message.
    """

    state: WorkingState
    facts: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    unfounded: int = 0


class ModelExtractor:
    """Asks a model what a conversation left open.

    ```python
    found = extract_with_model(saver, "t1", ModelExtractor(model))
    print(found.state.brief())
    ```

    Args:
        model: A chat model that knows structured output.
        last: How many of the newest messages it reads.
        max_chars: How many characters of them, at most.
        max_items: How much of what it reports counts, at most.
        prompt: Instead of the default instructions.
        author: Whose word the findings are.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        last: int = 40,
        max_chars: int = 20_000,
        max_items: int = 20,
        prompt: str = _PROMPT,
        author: str = "model",
    ) -> None:
        for name, number in (("last", last), ("max_chars", max_chars), ("max_items", max_items)):
            if number < 1:
                raise InvalidInput(f"{name}={number}: use a number above 0")
        self._model: Runnable[Any, Any] = model.with_structured_output(Report)
        self._last = last
        self._max_chars = max_chars
        self._max_items = max_items
        self._prompt = prompt
        self._author = author

    def find(self, messages: Sequence[Any], state: WorkingState) -> Findings:
        """What the model finds in messages that are known to have led to this state."""
        return ask(self.asking(messages, state))

    async def afind(self, messages: Sequence[Any], state: WorkingState) -> Findings:
        """Async version of `find`."""
        return await aask(self.asking(messages, state))

    def asking(self, messages: Sequence[Any], state: WorkingState) -> Asking[Findings]:
        """The same, as a question to the model."""
        lines = _Lines(messages, self._last, self._max_chars)
        if not lines.shown:
            return Findings(state)
        known = [loop for loop in state.loops if closable(loop)][-_KNOWN:]
        listed = "\n".join(f"[{x.id}] {x.kind}: {shortened(x.description, 200)}" for x in known)
        asked = f"Known open items:\n{listed or 'none'}\n\nMessages:\n{lines.text}"
        prompt = [SystemMessage(self._prompt), HumanMessage(asked)]
        said = yield self._model, "invoke", (prompt,), {}
        report = said if isinstance(said, Report) else Report.model_validate(said or {})
        reading = _Reading(report, lines, state, self._author)
        facts = [fact for fact in reading.facts() if fact is not None][: self._max_items]
        at = Moment(state.checkpoint_id or "", state.ns, state.ts, "model")
        after, events = fold(state, facts, at)
        return Findings(after, tuple(facts), events, reading.unfounded)


def extract_with_model(saver: WyrdSaver, thread_id: str, extractor: ModelExtractor) -> Findings:
    """What a model finds in a thread, on top of its working state. Nothing is stored.

    Raises:
        ThreadNotFound: No such thread.
    """
    return ask(_extracting(saver, thread_id, extractor))


async def aextract_with_model(
    saver: WyrdSaver, thread_id: str, extractor: ModelExtractor
) -> Findings:
    """Async version of `extract_with_model`."""
    return await aask(_extracting(saver, thread_id, extractor))


def _extracting(saver: WyrdSaver, thread_id: str, extractor: ModelExtractor) -> Asking[Findings]:
    config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    found = yield saver, "get_tuple", (config,), {}
    if found is None:
        raise ThreadNotFound(f"thread {thread_id!r} has no checkpoints")
    state = yield saver.thread(thread_id), "working_state", (found.checkpoint["id"],), {}
    messages = yield from _messages(saver, found)
    return (yield from extractor.asking(messages, state))


def _messages(saver: WyrdSaver, found: CheckpointTuple) -> Asking[Sequence[Any]]:
    """The messages at a checkpoint; a delta channel's are put together from its writes."""
    held = found.checkpoint["channel_values"].get("messages")
    if isinstance(held, _DeltaSnapshot):
        held = held.value
    if held is not None or "messages" not in found.checkpoint["channel_versions"]:
        return held if isinstance(held, list) else []
    asked = {"config": found.config, "channels": ["messages"]}
    history = (yield saver, "get_delta_channel_history", (), asked)["messages"]
    seed = history.get("seed") or []
    messages: Any = seed.value if isinstance(seed, _DeltaSnapshot) else seed
    for _, _, value in history["writes"]:
        whole = isinstance(value, Overwrite)
        messages = value.value if whole else add_messages(messages, value)
    return [*messages]


# ---- what the model reads


class _Lines:
    """The newest messages, numbered, within so many characters."""

    def __init__(self, messages: Sequence[Any], last: int, most: int) -> None:
        self.shown: dict[int, tuple[str | None, str]] = {}  # number: message id, text
        lines: list[str] = []
        for number in range(len(messages) - 1, max(len(messages) - last, 0) - 1, -1):
            message = read(messages[number])
            if message is None or message.role == "other" or not message.text.strip():
                continue
            text = shortened(message.text[: 4 * _ONE], _ONE)
            line = f"[{number}] {message.role}: {text}"
            if most < len(line):
                if lines:
                    break
                line = line[:most]  # something of the newest one is always read
            most -= len(line) + 1
            lines.append(line)
            self.shown[number] = message.id, _plain(message.text)
        self.text = "\n".join(reversed(lines))

    def quoted(self, quote: str, number: int) -> tuple[int, str | None] | None:
        """The message that has these words: the one that was named, or the newest."""
        words = _plain(quote.strip().strip("\"'“”…"))
        if not words:
            return None
        for place in (number, *self.shown):
            id, text = self.shown.get(place, (None, ""))
            if words == text or (len(words) >= _QUOTE and words in text):
                return place, id
        return None


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


class _Reading:
    """Facts of a report, as far as its quotes hold."""

    def __init__(self, report: Report, lines: _Lines, state: WorkingState, author: str) -> None:
        self.report = report
        self.lines = lines
        self.state = state
        self.view = View(state.checkpoint_id or "", state.ns)
        self.author = author
        self.unfounded = 0

    def facts(self) -> Iterator[Fact | None]:
        for settled in self.report.settled:
            yield self._settled(settled)
        for each in self.report.open:
            yield self._opened(each)
        aim = self.report.intention
        if aim is not None and self.state.intention is None and aim.text.strip():
            where = self._source(aim)
            yield where and Wants(shortened(aim.text, _TEXT), "request", where, "model")

    def _source(self, said: _Open | _Settled | _Aim) -> Any:
        found = self.lines.quoted(said.quote, said.message)
        if found is None:
            self.unfounded += 1
            return None
        return self.view.at(RULE, channel="messages", message_id=found[1], author=self.author)

    def _opened(self, said: _Open) -> Fact | None:
        where = self._source(said)
        if where is None or not said.description.strip():
            return None
        quote = shortened(said.quote, _TEXT)
        told = f"{said.kind}\0{where.message_id}\0{_plain(said.quote)}"
        ref = f"model:{blake2b(told.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"
        if any(self._is_known(loop, said.kind, ref, where.message_id) for loop in self.state.loops):
            return None
        text = shortened(said.description, _TEXT)
        context: Mapping[str, Any] = {"quote": quote}
        return Opens(said.kind, text, where, ref, context, "model")

    @staticmethod
    def _is_known(loop: OpenLoop, kind: str, ref: str, message: str | None) -> bool:
        """Found before (and perhaps closed since), or seen without a model."""
        same = loop.kind == kind and message is not None and loop.source.message_id == message
        return loop.ref == ref or (same and loop.source.rule != RULE and not loop.resolved)

    def _settled(self, said: _Settled) -> Fact | None:
        loop = next((x for x in self.state.loops if x.id == said.id and closable(x)), None)
        where = self._source(said)
        if where is None or loop is None or loop.kind not in get_args(Kind):
            return None
        outcome = shortened(said.outcome, _TEXT) or "settled"
        return Settles((loop.kind,), outcome, where, loop.ref, loop.id)
