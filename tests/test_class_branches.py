"""The small branches of values that are rebuilt, or kept as they are stored."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import importlib.abc
import re
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_wyrd import Kept, Migration
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.types import classes, rebuild
from langgraph_wyrd.types.kept import ARGUMENTS, FIELDS, METHOD, ONE_ARGUMENT, PYDANTIC_V2
from langgraph_wyrd.types.migrations import Classes
from tests.user_classes import app

SERDE = JsonPlusSerializer()
CODEC = Codec(SERDE)
GONE = ("nowhere.at_all", "Gone", {"goal": "ship"})


def ext(code: int, *held: Any) -> bytes:
    """One msgpack extension, as the serializer packs an object."""
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(held)))


def load(packed: bytes, codec: Any = CODEC) -> Any:
    return codec.load("msgpack", packed)


def again(value: Any) -> bytes:
    """A value as it is stored again."""
    return CODEC.dump(value, "c")[1]


# ---- modules


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("said", ["raise ValueError('no')", "raise SystemExit(1)"])
def test_a_module_that_can_not_be_imported(folder: Path, said: str) -> None:
    """Its class is gone; whoever loads goes on."""
    (folder / "broken_app.py").write_text(f"class Plan: ...\n{said}\n")
    packed = ext(FIELDS, "broken_app", "Plan", {"goal": "ship"})
    kept = load(packed)
    assert isinstance(kept, Kept)
    assert "can't be imported" in kept.kept_why
    assert again(kept) == packed


def test_a_package_that_is_imported_already(folder: Path) -> None:
    """A module of it is found as any other; one that is none is not."""
    package = folder / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = "import dataclasses\n@dataclasses.dataclass\nclass Plan:\n    goal: str\n"
    (package / "plans.py").write_text(source)
    __import__("some_package")
    packed = ext(FIELDS, "some_package.plans", "Plan", {"goal": "ship"})
    assert load(packed).goal == "ship"
    assert not isinstance(load(packed), Kept)
    for module in ("some_package.none", "some_package.plans.inner", "json.none"):
        assert isinstance(load(ext(FIELDS, module, "Plan", {"goal": "ship"})), Kept)


def test_what_is_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said so; and the standard library is not looked through because a row names it."""
    assert "is no class" in load(ext(ONE_ARGUMENT, "os", "system", "true")).kept_why
    monkeypatch.delitem(sys.modules, "imaplib", raising=False)
    kept = load(ext(FIELDS, "imaplib", "IMAP4", {"host": "nowhere"}))
    assert "no module imaplib that defines IMAP4" in kept.kept_why
    assert "imaplib" not in sys.modules


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, *_: Any) -> Any:
        raise RuntimeError("not mine")


def test_a_finder_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may find it."""
    (folder / "found_app.py").write_text("class Other: ...\n")
    monkeypatch.setattr(sys, "meta_path", [_Finder(), *sys.meta_path])
    kept = load(ext(FIELDS, "found_app", "Plan", {"goal": "ship"}))
    assert "no module found_app that defines Plan" in kept.kept_why


def test_a_module_without_its_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled is imported: its source tells nothing."""
    (folder / "compiled_app.py").write_text(
        "import dataclasses\nPlan = dataclasses.make_dataclass('Pl' + 'an', ['goal'])\n"
    )
    packed = ext(FIELDS, "compiled_app", "Plan", {"goal": "ship"})
    assert isinstance(load(packed), Kept)

    def no_source(*_: Any) -> Any:
        raise OSError

    monkeypatch.setattr("importlib.machinery.SourceFileLoader.get_source", no_source)
    classes._defines.cache_clear()  # it is not looked for again at once
    assert not isinstance(load(packed), Kept)


# ---- what is kept


def test_a_long_text_is_no_member() -> None:
    """It is no name of a member: it is kept as any value."""
    short = load(ext(ONE_ARGUMENT, *GONE[:2], "red"))
    long_ = load(ext(ONE_ARGUMENT, *GONE[:2], "red" * 200))
    assert (isinstance(short, str), isinstance(long_, str)) == (True, False)
    assert long_.kept_data == "red" * 200


def test_a_message_that_does_not_validate() -> None:
    """It is a message all the same, and is dumped as others ask for it."""
    fields = {
        "content": {"not": "text"}, "type": "human", "id": "1", "additional_kwargs": {},
        "response_metadata": {},
    }  # fmt: skip
    packed = ext(PYDANTIC_V2, *GONE[:2], fields, "model_validate_json")
    kept = load(packed)
    assert kept.type == "human"
    assert kept.model_dump(include={"id"}) == {"id": "1"}
    assert again(kept) == packed
    assert again(load(again(kept))) == packed


def test_a_kept_value_is_compared() -> None:
    """With plain data by what it holds; with its like by what is stored."""
    one, same = load(ext(FIELDS, *GONE)), load(ext(FIELDS, *GONE))
    assert one == same
    assert len({one, same}) == 1
    assert one == {"goal": "ship"}
    assert one != load(ext(FIELDS, *GONE[:2], {"goal": "stay"}))
    path = load(ext(ARGUMENTS, *GONE[:2], ["a", "b"]))
    assert "a" in repr(path)


# ---- what is rebuilt


def test_a_snapshot_of_deltas() -> None:
    """With what is kept inside of it."""
    packed = ormsgpack.packb(ormsgpack.Ext(7, ext(FIELDS, *GONE)))
    found = load(packed)
    assert type(found) is _DeltaSnapshot
    assert isinstance(found.value, Kept)


def test_a_safe_type_that_refuses() -> None:
    """What it was made of is kept: the same system may take it again."""
    for id in ("no id", "no id either"):
        found = load(ext(ONE_ARGUMENT, "uuid", "UUID", id))
        assert isinstance(found, Kept)
        assert (found.kept_data, found.kept_why[:19]) == (id, "it can't be made of")


def test_a_pattern_is_compiled() -> None:
    """The one function among what is safe."""
    assert load(SERDE.dumps_typed(re.compile("a+", re.I))[1]) == re.compile("a+", re.I)


def test_a_type_that_is_no_set() -> None:
    """A list that it refuses is not turned into anything else."""
    with app("import decimal\nclass Price(decimal.Decimal):\n    pass\n", "prices"):
        kept = load(ext(ONE_ARGUMENT, "prices", "Price", {"a": 1}))
        assert isinstance(kept, Kept)
        assert "does not take what is stored" in kept.kept_why


def test_a_task_with_a_timeout() -> None:
    """It has three arguments, of which the last one is named."""
    task = Send("node", {"a": 1})
    assert load(SERDE.dumps_typed(task)[1]) == task
    found = load(ext(ARGUMENTS, "langgraph.types", "Send", ["node", {"a": 1}, 2.5]))
    assert (type(found), found.node) == (Send, "node")


def test_another_way_to_read_a_date() -> None:
    """Only the one that the serializer names is taken."""
    now = datetime.datetime(2026, 11, 18, tzinfo=datetime.timezone.utc)
    assert load(SERDE.dumps_typed(now)[1]) == now
    for way in (["fromtimestamp"], []):
        packed = ext(METHOD, "datetime", "datetime", now.isoformat(), *way)
        assert load(packed) != now
        assert again(load(packed)) == packed


def test_a_field_that_did_not_become_plain_data() -> None:
    """The model is made as LangGraph makes it, with what is kept in it."""
    source = "import pydantic\nclass Model(pydantic.BaseModel):\n    plan: int\n    n: int = 0\n"
    inner = ormsgpack.Ext(FIELDS, ormsgpack.packb(GONE))
    with app(source, "models_app"):
        packed = ext(PYDANTIC_V2, "models_app", "Model", {"plan": inner}, "model_validate_json")
        found = load(packed)
        assert not isinstance(found, Kept)
        assert isinstance(found.plan, Kept)


def test_an_encrypting_serde_is_guarded() -> None:
    """Its cipher seals whole rows; what is in them is loaded with the same care."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16)
    assert isinstance(load(ext(FIELDS, *GONE), Codec(serde)), Kept)


def test_aliases_of_aliases() -> None:
    """The last name is the one of today."""
    classes = Classes.of({"a:A": "b:B", "b:B": "c:C"})
    assert classes.aliases["a", "A"] == classes.aliases["b", "B"] == ("c", "C")


def test_a_hook_of_the_users_own() -> None:
    """A serde that has one loads as it does."""
    seen: list[int] = []

    def hook(code: int, data: bytes) -> Any:
        seen.append(code)
        return "mine"

    codec = Codec(JsonPlusSerializer(__unpack_ext_hook__=hook))
    assert codec.load("msgpack", ext(FIELDS, *GONE)) == "mine"
    assert seen == [FIELDS]


# ---- migrations, and what is reported


def test_a_version_that_a_migration_says() -> None:
    """It may go several versions on, and never back."""
    calls: list[int] = []

    def to(version: int, said: int) -> Migration:
        def migrate(value: dict[str, Any]) -> dict[str, Any]:
            calls.append(version)
            return {**value, "schema_version": said}

        return Migration("held:Held", version, migrate)

    classes = Classes.of(migrations=[to(1, 3), to(2, 3), to(3, 1)])
    assert classes.fields(("held", "Held"), {}) == {"schema_version": 4}
    assert classes.fields(("held", "Other"), {}) == {}
    assert calls == [1, 3]


@dataclasses.dataclass
class Holder:
    held: Any


class Slotted:
    __slots__ = ("held", "none")

    def __init__(self, held: Any) -> None:
        self.held = held


class Model(BaseModel, extra="allow"):
    held: Any = None


class Colour(enum.Enum):
    RED = "red"


def test_what_is_kept_inside_of_objects() -> None:
    """It is found in whatever holds it."""
    kept = load(ext(FIELDS, *GONE))
    for value in (
        kept, [kept], (kept,), {"a": kept}, {kept}, Holder(kept), Slotted(kept), Model(held=kept),
        Model(more=kept), [Holder([{"deep": Slotted(kept)}])],
    ):  # fmt: skip
        assert [*rebuild.kept_in(value)] == [kept]
    assert [*rebuild.kept_in(["text", 1, None, Holder("x")])] == []


def test_what_is_looked_through_for_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, each once: an enum's member, a class and a function lead to the whole program, and
    what holds itself to no end."""
    monkeypatch.setattr("langgraph_wyrd.types.kept.MOST", 100)
    kept = load(ext(FIELDS, *GONE))
    round_: list[Any] = []
    holding = Holder(round_)
    round_.append(holding)
    for beside in (Colour.RED, Colour, Holder, load, rebuild, round_, holding, [[0]] * 90):
        assert [*rebuild.kept_in([kept, beside])] == [kept], beside
