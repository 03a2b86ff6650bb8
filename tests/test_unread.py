"""What no extractor has read, or only older ones, is read on first use, never said to be idle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Backend
from langgraph.types import Command

from langgraph_wyrd import Extractors, WyrdSaver
from langgraph_wyrd.extraction import registry
from langgraph_wyrd.state.facts import Opens
from tests.lone import ask, chain, first
from tests.steps import config


def notes(version: int | None) -> Any:
    """An extractor that opens a note for whatever is said; it has a version, or none."""

    def noting(view: Any) -> Iterator[Opens]:
        if view.putting and "said" in view.changed:
            where = view.at("noting", channel="said")
            yield Opens("note", f"noted by {version}", where, ref="noted")

    if version is not None:
        noting.version = version  # type: ignore[attr-defined]
    return noting


def noted(saver: WyrdSaver) -> list[str]:
    state = saver.thread("t").working_state()
    return [loop.description for loop in state.open_loops if loop.kind == "note"]


async def test_read_on_first_use(durable: Backend, call: Any) -> None:
    """Whoever looks at such a thread, or goes on with it, reads all of it first."""
    off, on = durable.open(pillars=False), durable.open()
    for turn, given in enumerate([{"said": ["in"]}, Command(resume="yes"), {"said": ["more"]}]):
        await call(chain(first, ask, checkpointer=off), "invoke", given, config("t"))
        assert [info.status for info in on.threads()] == ["unread"]
        assert [info.status for info in on.threads(status="unread")] == ["unread"]
        assert not on.threads(status=["idle", "done", "interrupted"])
        assert on.open_loops().unread == on.todos(thread_id="t").unread == 1
        assert on.open_loops(thread_id="other").unread == 0
        report = on.verify()
        assert report.ok
        assert "stale" in str(report)
        state = await call(on.thread("t"), "working_state")
        assert state.status == ("idle", "interrupted")[turn != 1] or state.status == "done"
        assert len(state.loops) == (1, 1, 2)[turn]
        assert [info.status for info in on.threads()] == [state.status]
        assert not on.threads(status="unread")
        assert on.open_loops().unread == 0
    await call(chain(first, ask, checkpointer=off), "invoke", Command(resume="yes"), config("t"))
    await call(chain(first, ask, checkpointer=on), "invoke", {"said": ["last"]}, config("t"))
    assert len((await call(on.thread("t"), "working_state")).loops) == 3
    assert on.verify().ok
    assert "stale" not in str(on.verify())


def stored_by(durable: Backend, extractors: Any) -> WyrdSaver:
    saver = durable.open(extractors=extractors)
    chain(first, ask, checkpointer=saver).invoke({"said": ["in"]}, config("t"))
    return saver


def test_an_extractor_was_added(durable: Backend) -> None:
    """A thread that it never read says so, and is read once; one that reads less has no doubt."""
    stored_by(durable, ())
    more, less = durable.open(extractors=[notes(None)]), durable.open()
    assert [info.status for info in more.threads()] == ["unread"]
    assert [info.status for info in less.threads()] == ["interrupted"]
    assert more.open_loops(kind="note").unread == 1
    assert "stale" in str(more.verify())
    assert more.verify().ok
    assert noted(more) == ["noted by None"]
    assert [info.status for info in more.threads()] == ["interrupted"]
    assert more.open_loops(kind="note").unread == 0
    assert noted(less) == ["noted by None"]  # what is read stays
    assert not more.threads(status="unread")


def test_an_extractor_has_a_newer_version(durable: Backend) -> None:
    """What the older version read is read again; the older one takes what the newer one read."""
    old = stored_by(durable, [notes(1)])
    assert noted(old) == ["noted by 1"]
    new = durable.open(extractors=[notes(2)])
    assert new.resume("t").state.status == "interrupted"  # a look like any other
    assert noted(new) == ["noted by 2"]
    assert [info.status for info in old.threads()] == ["interrupted"]
    assert noted(durable.open(extractors=[notes(1)])) == ["noted by 2"]


def test_the_default_extractors_have_a_newer_version(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of any other; threads that are stored from then on are not read twice."""
    stored_by(durable, ())
    monkeypatch.setattr(registry, "VERSION", registry.VERSION + 1)
    new = durable.open()
    assert [info.status for info in new.threads()] == ["unread"]
    chain(first, checkpointer=new).invoke({"said": ["in"]}, config("other"))
    found = {info.thread_id: info.status for info in new.threads()}
    assert found == {"t": "unread", "other": "idle"} or found["other"] == "done"
    assert new.latest(status="interrupted") is None
    assert new.thread("t").working_state().status == "interrupted"
    assert not new.threads(status="unread")


def test_going_on_with_less_is_read_again_with_more(durable: Backend) -> None:
    """What a saver without an extractor stores, the next saver that has it reads."""
    stored_by(durable, [notes(1)])
    less = durable.open(extractors=Extractors(off=["promises"]))
    chain(first, ask, checkpointer=less).invoke(Command(resume="yes"), config("t"))
    for extractors in ((), [notes(1)]):
        saver = durable.open(extractors=extractors)
        assert [info.status for info in saver.threads()] == ["unread"]
        saver.thread("t").working_state()
        assert [info.status for info in saver.threads()] != ["unread"]


def test_a_put_reads_first(durable: Backend) -> None:
    """A run that goes on with such a thread has the whole of it read before it stores anything."""
    stored_by(durable, ())
    saver = durable.open(extractors=[notes(1)])
    chain(first, ask, checkpointer=saver).invoke(Command(resume="yes"), config("t"))
    assert [info.status for info in saver.threads()] != ["unread"]
    assert noted(saver) == ["noted by 1"]
    saver.copy_thread("t", "copied")
    assert {info.status for info in saver.threads()} == {saver.threads()[0].status}
    assert noted(durable.open(extractors=[notes(1)])) == ["noted by 1"]
