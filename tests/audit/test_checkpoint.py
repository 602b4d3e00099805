"""Checkpoints: one text for one state of one log."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.audit import note
from blackboard.audit.checkpoint import (
    Checkpoint,
    board_of,
    opened,
    origin_of,
    read_text,
    signed,
    text_of,
)
from blackboard.audit.merkle import EMPTY
from blackboard.errors import IntegrityFailure, Malformed
from blackboard.gate.actions.signing import raw_public_key
from tests.audit.test_note import OTHER, PRIVATE

ROOT = sha256(b"root").digest()
BASE = base64.b64encode(ROOT).decode()
FOUND = Checkpoint("release-42", 1204, ROOT)
HEX = raw_public_key(PRIVATE.public_key()).hex()


def test_a_checkpoint_is_origin_size_and_root() -> None:
    assert text_of(FOUND) == f"blackboard/release-42\n1204\n{BASE}\n"
    assert opened(signed(FOUND, PRIVATE).encode(), HEX) == FOUND


names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40)


@given(names)
def test_every_board_has_a_name_of_its_own_that_a_key_can_have(board: str) -> None:
    origin = origin_of(board)
    assert note.is_name(origin)
    assert origin.isascii()
    assert board_of(origin) == board


@pytest.mark.parametrize(
    "origin",
    [
        "blackboard/",
        "",
        "release-42",
        "example.com/log",
        "blackboard/a b",
        "blackboard/%zz",
        "blackboard/%ff",
    ],
)
def test_a_name_that_no_board_gives_is_refused(origin: str) -> None:
    with pytest.raises(Malformed, match="is no log of a board"):
        board_of(origin)


@given(names, st.integers(1, 2**53), st.binary(min_size=32, max_size=32))
def test_every_checkpoint_is_read_back(board: str, size: int, root: bytes) -> None:
    found = Checkpoint(board, size, root)
    assert read_text(text_of(found)) == found


def test_lines_of_others_behind_the_root_change_nothing() -> None:
    assert read_text(f"{text_of(FOUND)}Timestamp: 1\n") == FOUND
    assert read_text(f"blackboard/x\n0\n{base64.b64encode(EMPTY).decode()}\n") == Checkpoint("x", 0, EMPTY)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("blackboard/x\n1\n", "origin, size and root"),
        (f"blackboard/x\n1\n{BASE}\n\nmore\n", "no line is empty"),
        (f"\n1\n{BASE}\n", "no line is empty"),
        *[
            (f"blackboard/x\n{size}\n{BASE}\n", "is no size")
            for size in ("01", "-1", "+1", " 1", "1.0", "٣", "9" * 20)
        ],
        (f"blackboard/x\n1\n{BASE[:-1]}\n", "is no root"),
        (f"blackboard/x\n1\n{base64.b64encode(ROOT[:31]).decode()}\n", "is no root"),
        (f"blackboard/x\n0\n{BASE}\n", "the root of an empty tree"),
        (f"elsewhere/x\n1\n{BASE}\n", "is no log of a board"),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        read_text(text)


def test_a_checkpoint_counts_under_the_key_of_its_log_alone() -> None:
    with pytest.raises(Malformed, match="name the public key"):
        opened(signed(FOUND, OTHER).encode(), HEX)
    renamed = note.encode(note.sign(text_of(FOUND), PRIVATE, "blackboard/other"))
    with pytest.raises(Malformed, match="name the public key"):
        opened(renamed.encode(), HEX)
    changed = signed(FOUND, PRIVATE).replace("1204", "1203")
    with pytest.raises(IntegrityFailure, match="was changed"):
        opened(changed.encode(), HEX)
