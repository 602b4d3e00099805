"""What stands in the tables of a page."""

from __future__ import annotations

import re


def rows(text: str) -> list[list[str]]:
    """The rows of all tables of a text, cell by cell."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def sections(text: str) -> dict[str, str]:
    """Heading of the second level -> what stands below it."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names(text: str) -> list[str]:
    """Everything in backticks."""
    return re.findall(r"`([^`]+)`", text)
