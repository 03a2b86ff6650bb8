"""Checkpoints whose rows are gone: what proves that they were there, and who says so."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest

from langgraph_wyrd import configs, errors
from tests.conftest import Backend
from tests.damage import Agent, Rows, at, talk
from tests.outside import path_of
from tests.rows import new_id, put

pytestmark = pytest.mark.inside

KEYS = {"k": bytes(range(32))}
_built: list[bytes] = []  # an SQLite file is built once, and copied


@pytest.fixture
def made(durable: Backend) -> Backend:
    """A thread of three turns, of which the last goes on in tools."""
    if durable.name == "sqlite" and _built:
        path_of(durable.url).write_bytes(_built[0])
        return durable
    with durable.open() as saver:
        talk(saver, "t")
    if durable.name == "sqlite":
        _built.append(path_of(durable.url).read_bytes())
    return durable


def listed(saver: Any, thread: str = "t", **how: Any) -> list[str]:
    return [each.checkpoint["id"] for each in saver.list(at(thread), **how)]


def sound(made: Backend) -> list[str]:
    """The thread's checkpoints, newest first."""
    with made.open() as saver:
        return listed(saver)


def lose(made: Backend, *ids: str, table: str = "checkpoints", column: str = "id") -> None:
    for id in ids:
        Rows(made.url, f"wyrd_{table}").run(f"DELETE FROM {{}} WHERE {column} = ?", id)


def left_out(saver: Any, thread: str = "t") -> set[str]:
    return {h.checkpoint_id for h in saver.thread(thread).heals() if h.kind == "left_out"}


INPUT, LOUD, HEAD = 5, 8, 0  # places from the newest; the end of the turn before left nothing


# ---- asked for by its id


@pytest.mark.parametrize("place", [INPUT, LOUD, HEAD])
async def test_an_explicit_id_that_was_there(made: Backend, call: Any, place: int) -> None:
    """It is refused, and the nearest before it is named, whether it said something or only its
    tasks wrote; healing or not, and its delta history as well."""
    ids = sound(made)
    lose(made, ids[place])
    for how in ("heal", "raise"):
        saver = made.open(on_damage=how)
        with pytest.raises(errors.CheckpointDamaged, match=ids[place]) as met:
            await call(saver, "get_tuple", at("t", ids[place]))
        assert met.value.ancestor == (ids[place + 1] if how == "heal" else None)
        with pytest.raises(errors.CheckpointDamaged, match=ids[place]):
            await call(
                saver, "get_delta_channel_history", config=at("t", ids[place]), channels=["trace"]
            )


def test_nothing_of_it_but_what_proves_it(made: Backend) -> None:
    """Each proof stands alone: what it said; what was written there, or its frame, where another
    stands behind it; that the thread's row names it."""
    ids = sound(made)
    with made.open(pillars=False) as saver:
        head = put(saver, "v", {"x": [1]})
        middle = put(saver, "v", {"x": [1, 2]}, parent=head)
        put(saver, "v", {"x": [1, 2, 3]}, parent=middle)
    for proof in ("said", "written", "frame"):
        saver = made.open()
        if proof == "frame":
            thread, id = "v", middle["configurable"]["checkpoint_id"]
        else:
            thread, id = "t", ids[LOUD if proof == "said" else INPUT]
        lose(made, id)
        if proof == "said":
            lose(made, ids[LOUD - 1])  # nobody names it
            lose(made, id, table="writes", column="checkpoint")
        if proof == "written":  # nor is anything left of frames
            Rows(made.url, "wyrd_checkpoints").run("UPDATE {} SET seq = 0 WHERE parent = ?", id)
        with pytest.raises(errors.CheckpointDamaged):
            saver.get_tuple(at(thread, id))


def test_none_before_it_can_be_read(made: Backend) -> None:
    """Those before it that can't be read are passed over; where there is none, no ancestor is."""
    *_, third, second, first = sound(made)
    lose(made, third)
    Rows(made.url, "wyrd_checkpoints").run("UPDATE {} SET seq = 900 WHERE id = ?", second)
    for ancestor in (first, None):
        with pytest.raises(errors.CheckpointDamaged) as met:
            made.open().get_tuple(at("t", third))
        assert met.value.ancestor == ancestor
        lose(made, first)


async def test_its_id_is_damaged(made: Backend, call: Any) -> None:
    """It is found by what its checksum says that its id was: to the last bit, as is its history."""
    ids = sound(made)
    with made.open() as saver:
        was = saver.get_tuple(at("t", ids[LOUD]))
    wrong = ids[LOUD][:-1] + ("0" if ids[LOUD][-1] == "1" else "1")
    Rows(made.url, "wyrd_checkpoints").run("UPDATE {} SET id = ? WHERE id = ?", wrong, ids[LOUD])
    saver = made.open()
    assert await call(saver, "get_tuple", at("t", ids[LOUD])) == was
    assert saver.get_delta_channel_history(config=at("t", ids[LOUD]), channels=["trace"])
    assert {heal.kind for heal in saver.thread("t").heals()} == {"exact"}


async def test_what_was_never_there(made: Backend, call: Any, asked: Counter[str]) -> None:
    """An id that was pruned, whose run was deleted, that only writes came of, or that never was,
    is none, and not looked for twice; nor is one of another thread or namespace."""
    ids = sound(made)
    early, saver, gone = new_id(), made.open(), []
    saver.put_writes(at("t", early), [("log", ["early"])], "task")
    for thread in ("pruned", "run"):
        head = None
        for n in range(5):
            told = {"run_id": "r" if n < 4 else "s"}
            head = put(saver, thread, {"log": ["x"] * n, "n": n}, parent=head, metadata=told)
            saver.put_writes(head, [("n", n + 1)], f"task-{n}")
        gone += [(thread, id) for id in listed(saver, thread)[1:]]
    saver.prune(["pruned"])
    saver.delete_for_runs(["r"])
    for thread, id in gone:
        saver.put_writes(at(thread, id), [("n", 9)], "late")
    asked.clear()
    unknown = [("t", early), ("t", new_id()), ("t", "x"), ("pruned", ids[0]), *gone]
    for thread, id in unknown:
        assert await call(saver, "get_tuple", at(thread, id)) is None
        assert await call(saver, "list", at(thread, id)) == []
    assert asked["lost"] == asked["find_thread"] == 2 * len(unknown)
    inside = at("t", ids[0])
    inside["configurable"]["checkpoint_ns"] = "child"
    for where in (inside, at("nobody", ids[0])):
        assert await call(saver, "get_tuple", where) is None
    for thread in ("t", "pruned", "run"):
        assert await call(saver, "list", at(thread))
        assert not left_out(saver, thread)


def test_moved_away_by_a_repair(made: Backend) -> None:
    """A checkpoint that a repair took out of its table is still refused, never an empty state."""
    ids = sound(made)
    rows = Rows(made.url, "wyrd_checkpoints")
    rows.run("UPDATE {} SET chain = 1, seq = 900, metadata = ? WHERE id = ?", "{}", ids[HEAD])
    saver = made.open()
    saver.verify(repair=True)
    assert saver.get_tuple(at("t")).checkpoint["id"] == ids[1]
    with pytest.raises(errors.CheckpointDamaged) as met:
        saver.get_tuple(at("t", ids[HEAD]))
    assert met.value.ancestor == ids[1]
    assert listed(saver) == ids[1:]
    assert not left_out(saver)


# ---- in a list


@pytest.mark.parametrize("page", [2, 3, 32])
@pytest.mark.parametrize("places", [(INPUT,), (LOUD,), (4, 5, 6), (16,)])
async def test_a_list_tells_of_it(
    made: Backend, call: Any, caplog: Any, monkeypatch: pytest.MonkeyPatch, page: int, places: Any
) -> None:
    """The others come, and what is missing between them is told once, also where pages end; of
    several that follow each other each that said or was written something. Or it raises."""
    monkeypatch.setattr(configs, "_PAGE", page)
    ids = sound(made)
    gone = [ids[place] for place in places]
    lose(made, *gone)
    saver = made.open()
    told: list[Any] = []
    saver.on("heal", told.append)
    for _ in range(2):
        with caplog.at_level(logging.WARNING, "langgraph_wyrd"):
            found = await call(saver, "list", at("t"))
        assert [each.checkpoint["id"] for each in found] == [i for i in ids if i not in gone]
    proven = {*gone} - {ids[6]}  # of which nothing is left
    assert left_out(saver) == proven
    assert {each.checkpoint_id for each in told} == proven
    assert all(id in caplog.text for id in proven)
    loops = [loop for loop in saver.thread("t").working_state().loops if loop.kind == "error"]
    assert {loop.source.checkpoint_id for loop in loops} >= proven
    with pytest.raises(errors.CheckpointDamaged, match="is missing"):
        await call(made.open(on_damage="raise"), "list", at("t"))


def test_a_list_that_does_not_come_to_it(made: Backend) -> None:
    """A list that ends before what is lost, or begins behind it, has nothing to tell, and raises
    nothing; one that filters tells of what stood right before one of its own."""
    ids = sound(made)
    lose(made, ids[LOUD], ids[12])
    saver, strict = made.open(), made.open(on_damage="raise")
    for one in (saver, strict):
        assert listed(one, limit=LOUD) == ids[:LOUD]
        assert listed(one, before=at("t", ids[LOUD]), limit=3) == ids[LOUD + 1 : 12]
    assert not left_out(saver)
    assert listed(saver, filter={"source": "input"}) == [ids[5], ids[11], ids[17]]
    assert left_out(saver) >= {ids[12]}
    with pytest.raises(errors.CheckpointDamaged):
        listed(strict, filter={"source": "input"})


def test_lists_of_one_of_its_top_and_of_all(made: Backend) -> None:
    """A list of the lost one alone, one that should begin with it, and one of all threads tell."""
    ids = sound(made)
    lose(made, ids[HEAD], ids[LOUD])
    saver = made.open()
    assert list(saver.list(at("t", ids[LOUD]))) == []
    assert left_out(saver) == {ids[LOUD]}
    assert listed(saver, limit=1) == [ids[1]]
    assert left_out(saver) == {ids[LOUD], ids[HEAD]}
    with made.open() as other:
        talk(other, "u", 1)
    rest = [each.checkpoint["id"] for each in made.open().list(None)]
    assert [id for id in rest if id in ids] == [id for id in ids if id not in (ids[0], ids[LOUD])]
    strict = made.open(on_damage="raise")
    for asked in (at("t", ids[LOUD]), at("t"), None):
        with pytest.raises(errors.CheckpointDamaged):
            list(strict.list(asked))


def test_a_list_whose_ids_are_damaged(made: Backend) -> None:
    """A row that is had back under its own id is not missing."""
    ids = sound(made)
    wrong = ids[LOUD][:-1] + ("0" if ids[LOUD][-1] == "1" else "1")
    Rows(made.url, "wyrd_checkpoints").run("UPDATE {} SET id = ? WHERE id = ?", wrong, ids[LOUD])
    saver = made.open()
    assert listed(saver) == ids
    assert {heal.kind for heal in saver.thread("t").heals()} == {"exact"}


async def test_what_a_list_costs(
    made: Backend, call: Any, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages, their ends, limits and `before` ask nothing more; a filter, or a parent that never
    was here, once for what can't be accounted for otherwise."""
    monkeypatch.setattr(configs, "_PAGE", 4)
    ids = sound(made)
    saver = made.open()
    graph = Agent().build(saver)
    for how in ({}, {"limit": 7}, {"before": at("t", ids[3])}, {"limit": 1}):
        asked.clear()
        await call(saver, "list", at("t"), **how)
        assert asked["lost"] == asked["newest_id"] == 0, how
    asked.clear()
    assert len(list(graph.get_state_history(at("t")))) == len(ids)
    assert len(await call(saver, "list", None)) == len(ids)
    assert asked["lost"] == 0
    assert len(await call(saver, "list", at("t"), filter={"source": "input"})) == 3
    assert asked["lost"] == 2  # their parents, all at once
    assert len(await call(saver, "list", at("t", ids[3]))) == 1
    assert asked["lost"] == 2
    assert not left_out(saver)
    with made.open() as other:
        put(other, "v", {"x": 1}, parent=new_id())
    asked.clear()
    assert len(await call(saver, "list", at("v"))) == 1
    assert asked["lost"] == 1
    assert not left_out(saver, "v")


def test_a_list_under_a_sweep(made: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is pruned between two pages of a list is not taken for lost."""
    monkeypatch.setattr(configs, "_PAGE", 4)
    saver = made.open()
    found = saver.list(at("t"))
    first = [next(found) for _ in range(4)]
    saver.prune(["t"])
    saver.put_writes(first[3].parent_config, [("log", ["late"])], "task")
    assert list(found) == []
    assert not saver.thread("t").heals()


# ---- what else tells


@pytest.mark.parametrize("verb", ["history", "tree"])
@pytest.mark.parametrize("place", [INPUT, LOUD])
async def test_history_and_tree_tell_of_it(made: Backend, call: Any, verb: str, place: int) -> None:
    """They show the others, and say which one is missing; a strict saver raises. A tree that does
    not come to it has nothing to tell."""
    ids = sound(made)
    lose(made, ids[place])
    saver, strict = made.open(), made.open(on_damage="raise")
    if verb == "tree":
        for one in (saver, strict):
            await call(one.thread("t"), verb, limit=place)
        assert not left_out(saver)
    found = await call(saver.thread("t"), verb)
    shown = [e.checkpoint_id for e in found] if verb == "history" else [*found.entries]
    assert sorted(shown) == sorted(set(ids) - {ids[place]})
    assert left_out(saver) == {ids[place]}
    with pytest.raises(errors.CheckpointDamaged):
        await call(strict.thread("t"), verb)


def states(saver: Any) -> Any:
    return Agent().build(saver).get_state_history(at("t"))


@pytest.mark.parametrize("places", [(INPUT,), (LOUD,), (4, 5, 6), (7, 8, 9, 10)])
def test_delta_channels_behind_it(made: Backend, places: Any) -> None:
    """What its tasks wrote is not missing from a value that is rebuilt, and the loss is told."""
    ids = sound(made)
    with made.open() as saver:
        was = {each.config["configurable"]["checkpoint_id"]: each.values for each in states(saver)}
    gone = {ids[place] for place in places}
    lose(made, *gone)
    saver = made.open()
    graph = Agent().build(saver)
    for id in was.keys() - gone:
        assert graph.get_state(at("t", id)).values == was[id]
    assert left_out(saver) >= gone - {ids[6]}


def test_frames_of_what_stays(made: Backend) -> None:
    """A parent that never was here is none, though frames of others stand before its child's."""
    saver = made.open()
    first = put(saver, "w", {"x": 1})
    second = put(saver, "w", {"x": 2}, parent=first)
    third = put(saver, "w", {"x": 3}, parent=second)
    never = new_id()
    with made.open() as other:
        put(other, "w", {"x": 4}, parent=never)
    id = third["configurable"]["checkpoint_id"]
    Rows(made.url, "wyrd_checkpoints").run("UPDATE {} SET parent = ? WHERE id = ?", never, id)
    assert saver.get_tuple(at("w", never)) is None


def test_a_path_through_another_id(durable: Backend) -> None:
    """A path goes through a row whose id is damaged to that one's parent, which is not the next
    older one where two forks take turns. It is told to be put right, and not to be lost."""
    ids: list[str] = []
    with durable.open() as saver:
        for n, parent in enumerate((None, 0, 0, 1, 3)):
            values = {"n": n, **({"other": 1} if n == 2 else {"late": 1} if n > 2 else {})}
            made = put(saver, "t", values, parent=None if parent is None else ids[parent])
            ids.append(made["configurable"]["checkpoint_id"])
        was = saver.thread("t").working_state()
    assert sorted(item.key for item in was.context) == ["late", "n"]
    last = ids[3][-1]
    wrong = ids[3][:-1] + chr(ord(last) ^ (64 if last.isdigit() else 8))  # it sorts behind
    Rows(durable.url, "wyrd_checkpoints").run("UPDATE {} SET id = ? WHERE id = ?", wrong, ids[3])
    saver = durable.open()
    now = saver.thread("t").working_state()
    assert now.context == was.context
    assert {heal.kind for heal in saver.thread("t").heals()} == {"exact"}


def test_verify_names_each(made: Backend) -> None:
    """Of several that follow each other those that left something are named, and none is pruned."""
    ids = sound(made)
    lose(made, *ids[7:10])
    said = [str(each) for each in made.open().verify("t").damages]
    assert all(any(id in each for each in said) for id in ids[7:10])


def test_a_sealed_store(durable: Backend) -> None:
    """A key ring hides none of what proves it."""
    with durable.open(keys=KEYS) as saver:
        talk(saver, "t", 2)
        ids = listed(saver)
    for place in (0, 4, 6):
        lose(durable, ids[place])
    saver = durable.open(keys=KEYS)
    for place in (0, 4, 6):
        with pytest.raises(errors.CheckpointDamaged, match=ids[place]):
            saver.get_tuple(at("t", ids[place]))
    assert len(listed(saver)) == len(ids) - 3
    assert left_out(saver) == {ids[place] for place in (0, 4, 6)}
