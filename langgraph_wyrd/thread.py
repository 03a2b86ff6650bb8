"""One conversation in a person's or a program's hands."""

from __future__ import annotations

from langgraph_wyrd.handle.healed import Healed
from langgraph_wyrd.handle.reading import Reading


class Thread(Reading, Healed):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`."""
