"""Incidents from the field through the file tool: verdict, every reason, exit code, and policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli.app import run

CASES = sorted((Path(__file__).parent / "action-cases").glob("*.json"))


def case(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_file_tool_answers_as_the_case_expects(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = case(path)["expect"]
    code = run(["gate", "--json", str(path)])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    reasons = [] if result["verdict"] == "ERROR" else [reason["code"] for reason in result["reasons"]]
    assert (result["verdict"], reasons, code) == (
        expected["verdict"],
        expected["reasons"],
        expected["exit"],
    )
    assert result["policy"] == expected.get("policy", result["policy"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_the_gate_blocks_the_precheck_blocks(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if case(path)["expect"]["verdict"] == "PASS":
        assert run(["gate", "--precheck", str(path)]) in (0, 1)
    else:
        assert run(["gate", "--precheck", str(path)]) == case(path)["expect"]["exit"]
    capsys.readouterr()


def test_there_are_cases() -> None:
    assert len(CASES) >= 22
