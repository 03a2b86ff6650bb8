"""OpenTelemetry: spans and metrics of a saver's calls, and counts of what happens to threads.

Needs `pip install "langgraph-wyrd[otel]"`, which is OpenTelemetry's API alone: where spans go is up
to the program's own SDK. Nothing of it is imported before `instrument` is called.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph_wyrd.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
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

T = TypeVar("T")


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
        from opentelemetry import metrics, trace
    except ImportError as error:
        raise MissingExtra(
            'OpenTelemetry is not installed: pip install "langgraph-wyrd[otel]"'
        ) from error
    telemetry = _Telemetry(
        trace.get_tracer(NAME, tracer_provider=tracer_provider),
        metrics.get_meter(NAME, meter_provider=meter_provider),
        trace.get_current_span,
    )
    plain: Any = type(saver)
    names = {"_telemetry": telemetry, "__module__": plain.__module__}
    traced: Any = type(plain.__name__, (plain,), {**_methods(plain, telemetry), **names})
    # A class, and not attributes of the object: a clone has the class, and calls its own methods.
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

    def __init__(self, tracer: Any, meter: Any, current: Callable[[], Span]) -> None:
        self._tracer = tracer
        self._current = current
        self._duration = meter.create_histogram(
            "langgraph_wyrd.operation.duration", unit="s", description="How long a call took"
        )
        self._events = meter.create_counter(
            "langgraph_wyrd.events", description="What happened to threads, by kind"
        )

    @contextmanager
    def call(
        self, name: str, config: RunnableConfig | None, about: Mapping[str, Any]
    ) -> Iterator[Span]:
        """A span that is the current one while the call lasts."""
        attributes = {**_place(config), **about}
        started, error = time.perf_counter(), ""
        try:
            with self._tracer.start_as_current_span(f"wyrd.{name}", attributes=attributes) as span:
                yield span
        except BaseException as raised:
            error = type(raised).__qualname__
            raise
        finally:
            self._took(name, started, error)

    @contextmanager
    def pages(self, name: str, config: RunnableConfig | None) -> Iterator[Callable[[], None]]:
        """A span over a loop, which is not the current one: others run between two items."""
        from opentelemetry.trace import Status, StatusCode

        count, started, error = 0, time.perf_counter(), ""
        span = self._tracer.start_span(f"wyrd.{name}", attributes=_place(config))

        def counted() -> None:
            nonlocal count
            count += 1

        try:
            yield counted
        except GeneratorExit:
            raise
        except BaseException as raised:
            error = type(raised).__qualname__
            span.record_exception(raised)
            span.set_status(Status(StatusCode.ERROR, error))
            raise
        finally:
            span.set_attribute("langgraph_wyrd.checkpoints", count)
            span.end()
            self._took(name, started, error)

    def _took(self, name: str, started: float, error: str) -> None:
        attributes = {"langgraph_wyrd.operation": name}
        if error:
            attributes["error.type"] = error
        self._duration.record(time.perf_counter() - started, attributes)

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
        self._current().add_event(f"wyrd.{happening.event}", {**kinds, **place})


def _place(config: RunnableConfig | None) -> dict[str, Any]:
    """Which thread, namespace and checkpoint a config names."""
    named: Mapping[str, Any] = (config or {}).get("configurable") or {}
    found: dict[str, Any] = {}
    if named.get("thread_id") is not None:
        found[CONVERSATION] = str(named["thread_id"])
    for name in ("checkpoint_ns", "checkpoint_id"):
        if named.get(name):
            found[f"langgraph.{name}"] = str(named[name])
    return found


# ---- the methods of an instrumented saver, with the signatures of its own: LangGraph reads them


def _given(args: Sequence[Any], kwargs: Mapping[str, Any], name: str, place: int = 0) -> Any:
    """An argument, by its name or its place."""
    return kwargs[name] if name in kwargs else args[place] if place < len(args) else None


def _about(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What a span of a call tells, beside its place."""
    if name == "put_writes":
        return {"langgraph_wyrd.writes": len(_given(args, kwargs, "writes", 1))}
    metadata = _given(args, kwargs, "metadata", 2) if name == "put" else {}
    found = {each: metadata.get(each) for each in ("source", "step", "run_id")}
    return {f"langgraph.{k}": v for k, v in found.items() if isinstance(v, str | int)}


def _methods(plain: Any, telemetry: _Telemetry) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in ("put", "put_writes", "get_tuple", "get_delta_channel_history"):
        made[name] = _call(getattr(plain, name), name, telemetry)
        made[f"a{name}"] = _acall(getattr(plain, f"a{name}"), name, telemetry)
    own, aown = plain.list, plain.alist

    @wraps(own)
    def listed(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with telemetry.pages("list", _given(args, kwargs, "config")) as counted:
            for found in own(self, *args, **kwargs):
                counted()
                yield found

    @wraps(aown)
    async def alisted(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with telemetry.pages("list", _given(args, kwargs, "config")) as counted:
            async for found in aown(self, *args, **kwargs):
                counted()
                yield found

    return {**made, "list": listed, "alist": alisted}


def _call(method: Any, name: str, telemetry: _Telemetry) -> Any:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        about = _about(name, args, kwargs)
        with telemetry.call(name, _given(args, kwargs, "config"), about) as span:
            return _noted(span, name, method(self, *args, **kwargs))

    return call


def _acall(method: Any, name: str, telemetry: _Telemetry) -> Any:
    @wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        about = _about(name, args, kwargs)
        with telemetry.call(name, _given(args, kwargs, "config"), about) as span:
            return _noted(span, name, await method(self, *args, **kwargs))

    return call


def _noted(span: Span, name: str, found: Any) -> Any:
    if name == "get_tuple":
        span.set_attribute("langgraph_wyrd.found", found is not None)
    return found
