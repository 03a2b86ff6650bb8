"""What each checkpoint added in bytes: nothing is counted twice, nothing is left out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_wyrd import WyrdSaver
from langgraph_wyrd.plans.weights import Weights, weights
from langgraph_wyrd.views.thread import MOST
from tests.conftest import Backend
from tests.outside import raw

pytestmark = pytest.mark.inside

TABLES = ("checkpoints", "splices", "writes", "events")
TALK: Any = {"configurable": {"thread_id": "talk"}}


class Talk(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    notes: dict[str, Any]


def talked(saver: WyrdSaver, turns: int = 4) -> Any:
    """A chat with a subgraph; each turn's answer is longer than the one before."""

    def answer(state: Talk) -> Talk:
        n = len(state["messages"])
        return {"messages": [("ai", "word " * 100 * n)], "notes": {str(n): "noted " * n}}

    inner = StateGraph(Talk)
    inner.add_node("answer", answer)
    inner.add_edge(START, "answer")
    outer = StateGraph(Talk)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=saver)
    for n in range(turns):
        graph.invoke({"messages": [("human", f"question {n}")]}, TALK)
    return graph


def found(saver: WyrdSaver, thread_id: str = "talk", limit: int = 5000) -> Weights:
    thread = saver.thread(thread_id)
    return thread._read(partial(weights, thread._codec, thread_id, limit))


def held(saver: WyrdSaver, thread_id: str = "talk") -> int:
    """The bytes of a thread as `size_report` counts them, a table at a time."""
    tables = saver.size_report().threads[thread_id]
    return sum(tables[name].bytes for name in TABLES if name in tables)


def total(weighed: Weights) -> int:
    return weighed.before + sum(each.bytes for each in weighed.each)


def test_every_byte_is_somebodys(saver: WyrdSaver) -> None:
    """All checkpoints together weigh what the thread does: with forks, subgraphs and copies."""
    graph = talked(saver)
    past = [each.config for each in graph.get_state_history(TALK)]
    graph.invoke({"messages": [("human", "another way")]}, past[-4])  # a fork
    saver.copy_thread("talk", "copy")
    for thread_id in ("talk", "copy"):
        weighed = found(saver, thread_id)
        assert weighed.before == 0
        assert total(weighed) == held(saver, thread_id)
        assert {each.ns for each in weighed.each} > {""}
        assert all(each.bytes > 0 for each in weighed.each)
        ids = [each.checkpoint_id for each in weighed.each]
        assert ids == sorted(ids)
    assert len(found(saver).each) == len(list(saver.list(TALK)))


def test_it_is_the_checkpoint_that_brought_it(saver: WyrdSaver) -> None:
    """A long answer weighs on its checkpoint, and on the one before, which holds the task's write
    of it; nowhere else."""

    def answer(state: Talk) -> Talk:
        return {"messages": [("ai", "".join(chr(33 + hash(str(n)) % 90) for n in range(25_000)))]}

    builder = StateGraph(Talk)
    builder.add_node("quiet", lambda state: {"notes": {"a": 1}})
    builder.add_node("answer", answer)
    builder.add_node("after", lambda state: {"notes": {"b": 2}})
    builder.add_edge(START, "quiet")
    builder.add_edge("quiet", "answer")
    builder.add_edge("answer", "after")
    builder.compile(checkpointer=saver).invoke({"messages": [("human", "go")]}, TALK)
    heavy = [each.checkpoint_id for each in found(saver).each if each.bytes > 20_000]
    newest = saver.thread("talk").history()
    (at,) = [n for n, each in enumerate(newest) if each.nodes == ("answer",)]
    assert heavy == [newest[at + 1].checkpoint_id, newest[at].checkpoint_id]


def test_of_a_long_thread_the_newest_are_looked_at(saver: WyrdSaver) -> None:
    """What all before them brought is one sum."""
    talked(saver)
    everything, newest = found(saver), found(saver, limit=8)
    assert len(newest.each) == 7, "all but the first of each namespace"
    assert newest.each[-3:] == everything.each[-3:]
    assert newest.before > 0
    metadata = saver.size_report().threads["talk"]["checkpoints"].bytes
    assert total(everything) - metadata <= total(newest) <= total(everything)
    saver.prune(["talk"], strategy="keep_latest")
    assert total(found(saver)) == held(saver)


def test_a_damaged_frame_is_no_end(durable: Backend) -> None:
    """What can't be read takes nothing; the cell is shown, and the sum stays what it was."""
    with durable.open() as saver:
        talked(saver)
        before = total(found(saver))
        (row,) = saver.thread("talk").history(limit=1)
    with raw(durable.url) as database:
        query = f"SELECT strand, seq FROM wyrd_checkpoints WHERE id = '{row.checkpoint_id}'"
        strand, seq = database.execute(query).fetchall()[0]
        database.execute(
            f"UPDATE wyrd_splices SET sum = 1, chain = 1 WHERE strand = {strand} AND seq = {seq}"
        )
    with durable.open() as saver:
        assert total(found(saver)) <= before
        assert len(found(saver).each) > 5
        assert "Over time" in saver.thread("talk")._repr_html_()


async def test_it_is_in_the_picture_and_beside_the_checkpoints(saver: WyrdSaver) -> None:
    """`plot()` says how many bytes there are; a cell, what came with each checkpoint."""
    talked(saver)
    made = saver.thread("talk").plot()
    assert made == await saver.thread("talk").aplot()
    assert made.text.endswith(" kB")
    assert ">bytes</text>" in made.svg
    html = saver.thread("talk")._repr_html_()
    entries = saver.thread("talk").history(limit=MOST)
    assert html.count('<small class="w-nowrap">+') == len(entries) > 5
