"""Ordinary sentences, by what they do, in the places where they stand in a talk with an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.score import read_cut

FOLDER = Path(__file__).parent / "everyday"
CALL = "(call)"  # a turn of the agent: a call of a tool, and its result

# What a turn leaves: who is waited for, and which requests are open, by the turn that made them.
AGENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "offer": ("nobody", ()),  # after the work
    "courtesy": ("nobody", ()),
    "report": ("nobody", ()),
    "refuse": ("nobody", ()),
    "promise": ("agent", ("first",)),
    "ask": ("person", ("first",)),
}
PERSONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "request": ("agent", ("this",)),
    "complaint": ("agent", ("this",)),
    "redirect": ("agent", ("this",)),
    "takeup": ("agent", ("this",)),
    "proceed": ("agent", ("this",)),  # behind finished work
    "add": ("agent", ("first", "this")),
    "answer": ("agent", ("first",)),
    "wait": ("agent", ("first",)),
    "goon": ("agent", ("first",)),
    "thanks": ("nobody", ()),
    "decline": ("nobody", ()),
    "stop": ("nobody", ()),
}
EITHER = ("takeup", "proceed", "add")  # what they ask for may be the aim now, or not


def sentences(language: str) -> Iterator[tuple[str, list[str]]]:
    """Each sentence of a file with the turns before it: `== kind`, `-- turn || turn`, `++` what its
    own turn begins with, sentences."""
    kind, before, begins = "", list[str](), ""
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind = line[3:]
        elif line.startswith("--"):
            before, begins = [turn for turn in line[2:].strip().split(" || ") if turn], ""
        elif line.startswith("++ "):
            begins = line[3:] if line.endswith("\\n") else f"{line[3:]} "
        else:
            yield kind, [turn.replace("\\n", "\n") for turn in (*before, begins + line)]


def played(kind: str, turns: list[str]) -> list[dict[str, Any]]:
    """The messages of a talk: in turns, the last one by who says such things."""
    messages: list[dict[str, Any]] = []
    for n, turn in enumerate(turns):
        ends, id = n + 1 == len(turns), f"m{n}"
        agents = kind in AGENTS if ends else bool(messages) and messages[-1]["role"] != "assistant"
        if turn == CALL:
            call = {"id": "c", "name": "edit_file", "args": {}}
            messages.append({"id": id, "role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"id": "r", "role": "tool", "tool_call_id": "c", "content": "ok"})
        else:
            messages.append({"id": id, "role": "assistant" if agents else "user", "content": turn})
    return messages


@pytest.mark.parametrize("language", sorted(each.stem for each in FOLDER.glob("*.txt")))
def test_ordinary_sentences(language: str) -> None:
    """Each leaves open what its kind says; what is taken up may keep the aim that it had."""
    wrong = []
    for kind, turns in sentences(language):
        who, whose = (AGENTS | PERSONS)[kind]
        last = f"m{len(turns) - 1}"
        requests = [{"first": "m0", "this": last}[each] for each in whose]
        found = read_cut(played(kind, turns))
        aims = [last, "m0"] if kind in EITHER else requests or [None]
        if (
            found["waits_for"] != who
            or found["questions"] != ([last] if who == "person" else [])
            or sorted(found["requests"]) != sorted(requests)
            or found["intention"] not in aims
        ):
            wrong.append(f"{kind}: {turns} leaves {found}")
    assert not wrong, "\n".join(wrong)
