"""Strict JSON: one meaning for every reader, or a refusal that names the place."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blackboard.canonical import JSON_DEPTH, NUMBER_LENGTH, SAFE_INTEGER, encode, parse
from blackboard.errors import Malformed

texts = st.one_of(
    st.sampled_from(["", "a", '"\\/', "\x7f\u2028", "😀", "\ud7ff\ue000", ":", "1.5e3", "\\ud800"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-SAFE_INTEGER, SAFE_INTEGER),
    st.floats(-1e15, 1e15).filter(lambda value: not value.is_integer()),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=15,
)
spellings = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]),
        "sort_keys": st.booleans(),
    }
)


def refusal(raw: bytes | str, **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        parse(raw, **options)
    msgspec.json.encode(caught.value.members)  # fit for a problem document
    return caught.value


@given(values, spellings)
def test_what_was_written_is_read_however_it_was_spelled(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    assert parse(text) == parse(text.encode()) == value
    assert encode(parse(text)) == encode(value)


@given(values)
def test_canonical_bytes_are_read_back_to_the_same_bytes(value: Any) -> None:
    assert encode(parse(encode(value))) == encode(value)


@pytest.mark.parametrize(
    ("raw", "member", "key"),
    [
        ('{"a":1,"a":1}', "", "a"),
        ('{"a":1,"b":2,"a":3}', "", "a"),
        ('{"x":[0,{"k":1,"k":2}]}', "/x/1", "k"),
        ('{"k":{"":0,"":0}}', "/k", ""),
        ('{"a":1,"\\u0061":2}', "", "a"),
        ('{"a":{"b":1,"b":2},"a":3}', "", "a"),
        ('{"\\ud83d\\ude00":1,"😀":2}', "", "😀"),
    ],
)
def test_a_key_that_appears_twice_is_refused(raw: str, member: str, key: str) -> None:
    error = refusal(raw)
    assert (error.member, error.limit, error.members["value"]) == (member, "unique keys", repr(key))


@given(values, st.dictionaries(texts, scalars, min_size=1, max_size=4), st.data())
def test_a_key_that_appears_twice_is_found_wherever_it_stands(
    value: Any, members: dict[str, Any], data: st.DataObject
) -> None:
    pairs = [f"{json.dumps(key)}:{json.dumps(member)}" for key, member in members.items()]
    pairs.insert(data.draw(st.integers(0, len(pairs))), data.draw(st.sampled_from(pairs)))
    inner = "{" + ",".join(pairs) + "}"
    wrapped = data.draw(st.sampled_from([inner, f"[{inner}]", f'{{"w":[{json.dumps(value)},{inner}]}}']))
    assert refusal(wrapped).limit == "unique keys"


@pytest.mark.parametrize(
    ("raw", "member", "limit"),
    [
        ("NaN", "", "finite numbers"),
        ('{"a":[Infinity]}', "/a/0", "finite numbers"),
        ('{"a":-Infinity}', "/a", "finite numbers"),
        ('["\\ud800"]', "/0", "Unicode text"),
        ('["\\uD83D"]', "/0", "Unicode text"),
        ('["\\ude00\\ud83d"]', "/0", "Unicode text"),
        ('{"\\ud800":1}', "", "Unicode text"),
        (b'["\xed\xa0\x80"]', "", "UTF-8"),
        (b"\xff", "", "UTF-8"),
        ("\ud800", "", "UTF-8"),
        ('"\ud800"', "", "UTF-8"),
        (b"\xef\xbb\xbf1", "", "UTF-8"),
        ("\ufeff1", "", "UTF-8"),
        ("1".encode("utf-16"), "", "UTF-8"),
        ("", "", "RFC 8259"),
        (" ", "", "RFC 8259"),
        ("1 2", "", "RFC 8259"),
        ("{} x", "", "RFC 8259"),
        ("[1,]", "", "RFC 8259"),
        ('{"a":1,}', "", "RFC 8259"),
        ("{'a':1}", "", "RFC 8259"),
        ("[1", "", "RFC 8259"),
        ('{"a":1,"a":2', "", "RFC 8259"),
        ("01", "", "RFC 8259"),
        ("+1", "", "RFC 8259"),
        (".5", "", "RFC 8259"),
        ("1.", "", "RFC 8259"),
        ('"a\tb"', "", "RFC 8259"),
        ('"\x00"', "", "RFC 8259"),
        ('"\\x41"', "", "RFC 8259"),
        ('"\\u12"', "", "RFC 8259"),
        ("/* */1", "", "RFC 8259"),
        ("\x0b1", "", "RFC 8259"),
        ("\u00a01", "", "RFC 8259"),
        ("True", "", "RFC 8259"),
        (str(SAFE_INTEGER + 1), "", SAFE_INTEGER),
        (f"[-{SAFE_INTEGER + 1}]", "/0", SAFE_INTEGER),
        ("[18446744073709551616]", "/0", SAFE_INTEGER),
        ("1" * 5000, "", SAFE_INTEGER),
        ('{"n":1e16}', "/n", SAFE_INTEGER),
        ("100000000000000000000.0", "", SAFE_INTEGER),
        ("9007199254740992.0", "", SAFE_INTEGER),
        ("12345678901234567890.0", "", "IEEE 754 double"),
        ("0.1000000000000000055511", "", "IEEE 754 double"),
        ('{"p":[3.14159265358979323846]}', "/p/0", "IEEE 754 double"),
        ("1.00000000000000001", "", "IEEE 754 double"),
        ("1e400", "", "IEEE 754 double"),
        ("-1e999999999999999999999", "", "IEEE 754 double"),
        ("1e-400", "", "IEEE 754 double"),
        ("-1e-999999999999999999999", "", "IEEE 754 double"),
        ("[0." + "1" * NUMBER_LENGTH + "]", "/0", NUMBER_LENGTH),
    ],
)
def test_what_has_no_single_exact_meaning_is_refused(raw: bytes | str, member: str, limit: object) -> None:
    error = refusal(raw)
    assert (error.member, error.limit) == (member, limit)
    assert str(error).startswith(member or "the document")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("19.99", 19.99),
        ("0.10", 0.1),
        ("1.0", 1),
        ("1e2", 100),
        ("1E-7", 1e-7),
        ("1e21", 1e21),
        ("1.5e+300", 1.5e300),
        ("5e-324", 5e-324),
        ("-0", 0),
        ("-0.0", 0),
        ("0e999999999999999999999", 0),
        ("0.000e-5", 0),
        ("1" + "0" * 30 + ".0e-30", 1),
        (str(-SAFE_INTEGER), -SAFE_INTEGER),
        ("1760000000000000", 1760000000000000),
        (' \t\n\r{"a": [true, false, null]} ', {"a": [True, False, None]}),
        ('"\\u00e9\\ud83d\\ude00\\u0000\\/"', "é😀\0/"),
        ('"\\\\ud800"', "\\ud800"),
        ('"\x7f\u2028"', "\x7f\u2028"),
    ],
)
def test_what_is_exact_is_accepted_however_it_is_spelled(raw: str, value: object) -> None:
    assert parse(raw) == value
    assert encode(parse(raw)) == encode(value)


@pytest.mark.parametrize("count", [JSON_DEPTH + 1, 500, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}"), ('[0,{"a":1,"b":', "}]")])
def test_deep_nesting_is_refused_and_never_overflows_the_stack(
    count: int, opening: str, closing: str
) -> None:
    for raw in (opening * count + "1" + closing * count, opening * count):
        error = refusal(raw)
        assert error.limit in (JSON_DEPTH, "RFC 8259")
    assert refusal(opening * count + "1" + closing * count).limit == JSON_DEPTH


def test_nesting_up_to_the_limit_is_accepted() -> None:
    raw = "[" * JSON_DEPTH + "]" * JSON_DEPTH
    assert encode(parse(raw)) == raw.encode()
    assert refusal(f"[{raw}]").member == "/0" * JSON_DEPTH
    assert refusal("[[1]]", depth=1).member == "/0"


def test_many_containers_that_are_not_deep_are_accepted() -> None:
    assert parse(json.dumps([[{"a": [n]}] for n in range(100)])) == [[{"a": [n]}] for n in range(100)]


@given(st.one_of(st.binary(max_size=40), st.text('{}[]",:\\ud8c0 1.e-+NatrueIfl', max_size=40)))
@example(b'{"a":1,"a":')
def test_whatever_arrives_is_read_or_refused(raw: bytes | str) -> None:
    try:
        value = parse(raw)
    except Malformed as error:
        msgspec.json.encode(error.members)
    else:
        assert encode(parse(encode(value))) == encode(value)
