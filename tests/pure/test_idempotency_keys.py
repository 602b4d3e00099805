"""What a caller may name a command."""

import pytest

from blackboard.errors import Malformed
from blackboard.messages.idempotency import KEY_CHARACTERS, SERVER_MADE, check_idempotency_key


@pytest.mark.parametrize("key", ["k", "retry 7", "界" * KEY_CHARACTERS, "\U0001f600" * KEY_CHARACTERS])
def test_a_key_of_up_to_128_characters_of_any_script_is_accepted(key: str) -> None:
    check_idempotency_key(key)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "empty"),
        ("a\nb", "control character"),
        ("\ud800", "surrogate"),
        ("k" * (KEY_CHARACTERS + 1), "129 characters; at most 128"),
        ("k" * 1000, "1000 bytes"),
        (f"{SERVER_MADE}0123", "may not begin with '~'"),
    ],
)
def test_any_other_key_is_refused_by_the_name_of_its_header(key: str, words: str) -> None:
    with pytest.raises(Malformed, match=words) as caught:
        check_idempotency_key(key)
    assert caught.value.member == "Idempotency-Key"
