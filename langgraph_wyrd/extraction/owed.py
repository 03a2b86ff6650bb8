"""What is open at a place of a walk through messages: requests, questions, and what is wanted.

Facts are added as messages open and settle; a later message of the same walk may take one back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph_wyrd.extraction.messages import Message, read
from langgraph_wyrd.extraction.sentences import Form
from langgraph_wyrd.extraction.todos import CHANNEL, entries
from langgraph_wyrd.extraction.view import Fresh, View
from langgraph_wyrd.state.facts import Drops, Fact, Opens, Resumes, Settles, Wants
from langgraph_wyrd.state.model import FINISHED, Confidence, LoopKind, OpenLoop, Source

CALLS: tuple[LoopKind, ...] = ("tool_call", "task", "malformed_call")
# The tools of `WyrdMiddleware`: they say what the agent does, and do nothing themselves.
OPEN_LOOP, CLOSE_LOOP = "open_loop", "close_loop"
SET_INTENTION, NOTE_DECISION = "set_intention", "note_decision"
BOOKKEEPING = frozenset((OPEN_LOOP, CLOSE_LOOP, SET_INTENTION, NOTE_DECISION))
WAITED: tuple[Form, ...] = ("asks", "follows", "proposes", "instead")  # for an answer
OPEN: tuple[Form, ...] = (*WAITED, "offers")
LINE = 300  # characters of a description
AIM = 500
MOST_PARTS = 5  # questions of one message that are loops of their own
REST = "rest"  # a request of which an answer left something out
GREETING = "greeting"  # a request that any words of the agent answer
ASIDE = "aside"  # a request that leaves what was wanted as it is
DELIVERED = "answered at length"
OVER = (DELIVERED, "refused", "called off")  # after these a question is a new aim
LOOKED_BACK = 40  # messages, to see how the agent's last turn ended
_GIVEN_UP = ("refused", "called off")


class Waiting:
    """A request or a question that is open at this place of a walk.

    `index` is its fact where this walk opened it, `loop` what it is in the state before.
    """

    __slots__ = ("form", "index", "loop", "ref", "text")

    def __init__(
        self, ref: str | None, text: str, form: str, index: int | None, loop: OpenLoop | None
    ) -> None:
        self.ref = ref
        self.text = text
        self.form = form
        self.index = index
        self.loop = loop


class Owed:
    """What is open at a place of a walk through messages. `facts` has None where one was taken
    back."""

    def __init__(self, view: View, channel: str) -> None:
        self.view = view
        self.channel = channel
        self.whose = view.whose()
        self.node = view.node()
        self.facts: list[Fact | None] = []
        self.calls: dict[str, tuple[int, str]] = {}  # open here: id -> fact, tool
        self.failed: dict[str, list[int]] = {}  # open here: tool -> facts
        self.loose: dict[str, list[int]] = {}  # facts that a later message takes back, by sort
        self.undo: dict[int, tuple[list[Waiting], Waiting]] = {}  # what a fact had closed
        self.skipped = False  # old messages were passed
        self.known: dict[str, list[OpenLoop]] = {}  # open before this walk, by kind
        self.used_tools = False
        for loop in view.previous.loops:
            if loop.kind in CALLS:
                self.used_tools = True
            if loop.closed_at is None and loop.closed_in is None:
                self.known.setdefault(loop.kind, []).append(loop)
        self.requests = [waiting(loop) for loop in self.known.get("request", ())]
        self.questions = [waiting(loop) for loop in self.known.get("question", ())]
        self.wanted = False  # whether anything was ever wanted
        self.aim = False  # whether something is wanted now
        for each in view.previous.intentions:
            if each.confidence != "model":
                self.wanted = True
            if each.closed_at is None and each.closed_in is None and each.aim == "request":
                self.aim = self.aim or each.source.ns == view.ns
        self.ended: list[tuple[Waiting, Fact | None]] | None = None  # what the last answer closed
        self.handed_over: bool | None = None  # whether the last answer was a long one
        self.called: list[str] = []  # tools, since a question was asked back
        self.wish: str | None = None  # what was wanted last

    def _source(self, rule: str, message: Message, call: str | None = None) -> Source:
        view = self.view
        return Source(
            view.checkpoint_id, view.ns, self.node, self.channel, message.id, None, call, rule,
            None, {}, *self.whose,
        )  # fmt: skip

    def _add(self, fact: Fact, sort: str | None = None) -> int:
        if sort is not None:
            self.loose.setdefault(sort, []).append(len(self.facts))
        self.facts.append(fact)
        return len(self.facts) - 1

    def _take_back(self, *sorts: str) -> None:
        for sort in sorts:
            for index in self.loose.pop(sort, ()):
                self._without(index)

    def _without(self, index: int) -> None:
        self.facts[index] = None
        held = self.undo.pop(index, None)
        if held is not None and held[1] not in held[0]:
            held[0].append(held[1])

    def _open_before(self, kind: LoopKind) -> Sequence[OpenLoop]:
        """The loops of a kind that were open before this walk."""
        return self.known.get(kind, ())

    def _again(self, kind: LoopKind, ref: str | None, sort: str) -> None:
        """If this loop was open before, its message is read once more: what settled all of its
        kind, further up, was before it."""
        if sort in self.loose and any(loop.ref == ref for loop in self._open_before(kind)):
            self._take_back(sort)

    def _opens(
        self, kind: LoopKind, ref: str | None, text: str, source: Source, form: str = ""
    ) -> None:
        """A request or a question, unless it is known to be open."""
        held = self.requests if kind == "request" else self.questions
        context = {"form": form} if form not in ("", "asks") else {}
        confidence: Confidence = "heuristic" if form == "offers" else "structural"
        self._again(kind, ref, "replies" if kind == "request" else "answers")
        index = self._add(Opens(kind, text, source, ref, context, confidence), kind)
        for each in held:
            if each.ref == ref:
                return
        held.append(Waiting(ref, text, form, index, None))

    def _settle(
        self, held: list[Waiting], outcome: str, source: Source, sort: str,
        which: Iterable[Waiting] | None = None,
    ) -> None:  # fmt: skip
        """Close some of what is open, or all. What this walk opened leaves no trace."""
        kind: LoopKind = "request" if held is self.requests else "question"
        for each in list(held if which is None else which):
            held.remove(each)
            if each.index is not None:
                self.facts[each.index] = None
            if each.loop is not None:
                fact = Settles((kind,), outcome, source, each.ref, each.loop.id)
                self.undo[self._add(fact, sort)] = (held, each)

    def _aims(self, message: Message, line: str, source: Source) -> None:
        """What the agent is after from now on."""
        self.wanted = self.aim = True
        self.wish = line
        self._take_back("drops")
        if line and not self._is_aim(message.id, line):
            self._add(Wants(line, "request", source), "wants")

    def _drops(self, outcome: str, source: Source) -> None:
        """Nothing is wanted any more, unless steps of the agent's own plan are left."""
        if self.aim and (outcome in _GIVEN_UP or not self._has_steps()):
            self.aim = False
            self._add(Drops("request", source, outcome), "drops")

    def _resume(self, source: Source) -> None:
        """What was wanted last is wanted again."""
        if self.wanted:
            self.aim = True
            index = self.loose.get("drops", [])
            if index:
                self._take_back("drops")
            else:
                self._add(Resumes("request", source), "wants")

    def _has_steps(self) -> bool:
        view = self.view
        if CHANNEL in view.changed:
            return any(each.status not in FINISHED for each in entries(view.values.get(CHANNEL)))
        if not view.previous.todos:
            return False
        return any(todo.confidence != "heuristic" for todo in view.previous.open_todos)

    def _is_aim(self, id: str | None, text: str) -> bool:
        """Whether this message is known as an aim: a list may come again as a whole."""
        for aim in self.view.previous.intentions:
            if aim.source.message_id == id and aim.text == text:
                return id is not None
        return False

    def _agent_spoke_last(self, place: int, fresh: Fresh) -> bool:
        """Whether the last words before this walk are the agent's. Of a list that is not at hand
        nobody knows: then they are."""
        if not fresh.complete:
            return True
        for at in range(place - 1, max(place - LOOKED_BACK, 0) - 1, -1):
            message = read(fresh.values[at])
            if message is not None and message.role in ("ai", "human") and message.text.strip():
                return message.role == "ai" and not message.calls
        return False


def waiting(loop: OpenLoop) -> Waiting:
    """A loop of the state before."""
    form = loop.context.get("form", "")
    return Waiting(loop.ref, loop.description, form, None, loop)
