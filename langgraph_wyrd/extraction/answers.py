"""What an agent's words ask, answer and refuse.

Asking back, promising and beginning close nothing; nor do words that come with a tool call. What is
wanted is over with the last open request. An offer after the work waits for nobody.
"""

from __future__ import annotations

import re
from dataclasses import replace

from langgraph_wyrd.extraction import asking, speech
from langgraph_wyrd.extraction.languages import share, stems
from langgraph_wyrd.extraction.messages import Message
from langgraph_wyrd.extraction.owed import (
    ASIDE,
    CALLS,
    DELIVERED,
    GREETING,
    LINE,
    MOST_PARTS,
    OPEN,
    OVER,
    REST,
    Waiting,
    waiting,
)
from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.plain import short
from langgraph_wyrd.extraction.requests import Requests
from langgraph_wyrd.extraction.sentences import MARKS, is_letter
from langgraph_wyrd.extraction.view import Fresh
from langgraph_wyrd.state.facts import Opens, Reopens
from langgraph_wyrd.state.model import PERHAPS, OpenLoop

_FORM = "structured_response"
_ANSWERED = ("answered", DELIVERED, PERHAPS)
_BARE = 16  # characters: "shall I go on?" is about the work itself
_SHORT = 90
_ITSELF = 3  # words that an offer has in common with what was asked for, if it is no more than that
# Tools whose names say that they change something, and do not only look.
_DEED = late(
    r"(?i)(?:^|[^a-z])(?:add|append|apply|assign|book|build|cancel|commit|config(?:ure)?|copy"
    r"|create|delete|deploy|edit|format|insert|install|make|mail|merge|message|migrate|modify"
    r"|move|multiedit|notify|patch|post|publish|push|put|refund|remove|rename|render|replace"
    r"|reset|restart|save|send|set|sms|submit|update|upload|write)(?![a-z])"
)


class Answers(Requests):
    """A walk that takes what persons and agents say."""

    def answered(self) -> None:
        """What was asked for was given in another form than words."""
        source = self.view.at("answer", channel=_FORM)
        self._settle(self.requests, "answered", source, "replies")
        self._drops("answered", source)

    def _says(self, message: Message, ref: str, place: int, fresh: Fresh) -> None:
        """Words without a call: they ask, promise, refuse or answer."""
        turn = speech.turn(message.text)
        form = turn.form
        if greeted := [each for each in self.requests if each.form == GREETING]:
            source = self._source("answer", message)
            self._settle(self.requests, "answered", source, "replies", greeted)
        about = " ".join(each.text for each in self.requests) if form in OPEN else ""
        if turn.choice and not (self.requests and self._is_over(turn, about)):
            form = "asks"
        elif form == "offers" and self.requests:
            if turn.progress == "refuses":
                form = "instead"
            elif (
                turn.progress == "begins"
                or any(each.form == ASIDE for each in self.requests)
                or self._is_it(turn, about)
            ):
                form = "asks"  # what was asked back is answered, what is wanted is not
            elif self._is_more(turn, about):
                pass
            elif not (turn.done or self._is_extra(turn, about)):
                form = "asks"
        if turn.leaves and self.requests and self._is_left_to_them(message.text):
            form = "asks"
        if form in OPEN and turn.informs and self._is_its_text(message.text):
            form = "tells"  # what is asked in it, nobody asks here
        if form in ("asks", "proposes") and self._tells_first(turn, about):
            known = turn.long and turn.text[-1] in MARKS
            known = known and not speech.demands(turn.text)
            known = known and all(
                asking.only_asks(each.text, beside=True) for each in self.requests
            )
            form = "offers" if known else "follows"
        if form in OPEN:
            source = self._source("question", message)
            self._opens("question", ref, short(turn.text, LINE), source, form)
            if form != "offers":
                self._works_on(message, place, fresh, asks=True)
                asides = [each for each in self.requests if each.form == ASIDE]
                if turn.informs and len(asides) < len(self.requests):
                    self._settle(self.requests, "answered", source, "replies", asides)
                return
        works = turn.progress == "begins" and not turn.choice
        if turn.progress == "does":  # or says how it does things, if that was asked
            works = not self.requests or not all(asking.is_question(e.text) for e in self.requests)
            works = works and not turn.done
        if works:
            self._works_on(message, place, fresh)
            self._answers_some(message, turn)
            told = turn.told or any(map(str.isdigit, message.text[:_SHORT]))
            if told and len(self.requests) > 1:  # "how far is it?" "At 62 %, I go on."
                source = self._source("answer", message)
                asked = [each for each in self.requests[1:] if asking.is_question(each.text)]
                self._settle(self.requests, "answered", source, "replies", asked)
            return
        outcome = DELIVERED if turn.long else "answered"
        self._answers(message, "refused" if turn.progress == "refuses" else outcome)

    def _tells_first(self, turn: speech.Turn, about: str) -> bool:
        """Whether a question comes at the end of what answers, or hands over, what was wanted."""
        if not self.requests or not turn.informs:
            return False
        if turn.long and asking.asks_to_know(about):
            return True
        return all(asking.only_asks(each.text) for each in self.requests)

    def _calls_since(self, request: Waiting) -> list[OpenLoop]:
        """The tool calls of the state before that were made since a request."""
        found: list[OpenLoop] = []
        if request.loop is not None:
            for loop in reversed(self.view.previous.loops):
                if loop is request.loop:
                    break
                if loop.kind in CALLS:
                    found.append(loop)
        return found

    def _called_since(self, request: Waiting) -> list[str]:
        """The tools that were called since a request and did not fail."""
        before = [loop for loop in self._calls_since(request) if loop.outcome != "failed"]
        return [str(loop.context.get("name", "")) for loop in before] + self.called

    def _is_left_to_them(self, text: str) -> bool:
        """Whether what is to be done is not done, and waits for the person's word."""
        about = " ".join(each.text for each in self.requests)
        return not (asking.asks_to_know(about) or speech.reports(text))

    def _is_its_text(self, text: str) -> bool:
        """Whether an agent's words are the text that was asked for."""
        if not (is_letter(text) or speech.is_list(text)):
            return False
        return any(asking.asks_for_words(each.text) for each in self.requests)

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
        if not numbers or len(self.requests) < 2:
            return []
        ref = self.requests[0].ref
        parts = {ref if n == 0 else f"{ref}#{n + 1}": n + 1 for n in range(MOST_PARTS)}
        found = [each for each in self.requests if each.ref in parts]
        if len(found) < 2 or not numbers <= set(range(1, len(found) + 1)):
            return []
        return [each for each in found if parts[each.ref] not in numbers]

    def _works_on(self, message: Message, place: int, fresh: Fresh, asks: bool = False) -> None:
        """The agent goes on with what its last words seemed to have answered, or asks about it: no
        person spoke since, so they were not the end of the run."""
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
            before = (self.view.previous.ts, self.view.previous.checkpoint_id)
            if asks and not fresh.complete and last not in before:
                return  # the list is not at hand: a person may have spoken
            for loop in past:
                at = loop.closed_at or loop.closed_in
                if at == last and loop.outcome in _ANSWERED and loop.confidence == "structural":
                    self._add(Reopens(loop.id, source), "request")
                    self.requests.append(waiting(loop))
        if self.requests:
            self._resume(source)
            self.ended = None

    @staticmethod
    def _is_extra(turn: speech.Turn, about: str) -> bool:
        """Whether an offer goes beyond what was asked for, which is answered."""
        if turn.also:
            return True
        return turn.informs and bool(stems(turn.text)) and asking.asks_to_know(about)

    @staticmethod
    def _is_over(turn: speech.Turn, about: str) -> bool:
        """Whether a long answer gives what was asked for, or says that it is done."""
        if not (turn.long and turn.informs):
            return False
        if turn.done:
            return True
        beyond = len(stems(turn.text) & stems(about)) < _ITSELF
        return beyond and (turn.listed or asking.asks_to_know(about))

    @staticmethod
    def _is_it(turn: speech.Turn, about: str) -> bool:
        """Whether what is offered is no more than what was asked for."""
        offered = stems(turn.text)
        return bool(offered) and not turn.also and offered <= stems(about)

    def _is_more(self, turn: speech.Turn, about: str) -> bool:
        """Whether leave is asked for something beyond what was asked for, which is done."""
        if not self.requests or any(each.form == ASIDE for each in self.requests):
            return False
        if len(turn.text) <= _BARE or not stems(turn.text):
            return False  # "shall I go on?" is about the work itself
        called = self._called_since(self.requests[0])
        if turn.informs and any(map(_DEED.search, called)):
            return True
        told = turn.done or (bool(called) and asking.asks_to_know(about))
        return told and not share(turn.text, about)

    def _answers(self, message: Message, outcome: str) -> None:
        self.handed_over = outcome in OVER
        source = self._source("answer", message)
        if left := self._left_out(speech.turn(message.text).numbers):
            some = [each for each in self.requests if each not in left]
            self._settle(self.requests, outcome, source, "replies", some)
            return
        if outcome != "refused" and (partly := self._partly(message.text)):
            some = [each for each in self.requests if each not in partly]
            self._settle(self.requests, outcome, source, "replies", some)
            for each in partly:
                each.form = REST
                fact = Opens("request", each.text, source, each.ref, {"form": REST})
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
            wanted = 0 if each.form == ASIDE else len(asking.parts(each.text))
            if wanted < 2 or len(set(self._called_since(each))) >= wanted:
                continue
            calls = [loop.description for loop in self._calls_since(each)]
            told = stems(text).union(*(stems(re.sub(r"[_(]", " ", call)) for call in calls))
            if asking.left_over(each.text, told):
                found.append(each)
        return found

    def _not_mentioned(self, text: str) -> list[Waiting]:
        """Of several requests, those of which an answer has no word: they may be left out."""
        asked = [each for each in self.requests if each.form != ASIDE]
        if len(asked) < 2:
            return []
        told = stems(text)
        silent = [each for each in asked if (of := stems(each.text)) and told.isdisjoint(of)]
        return silent if len(silent) < len(asked) else []
