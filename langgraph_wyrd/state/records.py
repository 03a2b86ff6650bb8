"""Items as flat rows, for whatever works with rows: pandas, a CSV file, a table in a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from langgraph_wyrd.errors import MissingExtra
from langgraph_wyrd.state.matching import PILLARS
from langgraph_wyrd.state.model import Due, Source, WorkingState

if TYPE_CHECKING:
    import pandas

_TIMES = ("ts", "opened_at", "changed_at", "closed_at", "created_at", "updated_at")


def record(item: Any) -> dict[str, Any]:
    """An item's fields; where it was seen (`node`, `channel`, …) stands beside them."""
    if not is_dataclass(item):
        return {"value": item}
    out: dict[str, Any] = {}
    for each in fields(item):
        value = getattr(item, each.name)
        if isinstance(value, Source):
            at = {f.name: getattr(value, f.name) for f in fields(Source) if f.name != "extra"}
            out |= {"checkpoint" if name == "checkpoint_id" else name: at[name] for name in at}
        else:
            out[each.name] = _plain(value)
    return {"thread_id": out.pop("thread_id"), **out} if "thread_id" in out else out


def of_state(state: WorkingState) -> list[dict[str, Any]]:
    """All items of a state; `pillar` says of which."""
    found = []
    for pillar in PILLARS:
        for item in getattr(state, pillar):
            found.append({"pillar": pillar, **record(item), "thread_id": state.thread_id})
    return found


def frame(records: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows as a DataFrame."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra(
            "a DataFrame needs pandas: pip install 'langgraph-wyrd[notebook]' "
            "(to_records() gives the same rows without)"
        ) from error
    made: pandas.DataFrame = pandas.DataFrame(list(records))
    for name in made.columns.intersection(list(_TIMES)):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601", errors="coerce")
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Due):
        return value.node
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(each) for each in value]
    return value
