"""What is owed: a person's requests, an agent's questions, and what is wanted at all.

A request is open until it is answered, done, refused or called off. Asking back, promising and
beginning close nothing; nor do words that come with a tool call. A later message that makes a
request concrete, or changes it, replaces it. What is wanted is over with the last open request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from langgraph_wyrd.extraction import asking, people, speech
from langgraph_wyrd.extraction.intentions import wants
from langgraph_wyrd.extraction.languages import is_english, may_be_english, share, stems
from langgraph_wyrd.extraction.messages import Message, read
from langgraph_wyrd.extraction.plain import short
from langgraph_wyrd.extraction.sentences import Form, is_letter, own_words
from langgraph_wyrd.extraction.todos import CHANNEL, entries
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.facts import Drops, Fact, Opens, Reopens, Resumes, Settles, Wants
from langgraph_wyrd.state.model import (
    FINISHED,
    PERHAPS,
    Confidence,
    LoopKind,
    OpenLoop,
    Source,
    shortened,
)

CALLS: tuple[LoopKind, ...] = ("tool_call", "task", "malformed_call")
_LINE = 300  # characters of a description
_AIM = 500
_HEADING = re.compile(r"(?m)^#{1,4} ")  # of a text that is handed over
_LOOKED_BACK = 40  # messages, to see how the agent's last turn ended
_FORM = "structured_response"
_DELIVERED = "answered at length"
_OVER = (_DELIVERED, "refused", "called off")  # after these a question is a new aim
_ANSWERED = ("answered", _DELIVERED, PERHAPS)
_GIVEN_UP = ("refused", "called off")
_PLEASE = 40  # characters of what an agent adds to its question
_MOST_PARTS = 5  # questions of one message that are loops of their own
_FEW = 3  # words of a yes that only takes up an offer
_SHORT = 90  # characters
_A_REMARK = 6  # words
_BARE = 16
_OFFERING = stems("shall soll sollen quieres wilt")
_WAITED: tuple[Form, ...] = ("asks", "proposes", "instead")  # for an answer
_OPEN: tuple[Form, ...] = (*_WAITED, "offers")
_HINTS = "hints"  # an offer that asks nothing
_FREE = ("offers", _HINTS)  # need no answer
_REST = "rest"  # a request of which an answer left something out
_ASIDE = "aside"  # a request that leaves what was wanted as it is
# Tools whose names say that they change something, and do not only look.
_DEED = re.compile(
    r"(?i)(?:^|[^a-z])(?:add|append|apply|assign|book|build|cancel|commit|config(?:ure)?|copy"
    r"|create|delete|deploy|edit|format|insert|install|make|mail|merge|message|migrate|modify"
    r"|move|multiedit|notify|patch|post|publish|push|put|refund|remove|rename|render|replace"
    r"|reset|restart|save|send|set|sms|submit|update|upload|write)(?![a-z])"
)


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
        self.whose = view.whose()
        self.node = view.node()
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
        self.ended: list[tuple[Waiting, Fact | None]] | None = None  # what the last answer closed
        self.handed_over: bool | None = None  # whether the last answer was a long one
        self.called: list[str] = []  # tools, since a question was asked back
        self.wish: str | None = None  # what was wanted last
        self.agent: str | None = None  # the name of the agent that asked last

    def _source(self, rule: str, message: Message, call: str | None = None) -> Source:
        view = self.view
        return Source(
            view.checkpoint_id, view.ns, self.node, self.channel, message.id, None, call, rule,
            None, {}, *self.whose,
        )  # fmt: skip

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
        context = {"form": form} if form not in ("", "asks") else {}
        confidence: Confidence = "heuristic" if form in _FREE else "structural"
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
        self.wish = line
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
        self.ended = []
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
        hinted = any(each.form == _HINTS for each in self.questions)
        waited = form in _WAITED  # for an answer
        self._take_back("question")
        self._settle(self.questions, "answered", source, "answers")
        said = asking.said(text)
        shown = shortened(line, _LINE) or people.shown(message)
        praises = said.praise and self.wanted and not self.requests and not waited
        if praises and not (is_english(text) and wants(own_words(text), "tells")):
            return
        goes_on = (
            said.proceed
            and self.used_tools
            and len(text) <= _SHORT
            and not (said.wish or said.questions or said.redirect)
        )  # "The build is fine. Go on."
        if (goes_on or not said.content) and (text.strip() or not message.blocks):
            if hinted and asking.is_yes(text) and not self.requests:
                form = "offers"
            self._small(message, said, form, asked, line, shown, source)
            return
        taken = said.agrees and not said.questions and not said.redirect
        if form == "offers" and taken and not self.requests:
            self._ask(message, said, shown, source)
            own = said.wish or asking.goes_beyond(text)
            own = own or (len(line.split()) > _FEW and share(line, asked))
            if own and not self._talk(said, text):
                self._aims(message, line, source)
            else:
                self._resume(source)
            return
        if (
            form == "offers"
            and said.denies
            and not (said.wish or said.questions or said.redirect or self.requests)
            and not asking.turns(text)
        ):
            return  # "no, I am only collecting opinions"
        asked_for = form == "instead" or (
            form == "offers" and (bool(self.requests) or not self.used_tools)
        )
        english = None if not self.wanted else ("asks" if asked_for else form)
        # In a thread that uses tools, what sets no new aim is asked before there is one.
        wants_now = (waited or self.aim or not self.used_tools) and wants(own_words(text), english)
        moves = said.redirect and (
            said.wish
            or said.withdraws
            or bool(said.questions)
            or not waited
            or not may_be_english(text)
            or (self.used_tools and len(line.split()) > _A_REMARK)  # "hold on, drop the bots …"
        )
        moves = moves and not (waited and said.agrees and not said.withdraws)
        if said.denies and waited and (said.wish or asking.approves(asked)):
            # "no, list them first"
            moves = moves or not may_be_english(text)
            moves = moves or len(text) > 2 * _SHORT
        asks = said.wish or bool(said.questions)
        concrete = waited and (asks or len(line) > _PLEASE) and asking.is_open_ended(asked)
        changes = waited and self._changes(said, form, line, asked)
        if told := self._just_told(place, fresh) if self.requests else []:
            self._settle(self.requests, "replaced", source, "replies", told)
        if self.requests:
            if moves or (concrete and not said.adds) or changes:
                self._settle(self.requests, "replaced", source, "replies")
            elif waited:
                asks = any(map(asking.is_interrogative, said.questions))
                if said.adds:
                    self._ask(message, said, shown, source)
                elif asks and not said.agrees:
                    self._ask(message, said, shown, source, aside=True)
                elif wants_now:
                    self._settle(self.requests, "replaced", source, "replies")
                    self._ask(message, said, shown, source)
                if wants_now or (said.adds and wants(own_words(text), "tells")):
                    self._aims(message, line, source)
                return
            elif not (said.wish or said.questions or wants_now):
                return  # it goes on with what they said before
            elif any(share(line, each.text) for each in self.requests) or (
                said.wish
                and not (said.questions or asking.adds(text))
                and not self._agent_spoke_last(place, fresh)  # in the middle of its work
            ):
                self._settle(self.requests, "replaced", source, "replies")
        self._ask(message, said, shown, source)
        if wants_now or moves or concrete or changes or told or not self._stays(said, form, text):
            self._aims(message, line, source)
        elif not self.aim:
            self._resume(source)

    def _changes(self, said: asking.Said, form: Form, line: str, asked: str) -> bool:
        """Whether an answer does more than answer: it takes a proposal and goes on to the next."""
        if form == "instead":  # and says anew what is wanted
            return said.agrees and said.wish and len(stems(line) - stems(asked)) > 1
        return form == "proposes" and said.agrees and bool(said.questions) and not said.adds

    def _stays(self, said: asking.Said, form: Form, text: str) -> bool:
        """Whether a request goes on with what is wanted, and sets no new aim."""
        if said.redirect and said.wish:
            return False
        if self.aim:
            return form != "proposes" or not said.agrees
        return self._talk(said, text)

    def _talk(self, said: asking.Said, text: str) -> bool:
        """Whether this is talk about what was just found: short turns, and no tool is ever used.

        There "what is the address?" goes on with the search for a restaurant, and a remark that
        neither asks nor wishes with anything; an agent that works, or hands over a long answer, is
        asked anew. Read in English only, where the tables tell such questions from new wishes.
        """
        if not self.wanted or self.used_tools or not is_english(text):
            return False
        if self.handed_over is None or self.wish is None:
            past = [each for each in self.view.previous.intentions if each.aim == "request"]
            if self.handed_over is None:
                self.handed_over = bool(past) and past[-1].outcome in _OVER
            if self.wish is None:
                self.wish = past[-1].text if past else ""
        remark = not (said.wish or said.questions) and (
            said.thanks or said.agrees or said.denies or len(text.split()) <= _A_REMARK
        )
        return not self.handed_over and (remark or asking.searches(self.wish))

    def _ask(
        self, message: Message, said: asking.Said, shown: str, source: Source, aside: bool = False
    ) -> None:
        """A request, or one for each of several questions. One that is asked back while the agent
        waits for an answer is an aside."""
        ref, form = message.id, _ASIDE if aside else ""
        if aside:
            self.called = []
        parts = said.questions if 1 < len(said.questions) <= _MOST_PARTS else ()
        if not parts:
            self._opens("request", ref, shown, source, form)
            return
        for number, part in enumerate(parts):
            name = ref if number == 0 else f"{ref}#{number + 1}"
            self._opens("request", name, shortened(part, _LINE), source, form)

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
        self, message: Message, said: asking.Said, form: Form, asked: str, line: str, shown: str,
        source: Source,
    ) -> None:  # fmt: skip
        """Thanks, a yes, a stop: small words that say nothing of their own."""
        waited = form in _WAITED
        if said.stop and (said.withdraws or not (waited and share(line, asked))):
            if self.requests or self.aim:
                self._settle(self.requests, "called off", source, "replies")
                self._drops("called off", source)
            elif asking.cancels(line):  # what was ordered, not what was asked for
                self._opens("request", message.id, shown, source)
                self._aims(message, line, source)
            return
        if said.farewell and not (said.proceed and not said.firm):
            given_up = said.firm or said.thanks or not self.requests or asking.approves(asked)
            over = bool(self.requests) and all(each.form == _REST for each in self.requests)
            if (waited and given_up) or (over and said.firm):
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
            else:
                self._resume(source)

    def _left_open(self, place: int, fresh: Fresh) -> Form:
        """What the agent's words before this walk, or before this place, left open."""
        forms = [each.form or "asks" for each in self.questions]
        for form in _OPEN:
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

    def _says(self, message: Message, ref: str, place: int, fresh: Fresh) -> None:
        """Words without a call: they ask, promise, refuse or answer."""
        words = message.text.strip()
        turn = speech.turn(message.text)
        form = turn.form
        about = " ".join(each.text for each in self.requests) if form in _OPEN else ""
        if form == "asks" and turn.leave and self._is_more(turn, about):
            form = "offers"
        elif form == "offers" and self.requests:
            if turn.progress == "refuses":
                form = "instead"
            elif turn.progress == "begins" or any(each.form == _ASIDE for each in self.requests):
                form = "asks"  # what was asked back is answered, what is wanted is not
            elif self._is_left(turn, about):
                form = "asks"
            elif self._is_more(turn, about):
                pass
            elif not (turn.done or (turn.long and self._worked_on(turn, about))) and (
                turn.failed or not self._is_extra(turn, about)
            ):
                form = "asks"
        if turn.leaves and self.requests and self._is_left_to_them(message.text):
            form = "asks"
        if form in _OPEN and any(self._is_its_text(e, message.text, turn) for e in self.requests):
            form = "tells"  # what is asked in it, nobody asks here
        if form in _OPEN:
            self.agent = message.name
            source = self._source("question", message)
            self._opens("question", ref, short(turn.text, _LINE), source, form)
            if form != "offers":
                asides = [each for each in self.requests if each.form == _ASIDE]
                if turn.informs and len(asides) < len(self.requests):
                    self._settle(self.requests, "answered", source, "replies", asides)
                return
        works = turn.progress == "begins"
        if turn.progress == "does":  # or says how it does things, if that was asked
            works = not self.requests or not all(asking.is_question(e.text) for e in self.requests)
        if works:
            self._works_on(message, place, fresh)
            self._answers_some(message, turn)
            told = turn.told or any(map(str.isdigit, message.text[:_SHORT]))
            if told and len(self.requests) > 1:  # "how far is it?" "At 62 %, I go on."
                source = self._source("answer", message)
                asked = [each for each in self.requests[1:] if asking.is_question(each.text)]
                self._settle(self.requests, "answered", source, "replies", asked)
            return
        if form == "courtesy" and turn.bare and self.aim:
            return  # "you're welcome" answers nothing
        if len(words) <= _PLEASE and any(each.form not in _FREE for each in self.questions):
            return  # "please": it waits for an answer still
        outcome = _DELIVERED if turn.long else "answered"
        asides = [each for each in self.requests if each.form == _ASIDE]
        if (
            0 < len(asides) < len(self.requests)
            and turn.progress != "refuses"
            and self._answers_at_once(message, asides[-1])
        ):
            # What was asked back is answered; what the agent had asked is not.
            source = self._source("answer", message)
            self._settle(self.requests, outcome, source, "replies", asides)
            return
        self._answers(message, "refused" if turn.progress == "refuses" else outcome)
        if form == "courtesy" and turn.text:
            source = self._source("question", message)
            self._opens("question", ref, short(turn.text, _LINE), source, _HINTS)

    def _worked_on(self, turn: speech.Turn, about: str) -> bool:
        """Whether many words can be the end of what was asked for: they tell, or follow a call."""
        if asking.asks_to_know(about):
            return True
        return bool(self._called_since(self.requests[0])) and not share(turn.text, about)

    def _called_since(self, request: Waiting) -> list[str]:
        """The tools that were called since a request and did not fail."""
        loops = self.view.previous.loops
        since = loops[loops.index(request.loop) + 1 :] if request.loop is not None else ()
        before = [loop for loop in since if loop.kind in CALLS and loop.outcome != "failed"]
        return [str(loop.context.get("name", "")) for loop in before] + self.called

    def _answers_at_once(self, message: Message, aside: Waiting) -> bool:
        """Whether nothing was called since a question was asked back, and nothing is reported."""
        return not (self._called_since(aside) or speech.reports(message.text))

    def _is_left_to_them(self, text: str) -> bool:
        """Whether what is to be done is not done, and waits for the person's word."""
        about = " ".join(each.text for each in self.requests)
        return not (asking.asks_to_know(about) or speech.reports(text))

    @staticmethod
    def _is_its_text(request: Waiting, text: str, turn: speech.Turn) -> bool:
        """Whether an agent's words are the text that was asked for."""
        if speech.translates(request.text, text):
            return True
        if not (turn.informs and asking.asks_for_words(request.text)):
            return False
        shown = is_letter(text) or speech.is_list(text)
        return shown or not (speech.addresses(turn.text) or speech.reports(text))

    def _answers_some(self, message: Message, turn: speech.Turn) -> None:
        """Of several requests, those that are answered before others are begun."""
        done = [
            each
            for each in self.requests
            if share(each.text, turn.told) and not share(each.text, turn.next)
        ]
        if done and any(share(each.text, turn.next) for each in self.requests):
            self._settle(
                self.requests, "answered", self._source("answer", message), "replies", done
            )

    def _left_out(self, numbers: frozenset[int]) -> list[Waiting]:
        """Questions of one message to which a numbered answer has no number."""
        ref = self.requests[0].ref if self.requests else None
        parts = {ref if n == 0 else f"{ref}#{n + 1}": n + 1 for n in range(_MOST_PARTS)}
        found = [each for each in self.requests if each.ref in parts]
        if len(found) < 2 or not numbers or not numbers <= set(range(1, len(found) + 1)):
            return []
        return [each for each in found if parts[each.ref] not in numbers]

    def _works_on(self, message: Message, place: int, fresh: Fresh) -> None:
        """The agent goes on with what its last words seemed to have answered: no person spoke
        since, so they were not the end of the run."""
        if self.requests or self.aim or not self.wanted:
            return
        source = self._source("request", message)
        if self.ended is not None:
            for each, fact in self.ended:
                if fact is not None:
                    index = self._add(fact, "request")
                    self.requests.append(Waiting(each.ref, each.text, each.form, index, None))
                elif each.loop is not None:
                    for index, (_, closed) in list(self.undo.items()):
                        if closed is each:
                            self._without(index)
        elif self._agent_spoke_last(place, fresh):
            past = [loop for loop in self.view.previous.loops if loop.kind == "request"]
            last = max((loop.closed_at or loop.closed_in or "" for loop in past), default="")
            for loop in past:
                at = loop.closed_at or loop.closed_in
                if at == last and loop.outcome in _ANSWERED and loop.confidence == "structural":
                    self._add(Reopens(loop.id, source), "request")
                    self.requests.append(_waiting(loop))
        if self.requests:
            self._resume(source)
            self.ended = None

    def _just_told(self, place: int, fresh: Fresh) -> list[Waiting]:
        """What the person said right before, in messages of its own, that only tells something."""
        refs = set()
        for at in range(place - 1, -1, -1) if fresh.complete else ():
            message = read(fresh.values[at])
            if message is None or message.role != "human":
                break
            refs.add(message.id)
        return [
            each for each in self.requests if each.ref in refs and not asking.is_asked(each.text)
        ]

    def _agent_spoke_last(self, place: int, fresh: Fresh) -> bool:
        """Whether the last words before this walk are the agent's. Of a list that is not at hand
        nobody knows: then they are."""
        if not fresh.complete:
            return True
        for at in range(place - 1, max(place - _LOOKED_BACK, 0) - 1, -1):
            message = read(fresh.values[at])
            if message is not None and message.role in ("ai", "human") and message.text.strip():
                return message.role == "ai" and not message.calls
        return False

    @staticmethod
    def _is_extra(turn: speech.Turn, about: str) -> bool:
        """Whether an offer goes beyond what was asked for, which is answered."""
        if share(turn.text, about):
            return False
        if turn.also:
            return True
        return turn.informs and bool(stems(turn.text)) and asking.asks_to_know(about)

    def _is_left(self, turn: speech.Turn, about: str) -> bool:
        """Whether an offer names only what was asked for, and no tool did: "shall I post it?"."""
        offered = stems(turn.text) - _OFFERING
        if not offered or turn.also or not offered <= stems(about):
            return False
        called = " ".join(self._called_since(self.requests[0]))
        return offered.isdisjoint(stems(re.sub(r"[\W_]", " ", called)))

    def _is_more(self, turn: speech.Turn, about: str) -> bool:
        """Whether leave is asked for something beyond what was asked for, which is done."""
        if not self.requests or any(each.form == _ASIDE for each in self.requests):
            return False
        if len(turn.text) <= _BARE or not stems(turn.text):
            return False  # "shall I go on?" is about the work itself
        if turn.informs and all(asking.only_asks(each.text) for each in self.requests):
            return True
        called = self._called_since(self.requests[0])
        deed = turn.informs and not turn.failed and any(map(_DEED.search, called))
        if deed and not turn.leave:
            return True
        more = not stems(turn.text) <= stems(about)
        if deed and more and len(called) >= len(asking.parts(about)):
            return True
        looked = bool(called) and not any(map(_DEED.search, called))
        told = turn.done or ((turn.long or looked) and asking.asks_to_know(about))
        return told and not share(turn.text, about)

    def _answers(self, message: Message, outcome: str) -> None:
        self.handed_over = outcome in _OVER
        source = self._source("answer", message)
        if left := self._left_out(speech.turn(message.text).numbers):
            some = [each for each in self.requests if each not in left]
            self._settle(self.requests, outcome, source, "replies", some)
            return
        whole = outcome == "refused" or _HEADING.search(message.text)
        if not whole and (partly := self._partly(message.text)):
            some = [each for each in self.requests if each not in partly]
            self._settle(self.requests, outcome, source, "replies", some)
            for each in partly:
                each.form = _REST
                fact = Opens("request", each.text, source, each.ref, {"form": _REST})
                if each.index is None:
                    each.index = self._add(fact, "request")
                elif isinstance(held := self.facts[each.index], Opens):
                    self.facts[each.index] = replace(held, context=fact.context)
            return
        if self.requests:
            self.ended = [
                (each, None if each.index is None else self.facts[each.index])
                for each in self.requests
                if outcome in _ANSWERED
            ]
        if doubtful := self._not_mentioned(message.text) if outcome == "answered" else []:
            self._settle(self.requests, PERHAPS, source, "replies", doubtful)
        self._settle(self.requests, outcome, source, "replies")
        self._drops(PERHAPS if doubtful else outcome, source)

    def _partly(self, text: str) -> list[Waiting]:
        """Requests for several things of which nothing that was said or called is about one."""
        found = []
        for each in self.requests:
            if each.form == _ASIDE or len(asking.parts(each.text)) < 2 or asking.tells_all(text):
                continue
            loops = self.view.previous.loops
            since = loops[loops.index(each.loop) + 1 :] if each.loop is not None else ()
            calls = [loop.description for loop in since if loop.kind in CALLS]
            told = stems(text).union(*(stems(re.sub(r"[_(]", " ", call)) for call in calls))
            tools = len(set(self._called_since(each)))
            if asking.left_over(each.text, told, tools):
                found.append(each)
        return found

    def _not_mentioned(self, text: str) -> list[Waiting]:
        """Of several requests, those of which an answer has no word: they may be left out."""
        asked = [each for each in self.requests if each.form != _ASIDE]
        if len(asked) < 2:
            return []
        told = stems(text)
        silent = [each for each in asked if (of := stems(each.text)) and told.isdisjoint(of)]
        return silent if len(silent) < len(asked) else []


def _waiting(loop: OpenLoop) -> Waiting:
    form = loop.context.get("form", "")
    return Waiting(loop.ref, loop.description, form, None, loop)
