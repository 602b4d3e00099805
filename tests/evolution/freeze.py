"""Freezes a database of a release, once, when its successor changes the tables: `frozen/` is never made anew.

    .venv/bin/python -m tests.evolution.freeze REVISION CHECKOUT

CHECKOUT is the source of the release that served at REVISION (`git worktree add CHECKOUT COMMIT`). Its own
code plays `recipe`; the rows go as they are into databases at REVISION on both engines, which are written
down as SQL. `frozen/boards.json` says what every board folded to, there and then.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, insert, select, text

from blackboard.store.engines import connected
from blackboard.store.migrating import migrate
from tests.evolution import recipe
from tests.postgres.binaries import find_binaries, reachable, unprivileged
from tests.postgres.cluster import UNSAFE, own_cluster

FROZEN = Path(__file__).parent / "frozen"
KEPT = {"alembic_version", "formats", "revisions"}
"""What the migrations themselves have put into the tables."""

_NOISE = re.compile(r"^(--.*|SET .*;|SELECT pg_catalog\.set_config.*;|\\(un)?restrict .*)?$")


def play(checkout: Path, path: Path) -> dict[str, Any]:
    """Let the release's own code write a database; what its boards fold to."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "XDG_STATE_HOME": str(path.parent)}
    script = Path(recipe.__file__)
    done = subprocess.run(
        [sys.executable, str(script), str(path)], env=environment, stdout=subprocess.PIPE, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def rows_of(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that is not the migrations' own."""
    tables = MetaData()
    tables.reflect(connection)
    return {
        table.name: [dict(row._mapping) for row in connection.execute(select(table))]
        for table in tables.sorted_tables
        if table.name not in KEPT
    }


def fill(connection: Connection, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Put the rows into the tables that are there, each as it is."""
    tables = MetaData()
    tables.reflect(connection)
    for name, found in rows.items():
        if found and name in tables.tables:
            connection.execute(insert(tables.tables[name]), found)
    if "saved_parts" in tables.tables and "snapshots" in tables.tables:
        # As expanded: the release before keeps its snapshots where they were.
        connection.execute(text(OLD_SNAPSHOTS))
    connection.commit()


OLD_SNAPSHOTS = """
INSERT INTO snapshots (board, fingerprint, seq, part, digest, state)
SELECT board, 'of the release before', p.seq, part, digest, substr(state, 1, 64)
FROM saved_parts p JOIN saved_boards b USING (board, fingerprint) WHERE p.seq = b.seq
"""


def copied(url: str, revision: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Make a database at `revision` with these rows."""
    migrate(url, revision)
    connected(url, lambda connection: fill(connection, rows))


def sqlite_text(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump()) + "\n"


def postgres_text(url: str, place: Path) -> str:
    """What `pg_dump` says, without what it says of itself, its server and its user."""
    user = unprivileged()
    options = ["--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=1000"]
    done = subprocess.run(
        [reachable(find_binaries(), place) / "pg_dump", *options, url],
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return "\n".join(line for line in done.stdout.split("\n") if not _NOISE.match(line)) + "\n"


def main(revision: str, checkout: str) -> None:
    with tempfile.TemporaryDirectory() as made, own_cluster(UNSAFE) as cluster:
        place = Path(made)
        told = play(Path(checkout).resolve(), place / "played.db")
        rows = connected(str(place / "played.db"), rows_of, read_only=True)
        copied(str(place / "copy.db"), revision, rows)
        copied(cluster.url, revision, rows)
        (FROZEN / f"{revision}.sqlite.sql").write_text(sqlite_text(place / "copy.db"), encoding="utf-8")
        (FROZEN / f"{revision}.postgresql.sql").write_text(
            postgres_text(cluster.url, cluster.place), encoding="utf-8"
        )
    known = FROZEN / "boards.json"
    boards = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
    known.write_text(json.dumps(boards | {revision: told}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
