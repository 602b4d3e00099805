"""Names: short, visible, and the same to everyone who reads them."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import check_identifier
from blackboard.errors import Malformed


@pytest.mark.parametrize(
    "name", ["a", "deploy/api", "a b", "x" * 16, "é" * 8, "任务/B", "😀😀😀😀", "~!@#$%^&*()_+"]
)
def test_a_visible_name_within_the_limit_is_accepted(name: str) -> None:
    check_identifier(name, member="/key", max_bytes=16)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("", "at least 1 character"),
        ("x" * 17, 16),
        ("é" * 9, 16),
        ("a\nb", "no control characters"),
        ("\0", "no control characters"),
        ("\x7f", "no control characters"),
        ("é\x85", "no control characters"),
        ("\x9f", "no control characters"),
        ("a\u2028", "no control characters"),
        ("a\u2029", "no control characters"),
        ("a\ud800", "no control characters"),
        ("\n" * 99, "no control characters"),
    ],
)
def test_any_other_name_is_refused_with_member_and_limit(name: str, limit: object) -> None:
    with pytest.raises(Malformed) as caught:
        check_identifier(name, member="/writes/0/key", max_bytes=16)
    assert (caught.value.member, caught.value.limit) == ("/writes/0/key", limit)
    assert str(caught.value).startswith("/writes/0/key ")
    msgspec.json.encode(caught.value.members)


@given(st.text(st.characters(exclude_categories=[]), max_size=12))
def test_exactly_the_names_with_forbidden_characters_or_lengths_are_refused(name: str) -> None:
    forbidden = any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name)
    allowed = bool(name) and not forbidden and len(name.encode()) <= 16
    try:
        check_identifier(name, member="/key", max_bytes=16)
    except Malformed:
        assert not allowed
    else:
        assert allowed
