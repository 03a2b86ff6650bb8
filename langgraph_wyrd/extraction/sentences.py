"""Text: how it is cut into sentences, and what in it is nobody's own words.

Tables of English phrases, each compiled when it is first looked at. Other languages keep what
structure gives them: a question mark is a question, whatever its script. A sentence is looked at
from its start, and of a long text only an end or a beginning, so that cost is bounded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import ascii_letters
from typing import Literal

from langgraph_wyrd.extraction.patterns import late

Form = Literal[
    "asks",  # an answer is needed to go on
    "follows",  # the same, at the end of what tells what was wanted
    "proposes",  # puts something forward: does this suit?
    "instead",  # does not do what was wanted, and offers another thing
    "offers",  # one more thing, that need not be
    "courtesy",  # anything else?
    "tells",
]

MARKS = "?\uff1f\u061f\u037e\u2047\u2048\u2049\u055e\u1367\u2e2e\ua60f"
_READ = 6000  # characters of a text that are looked at
_TITLE = r"(?<=\b(?:Dr|Mr|Ms|Sr|St).)|(?<=\b(?:Mrs|Sra).)|(?<=\bProf.)"
_ENDS_NOTHING = (  # a mark inside a word (1.5, a?b=c), the one behind "Dr"
    r"[.!?](?:(?=[a-z0-9_=&/])(?<![\u3040-\u30ff\u3400-\u9fff].)"
    rf"|(?<=\.)(?:(?=[,;)])|(?=[A-Z])(?<=[A-Z].)|(?= )(?:{_TITLE})))"
)
_SENTENCE = late(rf"(?:[^.!\n\u3002\uff01{MARKS}]+|{_ENDS_NOTHING})+[{MARKS}]*")
_SIGNS = late(r"^[^\w\x00-\x1f\x21-\x7e]+")
_AROUND = " \t\r*_>\"'`\u201c\u201d\u00bf\u00a1"


def either(*phrases: str) -> str:
    return "(?:" + "|".join(phrases) + ")"


def start(*phrases: str) -> re.Pattern[str]:
    """To match where a sentence starts, with whole words."""
    return late(either(*phrases) + r"(?!\w)")


def sentences(text: str) -> list[str]:
    found = [cut for each in _SENTENCE.findall(text) if (cut := each.strip(_AROUND))]
    if text.isascii():
        return found
    # Without an arrow, a tick, a hand that points.
    return [cut for each in found if (cut := _SIGNS.sub("", each))]


def plain(sentence: str) -> str:
    """In small letters, with straight apostrophes."""
    return sentence.lower().replace("\u2019", "'")


INVERTED = start(  # asked without its mark: "would you like a table"
    r"(?:do|does|did|are|were|would|will|have|can|could|may|might|must) (?:you|your)",
    r"(?:shall|should|may|can|could|would|do|will) (?:i|we)",
    r"(?:is|are|was|does|will|would) (?:that|this|it|there|these|those)",
)
WH = late(
    r"(?:(?:and|or|also|at|in|on|for|to|from|by|with|about|till|until) )*"
    r"(?:what|which|when|where|who|whom|whose|how)(?:'s|'re|\b)"
    r"(?! (?:you|i|we|they|he|she|it|a|an|to|if|the)\b)"
)


# ---- text without what is only shown

_FENCED = late(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.S)
_INLINE = late(r"`[^`\n]{1,200}`")
_QUOTED = late(r"(?m)^[ \t]*>.*$")
_LAST_QUOTE = late(r"(?m)(?:^[ \t]*>[^\n]*\n?)+\s*\Z")
_DRAFT = late(
    r"(?im)^[ \t*_>]*(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|主题|主旨|件名)"
    r"[*_ ]*[:\uff1a].*?(?=^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$|\Z)",
    re.S,
)
_CLOSES = (
    r"(?im)^[ \t]*(?:best(?: regards| wishes)?|(?:kind|warm) regards|regards|sincerely|cheers"
    r"|thanks|mit freundlichen gr(?:u|ü)(?:ss|ß)en|viele gr(?:u|ü)(?:ss|ß)e|cordialement"
    r"|bien à vous"
    r"|(?:un )?saludos?(?: cordiales)?|atenciosamente|atentamente|cordiali saluti"
    r"|met vriendelijke groet(?:en)?|此致|敬具|よろしくお願いいたします)"
)
_SIGNED = late(_CLOSES + r"[ ,.。]*\n[^\n]{0,60}\n")
_CLOSING = late(_CLOSES + r"[ ,.。!]*(?:\n[^\n]{0,60}){0,3}\Z")
_SAID = late(
    r"[\"\u201c\u201e\u00ab\u300c\u300e][^\"\u201d\u201c\u00bb\u300d\u300f\n]{12,400}[\"\u201d\u201c\u00bb\u300d\u300f]"
)
_LOG = late(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|"
    r"TRACE|CRITICAL)\b"
    r"|Traceback \(|File \"|at [\w$.<>]+\(|Caused by:|\w+(?:\.\w+)*(?:Error|Exception)\b"
    r"|\$ |# |>>> |\+\+\+ |--- |@@ |diff --git|npm |\w+@\w+[:~]|[{}\[\]();]+\s*$|<[/\w!]|\d+ \||\||"
    r"(?:import|from|def|class|const|let|var|function|return|if|for|while|public|private|"
    r"#include|SELECT)\b.*[({;:=]\s*$)"
)


def prose_of(text: str) -> str:
    """An agent's own words: no code, no quotes, no draft of a letter."""
    if len(text) > _READ:
        text = text[-_READ:]
    if "`" in text or "~~~" in text:
        text = _INLINE.sub(" x ", _FENCED.sub("\n", text))
    if ">" in text:
        last = _LAST_QUOTE.search(text)
        before = text[: last.start()].rstrip(" *_\n") if last is not None else ""
        if last is not None and before and before[-1] not in ":\uff1a":
            text = text[: last.start()] + last.group().replace(">", " ")  # set off, not quoted
        text = _QUOTED.sub("", text)
    if ":" in text or "\uff1a" in text:
        draft = _DRAFT.search(text)
        if draft is not None:
            signed = _SIGNED.search(text, draft.start())
            stop = (
                signed.end() if signed is not None and signed.end() < draft.end() else draft.end()
            )
            text = text[: draft.start()] + "\n" + text[stop:]
    return _SAID.sub(_unasked, text) if '"' in text or not text.isascii() else text


def is_letter(text: str) -> bool:
    """Whether a text ends as a letter does."""
    return _CLOSING.search(text.rstrip()[-160:]) is not None


def _unasked(found: re.Match[str]) -> str:
    """What stands between quotation marks asks nobody here."""
    said = found.group()
    return " x\n" if said[:-1].rstrip()[-1:] in (*MARKS, ".", "!") else said


@lru_cache(maxsize=256)
def own_words(text: str) -> str:
    """What a person says themselves, without what they pasted; if nothing is left, all of it."""
    if len(text) > 4 * _READ:
        text = f"{text[: 2 * _READ]}\n{text[-2 * _READ :]}"
    if len(text) < 40 and "\n" not in text:
        return text
    left = _FENCED.sub("\n", text) if "`" in text or "~~~" in text else text
    if "\n" in left:
        lines = left.split("\n")
        kept = [line for line in lines if line.strip() and not _pasted(line)]
        if len(kept) < len(lines):
            left = "\n".join(kept)
    return left if left.strip(" \t\n:.-") else text


_SETTING = late(r"\s{2,}(?:- )?(?:[\w.\"'-]+:(?:\s|$)|# )")  # of a file, set in


_WITHOUT_LETTERS = dict.fromkeys(map(ord, ascii_letters))


def _pasted(line: str) -> bool:
    if line.lstrip().startswith(">") or _LOG.match(line) or _SETTING.match(line):
        return True
    bare = line.strip()
    if len(bare) <= 20:
        return False
    if bare.isascii():  # a log may be long: this is ten times as fast
        letters = len(bare) - len(bare.translate(_WITHOUT_LETTERS))
    else:
        letters = sum(map(str.isalpha, bare))
    return letters + bare.count(" ") < 0.6 * len(bare)
