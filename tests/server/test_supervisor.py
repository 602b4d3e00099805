"""A supervisor that asks for it is told when the server is ready (`Type=notify`)."""

from __future__ import annotations

import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from blackboard.server.supervisor import tell_supervisor
from tests.server.serving import process


@pytest.fixture
def hearing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("notify")
        bound.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield bound


def test_a_supervisor_hears_that_the_server_is_ready_when_it_is(
    hearing: socket.socket, tmp_path: Path
) -> None:
    with process(tmp_path / "state") as served:
        assert hearing.recv(100) == b"READY=1"
        with urllib.request.urlopen(f"{served.ready().url}/livez", timeout=30) as answer:
            assert answer.status == 200
        served.signal(signal.SIGTERM)
        assert served.wait() == 0


def test_an_abstract_socket_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = f"blackboard-{tmp_path.name}-{id(tmp_path)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        tell_supervisor("READY=1")
        assert bound.recv(100) == b"READY=1"


def test_a_supervisor_that_is_gone_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    tell_supervisor("READY=1")
    assert "does not hear" in caplog.text
