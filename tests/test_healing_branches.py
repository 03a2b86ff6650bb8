"""The small branches of the ladder, each by itself: what proves a row, and what does not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_wyrd import errors
from langgraph_wyrd.healing import exported, flips, rows
from langgraph_wyrd.healing.copies import Copies
from langgraph_wyrd.healing.mending import Mender, _pieces
from langgraph_wyrd.healing.placeholders import TEXT, Gap, filled
from langgraph_wyrd.healing.strand import Lost, Mended, is_sound, mend
from langgraph_wyrd.plans import loading, marks
from langgraph_wyrd.plans.loading import Stored, Write
from langgraph_wyrd.store import strands
from langgraph_wyrd.store.sqlite import drive
from langgraph_wyrd.store.strands import Place
from langgraph_wyrd.store.thread_sums import over
from langgraph_wyrd.store.values import Codec
from tests.conftest import Backend
from tests.damage import Rows, at, garbled, spoil_splice
from tests.rows import put

pytestmark = pytest.mark.inside

CODEC = Codec(JsonPlusSerializer())
Row = tuple[Any, ...]
Version = Sequence[tuple[int, int, list[Any]]]  # keep, cut, new elements: the splices of one

A, B, C, D, E = (name * 9 for name in "abcde")
GROWS: list[Version] = [[(0, 0, [A])], [(1, 0, [B])], [(2, 0, [C])], [(3, 0, [D])]]
PARTS: list[Version] = [[(0, 0, [A, B, C])], [(2, 1, [E]), (0, 1, [D])], [(3, 0, [A])]]


def strand(versions: Sequence[Version], number: int = 1) -> tuple[list[Row], Place]:
    """The rows of a strand, and where its last version stands."""
    found: list[Row] = []
    chain = length = 0
    for seq, splices in enumerate(versions):
        for part, (keep, cut, items) in enumerate(splices):
            data = CODEC.block(CODEC.pack_elements(items, ""))
            row = strands.splice(number, seq, part, keep, cut, len(items), data, chain)
            chain = row.chain
            length += len(items) - cut
            found.append(tuple(row))
    return found, Place(number, len(versions) - 1, length, chain)


def spoilt(row: Row, **columns: Any) -> Row:
    return tuple(strands.Row(*row)._replace(**columns))


def garble(row: Row, **columns: Any) -> Row:
    return spoilt(row, data=garbled(row[6]), **columns)


def copies(*lists: list[Any]) -> Copies:
    """Lists that stand elsewhere."""
    made = Copies(CODEC)
    for items in lists:
        made.add(CODEC.pack_elements(items, ""))
    return made


def exact(made: Mended | None, right: Sequence[Row]) -> bool:
    return made is not None and not made.lost and made.exact == list(right)


# ---- rows of strands


def test_a_long_search_is_not_begun() -> None:
    """Every bit of much data would be tried for minutes."""
    tried: list[bytes] = []
    assert flips.put_right(bytes(17 << 10), lambda data: bool(tried.append(data))) is None
    assert not tried


def test_the_last_part_of_a_version_is_missing() -> None:
    """Nothing tells its shape: nothing is returned, also where later rows are only lost."""
    right, place = strand(PARTS[:2])
    assert mend(CODEC, right[:-1], place) is None
    right, place = strand([*PARTS, [(4, 0, [B])]])
    assert exact(mend(CODEC, right, place), right)
    assert mend(CODEC, [*right[:2], right[3], garble(right[4])], place) is None


def test_a_row_that_stands_in_another_strand() -> None:
    """Two rows were swapped across strands: each is put back."""
    (one, place), (other, _) = strand(GROWS), strand([[(0, 0, [D])], [(0, 1, [E])], *GROWS[2:]], 2)
    columns = dict(zip(strands.Row._fields[3:], other[1][3:], strict=True))
    swapped = [one[0], spoilt(one[1], **columns), *one[2:]]
    there = [other[0], (*other[1][:3], *one[1][3:]), *other[2:]]
    elsewhere = Copies(CODEC)
    elsewhere.add_splices([*swapped, *there])
    assert elsewhere.aliens == [swapped[1], there[1]]
    alone = copies()
    alone.aliens = elsewhere.aliens
    assert exact(mend(CODEC, swapped, place, copies=alone), one)
    assert mend(CODEC, swapped, place) is None, "the shape that stands there is another's"


def test_a_row_and_its_checksum() -> None:
    """Both are wrong: the chain proves the copy."""
    right, place = strand(GROWS)
    bad = [right[0], garble(right[1], sum=right[1][7] + 3), *right[2:]]
    assert exact(mend(CODEC, bad, place, copies=copies([B])), right)


def test_a_column_of_the_last_row() -> None:
    """Its chain is the one that the checkpoint names, its count that of its elements."""
    right, place = strand([*GROWS[:2], [(1, 1, [C, D])]])
    for columns in ({"chain": right[2][8] + 3}, {"added": 7}):
        assert exact(mend(CODEC, [*right[:2], spoilt(right[2], **columns)], place), right)


def test_a_row_and_its_shape() -> None:
    """Where it stood is not known: nothing is put anywhere."""
    right, place = strand(GROWS)
    for columns in ({"keep": 9}, {"cut": 9}, {"added": 1 << 25}):
        assert mend(CODEC, [right[0], garble(right[1], **columns), *right[2:]], place) is None
    lost = mend(CODEC, [right[0], garble(right[1]), *right[2:]], place)
    assert lost is not None
    assert [(each.seq, each.keep, each.count) for each in lost.lost] == [(1, 1, 1)]


def test_what_comes_behind_tells() -> None:
    """The length of a missing version, as after a prune, is where the next one goes on."""
    right, place = strand(GROWS)
    found = mend(CODEC, [right[0], *right[2:]], place)
    assert found is not None
    assert found.lost == [Lost(1, 0, 1, 0, 1)]


def test_a_missing_row_that_replaced_something() -> None:
    """The length does not tell that it was there: the older element is never taken for it."""
    right, place = strand([[(0, 0, [A, B])], [(1, 1, [C])], [(2, 0, [D])]])
    assert mend(CODEC, [right[0], right[2]], place, lengths={0: 2, 1: 2, 2: 3}) is None


def test_several_gaps() -> None:
    """Missing rows behind each other are told, and a lost one among sound ones."""
    right, place = strand([*GROWS, [(4, 0, [E])]])
    lengths = {n: n + 1 for n in range(5)}
    for bad in ([right[0], *right[3:]], [right[0], garble(right[1]), *right[3:]]):
        found = mend(CODEC, bad, place, copies=copies([A]), lengths=lengths)
        assert found is not None
        assert [each.seq for each in found.lost] == [1, 2]


def test_a_row_too_few_before_a_lost_one() -> None:
    """The lost row's chain still says that another one stood before it: that is put back where it
    is at hand, and else nothing is returned."""
    right, place = strand([*PARTS, [(4, 0, [B])]])
    for lost in (3, 4):
        bad = [*right[:lost], garble(right[lost]), *right[lost + 1 :]]
        found = mend(CODEC, bad, place)
        assert found is not None
        assert [each.seq for each in found.lost] == [lost - 1]
        assert mend(CODEC, [*bad[:2], *bad[3:]], place) is None
        found = mend(CODEC, [*bad[:2], spoilt(bad[2], part=1 << 18), *bad[3:]], place)
        assert found is not None
        assert found.rows[2] == right[2]
        bad[lost] = garble(right[lost], chain=5)
        assert mend(CODEC, bad, place) is None
    assert mend(CODEC, [right[0], garble(right[1]), *right[3:]], place) is None
    moved = [*right[:2], spoilt(right[2], part=1 << 18), *right[3:]]
    assert exact(mend(CODEC, moved, place), right)
    assert exact(mend(CODEC, [*right, spoilt(right[2], part=1 << 18)], place), right)


@pytest.mark.parametrize("column", strands.Row._fields[3:])
def test_columns_of_other_types(column: str) -> None:
    """SQLite puts anything into any column: that is damage, and no error."""
    right, place = strand(GROWS)
    for wrong in ("x", b"x", 1.5, 1 << 62, -1):
        bad = [right[0], spoilt(right[1], **{column: wrong}), *right[2:]]
        assert not is_sound(bad[1]) or column == "chain"
        with pytest.raises(errors.CheckpointDamaged):
            strands.verify(bad, [place])  # type: ignore[arg-type]
        elsewhere = Copies(CODEC)
        elsewhere.add_splices(bad)  # type: ignore[arg-type]
        found = mend(CODEC, bad, place, copies=elsewhere)
        assert found is None or found.lost or exact(found, right)
        bad[1] = spoilt(right[1], **{"data": garbled(right[1][6]), column: wrong})
        found = mend(CODEC, bad, place)
        assert found is None or found.lost


def test_a_count_of_entries(durable: Backend) -> None:
    """A dict that lost a key: how many came is told by how many are there, and how many went."""
    with durable.open() as saver:
        held = {f"k{n}": f"{n}" * 60 for n in range(6)}
        first = put(saver, "t", {"d": held})
        del held["k0"]
        held |= {"k8": "8" * 60, "k9": "9" * 60}
        last = put(saver, "t", {"d": held}, parent=first)
        was = saver.get_tuple(last)
    (row,) = Rows(durable.url, "wyrd_splices").all("WHERE cut = 1")
    spoil_splice(durable.url, row, count=row["count"] + 3)
    with durable.open() as saver:
        assert saver.get_tuple(last) == was
        assert [heal.kind for heal in saver.thread("t").heals()] == ["exact"]


# ---- where else elements stand


def lost_in(items: list[Any], elsewhere: Copies) -> bool:
    """Whether a row that brought these, and of which nothing is left, is had back."""
    right, place = strand([[(0, 0, items)], [(len(items), 0, [E])]])
    return not exact(mend(CODEC, [garble(right[0]), right[1]], place, copies=elsewhere), right)


def rows_of(versions: Sequence[Version]) -> Copies:
    made = Copies(CODEC)
    made.add_splices(strand(versions, 9)[0])  # type: ignore[arg-type]
    return made


def test_a_part_of_a_list_that_stands_elsewhere() -> None:
    """Any run of its elements."""
    assert not lost_in([B, C], copies([A, B, C, D]))
    assert lost_in([B, D], copies([A, B, C, D]))


def test_a_list_that_grew_to_it() -> None:
    """A new strand begins with the whole list: the old one came to it row by row."""
    assert not lost_in([A, B, C], rows_of(GROWS))
    assert not lost_in([A, E, C, A], rows_of([[(0, 0, [A, B, C])], [(1, 1, [E])], [(3, 0, [A])]]))
    assert not lost_in([A, E, C], rows_of([[(0, 0, [A, B, C])], [(1, 1, [E])]]))
    assert lost_in([C, A], rows_of(GROWS))


def test_a_list_and_more() -> None:
    """What the old strand came to, and what a task wrote then."""
    elsewhere = rows_of(GROWS[:2])
    elsewhere.add(CODEC.pack_elements([D], ""))
    assert not lost_in([A, B, D], elsewhere)


def half(message: AnyMessage) -> tuple[AnyMessage, Any]:
    """A message, and what is left of it when its text is another one."""
    return message, message.model_copy(update={"content": "none"})


def test_messages_by_their_ids() -> None:
    """Of several messages in one row, each stands elsewhere by itself."""
    one, two = half(HumanMessage("a", id="1")), half(AIMessage("b", id="2"))
    right, place = strand([[(0, 0, [one[0], two[0]])], [(2, 0, [E])]])
    left = CODEC.block(CODEC.pack_elements([one[0], two[1]], ""))
    bad = [spoilt(right[0], data=left), right[1]]
    assert exact(mend(CODEC, bad, place, copies=copies([two[0]], [one[0]])), right)
    elements = [b"\x08\xc1 nothing that could be loaded", b"\0\xc1"]  # a message's form, and none
    bad = [spoilt(right[0], data=CODEC.block(elements)), right[1]]
    found = mend(CODEC, bad, place, copies=copies([two[0]], [one[0]]))
    assert found is not None
    assert found.lost


def write(task: str, channel: str, value: Any, idx: int = 0, **columns: Any) -> Row:
    """A row of wyrd_writes."""
    shape, data = CODEC.seal_value(value, channel)
    total = loading.write_sum("", "c", task, idx, channel, "path", shape, data)
    made = Write(
        task, idx, channel, "path", shape, data, total ^ (marks.mark(1) if idx == 0 else 0)
    )
    return tuple(made._replace(**columns))


def test_what_several_tasks_wrote() -> None:
    """It came in one row; a message that came alone stands in a list now; what is damaged of it
    is passed over."""
    human, ai = HumanMessage("a", id="1"), AIMessage("b", id="2")
    elsewhere = Copies(CODEC)
    held = [write("1", "m", [human]), write("2", "m", ai), write("3", "n", [D])]
    elsewhere.add_writes([("", "c", *row) for row in (*held, (*held[2][:5], b"", 7))])
    columns = ("4", 0, "n", "path", "l", b"\x04no block")  # planted: its checksum is right
    planted = (*columns, loading.write_sum("", "c", *columns) ^ marks.mark(1))
    elsewhere.add_writes([("", "c", *row) for row in (planted, write("5", "n", [C]))])
    assert not lost_in([human, ai], elsewhere)
    assert not lost_in([ai], elsewhere)
    assert not lost_in([C], elsewhere)
    assert lost_in([human, D], elsewhere)


def test_a_write_that_stands_elsewhere() -> None:
    """As a list, as one of several elements of one, or each of its messages by its id."""
    one, two = half(HumanMessage("a", id="1")), half(AIMessage("b", id="2"))
    for value, lists in (([A], [[A]]), ([B], [[A, B]])):
        right = write("t", "c", value)
        bad = write("t", "c", value, data=garbled(right[5]))
        assert rows.write(CODEC, "", "c", bad, copies(*lists)) == right
        assert rows.write(CODEC, "", "c", bad, copies([C])) is None
    right = write("t", "c", [one[0], two[0]])
    bad = write("t", "c", [one[0], two[0]], data=write("t", "c", [one[0], two[1]])[5])
    assert rows.write(CODEC, "", "c", bad, copies([two[0]], [one[0]])) == right


# ---- rows with a checksum of their own


def flipped(value: Any) -> Any:
    if isinstance(value, int):
        return value ^ 1 << 17
    data = bytearray(value.encode() if isinstance(value, str) else value)
    data[-1] ^= 2
    return data.decode() if isinstance(value, str) else bytes(data)


OF_A_CHECKPOINT = ("ns", "id", "parent", "ts", "metadata", "exact", "strand", "seq", "length",
                   "chain", "sum")  # fmt: skip


@pytest.mark.parametrize("column", OF_A_CHECKPOINT)
def test_every_column_of_a_checkpoint(column: str) -> None:
    """A bit of any of them is put right, also where the right parent is not there any more; what
    is of another type is put right as well, or is damage."""
    place = Place(3, 5, 7, 99)
    sums = (1, "sub", "1f2", "1f1", "2026", '{"step": 1}', b"\1lxyz", place)
    right = Stored(1, 4, 9, None, "t", *sums[1:7], *place, loading.row_sum(*sums), None)
    assert rows.fits(right)
    bad = right._replace(**{column: flipped(getattr(right, column))})
    assert rows.checkpoint(bad, [bad._replace(id="1f0")]) == right
    for wrong in (1.5, b"x", "x", None, 1 << 70):
        found = rows.checkpoint(right._replace(**{column: wrong}), [right._replace(id="1f1")])
        assert found in (None, right)
        assert found == right or column != "parent" or wrong == 1.5


@pytest.mark.parametrize("column", Write._fields)
def test_every_column_of_a_write(column: str) -> None:
    """The same of what a task wrote."""
    right = Write(*write("task", "log", [A]))
    if column != "sum":
        bad = right._replace(**{column: flipped(getattr(right, column))})
        assert rows.write(CODEC, "", "c", bad, None) == right
    for wrong in (b"x", "x"):
        found = rows.write(CODEC, "", "c", right._replace(**{column: wrong}), copies([A]))
        assert found in (None, right)


def test_a_row_beside_of_other_types() -> None:
    """A checksum that is no number is not had back, and is no error."""
    for total in ("x", None, 1.5, 7):
        assert rows.flipped_back(("a", 3, total), (0, 1), 2, lambda row: row[2] == "a") is None
    assert rows.flipped_back(("a", 3, 7), (1, 0), 2, lambda row: row[0] == "c") == ("c", 3, 7)


# ---- one checkpoint


def checkpoint_again(durable: Backend, row: dict[str, Any], **columns: Any) -> None:
    """Change a checkpoint's row, its checksum with it: somebody who knew how did it."""
    row = {**row, **columns}
    place = [row[name] for name in ("strand", "seq", "length", "chain")]
    metadata = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", row["id"])[0]["metadata"]
    assert isinstance(metadata, str), "on SQLite"
    total = loading.row_sum(
        row["thread"], row["ns"], row["id"], row["parent"], row["ts"], metadata, row["exact"], place
    )
    Rows(durable.url, "wyrd_checkpoints").run(
        "UPDATE {} SET length = ?, chain = ?, sum = ? WHERE id = ?", *place[2:], total, row["id"]
    )


@pytest.mark.parametrize("how", ["lost", "planted", "another length"])
def test_a_frame_that_is_none(sqlite: Backend, how: str) -> None:
    """Lost, or planted with the right checksums: the checkpoint before stands for the latest."""
    with sqlite.open() as saver:
        first = put(saver, "t", {"a": 1})
        put(saver, "t", {"a": 2}, parent=first)
        was = saver.get_tuple(first)
    row = Rows(sqlite.url, "wyrd_checkpoints").all("ORDER BY id DESC")[0]
    (frame,) = Rows(sqlite.url, "wyrd_splices").all(
        "WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )
    if how == "lost":
        spoil_splice(sqlite.url, frame, data=garbled(frame["data"]))
    elif how == "planted":
        keys = [frame[name] for name in ("strand", "seq", "part", "keep", "cut", "count")]
        before = Rows(sqlite.url, "wyrd_splices").all(
            "WHERE strand = ? AND seq = ?", row["strand"], row["seq"] - 1
        )
        made = strands.splice(*keys, b"\xc1 no frame", before[0]["chain"] if before else 0)
        spoil_splice(sqlite.url, frame, data=made.data, sum=made.sum ^ over(1), chain=made.chain)
        checkpoint_again(sqlite, row, chain=made.chain)
    else:
        checkpoint_again(sqlite, row, length=row["length"] + 1)
    with sqlite.open() as saver:
        found = saver.get_tuple(at("t"))
        assert found is not None
        assert found.checkpoint == was.checkpoint
        assert [heal.kind for heal in saver.thread("t").heals()] == ["ancestor"]


def conversation(durable: Backend) -> tuple[Any, dict[str, Any]]:
    """The checkpoint before the last one, and the row of the last message."""
    with durable.open() as saver:
        messages = [HumanMessage("a" * 300, id="1"), AIMessage("b" * 300, id="2")]
        first = put(saver, "t", {"messages": messages[:1]})
        put(saver, "t", {"messages": messages}, parent=first)
        was = saver.get_tuple(first)
    (row,) = [each for each in Rows(durable.url, "wyrd_splices").all() if each["keep"] == 1]
    return was, row


@pytest.mark.parametrize("columns", [{"count": 2}, {"keep": 7}])
def test_a_lost_message_and_its_count(durable: Backend, columns: dict[str, int]) -> None:
    """The list would not be as long as it was: the checkpoint before is taken."""
    was, row = conversation(durable)
    spoil_splice(durable.url, row, data=garbled(row["data"]), **columns)
    with durable.open() as saver:
        assert saver.get_tuple(at("t")).checkpoint == was.checkpoint
        assert [heal.kind for heal in saver.thread("t").heals()] == ["ancestor"]


def test_a_message_that_is_no_list(durable: Backend) -> None:
    """What is left of one that stands alone does not become a list of one."""
    with durable.open() as saver:
        first = put(saver, "t", {"m": AIMessage("a", id="1")})
        put(saver, "t", {"m": AIMessage("b" * 300, id="2")}, parent=first)
        was = saver.get_tuple(first)
    (row,) = [each for each in Rows(durable.url, "wyrd_splices").all() if b"bbb" in each["data"]]
    spoil_splice(durable.url, row, data=row["data"].replace(b"bbb", b"xyz"))
    with durable.open() as saver:
        assert saver.get_tuple(at("t")).checkpoint == was.checkpoint


def test_a_planted_row_among_lost_ones() -> None:
    """Where all are sealed, what is plain is not taken, also if another row is lost."""

    class Sealed(Codec):
        def open_block(self, block: bytes) -> list[bytes]:
            raise errors.CheckpointDamaged("plain")

    right, place = strand(GROWS[:2])
    made = Mended([right[0], Lost(1, 0, 1, 0, 1)])  # type: ignore[list-item]
    assert _pieces(Sealed(JsonPlusSerializer()), made, place) is None


def test_a_question_beside_a_lost_write() -> None:
    """What a task asked stays, and only what it wrote is left out."""
    asked = write("one", "__interrupt__", "May I?", -3)
    lost = write("one", "log", [A])
    raws = [asked, (*lost[:5], garbled(lost[5]), 7), write("two", "log", [B])]
    mender = Mender(CODEC, 1, "t")
    plan = mender.checked_writes("", "c", raws)
    held = drive(plan, lambda step: [])
    assert [(each.task, each.idx) for each in held] == [("one", -3), ("two", 0)]
    assert [heal.kind for heal in mender.found.values()] == ["left_out"]


def test_a_lost_question_is_told() -> None:
    """Also where nothing else says that it was there."""
    asked = write("one", "__interrupt__", "May I?", -3)
    mender = Mender(CODEC, 1, "t")
    raws = [(*asked[:5], garbled(asked[5]), asked[6])]
    assert drive(mender.checked_writes("", "c", raws), lambda step: []) == []
    assert [(heal.kind, heal.channel) for heal in mender.found.values()] == [
        ("left_out", "__interrupt__")
    ]


# ---- placeholders


def call(*ids: str) -> AIMessage:
    calls = [{"name": "look", "args": {}, "id": id} for id in ids]
    return AIMessage("calls", id="ai", tool_calls=calls)


def result(id: str) -> ToolMessage:
    return ToolMessage("result", id=f"r-{id}", tool_call_id=id)


HI, SYSTEM = HumanMessage("hi", id="hi"), SystemMessage("be kind", id="system")
GAP = "gap"

STOOD_IN: dict[str, tuple[list[Any], Any, AnyMessage]] = {
    "behind a person": ([HI, GAP], None, AIMessage(TEXT)),
    "behind a result": ([call("a"), result("a"), GAP], None, AIMessage(TEXT)),
    "behind an answer": ([HI, AIMessage("done", id="x"), GAP], None, HumanMessage(TEXT)),
    "at the beginning": ([GAP, HI], None, HumanMessage(TEXT)),
    "a call that was answered": ([HI, call("a"), result("a"), GAP, HI], None, AIMessage(TEXT)),
    "the second result": ([call("a", "b"), result("a"), GAP], None,
                          ToolMessage(TEXT, tool_call_id="b")),
    "a result after another turn": ([call("a"), HI, GAP], None, AIMessage(TEXT)),
    "calls of two results": ([HI, GAP, result("a"), result("b"), HI, result("c")], None,
                             call("a", "b")),
    "what is left of a system message": ([GAP, HI], SYSTEM, SYSTEM),
    "what is left of a person's": ([HI, GAP], HI, HI),
    "what is left of an answer": ([SYSTEM, GAP], AIMessage("x", id="left"), AIMessage(TEXT)),
    "what is left of a result": ([HI, GAP], result("z"), ToolMessage(TEXT, tool_call_id="z")),
    "a result of another call": ([call("a"), GAP], result("z"),
                                 ToolMessage(TEXT, tool_call_id="a")),
}  # fmt: skip


@pytest.mark.parametrize("name", STOOD_IN)
def test_what_stands_for_a_message(name: str) -> None:
    """Of the class that it had, by what is left of it or what stands around it, so that every
    model takes the list; no id is there twice."""
    around, left, wanted = STOOD_IN[name]
    data = b"" if left is None else CODEC.block(CODEC.pack_elements([left], ""))
    lost = Lost(0, 0, 0, 0, 1, data)
    pieces: list[Any] = [
        Gap(1, lost, 0) if each is GAP else CODEC.pack_elements([each], "")[0] for each in around
    ]
    found = filled(CODEC, pieces)
    assert found is not None
    made = found[around.index(GAP)]
    assert (type(made), made.content) == (type(wanted), TEXT)
    assert getattr(made, "tool_call_id", None) == getattr(wanted, "tool_call_id", None)
    assert [c["id"] for c in getattr(made, "tool_calls", [])] == [
        c["id"] for c in getattr(wanted, "tool_calls", [])
    ]
    assert [each.id for each in found].count(made.id) == 1
    assert left is None or left in around or made.id == left.id


def test_what_is_no_message_is_not_stood_in_for() -> None:
    """Neither of what is left of a row, nor where nothing is left."""
    one, other = CODEC.pack_elements([HI, AIMessage("x", id="x")], "")
    row = Lost(0, 0, 0, 0, 1)
    assert filled(CODEC, [Gap(1, row, 0)]) is None
    for left, count, id in (
        ([one], 1, "hi"),
        ([b"\x08\xc1"], 1, "new"),  # the form of a message, and nothing in it
        ([one, other], 1, None),
        ([CODEC.pack_elements(["text"], "")[0]], 1, None),
        ([b"\0\xc1"], 1, None),
    ):
        gap = Gap(1, Lost(0, 0, 0, 0, count, CODEC.block(left)), 0)
        found = filled(CODEC, [gap])
        assert (found is None) == (id is None)
        for around in (other, one):
            (made, _) = filled(CODEC, [gap, around]) or ()
            twice = id != "hi" or around is one
            assert made.id == (gap.id if twice else id)
    assert len(list(itertools.islice(flips.numbers(0), 99))) == 63


# ---- which checkpoint stands for the latest

IDS = [f"1f0c0000-0000-6000-8000-{n:012}" for n in range(9)]


def checkpoints(durable: Backend, parents: dict[int, int | None], **more: Any) -> dict[int, Any]:
    """Checkpoints by the numbers of their ids, each with its parent; as they load."""
    with durable.open() as saver:
        for n, parent in parents.items():
            before = None if parent is None else IDS[parent]
            put(saver, "t", {"n": n}, id=IDS[n], parent=before, **more)
        return {n: saver.get_tuple(at("t", IDS[n])) for n in parents}


def spoil(durable: Backend, n: int, **columns: Any) -> None:
    """Change columns of a checkpoint's row."""
    sets = ", ".join(f"{name} = ?" for name in columns)
    count = Rows(durable.url, "wyrd_checkpoints").run(
        f"UPDATE {{}} SET {sets} WHERE id = ?", *columns.values(), IDS[n]
    )
    assert count == 1


def lose(durable: Backend, n: int) -> None:
    """A checkpoint's row is right, and its frame is not there."""
    (row,) = Rows(durable.url, "wyrd_checkpoints").all("WHERE id = ?", IDS[n])
    assert Rows(durable.url, "wyrd_splices").run(
        "DELETE FROM {} WHERE strand = ? AND seq = ?", row["strand"], row["seq"]
    )


def latest(durable: Backend) -> int:
    """The number of the checkpoint that stands for the latest; told as such."""
    with durable.open() as saver:
        found = saver.get_tuple(at("t"))
        assert saver.thread("t").heals()
        return IDS.index(found.checkpoint["id"])


def test_several_damaged_ids(durable: Backend) -> None:
    """Old checkpoints whose ids sort in front of all are never taken for the newest, and neither
    is another namespace's."""
    checkpoints(durable, {1: None, 2: 1, 3: 2})
    with durable.open() as saver:
        put(saver, "t", {"n": 4}, id=IDS[4], ns="sub:1")
    spoil(durable, 1, id="9" + IDS[1][1:])
    spoil(durable, 2, id="5" + IDS[2][1:])
    assert latest(durable) == 3


BAD = {"metadata": '{"nothing": "of this"}', "length": 77}


def test_a_row_of_which_nothing_is_sure(durable: Backend) -> None:
    """Not even its parent: the next older one is taken."""
    checkpoints(durable, {1: None, 2: 1, 3: 2, 4: 3})
    spoil(durable, 4, parent=IDS[1], **BAD)
    assert latest(durable) == 3


def test_a_parent_that_is_gone(durable: Backend) -> None:
    """The next older one of the same namespace is taken."""
    checkpoints(durable, {1: None, 2: 1, 4: 2})
    with durable.open() as saver:
        put(saver, "t", {"n": 3}, id=IDS[3], ns="sub:1")
    Rows(durable.url, "wyrd_checkpoints").run("DELETE FROM {} WHERE id = ?", IDS[2])
    lose(durable, 4)
    assert latest(durable) == 1


def test_a_parent_of_another_branch(durable: Backend) -> None:
    """What was run beside it is none of its ancestors."""
    checkpoints(durable, {1: None, 2: 1, 3: 1, 4: 2})
    lose(durable, 4)
    assert latest(durable) == 2


def test_a_parent_that_is_newer(durable: Backend) -> None:
    """Two clocks differed: a walk back by ids comes to an end."""
    checkpoints(durable, {1: None, 2: 1, 4: 2, 3: 4})
    lose(durable, 3)
    with durable.open() as saver, pytest.raises(errors.CheckpointDamaged) as told:
        saver.get_tuple(at("t", IDS[3]))
    assert told.value.ancestor == IDS[2]


async def test_a_damaged_list(durable: Backend, call: Any) -> None:
    """It has as many as were asked for, and none that the filter would not have: metadata that
    were changed do not count."""
    parents: dict[int, int | None] = {1: None, 2: 1, 3: 2, 4: 3, 5: 4}
    checkpoints(durable, parents, metadata={"k": "v"})
    lose(durable, 4)
    with durable.open() as saver:
        found = await call(saver, "list", at("t"), limit=3)
        assert [each.checkpoint["id"] for each in found] == [IDS[3], IDS[2], IDS[1]]
    rows = Rows(durable.url, "wyrd_checkpoints")
    cast = "::json" if durable.name == "postgres" else ""
    text = f"replace(CAST(metadata AS text), '\"v\"', '\"w\"'){cast}"
    assert rows.run(f"UPDATE {{}} SET metadata = {text} WHERE id = ?", IDS[2])
    with durable.open() as saver:
        assert await call(saver, "list", at("t"), filter={"k": "w"}) == []
        found = await call(saver, "list", at("t"), filter={"k": "v"})
        assert [each.checkpoint["id"] for each in found] == [IDS[3], IDS[2], IDS[1]]


class Tired(JsonPlusSerializer):
    """Fails once, and then goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[Exception] = []  # of copies as well

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if self.errors:
            raise self.errors.pop()
        return super().loads_typed(data)


@pytest.mark.parametrize("how", ["get_tuple", "list", "delta", "export"])
def test_an_error_that_is_not_explained(durable: Backend, how: str) -> None:
    """A load that failed, and of which nothing is damaged, has failed: the error is raised as it
    was, and nothing is told to be healed."""
    serde = Tired()
    saver = durable.open(serde=serde)
    first = put(saver, "t", {"a": {"x": 1}}, id=IDS[1])
    put(saver, "t", {"b": 1}, parent=first)
    loads: dict[str, Any] = {
        "get_tuple": lambda: saver.get_tuple(at("t")),
        "list": lambda: list(saver.list(at("t"))),
        "delta": lambda: saver.get_delta_channel_history(config=at("t"), channels=["a"]),
        "export": lambda: saver._core.run(
            lambda core: core.read(lambda: exported.these(saver._codec, "t", [("", IDS[1])]))
        ),
    }
    serde.errors.append(OSError("tired"))
    with pytest.raises(OSError, match="tired"):
        loads[how]()
    assert saver.thread("t").heals() == []
    loads[how]()


# ---- delta channels


def deltas(saver: Any, seeds: dict[int, Any], last: int = 5, first: int = 1) -> Any:
    """Checkpoints from 1 on (or what a prune elsewhere left of them), those with a seed of channel
    "m" among them; the tasks of each write to it and to "other". The config of the last one."""
    config = None if first == 1 else at("t", IDS[first - 1])
    for n in range(first, last + 1):
        held = {"m": _DeltaSnapshot(seeds[n])} if n in seeds else {"n": n}
        config = put(saver, "t", held, id=IDS[n], parent=config)
        if n < last:
            for task in ("b", "a"):
                wrote = [HumanMessage(f"{task}{n} " * 40, id=f"{task}{n}")]
                saver.put_writes(config, [("m", wrote), ("other", [n])], task, task)
    return config


def history(saver: Any, config: Any, *channels: str) -> Any:
    return saver.get_delta_channel_history(config=config, channels=channels or ["m"])


def people(*names: str) -> list[Any]:
    return [HumanMessage(f"{name} " * 150, id=name) for name in names]


def test_a_lost_frame_on_the_way(durable: Backend) -> None:
    """The channel is rebuilt from an earlier value, and what was written since: in their order."""
    with durable.open() as saver:
        last = deltas(saver, {1: people("x"), 3: people("y")})
        put(saver, "u", {"m": _DeltaSnapshot(people("x"))}, id=IDS[0])
        sound = history(saver, last)["m"]
    assert [each.id for each in sound["seed"].value] == ["y"]
    assert [write[2][0].id for write in sound["writes"]] == ["a3", "b3", "a4", "b4"]
    lose(durable, 3)
    with durable.open() as saver:
        found = history(saver, last)["m"]
        assert [each.id for each in found["seed"].value] == ["x"]
        assert [write[2][0].id for write in found["writes"]] == [
            f"{task}{n}" for n in (1, 2, 3, 4) for task in "ab"
        ]
        assert {heal.kind for heal in saver.thread("t").heals()} == {"exact"}


def spoil_write(durable: Backend, n: int, task: str, channel: str) -> None:
    rows, where = Rows(durable.url, "wyrd_writes"), "WHERE checkpoint = ? AND task = ?"
    (row,) = rows.all(f"{where} AND channel = ?", IDS[n], task, channel)
    data = garbled(row["data"])
    rows.run(f"UPDATE {{}} SET data = ? {where} AND channel = ?", data, IDS[n], task, channel)


def test_a_lost_write_of_a_delta_channel(durable: Backend) -> None:
    """It is missing from the value, and that is told; as the damage may be in the channel's name,
    also where only another channel still wants what was written."""
    with durable.open() as saver:
        last = deltas(saver, {1: people("x"), 3: people("y")})
        sound = history(saver, last)["m"]["writes"]
    spoil_write(durable, 4, "b", "m")
    spoil_write(durable, 1, "a", "m")
    with durable.open() as saver:
        found = history(saver, last, "m", "other")
        assert found["m"]["writes"] == [w for w in sound if w[2][0].id != "b4"]
        assert [write[2] for write in found["other"]["writes"]] == [
            [n] for n in (1, 1, 2, 2, 3, 3, 4, 4)
        ]
        told = [(h.kind, h.checkpoint_id, h.channel) for h in saver.thread("t").heals()]
        assert sorted(told) == [("left_out", IDS[1], "m"), ("left_out", IDS[4], "m")]


def test_a_walk_that_ends_where_all_have_begun(durable: Backend) -> None:
    """What is damaged beyond that is nobody's business."""
    with durable.open() as saver:
        last = deltas(saver, {1: [], 3: []})
        sound = history(saver, last)
    lose(durable, 4)
    spoil(durable, 2, **BAD)
    with durable.open() as saver:
        assert history(saver, last) == sound
        assert {heal.checkpoint_id for heal in saver.thread("t").heals()} == {IDS[4]}


@pytest.mark.parametrize("left", ["all", "nothing earlier"])
def test_messages_in_deltas(durable: Backend, left: str) -> None:
    """A lost message among a value: rebuilt from an earlier value, if one is left; only else it is
    stood in for."""
    with durable.open() as saver:
        seeds = {1: people("x"), 3: people("x", "y")}
        last = deltas(saver, seeds, first=1 if left == "all" else 3)
    found = Rows(durable.url, "wyrd_splices").all()
    (row,) = [each for each in found if b"y y y" in each["data"]]
    spoil_splice(durable.url, row, data=row["data"].replace(b"y y y", b"y z z"))
    with durable.open() as saver:
        held = history(saver, last)["m"]
        kinds = {heal.kind for heal in saver.thread("t").heals()}
        if left == "all":
            assert [each.id for each in held["seed"].value] == ["x"]
            assert (len(held["writes"]), kinds) == (8, {"exact"})
        else:
            assert [each.content == TEXT for each in held["seed"].value] == [True, True]
            assert (len(held["writes"]), kinds) == (4, {"placeholder"})


@pytest.mark.parametrize("what", ["value", "frame", "row"])
def test_a_delta_channel_that_began_with_a_value(durable: Backend, what: str) -> None:
    """As the first `update_state` leaves it. Where that is lost, nothing gives it again: what was
    written since is there, and it is never said to be whole."""
    with durable.open() as saver:
        last = deltas(saver, {1: ["text " * 90]}, last=3)
    if what == "value":
        (row,) = [each for each in Rows(durable.url, "wyrd_splices").all()
                  if b"text text" in each["data"]]  # fmt: skip
        spoil_splice(durable.url, row, data=garbled(row["data"]))
    elif what == "frame":
        lose(durable, 1)
    else:
        spoil(durable, 1, **BAD)
    with durable.open() as saver:
        held = history(saver, last)["m"]
        assert held.get("seed") is None
        assert [write[2][0].id for write in held["writes"]] == ["a1", "b1", "a2", "b2"]
        heals = saver.thread("t").heals()
        assert {heal.kind for heal in heals} == {"left_out"}
        if what != "row":  # what it held is not known then
            assert [heal.channel for heal in heals if "nothing is left" in heal.what] == ["m"]


def test_a_delta_channel_that_began_without_a_value(durable: Backend) -> None:
    """All that was written gives it, whatever was stored of it on the way. What another channel
    still looks for is not its loss."""
    with durable.open() as saver:
        last = deltas(saver, {2: people("x"), 4: people("y")})
        sound = history(saver, last, "m", "other")
    lose(durable, 2)
    with durable.open() as saver:
        found = history(saver, last, "m", "other")
        assert found["other"] == sound["other"]
        assert found["m"].get("seed") is None
        assert len(found["m"]["writes"]) == 8
        heals = saver.thread("t").heals()
        assert {heal.kind for heal in heals} == {"exact"}


def test_a_channel_that_has_begun(durable: Backend) -> None:
    """A frame that is lost beyond its value is no loss of it."""
    with durable.open() as saver:
        deltas(saver, {1: people("x")}, last=2)
    lose(durable, 2)
    with durable.open() as saver:
        assert saver.get_tuple(at("t")).checkpoint["id"] == IDS[1]
        third = put(saver, "t", {"m": _DeltaSnapshot(people("y"))}, id=IDS[3], parent=IDS[2])
        put(saver, "t", {"n": 4}, id=IDS[4], parent=third)
        history(saver, at("t", IDS[4]), "m", "other")
        assert {heal.channel for heal in saver.thread("t").heals()} == {"", "other"}


def test_a_pruned_parent_is_an_end(durable: Backend) -> None:
    """Not a loss: nothing says anything of it."""
    with durable.open() as saver:
        last = deltas(saver, {}, first=3)
        sound = history(saver, last)
    lose(durable, 4)
    with durable.open() as saver:
        assert history(saver, last) == sound
        (heal,) = saver.thread("t").heals()
        assert (heal.kind, heal.checkpoint_id) == ("left_out", IDS[4]), "it may have had a value"


def test_a_history_of_a_lost_row(durable: Backend) -> None:
    """A checkpoint whose row can't be had back has no history: that is said by its id."""
    with durable.open() as saver:
        last = deltas(saver, {1: people("x")})
    spoil(durable, 5, **BAD)
    with (
        durable.open() as saver,
        pytest.raises(errors.CheckpointDamaged, match="can't be had back"),
    ):
        history(saver, last)


@pytest.mark.parametrize("cast", ["CAST(? AS TEXT)", "?"])
def test_ids_that_are_no_text(sqlite: Backend, cast: str) -> None:
    """SQLite puts any bytes into an id: the checkpoint is found by them, had back or moved away;
    and so is what its task wrote, and what it said."""
    sound = checkpoints(sqlite, {1: None, 2: 1, 3: 2})
    with sqlite.open() as saver:
        saver.put_writes(at("t", IDS[2]), [("log", [A])], "task")
    spoilt = b"\xff" + IDS[2][1:].encode()
    for table, column in (("wyrd_checkpoints", "id"), ("wyrd_writes", "checkpoint")):
        assert Rows(sqlite.url, table).run(
            f"UPDATE {{}} SET {column} = {cast} WHERE {column} = ?", spoilt, IDS[2]
        )
    with sqlite.open() as saver:
        for _ in range(2):
            assert saver.get_tuple(at("t")).checkpoint == sound[3].checkpoint
            if cast == "?":
                return
            listed = [each.checkpoint["id"] for each in saver.list(at("t"))]
            assert set(listed) | {heal.checkpoint_id for heal in saver.thread("t").heals()} >= {
                IDS[1],
                IDS[3],
            }
            assert saver.thread("t").working_state() is not None
            saver.verify(repair=True)
        assert not [each for each in saver.verify().findings if each.damage]
        assert IDS[2] in [each.checkpoint["id"] for each in saver.list(at("t"))]
