"""What an agent promises in prose: only guessed, so kept apart from everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langgraph_wyrd.extraction.messages import Message, digest
from langgraph_wyrd.extraction.sentences import MARKS, Phrases, either, plain, sentences
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.state.facts import Fact, Opens, Settles
from langgraph_wyrd.state.model import shortened

_READ = 3000  # characters at the end of what an agent said
_SENTENCES = 60
_LINE = 300
_MOST = 3  # promises of one message

# What can be promised: how it reads before, and how it reads when it was done.
_DEEDS = {
    "get back": "got back|gotten back|getting back",
    "follow up": "followed up|following up",
    "let you know": "",
    "keep you": "",
    "report back": "",
    "come back": "",
    "send": "sent",
    "email": "emailed",
    "forward": "forwarded",
    "share": "shared",
    "post": "posted",
    "submit": "submitted",
    "file": "filed",
    "check": "checked",
    "look into": "looked into",
    "look at": "looked at",
    "investigate": "investigated",
    "review": "reviewed",
    "research": "researched",
    "find out": "found out",
    "update": "updated",
    "notify": "notified",
    "remind": "reminded",
    "contact": "contacted",
    "reach out": "reached out",
    "call": "called",
    "schedule": "scheduled",
    "arrange": "arranged",
    "prepare": "prepared",
    "draft": "drafted",
    "write": "wrote|written",
    "create": "created",
    "add": "added",
    "fix": "fixed",
    "run": "ran|run",
    "test": "tested",
    "deploy": "deployed",
    "book": "booked",
    "order": "ordered",
    "cancel": "cancell?ed",
    "refund": "refunded",
    "process": "processed",
    "escalate": "escalated",
    "monitor": "",
    "continue": "",
}
_SIGNS = ("'ll ", "\u2019ll ", "will ", "going to", "about to")
_SOON = r"(?: also| then| now| just| first| next| definitely| certainly| go ahead and| try to)*"
_PROMISE = Phrases(
    r"(?:^|[,;:] |\band |\bthen |\bbut )(?:i'll|i will|i'm going to|i am going to|i'm about to"
    rf"|we'll|we will){_SOON} ({either(*_DEEDS)})(?!\w)"
)
# Bound to something that the person has to do first, or may ask for: no promise yet.
_UNLESS = Phrases(
    r"\b(?:if|once|when|whenever|unless|as soon as|after|before|until) (?:you|your|we have your)\b"
    r"|\bplease\b|\bprovide\b|\bonce (?:i|we) (?:have|know|get)\b|\bwould you\b|\bcan you\b"
)
_DONE = {
    deed: Phrases(
        r"(?:\b(?:i|we)(?:'ve| have)?(?: now| just| already| also)* "
        r"|\b(?:has|have|is|are|was|were)(?: now| just| already| also| been)+ "
        rf"|^)(?:{past})\b"
    )
    for deed, past in _DEEDS.items()
    if past
}


def promises(view: View) -> Iterator[Fact]:
    """Promises in an agent's words. One is over when the agent plainly reports it as done."""
    if not view.putting or not (found := digest(view)).speaks:
        return
    made: dict[str, Opens] = {}
    open_before = any(loop.kind == "promise" and not loop.resolved for loop in view.previous.loops)
    for channel, _, held in found.news:
        for place, message in held.items():
            if message is None or message.role != "ai" or not message.text:
                continue
            if not open_before and not any(sign in message.text for sign in _SIGNS):
                continue
            said = list(sentences(message.text[-_READ:]))[-_SENTENCES:]
            lines = [plain(each) for each in said]
            yield from _kept(view, channel, message, lines, made)
            if message.calls:  # the sentence before a call is no promise: the call is made
                continue
            for n, (deed, line) in enumerate(_promised(lines)):
                ref = f"{message.id or f'{view.checkpoint_id}/{channel}/{place}'}/{n}"
                source = view.at("promise", channel=channel, message_id=message.id)
                context = {"deed": deed}
                made[ref] = Opens("promise", line, source, ref, context, "heuristic")
    yield from made.values()


def _promised(lines: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for line in lines:
        if "ll " not in line and "going to" not in line and "about to" not in line:
            continue
        if line[-1] in MARKS or _UNLESS.search(line):
            continue
        promise = _PROMISE.search(line)
        if promise:
            found.append((promise.group(1), shortened(line, _LINE)))
    return found[:_MOST]


def _kept(
    view: View, channel: str, message: Message, lines: Sequence[str], made: dict[str, Opens]
) -> Iterator[Fact]:
    """Promises made before that this message reports as done."""
    for ref, promise in list(made.items()):
        if _reported(str(promise.context["deed"]), lines):
            del made[ref]
    for loop in view.previous.loops:
        if loop.kind != "promise" or loop.resolved or loop.source.rule != "promise":
            continue
        if _reported(str(loop.context.get("deed")), lines):
            source = view.at("promise_kept", channel=channel, message_id=message.id)
            yield Settles(("promise",), "reported as done", source, loop.ref)


def _reported(deed: str, lines: Sequence[str]) -> bool:
    done = _DONE.get(deed)
    return done is not None and any(done.search(line) for line in lines)
