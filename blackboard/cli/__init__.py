"""The `blackboard` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command with `argv` (default: the process's arguments) and exit with its code."""
    from blackboard.cli.app import run

    sys.exit(run(sys.argv[1:] if argv is None else argv))
