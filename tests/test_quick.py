"""Frozen dataclasses that are made quickly, and tables of words that are searched quickly."""

from __future__ import annotations

import itertools
import os
import pickle
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from importlib import import_module

import pytest

from langgraph_wyrd import extraction
from langgraph_wyrd.extraction.languages import (
    _CHINESE,
    _JAPANESE,
    LATIN,
    Tables,
    _grouped,
    plain_latin,
)
from langgraph_wyrd.state.model import plain_data
from tests.spoken import cuts


@dataclass(frozen=True, slots=True)
class Plain:
    a: int
    b: str = "b"
    c: dict[str, int] = field(default_factory=dict)
    d: object = None


@plain_data
class Quick:
    a: int
    b: str = "b"
    c: dict[str, int] = field(default_factory=dict)
    d: object = None


def test_a_quick_dataclass_is_made_as_a_plain_one() -> None:
    """By place and by name, with its defaults, each with a dict of its own."""
    for arguments, named in (((1,), {}), ((1, "x", {"y": 2}, 3), {}), ((), {"a": 1, "d": 4})):
        assert asdict(Quick(*arguments, **named)) == asdict(Plain(*arguments, **named))
    assert Quick(1) == Quick(1)
    assert Quick(1).c is not Quick(1).c
    assert replace(Quick(1), d=2) == Quick(1, d=2)
    assert pickle.loads(pickle.dumps(Quick(1, "z"))) == Quick(1, "z")


def test_a_quick_dataclass_refuses_what_a_plain_one_refuses() -> None:
    """A field that is missing, one that is not known, a change."""
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'e'"):
        Quick(1, e=2)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        Quick(1).a = 2  # type: ignore[misc]


@pytest.mark.parametrize("tables", LATIN, ids=lambda tables: tables.name)
def test_a_grouped_table_finds_what_its_phrases_find(tables: object) -> None:
    """In every fourth line of our own conversations (WYRD_MORE: in each), whether it is searched,
    matched or matched whole."""
    said = (str(cut.messages[-1]["content"]) for cut in cuts())
    lines = sorted({plain_latin(line) for text in said for line in text.split(". ")})
    lines = lines if os.environ.get("WYRD_MORE") else lines[::4]
    held = {n: v for n, v in vars(tables.module).items() if isinstance(v, tuple)}  # type: ignore[attr-defined]
    assert held
    for name, phrases in held.items():
        one, other = re.compile("|".join(phrases)), re.compile(_grouped(phrases))
        for line in lines:
            for how in ("search", "match", "fullmatch"):
                found = getattr(one, how)(line) is not None
                assert (getattr(other, how)(line) is not None) == found, (name, how, line)


TABLES = ("asking", "small", "opening", "gratitude", "praise", "agreement")  # made of several


def hostile(pattern: str) -> Iterator[str]:
    """Lines that go on for long with what a pattern looks for, and then end otherwise."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"\\[a-zA-Z]", " ", pattern))
    words = list(dict.fromkeys(["x", *words]))
    for word in words:
        yield from (f"{each * 40}#" for each in (word, f"{word} ", f"{word}, "))
    for one, other in itertools.pairwise(words):
        yield f"{one} {other} " * 25 + "#"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tables", [*LATIN, _CHINESE, _JAPANESE], ids=lambda tables: tables.name)
def test_no_line_holds_a_table_up(tables: Tables) -> None:
    """A pattern that tries all ways to divide a line would hang for ever on one that is made so."""
    for name in (*filter(str.isupper, vars(tables.module)), *TABLES):
        pattern = getattr(tables, name)
        for line in hostile(pattern.pattern):
            pattern.search(line)


def test_phrases_with_alternatives_of_their_own_are_not_grouped() -> None:
    """`^a|b` finds b anywhere: only a start that holds for all of a phrase may be taken out."""
    assert re.search(_grouped(("^a|b", r"\bc", r"\bd|e")), "xb")
    assert re.search(_grouped(("^a|b", r"\bc", r"\bd|e")), "xe")
    assert not re.search(_grouped(("^a|b", r"\bc", r"\bd|e")), "xaxc")


@pytest.mark.timeout(60)
def test_every_pattern_compiles() -> None:
    """They are compiled when they are first used: one with a mistake must not wait for its text.
    None is held up by a line, either."""
    for module in pkgutil.iter_modules(extraction.__path__, "langgraph_wyrd.extraction."):
        for name, held in vars(import_module(module.name)).items():
            if type(held).__name__ == "_Late":
                assert isinstance(held.pattern, str), f"{module.name}.{name}"
                for line in hostile(held.pattern):
                    held.search(line)
