"""Patches of frames, as the walk along a delta channel's history reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_wyrd.store import frames
from langgraph_wyrd.store.frames import EMPTY, Entry, Frame
from langgraph_wyrd.store.strands import Place

pytestmark = pytest.mark.inside

names_ = st.sampled_from(["log", "lo", "log2", "files", "f", "ü", "x" * 40])
versions_ = (
    st.integers(0, 300)
    | st.none()
    | st.just("0" * 31 + "7.00000000000000ff")
    | st.floats(allow_nan=False)
)
like_entries = st.sampled_from([b"", b"\xa3log\x93", b"\xa5files\x96\x01", b"x" * 300])
places = st.tuples(
    st.integers(1, 9), st.integers(0, 70000), st.integers(0, 9), st.integers(0, 2**62)
).map(Place._make)
entries = st.one_of(
    st.tuples(versions_),
    st.tuples(versions_, st.sampled_from(["l", "wmsgpack"]), like_entries),
    st.tuples(versions_, st.just("Dl"), st.none(), places),
).map(lambda fields: Entry(*fields))
frames_ = st.builds(
    Frame,
    st.dictionaries(names_, entries, max_size=5),
    st.dictionaries(names_, st.dictionaries(names_, versions_, max_size=3), max_size=2),
    st.dictionaries(names_, st.tuples(st.just("l"), st.binary(max_size=5)), max_size=2),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(frames_, max_size=12), st.lists(names_, unique=True, max_size=4))
def test_a_look_at_patches_sees_what_the_frames_hold(
    several: list[Frame], wanted: list[str]
) -> None:
    """Without building a frame, a walk knows which channels have a value in it, and where."""
    patches, before = [], EMPTY
    for frame in several:
        packed = frames.patch(before, frame)
        if packed is None:
            continue  # such a frame starts a strand of its own
        patches.append((packed, frame))
        before = frame
    found = frames.held([packed for packed, _ in patches], wanted)
    for (_, frame), held in zip(patches, found, strict=True):
        want = {n: e for n, e in frame.channels.items() if n in wanted and e.has_value}
        assert repr(sorted(held.items())) == repr(sorted(want.items()))
