"""`completion`: what makes a shell complete our commands and options, made by shtab."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator

from langgraph_wyrd.cli.command import FINE, Asked, Command
from langgraph_wyrd.errors import InvalidInput, MissingExtra

SHELLS = ("bash", "zsh", "fish")
_FILES = ("url", "key_file", "file", "into")


def completion(asked: Asked) -> int:
    shell = asked.args.shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise InvalidInput(f"completion for which shell? {shell!r} is none of {', '.join(SHELLS)}")
    text = script(asked.args.parser, shell)
    if asked.screen.json:
        asked.screen.data({"shell": shell, "script": text})
    else:
        asked.screen.say(text.rstrip())
    return FINE


def script(parser: ArgumentParser, shell: str) -> str:
    """What the shell is to read."""
    try:
        import shtab
    except ImportError as error:
        raise MissingExtra(
            "completion needs shtab: pip install 'langgraph-wyrd[terminal]'"
        ) from error
    for each in _parsers(parser):
        for action in each._actions:
            if action.dest in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    made: str = shtab.complete(parser, shell)
    return made


def _parsers(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action.choices, dict):
            yield from action.choices.values()


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", help="bash, zsh or fish; without one, that of $SHELL")


COMMANDS = (Command("completion", "what makes a shell complete these", completion, _arguments),)
