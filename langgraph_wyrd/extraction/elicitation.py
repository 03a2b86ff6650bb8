"""What an MCP server asks in the middle of a tool call: langchain's `mcp_elicitation` interrupt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph_wyrd.extraction.plain import bounded
from langgraph_wyrd.state.model import shortened

_MESSAGE = 300  # characters
_MOST = 8  # questions of one call that are kept
_FIELDS = 6  # fields of a form that the description names


def elicitation(value: Any) -> tuple[str, dict[str, Any], None] | None:
    """What such an interrupt asks in words, and its questions; None for any other value."""
    if not isinstance(value, Mapping) or value.get("type") != "mcp_elicitation":
        return None
    requests = value.get("requests")
    if not isinstance(requests, Sequence) or isinstance(requests, str):
        return None
    asked = [each for each in requests if isinstance(each, Mapping)]
    if not asked:
        return None
    tool = str(value.get("tool_name") or "a tool")
    words = [_words(each) for each in asked[:_MOST]]
    context: dict[str, Any] = {"tool": tool, "requests": [_kept(each) for each in asked[:_MOST]]}
    if len(asked) > _MOST:
        words.append(f"and {len(asked) - _MOST} more")
        context["requests_left_out"] = len(asked) - _MOST
    return shortened(f"{tool} asks: {'; '.join(words)}", _MESSAGE), context, None


def _words(request: Mapping[str, Any]) -> str:
    message = shortened(str(request.get("message") or "an answer is needed")[:2000], _MESSAGE)
    if isinstance(url := request.get("url"), str) and url:
        return f"{message} (open {shortened(url, 200)})"
    fields = _fields(request)
    return f"{message} ({', '.join(fields[:_FIELDS])})" if fields else message


def _fields(request: Mapping[str, Any]) -> list[str]:
    schema = request.get("requested_schema")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    return [str(name)[:60] for name in fields] if isinstance(fields, Mapping) else []


def _kept(request: Mapping[str, Any]) -> dict[str, Any]:
    """A question with what an answer needs: the key that it goes under, and the form's fields."""
    names = ("key", "message", "mode", "url", "requested_schema")
    return {name: bounded(request[name])[0] for name in names if request.get(name) is not None}
