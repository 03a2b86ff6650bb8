"""Who speaks in a human message: a person, a summary, a program that dresses as one."""

from __future__ import annotations

import re
from typing import NamedTuple

from langgraph_wyrd.extraction.messages import Message
from langgraph_wyrd.extraction.patterns import late

_PROGRAMS = ("lc_source", "deepagents_notification", "read_file_tool_call_id")
_NUDGES = ("_nudge", "_guard", "_preference", "_progress_budget")  # names that profiles give
_TEXT = 1500  # characters of a summary that are kept
_READ = 40_000
_STEP = 300
_MOST_STEPS = 50
_WITHIN = late(r"<summary>\s*(.*?)\s*(?:</summary>|\Z)", re.S)
_LEAD = "Here is a summary of the conversation to date:"
_HEADING = late(r"^#{1,4}[ \t]*(.+?)[ \t#:]*$", re.M)
_ENTRY = late(r"^([ \t]*)(?:[-*+•]|\d+[.)])[ \t]+(?:\[[ xX]?\][ \t]*)?(.+)$", re.M)
_NONE = late(r"\W*(?:none|n/?a|nothing|no (?:further|remaining|next) \w+)\b[^\n]{0,40}\W*\Z", re.I)


class Summary(NamedTuple):
    """`steps` is None where the summary has no such section."""

    text: str
    intent: str | None
    steps: list[str] | None


def is_person(message: Message) -> bool:
    """Whether a real person (or whoever calls the agent) says this."""
    if message.role != "human":
        return False
    extra = message.extra
    if extra and any(extra.get(key) for key in _PROGRAMS):
        return False
    return message.name is None or not message.name.endswith(_NUDGES)


def is_summary(message: Message) -> bool:
    return message.extra.get("lc_source") == "summarization" and bool(message.text)


def speaks_for_parent(ns: str) -> bool:
    """Whether the first words in a namespace come from the agent that called it."""
    return ":" in ns.rsplit("|", 1)[-1]


def shown(message: Message) -> str:
    """What a message without words is."""
    return f"({', '.join(message.blocks[:5])})" if message.blocks else "(empty)"


def summary(text: str) -> Summary:
    """The summary itself, without what wraps it, and two of its sections."""
    text = text[:_READ]
    within = _WITHIN.search(text)
    if within:
        text = within.group(1)
    text = text.strip().removeprefix(_LEAD).strip()
    intent: str | None = None
    steps: list[str] | None = None
    headings = list(_HEADING.finditer(text))
    for n, heading in enumerate(headings):
        stop = headings[n + 1].start() if n + 1 < len(headings) else len(text)
        body = text[heading.end() : stop].strip()
        title = heading.group(1).strip("* ").casefold()
        if title == "session intent":
            intent = None if not body or _NONE.match(body) else body
        elif title == "next steps":
            steps = [] if not body or _NONE.match(body) else _entries(body)
    kept = text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
    return Summary(kept, intent, steps)


def _entries(body: str) -> list[str]:
    """The entries of a list, without those below them; of plain text, its paragraphs."""
    found = list(_ENTRY.finditer(body))
    if found:
        least = min(len(each.group(1)) for each in found)
        lines = [each.group(2) for each in found if len(each.group(1)) == least]
    else:
        lines = [part for part in re.split(r"\n\s*\n", body) if part.strip()]
    return [" ".join(line.split())[:_STEP] for line in lines[:_MOST_STEPS]]
