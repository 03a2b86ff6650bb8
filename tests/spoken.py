"""Conversations of our own in nine languages (`tests/threads/`), and how they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "threads"
_LINE = re.compile(
    r"(?P<who>[PAT])(?:\[(?P<tools>[\w,]+)\])? ?(?P<text>.*?)(?: ?=> (?P<state>.*))?"
)


@dataclass
class Cut:
    """A conversation up to a message, and what is open after it."""

    name: str
    language: str
    messages: list[dict[str, Any]]
    gold: dict[str, Any]


def cuts(*languages: str) -> Iterator[Cut]:
    """Every cut of every conversation; of some languages only, if they are named."""
    for path in sorted(FOLDER.glob("*.txt")):
        if not languages or path.stem in languages:
            yield from _cuts(path)


def _cuts(path: Path) -> Iterator[Cut]:
    for number, block in enumerate(path.read_text(encoding="utf-8").split("\n\n"), 1):
        messages: list[dict[str, Any]] = []
        title = ""
        waiting: list[str] = []
        for line in block.strip().splitlines():
            if line.startswith("#"):
                title = line[1:].strip()
                continue
            parts = _LINE.fullmatch(line)
            assert parts is not None, f"{path.name}: {line}"
            place = len(messages) + 1
            text = parts["text"].replace("\\n", "\n")
            message: dict[str, Any] = {"id": f"m{place}", "content": text}
            if parts["who"] == "P":
                message["role"] = "user"
            elif parts["who"] == "T":
                message.update(role="tool", tool_call_id=waiting.pop(0))
            else:
                message["role"] = "assistant"
                if parts["tools"]:
                    calls = [
                        {"id": f"c{place}{'abcd'[n]}", "name": name, "args": {}}
                        for n, name in enumerate(parts["tools"].split(","))
                    ]
                    message["tool_calls"] = calls
                    waiting += [call["id"] for call in calls]
            messages.append(message)
            if parts["state"] is None:
                continue  # nobody asks after this message
            yield Cut(
                f"{path.stem} {number} {title} m{place}",
                path.stem.partition("-")[0],
                list(messages),
                _gold(parts["state"], f"m{place}"),
            )


def _gold(state: str, id: str) -> dict[str, Any]:
    who, *rest = state.split()
    requests = [f"m{each[1:]}" for each in rest if each[0] == "r"]
    aims = [f"m{each[1:]}" for each in rest if each[0] == "i"]
    return {
        "waits_for": who,
        "questions": [id] if who == "person" else [],
        "requests": requests,
        "intention": aims[0] if aims else None,
    }
