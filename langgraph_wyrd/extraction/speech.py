"""What is said, in nine languages: how an agent's words leave the person, what a person's ask.

Who spoke last and what was called decides first; here the words decide the rest. The tables are in
`words/`, a module a language, compiled when a text of that language is first read. Text in any
other language keeps what structure and a question mark give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from langgraph_wyrd.extraction.intentions import small_words
from langgraph_wyrd.extraction.languages import ENGLISH, Tables, languages, plain_latin
from langgraph_wyrd.extraction.questions import asked_in_english
from langgraph_wyrd.extraction.sentences import MARKS, Form, own_words, prose_of, sentences

_MOST = 40  # sentences
_END = 1500  # characters at the end of an agent's words
_LONG = 300  # characters: no turn of small talk
_SOME = 150
_SMALLEST = 90  # characters: a longer sentence says something of its own
_SHORT = 3  # sentences: in so short a turn a promise may stand anywhere

Progress = Literal["answers", "begins", "refuses"]


def is_english(text: str) -> bool:
    """Whether a text is surely English."""
    return languages(own_words(text)[:400]) == (ENGLISH,)


# ---- an agent's turn


class Turn(NamedTuple):
    """How an agent's words leave the other side."""

    form: Form
    text: str  # the sentences that ask
    progress: Progress = "answers"  # of the work, where nothing is asked
    done: bool = False  # whether they report something as done
    also: bool = False  # whether what they offer comes on top
    bare: bool = False  # whether nothing but courtesies is said
    informs: bool = False  # whether it states something besides an offer
    long: bool = False  # whether they hand over more than a few sentences: code, a list, a report


_QUOTES = re.compile(
    '["\u201c\u201e\u00ab\u300c][^"\u201d\u201c\u00bb\u300d]{4,}(?:["\u201d\u201c\u00bb\u300d]|$)'
)


def _refuses(lines: str, tables: tuple[Tables, ...]) -> bool:
    return any(each.REFUSES.search(lines) for each in tables)


_NOTHING_SAID = Turn("tells", "")
_LEAD = re.compile(
    r"(?m)^(?!\s*(?:[-*+•]|\d+[.)]))(.{3,300}[:\uff1a])[ \t*_]*\n"
    r"(?:\s*(?:[-*+•]|\d+[.)])[^\n]*(?:\n|\Z)|[ \t]*\n)+\s*\Z"
)


@lru_cache(maxsize=256)
def turn(text: str) -> Turn:
    """What an agent's turn asks, offers, promises or reports."""
    words = prose_of(text)
    said = list(sentences(words[-_END:] if len(words) > _END else words))[-_MOST:]
    if not said:
        return _NOTHING_SAID
    tables = languages(words[:400]) or (languages(said[-1]) if len(said) > 1 else ())
    asks: list[str] = []
    proposes: list[str] = []
    offers: list[str] = []
    lines: list[str] = []  # what only tells
    courtesy = False
    last_mark = max((n for n, each in enumerate(said) if each[-1] in MARKS), default=-1)
    lower = any(each.cjk for each in tables)
    for place, sentence in enumerate(said):
        line = sentence.lower() if lower else plain_latin(sentence)
        form = _form(sentence, line, tables)
        if form == "tells":
            lines.append(_QUOTES.sub(" ", line))  # what is quoted promises nothing
        elif form == "courtesy":
            courtesy = True
            if sentence[-1] not in MARKS and any(each.DONE.search(line) for each in tables):
                lines.append(line)  # "It is booked, have a nice trip!"
        elif form == "offers":
            offers.append(sentence)
        else:
            left = place - len(said) + 1
            early = left < -3 or (left < -1 and len(words) > _SOME and last_mark <= place)
            if early and not any(each.YOU.search(line) for each in tables):
                lines.append(line)  # a question of rhetoric, answered in what follows
            else:
                (asks if form == "asks" else proposes).append(sentence)
    if asks:
        return Turn("asks", " ".join((*asks, *proposes)))
    if proposes:
        return Turn("proposes", " ".join(proposes))
    coded = "```" in text
    long = coded or len(text) > _LONG
    # What was announced before code is done in it.
    after = text.rpartition("```")[2].strip() if coded else words
    progress: Progress = "answers"
    if lines:
        if after and _begins(after, lines, tables):
            progress = "begins"
        elif _refuses("\n".join(lines), tables):
            progress = "refuses"
    if offers:
        done = long or any(each.DONE.search(line) for line in lines for each in tables)
        also = any(each.ALSO.search(_line(offer, tables)) for offer in offers for each in tables)
        text = " ".join(offers)
        return Turn("offers", text, progress, done, also, long=long, informs=bool(lines))
    if not courtesy:
        return Turn("tells", "", progress, long=long)
    bare = not any(_rest(each, line) for line in lines for each in tables[:1])
    return Turn("courtesy", "", progress, long=long, bare=bare)


def _line(sentence: str, tables: Iterable[Tables]) -> str:
    return sentence.lower() if any(each.cjk for each in tables) else plain_latin(sentence)


def _form(sentence: str, line: str, tables: tuple[Tables, ...]) -> Form:
    marked = sentence[-1] in MARKS
    if sentence[0] == "#" or (not marked and len(sentence) > 400):
        return "tells"
    if len(tables) == 1:
        return _form_in(tables[0], sentence, line, marked)
    for each in tables:
        form = _form_in(each, sentence, line, marked)
        if each is ENGLISH and form in ("asks", "proposes") and marked:
            continue  # a mark in a text whose language is not sure: the others decide
        if form != "tells":
            return form
    return "asks" if marked else "tells"


def _form_in(tables: Tables, sentence: str, line: str, marked: bool) -> Form:
    """A sentence in one language."""
    if tables is ENGLISH:
        return _form_in_english(sentence, line, marked)
    if tables.COURTESY.search(line):
        return "courtesy"
    if tables.APPROVAL.search(line) and (marked or tables.DEMANDS.search(line)):
        return "proposes" if tables.PROPOSES.search(line) else "asks"
    if tables.OFFERS.search(line):
        return _offer(line, marked)
    if marked:
        return "proposes" if tables.PROPOSES.search(line) else "asks"
    rest = line if tables.cjk else _after_nod(tables, line)
    if tables.CONDITIONS.search(line) and not tables.cjk:
        rest = rest.partition(",")[2].strip()  # what stands behind the condition
        if not rest:
            return "tells"
    if tables.BEGINS.search(rest) and not (tables.cjk and line.endswith(("吗", "か"))):
        return "tells"
    return "asks" if tables.DEMANDS.search(rest) or tables.DEMANDS.search(line) else "tells"


# What an English sentence has that asks, or offers, without a question mark: most have none of it.
_ADDRESSED = re.compile(
    r"\b(?:you|your|me|us|please|need|require|missing|paste|upload|attach|send|share|provide|enter"
    r"|type|choose|pick|select|specify|tell|give|confirm|approve|hesitate|any|anything|something"
    r"|help|i can|interested|ready|approval|confirmation|permission|say the word)\b"
)


_WAITS = re.compile(r"\b(?:a|one|1) (?:sec|second|moment|min|minute)\b")


def _form_in_english(sentence: str, line: str, marked: bool) -> Form:
    form = asked_in_english(sentence)
    if form == "courtesy":
        return form
    if form == "asks" and not marked and _WAITS.search(line):
        return "tells"  # "give me a second"
    if form == "tells" and not marked and _ADDRESSED.search(line) is None:
        return "tells"
    if (marked or form != "tells") and ENGLISH.APPROVAL.search(line):
        return form if form != "tells" else "asks"
    if ENGLISH.OFFERS.search(line):
        return _offer(line, marked)
    if form == "asks" and not marked and ENGLISH.COURTESY.search(line):
        return "courtesy"
    if form != "tells" or marked:
        return form
    if ENGLISH.COURTESY.search(line):
        return "courtesy"
    if ENGLISH.CONDITIONS.match(line):
        return "tells"
    return "asks" if ENGLISH.DEMANDS.search(line) else "tells"


def _after_nod(tables: Tables, line: str) -> str:
    """Without the small words that a comma parts from the rest: "gern, nennen Sie …"."""
    opened = tables.opening.match(line)
    if opened is None:
        return line
    cut = max(line.rfind(mark, 0, opened.end()) for mark in ",;:!-")
    return line[cut + 1 :].lstrip()


_EITHER = re.compile(r"\b(?:or|oder|ou|oppure|of|o)\b|还是|或者|それとも|または")


def _offer(line: str, marked: bool) -> Form:
    """An offer that leaves a choice is a question, one that asks nothing a courtesy."""
    if not marked:
        return "courtesy"
    return "asks" if _EITHER.search(line) else "offers"


def _begins(words: str, lines: list[str], tables: tuple[Tables, ...]) -> bool:
    """Whether a turn ends with work that is only begun, promised or handed on."""
    ends = lines if len(lines) <= _SHORT else lines[-2:]
    if len(words) < sum(map(len, lines)):  # only the end of what was said
        ends = [line for line in ends if line[:20] in plain_latin(words) or line[:20] in words]
    for each in tables:
        for line in ends:
            if each.BEGINS.search(line) and not each.CONDITIONS.search(line):
                if len(lines) <= _SHORT and line is not ends[-1] and each.DONE.search(ends[-1]):
                    continue  # "Let me see. It is done."
                return True
    lead = _LEAD.search(words) if ":" in words or "\uff1a" in words else None
    if lead is not None:
        line = _line(lead.group(1), tables)
        return any(each.BEGINS.search(line) for each in tables)
    return words.rstrip(" *_\n").endswith((":", "\uff1a")) and len(words) < 600


# ---- a person's turn


def approves(question: str) -> bool:
    """Whether a question asks leave to go on."""
    line = question.lower()
    tables = languages(question[:400])
    return any(each.APPROVAL.search(_line(line, tables)) for each in tables)


def is_open_ended(question: str) -> bool:
    """Whether a question asks what is wanted at all: its answer is the request."""
    tables = languages(question[:400])
    return any(each.OPEN.search(_line(question, tables)) for each in tables)


class Said(NamedTuple):
    """What a person's turn is made of."""

    content: bool  # whether anything but small words is said
    wish: bool  # whether something is to be done
    questions: tuple[str, ...]  # sentences with a question mark that ask for something
    redirect: bool  # something else takes the place of what was wanted
    stop: bool  # what was wanted is called off, and nothing else said
    farewell: bool  # they need nothing more
    firm: bool  # more than a bare "no"
    proceed: bool  # go on
    agrees: bool  # begins with a yes
    thanks: bool
    polite: bool  # "can you help?"


@lru_cache(maxsize=256)
def said(text: str) -> Said:
    """What a person says, sentence by sentence."""
    words = own_words(text)
    tables = languages(words[:400])
    content = wish = redirect = stop = farewell = firm = proceed = agrees = thanks = polite = False
    questions: list[str] = []
    for number, sentence in enumerate(_first(sentences(words))):
        marked = sentence[-1] in MARKS
        line = _line(sentence, tables).strip(_ENDS)
        if not line:
            continue
        kinds = [_kind(each, line, marked) for each in tables]
        if number == 0:
            agrees = any(each.agreement.match(line) for each in tables)
        thanks = thanks or any(each.gratitude.search(line) for each in tables)
        if not redirect and any(_redirects(each, line) for each in tables):
            redirect = True
        for kind in _KINDS:  # where languages disagree, the one that says least
            if kind in kinds:
                break
        else:
            kind = "question" if marked else "content"
        if kind == "stop":
            stop = True
        elif kind == "farewell":
            farewell = True
            firm = firm or len(line.split()) > 2 or (any(t.cjk for t in tables) and len(line) > 4)
        elif kind == "proceed":
            proceed = True
        elif kind == "polite":
            polite = True
        elif kind != "nod":
            content = True
            if kind == "question":
                questions.append(sentence)
            wish = wish or kind == "wish" or any(_wishes(each, line) for each in tables)
    return Said(
        content, wish, tuple(questions), redirect, stop and not content, farewell, firm, proceed,
        agrees, thanks, polite,
    )  # fmt: skip


_TURNS = re.compile(
    r"instead|actually|rather|thought|scratch|never ?mind|nvm|forget|stop|hold on|plan|let's|mind"
    r"|cancel|drop|leave|don't|really"
)


def _redirects(tables: Tables, line: str) -> bool:
    if tables is ENGLISH and _TURNS.search(line) is None:
        return False
    return tables.REDIRECT.search(line) is not None


_KINDS = ("nod", "farewell", "stop", "proceed", "polite", "wish", "question")
_ENDS = " .,;:!-*_\"'()\u3002\uff0c\uff01\u3001~\u2026" + MARKS


def _first(found: Iterator[str]) -> Iterator[str]:
    for _ in range(_MOST):
        sentence = next(found, None)
        if sentence is None:
            return
        yield sentence


def _rest(tables: Tables, line: str) -> str:
    opened = tables.opening.match(line)
    return line[opened.end() :].strip(_ENDS) if opened else line


def _wishes(tables: Tables, line: str) -> bool:
    return tables.wishes(line) or tables.wishes(_rest(tables, line))


_SPLIT = re.compile(
    r"\s*[,;\u3001\uff0c\u2013\u2014]+\s*|\s-+\s|\s+(?:but|aber|mais|pero|mas|ma|maar)\s+"
)
_SMALL = ("stop", "farewell", "proceed", "polite", "nod")


def _kind(tables: Tables, line: str, marked: bool) -> str:
    """What a sentence is; one made of small words only is the weightiest of them."""
    kind = _kind_of(tables, line, marked)
    if kind in ("content", "wish") and not marked and _SPLIT.search(line):
        parts = [part for part in _SPLIT.split(line) if part.strip(_ENDS)]
        kinds = [_kind_of(tables, part, False) for part in parts]
        if all(each in _SMALL for each in kinds):
            return next((each for each in _SMALL if each in kinds), kind)
        if "stop" in kinds and "wish" not in kinds:
            others = [part for part, each in zip(parts, kinds, strict=True) if each == "content"]
            if len(" ".join(others).split()) <= 3:
                return "stop"  # "never mind, plans changed"
    return kind


def _kind_of(tables: Tables, line: str, marked: bool) -> str:
    rest = _rest(tables, line)
    if not rest:
        return "nod"
    both = (line,) if rest == line else (line, rest)
    if marked:
        polite = len(line) <= _SMALLEST and any(map(tables.POLITE.fullmatch, both))
        return "polite" if polite else "question"
    if tables is ENGLISH and (small := small_words(line)) is not None:
        return small
    if any(map(tables.FAREWELL.fullmatch, both)):
        return "farewell"
    if len(line) <= _SMALLEST:  # small words are short
        bare = tables.gratitude.sub(" ", line).strip(_ENDS)
        if bare and bare != line and tables.FAREWELL.fullmatch(bare):
            return "farewell"
        if any(map(tables.STOP.fullmatch, both)) or tables.STOP.fullmatch(_NO.sub("", line)):
            return "stop"
        for each in both:
            found = tables.PROCEED.match(each)
            only = found is not None and _only(tables, each[found.end() :])
            if only and not tables.REDIRECT.search(line):
                return "proceed"
        if any(map(tables.POLITE.fullmatch, both)):
            return "polite"
    return "wish" if tables.wishes(rest) else "content"


_NO = re.compile(r"^(?:no|non|nein|ne|nee|nao)\b[,;:.! ]*")
_JOINS = re.compile(r"\s*(?:and|und|et|y|e|ed|en)\b")


def _only(tables: Tables, rest: str) -> bool:
    """Whether what follows "go on" says nothing of its own."""
    rest = rest.strip(_ENDS)
    if not rest or not _rest(tables, rest):
        return True
    if tables.cjk:
        return len(rest) <= 3
    if _JOINS.match(rest) is not None or tables.PROCEED.fullmatch(rest):
        return True
    words = rest.split()
    return len(words) <= 2 and all(len(word) <= 4 for word in words)
