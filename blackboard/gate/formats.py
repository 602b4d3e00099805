"""What a board's format has no words for yet is refused, and the operator is told how to raise it."""

from __future__ import annotations

from blackboard.errors import FormatTooLow
from blackboard.events.kinds import WITH_RECORDS
from blackboard.projections.board import Board
from blackboard.records import EVALUABLE


def check_format(board: Board, what: str, needed: int = WITH_RECORDS) -> None:
    """Raise `FormatTooLow` where the board's format is below the one that `what` takes."""
    if board.format < needed:
        raise FormatTooLow(
            f"{what}: that takes a board of format {needed}, and this one has format {board.format}. Once "
            f"every server can read format {needed}, an operator raises it (raise_format({needed}), from a "
            f"shell `blackboard board format {needed}`)",
            members={"format": board.format, "limit": needed},
        )


def check_record_version(board: Board, kind: str, version: int) -> None:
    """Raise `FormatTooLow` for a record that only a later format than the board's can evaluate."""
    formats = (number for number, known in EVALUABLE.items() if version <= known[kind])
    check_format(board, f"version {version} of {kind} records", min(formats))
