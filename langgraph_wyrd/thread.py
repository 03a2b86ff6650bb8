"""One conversation in a person's or a program's hands."""

from __future__ import annotations

from langgraph_wyrd.handle.heads import Heads
from langgraph_wyrd.handle.marks import Marks
from langgraph_wyrd.handle.reading import Reading


class Thread(Reading, Marks, Heads):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`."""
