"""Keys in order, for range reads: a sorted list cut into buckets.

Adding is O(bucket) wherever the key falls, so that a board's millionth key costs what its first did.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

_BUCKET = 1024
_LAST = "\U0010ffff"
_SURROGATES, _AFTER_SURROGATES = 0xD800, 0xE000


class SortedKeys:
    """A set of strings in code-point order."""

    __slots__ = ("_buckets", "_tops")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        self._buckets = [ordered[at : at + _BUCKET] for at in range(0, len(ordered), _BUCKET)]
        self._tops = [bucket[-1] for bucket in self._buckets]

    def add(self, key: str) -> None:
        """Add a key that is not there yet."""
        if not self._buckets:
            self._buckets.append([key])
            self._tops.append(key)
            return
        at = min(bisect_left(self._tops, key), len(self._tops) - 1)
        bucket = self._buckets[at]
        insort(bucket, key)
        self._tops[at] = bucket[-1]
        if len(bucket) > 2 * _BUCKET:
            self._split(at)

    def _split(self, at: int) -> None:
        bucket = self._buckets[at]
        middle = len(bucket) // 2
        self._buckets[at : at + 1] = [bucket[:middle], bucket[middle:]]
        self._tops[at : at + 1] = [bucket[middle - 1], bucket[-1]]

    def after(self, key: str | None, prefix: str = "") -> Iterator[str]:
        """The keys above `key` (None: from the start) that start with `prefix`, in order."""
        start = prefix if key is None or key < prefix else key
        # A key equal to the prefix itself starts with it; one equal to `key` was served before.
        find = bisect_left if key is None or key < prefix else bisect_right
        at = bisect_left(self._tops, start)
        while at < len(self._buckets):
            bucket = self._buckets[at]
            for found in bucket[find(bucket, start) :]:
                if not found.startswith(prefix):
                    return
                yield found
            find, start = bisect_left, prefix
            at += 1


def above(prefix: str) -> str | None:
    """The least string above every one that starts with `prefix`; None where nothing is above them."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_AFTER_SURROGATES if following == _SURROGATES else following)


def below(bound: str) -> str:
    """The prefix of which `bound` is above every key, if it is the bound of one."""
    before = ord(bound[-1]) - 1
    return bound[:-1] + chr(_SURROGATES - 1 if before == _AFTER_SURROGATES - 1 else before)
