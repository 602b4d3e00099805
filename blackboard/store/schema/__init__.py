"""What `blackboard db` does: the schema of a database, and whether its log can be read whole.

Each function takes a database's URL and opens it by itself. On SQLite `upgrade` and `downgrade` need the
file for themselves (`StoreBusy` otherwise); on PostgreSQL they run beside servers, one of them at a time.
`current` and `check` work beside whoever uses the database.
"""

from __future__ import annotations

from collections.abc import Callable

from blackboard.store.schema.checking import Checked, check
from blackboard.store.schema.current import Current, current
from blackboard.store.schema.downgrading import downgrade
from blackboard.store.schema.scanning import Flaw
from blackboard.store.schema.upgrading import Upgraded, upgrade

__all__ = ["Checked", "Current", "Flaw", "Progress", "Upgraded", "check", "current", "downgrade", "upgrade"]

Progress = Callable[[int, int], None]
"""Called with (events done, events in all) as the work goes on."""
