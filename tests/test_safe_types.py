"""Loading runs nothing that a row names: no function, no script, no pickle; and loses nothing."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd import Kept
from langgraph_wyrd.codec.values import Codec
from langgraph_wyrd.errors import Unserialisable
from langgraph_wyrd.port import adopt
from langgraph_wyrd.port import copy as copy_threads
from tests.conftest import Backend
from tests.damage import at
from tests.handmade import checkpoint, config, put
from tests.odd_values import Ciphered
from tests.user_classes import app

SERDES = {
    "default": JsonPlusSerializer,
    "strict": lambda: JsonPlusSerializer(allowed_msgpack_modules=None),
    "allowed by name": lambda: JsonPlusSerializer(
        allowed_msgpack_modules=[("os", "system"), ("os", "mkdir"), ("posix", "mkdir")]
    ),
    "encrypted": lambda: EncryptedSerializer(Ciphered()),
    "a subclass": lambda: Theirs(),
    "an encrypted subclass": lambda: EncryptedSerializer(Ciphered(), Theirs()),
}


class Theirs(JsonPlusSerializer):
    """A subclass of a user's own, stored whole."""


class Trap:
    """A path that comes to be when something is run, and the values that would run it."""

    def __init__(self, folder: Path) -> None:
        self.sprung = folder / "sprung"
        path = str(self.sprung)
        self.values = [
            _ext(0, "os", "mkdir", path),
            _ext(0, "os", "system", f"mkdir {path}"),
            _ext(1, "os", "mkdir", [path, 0o700]),
            _ext(2, "os", "mkdir", {"path": path}),
            _ext(4, "os", "mkdir", {"path": path}),
            _ext(5, "os", "mkdir", {"path": path}, "model_validate_json"),
            _ext(5, "os", "mkdir", {"path": path}, "model_validate_json"),
            _ext(5, "os", "mkdir", {"path": path}),
            _ext(3, "os", "path", path, "exists"),
            _ext(3, "pathlib", "Path", path, "mkdir"),
            _ext(1, "subprocess", "Popen", [["mkdir", path]]),
            _ext(2, "subprocess", "Popen", {"args": ["mkdir", path]}),
            _ext(0, "builtins", "exec", f"import os; os.mkdir({path!r})"),
            _ext(0, "builtins", "eval", f"__import__('os').mkdir({path!r})"),
            _ext(0, "pickle", "loads", b""),
        ]

    def is_sprung(self) -> bool:
        return self.sprung.exists()


def _ext(code: int, module: str, name: str, *rest: Any) -> Any:
    """A value as a hand could have planted it: packed it is the extension itself."""
    return ormsgpack.Ext(code, ormsgpack.packb((module, name, *rest)))


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def test_langgraphs_own_load_falls_into_the_trap(trap: Trap) -> None:
    """The trap is one."""
    theirs = JsonPlusSerializer()
    theirs.loads_typed(theirs.dumps_typed(trap.values[0]))
    assert trap.is_sprung()


@pytest.mark.parametrize("serde", list(SERDES))
async def test_no_load_runs_what_a_row_names(
    durable: Backend, trap: Trap, tmp_path: Path, serde: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever way the rows are read; the data is kept, and stored again as it is."""
    saver = durable.open(serde=SERDES[serde]())
    state = {"alone": trap.values[0], "list": trap.values, "dict": {"k": trap.values}}
    first = put(saver, "t", state, metadata={"planted": trap.values[0]})
    saver.put_writes(first, [("alone", trap.values[0]), ("list", trap.values)], "task")
    put(saver, "t", state, parent=first)
    saver.close()

    saver = durable.open(serde=SERDES[serde]())
    found = saver.get_tuple(at("t"))
    again = await saver.aget_tuple(first)
    assert len(list(saver.list(at("t")))) == len([each async for each in saver.alist(None)]) == 2
    saver.get_delta_channel_history(config=found.config, channels=["list", "absent"])
    thread = saver.thread("t")
    thread.working_state()
    thread.working_state(first["configurable"]["checkpoint_id"])
    thread.history()
    thread.diff(first["configurable"]["checkpoint_id"])
    thread.export(tmp_path / "t.json", payloads=True)
    saver.import_thread(tmp_path / "t.json", "u")
    saver.copy_thread("t", "v")
    saver.verify()
    saver.reextract("t")
    copy_threads(saver, InMemorySaver(), ["t"])
    assert not trap.is_sprung()

    for values in (found.checkpoint["channel_values"], again.checkpoint["channel_values"]):
        assert all(isinstance(each, Kept | ormsgpack.Ext) for each in values["list"])
        assert all(isinstance(each, Kept) for each in values["list"][:6])
        packed = JsonPlusSerializer().dumps_typed(values)
        assert packed == JsonPlusSerializer().dumps_typed(state)
    said = caplog.text
    assert "os:mkdir" in said
    assert "channel 'alone'" in said
    put(saver, "t", dict(found.checkpoint["channel_values"]), parent=found.config)
    assert not trap.is_sprung()


def test_a_planted_row_of_an_encrypting_store(durable: Backend, trap: Trap) -> None:
    """Text that is sealed is not loaded without care either."""
    codec = Codec(EncryptedSerializer(Ciphered()))
    planted = JsonPlusSerializer().dumps_typed(trap.values[0])
    sealed = f"sealed:{planted[0]}:{__import__('base64').b64encode(planted[1]).decode()}"
    with contextlib.suppress(Exception):
        codec.open_text(sealed)
    assert not trap.is_sprung()


def test_official_databases(durable: Backend, trap: Trap, tmp_path: Path) -> None:
    """Taking them over runs nothing, from a file nor from a saver that is open already."""
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.sqlite import SqliteSaver

    if durable.url.startswith("sqlite"):
        path = f"{tmp_path / 'theirs.db'}"
        opened, url = SqliteSaver.from_conn_string(path), f"sqlite:///{path}"
    else:
        opened, url = PostgresSaver.from_conn_string(durable.url), durable.url
    with opened as theirs:
        theirs.setup()
        made = checkpoint({"list": trap.values})
        stored = theirs.put(config("t"), made, {}, made["channel_versions"])
        theirs.put_writes(stored, [("list", trap.values)], "task")
        adopt(url, durable.open())
        copy_threads(theirs, durable.open())
        assert not trap.is_sprung()
        assert theirs.serde.__class__ is JsonPlusSerializer  # theirs is as it was
    (write,) = durable.open().get_tuple(at("t")).pending_writes
    assert all(isinstance(each, Kept | ormsgpack.Ext) for each in write[2])


class Pickled:
    """Runs something as it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_a_pickle_is_not_loaded(
    durable: Backend, trap: Trap, caplog: pytest.LogCaptureFixture
) -> None:
    """Unless the serde says `pickle_fallback=True`: it is kept, under its own tag."""
    pickles = durable.open(serde=JsonPlusSerializer(pickle_fallback=True))
    first = put(pickles, "t", {"held": Pickled(str(trap.sprung)), "fine": {1, 2}})
    saver = durable.open()
    found = saver.get_tuple(at("t"))
    held = found.checkpoint["channel_values"]["held"]
    assert isinstance(held, Kept)
    assert "pickle_fallback=True" in held.kept_why
    assert "channel 'held'" in caplog.text
    put(saver, "t", dict(found.checkpoint["channel_values"]), parent=first)
    saver.put_writes(first, [("held", held)], "task")
    assert not trap.is_sprung()
    pickles.get_tuple(at("t"))  # this one trusts them
    assert trap.is_sprung()


@pytest.mark.parametrize("serde", ["default", "encrypted", "a subclass", "an encrypted subclass"])
def test_pickles_of_another_saver(durable: Backend, trap: Trap, serde: str, tmp_path: Path) -> None:
    """They are taken over as they are, into any store, and copied on as they are."""
    theirs = InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True))
    made = checkpoint({"held": Pickled(str(trap.sprung))})
    stored = theirs.put(config("t"), made, {}, made["channel_versions"])
    theirs.put_writes(stored, [("held", Pickled(str(trap.sprung)))], "task")
    ours = durable.open(serde=SERDES[serde]())
    theirs.serde = JsonPlusSerializer()
    copy_threads(theirs, ours)
    ours.thread("t").export(tmp_path / "t.json", payloads=True)
    ours.import_thread(tmp_path / "t.json", "u")
    ours.close()
    ours = durable.open(serde=SERDES[serde]())
    for thread in ("t", "u"):
        found = ours.get_tuple(at(thread))
        assert isinstance(found.checkpoint["channel_values"]["held"], Kept)
        assert [isinstance(each[2], Kept) for each in found.pending_writes] == [True]
    assert ours.verify().ok
    assert not trap.is_sprung()
    with pytest.raises(Unserialisable, match=r"'t' can't be sent: Kept.*is a pickle"):
        copy_threads(ours, InMemorySaver(), ["t"])
    with pytest.raises(Unserialisable, match=r"held\[1\] can't be stored: Kept\(pickle.*no other"):
        put(ours, "t", {"held": ["x", found.checkpoint["channel_values"]["held"]]})


@contextlib.contextmanager
def importable(folder: Path, **sources: str) -> Iterator[None]:
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in sources:
            sys.modules.pop(name, None)


def test_only_a_module_that_defines_the_class_is_imported(
    saver: Any, trap: Trap, tmp_path: Path
) -> None:
    """A class of a module that nobody has imported yet is found, as it is by LangGraph; a script
    is not run, nor is the standard library looked through, because a row names them."""
    harm = f"import os\nos.mkdir({str(trap.sprung)!r})\n"
    fine = "import dataclasses\n@dataclasses.dataclass\nclass Late:\n    x: int\n"
    with importable(tmp_path, wyrd_late=fine, wyrd_script=harm):
        planted = {
            "late": _ext(2, "wyrd_late", "Late", {"x": 1}),
            "script": _ext(2, "wyrd_script", "Late", {"x": 1}),
            "inside": _ext(2, "wyrd_script.deeper", "Late", {"x": 1}),
            "joke": _ext(0, "antigravity", "webbrowser", "x"),
            "main": _ext(2, "langgraph_wyrd.__main__", "main", {}),
        }
        put(saver, "t", planted)
        found = saver.get_tuple(at("t")).checkpoint["channel_values"]
        assert found["late"] == sys.modules["wyrd_late"].Late(1)
        assert not trap.is_sprung()
        kept = ("script", "inside", "joke", "main")
        assert all(isinstance(found[name], Kept) for name in kept)
        assert not {"wyrd_script", "antigravity", "langgraph_wyrd.__main__"} & sys.modules.keys()


def test_what_is_no_class_of_data_is_not_called(saver: Any, caplog: Any) -> None:
    """Not even a class: it must be one that the serializer packs so."""
    caplog.set_level(logging.WARNING, logger="langgraph_wyrd")
    calls: list[Any] = []
    source = "class Plain:\n    def __init__(self, *a, **k): calls.append(1)\n"
    with app(source, "plain_app") as made:
        made.module.calls = calls  # type: ignore[attr-defined]
        put(saver, "t", {str(n): _ext(n, "plain_app", "Plain", {}) for n in (0, 1, 2, 4)})
        found = saver.get_tuple(at("t")).checkpoint["channel_values"]
    assert calls == []
    assert all(isinstance(each, Kept) for each in found.values())
    assert "plain_app:Plain is no class of data" in caplog.text


NETWORK = _ext(0, "ipaddress", "IPv4Network", "10.0.0.0/16")  # or /0: 2^32 addresses
PLANTED = {
    "set": _ext(0, "builtins", "set", NETWORK),
    "frozenset": _ext(0, "builtins", "frozenset", NETWORK),
    "deque": _ext(0, "collections", "deque", NETWORK),
    "deque with a length": _ext(1, "collections", "deque", [NETWORK, 5]),
    "path": _ext(1, "pathlib", "PurePosixPath", "abc"),
}


@pytest.mark.parametrize("what", list(PLANTED))
@pytest.mark.parametrize("strict", [False, True])
def test_a_few_bytes_do_not_fill_the_memory(sqlite: Backend, what: str, strict: bool) -> None:
    """A collection is made of a list that was stored, never of an object that counts up more."""
    serde = SERDES["strict"]() if strict else None
    saver = sqlite.open(serde=serde)
    put(saver, "t", {"v": PLANTED[what]})
    saver.close()
    saver = sqlite.open(serde=serde)
    assert isinstance(saver.get_tuple(at("t")).checkpoint["channel_values"]["v"], Kept)
    assert saver.verify().ok


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x90", b"\x91\xa1a", b"\x93\x90\x90\x90", b"\x93\x01\x02\x03", b"\xff" * 9],
)
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 6, 7, 42])
def test_an_extension_that_nobody_packed(code: int, data: bytes) -> None:
    """It loads as something that is stored again as it was."""
    codec = Codec(JsonPlusSerializer())
    packed = codec.dump([1, ormsgpack.Ext(code, data)], "c")
    try:
        found = codec.load(*packed)
    except Exception:
        assert code == 7  # a snapshot of nothing: no value at all
        return
    if code != 7:  # what is in a snapshot is packed anew
        assert codec.dump(found, "c") == packed


def test_a_name_is_said_in_one_line(saver: Any, caplog: pytest.LogCaptureFixture) -> None:
    """However long it is, and whatever it holds: it forges no line of a log."""
    odd = "x\nCRITICAL root: all is lost\x1b[2J" + "y" * 100_000
    put(saver, "t", {"held": _ext(2, odd, odd, {})})
    saver.get_tuple(at("t"))
    (said,) = [r.getMessage() for r in caplog.records if "was not rebuilt" in r.getMessage()]
    assert said.isprintable()
    assert len(said) < 3000
