"""Where the file is, and whether it is still the one that was opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from blackboard.store.sqlite.faults import Moved


class Place(NamedTuple):
    """A path, and what it led to when it was opened."""

    path: Path
    opened: os.stat_result

    def holds(self) -> bool:
        """Whether the path still leads to the same file. Two microseconds."""
        try:
            return os.path.samestat(os.stat(self.path), self.opened)  # noqa: PTH116 - Path.stat doubles it
        except OSError:
            return False

    def check(self) -> None:
        """Raise `faults.Moved` where it does not.

        SQLite would write on into a file that was deleted: an acknowledgement would be false.
        """
        if not self.holds():
            raise Moved(f"{self.path} is not the file that was opened")
