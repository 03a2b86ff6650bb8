"""`completion`: what makes a shell complete our commands and options.

Only words of ours are in it: a thread's name is somebody else's text, which shells may expand.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any, get_args

from langgraph_wyrd.cli.command import FINE, Asked, Command
from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.state.model import LoopKind, Status, TodoStatus

SHELLS = ("bash", "zsh", "fish")
_NAME = "langgraph-wyrd"
_VALUES = {
    ("threads", "--status"): get_args(Status),
    ("loops", "--status"): ("open", "closed", "any"),
    ("todos", "--status"): ("open", *get_args(TodoStatus), "any"),
    ("loops", "--kind"): get_args(LoopKind),
    ("watch", "--kind"): get_args(LoopKind),
    ("ddl", ""): ("postgres", "sqlite"),
    ("completion", ""): SHELLS,
}
_BASH = """\
_langgraph_wyrd() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      NAMES) command="${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$command $before" in
VALUES
    *) case "$command" in
OPTIONS
      "") words="COMMANDS" ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _langgraph_wyrd langgraph-wyrd
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


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
    commands = _commands(parser)
    if shell == "fish":
        return _fish(commands)
    values, options = [], []
    for (name, option), known in _VALUES.items():
        if option:
            values.append(f'    "{name} {option}") words="{" ".join(known)}" ;;')
    for name, (_, given) in commands.items():
        words = (*_VALUES.get((name, ""), ()), *given)
        options.append(f'      {name}) words="{" ".join(words)}" ;;')
    made = _BASH.replace("NAMES", "|".join(commands)).replace("COMMANDS", " ".join(commands))
    made = made.replace("VALUES", "\n".join(values)).replace("OPTIONS", "\n".join(options))
    return made if shell == "bash" else _ZSH + made


def _fish(commands: dict[str, tuple[str, list[str]]]) -> str:
    lines = [f"complete -c {_NAME} -f -n __fish_use_subcommand -a {name} -d '{said}'"
             for name, (said, _) in commands.items()]  # fmt: skip
    for name, (_, options) in commands.items():
        when = f"complete -c {_NAME} -n '__fish_seen_subcommand_from {name}'"
        if words := _VALUES.get((name, "")):
            lines.append(f"{when} -a '{' '.join(words)}'")
        for option in options:
            known = _VALUES.get((name, option), ())
            more = f" -x -a '{' '.join(known)}'" if known else ""
            lines.append(f"{when} -l {option[2:]}{more}")
    return "\n".join(lines) + "\n"


def _commands(parser: ArgumentParser) -> dict[str, tuple[str, list[str]]]:
    """Each command: what it does, and its long options."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            return {name: _described(made) for name, made in action.choices.items()}
    return {}


def _described(parser: Any) -> tuple[str, list[str]]:
    options = [each for action in parser._actions for each in action.option_strings]
    said = (parser.description or "").rstrip(".").replace("'", r"\'")
    return said, [each for each in options if each.startswith("--")]


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", help="bash, zsh or fish; without one, that of $SHELL")


COMMANDS = (Command("completion", "what makes a shell complete these", completion, _arguments),)
