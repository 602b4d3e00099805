"""What people and programs read: agents' text steers no terminal, tables line up, JSON stays JSON."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.cli import describe, output
from blackboard.events.kinds import KINDS
from blackboard.messages.replies import EventView

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text())
def test_no_character_that_a_terminal_obeys_or_hides_is_printed(text: str) -> None:
    assert not {unicodedata.category(char) for char in output.visible(text)} & HIDDEN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("ab\u202edc", "ab\\u202edc"),
        ("\u200bzero width", "\\u200bzero width"),
        ("\U000e0001tag", "\\U000e0001tag"),
        ("Grüße, 世界 ✓", "Grüße, 世界 ✓"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert output.visible(text) == shown


@given(
    st.recursive(
        st.text() | st.integers(-9, 9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_means_the_same_and_hides_nothing(value: object) -> None:
    text = output.json_text(value)
    assert json.loads(text) == value
    assert not {unicodedata.category(char) for char in text} & HIDDEN


def test_json_on_a_terminal_is_indented_and_still_escaped() -> None:
    text = output.json_text({"text": "a\u202eb\x7f"}, pretty=True)
    assert text.count("\n") == 2
    assert "\\u202e" in text
    assert "\\u007f" in text


def test_columns_line_up_also_with_wide_and_combining_characters() -> None:
    lines = output.table(("KEY", "REV", "VALUE"), [("世界", 1, "x"), ("e\u0301", 10, "y")], right=("REV",))
    assert lines[1:] == ["世界    1  x", "e\u0301      10  y"]


def test_a_table_without_rows_is_its_heading() -> None:
    assert output.table(("A", "B"), []) == ["\x1b[1mA  B\x1b[0m"]


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        ("plain", 5, "plain"),
        ("plain text", 6, "plain…"),
        ("世界世界", 6, "世界…"),
        ("a \x1b[31mred\x1b[0m line", 5, "a \x1b[31mre…\x1b[0m"),
        ("a \x1b[31mred\x1b[0m line", 10, "a \x1b[31mred\x1b[0m line"),
    ],
)
def test_a_line_is_cut_by_columns_and_keeps_its_colours(line: str, width: int, shown: str) -> None:
    assert output.cut(line, width) == shown


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (4.5, "4.5"), (4.0, "4"), (0, "0")])
def test_numbers_have_no_needless_fraction(value: float | None, shown: str) -> None:
    assert output.number(value) == shown


@pytest.mark.parametrize(("micros", "shown"), [(None, "-"), (1_700_000_000_000_000, "2023-11-14 22:13:20Z")])
def test_times_are_utc(micros: int | None, shown: str) -> None:
    assert output.moment(micros) == shown


def event(kind: str, body: object, **envelope: object) -> EventView:
    members = {
        "board": "b",
        "seq": 7,
        "version": 1,
        "actor": "agent:executor",
        "recorded_at": 0,
        "command_id": "c",
    }
    return EventView(**(members | {"kind": kind, "body": body} | envelope))  # type: ignore[arg-type] # plain data


def test_every_kind_of_event_has_its_line() -> None:
    assert {kind for kind, _ in KINDS} == set(describe._TELL)


@pytest.mark.parametrize(
    ("shown", "summary"),
    [
        (event("turn.ended", {}, turn=7), "turn 7"),
        (event("invented.later", {"a": 1}), '{"a":1}'),
        (event("message.posted", None), "(redacted)"),
        (event("message.posted", {"text": "hi\x1b", "cited": ["entry:3"]}), '"hi\\u001b"  cites entry:3'),
        (event("message.posted", {"text": "hi", "recipients": ["a"]}), 'to a: "hi"  cites nothing'),
        (event("entry.written", {"value": None, "deleted": True}, key="k", revision=2), "k@2 deleted"),
        (
            event(
                "entry.written",
                {"value": 1, "confidence": 0.5, "basis": {"a": 1}, "asserted": 3},
                key="k",
                revision=4,
            ),
            "k@4 = 1  confidence 0.5  basis a@1  asserted 3",
        ),
        (
            event(
                "write.rejected",
                {
                    "code": "x",
                    "rules": [{"code": "x"}, {"code": "y"}, {"code": "y"}],
                    "writes": [{"key": "k"}],
                },
            ),
            "x: k@? (also y)",
        ),
        (
            event("board.read", {"keys": {f"k{n}": n for n in range(10)}}),
            "k0@0 k1@1 k2@2 k3@3 k4@4 k5@5 k6@6 k7@7 and 2 more",
        ),
        (event("board.read", {"page": 2, "head": 9}), "page 2 of everything, as of 9"),
        (event("board.read", {"proposals": []}), "0 proposals"),
        (
            event("agent.compacted", {"agents": ["a", "b"], "base_seq": 4, "kept": ["r"]}),
            "a, b: unknown, no entry seen up to 4 is held, 1 record kept",
        ),
        (
            event("board.mode-changed", {"mode": "single-writer", "coordinator": "p", "why": "w"}),
            "single-writer, coordinator p: w",
        ),
        (event("board.mode-changed", {"mode": "open"}), "open"),
        (event("agent.joined", {"agent": "a", "prefix": "task/"}), "a, prefix task/"),
        (
            event("write.proposed", {"writes": [{"key": "k", "revision": 1}], "reason": "r"}),
            "proposal:7 k@1: r",
        ),
        (event("proposal.accepted", {"proposal": "proposal:7", "restate": True}), "proposal:7, restated"),
        (event("proposal.refused", {"proposal": "proposal:7", "reason": "no"}), "proposal:7: no"),
        (event("board.format-raised", {"format": 2}), "format 2"),
        (
            event("board.opened", {"name": "b", "format": 1, "policy": {"demotion": "off"}}),
            "b, format 1; off: demotion: off",
        ),
        (event("board.policy-changed", {"policy": {}}), "changed"),
        (
            event(
                "signal.raised",
                {
                    "signal": "s",
                    "effect": "flag",
                    "agent": "a",
                    "key": "k",
                    "numbers": {"n": 1},
                    "evidence": [1, 2],
                },
            ),
            "s (flag): a on k; n 1; see 1, 2",
        ),
    ],
)
def test_an_event_is_told_in_a_line(shown: EventView, summary: str) -> None:
    assert describe.summary(shown) == summary
