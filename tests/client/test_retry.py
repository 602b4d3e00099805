"""How long, and how often."""

import pytest

from blackboard.client.retry import RetryPolicy, gave_up
from blackboard.errors import OutcomeUnknown, Unavailable


def test_pauses_double_up_to_a_bound_and_are_spread() -> None:
    policy = RetryPolicy(attempts=10, first=0.1, most=1.0)
    for failures, longest in [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (9, 1.0)]:
        pauses = [policy.pause(failures) for _ in range(50)]
        assert all(pause is not None and longest / 2 <= pause <= longest for pause in pauses)
        assert len(set(pauses)) > 1


def test_attempts_are_bounded() -> None:
    assert RetryPolicy(attempts=3).pause(2) is not None
    assert RetryPolicy(attempts=3).pause(3) is None
    assert RetryPolicy(attempts=1).pause(1) is None


def test_a_pause_is_never_shorter_than_what_was_asked_for() -> None:
    policy = RetryPolicy(patience=10)
    assert policy.pause(1, 3.0) == 3.0
    assert policy.pause(1, 10.5) is None


def test_feeds_spread_their_pauses_however_often_they_failed() -> None:
    assert RetryPolicy(most=2.0).spread(10_000) <= 2.0


@pytest.mark.parametrize(
    ("maybe_done", "key", "kind"),
    [(True, "k", OutcomeUnknown), (False, "k", Unavailable), (True, None, Unavailable)],
)
def test_only_what_may_have_happened_is_unknown(maybe_done: bool, key: str | None, kind: type) -> None:
    assert type(gave_up("write", "cut", maybe_done=maybe_done, key=key)) is kind
