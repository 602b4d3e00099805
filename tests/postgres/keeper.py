"""Ends a cluster when nobody holds its lock any more, and removes its files: PLACE HELD [KNOWN].

With KNOWN, it also makes and starts the cluster (that of a session, which no single worker owns), and writes
its URL to that file.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
from pathlib import Path

from tests.postgres.cluster import UNSAFE, Cluster, locked


def main(place: Path, held: Path, known: Path | None) -> None:
    """Return when the cluster is gone."""
    try:
        if known is None:
            with locked(held, fcntl.LOCK_EX):
                Cluster(place).end_from_outside()
        else:
            _hold(Cluster(place, UNSAFE), held, known)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _hold(cluster: Cluster, held: Path, known: Path) -> None:
    try:
        cluster.create()
        cluster.start()
        _tell(known, cluster.url)
        with locked(held, fcntl.LOCK_EX):
            known.unlink(missing_ok=True)
    finally:
        cluster.kill()


def _tell(known: Path, url: str) -> None:
    # Whoever finds the file finds all of it.
    draft = known.with_suffix(".draft")
    draft.touch(0o600)
    draft.write_text(json.dumps(url), encoding="utf-8")
    draft.replace(known)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
