"""Ordinary sentences where they stand in a conversation: what is open after each.

`threads/acts.tsv`: language, place, act, text. Places: `A` the agent's answer to an order, `K` to
a question, `D` what it adds to work done; `0` a person's first words, `R` theirs while the agent
works, `Q` to its question, `F` when the work is done; `L` what ends a long answer, `W` a report of
work that a tool did, `LF`, `WF` what a person says to these, `M` between a tool's result and the
report. `=`: what stands around them.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.score import read_cut
from tests.spoken import FOLDER

FRAME = ("order", "done", "task", "report")
CALL = "(a call, and its result)"
# Who is waited for, and of which messages requests are open; -1 is the last one.
AFTER: dict[str, tuple[str, list[int]]] = {
    "A asks": ("person", [0]),
    "A begins": ("agent", [0]),
    "A refuses": ("nobody", []),
    "A answers": ("nobody", []),
    "D offers": ("nobody", []),
    "D courtesy": ("nobody", []),
    "0 new": ("agent", [-1]),
    "R small": ("agent", [0]),
    "R stop": ("nobody", []),
    "R redirect": ("agent", [-1]),
    "R adds": ("agent", [0, -1]),
    "Q answer": ("agent", [0]),
    "Q stop": ("nobody", []),
    "Q aside": ("agent", [0, -1]),
    "Q redirect": ("agent", [-1]),
    "F small": ("nobody", []),
    "F new": ("agent", [-1]),
    "F proceed": ("agent", [-1]),
}
ALIKE = {"K asks": "A asks", "K begins": "A begins", "K offers": "D offers"}
ALIKE |= {f"K {each}": "A answers" for each in ("answers", "refuses", "courtesy")}
ALIKE |= {f"L {each}": "A answers" for each in ("answers", "offers", "courtesy")}
ALIKE |= {f"W {each}": "A answers" for each in ("answers", "offers", "courtesy")}
ALIKE |= {"LF new": "F new", "LF small": "F small", "WF new": "F new", "WF small": "F small"}
ALIKE |= {"M adds": "R adds", "M stop": "R stop", "M keeps": "R small", "M replaces": "R redirect"}
LINES = [
    line.split(" ", 3)
    for line in (FOLDER / "acts.tsv").read_text(encoding="utf-8").splitlines()
    if line
]


def _played(language: str, place: str, text: str) -> list[dict[str, Any]]:
    around = {
        act: said.replace("\\n", "\n") for of, at, act, said in LINES if (of, at) == (language, "=")
    }
    order, done, task, report = (around.get(each, "") for each in FRAME)
    long = around.get("long", "")
    turns = {
        "A": [order, text],
        "K": [around["question"], text],
        "D": [order, f"{done} {text}"],
        "0": [text],
        "R": [order, around["promise"], text],
        "Q": [order, around["asked"], text],
        "F": [order, done, text],
        "L": [around.get("how", ""), f"{long}\n\n{text}"],
        "LF": [around.get("how", ""), long, text],
        "W": [task, CALL, f"{report}\n\n{text}"],
        "WF": [task, CALL, report, text],
        "M": [task, CALL, text],
    }[place]
    messages: list[dict[str, Any]] = []
    for turn in turns:
        id = str(len(messages))
        if turn is CALL:
            call = {"id": "c", "name": "edit_file", "args": {}}
            messages.append({"id": id, "role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"id": "r", "role": "tool", "tool_call_id": "c", "content": "ok"})
        else:
            agents = len(messages) > 0 and messages[-1]["role"] in ("user", "tool")
            agents = agents and not (place == "M" and turn is text)
            role = "assistant" if agents else "user"
            messages.append({"id": id, "role": role, "content": turn})
    return messages


@pytest.mark.parametrize("language", sorted({line[0] for line in LINES}))
def test_what_is_open_after_ordinary_sentences(language: str) -> None:
    """Asking back, promising, refusing, answering, offering; adding, calling off, thanking."""
    wrong = []
    for of, place, act, text in LINES:
        if of != language or place == "=":
            continue
        kind = f"{place} {act}"
        who, owed = AFTER[ALIKE.get(kind, kind)]
        messages = _played(language, place, text.replace("\\n", "\n"))
        found = read_cut(messages)
        requests = [messages[n]["id"] for n in owed]
        if (found["waits_for"], sorted(found["requests"])) != (who, requests):
            wrong.append(f"{kind} {text}: {found}")
    assert not wrong, "\n".join(wrong)
