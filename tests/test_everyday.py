"""Ordinary sentences, by what they do, in the places where they stand in a talk with an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.score import read_cut

FOLDER = Path(__file__).parent / "everyday"

# What a turn leaves: who is waited for, and whose request is open, the first one or this turn.
LEAVES = {
    "offer": ("nobody", ""),  # of the agent, after the work
    "courtesy": ("nobody", ""),
    "report": ("nobody", ""),
    "refuse": ("nobody", ""),
    "promise": ("agent", "first"),
    "ask": ("person", "first"),
    "request": ("agent", "this"),  # of the person
    "complaint": ("agent", "this"),
    "redirect": ("agent", "this"),
    "takeup": ("agent", "this"),
    "answer": ("agent", "first"),
    "wait": ("agent", "first"),
    "goon": ("agent", "first"),
    "thanks": ("nobody", ""),
    "decline": ("nobody", ""),
    "stop": ("nobody", ""),
}


def sentences(language: str) -> Iterator[tuple[str, list[str]]]:
    """Each sentence of a file with the turns before it: `== kind`, `-- turn || turn`, sentences."""
    kind, before = "", []
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind = line[3:]
        elif line.startswith("--"):
            before = [turn for turn in line[2:].strip().split(" || ") if turn]
        else:
            yield kind, [turn.replace("\\n", "\n") for turn in (*before, line)]


@pytest.mark.parametrize("language", sorted(each.stem for each in FOLDER.glob("*.txt")))
def test_ordinary_sentences(language: str) -> None:
    """Each leaves open what its kind says; what is taken up may keep the aim that it had."""
    wrong = []
    for kind, turns in sentences(language):
        who, whose = LEAVES[kind]
        messages = [
            {"id": f"m{n}", "role": "assistant" if n % 2 else "user", "content": turn}
            for n, turn in enumerate(turns)
        ]
        last = f"m{len(turns) - 1}"
        request = {"first": "m0", "this": last}.get(whose)
        found = read_cut(messages)
        aims = (request, "m0") if kind == "takeup" else (request,)
        if (
            found["waits_for"] != who
            or found["questions"] != ([last] if who == "person" else [])
            or found["requests"] != ([request] if request else [])
            or found["intention"] not in aims
        ):
            wrong.append(f"{kind}: {turns} leaves {found}")
    assert not wrong, "\n".join(wrong)
