"""Commands that change what is kept: copies, labels, heads, pruning, derived tables."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from langgraph_wyrd.show.plain import count, line
from langgraph_wyrd.terminal.command import (
    FINE,
    NOTHING,
    Asked,
    Command,
    at_point,
    confirmed,
)


def copy(asked: Asked) -> int:
    args = asked.args
    asked.saver.copy_thread(args.thread, args.target)
    return _done(asked, f"copied {args.thread} to {args.target}", thread_id=args.target)


def prune(asked: Asked) -> int:
    args = asked.args
    what = "everything of" if args.delete else "all but the newest checkpoint of"
    if not asked.sure(f"Delete {what} {count(len(args.threads), 'thread')}?"):
        return NOTHING
    tell = asked.screen.progress("prune")
    for n, thread_id in enumerate(args.threads, 1):
        asked.saver.prune([thread_id], strategy="delete" if args.delete else "keep_latest")
        if tell is not None:
            tell(n, len(args.threads))
    return _done(asked, f"pruned {count(len(args.threads), 'thread')}", threads=args.threads)


def reweave(asked: Asked) -> int:
    read = [0]
    bar = asked.screen.progress("reweave")

    def tell(done: int, total: int) -> None:
        read[0] = done
        if bar is not None:
            bar(done, total)

    asked.saver.reweave(asked.args.thread, progress=tell)
    return _done(asked, f"read {count(read[0], 'checkpoint')} anew", checkpoints=read[0])


def label(asked: Asked) -> int:
    args = asked.args
    thread: Any = asked.thread
    made = thread.label(args.name, at=asked.point(args.at))
    said = f"{made.checkpoint_id} is {args.name} now"
    return _done(asked, said, name=args.name, checkpoint_id=made.checkpoint_id)


def rewind(asked: Asked) -> int:
    thread: Any = asked.thread
    thread.rewind(asked.point(asked.args.to))
    head = asked.thread.working_state().checkpoint_id
    said = f"{asked.thread_id} stands again where it stood at {asked.args.to}: {head}"
    return _done(asked, said, thread_id=asked.thread_id, checkpoint_id=head)


def fork(asked: Asked) -> int:
    args = asked.args
    thread: Any = asked.thread
    thread.fork(args.target, at=asked.point(args.at))
    return _done(asked, f"{args.target} goes on from {args.thread}", thread_id=args.target)


def _done(asked: Asked, said: str, **data: Any) -> int:
    if asked.screen.json:
        asked.screen.data(data)
    else:
        asked.screen.say(line(said))
    return FINE


# ---- arguments


def _copy(parser: ArgumentParser) -> None:
    parser.add_argument("thread", help="the thread to copy")
    parser.add_argument("target", help="an id that has no checkpoints yet")


def _prune(parser: ArgumentParser) -> None:
    parser.add_argument("threads", nargs="+", metavar="thread")
    parser.add_argument("--delete", action="store_true", help="the whole thread")
    confirmed(parser)


def _reweave(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", help="one thread; without one, all of them")


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
    Command("prune", "delete what threads no longer need", prune, _prune),
    Command("reweave", "read the pillars anew out of the checkpoints", reweave, _reweave),
)
