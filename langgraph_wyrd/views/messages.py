"""A conversation: on a terminal, and folded in a cell.

Works on the dicts that `thread.messages(as_dicts=True)` gives. What others wrote is shown with its
control characters and direction marks spelt out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph_wyrd.state.wording import call_text, count
from langgraph_wyrd.views.html import Markup, Part, badge, folded, html, listed, part, tag
from langgraph_wyrd.views.text import Paint, ago, fitted, line, plain, unpainted, width

Message = Mapping[str, Any]
COLOURS = {"user": "blue", "assistant": "violet", "tool": "green", "system": "grey"}
_TEXTS = frozenset(("text", "input_text", "output_text"))
_LINES = 12  # of one message, unless all of it is wanted
_MOST = 40  # messages in a cell
_ARGS = 400  # characters of a call's arguments
_FILE = ("path", "file_path", "filename", "file")  # arguments that name what a tool reads


def text_of(content: Any) -> str:
    """What a message says, of text or of content blocks; other blocks are named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return "" if content is None else json.dumps(content, ensure_ascii=False, default=str)
    said = []
    for block in content:
        if isinstance(block, str):
            said.append(block)
        elif isinstance(block, Mapping):
            text = block.get("text")
            kind = block.get("type")
            said.append(text if kind in _TEXTS and isinstance(text, str) else f"[{kind}]")
    return "\n".join(said)


def messages_text(
    messages: Iterable[Message],
    most: int = 100,
    paint: Paint = unpainted,
    *,
    lines: int | None = _LINES,
) -> list[str]:
    """Who said what, with tool calls and their results. `lines`: of each; None: all of them."""
    said: list[str] = []
    for each in messages:
        if said:
            said.append("")
        said.append(_head(each, most, paint))
        body = wrapped(text_of(each.get("content")), most - 2)
        rest = 0 if lines is None else len(body) - lines
        if rest > 0:
            body = body[:lines]
        said += [f"  {each}".rstrip() for each in body]
        if rest > 0:
            said.append(paint(f"  … {count(rest, 'more line')}", "dim"))
        for call in each.get("tool_calls") or ():
            said.append(paint(fitted(f"  → {_call(call)}", most), "amber"))
    return said


def _head(each: Message, most: int, paint: Paint) -> str:
    role = str(each.get("role") or "other")
    failed = each.get("status") == "error"
    said = paint(fitted(line(role), most), "red" if failed else COLOURS.get(role, "grey"))
    about = "  ".join(filter(None, _about(each)))
    room = most - width(line(role)) - 2
    return f"{said}  {paint(fitted(line(about), room), 'dim')}" if about and room > 3 else said


def _about(each: Message) -> list[str]:
    name, failed = each.get("name"), each.get("status") == "error"
    tokens = (each.get("usage") or {}).get("total_tokens")
    return [
        str(name) if name else "",
        "failed" if failed else "",
        "no longer in the state" if each.get("in_state") is False else "",
        "not in a checkpoint yet" if each.get("pending") else "",
        ago(each.get("ts")) if each.get("ts") else "",
        f"{tokens:,} tokens" if isinstance(tokens, int) else "",
    ]


def _call(call: Mapping[str, Any]) -> str:
    return line(call_text(call.get("name"), call.get("args"), _ARGS))


def wrapped(text: str, most: int) -> list[str]:
    """The lines of a text, broken between words where they are too long."""
    out: list[str] = []
    for given in plain(text).split("\n"):
        now = ""
        for word in given.expandtabs(4).split(" "):
            longer = f"{now} {word}" if now else word
            if width(longer) <= most:
                now = longer
                continue
            if now:
                out.append(now)
            while width(word) > most:
                cut = fitted(word, most).removesuffix("…") or word[:1]
                out.append(cut)
                word = word[len(cut) :]
            now = word
        out.append(now)
    return out


# ---- in a cell


def messages_part(messages: Sequence[Message]) -> Markup | None:
    """A folded section with the newest messages; None if there are none."""
    if not messages:
        return None
    shown = messages[-_MOST:]
    rest = len(messages) - len(shown)
    more = tag("p", f"{count(rest, 'older message')} not shown", class_="w-more") if rest else None
    items = tag("ul", [_item(each) for each in shown])
    return part("Messages", f"{len(messages):,}", more, items, open=False)


def tools_part(messages: Sequence[Message]) -> Markup | None:
    """What an agent did: tools used, files read, the last error. None if it used none."""
    calls = [call for each in messages for call in each.get("tool_calls") or ()]
    if not calls:
        return None
    used = Counter(str(call.get("name")) for call in calls)
    names = ", ".join(name if n == 1 else f"{name} ({n})" for name, n in used.most_common())
    said = [listed("⚒", f"tools used: {line(names, _ARGS)}")]
    if files := ", ".join(dict.fromkeys(path for call in calls for path in _read(call))):
        said.append(listed("▤", f"files read: {line(files, _ARGS)}"))
    failed = next((each for each in reversed(messages) if each.get("status") == "error"), None)
    if failed is not None:
        error = text_of(failed.get("content")).strip()
        said.append(
            listed("✗", f"last error: {failed.get('name') or 'a tool'}: {line(error, 200)}")
        )
    return part("Tools", count(len(calls), "call"), tag("ul", said))


def _read(call: Mapping[str, Any]) -> list[str]:
    """The files that a call of a tool for reading names."""
    args = call.get("args")
    if "read" not in str(call.get("name")).lower() or not isinstance(args, Mapping):
        return []
    return [path for name in _FILE if isinstance(path := args.get(name), str) and path]


def _item(each: Message) -> Markup:
    role = str(each.get("role") or "other")
    colour = "red" if each.get("status") == "error" else COLOURS.get(role, "grey")
    text = text_of(each.get("content"))
    said: list[Part] = [tag("span", folded(text), class_="w-text")] if text.strip() else []
    for call in each.get("tool_calls") or ():
        said.append(tag("div", tag("code", _call(call))))
    about = " · ".join(filter(None, _about(each)))
    small = html(" ", tag("small", line(about, 120), title=each.get("ts"))) if about else None
    return tag("li", tag("div", badge(role, colour)), tag("div", said, small, class_="w-what"))
