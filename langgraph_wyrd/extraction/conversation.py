"""Who spoke last and what is still owed: requests, questions, tool calls, what failed or broke off.

A walk goes from the first new message to the end of its list. New messages open and settle; those
that stood there before only settle what this walk opened, and take back what they already answer.
What was opened and settled within one walk leaves no loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from langgraph_wyrd.extraction import people
from langgraph_wyrd.extraction.answers import Answers
from langgraph_wyrd.extraction.messages import (
    Call,
    Message,
    News,
    Result,
    broken_off,
    digest,
    read,
)
from langgraph_wyrd.extraction.owed import BOOKKEEPING, CALLS
from langgraph_wyrd.extraction.plain import as_text, bounded, in_line, short
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.facts import (
    Fact,
    Holds,
    Listed,
    Opens,
    Settles,
    Todos,
    Wants,
)
from langgraph_wyrd.state.model import Source

_READ_OF_ONE = 500  # characters, to know a message again by
_LINE = 300  # characters of a description
_AIM = 500
_ARGS = 400
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


def conversation(view: View) -> Sequence[Fact]:
    """What the new messages of a checkpoint open and settle; of a task's writes, only results."""
    if not view.putting:
        return list(_pending(view))
    found: list[Fact] = []
    for news in digest(view).news:
        walk = _Walk(view, news.channel)
        walk.through(news)
        if (walk.requests or walk.aim) and _has_form(view):
            walk.answered()
        found += [fact for fact in walk.facts if fact is not None]
    if _EVENT in view.changed and not view.channels.left_out(_EVENT):
        event = view.values.get(_EVENT)
        message = read(event.get("summary_message")) if isinstance(event, dict) else None
        if message is not None and message.text:
            found += _summary(view, message.text, view.at("summary", channel=_EVENT))
    return found


def _has_form(view: View) -> bool:
    """Whether the run has come to an answer that is no words: an agent's `response_format`."""
    if _FORM in view.changed and view.values.get(_FORM) is not None:
        return True
    return any(write.channel == _FORM for write in view.writes)  # the same one as before


def _pending(view: View) -> Iterator[Fact]:
    """Results that a finished task wrote while others of its step still run."""
    for write, message in digest(view).written:
        for result in message.results:
            source = view.at(
                "tool_result",
                channel=write.channel,
                message_id=message.id,
                task_id=write.task,
                tool_call_id=result.call,
            )
            yield Settles(CALLS, ended(result)[0], source, result.call)


class _Walk(Answers):
    """One list of messages."""

    def through(self, news: News) -> None:
        fresh, known = news.fresh, news.read
        places, values = fresh.places, fresh.values
        stop = len(values) if fresh.complete else places[-1] + 1
        new = None if stop - places[0] == len(places) else frozenset(places)
        for place in range(places[0], stop):
            is_new = new is None or place in new
            if not is_new and not fresh.complete:
                continue
            message = known[place] if is_new else read(values[place])
            if message is None or message.role == "other":
                continue
            if not is_new:
                self._kept(message)
                continue
            if message.id is None:
                message = message._replace(id=self._stand_in(message, place, fresh.complete))
            if message.role == "ai":
                self._agent(message, place, fresh)
            elif message.role == "tool":
                for result in message.results:
                    self._result(result, message)
            elif people.is_person(message):
                self._person(message, place, fresh)
            elif people.is_summary(message):
                source = self._source("summary", message)
                self.facts.extend(_summary(self.view, message.text, source, self.wanted))
                self.wanted = True

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

    def _agent(self, message: Message, place: int, fresh: Fresh) -> None:
        ref = message.id or ""
        self._goes_on(message)
        words = message.text.strip()
        if self.questions and (message.calls or words):
            source = self._source("answer", message)  # who goes on needs no answer
            self._settle(self.questions, "the agent went on", source, "answers")
        if words and not message.calls:
            self._says(message, ref, place, fresh)
        elif message.calls:
            self._works_on(message, place, fresh)
        for n, call in enumerate(message.calls):
            self._calls(call, message, f"{ref}/{n}")
        reason = broken_off(message)
        if reason:
            tail = message.text[-200:]
            self._again("truncated", ref, "past")
            said = f"the answer broke off, {reason}"
            said += f": …{short(tail, 100)}" if tail.strip() else ""
            source = self._source("truncated", message)
            self._add(Opens("truncated", said, source, ref, {"reason": reason}), "broken")

    def _goes_on(self, message: Message) -> None:
        """Another turn of the agent: what broke off, or can't be run, is past."""
        self._take_back("broken")
        if not self.known:
            return
        for kind in ("truncated", *CALLS):
            for loop in self._open_before(kind):
                if kind == "truncated" or "unnamed" in loop.context:
                    source = self._source("answer", message)
                    self._add(Settles((kind,), "the agent went on", source, loop.ref), "past")

    def _calls(self, call: Call, message: Message, otherwise: str) -> None:
        if call.name in BOOKKEEPING and call.malformed is None:
            return  # what it says is read (`declared`), and nothing else is done
        self.used_tools = True
        self.called.append(call.name)
        ref = call.id or otherwise
        args, _ = bounded(call.args, _ARGS)
        context = {"name": call.name, "args": args}
        if call.id is None:  # no result can name it
            context["unnamed"] = True
        fact: Opens
        if call.malformed is not None:
            source = self._source("malformed_call", message, call.id)
            said = f"{call.name}: {short(call.malformed, _LINE)}"
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
            self._add(Settles(CALLS, outcome, source, result.call))
        if name is None or not ran or name in BOOKKEEPING:
            return
        if not result.failed:
            self._worked(name, message)
            return
        source = self._source("tool_failed", message, result.call)
        said = f"{name} failed: {short(result.text, _LINE)}"
        self._again("error", result.call, f"worked {name}")
        self.failed.setdefault(name, []).append(len(self.facts))
        self.facts.append(Opens("error", said, source, result.call, {"tool": name}))

    def _tool(self, call: str) -> str | None:
        """The tool of a call that was made before this walk."""
        for kind in CALLS:
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

    def _kept(self, message: Message) -> None:
        """An old message behind a new one: it answers, or makes past, what this walk found."""
        self.skipped = True
        if message.role == "ai":
            self._take_back("broken")
            if message.text.strip() and not message.calls:
                self._take_back("request", "answers")
                self.requests = [each for each in self.requests if each.index is None]
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
            self._take_back("question", "replies", "wants", "drops")
            self.questions = [each for each in self.questions if each.index is None]


def described(name: str, args: object) -> str:
    """A call in words: `search(query='cats')`."""
    if not isinstance(args, dict):
        return short(f"{name}({args if args is not None else ''})", _LINE)
    shown = []
    for key, value in args.items():
        if isinstance(value, str):
            shown.append(f"{key}={short(value, 60)!r}")
        elif type(value) is int:
            shown.append(f"{key}={value}"[:_LINE])
        else:
            shown.append(f"{key}={in_line(value, 60)}")
    return short(f"{name}({', '.join(shown)})", _LINE)


def ended(result: Result) -> tuple[str, bool]:
    """How a call ended, and whether it was run at all."""
    if not result.failed:
        return "a result was recorded", True
    start = result.text[:400]
    for sign, outcome in _NO_RESULT:
        if sign in start:
            return outcome, False
    return "failed", True


def _summary(view: View, text: str, source: Source, wanted: bool | None = None) -> Iterator[Fact]:
    """A summary of what was dropped from the history: it is kept, and its plan is a list."""
    summary = people.summary(text)
    yield Holds("summary", summary.text, source)
    if wanted is None:
        # A model's reading of what is wanted waits for somebody's word.
        wanted = any(each.confidence != "model" for each in view.previous.intentions)
    if summary.intent and not wanted:
        yield Wants(short(summary.intent, _AIM), "request", source)
    if summary.steps is not None:
        steps = tuple(Listed(step) for step in summary.steps)
        yield Todos(_STEPS, steps, source)
