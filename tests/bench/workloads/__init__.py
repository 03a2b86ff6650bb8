"""The workloads by name, in the order of a full run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..run import Bench
from . import chat, files, forks, history, memory, put, resume, short, start, state, threads

Workload = Callable[[Bench], Awaitable[None]]

WORKLOADS: dict[str, Workload] = {
    "short": short.run,
    "state": state.run,
    "start": start.run,
    "put": put.run,
    "chat": chat.run,
    "memory": memory.run,  # reads what chat has left
    "files": files.plain,
    "deepagents": files.deepagents,
    "threads": threads.run,
    "history": history.run,
    "forks": forks.run,
    "resume": resume.run,  # adds turns to the chat that history reads
}
