"""Keys in order: a sorted set that range reads walk."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.projections import keys as module
from blackboard.projections.keys import SortedKeys, above, below

short = st.text("ab/\U0010ffff", max_size=4)


@pytest.fixture(autouse=True, scope="module")
def small_buckets() -> Iterable[None]:
    """Buckets of two keys, so that a handful of keys crosses every border."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BUCKET", 2)
        yield


@given(st.sets(short), st.sets(short), st.none() | short, short)
def test_the_keys_are_a_sorted_set(first: set[str], later: set[str], after: str | None, prefix: str) -> None:
    found = SortedKeys(first)
    for key in sorted(later - first, key=lambda key: key[::-1]):
        found.add(key)
    expected = sorted(
        key for key in first | later if key.startswith(prefix) and (after is None or key > after)
    )
    assert list(found.after(after, prefix)) == expected


@given(short | st.text(max_size=3), st.text(st.characters() | st.just("\U0010ffff")))
def test_the_bound_of_a_prefix_is_above_every_key_of_it(prefix: str, rest: str) -> None:
    bound = above(prefix)
    assert (bound is None) == (prefix.strip("\U0010ffff") == "")
    if bound is not None:
        assert prefix + rest < bound
        assert (prefix + rest).startswith(below(bound))


@given(short | st.text(max_size=3), short | st.text(max_size=3))
def test_the_bound_of_a_prefix_is_not_above_any_key_behind_it(prefix: str, key: str) -> None:
    bound = above(prefix)
    if key > prefix and not key.startswith(prefix):
        assert bound is not None
        assert bound <= key


def test_the_bound_of_a_prefix_is_a_string_that_can_be_written() -> None:
    assert above("a\ud7ff") == "a\ue000"
    assert below("a\ue000") == "a\ud7ff"


def test_keys_stay_in_order_across_the_borders_of_buckets() -> None:
    found = SortedKeys()
    for number in (5, 3, 8, 1, 9, 2, 7, 4, 6, 0):
        found.add(str(number))
    assert "".join(found.after(None)) == "0123456789"
    assert "".join(found.after("3")) == "456789"
    assert max(len(bucket) for bucket in found._buckets) <= 4


def test_a_board_without_keys_has_none_to_walk() -> None:
    assert list(SortedKeys().after(None)) == []
