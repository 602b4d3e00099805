"""What the page on HTTP shows with curl runs in the shell of the quickstart, and its bodies are real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blackboard.messages.operations import BY_NAME
from tests.docs.pages import blocks, page
from tests.docs.running import run
from tests.docs.tables import names, rows, sections

PORT = "8377"
PAGE = "docs/reference/http.md"
TOLD = rows(sections(page(PAGE))["Bodies of the action gate"])[1:]


def answers(out: str) -> list[dict[str, Any]]:
    """The JSON documents that follow each other in what was said."""
    found, decoder = [], json.JSONDecoder()
    while out.strip():
        document, end = decoder.raw_decode(out.lstrip())
        found.append(document)
        out = out.lstrip()[end:]
    return found


@pytest.mark.usefixtures("server")
def test_the_bodies_of_the_action_gate_are_answered_as_the_page_says(
    environment: dict[str, str], tmp_path: Path, port: str
) -> None:
    before = [
        block
        for block in blocks(page("docs/quickstart.md").replace(PORT, port))
        if "BLACKBOARD_TOKEN=$(" in block.text or block.text.startswith("board=")
    ]
    assert len(before) == 2
    shown = blocks(page(PAGE).replace(PORT, port))
    ran = run([*before, *shown], environment, tmp_path)
    added, kept, checked, approved, certified = ran.said[2:]
    assert [answer.get("status") for answer in answers(added + kept + checked + approved)] == [None] * 9
    rule, read = answers(added)
    assert rule["id"] == "limit"
    assert [record["id"] for record in read["records"]] == ["limit"]
    assert [answer["records"] for answer in answers(kept)] == [["limit"], ["limit"]]
    verdicts = [answer["verdict"] for answer in answers(checked) if "verdict" in answer]
    assert verdicts == ["BLOCK", "PASS"]
    assert answers(approved)[0]["record"]["approver"].startswith("operator:")
    valid, _, verdict = certified.partition("}")
    assert answers(valid + "}")[0]["valid"]
    assert verdict.strip() == "PASS"


@pytest.mark.parametrize("name", sorted({names(cells[0])[0] for cells in TOLD}))
def test_every_member_of_a_body_is_told(name: str) -> None:
    told = {member for cells in TOLD if names(cells[0]) == [name] for member in names(cells[1])}
    assert told == set(BY_NAME[name].message.__struct_fields__)


def test_every_operation_of_the_action_gate_that_takes_a_body_is_told() -> None:
    gate = {"add_record", "check", "certificate", "keep", "read"}
    assert {names(cells[0])[0] for cells in TOLD} == gate
