"""What is owed: a person's requests, an agent's questions, and what is wanted at all.

A request is open until it is answered, done, refused or called off. Asking back, promising and
beginning close nothing; nor do words that come with a tool call. A later message that makes a
request concrete, or changes it, replaces it. What is wanted is over with the last open request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph_wyrd.extraction import people, speech
from langgraph_wyrd.extraction.intentions import wants
from langgraph_wyrd.extraction.languages import share, stems
from langgraph_wyrd.extraction.messages import Message, read
from langgraph_wyrd.extraction.sentences import Form, own_words
from langgraph_wyrd.extraction.todos import CHANNEL, entries
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.facts import Drops, Fact, Opens, Resumes, Settles, Wants
from langgraph_wyrd.state.model import FINISHED, Confidence, LoopKind, OpenLoop, Source, shortened

CALLS: tuple[LoopKind, ...] = ("tool_call", "task", "malformed_call")
_LINE = 300  # characters of a description
_AIM = 500
_LOOKED_BACK = 40  # messages, to see how the agent's last turn ended
_FORM = "structured_response"
_DELIVERED = "answered at length"
_OVER = (_DELIVERED, "refused", "called off")  # after these a question is a new aim
_GIVEN_UP = ("refused", "called off")
_PLEASE = 40  # characters of what an agent adds to its question
_MOST_PARTS = 5  # questions of one message that are loops of their own


class Waiting:
    """A request or a question that is open at this place of a walk.

    `index` is its fact where this walk opened it, `loop` what it is in the state before.
    """

    __slots__ = ("form", "index", "loop", "ref", "text")

    def __init__(
        self, ref: str | None, text: str, form: str, index: int | None, loop: OpenLoop | None
    ) -> None:
        self.ref = ref
        self.text = text
        self.form = form
        self.index = index
        self.loop = loop


class Owed:
    """What is open at a place of a walk through messages. `facts` has None where one was taken
    back."""

    def __init__(self, view: View, channel: str) -> None:
        self.view = view
        self.channel = channel
        self.facts: list[Fact | None] = []
        self.calls: dict[str, tuple[int, str]] = {}  # open here: id -> fact, tool
        self.failed: dict[str, list[int]] = {}  # open here: tool -> facts
        self.loose: dict[str, list[int]] = {}  # facts that a later message takes back, by sort
        self.undo: dict[int, tuple[list[Waiting], Waiting]] = {}  # what a fact had closed
        self.skipped = False  # old messages were passed
        self.known: dict[str, list[OpenLoop]] = {}  # open before this walk, by kind
        self.used_tools = False
        for loop in view.previous.loops:
            kind = loop.kind
            if kind in CALLS:
                self.used_tools = True
            if loop.closed_at is None and loop.closed_in is None:
                self.known.setdefault(kind, []).append(loop)
        self.requests = [_waiting(loop) for loop in self.known.get("request", ())]
        self.questions = [_waiting(loop) for loop in self.known.get("question", ())]
        self.wanted = False  # whether anything was ever wanted
        self.aim = False  # whether something is wanted now
        for each in view.previous.intentions:
            if each.confidence != "model":
                self.wanted = True
            if each.closed_at is None and each.closed_in is None and each.aim == "request":
                self.aim = self.aim or each.source.ns == view.ns
        self.handed_over: bool | None = None  # whether the last answer was a long one
        self.agent: str | None = None  # the name of the agent that asked last

    def _source(self, rule: str, message: Message, call: str | None = None) -> Source:
        view = self.view
        return Source(view.checkpoint_id, view.ns, None, self.channel, message.id, None, call, rule)

    def _add(self, fact: Fact, sort: str | None = None) -> int:
        if sort is not None:
            self.loose.setdefault(sort, []).append(len(self.facts))
        self.facts.append(fact)
        return len(self.facts) - 1

    def _take_back(self, *sorts: str) -> None:
        for sort in sorts:
            for index in self.loose.pop(sort, ()):
                self._without(index)

    def _without(self, index: int) -> None:
        self.facts[index] = None
        held = self.undo.pop(index, None)
        if held is not None and held[1] not in held[0]:
            held[0].append(held[1])

    def _open_before(self, kind: LoopKind) -> Sequence[OpenLoop]:
        """The loops of a kind that were open before this walk."""
        return self.known.get(kind, ())

    def _again(self, kind: LoopKind, ref: str | None, sort: str) -> None:
        """If this loop was open before, its message is read once more: what settled all of its
        kind, further up, was before it."""
        if sort in self.loose and any(loop.ref == ref for loop in self._open_before(kind)):
            self._take_back(sort)

    def _opens(
        self, kind: LoopKind, ref: str | None, text: str, source: Source, form: str = ""
    ) -> None:
        """A request or a question, unless it is known to be open."""
        held = self.requests if kind == "request" else self.questions
        context = {"form": form} if form in ("proposes", "offers") else {}
        confidence: Confidence = "heuristic" if form == "offers" else "structural"
        self._again(kind, ref, "replies" if kind == "request" else "answers")
        index = self._add(Opens(kind, text, source, ref, context, confidence), kind)
        for each in held:
            if each.ref == ref:
                return
        held.append(Waiting(ref, text, form, index, None))

    def _settle(
        self, held: list[Waiting], outcome: str, source: Source, sort: str,
        which: Iterable[Waiting] | None = None,
    ) -> None:  # fmt: skip
        """Close some of what is open, or all. What this walk opened leaves no trace."""
        kind: LoopKind = "request" if held is self.requests else "question"
        for each in list(held if which is None else which):
            held.remove(each)
            if each.index is not None:
                self.facts[each.index] = None
            if each.loop is not None:
                fact = Settles((kind,), outcome, source, each.ref, each.loop.id)
                self.undo[self._add(fact, sort)] = (held, each)

    def _aims(self, message: Message, line: str, source: Source) -> None:
        """What the agent is after from now on."""
        self.wanted = self.aim = True
        self._take_back("drops")
        if line and not self._is_aim(message.id, line):
            self._add(Wants(line, "request", source), "wants")

    def _drops(self, outcome: str, source: Source) -> None:
        """Nothing is wanted any more, unless steps of the agent's own plan are left."""
        if self.aim and (outcome in _GIVEN_UP or not self._has_steps()):
            self.aim = False
            self._add(Drops("request", source, outcome), "drops")

    def _has_steps(self) -> bool:
        view = self.view
        if CHANNEL in view.changed:
            return any(each.status not in FINISHED for each in entries(view.values.get(CHANNEL)))
        return any(todo.confidence != "heuristic" for todo in view.previous.open_todos)

    def _is_aim(self, id: str | None, text: str) -> bool:
        """Whether this message is known as an aim: a list may come again as a whole."""
        return id is not None and any(
            aim.source.message_id == id and aim.text == text
            for aim in self.view.previous.intentions
        )

    def _person(self, message: Message, place: int, fresh: Fresh) -> None:
        text = message.text
        line = short(own_words(text), _AIM)
        source = self._source("request", message)
        if self.view.ns and people.speaks_for_parent(self.view.ns):
            if not self.wanted:
                self.wanted = True
                if line:
                    self._add(Wants(line, "task", source), "wants")
                return
            if any(
                each.aim == "task" and each.source.message_id == message.id
                for each in self.view.previous.intentions
            ):
                return  # the same once more
        form = self._left_open(place, fresh)
        asked = " ".join(each.text for each in self.questions)
        waited = form in ("asks", "proposes")  # for an answer
        self._take_back("question")
        self._settle(self.questions, "answered", source, "answers")
        said = speech.said(text)
        shown = shortened(line, _LINE) or people.shown(message)
        if not said.content and (text.strip() or not message.blocks):
            self._small(message, said, form, asked, line, shown, source)
            return
        taken = said.agrees and not said.questions and not said.redirect
        if form == "offers" and taken and not self.requests:
            self._ask(message, said, shown, source)
            self._resume(source)
            return
        english = None if not self.wanted else ("asks" if form == "offers" else form)
        # In a thread that uses tools, what sets no new aim is asked before there is one.
        wants_now = (waited or self.aim or not self.used_tools) and wants(own_words(text), english)
        moves = said.redirect and (
            said.wish or bool(said.questions) or not waited or not speech.is_english(text)
        )
        concrete = waited and said.wish and speech.is_open_ended(asked)
        if self.requests:
            if moves or concrete or (waited and self._changes(said, form)):
                self._settle(self.requests, "replaced", source, "replies")
            elif waited:
                if said.questions and not said.agrees:
                    self._ask(message, said, shown, source)
                elif wants_now:
                    self._settle(self.requests, "replaced", source, "replies")
                    self._ask(message, said, shown, source)
                if wants_now:
                    self._aims(message, line, source)
                return
            elif not (said.wish or said.questions or wants_now):
                return  # it goes on with what they said before
            elif any(share(line, each.text) for each in self.requests):
                self._settle(self.requests, "replaced", source, "replies")
        self._ask(message, said, shown, source)
        if wants_now or moves or concrete or not self._stays(said, form, text):
            self._aims(message, line, source)
        elif not self.aim:
            self._resume(source)

    def _changes(self, said: speech.Said, form: Form) -> bool:
        """Whether an answer does more than answer: it takes a proposal and goes on to the next."""
        return form == "proposes" and said.agrees and bool(said.questions)

    def _stays(self, said: speech.Said, form: Form, text: str) -> bool:
        """Whether a request goes on with what is wanted, and sets no new aim."""
        if said.redirect and said.wish:
            return False
        if self.aim:
            return form != "proposes" or not said.agrees
        return self._talk(text)

    def _talk(self, text: str) -> bool:
        """Whether this is talk about what was just found: short turns, and no tool is ever used.

        There "what is the address?" goes on with the search for a restaurant; an agent that
        works, or hands over a long answer, is asked anew. Told for English only, where the tables
        tell such questions from new wishes.
        """
        if not self.wanted or self.used_tools or not speech.is_english(text):
            return False
        if self.handed_over is None:
            past = [each for each in self.view.previous.intentions if each.aim == "request"]
            self.handed_over = bool(past) and past[-1].outcome in _OVER
        return not self.handed_over

    def _ask(self, message: Message, said: speech.Said, shown: str, source: Source) -> None:
        """A request, or one for each of several questions."""
        ref = message.id
        parts = said.questions if 1 < len(said.questions) <= _MOST_PARTS else ()
        if not parts:
            self._opens("request", ref, shown, source)
            return
        for number, part in enumerate(parts):
            name = ref if number == 0 else f"{ref}#{number + 1}"
            self._opens("request", name, shortened(part, _LINE), source)

    def _resume(self, source: Source) -> None:
        """What was wanted last is wanted again."""
        if self.wanted:
            self.aim = True
            index = self.loose.get("drops", [])
            if index:
                self._take_back("drops")
            else:
                self._add(Resumes("request", source), "wants")

    def _small(
        self, message: Message, said: speech.Said, form: Form, asked: str, line: str, shown: str,
        source: Source,
    ) -> None:  # fmt: skip
        """Thanks, a yes, a stop: small words that say nothing of their own."""
        waited = form in ("asks", "proposes")
        if said.stop and not (waited and share(line, asked)):
            if self.requests or self.aim:
                self._settle(self.requests, "called off", source, "replies")
                self._drops("called off", source)
            return
        if said.farewell and not (said.proceed and not said.firm):
            given_up = said.firm or said.thanks or not self.requests or speech.approves(asked)
            if waited and given_up:
                self._settle(self.requests, "called off", source, "replies")
                self._drops("called off", source)
            return
        if self.requests:
            return
        if form != "tells":  # an answer, and the agent's turn
            if said.agrees or said.proceed or waited:
                self._opens("request", message.id, shown, source)
                self._resume(source)
            return
        if said.proceed or said.polite or not (self.wanted or self.view.previous.loops):
            if said.thanks and not said.proceed and not said.polite:
                return
            self._opens("request", message.id, shown, source)
            if (said.polite or said.proceed) and not self.wanted:
                self._aims(message, line, source)
            elif said.proceed:
                self._resume(source)

    def _left_open(self, place: int, fresh: Fresh) -> Form:
        """What the agent's words before this walk, or before this place, left open."""
        forms = [each.form or "asks" for each in self.questions]
        for form in ("asks", "proposes", "offers"):
            if form in forms:
                return form
        if self.skipped:
            for at in range(place - 1, max(place - _LOOKED_BACK, 0) - 1, -1):
                message = read(fresh.values[at])
                if message is not None and message.role in ("ai", "human") and message.text:
                    if message.role != "ai" or message.calls:
                        return "tells"
                    found = speech.turn(message.text).form
                    return "tells" if found == "courtesy" else found
        return "tells"

    def answered(self) -> None:
        """What was asked for was given in another form than words."""
        source = self.view.at("answer", channel=_FORM)
        self._settle(self.requests, "answered", source, "replies")
        self._drops("answered", source)

    def _says(self, message: Message, ref: str) -> None:
        """Words without a call: they ask, promise, refuse or answer."""
        words = message.text.strip()
        turn = speech.turn(message.text)
        form = turn.form
        if form == "offers" and self.requests:
            about = " ".join(each.text for each in self.requests)
            if turn.progress == "refuses":
                form = "asks"
                self._answers(message, "refused")
            elif not turn.done and not self._is_extra(turn, about):
                form = "asks"
        if form in ("asks", "proposes", "offers"):
            self.agent = message.name
            source = self._source("question", message)
            self._opens("question", ref, short(turn.text, _LINE), source, form)
            if form != "offers":
                return
        if turn.progress == "begins":
            return
        if form == "courtesy" and turn.bare and self.aim:
            return  # "you're welcome" answers nothing
        if len(words) <= _PLEASE and any(each.form != "offers" for each in self.questions):
            return  # "please": it waits for an answer still
        outcome = _DELIVERED if turn.long else "answered"
        self._answers(message, "refused" if turn.progress == "refuses" else outcome)

    @staticmethod
    def _is_extra(turn: speech.Turn, about: str) -> bool:
        """Whether an offer goes beyond what was asked for, which is answered."""
        if share(turn.text, about):
            return False
        return turn.also or (turn.informs and bool(stems(turn.text)))

    def _answers(self, message: Message, outcome: str) -> None:
        self.handed_over = outcome in _OVER
        source = self._source("answer", message)
        self._settle(self.requests, outcome, source, "replies")
        self._drops(outcome, source)


def _waiting(loop: OpenLoop) -> Waiting:
    form = loop.context.get("form", "")
    return Waiting(loop.ref, loop.description, form, None, loop)


def is_wanted(view: View) -> bool:
    """Whether anything was ever wanted: a model's reading of it waits for somebody's word."""
    return any(each.confidence != "model" for each in view.previous.intentions)


def short(text: str, most: int) -> str:
    return shortened(text[: most * 4], most)
