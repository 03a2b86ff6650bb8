"""All commands in their groups, and what they have in common."""

from __future__ import annotations

import os
import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Sequence

from langgraph_wyrd.cli import (
    carrying,
    changing,
    completing,
    doctoring,
    inspecting,
    looking,
    people,
    serving,
    starting,
    tidying,
    watching,
)
from langgraph_wyrd.cli.command import WRONG, Asked, Command
from langgraph_wyrd.cli.main import version
from langgraph_wyrd.cli.screen import screen
from langgraph_wyrd.errors import SchemaMissing, ThreadNotFound, WyrdError
from langgraph_wyrd.views.plain import line

GROUPS: dict[str, tuple[Command, ...]] = {
    "look": (*looking.COMMANDS, *people.LOOKING, *watching.COMMANDS),
    "answer and close": people.ANSWERING,
    "serve": (*inspecting.COMMANDS, *serving.COMMANDS),
    "go back, branch, copy": changing.COMMANDS,
    "carry": carrying.COMMANDS,
    "look after the database": (*doctoring.COMMANDS, *tidying.COMMANDS),
    "begin": (*starting.COMMANDS, *completing.COMMANDS),
}
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
        command: Command = args.command
        code = command.run(asked)
        sys.stdout.flush()
        return code
    except SchemaMissing as error:
        asked.screen.note(f"langgraph-wyrd: {line(_not_set_up(str(error)))}")
        return WRONG
    except WyrdError as error:
        # On one line, and spelt out: it may repeat what somebody else wrote.
        asked.screen.note(f"langgraph-wyrd: {line(str(error))}")
        return args.command.nobody if isinstance(error, ThreadNotFound) else WRONG
    except KeyboardInterrupt:
        asked.leave()
        raise
    except BrokenPipeError:  # `… | head`: who reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file of the command's, or the disk
        asked.screen.note(f"langgraph-wyrd: {line(str(error))}")
        return WRONG
    finally:
        if not asked.left:
            asked.close()


class _Grouped(ArgumentParser):
    """Its help lists the commands in their groups; argparse knows one list only."""

    def format_help(self) -> str:
        shown = self._get_formatter()
        shown.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        shown.add_text(self.description)
        listed: dict[str, Action] = {}
        for action in self._actions:
            if isinstance(action, _SubParsersAction):
                listed = {each.dest: each for each in action._choices_actions}
        for name, commands in GROUPS.items():
            shown.start_section(name)
            shown.add_arguments([listed[each.name] for each in commands if each.name in listed])
            shown.end_section()
        shown.start_section("options")
        shown.add_arguments([each for each in self._actions if each.option_strings])
        shown.end_section()
        shown.add_text(self.epilog)
        return shown.format_help()


def parser() -> ArgumentParser:
    """What can be asked for: the options that all commands share go before or after its name."""
    top = _Grouped(
        "langgraph-wyrd",
        description=_ABOUT,
        epilog=_END,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _common(top, None)
    top.add_argument("--version", action="version", version=f"langgraph-wyrd {version()}")
    top.set_defaults(parser=top)
    groups = top.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        if command.there:
            made = groups.add_parser(
                command.name,
                prog=f"langgraph-wyrd {command.name}",
                help=command.help,
                description=command.help[0].upper() + command.help[1:] + ".",
                formatter_class=RawDescriptionHelpFormatter,
            )
            _common(made, SUPPRESS)
            command.arguments(made)
            made.set_defaults(command=command)
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
    def off(name: str, help: str) -> None:
        chosen = False if default is None else default
        parser.add_argument(name, action="store_true", default=chosen, help=help)

    parser.add_argument("-u", "--url", default=default, help="the database")
    parser.add_argument("--key-file", metavar="FILE", default=default, help="the store's keys")
    parser.add_argument("--schema", default=default, help="the Postgres schema of the tables")
    off("--json", "data for programs")
    off("--no-color", "no colours (nor with NO_COLOR set, nor into a pipe)")
