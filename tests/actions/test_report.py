"""The report as text and as JSON: what it says, and that it says it safely and in the same bytes."""

from __future__ import annotations

import json
import sys
import unicodedata
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import Malformed, TooLarge
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.report import (
    Error,
    Judged,
    Section,
    document,
    exit_code,
    report,
    sweep,
    visible,
)
from blackboard.gate.actions.retention import Compaction
from blackboard.records.verdict import Answer, Note, Reason

COMPACTION = Compaction("given", None, frozenset((0, 1)), 5, 5, "0123456789ab")
REFUND = Action("refunds.create", {"amount": 8400})
PASS = Section("PASS", 0, compaction=COMPACTION, action=REFUND, policy=Answer(answer="default"))
BLOCK = Section(
    "BLOCK",
    1,
    name="a thread",
    compaction=COMPACTION,
    action=REFUND,
    reasons=[
        Reason(
            code="dropped-binding-constraint",
            id="p1",
            detail="a rule is gone",
            reread=["p1", "f2"],
            keys=["task/B"],
        ),
        Reason(code="dropped-unevaluable-record", id="s1", detail="so is a summary"),
    ],
    notes=[Note(code="chatter", detail="dropped as chatter: 3")],
    policy=Answer(answer="needs-approval", rules=["p1", "p2"]),
)
ERROR = Section("ERROR", 2, error=Error.of(Malformed("/k: wrong", member="/k", limit="a limit", value="x")))


def lines(*sections: Section) -> list[str]:
    return report([Judged("f.json", list(sections))]).splitlines()


def results(*sections: Section) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(document([Judged("f.json", list(sections))]))["results"]
    return found


# -- text


def test_a_section_reads_as_the_article_prints_it() -> None:
    assert lines(BLOCK)[:-2] == [
        "f.json: a thread",
        '    action    : refunds.create {"amount":8400}',
        "    compaction: 5 records, 2 kept, 3 dropped (retention=given, kept-sha256=0123456789ab)",
        "    verdict   : BLOCK (dropped-binding-constraint) exit 1",
        "    reason    : dropped-binding-constraint: a rule is gone; to lift it, read again p1, f2, task/B",
        "    reason    : dropped-unevaluable-record: so is a summary",
        "    note      : chatter: dropped as chatter: 3",
        "    policy    : needs-approval (p1, p2)",
    ]


def test_a_pass_has_no_reason_and_an_error_neither_action_nor_compaction() -> None:
    assert lines(PASS)[3:5] == ["    verdict   : PASS exit 0", "    policy    : default"]
    assert lines(ERROR)[:-2] == [
        "f.json",
        "    verdict   : ERROR (malformed) exit 2",
        "    reason    : malformed: /k: wrong",
    ]


def test_a_precheck_says_that_no_action_was_read() -> None:
    section = Section("BLOCK", 1, compaction=COMPACTION, tools=("a.b", "c.d"), reasons=BLOCK.reasons)
    shown = lines(section)
    assert "not read" in shown[1]
    assert shown[3:5] == ["    tools     : a.b, c.d", "    verdict   : BLOCK (action-blind) exit 1"]
    assert results(section)[0]["action"] is None
    assert results(section)[0]["tools"] == ["a.b", "c.d"]


def test_a_pass_that_is_not_permitted_says_what_the_rules_answer() -> None:
    enforced = PASS._replace(exit=1, policy=Answer(answer="deny", rules=["p1"]))
    assert "    verdict   : PASS (enforced: deny) exit 1" in lines(enforced)


def test_several_actions_of_one_file_are_numbered() -> None:
    first, second = PASS._replace(place=(1, 2)), BLOCK._replace(place=(2, 2))
    headings = [line for line in lines(first, second) if line.startswith("f.json")]
    assert headings == ["f.json: action 1 of 2", "f.json: a thread, action 2 of 2"]


def test_what_was_never_delivered_and_the_k_of_a_scheme_are_shown() -> None:
    compaction = COMPACTION._replace(retention="head_tail", k=1, delivered=4)
    assert (
        "    compaction: 5 records, 2 kept, 2 dropped, 1 never delivered "
        "(retention=head_tail, k=1, kept-sha256=0123456789ab)"
    ) in lines(PASS._replace(compaction=compaction))


def test_a_long_action_is_cut_in_the_text_and_whole_in_the_document() -> None:
    action = Action("t", {"note": "x" * 5000})
    assert max(map(len, lines(PASS._replace(action=action)))) < 500
    assert results(PASS._replace(action=action))[0]["action"] == {"tool": "t", "params": action.params}


def test_a_report_ends_with_the_digest_of_its_body() -> None:
    text = report([Judged("é.json", [BLOCK, PASS])])
    body, last = text[:-65], text[-65:]
    assert last == sha256(body.encode()).hexdigest() + "\n"


def test_several_files_are_their_reports_and_a_line_that_counts_them() -> None:
    judged = [Judged("é.json", [BLOCK, PASS]), Judged("f.json", [ERROR])]
    first, second = report(judged[:1]), report(judged[1:])
    assert report(judged) == f"{first}\n{second}\n0 PASS, 1 BLOCK, 1 ERROR -> overall exit 1\n"


# -- the sweep


def test_a_file_counts_once_any_block_before_any_error_before_pass() -> None:
    judged = [
        Judged("a", [PASS, ERROR, BLOCK, BLOCK]),
        Judged("b", [PASS, ERROR]),
        Judged("c", [PASS, PASS]),
        Judged("d", [BLOCK]),
    ]
    assert sweep(judged) == "1 PASS, 2 BLOCK, 1 ERROR -> overall exit 1"
    assert report(judged).splitlines()[-1] == sweep(judged)


def test_one_file_has_no_sweep() -> None:
    assert "overall" not in report([Judged("a", [PASS, BLOCK])])


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        ([PASS], 0),
        ([PASS, BLOCK], 1),
        ([ERROR, BLOCK], 1),
        ([BLOCK, ERROR], 1),
        ([PASS, ERROR], 2),
        ([PASS._replace(exit=1), ERROR], 1),
    ],
)
def test_the_exit_code_is_1_for_any_block_else_2_for_any_error(sections: list[Section], code: int) -> None:
    assert exit_code([Judged("f", sections)]) == code
    assert exit_code([Judged("f", [one]) for one in sections]) == code
    assert json.loads(document([Judged("f", sections)]))["exit"] == code


# -- JSON


def test_the_document_carries_every_part_of_a_result() -> None:
    assert results(BLOCK) == [
        {
            "file": "f.json",
            "name": "a thread",
            "action": {"tool": "refunds.create", "params": {"amount": 8400}},
            "action_digest": REFUND.digest,
            "compaction": {
                "records": 5,
                "kept": 2,
                "dropped": 3,
                "unseen": 0,
                "retention": "given",
                "k": None,
                "kept_sha256": "0123456789ab",
            },
            "verdict": "BLOCK",
            "exit": 1,
            "reasons": [
                {
                    "code": "dropped-binding-constraint",
                    "id": "p1",
                    "detail": "a rule is gone",
                    "reread": ["p1", "f2"],
                    "keys": ["task/B"],
                },
                {"code": "dropped-unevaluable-record", "id": "s1", "detail": "so is a summary"},
            ],
            "notes": [{"code": "chatter", "detail": "dropped as chatter: 3"}],
            "policy": "needs-approval",
            "policy_rules": ["p1", "p2"],
        }
    ]


def test_an_error_is_a_result_with_the_place_of_the_fault() -> None:
    error = {"code": "malformed", "detail": "/k: wrong", "member": "/k", "limit": "a limit", "value": "'x'"}
    assert results(ERROR) == [
        {
            "file": "f.json",
            "action": None,
            "verdict": "ERROR",
            "exit": 2,
            "reasons": [error],
            "notes": [],
            "policy": None,
        }
    ]
    large = Error.of(TooLarge("too many", member="/records", limit=3, value=4))
    assert (large.code, large.limit, large.value) == ("too-large", 3, 4)


def test_numbers_stay_exact_in_the_document() -> None:
    big, fine = 10**40 + 1, Decimal("0.10000000000000000000000000000000000001")
    text = document([Judged("f", [PASS._replace(action=Action("t", {"a": big, "b": fine}))])])
    assert f'"params":{{"a":{big},"b":{fine}}}' in text


# -- characters


@given(text=st.text())
def test_nothing_that_a_terminal_obeys_or_hides_is_printed(text: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    printed = [visible(text), document([Judged(text, [ERROR])])]
    assert not [char for shown in printed for char in shown if unicodedata.category(char) in hidden]


def test_every_character_that_the_tables_of_this_python_hide_is_written_out() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    chars = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in hidden]
    assert [char for char in chars if visible(char) == char] == []


def test_what_reads_well_is_printed_as_it_is() -> None:
    assert (
        visible("naïve – 日本語 🙂 \N{COMBINING ACUTE ACCENT}")
        == "naïve – 日本語 🙂 \N{COMBINING ACUTE ACCENT}"
    )
    assert visible("a\nb\tc\rd\x1b\u202e\U000e0041") == "a\\nb\\tc\\rd\\x1b\\u202e\\U000e0041"


@given(text=st.text(st.characters()))
def test_a_document_is_what_it_was_made_of(text: str) -> None:
    assert json.loads(document([Judged(text, [ERROR])]))["results"][0]["file"] == text
