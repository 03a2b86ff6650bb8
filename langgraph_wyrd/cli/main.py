"""`langgraph-wyrd`, and `python -m langgraph_wyrd`. Ctrl-C ends it with one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from langgraph_wyrd import __version__

INTERRUPTED = 130  # as a shell says it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given == ["--version"]:
        print(f"langgraph-wyrd {__version__}")
        return 0
    try:
        from langgraph_wyrd.cli import parser  # it imports LangGraph, which takes a second

        return parser.run(given)
    except KeyboardInterrupt:
        with suppress(OSError):
            sys.stdout.flush()
        # A terminal has written ^C, behind a bar or a question.
        begin = "\n" if os.isatty(2) else ""
        os.write(2, f"{begin}langgraph-wyrd: interrupted\n".encode())
        if arguments is None:  # this process is the command, whose threads may wait for a lock
            os._exit(INTERRUPTED)
        return INTERRUPTED
