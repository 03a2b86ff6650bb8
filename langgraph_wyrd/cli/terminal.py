"""The terminal: how wide it is, whether it shows colours, and what is written to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from langgraph_wyrd.views.lists import page_text
from langgraph_wyrd.views.text import fitted, json_text, plain

_WIDE = 100  # columns where nobody looks
_COLOURS = {
    "red": "31", "green": "32", "amber": "33", "blue": "34", "violet": "35",
    "grey": "2", "dim": "2", "bold": "1",
}  # fmt: skip
_EVERY = 0.1  # seconds between two pictures of a progress bar

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Screen:
    """Where a command writes to. `json`: plain data instead of words."""

    out: TextIO
    err: TextIO
    width: int
    colours: bool
    json: bool

    def paint(self, text: str, colour: str) -> str:
        code = _COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and code and text else text

    def say(self, text: str) -> None:
        print(text, file=self.out)

    def note(self, text: str) -> None:
        """What is not the answer: a hint, a question."""
        print(plain(text), file=self.err)

    def data(self, data: Any, indent: int | None = 2) -> None:
        """A line for each if `indent` is None."""
        text = json_text(data, indent)
        try:
            text.encode(self.out.encoding or "ascii")
        except UnicodeEncodeError:  # a terminal without Unicode
            text = json.dumps(data, indent=indent, default=str)
        self.say(text)

    def page(self, page: Sequence[Any], records: Iterable[dict[str, Any]]) -> int:
        """A list of things; 1 if there are none."""
        if self.json:
            self.data(list(records))
        elif page:
            self.say(page_text(page, self.width, self.paint))
        else:
            self.note("nothing found")
        return 0 if page else 1

    def progress(self, name: str) -> Progress | None:
        """A bar that is drawn over itself; None where nobody looks."""
        if not self.err.isatty():
            return None
        last = [0.0]

        def show(done: int, total: int) -> None:
            now = time.monotonic()
            if now - last[0] < _EVERY and done < total:
                return
            last[0] = now
            share = done / total if total else 1.0
            full = round(24 * share)
            bar = f"{name} {'█' * full}{'░' * (24 - full)} {done:,} of {total:,}"
            end = "\n" if done >= total else ""
            self.err.write("\r\x1b[K" + fitted(bar, self.width - 1) + end)
            self.err.flush()

        return show


def screen(*, as_json: bool = False, colours: bool | None = None) -> Screen:
    """The one that this process has. `NO_COLOR` is respected, `COLUMNS` and `FORCE_COLOR` too."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode
    if colours is None:
        forced = bool(os.environ.get("FORCE_COLOR"))
        dumb = os.environ.get("TERM") == "dumb"
        colours = (forced or (sys.stdout.isatty() and not dumb)) and not os.environ.get("NO_COLOR")
    columns = shutil.get_terminal_size((_WIDE, 24)).columns
    return Screen(sys.stdout, sys.stderr, max(columns, 20), colours, as_json)
