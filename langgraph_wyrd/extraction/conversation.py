"""Who spoke last and what is still owed: requests, questions, tool calls, what failed or broke off.

A walk goes from the first new message to the end of its list. New messages open and settle; those
that stood there before only settle what this walk opened, and take back what they already answer.
What was opened and settled within one walk leaves no loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from langgraph_wyrd.extraction import people
from langgraph_wyrd.extraction.asking import asked
from langgraph_wyrd.extraction.messages import (
    Call,
    Message,
    Result,
    broken_off,
    conversations,
    read,
    written,
)
from langgraph_wyrd.extraction.plain import as_text, bounded
from langgraph_wyrd.extraction.prose import Form
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.extraction.wanting import closes, wants
from langgraph_wyrd.state.facts import Fact, Holds, Listed, Opens, Settles, Todos, Wants
from langgraph_wyrd.state.model import LoopKind, OpenLoop, Source, shortened

_CALLS: tuple[LoopKind, ...] = ("tool_call", "task", "malformed_call")
_READ_OF_ONE = 500  # characters, to know a message again by
_LINE = 300  # characters of a description
_AIM = 500
_ARGS = 400
_LOOKED_BACK = 40  # messages, to see how the agent's last turn ended
_EVENT = "_summarization_event"  # deepagents keeps the history, and the summary here
_STEPS = "summary:next_steps"
_FORM = "structured_response"
_IN_FORM = (
    "Returning structured response: "  # the result of its call, where it is not told otherwise
)

# What stands in place of a result, and says there was none.
_NO_RESULT = (
    ("no result was recorded", "no result was recorded"),
    ("arguments were malformed or truncated", "its arguments were malformed or truncated"),
    ("User rejected the tool call", "rejected"),
)


def conversation(view: View) -> Iterator[Fact]:
    """What the new messages of a checkpoint open and settle; of a task's writes, only results."""
    if not view.putting:
        yield from _pending(view)
        return
    for channel, fresh in conversations(view):
        walk = _Walk(view, channel)
        walk.through(fresh)
        if _has_form(view):
            walk.answered()
        yield from filter(None, walk.facts)
    if _EVENT in view.changed and not view.channels.left_out(_EVENT):
        event = view.values.get(_EVENT)
        message = read(event.get("summary_message")) if isinstance(event, dict) else None
        if message is not None and message.text:
            yield from _summary(view, message.text, view.at("summary", channel=_EVENT))


def _has_form(view: View) -> bool:
    """Whether the run has come to an answer that is no words: an agent's `response_format`."""
    if _FORM in view.changed and view.values.get(_FORM) is not None:
        return True
    return any(write.channel == _FORM for write in view.writes)  # the same one as before


def _pending(view: View) -> Iterator[Fact]:
    """Results that a finished task wrote while others of its step still run."""
    for write in view.writes:
        if write.channel.startswith(("__", "branch:")) or view.channels.left_out(write.channel):
            continue
        for each in written(write.value):
            message = read(each)
            for result in message.results if message is not None else ():
                source = view.at(
                    "tool_result",
                    channel=write.channel,
                    message_id=message.id if message is not None else None,
                    task_id=write.task,
                    tool_call_id=result.call,
                )
                yield Settles(_CALLS, ended(result)[0], source, result.call)


class _Walk:
    """One list of messages. `facts` has None where a fact was taken back."""

    def __init__(self, view: View, channel: str) -> None:
        self.view = view
        self.channel = channel
        self.facts: list[Fact | None] = []
        self.calls: dict[str, tuple[int, str]] = {}  # open here: id -> fact, tool
        self.failed: dict[str, list[int]] = {}  # open here: tool -> facts
        self.loose: dict[str, list[int]] = {}  # facts that a later message takes back, by sort
        self.turn: Form | None = None  # what the agent's words left open; None: as before
        self.skipped = False  # old messages were passed
        self.wanted = _is_wanted(view)
        self.known: dict[str, list[OpenLoop]] | None = None

    def through(self, fresh: Fresh) -> None:
        places, values = fresh.places, fresh.values
        stop = len(values) if fresh.complete else places[-1] + 1
        new = None if stop - places[0] == len(places) else frozenset(places)
        for place in range(places[0], stop):
            is_new = new is None or place in new
            if not is_new and not fresh.complete:
                continue
            message = read(values[place])
            if message is None or message.role == "other":
                continue
            if not is_new:
                self._kept(message)
                continue
            if message.id is None:
                message = message._replace(id=self._stand_in(message, place, fresh.complete))
            if message.role == "ai":
                self._agent(message)
            elif message.role == "tool":
                for result in message.results:
                    self._result(result, message)
            elif people.is_person(message):
                self._person(message, place, fresh)
            elif people.is_summary(message):
                source = self._source("summary", message)
                self.facts.extend(_summary(self.view, message.text, source, self.wanted))
                self.wanted = True

    def _source(self, rule: str, message: Message, call: str | None = None) -> Source:
        return self.view.at(rule, channel=self.channel, message_id=message.id, tool_call_id=call)

    def _stand_in(self, message: Message, place: int, complete: bool) -> str:
        """What a message without an id is known by: the same when its list is read again.

        Ids are stored in the clear, and what a short text says could be guessed from its hash: of a
        text that is sealed, the hash is of its length, which the sealed bytes show as well.
        """
        where = f"@{self.channel}/{place}"
        if not complete:  # places begin anew with each checkpoint
            return f"{where}/{self.view.checkpoint_id}"
        call = message.calls[0].id if message.calls else None
        text = str(len(message.text)) if self.view.sealed else message.text[:_READ_OF_ONE]
        told = f"{message.role}\0{text}\0{call}"
        return f"{where}/{blake2b(told.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"

    def _add(self, fact: Fact, sort: str | None = None) -> None:
        if sort is not None:
            self.loose.setdefault(sort, []).append(len(self.facts))
        self.facts.append(fact)

    def _take_back(self, *sorts: str) -> None:
        for sort in sorts:
            for index in self.loose.pop(sort, ()):
                self.facts[index] = None

    def _open_before(self, kind: LoopKind) -> list[OpenLoop]:
        """The loops of a kind that were open before this walk."""
        if self.known is None:
            self.known = {}
            for loop in self.view.previous.loops:
                if loop.closed_at is None:
                    self.known.setdefault(loop.kind, []).append(loop)
        return self.known.get(kind, [])

    def _again(self, kind: LoopKind, ref: str | None, sort: str) -> None:
        """If this loop was open before, its message is read once more: what settled all of its
        kind, further up, was before it."""
        if sort in self.loose and any(loop.ref == ref for loop in self._open_before(kind)):
            self._take_back(sort)

    # ---- a person

    def _person(self, message: Message, place: int, fresh: Fresh) -> None:
        text = message.text
        line = _short(text, _AIM)
        source = self._source("request", message)
        if self.view.ns and people.speaks_for_parent(self.view.ns) and not self.wanted:
            self.wanted = True
            if line:
                self._add(Wants(line, "task", source), "wants")
            return
        before = self.turn or self._left_open(place, fresh)
        self._take_back("question")
        self._add(Settles(("question",), "answered", source), "answers")
        if before in ("asks", "proposes") or not closes(text):
            said = shortened(line, _LINE) or people.shown(message)
            self._again("request", message.id, "replies")
            self._add(Opens("request", said, source, message.id), "request")
        if wants(text, before if self.wanted or before == "asks" else None):
            if not self._is_aim(message.id, line):
                self._add(Wants(line, "request", source), "wants")
            self.wanted = True
        self.turn = "tells"

    def _is_aim(self, id: str | None, text: str) -> bool:
        """Whether this message is known as an aim: a list may come again as a whole."""
        return id is not None and any(
            aim.source.message_id == id and aim.text == text
            for aim in self.view.previous.intentions
        )

    def _left_open(self, place: int, fresh: Fresh) -> Form:
        """What the agent's words before this walk, or before this place, left open."""
        if not self.skipped:
            forms = [loop.context.get("form", "asks") for loop in self._open_before("question")]
            return "asks" if "asks" in forms else "proposes" if forms else "tells"
        for at in range(place - 1, max(place - _LOOKED_BACK, 0) - 1, -1):
            message = read(fresh.values[at])
            if message is not None and message.role in ("ai", "human") and message.text:
                return asked(message.text).form if message.role == "ai" else "tells"
        return "tells"

    # ---- an agent

    def answered(self) -> None:
        """What was asked for was given in another form than words."""
        self._take_back("request")
        source = self.view.at("answer", channel=_FORM)
        self._add(Settles(("request",), "answered", source), "replies")

    def _agent(self, message: Message) -> None:
        ref = message.id or ""
        self._goes_on(message)
        if message.text.strip():
            source = self._source("answer", message)
            self._take_back("request")
            self._add(Settles(("request",), "answered", source), "replies")
            self._asks(message, ref)
        for n, call in enumerate(message.calls):
            self._calls(call, message, f"{ref}/{n}")
        reason = broken_off(message)
        if reason:
            tail = message.text[-200:]
            self._again("truncated", ref, "past")
            said = f"the answer broke off, {reason}"
            said += f": …{_short(tail, 100)}" if tail.strip() else ""
            source = self._source("truncated", message)
            self._add(Opens("truncated", said, source, ref, {"reason": reason}), "broken")

    def _asks(self, message: Message, ref: str) -> None:
        turn = asked(message.text)
        if turn.form in ("asks", "proposes"):
            if self.turn != "asks":
                self.turn = turn.form
            context = {"form": turn.form} if turn.form == "proposes" else {}
            source = self._source("question", message)
            self._again("question", ref, "answers")
            text = _short(turn.text, _LINE)
            self._add(Opens("question", text, source, ref, context), "question")

    def _goes_on(self, message: Message) -> None:
        """Another turn of the agent: what broke off, or can't be run, is past."""
        self._take_back("broken")
        before = self._open_before("truncated")
        calls = [loop for kind in _CALLS for loop in self._open_before(kind)]
        for loop in (*before, *(loop for loop in calls if "unnamed" in loop.context)):
            source = self._source("answer", message)
            self._add(Settles((loop.kind,), "the agent went on", source, loop.ref), "past")

    def _calls(self, call: Call, message: Message, otherwise: str) -> None:
        ref = call.id or otherwise
        args, _ = bounded(call.args, _ARGS)
        context = {"name": call.name, "args": args}
        if call.id is None:  # no result can name it
            context["unnamed"] = True
        fact: Opens
        if call.malformed is not None:
            source = self._source("malformed_call", message, call.id)
            said = f"{call.name}: {_short(call.malformed, _LINE)}"
            fact = Opens("malformed_call", said, source, ref, context)
        elif call.name == "task" and isinstance(call.args, dict) and "description" in call.args:
            source = self._source("task", message, call.id)
            del context["args"]
            context["agent"] = bounded(call.args.get("subagent_type"), 100)[0]
            said = as_text(call.args["description"], _LINE)
            fact = Opens("task", said, source, ref, context)
        else:
            source = self._source("tool_call", message, call.id)
            fact = Opens("tool_call", described(call.name, args), source, ref, context)
        if call.id is None:
            self._again(fact.kind, ref, "past")
            self._add(fact, "broken")
        else:
            self.calls[ref] = (len(self.facts), call.name)
            self.facts.append(fact)

    # ---- a tool

    def _result(self, result: Result, message: Message) -> None:
        if result.text.startswith(_IN_FORM):
            self.answered()
        outcome, ran = ended(result)
        here = self.calls.pop(result.call, None)
        name = result.name or (here[1] if here is not None else self._tool(result.call))
        if here is not None:
            self.facts[here[0]] = None
        # A list that is read anew as a whole has the call, too: it may have been open before.
        if here is None or self._tool(result.call) is not None:
            source = self._source("tool_result", message, result.call)
            self._add(Settles(_CALLS, outcome, source, result.call))
        if name is None or not ran:
            return
        if not result.failed:
            self._worked(name, message)
            return
        source = self._source("tool_failed", message, result.call)
        said = f"{name} failed: {_short(result.text, _LINE)}"
        self._again("error", result.call, f"worked {name}")
        self.failed.setdefault(name, []).append(len(self.facts))
        self.facts.append(Opens("error", said, source, result.call, {"tool": name}))

    def _tool(self, call: str) -> str | None:
        """The tool of a call that was made before this walk."""
        for kind in _CALLS:
            for loop in self._open_before(kind):
                if loop.ref == call:
                    name = loop.context.get("name")
                    return name if isinstance(name, str) else None
        return None

    def _worked(self, name: str, message: Message) -> None:
        for index in self.failed.pop(name, ()):
            self.facts[index] = None
        for loop in self._open_before("error"):
            if loop.source.rule == "tool_failed" and loop.context.get("tool") == name:
                source = self._source("tool_result", message)
                self._add(
                    Settles(("error",), "it worked later", source, loop.ref), f"worked {name}"
                )

    # ---- what stood there before

    def _kept(self, message: Message) -> None:
        """An old message behind a new one: it answers, or makes past, what this walk found."""
        self.skipped, self.turn = True, None
        if message.role == "ai":
            self._take_back("broken")
            if message.text.strip():
                self._take_back("request", "answers")
        elif message.role == "tool":
            for result in message.results:
                here = self.calls.pop(result.call, None)
                if here is not None:
                    self.facts[here[0]] = None
                name = result.name or (here[1] if here is not None else None)
                if name is not None and not result.failed:
                    for index in self.failed.pop(name, ()):
                        self.facts[index] = None
        elif people.is_person(message):
            self._take_back("question", "replies", "wants")


def described(name: str, args: object) -> str:
    """A call in words: `search(query='cats')`."""
    if not isinstance(args, dict):
        return _short(f"{name}({args if args is not None else ''})", _LINE)
    shown = ", ".join(
        f"{key}={_short(value, 60)!r}" if isinstance(value, str) else f"{key}={as_text(value, 60)}"
        for key, value in args.items()
    )
    return _short(f"{name}({shown})", _LINE)


def ended(result: Result) -> tuple[str, bool]:
    """How a call ended, and whether it was run at all."""
    if not result.failed:
        return "a result was recorded", True
    start = result.text[:400]
    for sign, outcome in _NO_RESULT:
        if sign in start:
            return outcome, False
    return "failed", True


def _is_wanted(view: View) -> bool:
    """Whether it is known what is wanted: a model's reading of it waits for somebody's word."""
    aim = view.previous.intention
    return aim is not None and aim.confidence != "model"


def _summary(view: View, text: str, source: Source, wanted: bool | None = None) -> Iterator[Fact]:
    """A summary of what was dropped from the history: it is kept, and its plan is a list."""
    summary = people.summary(text)
    yield Holds("summary", summary.text, source)
    if wanted is None:
        wanted = _is_wanted(view)
    if summary.intent and not wanted:
        yield Wants(_short(summary.intent, _AIM), "request", source)
    if summary.steps is not None:
        steps = tuple(Listed(step) for step in summary.steps)
        yield Todos(_STEPS, steps, source)


def _short(text: str, most: int) -> str:
    return shortened(text[: most * 4], most)
