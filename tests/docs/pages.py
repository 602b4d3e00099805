"""The pages, and the code in them: what is printed between fences, and what it promises to print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """A block of code: its language, its text, and the output that the next block promises, if it does."""

    language: str
    text: str
    output: str | None


def page(name: str) -> str:
    """The text of a page, named from the root of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are in some language, in the order in which they are read."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    followed = zip(found, [*found, ("end", "")][1:], strict=True)
    return [
        Block(language, code, after if kind == "" else None)
        for (language, code), (kind, after) in followed
        if language
    ]


def of_language(name: str, language: str) -> list[Block]:
    """The blocks of a page that are in one language."""
    return [block for block in blocks(page(name)) if block.language == language]
