"""Who is waited for and what is wanted: real threads and our own, message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_wyrd import WorkingState, WyrdSaver, extract
from tests import score, spoken

needs_data = pytest.mark.skipif(not score.DATA.exists(), reason="the data folder is not here")


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "ja", "nl", "pt", "zh"])
def test_our_own_threads(language: str) -> None:
    """After every message it is known who is waited for, for what, and what is wanted.

    The files from "-4" on keep the cuts that are still read wrongly, too: floors for them are
    in `test_reading`.
    """
    wrong = []
    for path in sorted(spoken.FOLDER.glob(f"{language}*.txt")):
        if int(path.stem.partition("-")[2] or 1) > 3:
            continue
        for cut in spoken.cuts(path.stem):
            found = score.read_cut(cut.messages)
            if found != cut.gold:
                wrong.append(f"{cut.name}: {found}, not {cut.gold}")
    assert not wrong, "\n".join(wrong)


@needs_data
def test_labelled_threads() -> None:
    """The figures of the labelled cuts, as they were when pinned."""
    figures = score.score_threads()
    assert figures["who is waited for"].share >= 0.98
    assert figures["questions"].f1 >= 0.97
    assert figures["requests"].f1 >= 0.97
    assert figures["intention"].share >= 0.97


@needs_data
def test_one_message_at_a_time_is_the_whole_list() -> None:
    """`extract` given only the new message finds what it finds given the whole list."""
    for cut in score.threads():
        whole = score.read_cut(cut["messages"])
        assert score.read_cut(cut["messages"], alone=True) == whole, cut["id"]


def test_a_request_with_several_questions_has_a_loop_for_each() -> None:
    """Two questions in one turn are two requests of one message."""
    text = "What does the Pro plan cost? And how many seats does it include?"
    state = extract({"messages": [{"role": "user", "content": text, "id": "m1"}]})
    assert Counter(loop.source.message_id for loop in state.open_loops) == {"m1": 2}
    assert [loop.description for loop in state.open_loops] == [
        "What does the Pro plan cost?",
        "And how many seats does it include?",
    ]


def states(*messages: tuple[str, str]) -> list[WorkingState]:
    found: list[WorkingState] = []
    held: list[dict[str, Any]] = []
    for place, (role, text) in enumerate(messages):
        held.append({"role": role, "content": text, "id": f"m{place}"})
        found.append(extract({"messages": held}, previous=found[-1] if found else None))
    return found


def test_what_was_wanted_stays_known() -> None:
    """Once all is done, nothing is wanted any more; the last aim and its outcome stay."""
    *_, last = states(("user", "Rename the table"), ("assistant", "Renamed."))
    assert last.intention is None
    assert [(aim.text, aim.outcome) for aim in last.intentions] == [
        ("Rename the table", "answered")
    ]
    *_, refused = states(
        ("user", "Delete Bob's account"), ("assistant", "I'm sorry, I can't delete accounts.")
    )
    assert refused.intentions[-1].outcome == "refused"
    *_, over = states(("user", "Export everything"), ("user", "stop"))
    assert over.intentions[-1].outcome == "called off"
    assert over.open_loops == ()


def test_after_a_paste_the_aim_is_what_the_person_says() -> None:
    """Of a log and a sentence below it, the sentence is the aim."""
    log = "\n".join(f"2026-01-01 12:00:{n:02d} ERROR db timeout after 30s" for n in range(40))
    (state,) = states(("user", f"{log}\n\nwhy does this happen every night"))
    assert state.intention is not None
    assert state.intention.text == "why does this happen every night"


@pytest.mark.parametrize(
    "text",
    [
        "Fixed:\n```python\nwhat = ask('Continue?')\n```\nThe prompt is back.",
        "Done. The log said `are you sure?` and now it does not.",
        "> Could you send the invoice?\n\nI answered this mail and archived it.",
        "Here is the draft:\n\nSubject: Invoice\n\nHi Ann,\ncould you send it?\n\nBest,\nBob",
        "Erledigt.\n```\nWeiter? [y/n]\n```",
    ],
)
def test_code_quotes_and_drafts_ask_nobody(text: str) -> None:
    """A question mark in code, in a quote or in a draft is no question to the person."""
    *_, last = states(("user", "Fix the prompt"), ("assistant", text))
    assert [loop.kind for loop in last.open_loops] == []


# ---- live, and by `extract`


def said(message: dict[str, Any]) -> BaseMessage:
    """A labelled message as LangChain has it."""
    text, id = message["content"] or "", message["id"]
    if message["role"] == "user":
        return HumanMessage(text, id=id, name=message.get("name"))
    if message["role"] == "system":
        return SystemMessage(text, id=id)
    if message["role"] == "tool":
        return ToolMessage(text, tool_call_id=message["tool_call_id"], id=id)
    calls = [
        {"name": call["name"], "args": call.get("args") or {}, "id": call["id"]}
        for call in message.get("tool_calls") or ()
    ]
    return AIMessage(text, id=id, name=message.get("name"), tool_calls=calls)


def live(saver: WyrdSaver, thread: str, messages: list[dict[str, Any]]) -> WorkingState:
    """A conversation through a graph on a saver, a checkpoint for each message."""
    builder = StateGraph(MessagesState)
    builder.add_node("talk", lambda state: {})
    builder.add_edge(START, "talk")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": thread}}
    for message in messages:
        graph.update_state(config, {"messages": [said(message)]}, as_node="talk")
    return saver.thread(thread).working_state()


def outcomes(state: WorkingState) -> tuple[Any, ...]:
    """What is open and over, without ids of its own, times and checkpoints."""
    return (
        [
            (loop.kind, loop.ref, loop.description, loop.resolved, loop.outcome, loop.confidence)
            for loop in state.loops
        ],
        [(aim.text, aim.aim, aim.open, aim.outcome) for aim in state.intentions],
        state.title,
    )


def compared(cuts: Iterable[tuple[str, list[dict[str, Any]]]]) -> None:
    with WyrdSaver.from_conn_string("sqlite://") as saver:
        for name, messages in cuts:
            state = WorkingState()
            for place in range(len(messages)):
                state = extract({"messages": messages[: place + 1]}, previous=state)
            assert outcomes(live(saver, name, messages)) == outcomes(state), name


@needs_data
def test_the_saver_reads_what_extract_reads() -> None:
    """Every labelled thread leaves the same loops and aims live and by `extract` on plain dicts."""
    compared((cut["id"], cut["messages"]) for cut in score.threads())


def test_the_saver_reads_our_own_threads_as_extract_does() -> None:
    """The same for conversations in nine languages, as they end."""
    ends: dict[str, list[dict[str, Any]]] = {}
    for cut in spoken.cuts():
        ends[cut.name.rpartition(" ")[0]] = cut.messages
    compared(ends.items())
