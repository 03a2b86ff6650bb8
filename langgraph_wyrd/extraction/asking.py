"""What a person says and asks, sentence by sentence, in nine languages."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from langgraph_wyrd.extraction.languages import (
    ENDS,
    ENGLISH,
    OTHERS,
    SMALL,
    Tables,
    Text,
    beyond_nods,
    is_english,
    languages,
    lowered,
    plain_latin,
    spoken,
    stems,
)
from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.sentences import MARKS, WH, own_words

_MOST = 40  # sentences
_MARKED = frozenset((*MARKS, "吗", "么"))
_SAYS = late(r"\w")
_SMALLEST = 90  # characters: a longer sentence says something of its own
_FEW = 3  # words


@lru_cache(maxsize=64)
def is_question(text: str) -> bool:
    """Whether a person asks for knowledge, and not for something to be done."""
    told = spoken(text)
    return any(any(map(each.WH.search, told.lines)) for each in told.tables[:1])


def is_asked(text: str) -> bool:
    """Whether a person asks, or wants something done, and tells not only what is so."""
    told = said(text)
    return told.wish or bool(told.questions)


@lru_cache(maxsize=64)
def only_asks(text: str, beside: bool = False) -> bool:
    """Whether a person only asks a question: nothing is to be done.

    `beside`: they may also tell what is so.
    """
    told = spoken(text)
    tables, lines = told.tables[:1], told.lines
    if len(lines) != 1:
        marked = [n for n, each in enumerate(told.sentences) if each[-1] in MARKS]
        if not beside or len(marked) != 1:
            return False
        if any(_wishes(each, line) for line in lines for each in tables):
            return False
        asks, line = True, lines[marked[0]]
    else:
        asks, line = told.sentences[0][-1] in MARKS, lines[0]
    if any(_SPLIT.search(beyond_nods(each, line)) for each in tables):
        return False  # "the build fails, can you look?"
    if not asks:
        return any(each.WH.match(line) for each in tables)
    return all(not each.wishes(line) or each.WH.search(line) for each in tables)


def searches(text: str) -> bool:
    """Whether a person looks for something to have: talk about what is found goes on with it."""
    return _SEARCHES.search(own_words(text)[:300].lower()) is not None


_SEARCHES = late(
    r"\b(?:find|finding|search|searching|look(?:ing)? (?:for|up)|need|want|wanna|like to"
    r"|get|any|some|check|tell me|what's|what is|what will)\b"
)


@lru_cache(maxsize=64)
def asks_to_know(text: str) -> bool:
    """Whether a person wants something found out: what the agent then says is what they wanted."""
    told = spoken(text)
    for each in told.tables[:1]:
        return each.KNOW.search(lowered(told.words, told.tables)) is not None or any(
            sentence[-1] in MARKS and not each.wishes(line)
            for sentence, line in zip(told.sentences, told.lines, strict=True)
        )
    return True


_ASKED_WITH = (
    "what which who whom whose when where why how is are am was were do does did can could will"
    " would should shall may might have has any anything and or but so also wait hmm isn't aren't"
    " doesn't can't what's how's who's where's if"
)
_ASKING = frozenset(_ASKED_WITH.split())


def is_interrogative(question: str) -> bool:
    """Whether a sentence with a mark asks, and is no answer that is not sure of itself."""
    clauses = question.lower().replace(": ", ", ").split(", ")
    firsts = {clause.split(None, 1)[0].strip(ENDS) for clause in clauses if clause.strip()}
    return not _ASKING.isdisjoint(firsts) or not is_english(question)


def objects(text: str) -> bool:
    """Whether a person says that an answer is wrong."""
    return _OBJECTS.search(plain_latin(text)) is not None


_OBJECTS = late(
    r"\b(?:wrong|incorrect|not (?:right|correct|true)|can't be|are you sure|same (?:error|problem)"
    r"|(?:doesn't|don't|didn't|isn't|not) work\w*)\b"
)
_WORDING = late(
    r"\b(?:write|draft|compose|(?:re)?phrase|reword|rewrite|proofread|schreib\w*|formulier\w*|"
    r"entwirf"
    r"|entwerfen?|redige[rz]?|ecris|ecrire|reformule[rz]?|escrib\w*|redact\w*|escrev\w*|redij\w*"
    r"|scriv\w*|schrijf|schrijven)\b|\u5199|\u64b0|\u62df\u4e00|\u66f8\u3044\u3066|\u66f8\u304d"
)


@lru_cache(maxsize=64)  # it is asked of a request with each message that may answer it
def asks_for_words(text: str) -> bool:
    """Whether a person wants a text of some kind written."""
    return _WORDING.search(plain_latin(own_words(text)[:300])) is not None


_BEYOND = late(  # "yes, and then send it to Ann"
    r"(?:^|[\s,.;!])(?:and|then|und|dann|danach|et|puis|ensuite|y|luego|e|poi|depois|dopo|en|"
    r"dan|daarna)"
    r"(?: \S+){3}"
)


def goes_beyond(text: str) -> bool:
    """Whether a yes goes on: what is taken up, and one thing more."""
    return _BEYOND.search(plain_latin(own_words(text))) is not None


_MINE = late(
    r"(?:i|i'\w+|it|it's|my|our|ich|es|mein\w*|je|j'\w+|c'est|mon|ma|yo|mi|eu|meu|minha|io|mio|mia"
    r"|ik|het|mijn)\b|我|私"
)


def tells(text: str) -> bool:
    """Whether a yes goes on with what is so: "yes, my number is 4711"."""
    tables = languages(text[:400])
    line = lowered(text, tables)
    return any(_MINE.match(beyond_nods(each, line)) for each in tables)


_COMMAS = ",;:+"
_LIST = late(rf"\s*[{_COMMAS}]\s+")


@lru_cache(maxsize=64)
def parts(text: str) -> tuple[str, ...]:
    """What a person wants done, one thing after the other: "plot it and send it to Ann"."""
    told = spoken(text)
    if len(told.tables) != 1:
        return ()
    found: list[str] = []
    first = ""
    asks = any(each[-1] in MARKS for each in told.sentences)
    for sentence, line in zip(told.sentences, told.lines, strict=True):
        if asks and sentence[-1] not in MARKS and not _wishes(told.tables[0], line):
            continue  # what is so: "I am a nurse and like my work. What else could I do?"
        cut = [each.strip(ENDS) for each in told.tables[0].AND.split(sentence.lower())]
        pieces = [each for each in cut if each]
        if not pieces:
            continue
        if len(pieces) + sum(map(sentence.count, _COMMAS)) > 2:
            listed: list[str] = []
            for each in chain.from_iterable(map(_LIST.split, pieces)):
                if stems(each):
                    if listed and len(each.split()) > _FEW:
                        break
                    listed.append(each)
            else:
                if len(listed) > 2:
                    pieces = listed  # "cover umlauts, emoji, the empty string"
        if len(pieces) > 1:
            found += pieces
        elif first and (not cut[0] or _ADDS.match(pieces[0])):
            found += pieces if found else [first, *pieces]
        first = first or pieces[0]
    return tuple(found)


def left_over(text: str, told: frozenset[str]) -> bool:
    """Whether of several things that a person wants one is not heard of again.

    `told` is what the agent says, and what it called its tools with.
    """
    wanted = parts(text)
    if told.isdisjoint(stems(own_words(text))):
        return False
    return any(len(each) > 1 and told.isdisjoint(each) for each in map(stems, wanted[1:]))


_NEEDLESS = late(
    r"\b(?:no need|not needed|nicht notig|brauch\w* (?:ich|wir|es|man)? ?nicht"
    r"|pas (?:besoin|la peine)|no (?:hace falta|es necesario)|nao (?:precisa|e preciso)"
    r"|non serve|non occorre|hoeft niet|niet nodig)\b(?! (?:more|mehr|plus|mas|mais|piu|meer))"
    r"|不(?:用|需要|必)|不要|いりません|結構|大丈夫|必要ない"
)


def is_needless(text: str) -> bool:
    """Whether a person says that a thing is not needed: of what was asked about, a no."""
    return _NEEDLESS.search(plain_latin(text)) is not None


_CANCELS = late(
    r"\b(?:cancel|stornier|annul|cancela|cancele|disdi|annuleer)\w* (?:it|them|sie|es|ihn|la|"
    r"le|lo|het|ze)\b"
    r"|\b(?:don't|dont|do not) want (?:it|them|this|that) any ?more\b"
    r"|\b(?:cancel|annul|disdi)\w*l[aoe]s?\b|\bannulez?-l[ae]s?\b|取消(?:吧|它|掉)|キャンセルして"
)


def cancels(text: str) -> bool:
    """Whether a person has something cancelled: a thing, where nothing is being done."""
    return _CANCELS.search(plain_latin(text)) is not None


def is_open_ended(question: str) -> bool:
    """Whether a question asks what is wanted at all: its answer is the request."""
    tables = languages(question[:400])
    return any(each.OPEN.search(lowered(question, tables)) for each in tables)


def is_offer(question: str) -> bool:
    """Whether a question offers something: shall I?"""
    told = spoken(question)
    return any(any(map(each.OFFERS.search, told.lines)) for each in told.tables)


def adds(text: str) -> bool:
    """Whether what a person asks comes on top of what they asked before."""
    told = spoken(text)
    line = lowered(told.words, told.tables)
    return _ADDS.match(line) is not None or any(each.ALSO.search(line) for each in told.tables)


def adds_first(text: str) -> bool:
    """Whether a person begins with "and": what they ask comes on top."""
    return _ADDS.match(plain_latin(spoken(text).words)) is not None


class Said(NamedTuple):
    """What a person's turn is made of."""

    content: bool  # whether anything but small words is said
    wish: bool  # whether something is to be done
    questions: tuple[str, ...]  # sentences with a question mark that ask for something
    redirect: bool  # something else takes the place of what was wanted
    denies: bool  # begins with a no
    withdraws: bool  # by naming what is wanted no more
    stop: bool  # what was wanted is called off, and nothing else said
    farewell: bool  # they need nothing more
    firm: bool  # more than a bare "no"
    proceed: bool  # go on
    agrees: bool  # begins with a yes
    adds: bool  # answers, and asks for one thing more
    praise: bool  # no more than thanks, or praise of what was done, in words of their own
    told: Text

    @property
    def thanks(self) -> bool:
        return _thanks(self.told)


@lru_cache(maxsize=256)
def said(text: str) -> Said:
    """What a person says, sentence by sentence."""
    told = spoken(text)
    if _THRICE.search(told.words):
        told = Text(_DRAWN_OUT.sub(r"\1", told.words))
    words, tables = told.words, told.tables
    content = wish = redirect = stop = farewell = firm = proceed = agrees = False
    withdraws = denies = begins = ends = adds = False
    questions: list[str] = []
    # Of so many words the small ones decide nothing, unless it is a goodbye that they lead to.
    much = len(words) > 2 * _PRAISE and not _says_goodbye(words)
    lower = plain_latin(words) if ENGLISH in tables else ""
    turns = [each for each in _TURNS if each in lower]
    may_turn = bool(turns) or tables != (ENGLISH,)
    for number, sentence in enumerate(told.sentences[:_MOST]):
        marked = sentence[-1] in _MARKED
        line = told.lines[number].strip(ENDS)
        small = not (much and content)  # whether small words may decide something
        if small and len(line) <= _SMALLEST and _TWICE.search(line):
            line = _TWICE.sub(r"\1", line)
        if not line or not (marked or line[0].isalnum() or _SAYS.search(line)):
            continue  # "\U0001f44d"
        if number == 0:
            agrees = any(each.agreement.match(line) for each in tables)
            denies = _NO.match(line) is not None
        if may_turn and not redirect and any(_redirects(each, line, turns) for each in tables):
            redirect = True
            withdraws = _WITHDRAWS.match(line) is not None
            parts = _SPLIT.split(line)  # "no, make it blue instead"
            wish = wish or any(_wishes(each, part) for part in parts for each in tables)
        tells = not (small or marked or WH.match(line))
        if tells and not any(_wishes(each, line) for each in tables):
            continue
        kinds = [_kind(each, line, marked) for each in tables]
        if len(tables) != 1:
            kinds += [kind for kind, words_of in SMALL.items() if words_of.fullmatch(line)]
        # Where languages disagree, it is what says least.
        kind = min(kinds, key=_KINDS.index, default="question" if marked else "content")
        if kind == "content" and not marked and tables == (ENGLISH,) and WH.match(line):
            kind = "question"
        ends = kind == "stop"
        if ends:
            stop = True
            begins = begins or number == 0
        elif kind == "farewell":
            farewell = True
            firm = firm or len(line.split()) > 2
        elif kind == "proceed":
            proceed = True
        elif kind != "nod":
            asking = kind in ("question", "wish")
            answered = number > 0 and (content or agrees or proceed) and not questions
            adds = adds or (asking and answered and _ADDS.match(line) is not None)
            adds = adds or (
                marked and agrees and number > 0 and any(each.ALSO.search(line) for each in tables)
            )
            content = True
            if kind == "question":
                questions.append(sentence)
            wish = wish or kind == "wish" or any(_wishes(each, line) for each in tables)
    cjk = bool(tables) and tables[0].cjk  # there a wish's verb may stand in any sentence
    if ends and content and not wish and not questions and len(words) <= 2 * _PRAISE:
        content = False  # "did not know that. don't push"
    if begins and content and not wish and not questions and len(words.split()) <= _FEW:
        content = False  # "stop. wrong branch"
    if content and not (wish or questions or much) and _says_goodbye(words):
        content, farewell, firm = False, True, True
    if begins and wish and not redirect:  # "stop. I want a hotel first"
        redirect = True
    if withdraws and content and not (wish or questions or number):
        _, *others = _SPLIT.split(plain_latin(words))
        if all(map(_MYSELF.match, others)):
            content, stop = False, True  # "never mind the chart, I'll draw it myself"
    praise = not ((wish and not cjk) or questions or redirect)
    praise = praise and content and _is_praise(words, tables, not wish and _thanks(told))
    return Said(
        content, wish, tuple(questions), redirect, denies, withdraws, stop and not content,
        farewell, firm, proceed, agrees, adds, praise, told,
    )  # fmt: skip


def _thanks(told: Text) -> bool:
    lines = [line.strip(ENDS) for line in told.lines[:_MOST]]
    thankful = any(any(map(each.gratitude.search, lines)) for each in told.tables)
    return thankful or (len(told.tables) != 1 and any(map(OTHERS.search, lines)))


_THRICE = late(r"([a-z])\1\1")
_DRAWN_OUT = late(r"([a-z])\1{2,}(?![.\w]*/)")  # "thanksss"
_GOODBYE = late(
    r"\b(?:bye|tschuss|auf wiedersehen|au revoir|adios|hasta luego|tchau|arrivederci|doei)\W*$"
    "|(?:\u518d\u89c1|\u62dc\u62dc|\u3055\u3088\u3046\u306a\u3089)\\W*$"
)


def _says_goodbye(words: str) -> bool:
    return _GOODBYE.search(plain_latin(words[-80:])) is not None


_PRAISE = 60  # characters of a turn that does no more than thank, or praise
_PRAISE_CJK = 20


def _is_praise(words: str, tables: tuple[Tables, ...], thanks: bool) -> bool:
    """Whether a turn that thanks, or begins with praise, says no more than that: it is short, and
    neither objects nor goes on to something else."""
    if not tables:
        return thanks and len(words) <= _PRAISE
    most = _PRAISE_CJK if tables[0].cjk else _PRAISE
    if len(words) > most or any(c.isdigit() for c in words):
        return False
    line = lowered(words, tables)
    return any(_praises(each, line, thanks) for each in tables)


def _praises(tables: Tables, line: str, thanks: bool) -> bool:
    praised = tables.praise.match(line)
    if praised is None and not thanks:
        parts = _SPLIT.split(line)  # "looks crisp now, nice"
        if len(parts) < 2 or tables.praise.fullmatch(parts[-1].strip(ENDS)) is None:
            return False
    rest = tables.gratitude.sub(" ", line[praised.end() :] if praised is not None else line)
    if praised is not None and rest[:1] == "," and not thanks and 0 < len(rest.split()) <= 3:
        bare = beyond_nods(tables, rest)
        if bare and not tables.praise.match(bare) and not bare.endswith("ed"):
            return False  # "perfect, commit it"
    if tables.MORE.search(rest) or tables.ALSO.search(rest):
        return False
    after = beyond_nods(tables, rest.strip(ENDS))
    if " " in after and tables.wishes(f"{after} now then"):
        return False  # "great, now commit it": an order, which alone would be an answer
    return praised is None or len(after.split()) <= _FEW + 1  # "super! the header is still red"


# What takes the place of something else, in English, has one of these.
_TURNS = (
    "instead", "actually", "rather", "thought", "scratch", "nvm", "forget", "stop", "hold on",
    "hang on", "plan", "let's", "mind", "cancel", "drop", "leave", "don't", "really", "scrap",
    "meant", "referring", "talking",
)  # fmt: skip
_WITHDRAWS = late(
    r"(?:(?:no|ok|okay|oh|ugh|actually|nein|nee|non|nao)\W+)*(?:forget|never ?mind|scrap|drop"
    r"|scratch|vergiss|vergessen sie|oublie[zs]?|laisse[zs]? tomber|olvid\w+|esquec\w+"
    r"|dimentic\w+|vergeet|deix[ae]|deja(?:lo)?|lascia(?:mo)?|laat)\b"
    "|忘了|别管"
)
_MYSELF = late(  # who goes on with it: "I'll do it in Keynote"
    r"(?:i'?ll|i (?:will|can)|we'?ll|ich (?:mach|erledig)\w*|(?:das )?mach\w* (?:ich|wir)"
    r"|je (?:vais|le|la|m'en)|(?:ya |yo )?l[oa] \w+o|(?:eu )?(?:faco|vou)|ci penso"
    r"|(?:dat )?(?:ik )?doe)\b"
    r"|(?:i|we|ich|wir|ik|je|on|yo|eu|io)\b.* (?:myself|ourselves|selbst|selber|zelf|moi-meme"
    r"|nous-memes?|yo mism[oa]|mesm[oa]|da sol[oa]|io stess[oa])\b"
    r"|(?:\w+ )?\w+ ich .*\b(?:selbst|selber)\b|(?:l[oa]s? )?\w+o (?:yo|io|eu)\b"
    "|.{0,4}我(?:自己|来)|自分で"
)


def _redirects(tables: Tables, line: str, turns: list[str]) -> bool:
    if tables is ENGLISH and not any(each in line for each in turns):
        return False
    if " " not in line and not tables.cjk:
        return False  # "alias": a word alone says nothing to be done instead
    found = tables.REDIRECT.search(line)
    return found is not None and (found.start() == 0 or _ADDS.match(line) is None)


_TWICE = late(r"\b(?=(\w{2,}))\1(?:[ ,!]+\1\b)+")  # "stop stop", "no no no"
_KINDS = ("nod", "farewell", "stop", "proceed", "wish", "question", "content")


def _wishes(tables: Tables, line: str) -> bool:
    if tables.wishes(line):
        return True
    rest = beyond_nods(tables, line)
    if rest != line and tables.wishes(rest):
        return True
    no = _NO.match(line)
    if no is not None and tables.wishes(line[no.end() :]):
        return True  # "no, use another one"
    turns = None if tables is ENGLISH else tables.REDIRECT.match(line)
    return turns is not None and bool(tables.wishes(line[turns.end() :].lstrip(ENDS)))


_SPLIT = late(
    r"\s*[,;\u3001\uff0c\u2013\u2014]+\s*|\s-+\s|\s+(?:but|aber|mais|pero|mas|ma|maar)\s+"
)
_SPLIT_FRENCH = late(r"\s*[,;\u2013\u2014]+\s*|\s-+\s|\s+mais\s+")  # "ma" is "my" there
_JOINT = late(  # where `_SPLIT` splits, found in a third of the time
    r"[,;\u3001\uff0c\u2013\u2014]|\s(?:-+|but|aber|mais|pero|mas|ma|maar)\s"
)
_WHY = 7  # words that say why something is to stop
_WHY_CJK = 16  # characters
_SMALL = ("stop", "farewell", "proceed", "nod")


def _kind(tables: Tables, line: str, marked: bool) -> str:
    """What a sentence is; one made of small words only is the weightiest of them."""
    thanks = not marked and tables.gratitude.search(line) is not None
    kind = _kind_of(tables, line, marked, thanks)
    if kind in ("content", "wish", "farewell") and not marked and _JOINT.search(line):
        split = _SPLIT_FRENCH if tables.name == "fr" else _SPLIT
        parts = [part for part in split.split(line) if part.strip(ENDS)]
        kinds = [_kind_of(tables, part, False, thanks) for part in parts]
        if all(each in _SMALL for each in kinds):
            return next((each for each in _SMALL if each in kinds), kind)
        small = "stop" if "stop" in kinds and "skip" not in line else kinds[0]
        if small == "stop" or (
            small == "farewell" and (tables.cjk or (" " in parts[0] and _MYSELF.match(parts[-1])))
        ):
            both = list(zip(parts, kinds, strict=True))
            why = [part for part, each in both if each not in _SMALL]
            if (
                "wish" not in kinds
                and not any(map(tables.REDIRECT.search, why))
                and (
                    len("".join(why)) <= _WHY_CJK
                    if tables.cjk
                    else _few(why) or all(map(_MYSELF.match, why))
                )
            ):
                return small  # "never mind, plans changed"
    return kind


def _few(why: list[str]) -> bool:
    return len(" ".join(why).split()) <= _WHY


def _kind_of(tables: Tables, line: str, marked: bool, thanks: bool) -> str:
    rest = beyond_nods(tables, line)
    if not rest:
        bare = tables.gratitude.sub(" ", line).strip(ENDS)
        return "farewell" if tables.FAREWELL.fullmatch(bare) else "nod"  # "that's all, thanks"
    if marked:
        return "question"
    both = (line,) if rest == line else (line, rest)
    is_short = len(line) <= _SMALLEST
    if (
        tables.small.match(line)
        or (rest != line and tables.small.match(rest))
        or (is_short and (thanks or _NO.match(line)))
    ) and (small := _small(tables, line, both, is_short)):
        return small
    return "wish" if tables.wishes(rest) else "content"


def _small(tables: Tables, line: str, both: tuple[str, ...], is_short: bool) -> str:
    """Which small words a line is made of, if it is of no others."""
    if any(map(tables.FAREWELL.fullmatch, both)):
        return "farewell"
    if not is_short:
        return ""
    bare = tables.gratitude.sub(" ", line).strip(ENDS)
    if bare and bare != line and tables.FAREWELL.fullmatch(bare):
        return "farewell"
    if any(map(tables.STOP.fullmatch, (*both, bare, _NO.sub("", line)))):
        return "stop"
    for each in both:
        found = tables.PROCEED.match(each)
        only = found is not None and _only(tables, each[found.end() :])
        if only and not tables.REDIRECT.search(line):
            return "proceed"
    return ""


_NO = late(
    r"^(?:no|nah|naw|non|nein|ne|nee|nao|nope|not yet)\b[,;:.! ]*"
    "|^(?:\u554a)?\u4e0d(?:\u662f|\u5bf9|\u8981|\u7528)?[\uff0c,\u3002 ]"
    "|^(?:\u3044\u3084|\u3044\u3044\u3048|\u3044\u3048)"
)
_ADDS = late(
    r"(?:(?:oh|ah),? )?(?:and|also|plus|und|ausserdem|et|aussi|y|tambien|e|ed|tambem|anche|inoltre"
    r"|en|ook)\b"
    "|\u53e6\u5916|\u8fd8\u6709|\u987a\u4fbf|\u3042\u3068|\u305d\u308c\u3068|"
    "\u3064\u3044\u3067\u306b"
)


def _only(tables: Tables, rest: str) -> bool:
    """Whether what follows "go on" says nothing of its own."""
    rest = rest.strip(ENDS)
    if not rest or not beyond_nods(tables, rest):
        return True
    if tables.cjk:
        return len(rest) <= 3
    if tables.PROCEED.fullmatch(rest):
        return True
    words = rest.split()
    return len(words) <= 2 and all(len(word) <= 4 for word in words)
