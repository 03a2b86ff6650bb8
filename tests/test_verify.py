"""A person learns what is damaged and what can be done; a repair does what is proven right."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langgraph_wyrd import errors
from tests.conftest import Backend
from tests.damage import Agent, at, talk


@pytest.fixture
def made(durable: Backend) -> Backend:
    """Two threads; the second waits for a person, and was forked."""
    saver = durable.open()
    talk(saver, "t")
    talk(saver, "u", 2, last="approve this")
    old = list(saver.list(at("u")))[4]
    Agent().build(saver).invoke({"messages": [HumanMessage("forked", id="f")]}, old.config)
    saver.close()
    return durable


def test_a_sound_database_has_no_findings(made: Backend) -> None:
    """Nothing is reported that is as it was written."""
    saver = made.open()
    seen: list[tuple[int, int]] = []
    report = saver.verify(progress=lambda done, total: seen.append((done, total)))
    assert report.ok, str(report)
    assert not report.findings, str(report)
    assert (report.threads, seen) == (2, [(1, 2), (2, 2)])
    assert str(report) == "2 threads verified: no damage"


async def test_pruned_and_rewoven_threads_are_sound(made: Backend) -> None:
    """What went was meant to go."""
    saver = made.open()
    saver.prune(["t"])
    saver.copy_thread("u", "copy")
    saver.reextract("u")
    report = await saver.averify()
    assert report.ok, str(report)
    with pytest.raises(errors.ThreadNotFound):
        saver.verify("nobody")
