"""A LangGraph checkpointer on SQLite and Postgres that stores what a step changed."""

from langgraph_wyrd import errors
from langgraph_wyrd.errors import WyrdError
from langgraph_wyrd.saver import WyrdSaver

__all__ = ["WyrdError", "WyrdSaver", "errors"]
