"""What an agent says of its work in so many words: calls of the tools of `WyrdMiddleware`.

The tools write nothing themselves. Their calls stand in the messages, and are read here as any
other signal is; what they said stays known when the messages are summarised or trimmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph_wyrd.extraction.conversation import ended
from langgraph_wyrd.extraction.messages import Call, Digest, Message, digest
from langgraph_wyrd.extraction.owed import (
    BOOKKEEPING,
    CLOSE_LOOP,
    NOTE_DECISION,
    OPEN_LOOP,
    SET_INTENTION,
)
from langgraph_wyrd.extraction.plain import bounded
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.state.facts import PASSING, Drops, Fact, Opens, Settles, Wants
from langgraph_wyrd.state.model import LoopKind, OpenLoop, Source, shortened

AUTHOR = "agent"
_TEXT = 500
_REF = 120
_UNDONE = ("rejected", "failed")  # what was said in such a call was never said


def declared(view: View) -> Iterable[Fact]:
    """Loops, decisions and aims that the agent opened, closed or set by calling a tool."""
    if not view.putting:
        return ()
    found = digest(view)
    return () if found.calls.isdisjoint(BOOKKEEPING) and not found.fails else _declared(view, found)


def opens(name: str, call: str | None, args: Any) -> tuple[LoopKind, str, str] | None:
    """The kind, ref and words of the loop that such a call opens; None if it opens none."""
    if not isinstance(args, Mapping) or name not in (OPEN_LOOP, NOTE_DECISION):
        return None
    kind: LoopKind = "note" if name == OPEN_LOOP else "decision"
    said = _said(args, "description" if name == OPEN_LOOP else "decision")
    ref = _said(args, "id", _REF) or call
    return (kind, ref, said) if said and ref else None


def closable(loop: OpenLoop) -> bool:
    """Whether an agent may say that this is settled: not what only the graph can settle."""
    return not loop.resolved and loop.kind != "interrupt" and loop.source.rule not in PASSING


def _declared(view: View, found: Digest) -> Iterator[Fact]:
    for news in found.news:
        walk = _Walk(view, news.channel)
        for _, message in news.messages():
            if message.calls or message.results:
                yield from walk.message(message)


class _Walk:
    """The new messages of one list, in order."""

    def __init__(self, view: View, channel: str) -> None:
        self.view = view
        self.channel = channel
        self.made: dict[str, tuple[LoopKind, str]] = {}  # opened here, by ref and by call
        self.told: dict[str, dict[str, Any]] = {}  # of decisions, by ref

    def message(self, message: Message) -> Iterator[Fact]:
        for call in message.calls:
            if (
                call.name in BOOKKEEPING
                and call.malformed is None
                and isinstance(call.args, Mapping)
            ):
                yield from self._call(call, call.args, self._source(message, call.id))
        for result in message.results:
            if result.failed and ended(result)[0] in _UNDONE:
                yield from self._undone(result.call, self._source(message, result.call))

    def _source(self, message: Message, call: str | None) -> Source:
        return self.view.at(
            "declared",
            channel=self.channel,
            message_id=message.id,
            tool_call_id=call,
            author=AUTHOR,
        )

    def _call(self, call: Call, args: Mapping[str, Any], source: Source) -> Iterator[Fact]:
        made = opens(call.name, call.id, args)
        if made is not None:
            kind, ref, said = made
            self.made[ref] = self.made[call.id or ref] = kind, ref
            told = {
                key: bounded(args[key], _TEXT)[0]
                for key in ("rationale", "action", "context")
                if args.get(key)
            }
            if kind == "decision":  # said again, with its outcome, it keeps its rationale
                told = self.told[ref] = {**self._before(ref), **told}
            yield Opens(kind, said, source, ref, told, "declared")
            if kind == "decision" and (came := _said(args, "outcome")):
                yield Settles((kind,), came, source, ref)
        elif call.name == CLOSE_LOOP and (id := _said(args, "id", _REF)):
            yield from self._close(id, _said(args, "outcome") or "closed", source)
        elif call.name == SET_INTENTION and isinstance(args.get("intention"), str):
            said = _said(args, "intention")
            yield Wants(said, "explicit", source, "declared") if said else Drops("explicit", source)

    def _before(self, ref: str) -> Mapping[str, Any]:
        """What was said of a decision that is open."""
        if ref in self.told:
            return self.told[ref]
        for loop in self.view.previous.loops:
            if loop.kind == "decision" and loop.ref == ref and not loop.resolved:
                return loop.context
        return {}

    def _close(self, id: str, outcome: str, source: Source) -> Iterator[Fact]:
        if id in self.made:
            kind, ref = self.made[id]
            yield Settles((kind,), outcome, source, ref)
            return
        for loop in (*self.view.previous.loops, *self.view.found.get("left", ())):
            if id in (loop.id, loop.ref, loop.source.tool_call_id) and closable(loop):
                yield Settles((loop.kind,), outcome, source, loop.ref, loop.id)

    def _undone(self, call: str, source: Source) -> Iterator[Fact]:
        """A call that was rejected, or that its tool refused."""
        if call in self.made:
            kind, ref = self.made[call]
            yield Settles((kind,), "the call failed", source, ref)
        for loop in self.view.previous.loops:
            if not loop.resolved and _is_of(loop.source, call):
                yield Settles((loop.kind,), "the call failed", source, loop.ref, loop.id)
        for aim in self.view.previous.intentions:
            if aim.open and _is_of(aim.source, call):
                yield Drops("explicit", source)


def _is_of(source: Source, call: str) -> bool:
    return source.rule == "declared" and source.tool_call_id == call


def _said(args: Mapping[str, Any], key: str, most: int = _TEXT) -> str:
    said = args.get(key)
    return shortened(said[: 4 * most], most) if isinstance(said, str) else ""
