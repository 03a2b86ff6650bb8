"""Spans and metrics of a saver, through OpenTelemetry's own SDK."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from typing_extensions import TypedDict

from langgraph_wyrd import WyrdSaver, errors, otel
from tests.conftest import Backend
from tests.damage import at, spoil

Call = Callable[..., Any]
HERE = Path(__file__).parent


class Telemetry:
    """An SDK of a program, and what it was sent."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader])

    def instrument(self, saver: Any) -> Callable[[], None]:
        return otel.instrument(saver, tracer_provider=self.tracers, meter_provider=self.meters)

    def spans(self, name: str = "") -> list[Any]:
        """The spans since the last look."""
        found = self.exporter.get_finished_spans()
        return [span for span in found if not name or span.name == name]

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        data = self.reader.get_metrics_data()
        return [
            (dict(point.attributes), point)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    answer: str


def graph(saver: Any) -> Any:
    def ask(state: State) -> State:
        return {"answer": interrupt("secret question?")}

    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(saver)


async def test_each_call_is_a_span(durable: Backend, call: Call, telemetry: Telemetry) -> None:
    """With the thread as the conversation; events stand on the span in which they happened; no
    value is in any of them."""
    saver = durable.open()
    telemetry.instrument(saver)
    compiled = graph(saver)
    said = {"messages": [("user", "secret words")]}
    await call(compiled, "invoke", said, at("t-7"))
    await call(compiled, "invoke", Command(resume="secret answer"), at("t-7"))
    names = {span.name for span in telemetry.spans()}
    assert names == {"wyrd.put", "wyrd.put_writes", "wyrd.get_tuple"}
    assert {span.attributes["gen_ai.conversation.id"] for span in telemetry.spans()} == {"t-7"}
    puts = telemetry.spans("wyrd.put")
    assert [span.attributes["langgraph.source"] for span in puts] == ["input", "loop", "loop"]
    assert [span.attributes["langgraph.step"] for span in puts] == [-1, 0, 1]
    loads = [span.attributes["langgraph_wyrd.found"] for span in telemetry.spans("wyrd.get_tuple")]
    assert loads == [False, True]
    assert all(
        span.attributes["langgraph_wyrd.writes"] for span in telemetry.spans("wyrd.put_writes")
    )
    # A question is seen at the put or at the task's writes, whichever came last.
    events = {(event.name, span.name) for span in telemetry.spans() for event in span.events}
    assert {name for name, _ in events} == {"wyrd.loop_opened", "wyrd.loop_closed"}
    assert {name for _, name in events} <= {"wyrd.put", "wyrd.put_writes"}
    assert "secret" not in "".join(span.to_json() for span in telemetry.spans())
    counted = {
        (each["langgraph_wyrd.event"], each.get("langgraph_wyrd.kind")): point.value
        for each, point in telemetry.points("langgraph_wyrd.events")
    }
    assert counted["loop_opened", "interrupt"] == 1
    assert counted["loop_closed", "interrupt"] == 1
    took = {
        each["langgraph_wyrd.operation"]: point
        for each, point in telemetry.points("langgraph_wyrd.operation.duration")
    }
    assert took["put"].count == 3
    assert took["put"].sum > 0


async def test_a_list_is_one_span(durable: Backend, call: Call, telemetry: Telemetry) -> None:
    """Over all of its pages, with the number of checkpoints; also one that nobody read to its
    end, and one that raised."""
    saver = durable.open()
    await call(graph(saver), "invoke", {"messages": [("user", "hi")]}, at("t"))
    telemetry.instrument(saver)
    assert len(await call(saver, "list", at("t"))) == 2
    (span,) = telemetry.spans("wyrd.list")
    assert span.attributes["langgraph_wyrd.checkpoints"] == 2
    for found in saver.list(at("t")):
        assert found
        break
    assert telemetry.spans("wyrd.list")[-1].attributes["langgraph_wyrd.checkpoints"] == 1
    assert telemetry.spans("wyrd.list")[-1].status.status_code is StatusCode.UNSET
    with pytest.raises(errors.InvalidInput):
        await call(saver, "list", at("t"), limit="many")
    assert telemetry.spans("wyrd.list")[-1].status.status_code is StatusCode.ERROR


async def test_an_error_is_on_its_span(durable: Backend, call: Call, telemetry: Telemetry) -> None:
    """And counted by its type; it is raised as before."""
    saver = durable.open()
    telemetry.instrument(saver)
    made = {"id": "1", "channel_values": {"x": object()}, "channel_versions": {}, "v": 4,
            "ts": "2026", "versions_seen": {}}  # fmt: skip
    with pytest.raises(errors.Unserialisable):
        await call(saver, "put", at("t"), made, {}, {"x": "1"})
    (span,) = telemetry.spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.events[0].attributes["exception.type"].endswith("Unserialisable")
    (found,) = telemetry.points("langgraph_wyrd.operation.duration")
    assert found[0] == {
        "langgraph_wyrd.operation": "put", "error.type": "Unserialisable"
    }  # fmt: skip


async def test_heals_are_counted(durable: Backend, call: Call, telemetry: Telemetry) -> None:
    """By their kind, on the span of the load that found the damage."""
    saver = durable.open()
    await call(graph(saver), "invoke", {"messages": [("user", "hi" * 500)]}, at("t"))
    saver.close()
    spoil(durable.url, "t")
    saver = durable.open()
    telemetry.instrument(saver)
    await call(saver, "get_tuple", at("t"))
    heals = {
        each["langgraph_wyrd.kind"]: point.value
        for each, point in telemetry.points("langgraph_wyrd.events")
        if each["langgraph_wyrd.event"] == "heal"
    }
    assert heals
    (span,) = telemetry.spans("wyrd.get_tuple")
    assert "wyrd.heal" in [event.name for event in span.events]


def test_langgraph_sees_the_same_saver(sqlite: Backend, telemetry: Telemetry) -> None:
    """Signatures, clones, and what it is an instance of; `end` gives the saver back as it was."""
    saver = sqlite.open()
    end = telemetry.instrument(saver)
    assert isinstance(saver, WyrdSaver)
    for name in ("put", "put_writes", "get_tuple", "list", "get_delta_channel_history"):
        for prefix in ("", "a"):
            ours = inspect.signature(getattr(saver, prefix + name))
            theirs = inspect.signature(getattr(WyrdSaver, prefix + name))
            assert list(ours.parameters) == [each for each in theirs.parameters if each != "self"]
            for each, parameter in ours.parameters.items():
                assert parameter.kind == theirs.parameters[each].kind
                assert parameter.default == theirs.parameters[each].default
    clone = saver.with_allowlist([("a", "B")])
    clone.get_tuple(at("t"))
    assert len(telemetry.spans()) == 1
    copy.copy(saver).get_tuple(at("t"))
    assert len(telemetry.spans()) == 2
    with pytest.raises(errors.InvalidInput, match="instrumented already"):
        telemetry.instrument(saver)
    end()
    end()
    assert type(saver) is WyrdSaver
    saver.get_tuple(at("t"))
    assert len(telemetry.spans()) == 2
    assert not saver.hooks


async def test_a_saver_of_one_user(durable: Backend, call: Call, telemetry: Telemetry) -> None:
    """It is instrumented on its own."""
    saver = durable.open().for_user("ann")
    end = telemetry.instrument(saver)
    config = {"configurable": {"thread_id": "t", "user_id": "ann"}}
    await call(graph(saver), "invoke", {"messages": [("user", "hi")]}, config)
    assert {span.name for span in telemetry.spans()} >= {"wyrd.put", "wyrd.get_tuple"}
    end()
