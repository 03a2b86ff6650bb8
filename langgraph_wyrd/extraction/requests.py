"""What a person's turn opens, replaces and calls off, and what is wanted from then on.

A request is open until it is answered, done, refused or called off. A later message that makes it
concrete, or changes it, replaces it. Thanks, goodbyes and answers to the agent's question open
none.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from langgraph_wyrd.extraction import asking, people, speech
from langgraph_wyrd.extraction.intentions import wants
from langgraph_wyrd.extraction.languages import is_english, may_be_english, share, stems
from langgraph_wyrd.extraction.messages import Message, read
from langgraph_wyrd.extraction.owed import (
    AIM,
    ASIDE,
    GREETING,
    LINE,
    LOOKED_BACK,
    MOST_PARTS,
    OPEN,
    OVER,
    REST,
    WAITED,
    Owed,
    Waiting,
)
from langgraph_wyrd.extraction.plain import short
from langgraph_wyrd.extraction.sentences import Form, own_words
from langgraph_wyrd.extraction.view import Fresh
from langgraph_wyrd.state.facts import Wants
from langgraph_wyrd.state.model import Source, cut, shortened

_PLEASE = 40  # characters: a longer answer says what is wanted
_PLEASE_CJK = 16
_FEW = 3  # words of a yes that only takes up an offer
_SHORT = 90  # characters


def _says_much(line: str) -> bool:
    """Whether an answer is so long that it says what is wanted."""
    return len(line) > (_PLEASE if line.isascii() or line[0] < "\u3000" else _PLEASE_CJK)


class _Heard(NamedTuple):
    """A person's turn, and what it answers."""

    message: Message
    said: asking.Said
    asks: bool  # something of their own
    line: str
    shown: str
    source: Source
    form: Form  # how the agent's words had left it
    waited: bool  # whether for an answer
    told: bool  # whether the agent had told what was wanted, before it asked
    asked: str  # the agent's question


class Requests(Owed):
    """A walk that takes what persons say."""

    def _person(self, message: Message, place: int, fresh: Fresh) -> None:
        self.ended = []
        text = message.text
        line = short(own_words(text), AIM)
        source = self._source("request", message)
        if self._delegates(message, line, source):
            return
        form = self._left_open(place, fresh)
        told = form == "follows"
        asked = " ".join(each.text for each in self.questions)
        self._take_back("question")
        self._settle(self.questions, "answered", source, "answers")
        said = asking.said(text)
        heard = _Heard(
            message, said, said.wish or bool(said.questions), line,
            cut(line, LINE) or people.shown(message), source,
            "asks" if told else form, form in WAITED, told, asked,
        )  # fmt: skip
        agrees = form == "offers" and said.agrees and not said.thanks  # "yes, that would be nice"
        if said.praise and self.wanted and not (self.requests or heard.waited or agrees):
            return
        # "The build is fine. Go on."
        goes_on = said.proceed and not (heard.asks or said.redirect) and len(text) <= _SHORT
        if (goes_on or not said.content) and (text.strip() or not message.blocks):
            self._small(heard)
        elif form != "offers" or not self._takes_up(heard):
            self._asks(heard, place, fresh)

    def _delegates(self, message: Message, line: str, source: Source) -> bool:
        """Whether these are the words of an agent that gave work to this one."""
        if not (self.view.ns and people.speaks_for_parent(self.view.ns)):
            return False
        if not self.wanted:
            self.wanted = True
            if line:
                self._add(Wants(line, "task", source), "wants")
            return True
        return any(  # the same once more
            each.aim == "task" and each.source.message_id == message.id
            for each in self.view.previous.intentions
        )

    def _takes_up(self, heard: _Heard) -> bool:
        """Whether a turn only takes up what was offered after the work, or declines it."""
        said, text = heard.said, heard.message.text
        if said.agrees and not (said.questions or said.redirect or self.requests):
            self._ask(heard)
            own = said.wish or asking.goes_beyond(text)
            own = own or (len(heard.line.split()) > _FEW and share(heard.line, heard.asked))
            if own and not self._talk(heard):
                self._aims(heard.message, heard.line, heard.source)
            else:
                self._resume(heard.source)
            return True
        # "no, I am only collecting opinions"
        return said.denies and not heard.asks

    def _asks(self, heard: _Heard, place: int, fresh: Fresh) -> None:
        """What is said beyond small words: it answers, asks, adds, or replaces what was wanted."""
        message, said, _, line, _, source, form, waited, _, asked = heard
        own = own_words(message.text)
        before = "asks" if form in ("instead", "offers") else form
        wants_now = partial(wants, own, before if self.wanted else None)  # asked where it matters
        anew = self._asks_anew(heard)
        concrete = waited and (heard.asks or _says_much(line)) and asking.is_open_ended(asked)
        if just := self._just_told(place, fresh) if self.requests else []:
            self._settle(self.requests, "replaced", source, "replies", just)
        asks_back = waited and any(map(asking.is_interrogative, said.questions))
        if waited and (said.wish or asks_back) and _says_much(line):
            # It says more than the answer, and is no short talk about what was found.
            anew = anew or self.used_tools or not may_be_english(own)
        if heard.told and heard.asks and not said.adds:
            self._settle(self.requests, "answered", source, "replies")
            anew = True
        if not self.requests:
            leads = waited and not self.wanted and not asking.is_open_ended(asked)
            leads = leads and (len(line) <= _SHORT or said.agrees)  # else they correct, or order
            tells = not (heard.asks or said.redirect)  # a name, a number; no "yes, do all three"
            if leads and tells and (not said.agrees or asking.tells(own)):
                return  # the agent began the talk
        elif anew or (concrete and not said.adds):
            self._settle(self.requests, "replaced", source, "replies")
        elif waited:
            if said.adds:
                self._ask(heard)
            elif asks_back:
                self._ask(heard, aside=True)
            elif wants_now():
                self._settle(self.requests, "replaced", source, "replies")
                self._ask(heard)
            if wants_now() or (said.adds and wants(own, "tells")):
                self._aims(message, line, source)
            return
        elif not (heard.asks or wants_now()):
            return  # it goes on with what they said before
        elif (
            not asking.adds_first(message.text)
            and any(share(line, each.text) for each in self.requests)
        ) or (
            not (said.questions or asking.adds(message.text))
            and not self._agent_spoke_last(place, fresh)  # in the middle of its work
        ):
            self._settle(self.requests, "replaced", source, "replies")
        self._ask(heard)
        if anew or concrete or just or not (self.aim or self._talk(heard)) or wants_now():
            self._aims(message, line, source)
        elif not self.aim:
            self._resume(source)

    @staticmethod
    def _asks_anew(heard: _Heard) -> bool:
        """Whether something else takes the place of what was wanted."""
        said = heard.said
        surely = heard.asks or said.withdraws or not heard.waited
        if not surely and not may_be_english(heard.message.text):
            # "rather Saturday" is the day that was asked for
            surely = len(heard.line) > _PLEASE or asking.is_offer(heard.asked)
        if said.redirect and surely and not (heard.waited and said.agrees):
            return True
        if said.denies and said.wish and not heard.waited:  # "no, use last year's"
            return True
        if not (heard.waited and said.agrees):
            return False
        if heard.form == "instead":  # a yes that says anew what is wanted
            return said.wish and len(stems(heard.line) - stems(heard.asked)) > 1
        return heard.form == "proposes" and bool(said.questions) and not said.adds

    def _talk(self, heard: _Heard) -> bool:
        """Whether this is talk about what was just found: short turns, and no tool is ever used.

        There "what is the address?" goes on with the search for a restaurant, and a remark that
        neither asks nor wishes with anything; an agent that works, or hands over a long answer, is
        asked anew. Read in English only, where the tables tell such questions from new wishes.
        """
        said, text = heard.said, heard.message.text
        if not self.wanted or self.used_tools or not is_english(text):
            return False
        if self.handed_over is None or self.wish is None:
            past = [each for each in self.view.previous.intentions if each.aim == "request"]
            if self.handed_over is None:
                self.handed_over = bool(past) and past[-1].outcome in OVER
            if self.wish is None:
                self.wish = past[-1].text if past else ""
        if self.handed_over or asking.objects(text):
            return False
        return said.thanks or asking.searches(self.wish)

    def _ask(self, heard: _Heard, aside: bool = False) -> None:
        """A request, or one for each of several questions. One that is asked back while the agent
        waits for an answer is an aside."""
        ref, form = heard.message.id, ASIDE if aside else ""
        if aside:
            self.called = []
        questions = heard.said.questions
        if heard.said.wish or not 1 < len(questions) <= MOST_PARTS:
            self._opens("request", ref, heard.shown, heard.source, form)
            return
        for number, part in enumerate(questions):
            name = ref if number == 0 else f"{ref}#{number + 1}"
            self._opens("request", name, shortened(part, LINE), heard.source, form)

    def _small(self, heard: _Heard) -> None:
        """A greeting, thanks, a yes, a stop: small words that say nothing of their own."""
        message, said, _, line, shown, source, form, waited, _, asked = heard
        no = waited and asking.is_needless(line) and not asking.is_question(asked)
        if said.stop and not no and (said.withdraws or not (waited and share(line, asked))):
            if self.requests or self.aim:
                self._calls_off(source)
            elif asking.cancels(line):  # what was ordered, not what was asked for
                self._opens("request", message.id, shown, source)
                self._aims(message, line, source)
        elif said.farewell and not (said.proceed and not said.firm):
            given_up = said.firm or said.thanks
            over = bool(self.requests) and all(each.form == REST for each in self.requests)
            if (waited and given_up) or (over and said.firm):
                self._calls_off(source)
        elif self.requests:
            pass
        elif form != "tells":  # an answer, and the agent's turn
            if said.agrees or said.proceed or waited:
                self._opens("request", message.id, shown, source)
                self._resume(source)
        elif said.proceed:
            self._opens("request", message.id, shown, source)
            if self.wanted:
                self._resume(source)
            else:
                self._aims(message, line, source)
        elif not (self.wanted or self.view.previous.loops or said.thanks):
            self._opens("request", message.id, shown, source, GREETING)

    def _calls_off(self, source: Source) -> None:
        self._settle(self.requests, "called off", source, "replies")
        self._drops("called off", source)

    def _left_open(self, place: int, fresh: Fresh) -> Form:
        """What the agent's words before this walk, or before this place, left open."""
        forms = [each.form or "asks" for each in self.questions]
        for form in OPEN:
            if form in forms:
                return form
        if self.skipped:
            for at in range(place - 1, max(place - LOOKED_BACK, 0) - 1, -1):
                message = read(fresh.values[at])
                if message is not None and message.role in ("ai", "human") and message.text:
                    if message.role != "ai" or message.calls:
                        return "tells"
                    found = speech.turn(message.text).form
                    return "tells" if found == "courtesy" else found
        return "tells"

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
