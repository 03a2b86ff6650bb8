"""Which language a text is in, and that language's tables of words (`words/`), compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from types import ModuleType
from typing import Any
from unicodedata import combining, normalize

from langgraph_wyrd.extraction.patterns import late
from langgraph_wyrd.extraction.sentences import MARKS, own_words, sentences
from langgraph_wyrd.extraction.words import de, en, es, fr, it, ja, nl, others, pt, zh

_READ = 240  # characters from which the language is recognised
_FEW = 20  # different words: so few are weighed by more than function words


class Tables:
    """The compiled tables of one language."""

    def __init__(self, module: ModuleType, cjk: bool = False) -> None:
        self.module = module
        self.name = module.__name__.rpartition(".")[2]
        self.cjk = cjk

    def __getattr__(self, table: str) -> Any:
        """A table as one pattern, compiled when it is first looked at; or `words`."""
        if table.startswith("__"):
            raise AttributeError(table)
        found: Any
        if table == "words":
            found = _words_of(self.module)
        elif table == "wishes":  # whether a line says what is wanted
            found = self.WISHES.search if self.cjk else self.WISHES.match
        else:
            found = self._compiled(table)
        setattr(self, table, found)
        return found

    def _compiled(self, table: str) -> re.Pattern[str]:
        if table == "asking":  # any of the tables of sentences that ask, or offer
            tables = (_tuple(getattr(self.module, name)) for name in _ASKING)
            return re.compile(_grouped(tuple(chain.from_iterable(tables))))
        if table == "small":  # a line that may be made of small words only
            parts = (_tuple(getattr(self.module, name)) for name in _SMALL)
            whole = _grouped(tuple(chain.from_iterable(parts)))
            return re.compile(rf"(?:{whole})\Z|(?:{_grouped(_tuple(self.module.PROCEED))})")
        if table == "opening":  # small words at a sentence's start
            word = "" if self.cjk else r"(?!\w)"
            small = "|".join(_longest_first(f"{self.module.THANKS}|{self.module.NODS}"))
            return re.compile(rf"{_GAP}*(?:(?:{small}){word}{_GAP}*)*")
        if table == "gratitude":
            return re.compile(
                self.module.THANKS if self.cjk else rf"\b(?:{self.module.THANKS})(?!\w)"
            )
        if table == "praise":
            word = "" if self.cjk else r"(?!\w)"
            return re.compile(
                rf"{_GAP}*(?:(?:ok|okay|a+h+|o+h+|wow)\b{_GAP}*)*(?:{self.module.PRAISE}){word}"
            )
        if table == "agreement":
            word = "" if self.cjk else r"(?!\w)"
            return re.compile(rf"{_GAP}*(?:{self.module.YES}){word}")
        held = getattr(self.module, table)
        return re.compile(held if isinstance(held, str) else _grouped(held))


_ASKING = ("COURTESY", "NEEDS", "DEMANDS", "OFFERS")
_SMALL = ("FAREWELL", "STOP")


def _tuple(table: str | tuple[str, ...]) -> tuple[str, ...]:
    return (table,) if isinstance(table, str) else table


def _longest_first(pattern: str) -> list[str]:
    """The alternatives of a pattern: one that begins another must not be tried before it."""
    found, depth, start = [], 0, 0
    for place, char in enumerate(pattern):
        depth += (char in "([") - (char in ")]")
        if char == "|" and depth == 0:
            found.append(pattern[start:place])
            start = place + 1
    found.append(pattern[start:])
    return sorted(found, key=len, reverse=True)


def _grouped(phrases: tuple[str, ...]) -> str:
    """The alternatives of a table, those that start alike in one group.

    At most places of a text a group is ruled out at once, where each phrase would be tried:
    a search takes a half to a tenth of the time.
    """
    groups: dict[str, list[str]] = {"^": [], r"\b": [], "": []}
    for phrase in chain.from_iterable(map(_longest_first, phrases)):
        start = next(each for each in groups if phrase.startswith(each))
        groups[start].append(phrase.removeprefix(start))
    return "|".join(f"{start}(?:{'|'.join(held)})" for start, held in groups.items() if held)


_GAP = r"[\s,;:.!'\"()\-\u2013\u2026\u3001\u3002\uff0c\uff01~\U0001F300-\U0001FAFF]"
ENGLISH = Tables(en)
LATIN = (ENGLISH, *map(Tables, (de, fr, es, pt, it, nl)))
_CHINESE, _JAPANESE = Tables(zh, cjk=True), Tables(ja, cjk=True)
_KANA = late("[\u3040-\u30ff]")
_HAN = late("[\u3400-\u9fff]")
_NAMES = late(r"[\w/.:-]{12,}|\s", re.ASCII)  # of files, of things: of no language
_BEYOND = late("[^\x00-\u303f]")  # compiled in half the time that a range up to \u9fff takes
_WORD = late(r"[^\W\d_][\w'\u2019-]*")
_ASCII_WORD = late(r"[a-z][a-z0-9_'-]*")  # the same in small letters, twice as fast
_ASCII_LONG_WORD = late(r"[a-z][a-z0-9_'-]{3,}")


def plain_latin(text: str) -> str:
    """In small letters, with straight apostrophes and without accents."""
    line = text.lower()
    return line if line.isascii() else line.translate(_PLAIN)


class _Plain(dict[int, str]):
    """What stands for each character, found when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if not "\u2e80" <= char <= "\uffff":  # the scripts of the east stay as they are
            decomposed = normalize("NFD", char)
            char = normalize("NFC", "".join(c for c in decomposed if not combining(c)))
        self[code] = char
        return char


_PLAIN = _Plain({0x2019: "'", 0xDF: "ss"})
OTHERS = late(rf"(?<!\w)(?:{others.THANKS})(?!\w)")  # thanks
SMALL = {  # said in whole sentences
    "nod": late(rf"(?:(?:{others.NODS}|{others.THANKS})[\s,.!\u060c\u0964]*)+"),
    "stop": late(rf"(?:{others.STOP})"),
}
ELSE, BEGINS = late(others.ELSE), late(others.BEGINS)
PLEASE = late(rf"(?<!\w)(?:{others.PLEASE})(?!\w)|주세요|부탁")
_LITERAL = late(r"(?<![\\\w])[a-z]{4,}(?![\w?*+])")


def _words_of(module: ModuleType) -> tuple[frozenset[str], frozenset[str]]:
    """A language's function words, and the words that stand in its other tables."""
    held = vars(module)
    literal: set[str] = set()
    for name, table in held.items():
        if name.isupper() and name != "COMMON":
            literal.update(_LITERAL.findall(table if isinstance(table, str) else " ".join(table)))
    common = frozenset(held["COMMON"].split())
    return common, frozenset(literal) - common


@lru_cache
def _common_in() -> dict[str, list[int]]:
    """Which languages (places in `LATIN`) each function word is of."""
    found: dict[str, list[int]] = {}
    for place, tables in enumerate(LATIN):
        for word in set(tables.module.COMMON.split()):
            found.setdefault(word, []).append(place)
    return found


@lru_cache(maxsize=512)
def languages(text: str) -> tuple[Tables, ...]:
    """The languages whose tables apply to the beginning of a text, likeliest first.

    Of a text too short to tell, all that share its script; of another script, none.
    """
    if not text.isascii() and _BEYOND.search(text):
        if _KANA.search(text):
            return (_JAPANESE,)
        han = len(_HAN.findall(text))
        if han and han * 4 >= len(_NAMES.sub("", text)):
            return (_CHINESE,)
    line = plain_latin(text[:_READ])
    words = set((_ASCII_WORD if line.isascii() else _WORD).findall(line))
    if "'" in line:  # "l'orario", "un'altra"
        words.update([word[: word.find("'") + 1] for word in words if "'" in word])
    if not words:
        return (_CHINESE,) if _HAN.search(text) else ()
    english = len(words & ENGLISH.words[0])
    if english > 3 and english * 3 > len(words):
        return (ENGLISH,)
    counts = [0] * len(LATIN)
    common = _common_in()
    for word in words & common.keys():
        for place in common[word]:
            counts[place] += 2
    if len(words) < _FEW:
        for place, tables in enumerate(LATIN):
            counts[place] += len(words & tables.words[1])
    most = max(counts)
    if not most:
        return LATIN if plain_latin(text).isascii() else ()
    return tuple([each for each, count in zip(LATIN, counts, strict=True) if count == most])


# ---- lines, as the tables know them

ENDS = " .,;:!-*_\"'()\u3002\uff0c\uff01\u3001~\u2026" + MARKS


def lowered(sentence: str, tables: Sequence[Tables]) -> str:
    return sentence.lower() if tables and tables[0].cjk else plain_latin(sentence)


def lines_of(found: list[str], tables: Sequence[Tables]) -> list[str]:
    """Sentences, as the tables know them."""
    return list(map(str.lower if tables and tables[0].cjk else plain_latin, found))


def beyond_nods(tables: Tables, line: str) -> str:
    return line[tables.opening.match(line).end() :].strip(ENDS)  # which matches always


class Text:
    """A text that is read once for all that ask about it."""

    __slots__ = ("lines", "sentences", "tables", "words")

    def __init__(self, words: str) -> None:
        self.words = words

    def __getattr__(self, name: str) -> Any:
        """Its languages, its sentences, and these as the tables know them: made when asked for."""
        found: Any
        if name == "tables":
            found = languages(self.words[:400])
        elif name == "sentences":
            found = sentences(self.words)
        elif name == "lines":
            found = lines_of(self.sentences, self.tables)
        else:
            raise AttributeError(name)
        setattr(self, name, found)
        return found


@lru_cache(maxsize=256)
def spoken(text: str) -> Text:
    """What a person says in their own words."""
    return Text(own_words(text))


def is_english(text: str) -> bool:
    """Whether a text is surely English."""
    return spoken(text).tables == (ENGLISH,)  # type: ignore[no-any-return]


def may_be_english(text: str) -> bool:
    """Whether a text is English, or too short to tell."""
    return ENGLISH in spoken(text).tables


# ---- what two texts share

_STEM = 5
_ENDINGS = "aeos"  # "borra" and "borro" are one word


@lru_cache(maxsize=512)
def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's longer words; of scripts without spaces, pairs of characters."""
    line = plain_latin(text[:2000])
    if line.isascii():
        words = set(_ASCII_LONG_WORD.findall(line)).difference(_common_in())
        return frozenset({word[:_STEM].rstrip(_ENDINGS) for word in words} - _EMPTY)
    found: set[str] = set()
    for word in set(_WORD.findall(line)).difference(_common_in()):
        if not word.isascii() and (_HAN.search(word) or _KANA.search(word)):
            pairs = [word[n : n + 2] for n in range(len(word) - 1)]
            found.update(pair for pair in pairs if not _HIRAGANA.fullmatch(pair))
        elif len(word) > 3:
            found.add(word[:_STEM].rstrip(_ENDINGS))
    return frozenset(found - _EMPTY)


_HIRAGANA = late("[\u3040-\u309f]+")
_NOTHING = "help could would please should want like need some thing know just make"
_EMPTY = frozenset(word[:_STEM].rstrip(_ENDINGS) for word in _NOTHING.split())


def share(one: str, other: str) -> bool:
    """Whether two texts are about one thing, as far as their words show."""
    return not stems(one).isdisjoint(stems(other))
