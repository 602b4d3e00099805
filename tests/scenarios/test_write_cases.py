"""Incidents from the field, played through the client: embedded and over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.drive import ASYNC, Place
from tests.scenarios.runner import Scenario

CASES = sorted((Path(__file__).parent / "cases/write").glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def test_there_are_cases_and_each_is_named_for_its_file() -> None:
    assert len(CASES) >= 28
    assert [load(path)["name"] for path in CASES] == [path.stem for path in CASES]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("place", ASYNC, indirect=True)
async def test_a_case_comes_out_as_it_says(path: Path, place: Place) -> None:
    await Scenario(place, load(path)).play()
