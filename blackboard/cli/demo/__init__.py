"""The observed incident, played by three agents in three forms."""

from __future__ import annotations

from typing import Literal

Form = Literal["announced", "silent", "gate off"]

FILE = "demo.db"
"""The demo's database in the state directory."""

BOARDS: dict[Form, str] = {"announced": "demo", "silent": "demo-silent", "gate off": "demo-off"}
"""The board of each form."""
