"""Ctrl-C while the command `langgraph-wyrd` still loads ends it as it does later: with one line.

Only for a process that is the command: in all others, signals are not our affair.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_SCRIPTS = ("langgraph-wyrd", "langgraph-wyrd.exe", "langgraph-wyrd-script.py")
CODE = 130  # as a shell says it


def say() -> None:
    # A terminal has written ^C, behind a bar or a question.
    begin = "\n" if os.isatty(2) else ""
    os.write(2, f"{begin}langgraph-wyrd: interrupted\n".encode())


def leave() -> NoReturn:
    """At once: a process that ends as usual waits for its threads, and they for a lock."""
    os._exit(CODE)


def _leave(number: int, frame: FrameType | None) -> None:
    say()
    leave()


def loaded() -> None:
    """From here on the command itself catches it."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command(words: list[str]) -> bool:
    if "-m" in words:
        return words[words.index("-m") + 1 :][:1] == ["langgraph_wyrd"]
    return any(os.path.basename(word) in _SCRIPTS for word in words)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command(
    sys.orig_argv[: len(sys.orig_argv) - len(getattr(sys, "argv", ())) + 1]
):
    signal.signal(signal.SIGINT, _leave)
