"""Prose, sentence by sentence: how text is cut up, and how a question begins.

Tables of English phrases, each compiled when it is first looked at. Other languages keep what
structure gives them: a question mark is a question, whatever its script. A sentence is looked at
from its start, and of a long text only an end or a beginning, so that cost is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

Form = Literal[
    "asks",  # an answer is needed to go on
    "proposes",  # puts something forward: does this suit?
    "courtesy",  # anything else?
    "tells",
]

MARKS = "?\uff1f\u061f\u037e\u2047\u2048\u2049\u055e\u1367\u2e2e\ua60f"
# A mark inside a word (1.5, a?b=c) ends nothing.
_SENTENCE = re.compile(rf"(?:[^.!\n\u3002\uff01{MARKS}]+|[.!?](?=[a-z0-9_=&/]))+[{MARKS}]*")
_AROUND = " \t\r*_>\"'`\u201c\u201d"


def either(*phrases: str) -> str:
    return "(?:" + "|".join(phrases) + ")"


class Phrases:
    """A pattern that is compiled when it is first looked at.

    Most are long, and most texts need few. Once compiled it costs what a pattern does.
    """

    match: Callable[..., re.Match[str] | None]
    search: Callable[..., re.Match[str] | None]
    finditer: Callable[[str], Iterator[re.Match[str]]]
    sub: Callable[[str, str], str]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._told = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._told)
        self.match, self.search = compiled.match, compiled.search
        self.finditer, self.sub = compiled.finditer, compiled.sub
        return getattr(compiled, name)


def start(*phrases: str) -> Phrases:
    """To match where a sentence starts, with whole words."""
    return Phrases(either(*phrases) + r"(?!\w)")


def sentences(text: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(text):
        sentence = found.group().strip(_AROUND)
        if sentence:
            yield sentence


def plain(sentence: str) -> str:
    """In small letters, with straight apostrophes."""
    return sentence.lower().replace("\u2019", "'")


INVERTED = start(  # asked without its mark: "would you like a table"
    r"(?:do|does|did|are|were|would|will|have|can|could|may|might|must) (?:you|your)",
    r"(?:shall|should|may|can|could|would|do|will) (?:i|we)",
    r"(?:is|are|was|does|will|would) (?:that|this|it|there|these|those)",
)
WH = Phrases(
    r"(?:(?:and|or|also|at|in|on|for|to|from|by|with|about|till|until) )*"
    r"(?:what|which|when|where|who|whom|whose|how)(?:'s|'re|\b)"
    r"(?! (?:you|i|we|they|he|she|it|a|an|to|if|the)\b)"
)
