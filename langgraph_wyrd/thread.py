"""One conversation in a person's or a program's hands."""

from __future__ import annotations

from langgraph_wyrd.conversation.of_thread import Conversing
from langgraph_wyrd.handle.asking import Asking
from langgraph_wyrd.handle.comparing import Comparing
from langgraph_wyrd.handle.exporting import Exporting
from langgraph_wyrd.handle.heads import Heads
from langgraph_wyrd.handle.healed import Healed
from langgraph_wyrd.handle.holding import Holding
from langgraph_wyrd.handle.marks import Marks
from langgraph_wyrd.handle.showing import Showing
from langgraph_wyrd.handle.verbs import Verbs


class Thread(
    Conversing, Comparing, Showing, Verbs, Asking, Marks, Heads, Holding, Exporting, Healed
):
    """A thread of a saver. Making one reads nothing; get it from `saver.thread(id)`."""
