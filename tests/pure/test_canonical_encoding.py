"""RFC 8785 bytes: equal to the reference whatever the value, and a place for whatever is refused."""

import enum
import json
import math
import struct
from decimal import Decimal
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import JSON_DEPTH, SAFE_INTEGER, encode
from blackboard.canonical.encoding import exact
from blackboard.errors import Malformed

# Where encoders disagree: control characters, DEL, line separators, the ends of the planes, and keys that
# UTF-8 and UTF-16 order differently.
NASTY = [
    "",
    "\x00",
    "\b\f\t\n\r\x1f",
    '"\\/',
    "\x7f\x80",
    "\u2028\u2029",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "😀",
    "é",
    "€",
]

texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
integers = st.integers(-SAFE_INTEGER, SAFE_INTEGER)


def readable(value: float) -> bool:
    """Not written as an integer beyond the limit (which is refused)."""
    return abs(value) <= SAFE_INTEGER or abs(value) >= 1e21


floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e-4, 1e-5, 1e-6, 1e-7, 1e15, 1e21, 1e22, 5e-324, 0.9999]),
    st.integers(-(10**6), 10**6).map(lambda n: n / 100),
).filter(readable)
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(texts, inner, max_size=5),
    ),
    max_leaves=20,
)


def nested(depth: int, *, in_object: bool = False) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"k": value} if in_object else [value]
    return value


def refusal(value: object, **options: Any) -> Malformed:
    """The error of `encode`, which is that of the exact way."""
    with pytest.raises(Malformed) as caught:
        encode(value, **options)
    with pytest.raises(Malformed) as again:
        exact(value, **options)
    assert str(again.value) == str(caught.value)
    assert again.value.members == caught.value.members
    msgspec.json.encode(caught.value.members)  # fit for a problem document
    return caught.value


# ---- equal to the reference


@given(values)
def test_the_bytes_are_those_of_the_reference(value: Any) -> None:
    expected = rfc8785.dumps(value)
    assert encode(value) == expected
    assert exact(value) == expected


@given(st.dictionaries(st.sampled_from(["\ue000", "\uffff", "😀", "\U0010ffff", "a", "é", "\r"]), integers))
def test_keys_are_ordered_by_utf16_code_units(members: dict[str, int]) -> None:
    assert encode(members) == rfc8785.dumps(members)


@given(floats)
def test_numbers_are_those_of_the_reference(value: float) -> None:
    assert encode(value) == rfc8785.dumps(value)
    assert float(encode(value)) == value
    assert Decimal(encode(value).decode()) == Decimal(repr(value))  # what strict parsing compares


def test_strings_are_those_of_the_reference_at_every_code_point() -> None:
    for plane in range(0, 0x110000, 0x1000):
        points = [chr(point) for point in range(plane, plane + 0x1000) if not 0xD800 <= point < 0xE000]
        assert encode(points) == exact(points) == rfc8785.dumps(points)


def test_the_key_order_of_the_rfc() -> None:
    names = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert list(json.loads(encode(names)).values()) == [2, 4, 6, 7, 1, 5, 3]


# RFC 8785, appendix B: the bits of a double and how it is written.
APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "written"), APPENDIX_B)
def test_the_numbers_of_the_rfc(bits: str, written: str) -> None:
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    if readable(value):
        assert encode(value).decode() == written
    else:  # written as an integer that readers would round: refused, though the digits are those
        assert refusal(value).members["value"] == repr(written)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            {"status": "failed", "retry": True, "note": "disk full"},
            '{"note":"disk full","retry":true,"status":"failed"}',
        ),
        ({"b": [], "a": {}, "c": (1, -0.0, 1.0, 1.5)}, '{"a":{},"b":[],"c":[1,0,1,1.5]}'),
        ([None, True, False, "\x7f\u2028\b"], '[null,true,false,"\x7f\u2028\\b"]'),
        (0.75, "0.75"),
        (SAFE_INTEGER, "9007199254740991"),
        (float(-SAFE_INTEGER), "-9007199254740991"),
    ],
)
def test_the_bytes_do_not_change(value: Any, written: str) -> None:
    assert encode(value) == written.encode()


# ---- structs


class Write(msgspec.Struct, omit_defaults=True, frozen=True):
    key: str
    value: Any = None
    mode: str = "open"
    limit: int = 1000
    turn: int | None = None
    tags: list[str] = []
    extra: tuple[int, ...] = ()
    revision: int | msgspec.UnsetType = msgspec.UNSET
    made: tuple[str, ...] = msgspec.field(default_factory=lambda: ("made",))


class Whole(msgspec.Struct, tag="whole", tag_field="kind", rename={"first": "zeta", "second": "😀"}):
    first: int = 0
    second: str = "\ue000"


class Renamed(msgspec.Struct, tag=True, rename="camel"):
    the_key: str
    a_value: Any = None


writes = st.builds(
    Write,
    key=texts,
    value=values,
    mode=st.sampled_from(["open", "shut"]),
    limit=st.sampled_from([1000, 5]),
    turn=st.sampled_from([None, 0, 1]),
    tags=st.lists(texts, max_size=2),
    extra=st.sampled_from([(), (1,)]),
    revision=st.sampled_from([msgspec.UNSET, 1]),
)


@given(st.one_of(writes, st.builds(Whole, integers, texts), st.builds(Renamed, texts, values)))
def test_a_struct_is_written_as_its_members(value: msgspec.Struct) -> None:
    expected = rfc8785.dumps(msgspec.to_builtins(value))
    assert encode(value) == exact(value) == expected
    assert encode([value, {"in": value}]) == b'[%b,{"in":%b}]' % (expected, expected)


@given(writes)
def test_the_bytes_do_not_depend_on_where_the_members_came_from(value: Write) -> None:
    """A default that was sent, decoded, is another object than the class's default, and equal to it."""
    explicit = msgspec.json.encode(
        {name: getattr(value, name) for name in ("key", "mode", "limit", "tags", "extra")}
    )
    received = msgspec.json.decode(explicit, type=Write)
    made = Write(value.key, mode=value.mode, limit=value.limit, tags=value.tags, extra=value.extra)
    assert encode(received) == encode(made) == exact(received) == exact(made)


def test_members_equal_to_their_default_are_left_out() -> None:
    received = msgspec.json.decode(b'{"key":"k","mode":"open","limit":1000,"tags":[],"extra":[]}', type=Write)
    assert encode(received) == encode(Write("k")) == b'{"key":"k","made":["made"]}'
    assert (
        encode(Write("k", limit=True, extra=(1,))) == b'{"extra":[1],"key":"k","limit":true,"made":["made"]}'
    )


def test_without_omit_defaults_every_member_is_written() -> None:
    assert encode(Whole()) == '{"kind":"whole","zeta":0,"😀":"\ue000"}'.encode()
    assert encode(Renamed("k", Whole())).startswith(b'{"aValue":{"kind":"whole"')


def test_raw_bytes_are_embedded_as_they_are() -> None:
    raw = msgspec.Raw(b'{"z":1}')
    assert encode(Write("k", value=raw)) == exact(Write("k", value=raw))
    assert encode({"b": raw, "a": 1.0}) == b'{"a":1,"b":{"z":1}}'


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()


class Real(float):
    __slots__ = ()


class Mapping(dict[str, Any]):
    pass


def test_subclasses_of_the_json_types_are_written_as_what_they_are() -> None:
    assert (
        encode([Colour.RED, Level.HIGH, Text("t"), Real(0.5), Mapping(a=1)]) == b'["red",3,"t",0.5,{"a":1}]'
    )
    assert encode({Colour.RED: 1, Text("a"): 2}) == b'{"a":2,"red":1}'


# ---- refusals


class Positional(msgspec.Struct, array_like=True):
    a: int = 1


@pytest.mark.parametrize(
    ("value", "member", "limit"),
    [
        (object(), "", "JSON types"),
        ({"a": [0, b"bytes"]}, "/a/1", "JSON types"),
        ({"a": {1, 2}}, "/a", "JSON types"),
        ([Positional()], "/0", "JSON types"),
        ({"a": msgspec.UNSET}, "/a", "JSON types"),
        ([msgspec.UNSET], "/0", "JSON types"),
        ({"a": {1: 2}}, "/a", "string keys"),
        ({None: 2}, "", "string keys"),
        ([math.nan], "/0", "finite numbers"),
        ({"x": math.inf}, "/x", "finite numbers"),
        (-math.inf, "", "finite numbers"),
        (SAFE_INTEGER + 1, "", SAFE_INTEGER),
        ([-SAFE_INTEGER - 1], "/0", SAFE_INTEGER),
        ([10**5000], "/0", SAFE_INTEGER),
        ({"f": 1e16}, "/f", SAFE_INTEGER),
        (-1e20, "", SAFE_INTEGER),
        ({"a/b~c": ["\ud800"]}, "/a~1b~0c/0", "Unicode text"),
        ({"\udfff": 1}, "", "Unicode text"),
        ({"\udfff": math.nan}, "", "Unicode text"),
        ({"x" * 200: math.nan}, "/" + "x" * 79 + "…", "finite numbers"),
        (Write("\ud800"), "/key", "Unicode text"),
        (Renamed("k", [math.nan]), "/aValue/0", "finite numbers"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: object, member: str, limit: object) -> None:
    error = refusal(value)
    assert (error.member, error.limit) == (member, limit)
    assert str(error).startswith(member or "the document")


def test_places_are_named_from_where_the_caller_says() -> None:
    assert refusal({"a": [math.nan]}, member="/writes/3/value").member == "/writes/3/value/a/0"
    assert refusal(math.nan, member="/writes/3/value").member == "/writes/3/value"


@pytest.mark.parametrize("in_object", [False, True])
def test_nesting_ends_at_the_limit(in_object: bool) -> None:
    deepest = nested(JSON_DEPTH, in_object=in_object)
    assert encode(deepest) == exact(deepest) == rfc8785.dumps(deepest)
    error = refusal(nested(JSON_DEPTH + 1, in_object=in_object))
    assert error.limit == JSON_DEPTH
    assert error.member == ("/k" if in_object else "/0") * JSON_DEPTH
    assert refusal([[1]], depth=1).member == "/0"
    assert refusal([], depth=0).member == ""
    assert encode(1, depth=0) == b"1"


def test_a_struct_counts_as_one_level() -> None:
    assert encode(Write("k", value=[1]), depth=2)
    assert refusal(Write("k", value=[1]), depth=1).member == "/made"


def test_nesting_without_end_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert refusal(loop).limit == JSON_DEPTH
