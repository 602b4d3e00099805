"""The Merkle tree of RFC 6962 (section 2.1) with SHA-256: roots of streams, proofs, and their verification.

The leaves are the chain hashes of a board's events, in the order of seqs: leaf `seq - 1` belongs to event
`seq`. A root says which events a log held; a proof of inclusion that one of them is a certain one; a proof of
consistency that a later log holds all of an earlier one, unchanged and in place.

Every proof is a list of roots of subtrees, no two of which overlap. So one pass over the leaves makes it, and
remembers a hash for each level of each of these subtrees, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

HASH_BYTES: Final = 32

EMPTY: Final = sha256(b"").digest()
"""The root of a tree without leaves."""

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


class Span(NamedTuple):
    """The leaves `start <= index < stop` of a tree, whose root is one hash of a proof."""

    start: int
    stop: int


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf that holds `data`."""
    return sha256(_LEAF + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(_NODE + left + right).digest()


class Tree:
    """A tree that grows by leaves. Of what lies behind it keeps a hash a level at most."""

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes | None] = []
        """By level: the root of a full subtree of 2^level leaves that waits for the one beside it."""

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add the leaves that hold these data, in order."""
        nodes = [sha256(_LEAF + data).digest() for data in leaves]
        self.size += len(nodes)
        peaks, level = self._peaks, 0
        while nodes:
            if level == len(peaks):
                peaks.append(None)
            if (waiting := peaks[level]) is not None:
                nodes.insert(0, waiting)
            peaks[level] = nodes.pop() if len(nodes) & 1 else None
            pairs = zip(nodes[::2], nodes[1::2], strict=True)
            nodes = [sha256(_NODE + left + right).digest() for left, right in pairs]
            level += 1

    def root(self) -> bytes:
        """The root over the leaves so far."""
        node = None
        for peak in self._peaks:
            if peak is not None:
                node = peak if node is None else node_hash(peak, node)
        return EMPTY if node is None else node


class Prover:
    """Takes the leaves of a tree one after another, and has then the proof that consists of these spans."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._found: dict[Span, bytes] = {}
        self._spans = tuple(spans)
        self._waiting = sorted(spans, reverse=True)
        self._tree = Tree()
        self._at = 0

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Take the next leaves."""
        begin, self._at = self._at, self._at + len(leaves)
        while self._waiting and self._waiting[-1].start < self._at:
            span = self._waiting[-1]
            self._tree.extend(leaves[max(span.start - begin, 0) : span.stop - begin])
            if self._at < span.stop:
                return
            self._found[self._waiting.pop()] = self._tree.root()
            self._tree = Tree()

    def proof(self) -> list[bytes]:
        """The proof, once every leaf of its spans was taken."""
        return [self._found[span] for span in self._spans]


def prove(spans: Sequence[Span], leaves: Sequence[bytes]) -> list[bytes]:
    """The proof that consists of these spans, over leaves at hand."""
    prover = Prover(spans)
    prover.extend(leaves)
    return prover.proof()


# ---- which subtrees a proof consists of


def inclusion_spans(index: int, size: int) -> list[Span]:
    """What proves that leaf `index` is in the tree of `size` leaves: `PATH` of section 2.1.1."""
    assert 0 <= index < size
    found: list[Span] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            found.append(Span(middle, stop))
            stop = middle
        else:
            found.append(Span(start, middle))
            start = middle
    return found[::-1]


def consistency_spans(first: int, second: int) -> list[Span]:
    """What proves that the tree of `first` leaves begins the one of `second`: `PROOF` of section 2.1.2.

    Nothing has to be proved of an empty tree, nor of the same one.
    """
    assert 0 <= first <= second
    if first in {0, second}:
        return []
    found: list[Span] = []
    start, stop = 0, second
    while stop != first:
        middle = start + _split(stop - start)
        if first <= middle:
            found.append(Span(middle, stop))
            stop = middle
        else:
            found.append(Span(start, middle))
            start = middle
    if start:  # else it is the first tree itself, whose root the verifier has
        found.append(Span(start, stop))
    return found[::-1]


def _split(count: int) -> int:
    """The largest power of two below `count`: where a tree of so many leaves is divided."""
    return 1 << (count - 1).bit_length() - 1


# ---- verification


def included(data: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` shows that leaf `index` of the tree of `size` leaves with this root holds `data`."""
    if not 0 <= index < size:
        return False
    spans = inclusion_spans(index, size)
    if len(spans) != len(proof):
        return False
    node = leaf_hash(data)
    for span, sibling in zip(spans, proof, strict=True):
        node = node_hash(sibling, node) if span.stop <= index else node_hash(node, sibling)
    return node == root


def consistent(
    first: int, first_root: bytes, second: int, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether `proof` shows that the tree of `first` leaves with its root begins the one of `second`."""
    if not 0 <= first <= second:
        return False
    if first == 0 and first_root != EMPTY:
        return False
    if first == second:
        return not proof and first_root == second_root
    if first == 0:
        return not proof
    spans = consistency_spans(first, second)
    if len(spans) != len(proof):
        return False
    return (first_root, second_root) == _both_roots(first, first_root, spans, proof)


def _both_roots(
    first: int, first_root: bytes, spans: Sequence[Span], proof: Sequence[bytes]
) -> tuple[bytes, bytes]:
    """The roots of both trees, by the proof: what lies left of the border is in both of them."""
    steps = list(zip(spans, proof, strict=True))
    if spans[0].stop == first:  # the last part of the first tree; else that is the whole of it
        (_, node), *steps = steps
    else:
        node = first_root
    earlier = later = node
    for span, sibling in steps:
        if span.stop <= first:
            earlier, later = node_hash(sibling, earlier), node_hash(sibling, later)
        else:
            later = node_hash(later, sibling)
    return earlier, later
