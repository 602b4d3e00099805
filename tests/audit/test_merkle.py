"""The tree of RFC 6962, held against its definition as the RFC states it: by recursion over lists."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.audit.merkle import (
    EMPTY,
    Prover,
    Tree,
    consistency_spans,
    consistent,
    included,
    inclusion_spans,
    prove,
)

SMALL = 40
"""Every size up to here is gone through with every index: four full levels, and all that lies between."""

LEAVES = [bytes([n]) * (n % 5) for n in range(SMALL)]


def split(count: int) -> int:
    k = 1
    while 2 * k < count:
        k *= 2
    return k


def mth(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256().digest()
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    k = split(len(leaves))
    return sha256(b"\1" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def subproof(m: int, leaves: list[bytes], *, whole: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if whole else [mth(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], whole=whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], whole=False), mth(leaves[:k])]


def root(leaves: list[bytes]) -> bytes:
    tree = Tree()
    tree.extend(leaves)
    assert tree.size == len(leaves)
    return tree.root()


def test_the_root_of_a_stream_is_that_of_the_definition() -> None:
    for size in range(SMALL):
        assert root(LEAVES[:size]) == mth(LEAVES[:size])
    assert root([]) == EMPTY


@given(st.lists(st.integers(0, 9), max_size=12), st.data())
def test_slices_of_any_size_make_one_tree_and_one_proof(sizes: list[int], data: st.DataObject) -> None:
    leaves = [n.to_bytes(2, "big") for n in range(sum(sizes))]
    first = data.draw(st.integers(0, len(leaves)))
    tree, prover, at = Tree(), Prover(consistency_spans(first, len(leaves))), 0
    for size in sizes:
        tree.extend(leaves[at : at + size])
        prover.extend(leaves[at : at + size])
        at += size
    assert tree.root() == mth(leaves)
    assert prover.proof() == prove(consistency_spans(first, len(leaves)), leaves)


def test_a_leaf_is_no_inner_node() -> None:
    """The domains are apart: what two leaves hash to is not what one leaf with both hashes in it does."""
    left, right = (sha256(b"\0" + data).digest() for data in (b"a", b"b"))
    assert root([b"a", b"b"]) != root([left + right])


def test_every_proof_of_inclusion_is_that_of_the_definition_and_verifies() -> None:
    for size in range(1, SMALL):
        leaves, top = LEAVES[:size], mth(LEAVES[:size])
        for index in range(size):
            proof = prove(inclusion_spans(index, size), leaves)
            assert proof == path(index, leaves)
            assert included(leaves[index], index, size, proof, top)


def test_every_proof_of_consistency_is_that_of_the_definition_and_verifies() -> None:
    for second in range(SMALL):
        leaves, top = LEAVES[:second], mth(LEAVES[:second])
        for first in range(second + 1):
            proof = prove(consistency_spans(first, second), leaves)
            assert proof == ([] if first == 0 else subproof(first, leaves, whole=True))
            assert consistent(first, mth(LEAVES[:first]), second, top, proof)


@given(st.lists(st.binary(max_size=3), min_size=1, max_size=300), st.data())
def test_proofs_hold_for_any_leaves(leaves: list[bytes], data: st.DataObject) -> None:
    size, top = len(leaves), mth(leaves)
    index = data.draw(st.integers(0, size - 1))
    first = data.draw(st.integers(0, size))
    assert root(leaves) == top
    assert included(leaves[index], index, size, prove(inclusion_spans(index, size), leaves), top)
    proof = prove(consistency_spans(first, size), leaves)
    assert consistent(first, mth(leaves[:first]), size, top, proof)


drawn = st.integers(1, SMALL - 1).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(drawn, st.data())
def test_a_proof_of_inclusion_proves_nothing_else(where: tuple[int, int], data: st.DataObject) -> None:
    size, index = where
    leaves, top = LEAVES[:size], mth(LEAVES[:size])
    proof = prove(inclusion_spans(index, size), leaves)
    assert not included(b"other", index, size, proof, top)
    assert not included(leaves[index], index, size, proof, sha256(top).digest())
    assert not included(leaves[index], index, size, [*proof, top], top)
    other = data.draw(st.integers(-1, size))
    assert included(leaves[index], other, size, proof, top) == (other == index)
    if proof:
        assert not included(leaves[index], index, size, proof[:-1], top)
        assert not included(leaves[index], index, size, flipped(proof, data), top)


@given(drawn, st.data())
def test_a_proof_of_consistency_proves_nothing_else(where: tuple[int, int], data: st.DataObject) -> None:
    second, first = where
    earlier, later = mth(LEAVES[:first]), mth(LEAVES[:second])
    proof = prove(consistency_spans(first, second), LEAVES[:second])
    other = sha256(later).digest()
    assert not consistent(first, other, second, later, proof)
    assert consistent(first, earlier, second, other, proof) == (first == 0)
    assert not consistent(first, earlier, second, later, [*proof, later])
    assert not consistent(second, later, first, earlier, proof)
    assert not consistent(second, later, second, earlier, [])
    assert not consistent(-1, EMPTY, second, later, [])
    if proof:
        assert not consistent(first, earlier, second, later, proof[:-1])
        assert not consistent(first, earlier, second, later, flipped(proof, data))


def test_an_empty_tree_has_one_root_and_begins_every_tree() -> None:
    top = mth(LEAVES)
    assert consistent(0, EMPTY, 0, EMPTY, [])
    assert consistent(0, EMPTY, SMALL, top, [])
    assert not consistent(0, top, 0, top, [])
    assert not consistent(0, top, SMALL, top, [])
    assert not included(LEAVES[0], 0, 0, [], EMPTY)


def flipped(proof: list[bytes], data: st.DataObject) -> list[bytes]:
    """The proof with one bit of it changed."""
    at = data.draw(st.integers(0, len(proof) - 1))
    bit = data.draw(st.integers(0, 255))
    changed = int.from_bytes(proof[at], "big") ^ 1 << bit
    return [*proof[:at], changed.to_bytes(32, "big"), *proof[at + 1 :]]


@pytest.mark.parametrize("size", [2**20, 2**20 + 1, 3 * 2**19 - 1])
def test_what_is_kept_of_a_large_tree_grows_with_its_levels_alone(size: int) -> None:
    assert len(inclusion_spans(size - 1, size)) <= 21
    assert len(consistency_spans(size // 3, size)) <= 22
    tree, prover = Tree(), Prover(consistency_spans(700, 5_000))
    for n in range(5_000):
        tree.extend([n.to_bytes(2, "big")])
        prover.extend([n.to_bytes(2, "big")])
    assert len(tree._peaks) == (5_000).bit_length()
    assert prover._tree._peaks == []
    earlier = root([n.to_bytes(2, "big") for n in range(700)])
    assert consistent(700, earlier, 5_000, tree.root(), prover.proof())
