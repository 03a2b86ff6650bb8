"""How well conversations are read, on text that nobody of this project wrote.

    python -m tests.score            figures, and what remains wrong by kind of case
    python -m tests.score --show 20  with examples

The rules were developed on the even lines of the dialogues; the odd lines show whether they hold.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_wyrd import extract
from langgraph_wyrd.extraction.conversation import conversation
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import WorkingState
from tests.spoken import cuts as own_cuts

_ABOVE = [folder / "shared" / "data" for folder in Path(__file__).parents[2:]]
DATA = next(filter(Path.is_dir, _ABOVE), _ABOVE[0])  # a worktree may lie deeper

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


def states(messages: Iterable[Any], *, delta: bool = False) -> Iterator[WorkingState]:
    """The working state after each message, as if each came with a checkpoint of its own."""
    state, held = WorkingState(), []
    for n, message in enumerate(messages):
        held.append(message)
        new = Fresh([message], [0], complete=False) if delta else Fresh(list(held), [n])
        at = f"{n:06d}"
        view = View(at, fresh={"messages": new}, changed=frozenset(["messages"]), previous=state)
        state, _ = fold(state, conversation(view), Moment(at, "", f"2026-01-01T00:00:{n:06d}"))
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


# ---- labelled cuts of agents' threads


@dataclass
class Share:
    """How many of the cuts are right."""

    right: int = 0
    cuts: int = 0

    def add(self, right: bool) -> None:
        self.right += right
        self.cuts += 1

    @property
    def share(self) -> float:
        return self.right / max(self.cuts, 1)

    def __str__(self) -> str:
        return f"{self.share:.3f} ({self.right} of {self.cuts})"


Reader = Callable[[list[dict[str, Any]]], dict[str, Any]]


def threads() -> Iterator[dict[str, Any]]:
    yield from _lines("agent_threads.jsonl", None)


def read_cut(messages: list[dict[str, Any]], *, alone: bool = False) -> dict[str, Any]:
    """What a cut's messages leave open, read one by one with `extract`.

    `alone`: each message is given by itself, not the list up to it.
    """
    state = WorkingState()
    for place, message in enumerate(messages):
        held = [message] if alone else messages[: place + 1]
        state = extract({"messages": held}, previous=state)
    return read_state(state)


def read_state(state: WorkingState) -> dict[str, Any]:
    """A state in the terms of the labels."""
    by_kind: dict[str, list[str]] = {}
    for loop in state.open_loops:
        held = by_kind.setdefault(loop.kind, [])
        if loop.source.message_id is not None and loop.source.message_id not in held:
            held.append(loop.source.message_id)
    who = "nobody"
    if "question" in by_kind or "interrupt" in by_kind:
        who = "person"
    elif "tool_call" in by_kind or "task" in by_kind:
        who = "tool"
    elif "request" in by_kind:
        who = "agent"
    aim = state.intention
    return {
        "waits_for": who,
        "questions": by_kind.get("question", []),
        "requests": by_kind.get("request", []),
        "intention": None if aim is None else aim.source.message_id,
    }


def baseline(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The trivial reading: the last message, its question mark, the last long wish."""
    last = messages[-1]
    answered = {each.get("tool_call_id") for each in messages}
    calls = [call["id"] for each in messages for call in each.get("tool_calls") or ()]
    waiting = [call for call in calls if call not in answered]
    asks = last["role"] == "assistant" and (last["content"] or "").rstrip().endswith(
        ("?", "\uff1f")
    )
    said = [each["id"] for each in messages if each["role"] == "user"]
    long = [
        each["id"]
        for each in messages
        if each["role"] == "user" and len(each["content"] or "") > 20
    ]
    owed = last["role"] != "assistant" or bool(waiting)
    who = "person" if asks else "tool" if waiting else "agent" if owed else "nobody"
    return {
        "waits_for": who,
        "questions": [last["id"]] if asks else [],
        "requests": said[-1:] if owed or asks else [],
        "intention": long[-1] if long else None,
    }


def score_cuts(
    cuts: Iterable[tuple[list[dict[str, Any]], dict[str, Any]]], reader: Reader = read_cut
) -> dict[str, Any]:
    """The four figures over messages and what they are labelled with."""
    who, aim = Share(), Share()
    figures = {"questions": Figure(), "requests": Figure()}
    for messages, gold in cuts:
        found = reader(messages)
        who.add(found["waits_for"] == gold["waits_for"])
        aim.add(found["intention"] == gold["intention"])
        for name, figure in figures.items():
            got, want = set(found[name]), set(gold[name])
            figure.right += len(got & want)
            figure.extra += len(got - want)
            figure.missed += len(want - got)
    return {"who is waited for": who, **figures, "intention": aim}


def labelled(source: str | None = None) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """The labelled cuts, all or of one source."""
    for cut in threads():
        if source is None or cut["source"] == source:
            yield cut["messages"], _plain(cut["gold"])


def _plain(gold: dict[str, Any]) -> dict[str, Any]:
    ids = {name: [each["message"] for each in gold[name]] for name in ("questions", "requests")}
    aim = gold["intention"]
    return {
        "waits_for": gold["waits_for"],
        **ids,
        "intention": None if aim is None else aim["message"],
    }


def score_threads(reader: Reader = read_cut) -> dict[str, Any]:
    return score_cuts(labelled(), reader)


def _shown(figure: Any) -> str:
    return f"{figure.share:.3f}" if isinstance(figure, Share) else f"{figure.f1:.3f}"


def report_threads() -> None:
    """Every figure next to the trivial baseline: labelled cuts, our own by language."""
    ours, trivial = score_threads(), score_threads(baseline)
    print("labelled cuts of agents' threads (trivial baseline in brackets)")
    for name, figure in ours.items():
        print(f"  {name:18} {figure}  ({_shown(trivial[name])})")
    worst = dict.fromkeys(ours, 1.0)
    sources = sorted({cut["source"] for cut in threads()})
    for source in sources:
        for name, figure in score_cuts(labelled(source)).items():
            nothing = isinstance(figure, Figure) and not (
                figure.right or figure.extra or figure.missed
            )
            value = figure.share if isinstance(figure, Share) else figure.f1
            worst[name] = worst[name] if nothing else min(worst[name], value)
    print(f"  the worst of {len(sources)} sources, each looked at alone:")
    print("   ", ", ".join(f"{name} {value:.2f}" for name, value in worst.items()))
    print("conversations of our own, by language (trivial baseline in brackets)")
    by_language: dict[str, list[Any]] = {}
    for cut in own_cuts():
        by_language.setdefault(cut.language, []).append((cut.messages, cut.gold))
    for language, cuts in [*by_language.items(), ("all", [*chain(*by_language.values())])]:
        ours, trivial = score_cuts(cuts), score_cuts(cuts, baseline)
        shown = (f"{name} {_shown(ours[name])} ({_shown(trivial[name])})" for name in ours)
        print(f"  {language:4}{len(cuts):4} cuts  {', '.join(shown)}")


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


def main() -> None:
    report_threads()
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


if __name__ == "__main__":
    main()
