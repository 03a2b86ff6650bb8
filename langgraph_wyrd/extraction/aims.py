"""What an agent is after, where a channel says it: goals, plans, rubrics, the limit of steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph_wyrd.extraction.messages import digest
from langgraph_wyrd.extraction.plain import as_text, bounded, unwrapped
from langgraph_wyrd.extraction.todos import entries
from langgraph_wyrd.extraction.view import View
from langgraph_wyrd.state.facts import Drops, Fact, Listed, Opens, Settles, Todos, Wants
from langgraph_wyrd.state.model import LoopKind, shortened

_AIM = 1000  # characters of an intention
_TEXT = ("text", "goal", "intention", "objective", "content", "description", "title", "name")
_STEPS = ("steps", "plan", "items", "tasks", "todos")
_RUBRIC = ("rubric", "_active_rubric")
_VERDICT = frozenset(("_rubric_status", "_rubric_evaluations"))
# Said by langgraph's prebuilt agent in place of an answer.
_OUT_OF_STEPS = "Sorry, need more steps to process this request."


def aims(view: View) -> Iterable[Fact]:
    """Explicit aims: channels such as `goal`, and the rubric that says when work is done."""
    if not view.putting:
        return ()
    named = view.channels.aims
    touched = view.changed | view.gone if view.gone else view.changed
    if touched.isdisjoint(named) and touched.isdisjoint(_RUBRIC):
        return ()
    changed = [name for name in named if name in touched and not view.channels.left_out(name)]
    rubric = not (touched.isdisjoint(_RUBRIC) or view.channels.left_out("rubric"))
    return _aims(view, changed, rubric) if changed or rubric else ()


def _aims(view: View, changed: list[str], rubric: bool) -> Iterator[Fact]:
    dropped = False
    for name in changed:
        value = unwrapped(view.values.get(name))
        steps = plan_of(name, value)
        if steps is not None:
            yield Todos(
                f"channel:{name}",
                (*_past(view, name, steps), *steps),
                view.at("plan", channel=name),
                "declared",
            )
        elif text := aim_text(value):
            yield Wants(text, "explicit", view.at("aim", channel=name), "declared")
        elif _was_plan(view, name):
            yield Todos(f"channel:{name}", _past(view, name, ()), view.at("plan", channel=name))
        elif _held(view, name):
            yield Drops("explicit", view.at("aim", channel=name))
            dropped = True
    if rubric:
        text = aim_text(view.values.get("rubric")) or aim_text(view.values.get("_active_rubric"))
        if text:
            yield Wants(text, "explicit", view.at("rubric", channel="rubric"), "declared")
        elif _held(view, *_RUBRIC):
            yield Drops("explicit", view.at("rubric", channel="rubric"))
            dropped = True
    if dropped:  # another channel may still hold one
        for name in view.channels.aims:
            if name in changed or view.channels.left_out(name):
                continue
            value = view.values.get(name)
            if plan_of(name, value) is None and (text := aim_text(value)):
                yield Wants(text, "explicit", view.at("aim", channel=name), "declared")
                return


def _held(view: View, *names: str) -> bool:
    """Whether what the agent is after now came from one of these channels."""
    return any(
        each.aim == "explicit" and each.open and each.source.channel in names
        for each in view.previous.intentions
    )


def _was_plan(view: View, name: str) -> bool:
    return any(todo.tracker == f"channel:{name}" for todo in view.previous.todos)


def plan_of(name: str, value: Any) -> tuple[Listed, ...] | None:
    """The steps, if the channel holds a list of them."""
    value = unwrapped(value)
    if isinstance(value, Mapping) or (value is not None and hasattr(value, "__dict__")):
        held = value if isinstance(value, Mapping) else vars(value)
        value = next((held[key] for key in _STEPS if isinstance(held.get(key), list)), None)
    if isinstance(value, list | tuple) and value:
        return entries(value) or None
    if isinstance(value, str) and name == "plan" and value.count("\n") and _bulleted(value):
        return entries(value) or None
    return None


def _bulleted(text: str) -> bool:
    lines = [line.lstrip() for line in text[:20_000].splitlines() if line.strip()]
    return all(line[:2] in ("- ", "* ", "• ") or line[:1].isdigit() for line in lines)


def _past(view: View, name: str, steps: Iterable[Listed]) -> tuple[Listed, ...]:
    """Steps that left the plan because they were done: `past_steps` pairs each with its result."""
    done = view.values.get("past_steps")
    if name != "plan" or not isinstance(done, list) or not done:
        return ()
    names = {
        shortened(str(each[0])[:2000], 500)
        for each in done[-50:]
        if isinstance(each, list | tuple) and each
    }
    still = {each.content for each in steps}
    return tuple(
        Listed(todo.content, "completed", todo.priority, todo.ref, todo.extra)
        for todo in view.previous.todos
        if todo.tracker == "channel:plan" and todo.content in names and todo.content not in still
    )


def aim_text(value: Any) -> str | None:
    """An aim in words; None if there is none."""
    value = unwrapped(value)
    if isinstance(value, str):
        return shortened(value[: 4 * _AIM], _AIM) or None
    if value is None or value == [] or value == {} or value is False:
        return None
    held = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if isinstance(held, Mapping):
        for key in _TEXT:
            if isinstance(text := held.get(key), str) and text.strip():
                return shortened(text[: 4 * _AIM], _AIM)
    return as_text(value, _AIM)


# ---- how it goes


def rubric(view: View) -> Iterable[Fact]:
    """What a grader found missing: an error where grading is over, else a note of the gaps."""
    if not view.putting or view.changed.isdisjoint(_VERDICT):
        return ()
    return _verdict(view)


def _verdict(view: View) -> Iterator[Fact]:
    status = view.values.get("_rubric_status")
    source = view.at("rubric_verdict", channel="_rubric_status")
    newest = _newest(unwrapped(view.values.get("_rubric_evaluations")))
    ref = f"rubric {newest.get('grading_run_id')}"
    kind: LoopKind | None = None
    if status in ("needs_revision", "failed", "max_iterations_reached", "grader_error"):
        kind = "note" if status == "needs_revision" else "error"
    for loop in view.previous.loops:
        if loop.source.rule != "rubric_verdict" or loop.resolved or loop.ref is None:
            continue
        if (loop.kind, loop.ref) != (kind, ref):
            yield Settles((loop.kind,), str(status or "graded anew"), source, loop.ref)
    if kind is None:
        return
    gaps = _gaps(newest)
    said = "; ".join(f"{gap['name']}: {gap['gap']}" for gap in gaps)
    said = said or as_text(newest.get("explanation") or "", 300)
    words = "the grader failed" if status == "grader_error" else f"rubric not met ({status})"
    context: dict[str, Any] = {"status": status, "gaps": gaps}
    if isinstance(iteration := newest.get("iteration"), int):
        context["iteration"] = iteration
    description = shortened(f"{words}: {said}" if said else words, 500)
    yield Opens(kind, description, source, ref, context)


def _newest(evaluations: Any) -> Mapping[str, Any]:
    if isinstance(evaluations, list) and evaluations and isinstance(evaluations[-1], Mapping):
        return evaluations[-1]
    return {}


def _gaps(evaluation: Mapping[str, Any]) -> list[dict[str, Any]]:
    criteria = evaluation.get("criteria")
    if not isinstance(criteria, list):
        return []
    return [
        {"name": as_text(each.get("name") or "", 200), "gap": bounded(each.get("gap"), 300)[0]}
        for each in criteria
        if isinstance(each, Mapping) and each.get("passed") is False
    ][:20]


def steps(view: View) -> Iterable[Fact]:
    """An agent that gave up because its steps were used up, and said so."""
    return _gave_up(view) if view.putting and digest(view).speaks else ()


def _gave_up(view: View) -> Iterator[Fact]:
    for channel, fresh, held in digest(view).news:
        last = held[fresh.places[-1]]
        if last is not None and last.text == _OUT_OF_STEPS:
            yield Opens(
                "truncated",
                "the agent ran out of steps before it had an answer",
                view.at("step_limit", channel=channel, message_id=last.id),
                last.id,
            )
