"""A machine of its own for the pages: state, settings, and a server where the page starts one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVE = "blackboard serve\n"
"""The block that starts the server, in a terminal of its own."""


@pytest.fixture
def port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path, port: str) -> dict[str, str]:
    """A machine of its own: state, settings, and this interpreter's command first on the path."""
    bin_dir = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "BLACKBOARD_PORT": port,
    }


@pytest.fixture
def server(environment: dict[str, str], tmp_path: Path) -> Iterator[None]:
    """What the block `blackboard serve` starts."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {SERVE}"], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert "ready at" in process.stderr.readline()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=30)
