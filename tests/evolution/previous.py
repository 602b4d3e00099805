"""The release before this one, as far as a shared database can tell. Run as a script it is `blackboard`.

Its process is this code with what 0.3.0 brought taken away before anything uses it: it knows board formats 1
and 2 and schema revisions 0001 and 0002, decodes nothing that the frozen vocabulary of 0.2.0 does not, and
has no snapshots (its own lie in a table that this code does not read).
"""

from __future__ import annotations

import sys
from pathlib import Path

RELEASE = "0.2.0"
FORMAT = 2
KNOWN = ("0001", "0002")


def go_back() -> None:
    """Take away what is new. The order matters: modules keep what they have imported from others."""
    import blackboard
    from blackboard.events import kinds, vocabulary

    assert "blackboard.store" not in sys.modules, "too late"
    blackboard.__version__ = RELEASE
    # Sealing knows by now what to write in older versions; what there was to be raised to is gone.
    kinds.FORMAT = FORMAT
    for board_format in [known for known in vocabulary.VOCABULARY if known > FORMAT]:
        del vocabulary.VOCABULARY[board_format], vocabulary.OLDER[board_format]
    _decode_as_before()
    _work_on_the_tables_of_before()


def _decode_as_before() -> None:
    from blackboard.events import kinds, upcast
    from tests.evolution.vocabulary_2 import Opaque, decode_2

    now = upcast.decode_body

    def decode_body(kind: str, version: int, text: str | None) -> kinds.EventBody | kinds.Opaque:
        if text is not None and isinstance(decode_2(kind, version, text), Opaque):
            return kinds.Opaque(kind=kind, version=version, text=text)
        return now(kind, version, text)  # what it means, in the words that the rest of this code has for it

    upcast.decode_body = decode_body


def _work_on_the_tables_of_before() -> None:
    from blackboard.projections.board import Board
    from blackboard.store import folding, revision
    from blackboard.store.folding import Log

    for name, known in (("KNOWN", KNOWN), ("NEWEST", KNOWN[-1]), ("OLDEST", KNOWN[-1])):
        setattr(revision, name, known)

    async def no_snapshot(log: Log, name: str, through: int) -> Board | None:
        return None

    folding._from_snapshot = no_snapshot


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    go_back()
    from blackboard.cli import main

    main()
