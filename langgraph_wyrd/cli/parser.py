"""All commands in their groups, the options that they share, and completion (by shtab)."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence

from langgraph_wyrd import __version__
from langgraph_wyrd.cli import database, threads  # noqa: F401 - they declare commands
from langgraph_wyrd.cli.command import (
    FINE,
    GROUPS,
    WRONG,
    Asked,
    Command,
    argument,
    command,
    screen,
)
from langgraph_wyrd.errors import (
    InvalidInput,
    MissingExtra,
    SchemaMissing,
    ThreadNotFound,
    WyrdError,
)
from langgraph_wyrd.views.text import line

SHELLS = ("bash", "zsh", "fish")
_FILES = ("url", "key_file", "file", "into")


@command(
    "begin", "completion", "what makes a shell complete these",
    argument("shell", nargs="?", help="bash, zsh or fish; without one, that of $SHELL"),
)  # fmt: skip
def completion(asked: Asked) -> int:
    shell = asked.args.shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise InvalidInput(f"completion for which shell? {shell!r} is none of {', '.join(SHELLS)}")
    text = script(asked.args.parser, shell)
    return asked.show(text.rstrip(), {"shell": shell, "script": text})


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
            action.help = None  # shtab leaves out what help does not list
            yield from action.choices.values()


COMMANDS: tuple[Command, ...] = tuple(each for group in GROUPS.values() for each in group)
_ABOUT = "What LangGraph agents were doing, as WyrdSaver has stored it."
_END = """\
The database is --url, or the environment's WYRD_URL: sqlite:///agents.db, a
path, postgresql://…
An encrypted one is read with the keys in --key-file, or in the environment's
WYRD_KEYS (`id=base64` a line, the newest last); one that LangGraph's AES key
encrypts, with it (LANGGRAPH_AES_KEY).

exit codes: 0 fine, 1 nothing found, 2 an error, 130 interrupted"""


def run(arguments: Sequence[str]) -> int:
    """Run a command; its exit code."""
    top = parser()
    args = top.parse_args(arguments)
    if "command" not in args:
        top.print_help(sys.stderr)
        top.exit(WRONG)
    asked = Asked(args, screen(as_json=args.json, colours=False if args.no_color else None))
    try:
        code: int = args.command.run(asked)
        sys.stdout.flush()
    except KeyboardInterrupt:
        asked.leave()
        raise
    except BrokenPipeError:  # `… | head`: who reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FINE
    except (WyrdError, OSError) as error:  # OSError: a file of the command's, or the disk
        said = _not_set_up(str(error)) if isinstance(error, SchemaMissing) else str(error)
        # On one line, and spelt out: it may repeat what somebody else wrote.
        asked.screen.note(f"langgraph-wyrd: {line(said)}")
        code = args.command.nobody if isinstance(error, ThreadNotFound) else WRONG
    asked.close()
    return code


def parser() -> ArgumentParser:
    """What can be asked for: the options that all commands share go before or after its name."""
    groups = "\n\n".join(
        "\n".join([f"{name}:", *(f"  {each.name:<21} {each.help}" for each in commands)])
        for name, commands in GROUPS.items()
    )  # argparse knows one list only
    top = ArgumentParser(
        "langgraph-wyrd",
        usage="langgraph-wyrd [options] COMMAND …",
        description=f"{_ABOUT}\n\n{groups}",
        epilog=_END,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _common(top, None)
    top.add_argument("--version", action="version", version=f"langgraph-wyrd {__version__}")
    top.set_defaults(parser=top)
    commands = top.add_subparsers(metavar="COMMAND", help=SUPPRESS)
    for each in COMMANDS:
        made = commands.add_parser(
            each.name,
            prog=f"langgraph-wyrd {each.name}",
            help=each.help,
            description=each.help[0].upper() + each.help[1:] + ".",
            epilog=each.epilog,
            formatter_class=RawDescriptionHelpFormatter,
        )
        _common(made, SUPPRESS)
        for names, how in each.arguments:
            made.add_argument(*names, **how)
        made.set_defaults(command=each)
    return top


def _not_set_up(error: str) -> str:
    """What to do where there are no tables: nobody asked for what a command opens a saver with."""
    what, asked, _ = error.partition(', and setup="never"')
    if not asked:
        return error
    return (
        f"{what}: a WyrdSaver makes them on its first use, and `langgraph-wyrd adopt` does where "
        "LangGraph's own saver stored threads"
    )


def _common(parser: ArgumentParser, default: str | None) -> None:
    add, off = parser.add_argument, False if default is None else default
    add("-u", "--url", default=default, help="the database")
    add("--key-file", metavar="FILE", default=default, help="the store's keys")
    add("--schema", default=default, help="the Postgres schema of the tables")
    add("--json", action="store_true", default=off, help="data for programs")
    colours = "no colours (nor with NO_COLOR set, nor into a pipe)"
    add("--no-color", action="store_true", default=off, help=colours)
