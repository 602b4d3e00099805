"""The status of a value, and whether it is finished."""

from typing import Any

import pytest
from hypothesis import given

from blackboard.events.policy import FINISHED, UNFINISHED, Policy, PolicyPatch, merge
from blackboard.projections.status import classify, resolve_pointer, status_of, status_of_raw
from tests.pure.strategies import texts, values

DEFAULT = Policy()


def kind_of(value: Any, policy: Policy = DEFAULT) -> str | None:
    return classify(status_of(value, policy.status_pointer), policy)


@pytest.mark.parametrize("word", FINISHED)
def test_every_default_finished_word_is_finished(word: str) -> None:
    assert kind_of({"status": word}) == kind_of(word) == "finished"


@pytest.mark.parametrize("word", UNFINISHED)
def test_every_default_unfinished_word_is_unfinished(word: str) -> None:
    assert kind_of({"status": word}) == kind_of(word) == "unfinished"


@pytest.mark.parametrize(
    "text", ["in progress", "in-progress", "In_Progress", "IN PROGRESS", "in progress since noon"]
)
def test_case_dashes_underscores_and_spaces_are_one(text: str) -> None:
    assert kind_of(text) == "unfinished"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("failed with retry pending", "unfinished"),
        ("failed: timeout", "unfinished"),
        ("done.", "finished"),
        ("Done!", "finished"),
        ("(merged)", "finished"),
        ("complete, see notes", "finished"),
        ("not done", None),
        ("almost complete", None),
        ("granted", None),
        ("...", None),
        ("", None),
    ],
)
def test_free_text_counts_by_its_first_word_or_its_first_two(text: str, expected: str | None) -> None:
    assert kind_of(text) == kind_of({"status": text}) == expected


def test_the_first_two_words_joined_come_before_the_first_alone() -> None:
    policy = merge(DEFAULT, PolicyPatch(finished=("retry_ok",)))
    assert kind_of("retry ok", policy) == "finished"
    assert kind_of("retry again", policy) == "unfinished"


def test_a_longer_word_of_the_policy_is_compared_whole() -> None:
    policy = merge(DEFAULT, PolicyPatch(finished=("signed off by qa",)))
    assert kind_of("Signed-off by QA", policy) == "finished"
    assert kind_of("signed off by nobody", policy) is None


def test_a_word_in_both_lists_is_finished() -> None:
    assert kind_of("open", merge(DEFAULT, PolicyPatch(finished=("open",)))) == "finished"


def test_a_policy_word_of_punctuation_alone_matches_nothing() -> None:
    assert kind_of("...", merge(DEFAULT, PolicyPatch(finished=("...",)))) is None


@pytest.mark.parametrize(
    "value", [None, True, 3, 2.5, [], ["done"], {}, {"state": "done"}, {"status": 1}, {"status": ["done"]}]
)
def test_a_value_without_a_text_status_has_none(value: Any) -> None:
    assert status_of(value, "/status") is None


def test_the_policy_names_the_member_that_holds_the_status() -> None:
    policy = merge(DEFAULT, PolicyPatch(status_pointer="/meta/state~1now/1"))
    assert kind_of({"meta": {"state/now": ["open", "done"]}}, policy) == "finished"


def test_a_string_value_is_its_own_status_whatever_the_pointer() -> None:
    assert status_of("done", "/a/b") == "done"


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", {"a": [1, {"b~/c": 2}], "": 3}),
        ("/a", [1, {"b~/c": 2}]),
        ("/a/0", 1),
        ("/a/1/b~0~1c", 2),
        ("/", 3),
        ("/x", None),
        ("/a/2", None),
        ("/a/00", None),
        ("/a/01", None),
        ("/a/-", None),
        ("/a/-1", None),
        ("/a/٣", None),
        ("/a/10000000000000000000000", None),
        ("/a/0/b", None),
    ],
)
def test_a_pointer_finds_the_member_that_rfc_6901_says(pointer: str, expected: Any) -> None:
    assert resolve_pointer({"a": [1, {"b~/c": 2}], "": 3}, pointer) == expected


@given(texts)
def test_reading_a_status_twice_changes_nothing(text: str) -> None:
    once = status_of(text, "")
    assert once is None or status_of(once, "") == once


@given(values)
def test_any_value_has_a_status_or_none(value: Any) -> None:
    found = status_of({"status": value}, "/status")
    assert found is None or (0 < len(found) <= 128)


def test_a_status_is_read_from_canonical_json_too() -> None:
    assert status_of_raw(b'{"status":"Failed"}', "/status") == "failed"


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    found = status_of("word " * 10_000, "")
    assert found is not None
    assert len(found) <= 128
