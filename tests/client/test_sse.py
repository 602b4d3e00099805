"""The parser of server-sent events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.client import sse
from blackboard.client.sse import Frame, Frames, FrameTooLong


def test_a_frame_has_the_members_that_its_lines_name() -> None:
    assert Frames().feed(b"id: 4\nevent: entry.written\ndata: {}\n\n") == [Frame("entry.written", "4", "{}")]


def test_data_of_several_lines_is_joined_and_one_space_is_dropped() -> None:
    assert Frames().feed(b"data: a\ndata:  b\ndata:c\n\n") == [Frame("", "", "a\n b\nc")]


def test_comments_and_unknown_members_make_no_frame() -> None:
    assert Frames().feed(b": alive\n\nretry: 1000\n\n") == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_of_three_ways(end: bytes) -> None:
    frame = end.join([b"id: 1", b"data: x", b"", b""])
    assert Frames().feed(frame) == [Frame("", "1", "x")]


@given(st.lists(st.text(st.characters(blacklist_characters="\r\n", codec="utf-8")), max_size=8), st.data())
def test_frames_are_the_same_wherever_the_network_cuts_them(texts: list[str], data: st.DataObject) -> None:
    raw = b"".join(b"id: %d\ndata:  %b\n\n" % (seq, text.encode()) for seq, text in enumerate(texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    frames = Frames()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        found += frames.feed(raw[start:end])
    assert found == [Frame("", str(seq), " " + text) for seq, text in enumerate(texts)]


def test_a_frame_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_FRAME", 100)
    frames = Frames()
    with pytest.raises(FrameTooLong):
        frames.feed(b"data: " + b"x" * 100)
