"""What a model reports of a conversation, and what of it is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from langgraph_wyrd.state.facts import Fact, Opens, Settles, Wants
from langgraph_wyrd.state.model import OpenLoop, WorkingState

RULE = "model"
KINDS = ("question", "request", "promise", "decision", "note")  # what a model may open
READ = "read_by"  # in a state's extra: what a model read last, by author
QUOTE = "quote"  # in a loop's context: the words that it was found in

# Whose items a model may close: no word and nothing seen is taken back by a reader.
_GUESSED = ("model", "heuristic")


@dataclass(frozen=True, slots=True)
class Report:
    """What a model says of messages, as far as its quotes stand in them."""

    facts: tuple[Fact, ...] = ()
    author: str = RULE
    at: str | None = None  # the checkpoint whose messages were read
    most: int = 20  # of the facts, how many may count
    read: str | None = None  # which messages were read, to know them again
    calls: int = 0
    unfounded: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of asking a model about a thread.

    `state` is the thread's working state with it, `facts` what counted. Of what did not,
    `unfounded` has a quote that stands in no message; `left_out` was said before, is known without
    a model, would end what a person, the agent or the graph says is open, or was too much. `calls`
    is how often the model was asked: 0 if nothing was said since the last time.
    """

    state: WorkingState
    facts: tuple[Fact, ...] = ()
    calls: int = 0
    unfounded: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        left = self.unfounded + self.left_out
        return f"{len(self.facts)} found, {left} left out; asked {self.calls} times"


def weighed(report: Report, state: WorkingState, past: Iterable[OpenLoop] = ()) -> Findings:
    """What of a report counts, given a state and loops of its past; not yet in the state.

    What was declared or seen stands as it is, open or closed, and so does what a model said of the
    same words before. Only what was guessed is opened anew, as a model's, or ended.
    """
    loops = {loop.id: loop for loop in (*past, *state.loops)}
    counted: list[Fact] = []
    for fact in report.facts:
        found: Fact | None = None
        if isinstance(fact, Opens):
            found = _opened(fact, loops.values(), counted)
        elif isinstance(fact, Settles):
            loop = loops.get(fact.item or "")
            if loop is not None and not loop.resolved and loop.confidence in _GUESSED:
                found = fact
        elif isinstance(fact, Wants) and state.intention is None:
            found = fact
        if found is not None:
            counted.append(found)
    kept = tuple(counted[: report.most])
    left = len(report.facts) - len(kept)
    return Findings(state, kept, report.calls, report.unfounded, left)


def _opened(fact: Opens, loops: Iterable[OpenLoop], said: Sequence[Fact]) -> Opens | None:
    """The fact, if it is news; a guess that it is about is no guess any more."""
    if any(isinstance(other, Opens) and _same(fact, other) for other in said):
        return None
    for loop in loops:
        if loop.confidence == "model":
            if _same(fact, loop):
                return None
        elif loop.confidence == "heuristic":
            if _together(fact, loop) and _overlap(_of(fact), loop.description):
                return None if loop.resolved else _lifted(fact, loop)
        elif _together(fact, loop) or _same(fact, loop):
            return None
    return fact


def _lifted(fact: Opens, guess: OpenLoop) -> Opens:
    """A guess, with a model's word for it."""
    context = {**guess.context, **fact.context}
    return Opens(fact.kind, fact.description, fact.source, guess.ref, context, fact.confidence)


def _together(fact: Opens, other: OpenLoop) -> bool:
    """Whether they are of one kind, and were found in one message."""
    message = fact.source.message_id
    return fact.kind == other.kind and message is not None and message == other.source.message_id


def _same(fact: Opens, other: OpenLoop | Opens) -> bool:
    """Whether the other one says the same: in the same words, or of the same words."""
    if fact.kind != other.kind:
        return False
    if fact.description == other.description:
        return True
    return fact.source.message_id == other.source.message_id and _overlap(_of(fact), _of(other))


def _of(item: OpenLoop | Opens) -> str:
    return str(item.context.get(QUOTE) or item.description)


def _overlap(one: str, other: str) -> bool:
    """Whether most of the shorter one is in the other."""
    one, other = plain(one), plain(other)
    found = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return found.size > 0.6 * min(len(one), len(other))


def plain(text: str) -> str:
    """Text by which a quote is known again, however it is spaced or written."""
    return " ".join(text.strip().strip("\"'“”„«»…").split()).casefold()
