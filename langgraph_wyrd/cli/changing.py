"""Commands that change a thread: copies, forks, labels, where it stands."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from langgraph_wyrd.cli.command import (
    Asked,
    Command,
    at_point,
)


def copy(asked: Asked) -> int:
    args = asked.args
    asked.saver.copy_thread(asked.there(args.thread), args.target)
    return asked.done(f"copied {args.thread} to {args.target}", thread_id=args.target)


def label(asked: Asked) -> int:
    args = asked.args
    thread: Any = asked.thread
    made = thread.label(args.name, at=asked.point(args.at))
    said = f"{made.checkpoint_id} is {args.name} now"
    return asked.done(said, name=args.name, checkpoint_id=made.checkpoint_id)


def rewind(asked: Asked) -> int:
    thread: Any = asked.thread
    thread.rewind(asked.point(asked.args.to))
    head = asked.thread.working_state().checkpoint_id
    said = f"{asked.thread_id} stands again where it stood at {asked.args.to}: {head}"
    return asked.done(said, thread_id=asked.thread_id, checkpoint_id=head)


def fork(asked: Asked) -> int:
    args = asked.args
    thread: Any = asked.thread
    thread.fork(args.target, at=asked.point(args.at))
    return asked.done(f"{args.target} goes on from {args.thread}", thread_id=args.target)


# ---- arguments


def _copy(parser: ArgumentParser) -> None:
    parser.add_argument("thread", help="the thread to copy")
    parser.add_argument("target", help="an id that has no checkpoints yet")


def _label(parser: ArgumentParser) -> None:
    parser.add_argument("thread")
    parser.add_argument("name")
    at_point(parser)


def _rewind(parser: ArgumentParser) -> None:
    parser.add_argument("thread")
    parser.add_argument("to", help="a checkpoint id, a label, a time, or a message's id")


def _fork(parser: ArgumentParser) -> None:
    _copy(parser)
    at_point(parser)


COMMANDS = (
    Command("copy", "copy a thread, with its whole past", copy, _copy),
    Command("fork", "a new thread from a point of another", fork, _fork, "thread:Thread.fork"),
    Command("label", "name a checkpoint", label, _label, "thread:Thread.label"),
    Command("rewind", "go on from an older point", rewind, _rewind, "thread:Thread.rewind"),
)
