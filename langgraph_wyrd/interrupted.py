"""Ctrl-C while the command `langgraph-wyrd` still loads ends it as it does later: with one line.

Only for a process that is the command: in all others, signals are not our affair.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_SCRIPTS = ("langgraph-wyrd", "langgraph-wyrd.exe", "langgraph-wyrd-script.py")
CODE = 130  # as a shell says it
SAID = "langgraph-wyrd: interrupted\n"


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, SAID.encode())
    os._exit(CODE)


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
