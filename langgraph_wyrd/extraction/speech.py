"""How an agent's words leave the other side, in nine languages: what they ask, promise, report.

Who spoke last and what was called decides first; here the words decide the rest. The tables are in
`words/`, a module a language, compiled when a text of that language is first read. Text in any
other language keeps what structure and a question mark give.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from langgraph_wyrd.extraction.languages import (
    BEGINS,
    ELSE,
    ENGLISH,
    PLEASE,
    Tables,
    beyond_nods,
    languages,
    lowered,
    plain_latin,
)
from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.questions import asked_in_english
from langgraph_wyrd.extraction.sentences import MARKS, Form, prose_of, sentences

_MOST = 40  # sentences
_END = 1500  # characters at the end of an agent's words
_LONG = 300  # characters: no turn of small talk
_SOME = 150
_APART = 6  # characters between a demand and a promise
_SHORTEST = 20  # characters: less shows no language
_LAST = 4  # sentences: who asks without a mark asks in one of these
_SHORT = 3  # sentences: in so short a turn a promise may stand anywhere

_IN_ENGLISH = (ENGLISH,)
Progress = Literal["answers", "does", "begins", "refuses"]


class Turn(NamedTuple):
    """How an agent's words leave the other side."""

    form: Form
    text: str  # the sentences that ask
    progress: Progress = "answers"  # of the work, where nothing is asked
    done: bool = False  # whether they report something as done
    also: bool = False  # whether what they offer comes on top
    informs: bool = False  # whether it states something besides an offer
    long: bool = False  # whether they hand over more than a few sentences: code, a list, a report
    told: str = ""  # where something is begun: what is not, and what is
    next: str = ""
    numbers: frozenset[int] = frozenset()  # of a numbered list
    choice: bool = False  # whether what they offer is one thing or another
    listed: bool = False  # as a list
    leaves: bool = False  # whether they leave it to the person what, or whether


_QUOTES = late(
    '["\u201c\u201e\u00ab\u300c][^"\u201d\u201c\u00bb\u300d]{4,}(?:["\u201d\u201c\u00bb\u300d]|$)|\\([^()]{4,}\\)'
)


# An English refusal has one of these; to look for them costs less than to look for it.
_NEGATIVE = ("n't", "not", "unfortunately", "unable", "afraid")


def _refuses(lines: str, tables: tuple[Tables, ...]) -> bool:
    if tables == _IN_ENGLISH and not any(each in lines for each in _NEGATIVE):
        return False
    return any(each.REFUSES.search(lines) for each in tables)


_ITEM = late(r"(?m)^\s*(?:[-*+•]|\d+[.)])\s")
_NUMBER = late(r"(?m)^\s*\**(\d)[.)]\s")
_BULLET = late(r"^[-*+•]\s+")
_NOTHING_SAID = Turn("tells", "")
_WHOLE_ITEM = late(r"(?m)^\s*(?:[-*+•]|\d+[.)])\s+(.+?)[*_ ]*$")
_BLOCK = late(r"(?m)(?:^\s*(?:[-*+•]|\d+[.)])\s.*\n?)+")
_CHOICES = late(rf"[{MARKS}][*_ ]*\n\s*(?:(?:[-*+•]|\d+[.)])[^\n{MARKS}]*(?:\n\s*|\Z))+\Z")
_LEAD = late(
    r"(?m)^(?!\s*(?:[-*+•]|\d+[.)]))(.{3,300}[:\uff1a])[ \t*_]*\n"
    r"(?:\s*(?:[-*+•]|\d+[.)])[^\n]*(?:\n|\Z)|[ \t]*\n)+\s*\Z"
)


@lru_cache(maxsize=256)
def turn(text: str) -> Turn:
    """What an agent's turn asks, offers, promises or reports."""
    words = prose_of(text)
    said = sentences(words[-_END:])[-_MOST:]
    if not said:
        return _NOTHING_SAID
    tables = languages(words[:400]) or (languages(said[-1]) if len(said) > 1 else ())
    asks: list[str] = []
    proposes: list[str] = []
    offers: list[str] = []
    eased: list[str] = []
    lines: list[str] = []  # what only tells
    courtesy = False
    last_mark = max((n for n, each in enumerate(said) if each[-1] in MARKS), default=-1)
    lower = bool(tables) and tables[0].cjk
    coded = "```" in text
    after_code = prose_of(text.rpartition("```")[2]) if coded else ""
    drafted = goes_on = False
    chosen = -1  # the question that a list of choices follows
    if last_mark >= 0:
        drafted = _handed(words, tables)
        if "\n" in words and _CHOICES.search(words):
            chosen = last_mark
            said[chosen] = said[chosen].lstrip("# ") or said[chosen]
        goes_on = last_mark + 1 < len(said) and any(
            each.BEGINS.search(lowered(said[-1], tables)) for each in tables
        )
        goes_on = goes_on and not _awaits(said[-1], tables)
    listed = _mixed(words) if last_mark >= 0 and "\n" in words else frozenset()
    before = 0  # lines before that question
    under = False  # a line that offers what is listed below it
    for place, sentence in enumerate(said):
        if under:
            (eased if place + 1 == len(said) else offers).append(sentence)
            continue
        if listed and _BULLET.sub("", sentence) in listed:
            continue
        line = sentence.lower() if lower else plain_latin(sentence)
        if sentence[-1] in ":\uff1a" and _OFFERS_LIST.match(line):
            under = True
            offers.append(sentence)
            continue
        if place < len(said) - _LAST and sentence[-1] not in MARKS:
            lines.append(line)  # so far from the end a demand is no question
            continue
        if place == chosen:
            before = len(lines)
        form = _form(sentence, line, tables)
        if form == "tells" and place + 1 == len(said) and _is_bare(words, sentence):
            form = _bare_form(line, tables)
        if form == "tells" and eased and said[place - 1] is eased[-1] and _begins_in(line, tables):
            eased.append(sentence)  # "If it fails, tell me. I'll look at it then."
        elif form == "tells":
            quotes = '"' in line or "(" in line or not line.isascii()
            lines.append(_QUOTES.sub(" ", line) if quotes else line)  # they promise nothing
        elif form == "courtesy":
            courtesy = True
            eased.append(sentence)
        elif form == "offers":
            offers.append(sentence)
        else:
            left = place - len(said) + 1
            early = drafted and left < 0
            early = early or left < -3 or (left < -1 and len(words) > _SOME and last_mark <= place)
            early = early or (left < 0 and len(said) > _SHORT and goes_on)
            follows = said[place + 1].lower() if left < 0 else ""
            early = early or follows.startswith(
                ("then ", "because ", "it's ", "it is ", "yes,", "no,")
            )
            early = early and place != chosen
            opens = place == 0 and left < 0 and len(words) - len(sentence) > _SOME
            opens = opens and place != chosen and not _demands(line, tables)
            aside = opens or (early and (drafted or not _speaks_to(line, tables)))
            if aside:
                lines.append(line)  # a question of rhetoric, answered in what follows
            else:
                (asks if form == "asks" else proposes).append(sentence)
    if not (asks or proposes or offers) and (demand := _demand(words, tables)):
        asks.append(demand)
    if lines and not (asks or proposes) and _awaits(said[-1], tables):
        asks.append(said[-1])  # "I'll start once you confirm"
    long = coded or len(text) > _LONG or "\n\n" in text.strip() or len(_ITEM.findall(text)) > 2
    if asks or proposes:
        told_before = lines if chosen < 0 else lines[:before]  # not the choices
        informs = any(beyond_nods(each, line) for line in told_before for each in tables[:1])
        form = "asks" if asks else "proposes"
        text = " ".join((*asks, *proposes))
        return Turn(form, text, informs=informs, long=long)
    # What was announced before code is done in it.
    after = after_code.strip() if coded else words
    progress: Progress = "answers"
    if lines:
        if after and _begins(after, lines, tables):
            progress = "begins"
        elif _refuses("\n".join(lines), tables):
            progress = "refuses"
        elif after and _does(after, lines, tables):
            progress = "does"
    if offers:
        low = [lowered(each, tables) for each in (*offers, *eased)]
        done = bool(lines) and not _STILL.search(f"{lines[-1]}\n{low[0]}")
        done = done and (
            "✅" in words or any(each.DONE.search(line) for line in lines for each in tables)
        )
        also = any(each.ALSO.search(line) for line in low for each in tables)
        choice = under or any(
            each.OR.search(line, line.find(" ") + 1)
            for line in low[: len(offers)]
            for each in tables
        )
        text = " ".join(offers)
        form = "asks" if choice and not (long and said[0] != offers[0]) else "offers"
        return Turn(
            form, text, progress, done, also, informs=bool(lines), long=long, choice=choice,
            listed=under,
        )  # fmt: skip
    told = following = ""
    if progress in ("begins", "does"):
        goes = [
            any(each.BEGINS.search(line) or each.DOING.search(line) for each in tables)
            for line in lines
        ]
        told = " ".join(line for line, work in zip(lines, goes, strict=True) if not work)
        following = " ".join(line for line, work in zip(lines, goes, strict=True) if work)
    leaves = progress == "answers" and _leaves(said[-1], tables, len(text) <= _LONG, courtesy)
    if courtesy:
        return Turn("courtesy", "", progress, long=long, leaves=leaves)
    numbers = frozenset(map(int, _NUMBER.findall(text)))
    return Turn(
        "tells", "", progress, long=long, told=told, next=following, numbers=numbers, leaves=leaves
    )


def _demands(line: str, tables: tuple[Tables, ...]) -> bool:
    """Whether a sentence with a mark demands what it asks: "please tell me which lamp?"."""
    return any(each.DEMANDS.search(line) for each in tables if each is not ENGLISH)


def demands(text: str) -> bool:
    """Whether an agent's words demand something, with a question mark or without."""
    tables = languages(text[:400])
    return _demands(lowered(text, tables), tables)


def _demand(words: str, tables: tuple[Tables, ...]) -> str:
    """What a list at the end is asked with: "Please send me:", and what is to be sent."""
    lead = _LEAD.search(words[-_END:]) if ":" in words or "\uff1a" in words else None
    *_, last = ("", *sentences(lead.group(1))) if lead is not None else ("",)
    line = lowered(last, tables) if last else ""
    asks = last and _form(last, line, tables) == "asks"
    bare = last and tables != _IN_ENGLISH and _bare_form(line, tables) == "asks"
    return last if asks or bare else ""  # in English "How to install:" is a heading


def _mixed(words: str) -> frozenset[str]:
    """The items of a list that are questions, where others of it are none: titles, slogans."""
    found: set[str] = set()
    for block in _BLOCK.findall(words):
        items = _WHOLE_ITEM.findall(block)
        asked = [each for each in items if each[-1] in MARKS and len(sentences(each)) == 1]
        others = [each for each in items if not any(mark in each for mark in MARKS)]
        if others:
            found.update(sentences(each)[0] for each in asked)
    return frozenset(found)


def is_list(text: str) -> bool:
    """Whether a text is a list and nothing else: what was asked for, said to nobody."""
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and all(map(_ITEM.match, lines))


def _speaks_to(line: str, tables: tuple[Tables, ...]) -> bool:
    """Whether the clause that asks speaks to somebody, or of the agent itself."""
    lead, _, clause = line.rpartition(": ")
    if _MINE.search(lead) and _BULLET.match(line) is None:
        return True  # "before I delete it: is there a copy?"
    return any(each.YOU.search(clause) for each in tables)


def _leaves(last: str, tables: tuple[Tables, ...], short: bool, courtesy: bool) -> bool:
    """Whether the last words leave it to the person: a choice, or what is done on their word."""
    if last[-1] in MARKS or (tables == _IN_ENGLISH and not courtesy and " or " not in last):
        return False
    line = lowered(last, tables)
    if short and len(tables) == 1 and " x " not in line and tables[0].OR.search(line):
        # "on Thursday at nine or on Friday at noon"
        return tables[0].COURTESY.search(line) is None
    return (
        courtesy
        and _MINE.search(line) is not None
        and any(each.OFFERS.search(line) for each in tables)
    )


_MINE = late(r"\b(?:i|we|(?<!let )me|ich|wir|mir|je|nous|puedo|posso|ik)\b|\bsay the word\b|\u6211")


def reports(text: str) -> bool:
    """Whether an agent's words report something as done."""
    words = prose_of(text)
    tables = languages(words[:400])
    lines = [lowered(sentence, tables) for sentence in sentences(words[-_END:])]
    return any(each.DONE.search(line) for line in lines for each in tables)


_OFFERS_LIST = late(  # "Would you like me to:", and a list
    r"(?:and |or |so )?(?:(?:would|do) you (?:like|want)|want me to|(?:shall|should) i"
    r"|(?:mochtest|willst|mochten|wollen) (?:du|sie)|soll(?:en)? (?:ich|wir)"
    r"|souhait\w+-(?:tu|vous)|(?:voulez|voudriez|aimeriez)-vous|veux-tu|(?:tu veux|vous voulez)"
    r"|(?:quieres?|deseas?|te gustaria|le gustaria)|(?:quer|queres|gostaria|deseja)|vuoi|vuole"
    r"|wil je|wilt u|zal ik)\b.{0,40}$"
)
_STILL = late(  # of what is not done yet
    r"\b(?:still|(?<!or )not yet|noch (?:nicht|immer|kein)\w*|weiterhin|toujours|pas encore|todavia"
    r"|aun no|ainda|ancora|nog (?:niet|steeds|geen)|(?:re-?)?try(?:ing)? again|retry"
    r"|noch ?(?:ein)?mal|erneut|reessa\w+|reintent\w+|riprov\w+|opnieuw)\b|仍然|还没|まだ|再试|再次"
)
_COLON = late(r"(?m)^[^\n]{5,200}[:\uff1a][*_ ]*\n\s*\n")


def _handed(words: str, tables: tuple[Tables, ...]) -> bool:
    """Whether something is handed over: "here is the draft:", and a text of its own below."""
    lead = _COLON.match(words.lstrip())
    if lead is None:
        return False
    line = lowered(lead.group(), tables)
    return any(each.DONE.search(line) for each in tables)


def _form(sentence: str, line: str, tables: tuple[Tables, ...]) -> Form:
    marked = sentence[-1] in MARKS
    if sentence[0] in "#@" or (not marked and len(sentence) > 400):
        return "tells"
    if marked and _TO_AGENT.match(sentence):
        return "tells"
    if len(tables) == 1:
        return _form_in(tables[0], sentence, line, marked)
    if ELSE.search(line):
        return "courtesy"
    for each in tables:
        form = _form_in(each, sentence, line, marked)
        if form != "tells":
            return form
    return "asks" if marked or (PLEASE.search(line) and not BEGINS.search(line)) else "tells"


_TO_AGENT = late(  # "SearchAgent, what did you find?"
    r"(?:\w+: )?@?(?:[A-Z]\w*)?"
    r"(?:[Aa]gent|Bot|Analyst|Coder|Writer|Reviewer|Planner|Researcher)\d*[,:] "
)
_BARE = 160  # characters: a longer sentence without an end is no speech


def _is_bare(words: str, sentence: str) -> bool:
    """Whether the last sentence ends without any mark, as in speech that was written down."""
    end = words.rstrip(" *_\n")[-1:]
    return len(sentence) <= _BARE and (end.isalnum() or end == ",") and len(words) <= _LONG


def _bare_form(line: str, tables: tuple[Tables, ...]) -> Form:
    """What the order of the words alone asks."""
    for each in tables:
        if each.cjk or each.BEGINS.search(line):
            continue
        if each.APPROVAL.search(line) or each.BARE.search(_after_nod(each, line)):
            return "asks"
        if each is ENGLISH and (_INSIDE.search(line) or _LEFT_TO_THEM.search(line)):
            return "asks"
        if each.BARE.search(beyond_nods(each, line)):  # "hello what is your name"
            return "asks"
    return "tells"


def _form_in(tables: Tables, sentence: str, line: str, marked: bool) -> Form:
    """A sentence in one language."""
    if tables is ENGLISH:
        return _form_in_english(sentence, line, marked)
    demands = False
    if marked or tables.asking.search(line):
        if tables.COURTESY.search(line):
            return "courtesy"
        if not marked and tables.NEEDS.search(line):
            return "asks"
        demands = not marked and tables.DEMANDS.search(line) is not None
        if (marked or demands) and tables.APPROVAL.search(line):
            return "asks"
        if tables.OFFERS.search(line):
            return _offer(tables, line, marked)
        if marked:
            return "asks"
    rest = line if tables.cjk else _after_nod(tables, line)
    if tables.CONDITIONS.search(line) and not tables.cjk:
        rest = rest.partition(",")[2].strip()  # what stands behind the condition
        if not tables.SOON.search(line) and tables.DEMANDS.search(rest):
            return "courtesy"  # "should it not suit you, let us know"
    if not demands and (rest == line or not tables.DEMANDS.search(rest)):
        return "tells"
    begins = tables.BEGINS.search(rest)
    if begins and (demand := tables.DEMANDS.search(rest)) and demand.start() < begins.start():
        apart = begins.start() - demand.end()  # "give me | a moment" is one
        begins = None if apart > _APART else begins  # "tell me your budget and I look for one"
    return "tells" if begins else "asks"


# What an English sentence has that asks, or offers, without a question mark: most have none of it.
_ADDRESSED = late(
    r"\b(?:you|your|me|us|please|need|require|missing|paste|upload|attach|send|share|provide|enter"
    r"|type|choose|pick|select|specify|tell|give|confirm|approve|hesitate|any|anything|something"
    r"|help|i can|interested|ready|still open|approval|confirmation|permission|say the word)\b"
)


_WAITS = late(
    r"\b(?:an?|one|two|few|couple(?: of)?|some|more|\d+) (?:sec|second|moment|min|minute|hour)s?\b"
)


_ELSE = late(r"\b(?:anything else|how (?:can|may) i (?:help|assist) you(?: today)?)\W*$")


def _form_in_english(sentence: str, line: str, marked: bool) -> Form:
    if not marked and ENGLISH.NEEDS.match(line):
        return "asks"
    form = asked_in_english(sentence)
    if form == "courtesy" or (form == "asks" and marked and _ELSE.search(line)):
        return "courtesy"
    if form == "asks" and not marked and _WAITS.search(line):
        return "tells"  # "give me a second"
    if form == "tells" and not marked and _ADDRESSED.search(line) is None:
        return "tells"
    if (marked or form != "tells") and ENGLISH.APPROVAL.search(line):
        return form if form != "tells" else "asks"
    if ENGLISH.OFFERS.search(line):
        return _offer(ENGLISH, line, marked)
    if form == "asks" and not marked and ENGLISH.COURTESY.search(line):
        return "courtesy"
    if form != "tells" or marked:
        return form
    if ENGLISH.COURTESY.search(line):
        return "courtesy"
    _, please, clause = line.partition(", please ")  # "to start, please send the form"
    demands = ENGLISH.DEMANDS.search(f"please {clause}" if please else line)
    return "asks" if demands else "tells"


def _after_nod(tables: Tables, line: str) -> str:
    """Without the small words that a comma parts from the rest: "gern, nennen Sie …"."""
    opened = tables.opening.match(line)
    if opened is None:
        return line
    cut = max(line.rfind(mark, 0, opened.end()) for mark in ",;:!-")
    return line[cut + 1 :].lstrip()


def _offer(tables: Tables, line: str, marked: bool) -> Form:
    """An offer that asks nothing is a courtesy."""
    return "offers" if marked else "courtesy"


def _begins(words: str, lines: list[str], tables: tuple[Tables, ...]) -> bool:
    """Whether a turn ends with work that is only begun, promised or handed on."""
    ends = _ends(words, lines)
    if len(tables) != 1 and len(words) <= _SOME and any(map(BEGINS.search, ends[-1:])):
        return True
    for each in tables:
        for place, line in enumerate(ends):
            if each.BEGINS.search(line) and not _is_up_to_them(each, line):
                over = (ends[0], *ends[place + 1 :])
                if line is not ends[-1] and any(map(each.DONE.search, over)):
                    continue  # "Let me see. It is done."
                return True
    lead = _LEAD.search(words) if ":" in words or "\uff1a" in words else None
    if lead is not None:
        line = lowered(lead.group(1), tables)
        return any(each.BEGINS.search(line) for each in tables)
    return words.rstrip(" *_\n").endswith((":", "\uff1a")) and len(words) < 600


def _begins_in(line: str, tables: tuple[Tables, ...]) -> bool:
    return any(each.BEGINS.search(line) or each.DOING.search(line) for each in tables)


def _ends(words: str, lines: list[str]) -> list[str]:
    """The sentences that show how a turn ends: of a short one, all."""
    ends = lines if len(lines) <= _SHORT else lines[-2:]
    if len(words) < sum(map(len, lines)):  # only the end of what was said
        return [line for line in ends if line[:20] in plain_latin(words) or line[:20] in words]
    return ends


def _awaits(sentence: str, tables: tuple[Tables, ...]) -> bool:
    """Whether a promise waits for what the person does first."""
    if tables == _IN_ENGLISH and not any(each in sentence for each in _TERMS):
        return False
    line = lowered(sentence, tables)
    if sentence[-1] in MARKS or not _UPON_YOU.search(line):
        return False
    return any(
        not each.COURTESY.search(line)
        and not each.OFFERS.search(line)
        and (each.BEGINS.search(line) or each.DOING.search(line))
        for each in tables
    )


_TERMS = ("nce you", "hen you", "soon as you", "fter you", "f you confirm", "f you approve")
_UPON_YOU = late(  # what the person has to do before the agent goes on
    r"\b(?:contact|reach out|call us|get in touch)\b.*\b(?:we|i)(?:'ll| will)\b|(?:\b(?:once|as "
    r"soon as|after)|(?:^|, )when) you\b"
    r"(?! (?:have (?:any|more)|need|want|like|run into))"
    r"|\bwhen you(?:'re|'ve| are| have)? (?:ready|confirm|repl|send|approve|done|give|tell|decide)"
    r"|\bif you (?:confirm|approve)|\bsi (?:vous|tu) (?:confirm|valid|approuv)|\bsi (?:me "
    r")?(?:confirma|"
    r"aprueba|autoriza)|\ben cuanto (?:me )?(?:confirm|apruebe|autoric)"
    r"|\b(?:sobald|wenn|nachdem) (?:du|ihr|sie (?:\S+ ){0,4}\w+en)\b"
    r"|\b(?:des que|quand) (?:vous|tu)\b"
    r"|\b(?:en cuanto|cuando) (?:usted|tu|me)\b|\b(?:assim que|quando) (?:voce|me)\b"
    r"|\b(?:appena|quando) (?:mi|lei|tu)\b|\b(?:zodra|wanneer) (?:je|u|jij)\b"
)


def _does(words: str, lines: list[str], tables: tuple[Tables, ...]) -> bool:
    """Whether the last sentence says what the agent does now: "I correct that"."""
    ends = _ends(words, lines)
    return any(
        each.DOING.search(beyond_nods(each, ends[-1])) and not _is_up_to_them(each, ends[-1])
        for each in (tables if ends else ())
    )


def _is_up_to_them(tables: Tables, line: str) -> bool:
    """Whether a promise waits for what may not be, or for what the person has to do first."""
    if _UPON_YOU.search(line):
        return True
    # who knows whether it ever is so
    return bool(tables.CONDITIONS.search(line)) and not tables.SOON.search(line)


_LEFT_TO_THEM = late(  # "nebula or star drift", "that's twenty dollars ok"
    r"^\w+(?: \w+){0,3} or (?:\w+ ?){1,4}$|^\w+(?: \S+){3,} (?:ok|okay|right|correct)$"
    r"|\b(?:does (?:that|it) work|is (?:that|it) (?:ok|okay|fine|right)|sound good)(?: for you)?$"
)
_INSIDE = late(  # "i have you on the second when would you like to come"
    r"\b(?:what|which|when|where|who|how)(?: \w+){0,2}"
    r" (?:would|do|did|can|could|should|will|are|is) (?:you|your)\b"
    r"|\b(?:would|do|did|could|can|will) you (?:like|want|have|prefer|need|know|tell|give)\b"
)
