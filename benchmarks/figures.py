"""What a benchmark hands back: one figure a row, with its target, its spread and its durability."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from benchmarks.harness import Paired, Sample, median, quartiles

FULL = "full: survives power loss"
"""SQLite in WAL mode with synchronous=FULL, one commit acknowledged only when it is on the disk."""

MEMORY = "none: in memory"
READ = "reads only"


class Target(Struct, frozen=True):
    """What the figure should reach. `of` says whether the ratio or our own value is meant."""

    value: float
    sense: Literal["at least", "at most"] = "at least"
    of: Literal["ratio", "ours"] = "ratio"

    def met(self, figure: Figure) -> bool:
        reached = figure.ours if self.of == "ours" else figure.ratio
        assert reached is not None
        return reached >= self.value if self.sense == "at least" else reached <= self.value

    def __str__(self) -> str:
        sign = "≥" if self.sense == "at least" else "≤"
        return f"{sign} {self.value:,g}" if self.of == "ratio" else f"{sign} {self.value:,g} (ours)"


class Figure(Struct, kw_only=True):
    """One row of the table.

    `ours` and `base` are medians in `unit`; `ratio` is the median of the pairs' ratios, `low` and `high`
    bound their middle half. `target` None: for information. `base_name` says what the other side is.
    """

    name: str
    what: str
    unit: str
    durability: str
    ours: float
    base: float | None = None
    base_name: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    target: Target | None = None
    rounds: int = 1
    cpu_ours: float | None = None
    cpu_base: float | None = None
    detail: dict[str, float | str] = {}

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.target.met(self)


def rates(
    name: str, what: str, unit: str, pairs: Paired, *, durability: str, base_name: str, target: Target | None
) -> Figure:
    """Units a second on both sides; the ratio is ours to theirs."""
    return _figure(
        name,
        what,
        unit,
        [one.rate for one in pairs.ours],
        [one.rate for one in pairs.base],
        pairs.ratios,
        pairs,
        durability=durability,
        base_name=base_name,
        target=target,
    )


def costs(
    name: str, what: str, pairs: Paired, *, durability: str, base_name: str, target: Target | None
) -> Figure:
    """Microseconds a unit on both sides; the ratio is our cost to theirs."""
    return _figure(
        name,
        what,
        "µs",
        [one.cost * 1e6 for one in pairs.ours],
        [one.cost * 1e6 for one in pairs.base],
        [1 / ratio for ratio in pairs.ratios],
        pairs,
        durability=durability,
        base_name=base_name,
        target=target,
    )


def _figure(
    name: str,
    what: str,
    unit: str,
    ours: list[float],
    base: list[float],
    ratios: list[float],
    pairs: Paired,
    *,
    durability: str,
    base_name: str,
    target: Target | None,
) -> Figure:
    low, high = quartiles(ratios)
    return Figure(
        name=name,
        what=what,
        unit=unit,
        durability=durability,
        ours=median(ours),
        base=median(base),
        base_name=base_name,
        ratio=median(ratios),
        low=low,
        high=high,
        target=target,
        rounds=len(ratios),
        cpu_ours=cpu(pairs.ours),
        cpu_base=cpu(pairs.base),
    )


def cpu(samples: list[Sample]) -> float:
    """Microseconds of this process's CPU a unit."""
    return median([one.cpu / one.units * 1e6 for one in samples])
