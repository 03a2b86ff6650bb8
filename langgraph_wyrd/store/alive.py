"""The cores of this process: closed when it ends, standing still while it forks."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Protocol


class Alive(Protocol):
    """A core's thread and loop."""

    thread: threading.Thread

    def finish(self, timeout: float | None = None) -> None: ...
    def pause(self, timeout: float) -> bool: ...
    def resume(self) -> None: ...


_alive: set[Alive] = set()
_inherited: list[Alive] = []  # a parent's: finalising them in a child would disturb it
_paused: list[Alive] = []


def enter(running: Alive) -> None:
    _alive.add(running)


def leave(running: Alive) -> None:
    _alive.discard(running)


@atexit.register
def _close_forgotten() -> None:
    """A script that forgets to close still leaves its database tidy, and exits."""
    for running in list(_alive):
        running.finish(timeout=10)


def _before_fork() -> None:
    for running in list(_alive):
        if running.thread is not threading.current_thread() and running.pause(timeout=10):
            _paused.append(running)


def _after_fork_in_parent() -> None:
    while _paused:
        _paused.pop().resume()


def _after_fork_in_child() -> None:
    _inherited.extend(_alive)
    _alive.clear()
    _paused.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
