"""What was measured, as a table for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from benchmarks.figures import Figure

HEADINGS = ("row", "ours", "other side", "ratio", "middle half", "target", "", "durability")
MARKS = {True: "met", False: "MISSED", None: ""}
Facts = Mapping[str, str | int | float]


def table(figures: Sequence[Figure], facts: Facts) -> str:
    """Columns for a terminal, then what each row is."""
    rows = [HEADINGS, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lines[1:1] = ["  ".join("-" * width for width in widths)]
    return "\n".join([*lines, "", *_explained(figures), "", _machine(facts)])


def markdown(figures: Sequence[Figure], facts: Facts) -> str:
    """The same for a document."""
    lines = [
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
        *("| " + " | ".join(_cells(figure, code="`")) + " |" for figure in figures),
        "",
        *(f"- {line}" for line in _explained(figures, code="`")),
        "",
        _machine(facts),
    ]
    return "\n".join(lines)


def as_json(figures: Sequence[Figure], facts: Facts) -> str:
    """Everything, the details too."""
    shown = [msgspec.to_builtins(figure) | {"met": figure.met} for figure in figures]
    return msgspec.json.format(msgspec.json.encode({"machine": facts, "figures": shown})).decode()


def _cells(figure: Figure, code: str = "") -> tuple[str, ...]:
    return (
        f"{code}{figure.name}{code}",
        f"{number(figure.ours)} {figure.unit}",
        "" if figure.base is None else number(figure.base),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.low is None or figure.high is None else f"{number(figure.low)} – {number(figure.high)}",
        "" if figure.target is None else str(figure.target),
        MARKS[figure.met],
        figure.durability.partition(":")[0],
    )


def _explained(figures: Sequence[Figure], code: str = "") -> list[str]:
    """What each row is, what it is held against, and what else was seen."""
    return [f"{code}{figure.name}{code}: {_what(figure)}" for figure in figures]


def _what(figure: Figure) -> str:
    told = [figure.what]
    if figure.base_name:
        told.append(f"against {figure.base_name}")
    if figure.cpu_ours is not None and figure.cpu_base is not None:
        told.append(f"CPU {number(figure.cpu_ours)} : {number(figure.cpu_base)} µs each")
    told += [
        f"{name} {value if isinstance(value, str) else number(value)}"
        for name, value in figure.detail.items()
    ]
    return "; ".join(told)


def number(value: float) -> str:
    """Three digits that count, and thousands marked."""
    size = abs(value)
    form: Callable[[float], str] = (
        "{:,.0f}".format if size >= 100 else "{:.1f}".format if size >= 10 else "{:.2f}".format
    )
    return form(value)


def _machine(facts: Facts) -> str:
    return (
        f"{facts['cores']} cores ({facts['processor']}), {facts['system']}, Python {facts['python']}, "
        f"SQLite {facts['sqlite']}, files on {facts['file_system']} "
        f"(fsync of 4 KiB: {facts['fsync_us']} µs), load {facts['load']} at the start. "
        "Durability: full survives power loss (WAL, synchronous=FULL, one sync a commit, on both sides). "
        "Ratios are medians of interleaved pairs."
    )
