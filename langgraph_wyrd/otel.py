"""OpenTelemetry: spans and metrics of a saver's calls, and counts of what happens to threads.

Needs `pip install "langgraph-wyrd[otel]"`, which is OpenTelemetry's API alone: where spans go is up
to the program's own SDK. Nothing of it is imported before `instrument` is called.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from langgraph_wyrd.hooks import Happening

NAME = "langgraph_wyrd"
CONVERSATION = "gen_ai.conversation.id"
# The events that hooks are called with; `save` is counted as a call of `put`.
EVENTS = (
    "heal", "fork", "discard", "resume", "loop_opened", "loop_closed", "edit", "label",
)  # fmt: skip
_TRACED = ("put", "put_writes", "get_tuple", "get_delta_channel_history", "list")


def instrument(
    saver: BaseCheckpointSaver[Any],
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> Callable[[], None]:
    """Trace and measure the calls of one saver; returns what ends that.

    Clones of the saver that LangGraph makes are traced as well. Spans hold ids, counts and kinds,
    never a value of a state or a text of a message.

    Args:
        saver: A `WyrdSaver`, or what its `for_user` gives. Once at a time.
        tracer_provider, meter_provider: Where spans and metrics go; None: the program's own.
    """
    if _is_traced(saver):
        raise InvalidInput("this saver is instrumented already: end that first")
    try:
        telemetry = _Telemetry(tracer_provider, meter_provider)
    except ImportError as error:
        raise MissingExtra(
            'OpenTelemetry is not installed: pip install "langgraph-wyrd[otel]"'
        ) from error
    plain: Any = type(saver)
    methods = {
        name: telemetry.traced(name.removeprefix("a"), getattr(plain, name))
        for each in _TRACED
        for name in (each, f"a{each}")
    }
    names = {"_telemetry": telemetry, "__module__": plain.__module__}
    # A class, and not attributes of the object: a clone has the class, and calls its own methods.
    traced: Any = type(plain.__name__, (plain,), {**methods, **names})
    saver.__class__ = traced
    # A saver of one user refuses hooks: they belong to the saver that it was made of.
    on = getattr(plain, "on", None) if getattr(saver, "_user", None) is None else None
    removers = [] if on is None else [on(saver, event, telemetry.happened) for event in EVENTS]

    def end() -> None:
        while removers:
            removers.pop()()
        if _is_traced(saver):
            saver.__class__ = plain

    return end


def _is_traced(saver: Any) -> bool:
    return "_telemetry" in vars(type(saver))


class _Telemetry:
    """The instruments of one saver and its clones."""

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> None:
        from opentelemetry import metrics, trace

        self._trace = trace
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._duration = meter.create_histogram(
            "langgraph_wyrd.operation.duration", unit="s", description="How long a call took"
        )
        self._events = meter.create_counter(
            "langgraph_wyrd.events", description="What happened to threads, by kind"
        )

    def happened(self, happening: Happening) -> None:
        """Count an event, and note it on the span in which it happened."""
        kinds = {"langgraph_wyrd.event": str(happening.event)}
        kind = happening.detail.get("kind") if happening.loop is None else happening.loop.kind
        if kind is not None:
            kinds["langgraph_wyrd.kind"] = str(kind)
        self._events.add(1, kinds)
        place = {
            CONVERSATION: happening.thread_id,
            "langgraph.checkpoint_ns": happening.ns,
            "langgraph.checkpoint_id": happening.checkpoint_id or "",
        }
        self._trace.get_current_span().add_event(f"wyrd.{happening.event}", {**kinds, **place})

    @contextmanager
    def _span(self, name: str, about: Mapping[str, Any], *, current: bool = True) -> Iterator[Span]:
        """A span of a call, and how long it took; the current one, but for a loop: others run
        between two of its items."""
        span = self._tracer.start_span(f"wyrd.{name}", attributes=about)
        noted = {"langgraph_wyrd.operation": name}
        started = time.perf_counter()
        try:
            with self._trace.use_span(span, False, False, False) if current else nullcontext():
                yield span
        except GeneratorExit:  # a loop that was left
            raise
        except BaseException as error:
            noted["error.type"] = type(error).__qualname__
            span.record_exception(error)
            span.set_status(self._trace.StatusCode.ERROR, noted["error.type"])
            raise
        finally:
            span.end()
            self._duration.record(time.perf_counter() - started, noted)

    def traced(self, name: str, method: Any) -> Any:
        """A method within a span, with its own signature: LangGraph reads it."""
        signature = inspect.signature(method)

        def about(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return _about(signature.bind(*args, **kwargs).arguments)

        def noted(span: Span, found: Any) -> Any:
            if name == "get_tuple":
                span.set_attribute("langgraph_wyrd.found", found is not None)
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            with self._span(name, about(*args, **kwargs)) as span:
                return noted(span, method(*args, **kwargs))

        async def acall(*args: Any, **kwargs: Any) -> Any:
            with self._span(name, about(*args, **kwargs)) as span:
                return noted(span, await method(*args, **kwargs))

        def listed(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with self._span(name, about(*args, **kwargs), current=False) as span:
                for count, found in enumerate(method(*args, **kwargs), 1):
                    span.set_attribute("langgraph_wyrd.checkpoints", count)
                    yield found

        async def alisted(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with self._span(name, about(*args, **kwargs), current=False) as span:
                count = 0
                async for found in method(*args, **kwargs):
                    count += 1
                    span.set_attribute("langgraph_wyrd.checkpoints", count)
                    yield found

        if name == "list":
            return wraps(method)(alisted if inspect.isasyncgenfunction(method) else listed)
        return wraps(method)(acall if inspect.iscoroutinefunction(method) else call)


def _about(given: Mapping[str, Any]) -> dict[str, Any]:
    """A span's attributes: a call's thread, namespace and checkpoint, its metadata, its size."""
    named: Mapping[str, Any] = (given.get("config") or {}).get("configurable") or {}
    found: dict[str, Any] = {}
    if named.get("thread_id") is not None:
        found[CONVERSATION] = str(named["thread_id"])
    for name in ("checkpoint_ns", "checkpoint_id"):
        if named.get(name):
            found[f"langgraph.{name}"] = str(named[name])
    if "writes" in given:
        found["langgraph_wyrd.writes"] = len(given["writes"])
    meta = {each: given.get("metadata", {}).get(each) for each in ("source", "step", "run_id")}
    return found | {f"langgraph.{k}": v for k, v in meta.items() if isinstance(v, str | int)}
