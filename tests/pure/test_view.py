"""The view against a plain one: a map per agent, from which compactions delete."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from blackboard.projections.ledger import Entry
from blackboard.projections.view import View
from tests.pure.driver import in_order

KEYS = ["", "a", "a/", "a/b", "aa", "ab", "b", "b/", "b/a", "b/b", "ba", "c"]


class Op(NamedTuple):
    what: str
    key: str = ""
    after: str | None = None
    through: str | None = None
    prefix: str = ""
    back: int = 0


any_key = st.sampled_from(KEYS)
ops = st.one_of(
    st.builds(Op, st.just("read"), any_key),
    st.builds(Op, st.just("write"), any_key),
    st.builds(
        Op,
        st.just("range"),
        after=st.none() | any_key,
        through=st.none() | any_key,
        prefix=st.sampled_from(["", "a", "a/", "b/", "c"]),
    ),
    st.builds(Op, st.just("compact"), back=st.integers(0, 6)),
)


class Plain:
    """What each key was last read and written at, and by which compaction each observation was lost."""

    def __init__(self) -> None:
        self.reads = dict.fromkeys(KEYS, 0)
        self.writes = dict.fromkeys(KEYS, 0)
        self.lost: dict[str, int] = {}

    def see(self, where: dict[str, int], key: str, seq: int) -> None:
        where[key] = seq
        self.lost.pop(key, None)

    def observed(self, key: str) -> int:
        return max(self.reads[key], self.writes[key])

    def apply(self, op: Op, seq: int) -> None:
        if op.what == "read":
            self.see(self.reads, op.key, seq)
        elif op.what == "write":
            self.see(self.writes, op.key, seq)
        elif op.what == "range":
            for key in KEYS:
                above = op.after is None or key > op.after
                below = op.through is None or key <= op.through
                if key.startswith(op.prefix) and above and below:
                    self.see(self.reads, key, seq)
        else:
            for key in KEYS:
                if 0 < self.observed(key) <= max(0, seq - 1 - op.back):
                    self.lost.setdefault(key, seq)


def played(found: list[Op]) -> tuple[View, Plain]:
    view, plain = View(), Plain()
    for seq, op in enumerate(found, 1):
        plain.apply(op, seq)
        if op.what == "read":
            view.reads[op.key] = seq
        elif op.what == "write":
            view.writes[op.key] = seq
        elif op.what == "range":
            view.read_range(op.after, op.through, op.prefix, seq)
        else:
            view.compact(max(0, seq - 1 - op.back), seq)
    return view, plain


def real(op: Op) -> bool:
    """A page ends at a key of its range, or is the last one."""
    if op.through is None:
        return True
    return op.through.startswith(op.prefix) and (op.after is None or op.after < op.through)


histories = st.lists(ops.filter(real), max_size=12)


@given(histories)
def test_the_view_is_a_map_from_which_compactions_delete(found: list[Op]) -> None:
    view, plain = played(found)
    assert in_order(view)
    for key in KEYS:
        assert view.last_read(key) == plain.reads[key]
        assert view.observed(key) == plain.observed(key)
        # The absence of a key is held as an entry is.
        assert view.holds(key, None) == (plain.observed(key) > 0 and key not in plain.lost)
        seen = plain.observed(key)
        assert (view.removed_by(seen) if seen else None) == plain.lost.get(key)


@given(histories, st.sampled_from(KEYS), st.integers(1, 12))
def test_an_entry_is_held_iff_it_was_observed_since_it_was_written(
    found: list[Op], key: str, written: int
) -> None:
    view, plain = played(found)
    entry = Entry(key, b"1", 1, "peer", written, b"", written, 1)
    kept = plain.observed(key) > 0 and key not in plain.lost
    assert view.holds(key, entry) == (kept and plain.observed(key) >= written)


@given(histories)
def test_the_ranges_listed_are_those_that_were_read(found: list[Op]) -> None:
    view, _ = played(found)
    for key in KEYS:
        inside = [mark for low, high, mark in view.ranges() if low <= key and (high is None or key < high)]
        single = view.reads.get(key, 0)
        assert max([single, *inside]) == view.last_read(key)


def test_a_full_read_forgets_the_single_reads_below_it() -> None:
    view = View()
    view.reads = {"a": 1, "b": 2}
    view.read_range(None, None, "a", 3)
    assert view.reads == {"b": 2}
    view.read_range(None, None, "", 4)
    assert view.reads == {}


def test_a_page_from_beyond_the_prefix_covers_nothing() -> None:
    view = View()
    view.read_range("zzz", None, "a/", 5)
    assert view.starts == []


def test_a_compaction_with_a_lower_base_removes_nothing_more() -> None:
    view = View()
    view.reads = {"a": 5}
    view.compact(6, 7)
    view.compact(3, 8)
    assert (view.base, view.removed_by(5)) == (6, 7)
