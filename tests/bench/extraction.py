"""What the working state adds to a put: extraction, reduce, status. No database, no graph.

python -m tests.bench.extraction            a tool-calling chat, 100 turns of four puts
python -m tests.bench.extraction --profile  with where the time goes
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from time import thread_time
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_wyrd.extraction.due import due, remaining
from langgraph_wyrd.extraction.policy import DEFAULT
from langgraph_wyrd.extraction.registry import Extractors
from langgraph_wyrd.extraction.view import Fresh, View, without_left
from langgraph_wyrd.state.events import Moment
from langgraph_wyrd.state.fold import fold
from langgraph_wyrd.state.model import WorkingState
from langgraph_wyrd.state.pending import advance
from langgraph_wyrd.state.status import with_status

ASKED = (
    "Can you look up order {n} and tell me when it will arrive?",
    "Please check the stock of item {n} in the Berlin warehouse.",
    "What's the refund status of payment {n}?",
    "Find me three hotels near venue {n}, not above 150 euros a night.",
)
ANSWERED = (
    "Order {n} left the warehouse this morning and arrives on Friday between 9 and 12. "
    "The carrier is PostNord; I've sent the tracking link to the address on file.",
    "There are 14 pieces of item {n} in Berlin and 3 more on their way from Hamburg.",
    "The refund of payment {n} was issued yesterday. It takes three to five working days "
    "until the bank shows it.\n\nIs there anything else I can help you with?",
    "I found three:\n\n1. Hotel Anker, 120 euros\n2. Pension Linde, 95 euros\n3. The Harbour, "
    "149 euros\n\nAll of them are within ten minutes' walk of venue {n}.",
)


def chat(turns: int, first: int = 1000) -> Iterator[View]:
    """Four puts a turn: the input, the call, its result, the answer."""
    held: list[BaseMessage] = []
    number = 0
    for turn in range(turns):
        n, which = first + turn, turn % len(ASKED)
        call = {"name": "lookup", "args": {"id": n, "fields": ["state", "date"]}, "id": f"c{n}"}
        messages: list[tuple[BaseMessage, str]] = [
            (HumanMessage(ASKED[which].format(n=n), id=f"h{n}"), "branch:to:model"),
            (AIMessage("", id=f"a{n}", tool_calls=[call]), "branch:to:tools"),
            (
                ToolMessage('{"state": "ok"}', tool_call_id=f"c{n}", name="lookup", id=f"t{n}"),
                "branch:to:model",
            ),
            (AIMessage(ANSWERED[which].format(n=n), id=f"b{n}"), ""),
        ]
        for message, trigger in messages:
            number += 1
            held = [*held, message]
            values: dict[str, Any] = {"messages": held}
            versions: dict[str, Any] = {"messages": f"{number:032d}."}
            if trigger:
                values[trigger] = None
                versions[trigger] = f"{number:032d}."
            yield View(
                f"1f0{number:05x}-0000-6000-8000-000000000000",
                parent_id=f"1f0{number - 1:05x}-0000-6000-8000-000000000000",
                ts=f"2026-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}+00:00",
                source="loop",
                step=number,
                metadata={"source": "loop", "step": number, "run_id": f"run-{turn}"},
                values=values,
                versions=versions,
                changed=frozenset(values),
                fresh={"messages": Fresh(held, (len(held) - 1,))},
            )


def run(turns: int, first: int = 1000) -> tuple[list[float], WorkingState]:
    """The seconds of CPU that each put takes, and the state in the end."""
    views = list(chat(turns, first))
    extractors = Extractors()
    state = WorkingState()
    took: list[float] = []
    for view in views:
        began = thread_time()
        at = Moment(view.checkpoint_id, view.ns, view.ts)
        start = advance(state, (), at)
        previous, found = without_left(start)
        view = replace(view, previous=previous, channels=DEFAULT, found=found)
        facts, _ = extractors(view, "thread")
        state, _ = fold(start, facts, at)
        ahead = remaining(due(view), ())
        with_status(state, due=ahead)
        took.append(thread_time() - began)
    return took, state


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=100)
    options.add_argument("--profile", action="store_true")
    chosen = options.parse_args()
    run(20)  # tables are compiled when they are first needed
    if chosen.profile:
        profile = cProfile.Profile()
        profile.runcall(run, chosen.turns)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return
    rounds = [run(chosen.turns, 10_000 * n)[0] for n in range(1, 16)]  # no text comes twice
    best = [min(each) for each in zip(*rounds, strict=True)]  # what else runs here costs time
    kinds = ("input", "call", "result", "answer")
    each = {kind: median(best[n::4]) * 1e6 for n, kind in enumerate(kinds)}
    print(f"{sum(best) / len(best) * 1e6:.0f} us of CPU a put on average (each the best of 15)")
    print(", ".join(f"{kind} {took:.0f}" for kind, took in each.items()))


if __name__ == "__main__":
    main()
