"""What people type becomes what they mean, or is refused by the option's name."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from blackboard.cli import values
from blackboard.messages.commands import Write


def given(**members: Any) -> dict[str, Any]:
    nothing = {
        "value": None,
        "text": None,
        "file": None,
        "text_file": None,
        "delete": False,
        "confidence": None,
    }
    return nothing | {"basis": ()} | members


def test_each_of_the_four_ways_gives_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "value.json").write_text('{"a": [1, 2]}')
    (tmp_path / "value.txt").write_text("not JSON\n")
    assert values.value_of('{"a": 1}', None, None, None) == {"a": 1}
    assert values.value_of(None, "1", None, None) == "1"
    assert values.value_of(None, None, str(tmp_path / "value.json"), None) == {"a": [1, 2]}
    assert values.value_of(None, None, None, str(tmp_path / "value.txt")) == "not JSON\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"null")))
    assert values.value_of(None, None, "-", None) is None


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "got none"),
        ({"value": "1", "text": "1"}, "got --value and --text"),
        ({"value": "{"}, "--value is not JSON"),
        ({"value": '{"a": 1, "a": 2}'}, "--value is not JSON"),
        ({"value": "NaN"}, "--value is not JSON"),
        ({"file": "/no/such/file"}, "--file /no/such/file"),
        ({"value": "1", "delete": True}, "--delete takes no value"),
        ({"value": "1", "basis": ("task",)}, "--basis 'task': write KEY=REVISION"),
        ({"value": "1", "basis": ("task=x",)}, "--basis 'task=x'"),
        ({"value": "1", "basis": ("=1",)}, "--basis '=1'"),
        ({"value": "1", "basis": ("a=-1",)}, "--basis 'a=-1'"),
    ],
)
def test_what_is_no_write_is_refused(members: dict[str, Any], said: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(said)):
        values.write_of("k", 1, given(**members))


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "value.bin").write_bytes(b"\xff")
    with pytest.raises(click.UsageError, match="not UTF-8"):
        values.value_of(None, None, str(tmp_path / "value.bin"), None)


def test_no_revision_is_ever_filled_in() -> None:
    assert values.write_of("k", None, given(text="x")) == Write("k", value="x")


def test_basis_and_confidence_and_deletion_go_along() -> None:
    assert values.write_of("k", 3, given(text="x", confidence=0.5, basis=("a=b=2", "c=0"))) == Write(
        "k", 3, "x", 0.5, basis={"a=b": 2, "c": 0}
    )
    assert values.write_of("k", 3, given(delete=True)) == Write("k", 3, deleted=True)


@pytest.mark.parametrize("text", ['[{"key": "a"}]', '{"writes": [{"key": "a"}]}'])
def test_a_batch_is_a_list_of_writes_as_they_stand(tmp_path: Path, text: str) -> None:
    (tmp_path / "batch.json").write_text(text)
    assert values.batch_of(str(tmp_path / "batch.json")) == [{"key": "a"}]


@pytest.mark.parametrize("text", ["1", '{"write": []}', "[1]", '{"writes": {}}'])
def test_what_is_no_batch_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "batch.json").write_text(text)
    with pytest.raises(click.UsageError, match="a JSON array of writes"):
        values.batch_of(str(tmp_path / "batch.json"))
