"""One conversation in a person's or a program's hands."""

from __future__ import annotations


class Thread(Comparing, Reading, Verbs, Exporting, Showing):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`."""
