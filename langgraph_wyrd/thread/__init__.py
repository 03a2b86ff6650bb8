"""The handle on one thread, in parts: reading, editing, rewinding, messages."""

from langgraph_wyrd.thread.handle import Thread

__all__ = ["Thread"]
