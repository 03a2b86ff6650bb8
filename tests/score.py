"""How well conversations are read, on text that nobody of this project wrote.

    python -m tests.score            figures, and what remains wrong by kind of case
    python -m tests.score --show 20  with examples

The rules were developed on the even lines of the dialogues; the odd lines show whether they hold.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_wyrd.extraction.conversation import conversation
from langgraph_wyrd.extraction.promises import promises
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import WorkingState

DATA = Path(__file__).parents[2] / "shared" / "data"

ASKS = {"REQUEST", "CONFIRM"}
OFFERS = {"OFFER", "OFFER_INTENT"}


@dataclass
class Figure:
    """Precision, recall and F1, and what was wrong."""

    right: int = 0
    extra: int = 0
    missed: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, want: bool, got: bool, case: str, text: str) -> None:
        self.right += want and got
        self.extra += got and not want
        self.missed += want and not got
        if want != got:
            key = f"{'missed' if want else 'extra'}: {case}"
            self.wrong[key] += 1
            self.examples.setdefault(key, []).append(text)

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.extra, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(2 * self.right + self.extra + self.missed, 1)

    def __str__(self) -> str:
        return (
            f"F1 {self.f1:.3f}  precision {self.precision:.3f}  recall {self.recall:.3f}  "
            f"({self.right} right, {self.extra} extra, {self.missed} missed)"
        )


def dialogues(half: int | None = None) -> Iterator[dict[str, Any]]:
    """The dialogues; `half` 0: the even lines, 1: the odd ones."""
    yield from _lines("dialogues.jsonl", half)


def agent_runs() -> Iterator[dict[str, Any]]:
    yield from _lines("agent_runs.jsonl", None)


def _lines(name: str, half: int | None) -> Iterator[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as file:
        for n, line in enumerate(file):
            if half is None or n % 2 == half:
                yield json.loads(line)


def states(
    messages: Iterable[Any], *, delta: bool = False, guess: bool = False
) -> Iterator[WorkingState]:
    """The working state after each message, as if each came with a checkpoint of its own."""
    state, held = WorkingState(), []
    for n, message in enumerate(messages):
        held.append(message)
        new = Fresh([message], [0], complete=False) if delta else Fresh(list(held), [n])
        at = f"{n:06d}"
        view = View(at, fresh={"messages": new}, changed=frozenset(["messages"]), previous=state)
        facts = list(conversation(view))
        if guess:
            facts += promises(view)
        state, _ = fold(state, facts, Moment(at, "", f"2026-01-01T00:00:{n:06d}"))
        yield state


def spoken(turns: Iterable[dict[str, Any]]) -> Iterator[BaseMessage]:
    for n, turn in enumerate(turns):
        made = HumanMessage if turn["who"] == "user" else AIMessage
        yield made(turn["text"], id=f"m{n}")


def score_dialogues(half: int | None, *, delta: bool = False) -> tuple[Figure, Figure]:
    """Questions over the system's turns, intentions over the user's."""
    question, intention = Figure(), Figure()
    for dialogue in dialogues(half):
        turns = dialogue["turns"]
        before, said = WorkingState(), "START"
        for turn, state in zip(turns, states(spoken(turns), delta=delta), strict=True):
            acts = set(turn["acts"])
            names = "+".join(sorted(acts))
            if turn["who"] == "system":
                open_ = any(loop.kind == "question" for loop in state.open_loops)
                want = bool(acts & ASKS)
                if want or not acts & OFFERS:
                    question.add(want, open_, names, turn["text"])
            else:
                new = len(state.intentions) > len(before.intentions)
                case = f"{names} after {said}"
                intention.add("INFORM_INTENT" in acts, new, case, turn["text"])
                if any(loop.kind == "question" for loop in state.open_loops):
                    question.add(False, True, "still open after the user's turn", turn["text"])
            before, said = state, names
    return question, intention


def score_runs() -> tuple[int, int]:
    """How many cuts there are, and how many of them have exactly the calls without a result."""
    cuts = exact = 0
    for run in agent_runs():
        waiting: list[str] = []
        for message, state in zip(run["messages"], states(run["messages"]), strict=True):
            for call in message.get("tool_calls") or ():
                waiting.append(call["id"])
            if message["role"] == "tool" and message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            found = [loop.ref for loop in state.open_loops if loop.kind == "tool_call"]
            cuts += 1
            exact += sorted(waiting) == sorted(ref or "" for ref in found)
    return cuts, exact


def score_promises() -> tuple[int, int]:
    """How many promises are guessed in the runs, and how many of them stay open to the end."""
    made = kept = 0
    for run in agent_runs():
        last = WorkingState()
        seen: set[str] = set()
        for last in states(run["messages"], guess=True):
            seen.update(loop.id for loop in last.loops if loop.kind == "promise")
        made += len(seen)
        kept += sum(loop.kind == "promise" for loop in last.guessed_loops)
    return made, kept


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--show", type=int, default=0, help="examples of each kind of case")
    show = options.parse_args().show
    for name, half in (("even lines (developed on)", 0), ("odd lines", 1), ("all", None)):
        question, intention = score_dialogues(half)
        print(f"{name}\n  question   {question}\n  intention  {intention}")
        if half is None:
            for title, figure in (("question", question), ("intention", intention)):
                print(f"\nwhat remains wrong: {title}")
                for case, count in figure.wrong.most_common():
                    print(f"  {count:4}  {case}")
                    for text in figure.examples[case][:show]:
                        print(f"          {text}")
    cuts, exact = score_runs()
    print(f"\ntool calls: {exact} of {cuts} cuts exact ({exact / cuts:.1%})")
    made, kept = score_promises()
    print(f"promises (guessed from prose): {made} in the agents' runs, {kept} open at their end")


if __name__ == "__main__":
    main()
