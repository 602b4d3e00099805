"""Typed decoding: as strict as `parse`, in the caller's words, and never another exception."""

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blackboard.canonical import JSON_DEPTH, SAFE_INTEGER, decode, decode_with_canonical, encode, parse
from blackboard.errors import Malformed, TooLarge

MAX_BYTES = 128 * 1024


class Write(msgspec.Struct, omit_defaults=True, frozen=True, forbid_unknown_fields=True):
    key: str
    value: Any
    revision: int | msgspec.UnsetType = msgspec.UNSET
    confidence: float | None = None
    basis: dict[str, int] | None = None
    mode: Literal["open", "shut"] = "open"
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1000


class Batch(msgspec.Struct, tag="batch", omit_defaults=True, forbid_unknown_fields=True):
    writes: list[Write]
    turn: int | None = None


class Say(msgspec.Struct, tag="say"):
    text: str
    to: list[str] = []
    loud: bool = False


class Tree(msgspec.Struct):
    children: "list[Tree]" = []
    names: dict[Annotated[str, msgspec.Meta(max_length=3)], int] = {}


texts = st.one_of(
    st.sampled_from(["", "k", ":", '"\\/:', "\x7f\u2028", "😀", "\ue000", "1.5e3", "\\ud800"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
numbers = st.one_of(
    st.integers(-SAFE_INTEGER, SAFE_INTEGER),
    st.sampled_from([0.5, 1.0, 0.0, 1e21, 1e-7, 19.99]),
    st.floats(0, 1),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=10,
)
writes = st.builds(
    Write,
    key=texts,
    value=values,
    revision=st.one_of(st.just(msgspec.UNSET), st.integers(1, 9)),
    confidence=st.one_of(st.none(), st.floats(0, 1)),
    basis=st.one_of(st.none(), st.dictionaries(texts, st.integers(0, 9), max_size=2)),
    mode=st.sampled_from(["open", "shut"]),
    limit=st.sampled_from([1, 1000]),
)
messages = st.one_of(
    st.builds(Batch, writes=st.lists(writes, max_size=3), turn=st.one_of(st.none(), st.integers(0, 9))),
    st.builds(Say, text=texts, to=st.lists(texts, max_size=2), loud=st.booleans()),
)
spellings = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]),
    }
)


def refusal(raw: bytes, into: Any = object, **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        decode(raw, into, max_bytes=MAX_BYTES, **options)
    msgspec.json.encode(caught.value.members)  # fit for a problem document
    return caught.value


# ---- what is accepted


@given(messages)
def test_canonical_bytes_decode_to_the_same_message_and_bytes(message: Any) -> None:
    raw = encode(message)
    assert decode_with_canonical(raw, Batch | Say, max_bytes=MAX_BYTES) == (message, raw)
    assert decode(raw, type(message), max_bytes=MAX_BYTES) == message


@given(messages, spellings)
def test_the_canonical_bytes_do_not_depend_on_the_spelling(message: Any, spelling: dict[str, Any]) -> None:
    raw = json.dumps(msgspec.to_builtins(message), **spelling).encode()
    assert decode_with_canonical(raw, Batch | Say, max_bytes=MAX_BYTES) == (message, encode(message))


@given(values, spellings)
def test_untyped_values_decode_to_what_parse_reads(value: Any, spelling: dict[str, Any]) -> None:
    raw = json.dumps(value, **spelling).encode()
    decoded, canonical = decode_with_canonical(raw, object, max_bytes=MAX_BYTES)
    assert decoded == parse(raw) == value
    assert canonical == encode(parse(raw))


def test_a_default_that_is_sent_is_as_good_as_one_left_out() -> None:
    raw = b'{"key":"k","value":1,"mode":"open","limit":1000,"confidence":null}'
    assert decode_with_canonical(raw, Write, max_bytes=MAX_BYTES) == (Write("k", 1), b'{"key":"k","value":1}')


# ---- as strict as parse


mutations = st.tuples(
    st.integers(0, 200),
    st.sampled_from(
        [
            b"",
            b'"',
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b"0",
            b"e9",
            b".0",
            b"\\ud800",
            b"\\u003a",
            b"\xff",
            b" ",
        ]
    ),
    st.integers(0, 3),
)


@given(messages, spellings, st.lists(mutations, max_size=3))
def test_decode_refuses_whatever_parse_refuses(
    message: Any, spelling: dict[str, Any], changes: list[tuple[int, bytes, int]]
) -> None:
    raw = json.dumps(msgspec.to_builtins(message), **spelling).encode()
    for position, piece, cut in changes:
        raw = raw[:position] + piece + raw[position + cut :]
    assert_agreement(raw)


@given(
    st.one_of(st.binary(max_size=40), st.text('{}[]",:\\ud8c0 1.e-+NatrueIfl', max_size=40).map(str.encode))
)
@example(b"1e21")
@example(b"1000000000000000000000")
@example(b"9007199254740993")
@example(b"1e-400")
def test_decode_and_parse_accept_the_same_texts(raw: bytes) -> None:
    assert_agreement(raw)


def assert_agreement(raw: bytes) -> None:
    try:
        expected: Any = encode(parse(raw))
    except Malformed:
        expected = None
    try:
        canonical: Any = decode_with_canonical(raw, object, max_bytes=MAX_BYTES)[1]
    except Malformed:
        canonical = None
    assert canonical == expected


@given(messages, st.data())
def test_a_member_sent_twice_is_never_dropped(message: Any, data: st.DataObject) -> None:
    """Also where its loss would be made up for by a default or a tag that re-encoding adds."""
    members = msgspec.to_builtins(message)
    pairs = [f"{json.dumps(key)}:{json.dumps(member)}" for key, member in members.items()]
    pairs.insert(data.draw(st.integers(0, len(pairs))), data.draw(st.sampled_from(pairs)))
    if isinstance(message, Say):
        pairs = [pair for pair in pairs if data.draw(st.booleans()) or pair.startswith('"text"')]
    raw = "{" + ",".join(pairs) + "}"
    if len(json.loads(raw)) < len(pairs):
        with pytest.raises(Malformed):
            decode(raw.encode(), type(message), max_bytes=MAX_BYTES)


@pytest.mark.parametrize(
    ("raw", "into", "member", "limit"),
    [
        (b'{"key":"k","value":1,"key":"k"}', Write, "", "unique keys"),
        (b'{"key":"k","value":{"a":1,"a":1}}', Write, "/value", "unique keys"),
        (b'{"text":"a","text":"b"}', Say, "", "unique keys"),
        (b'{"text":"a","unknown":{"a":1,"a":1}}', Say, "/unknown", "unique keys"),
        (b'{"text":"a","unknown":["\\ud800"]}', Say, "/unknown/0", "Unicode text"),
        (b'{"key":"k","value":NaN}', Write, "/value", "finite numbers"),
        (b'{"key":"k","value":0.1000000000000000055511}', Write, "/value", "IEEE 754 double"),
        (
            b'{"key":"k","value":1,"confidence":0.1000000000000000055511}',
            Write,
            "/confidence",
            "IEEE 754 double",
        ),
        (b'{"key":"k","value":1,"confidence":1e400}', Write, "/confidence", "IEEE 754 double"),
        (b'{"key":"k","value":9007199254740992}', Write, "/value", SAFE_INTEGER),
        (b'{"key":"k","value":1,"revision":9007199254740992}', Write, "/revision", SAFE_INTEGER),
        (b'{"key":"k","value":1,"revision":' + b"1" * 5000 + b"}", Write, "/revision", SAFE_INTEGER),
        (b'{"key":"k","value":1000000000000000000000}', Write, "/value", SAFE_INTEGER),
        (b'{"key":"k","value":1,"confidence":9007199254740993}', Write, "/confidence", SAFE_INTEGER),
        (b'{"key":"k","value":"\xff"}', Write, "", "UTF-8"),
        (b"\xef\xbb\xbf{}", Write, "", "UTF-8"),
        (b"", Write, "", "RFC 8259"),
        (b'{"key":"k","value":1}}', Write, "", "RFC 8259"),
        (b'{"key":"a\tb","value":1}', Write, "", "RFC 8259"),
    ],
)
def test_what_parse_refuses_is_refused_in_its_words(
    raw: bytes, into: Any, member: str, limit: object
) -> None:
    error = refusal(raw, into)
    assert (error.member, error.limit) == (member, limit)


@pytest.mark.parametrize("count", [JSON_DEPTH + 1, 900, 40_000])
def test_deep_nesting_is_refused_and_never_overflows_the_stack(count: int) -> None:
    for raw in (b"[" * count + b"]" * count, b'{"a":' * count + b"1" + b"}" * count):
        for into in (object, Say, list[Any]):
            with pytest.raises(Malformed) as caught:
                decode(raw, into, max_bytes=10 * MAX_BYTES)
            assert caught.value.limit == JSON_DEPTH


def test_the_depth_limit_is_the_callers() -> None:
    assert decode(b"[[1]]", object, max_bytes=9, depth=2) == [[1]]
    assert refusal(b"[[1]]", depth=1).member == "/0"


def test_a_text_that_is_too_long_is_named_with_its_limit() -> None:
    assert decode(b"[1]", object, max_bytes=3) == [1]
    with pytest.raises(TooLarge) as caught:
        decode(b"[1] ", object, max_bytes=3, member="command")
    assert caught.value.members == {"member": "command", "limit": 3, "value": 4}


# ---- of the wrong type


@pytest.mark.parametrize(
    ("raw", "into", "detail", "value"),
    [
        (b'{"key":1,"value":1}', Write, "/key: expected str, got int", 1),
        (b'{"key":"k","value":1,"revision":1.5}', Write, "/revision: expected int, got float", "1.5"),
        (b'{"key":"k","value":1,"revision":true}', Write, "/revision: expected int, got bool", True),
        (b'{"key":"k","value":1,"limit":0}', Write, "/limit: expected int >= 1", 0),
        (
            b'{"key":"k","value":1,"mode":"ajar"}',
            Write,
            "/mode: invalid enum value 'ajar'; it is one of 'open', 'shut'",
            "'ajar'",
        ),
        (b'{"key":"k","value":1,"basis":{"a":"x"}}', Write, "/basis/*: expected int, got str", None),
        (b'{"key":"k"}', Write, "/value: is required", None),
        (b'{"key":"k","value":1,"color":2}', Write, "/color: is not a member here", None),
        (
            b'{"type":"batch","writes":[{"key":"k","value":1},{"value":1}]}',
            Batch | Say,
            "/writes/1/key: is required",
            None,
        ),
        (b'{"type":"batch","writes":[0]}', Batch | Say, "/writes/0: expected object, got int", 0),
        (b'{"type":"shout"}', Batch | Say, "/type: invalid value 'shout'", "'shout'"),
        (b'{"text":"a"}', Batch | Say, "/type: is required", None),
        (b"[]", Write, "the document: expected object, got array", "[]"),
        (b'{"names":{"abcd":1}}', Tree, "/names: expected str of length <= 3", "{'abcd': 1}"),
        (b'{"children":[{"children":7}]}', Tree, "/children/0/children: expected array, got int", 7),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_what_was_expected(
    raw: bytes, into: Any, detail: str, value: object
) -> None:
    error = refusal(raw, into)
    assert str(error) == detail
    assert error.member == ("" if detail.startswith("the document") else detail.partition(":")[0])
    assert error.members.get("value") == value


@pytest.mark.parametrize(
    ("raw", "into", "member"),
    [
        (b'["c"]', list[Literal["a", "b"]], "/0"),
        (b'{"x":"c"}', dict[str, Literal["a", "b"] | int], "/*"),
        (b'"c"', Annotated[Literal["a", "b"], msgspec.Meta(description="a choice")], "the document"),
        (b'[["c"]]', list[list[Literal["a", "b"]] | None], "/0/0"),
    ],
)
def test_a_word_that_is_no_choice_is_answered_with_those_there_are(
    raw: bytes, into: Any, member: str
) -> None:
    assert str(refusal(raw, into)) == f"{member}: invalid enum value 'c'; it is one of 'a', 'b'"


def test_what_the_sender_wrote_cannot_make_a_message_long() -> None:
    assert len(str(refusal(json.dumps({"type": "x" * 50_000}).encode(), Batch | Say))) < 300
    assert len(str(refusal(json.dumps({"key": "k", "value": 1, "x" * 50_000: 1}).encode(), Write))) < 300


def test_what_is_not_checked_cannot_be_asked_for() -> None:
    class Holder(msgspec.Struct):
        inside: list[msgspec.Raw | None]

    for into in (msgspec.Raw, dict[str, msgspec.Raw], Holder):
        with pytest.raises(TypeError, match="Raw"):
            decode(b"1", into, max_bytes=9)
    assert decode(b'{"children":[{}]}', Tree, max_bytes=99) == Tree([Tree()])
