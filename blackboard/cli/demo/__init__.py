"""The observed incident, played by three agents in three forms; and a refund thread, as a second act."""

from __future__ import annotations

from typing import Literal

Form = Literal["announced", "silent", "gate off"]
Act = Form | Literal["refunds"]

FILE = "demo.db"
"""The demo's database in the state directory."""

BOARDS: dict[Act, str] = {
    "announced": "demo",
    "silent": "demo-silent",
    "gate off": "demo-off",
    "refunds": "demo-refunds",
}
"""The board of each form, and of the second act."""
