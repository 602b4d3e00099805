"""Paired benchmarks: what the layers cost, as ratios to raw `sqlite3` in the same run. `./scripts/bench`."""
