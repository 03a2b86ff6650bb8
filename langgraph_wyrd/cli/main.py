"""`langgraph-wyrd`, and `python -m langgraph_wyrd`: what needs no database is said at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from langgraph_wyrd import interrupted


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    given = sys.argv[1:] if arguments is None else [*arguments]
    if given == ["--version"]:
        print(f"langgraph-wyrd {version()}")
        return 0
    try:
        from langgraph_wyrd.cli import parsing  # it imports LangGraph, which takes a second

        interrupted.loaded()
        return parsing.run(given)
    except KeyboardInterrupt:
        with suppress(OSError):
            sys.stdout.flush()
        sys.stderr.flush()
        interrupted.say()
        if arguments is None:  # this process is the command
            interrupted.leave()
        return interrupted.CODE


def version() -> str:
    from importlib import metadata

    return metadata.version("langgraph-wyrd")
