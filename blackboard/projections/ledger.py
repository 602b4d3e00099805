"""The ledger: what is true now, key by key.

Source: "Projections" of the write gate's design. Entries are replaced, never changed, so that a shallow
copy of the map is a consistent snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from blackboard.projections.keys import SortedKeys


class Entry(Struct, frozen=True, gc=False, array_like=True):
    """The current entry of a key; a tombstone is an entry.

    `value` are canonical JSON bytes, `asserted` the revision that the writer named (it differs from
    `revision` under advisory revisions only), `born` the seq at which the key last came to life,
    `last_status` the status that a deleted key had when it was deleted.
    """

    key: str
    value: bytes
    revision: int
    writer: str
    seq: int
    payload_hash: bytes
    born: int
    asserted: int
    deleted: bool = False
    confidence: float | None = None
    last_status: str | None = None

    @property
    def id(self) -> str:
        """The identifier that agents cite."""
        return f"entry:{self.seq}"


class Ledger:
    """Key -> entry, with what range reads, citations and counters need."""

    __slots__ = ("_by_hash", "_prefixes", "_written", "entries", "keys", "live")

    def __init__(self, entries: dict[str, Entry] | None = None, written: bytes = b"") -> None:
        self.entries: dict[str, Entry] = entries if entries is not None else {}
        self.keys = SortedKeys(self.entries)
        self.live = sum(not entry.deleted for entry in self.entries.values())
        self._by_hash: dict[bytes, tuple[Entry, ...]] | None = None
        self._written = bytearray(written)
        self._prefixes: dict[str, int] = {}

    def put(self, entry: Entry) -> None:
        """Make `entry` current."""
        key = entry.key
        before = self.entries.get(key)
        self.entries[key] = entry
        byte = entry.seq >> 3
        if byte >= len(self._written):
            self._written.extend(bytes(byte - len(self._written) + 1))
        self._written[byte] |= 1 << (entry.seq & 7)
        was_live = before is not None and not before.deleted
        if before is None:
            self.keys.add(key)
        if was_live == entry.deleted:
            change = -1 if entry.deleted else 1
            self.live += change
            for prefix in self._prefixes:
                if key.startswith(prefix):
                    self._prefixes[prefix] += change
        if self._by_hash is not None:
            self._unhash(self._by_hash, before)
            self._hash(self._by_hash, entry)

    def live_under(self, prefix: str) -> int:
        """The number of live keys that start with `prefix`; counted once, then kept."""
        if not prefix:
            return self.live
        if prefix not in self._prefixes:
            self._prefixes[prefix] = sum(not entry.deleted for entry in self.under(prefix))
        return self._prefixes[prefix]

    def under(self, prefix: str, after: str | None = None) -> Iterator[Entry]:
        """Entries (tombstones too) whose key starts with `prefix` and is above `after`, in order."""
        entries = self.entries
        return (entries[key] for key in self.keys.after(after, prefix))

    def wrote(self, seq: int) -> bool:
        """Whether the event at `seq` wrote an entry: whether `entry:<seq>` exists."""
        byte, bit = divmod(seq, 8)
        return byte < len(self._written) and bool(self._written[byte] >> bit & 1)

    def hashed(self, prefix: str) -> bool:
        """Whether a live entry's payload hash starts with these 8 or more hex digits (in lower case)."""
        if self._by_hash is None:
            # Few messages cite a hash: the index is made by the first that does, and kept from then on.
            self._by_hash = {}
            for entry in self.entries.values():
                self._hash(self._by_hash, entry)
        found = self._by_hash.get(bytes.fromhex(prefix[:8]), ())
        return any(entry.payload_hash.hex().startswith(prefix) for entry in found)

    @property
    def written(self) -> bytes:
        """The bitmap of seqs that wrote entries."""
        return bytes(self._written)

    @staticmethod
    def _hash(index: dict[bytes, tuple[Entry, ...]], entry: Entry) -> None:
        if not entry.deleted:
            start = entry.payload_hash[:4]
            index[start] = (*index.get(start, ()), entry)

    @staticmethod
    def _unhash(index: dict[bytes, tuple[Entry, ...]], entry: Entry | None) -> None:
        if entry is not None and not entry.deleted:
            start = entry.payload_hash[:4]
            rest = tuple(other for other in index[start] if other is not entry)
            if rest:
                index[start] = rest
            else:
                del index[start]
