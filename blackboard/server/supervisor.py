"""Telling a supervisor such as systemd that the server is ready: the protocol of `sd_notify(3)`."""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

__all__ = ["tell_supervisor"]

VARIABLE: Final = "NOTIFY_SOCKET"
log = logging.getLogger("blackboard.server")


def tell_supervisor(state: str) -> None:
    """Send `state` (as `READY=1`) to who started us and asked for it in NOTIFY_SOCKET; else do nothing."""
    place = os.environ.get(VARIABLE)
    if not place:
        return
    address = f"\0{place[1:]}" if place.startswith("@") else place  # @ stands for an abstract socket
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaking:
            speaking.connect(address)
            speaking.send(state.encode())
    except OSError as error:
        log.warning("the supervisor at %s does not hear that %s: %s", place, state, error.strerror or error)
