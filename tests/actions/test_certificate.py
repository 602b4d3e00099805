"""The certificate as a document: what is in it, who may have changed it, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import encode, normal
from blackboard.errors import Malformed, TooLarge
from blackboard.gate.actions import certificate as module
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.certificate import LANGUAGE, certificate_digest, sign_certificate
from blackboard.gate.actions.formula import Formula, Seen, both, either, holds, stands
from blackboard.gate.actions.portable import exact, portable, received
from blackboard.gate.actions.residual import Compare
from blackboard.gate.actions.screen import Screen
from blackboard.gate.actions.signing import PrivateKey, sign, verify
from blackboard.gate.actions.verifying import load_certificate, verify_certificate
from blackboard.records.atoms import ABSENT
from tests.actions.certifying import KEY, PUBLIC, SETS, certified, codes, issued, round_trip
from tests.actions.gating import approval, compiled, equals, fact, over, policy
from tests.actions.truths import Record

OTHER = PrivateKey.from_private_bytes(bytes(32))
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
RECORDS: list[Record] = [
    policy("cap", 1, over(Decimal("19.99")), expires_seq=90),
    policy("tier", 2, {"all": [equals("gold"), over(2**60)]}, "allow"),
    fact("gold", 3, "tier", "gold"),
    fact("std", 4, "tier", "standard"),
    policy("ask", 5, over(10), "require_approval"),
    approval("yes", 6, "ask", {"amount": 11}),
    {"id": "s1", "seq": 7, "kind": "summary"},
]
HELD = ["tier", "gold", "s1"]
DOCUMENT = issued(compiled(RECORDS, HELD), board="desk", agent="ann", view=12, clock=7)
CALL = {"tool": "t", "params": {"amount": 5}}


def verdict(document: Any, action: Any = CALL, key: Any = PUBLIC, **expected: Any) -> tuple[str, str | None]:
    found = verify_certificate(document, action, key, **expected)
    assert (found.detail is None) is (found.verdict != "ERROR")
    return found.verdict, found.member


def changed(**members: Any) -> dict[str, Any]:
    """The document with another body, signed all the same."""
    return sign_certificate({**DOCUMENT["certificate"], **members}, KEY)


# ---- what is in it


def test_a_certificate_binds_board_agent_tool_view_and_clock() -> None:
    body = DOCUMENT["certificate"]
    assert {
        name: body[name] for name in ("board", "agent", "tool", "view", "clock", "as_of", "language")
    } == {
        "board": "desk",
        "agent": "ann",
        "tool": "t",
        "view": 12,
        "clock": 7,
        "as_of": 7,
        "language": LANGUAGE,
    }
    assert (body["full"], body["held"]) == (SETS["full"], SETS["held"])


def test_a_certificate_names_what_it_depends_on() -> None:
    ledger = policy("led", 1, {"field": "task/A", "op": "eq", "value": 1, "source": "ledger"})
    body = issued(compiled([ledger, policy("p", 2, equals("gold"))], []))["certificate"]
    assert (body["fields"], body["keys"]) == (["tier"], ["task/A"])


def test_only_rules_that_can_be_dangerous_have_rows() -> None:
    records = [
        policy("held", 1, over(5)),
        policy("lost", 2, over(6)),
        policy("permits", 3, over(7), "allow"),
        policy("never", 4, {"all": [over(5, source="fact"), {"any": []}]}),
        policy("elsewhere", 5, over(8), scope="u"),
    ]
    body = issued(compiled(records, ["held"]))["certificate"]
    assert [row["id"] for row in body["rows"]] == ["lost"]


def test_a_rule_of_many_atoms_keeps_its_row_unsearched() -> None:
    impossible = {
        "all": [over(5), *({"field": "amount", "op": "lt", "value": 5} for _ in range(4)), equals("a", "b")]
    }
    short = {
        "all": [{"field": "a", "op": "exists", "value": True}, {"field": "a", "op": "exists", "value": False}]
    }
    body = issued(compiled([policy("long", 1, impossible), policy("short", 2, short)], []))["certificate"]
    assert [row["id"] for row in body["rows"]] == ["long"]


def test_numbers_that_json_readers_round_are_written_as_decimals() -> None:
    text = json.dumps(DOCUMENT)
    assert '{"decimal": "19.99"}' in text
    assert f'{{"decimal": "{2**60}"}}' in text


def test_the_boundary_of_a_decimal_is_exact_after_a_round_trip() -> None:
    loaded = certified([policy("p", 1, over(Decimal("19.99")))], [])
    said = [
        loaded.check(Action("t", {"amount": Decimal(text)})).verdict
        for text in ("19.99", "19.990", "19.9900001")
    ]
    assert said == ["PASS", "PASS", "BLOCK"]


def test_a_certificate_is_valid_until_the_next_expiry() -> None:
    loaded = round_trip(DOCUMENT)
    assert [loaded.expired(head) for head in (89, 90, 91)] == [False, True, True]
    assert not certified([policy("p", 1, over(5))], []).expired(10**9)


def test_a_certificate_has_one_digest_and_one_signature() -> None:
    body = DOCUMENT["certificate"]
    assert sign_certificate(body, KEY) == DOCUMENT
    assert certificate_digest(body) == certificate_digest(json.loads(json.dumps(body)))
    assert certificate_digest(body) != certificate_digest({**body, "as_of": 8})


def test_a_certificate_that_is_too_large_is_not_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 300)
    with pytest.raises(TooLarge, match="at most 44"):
        sign_certificate(DOCUMENT["certificate"], KEY)


# ---- what it says


def test_a_lost_limit_blocks_what_is_over_it_with_the_gates_reason() -> None:
    loaded = certified([policy("p", 1, over(5000))], [])
    assert [loaded.check(Action("t", {"amount": amount})).verdict for amount in (5000, 5001)] == [
        "PASS",
        "BLOCK",
    ]
    (reason,) = loaded.check(Action("t", {"amount": "5"})).reasons
    assert (reason.code, reason.id, reason.full, reason.held) == (
        "dropped-binding-constraint",
        "p",
        "UNKNOWN",
        None,
    )
    assert reason.detail == "policy 'p' (deny): amount gt 5000 is UNKNOWN on the full set and not held"
    assert reason.reread == reason.missing == ["p"]


def test_the_reasons_of_a_verdict_are_sorted() -> None:
    records = [policy("z", 1, over(1)), {"id": "m", "seq": 2, "kind": "summary"}, policy("a", 3, over(0))]
    found = certified(records, []).check(Action("t", {"amount": 2}))
    assert codes(found) == sorted(codes(found))
    assert [reason.id for reason in found.reasons] == ["a", "z", "m"]


def test_an_approved_action_passes_and_no_other() -> None:
    loaded = certified(
        [policy("p", 1, over(10), "require_approval"), approval("a", 2, "p", {"amount": 11})], []
    )
    said = [loaded.check(Action("t", {"amount": amount})).verdict for amount in (11, Decimal("11.0"), 12)]
    assert said == ["PASS", "PASS", "BLOCK"]


def test_what_was_never_delivered_may_be_noted_only() -> None:
    of = compiled([policy("p", 1, over(5)), policy("q", 2, over(4))], [], delivered=["q"])
    strict, lenient = round_trip(issued(of)), round_trip(issued(of, unseen="note"))
    action = Action("t", {"amount": 6})
    assert [one.id for one in strict.check(action).reasons] == ["q", "p"]
    assert [one.id for one in lenient.check(action).reasons] == ["q"]


def test_the_certificate_of_another_tool_is_an_error() -> None:
    assert verdict(DOCUMENT, {"tool": "t.other"}) == ("ERROR", "/action/tool")


def test_who_executes_may_insist_on_board_agent_and_head() -> None:
    assert verdict(DOCUMENT, board="desk", agent="ann", head=89) == ("PASS", None)
    assert verdict(DOCUMENT, board="other") == ("ERROR", "/certificate/board")
    assert verdict(DOCUMENT, agent="bob") == ("ERROR", "/certificate/agent")
    assert verdict(DOCUMENT, head=90) == ("ERROR", "/certificate/valid_until_seq")


# ---- whom it is believed


@pytest.mark.parametrize(
    "form",
    [PUBLIC, PUBLIC.hex(), PUBLIC.hex().encode(), PEM, PEM.decode(), KEY.public_key(), f" {PUBLIC.hex()}\n"],
)
def test_a_public_key_is_taken_in_every_form_in_which_it_is_given(form: Any) -> None:
    assert verdict(DOCUMENT, key=form)[0] == "PASS"


FOREIGN = (
    generate_private_key(SECP256R1())
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
)


@pytest.mark.parametrize(
    "form",
    [
        b"",
        "",
        b"x" * 31,
        "g" * 64,
        PUBLIC.hex().upper(),
        PUBLIC.hex()[:-1],
        FOREIGN,
        PEM[:-40],
        b"\xff" * 9999,
        None,
        5,
        "\ud800",
    ],
)
def test_what_is_no_public_key_is_an_error(form: Any) -> None:
    assert verdict(DOCUMENT, key=form) == ("ERROR", "public_key")


def test_a_private_key_in_the_place_of_the_public_one_is_told_to_stay_where_it_is() -> None:
    private = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for form in (private, private.decode()):
        with pytest.raises(Malformed, match="this is a private key: it signs, and stays where it is"):
            load_certificate(DOCUMENT, form)


def test_the_key_never_comes_from_the_certificate() -> None:
    forged = sign_certificate({**DOCUMENT["certificate"], "rows": []}, OTHER)
    assert verdict(forged) == ("ERROR", "/key")
    assert verdict(forged | {"key": DOCUMENT["key"]}) == ("ERROR", "/signature")
    assert verdict(forged | {"public_key": OTHER.public_key().public_bytes_raw().hex()})[0] == "ERROR"


def test_a_signature_is_good_for_certificates_only() -> None:
    data = encode(DOCUMENT["certificate"], depth=64)
    bare = DOCUMENT | {"signature": KEY.sign(data).hex()}
    assert verdict(bare) == ("ERROR", "/signature")
    assert verify(data, sign(data, KEY), KEY.public_key())
    assert not verify(data, sign(data, KEY).upper(), KEY.public_key())
    assert not verify(data, "", KEY.public_key())


def test_an_unsigned_certificate_is_refused() -> None:
    assert verdict({"certificate": DOCUMENT["certificate"]}) == ("ERROR", "/key")


def test_another_version_of_the_language_is_refused() -> None:
    assert verdict(changed(language=LANGUAGE + 1)) == ("ERROR", "/certificate/language")
    assert verdict(changed(language="1")) == ("ERROR", "/certificate/language")
    assert verdict(changed(language=True)) == ("ERROR", "/certificate/language")


PLACES = [
    *DOCUMENT["certificate"],
    *(f"rows/{at}/{name}" for at, row in enumerate(DOCUMENT["certificate"]["rows"]) for name in row),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [None, 0, "x", [], {}, True], ids=repr)
def test_whatever_is_changed_in_a_certificate_it_is_refused(place: str, value: Any) -> None:
    document = deepcopy(DOCUMENT)
    at: Any = document["certificate"]
    *path, last = place.split("/")
    for name in path:
        at = at[int(name) if isinstance(at, list) else name]
    if normal(at[last]) == normal(value):
        return
    at[last] = value
    assert verdict(document) == ("ERROR", "/signature")
    # Signed by somebody who should not have, it is judged or refused, and nothing else happens.
    assert verdict(sign_certificate(document["certificate"], KEY))[0] in ("PASS", "BLOCK", "ERROR")


TEXT = encode(DOCUMENT, depth=64)


@given(st.integers(0, len(TEXT) - 1), st.integers(1, 255))
def test_a_certificate_with_one_other_byte_is_refused(at: int, difference: int) -> None:
    damaged = bytearray(TEXT)
    damaged[at] ^= difference
    assert verdict(bytes(damaged))[0] == "ERROR"


# ---- what is no certificate, and no action


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON | st.binary() | st.dictionaries(st.sampled_from(["certificate", "key", "signature"]), JSON))
def test_what_is_no_certificate_is_an_error(document: Any) -> None:
    assert verdict(document)[0] == "ERROR"


@given(st.sampled_from(PLACES), JSON)
def test_a_signed_certificate_of_any_shape_is_judged_or_refused(place: str, value: Any) -> None:
    body = deepcopy(DOCUMENT["certificate"])
    at: Any = body
    *path, last = place.split("/")
    for name in path:
        at = at[int(name) if isinstance(at, list) else name]
    at[last] = value
    try:
        document = sign_certificate(body, KEY)
    except Malformed:
        return  # not JSON
    assert verdict(document)[0] in ("PASS", "BLOCK", "ERROR")


@pytest.mark.parametrize(
    ("row", "member"),
    [
        (
            {"full": {"param": "a", "op": "gt", "value": {"decimal": "1e5"}, "absent": "TRUE"}},
            "full/value/decimal",
        ),
        (
            {"full": {"param": "a", "op": "gt", "value": {"decimal": 5}, "absent": "TRUE"}},
            "full/value/decimal",
        ),
        ({"full": {"param": "a", "op": "near", "value": 5, "absent": "TRUE"}}, "full/op"),
        ({"full": {"always": "MAYBE"}}, "full/always"),
        ({"full": {"always": "TRUE"}, "held": 5}, "held"),
        ({"full": {"always": "TRUE"}, "effect": "forbid"}, "effect"),
        ({"full": {"always": "TRUE"}, "more": 1}, "more"),
        ({}, "full"),
    ],
)
def test_a_row_that_says_nothing_is_refused_with_its_place(row: dict[str, Any], member: str) -> None:
    whole = {"id": "p", "effect": "deny", "predicate": "a", **row}
    assert verdict(changed(rows=[whole])) == ("ERROR", f"/certificate/rows/0/{member}")


def test_a_certificate_beyond_the_limit_is_refused() -> None:
    assert verdict(b" " * (16 * 1024 * 1024 + 1))[0] == "ERROR"


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 11


@pytest.mark.parametrize(
    ("action", "member"),
    [
        ({}, "/action/tool"),
        ({"tool": 5}, "/action/tool"),
        ({"tool": "t", "params": []}, "/action/params"),
        ({"tool": "t", "more": 1}, "/action/more"),
        ({"tool": "t", "params": {"": 1}}, "/action/params/"),
        ({"tool": "t", "params": {"a": {1, 2}}}, "/action/params/a"),
        ({"tool": "t", "params": {"a": float("nan")}}, "/action/params/a"),
        ({"tool": "t", "params": {"a": Decimal("Infinity")}}, "/action/params/a"),
        ({"tool": "t", "params": {"a": 10**100}}, "/action/params/a"),
        ({"tool": "t", "params": {"a": [Decimal("1e-2000")]}}, "/action/params/a/0"),
        ({"tool": "t", "params": {"a": "\ud800"}}, "/action/params/a"),
        ({"tool": "t", "params": {5: 1}}, "/action/params"),
        (Action("t", {"a": object()}), "/action/params/a"),
        (None, "/action"),
        ([], "/action"),
        ("{", ""),
        (b'{"tool": "t", "tool": "t"}', ""),
        ('{"tool": "t", "params": {"a": 1e9999}}', "/params/a"),
    ],
)
def test_what_is_no_action_is_an_error_with_its_place(action: Any, member: str) -> None:
    assert verdict(DOCUMENT, action) == ("ERROR", member)


def test_an_action_that_holds_itself_is_an_error() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    found, member = verdict(DOCUMENT, {"tool": "t", "params": endless})
    assert found == "ERROR"
    assert str(member).startswith("/action/params/again/again")


@given(JSON | st.binary())
def test_no_action_raises(action: Any) -> None:
    assert verdict(DOCUMENT, action)[0] == "ERROR"


@given(st.dictionaries(st.text(min_size=1, max_size=5), JSON, max_size=4))
def test_no_params_raise(given_params: dict[str, Any]) -> None:
    assert verdict(DOCUMENT, {"tool": "t", "params": given_params})[0] in ("PASS", "BLOCK", "ERROR")


def test_params_of_python_are_read_for_what_json_makes_of_them() -> None:
    loaded = round_trip(DOCUMENT)
    for amount in (11, 11.0, Decimal("11.0"), Size.BIG):
        assert (
            verify_certificate(loaded, {"tool": "t", "params": {"amount": amount}}, PUBLIC).verdict == "PASS"
        )
    assert received({"a": (Colour.RED, True, None, 0.1)}) == {"a": ["red", True, None, Decimal("0.1")]}
    assert type(received(Colour.RED)) is str
    assert type(received(Size.BIG)) is int


def test_an_action_is_taken_as_text_too() -> None:
    assert verdict(DOCUMENT, '{"tool": "t", "params": {"amount": 1.10e1}}')[0] == "PASS"
    assert verdict(DOCUMENT, Action("t", {"amount": 12}))[0] == "BLOCK"


def test_a_certificate_is_read_from_every_form() -> None:
    forms: list[Any] = [DOCUMENT, TEXT, TEXT.decode(), json.dumps(DOCUMENT, indent=2), round_trip(DOCUMENT)]
    assert [verdict(form)[0] for form in forms] == ["PASS"] * 5
    floats = TEXT.replace(b'"as_of":7', b'"as_of":7.0')
    assert load_certificate(floats, PUBLIC).body.as_of == 7


# ---- portable numbers


@given(st.integers(-(2**70), 2**70) | st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_numbers_come_back_as_they_were(number: int | Decimal) -> None:
    written = json.loads(json.dumps(portable([number, {"a": number}])))
    back = exact(written)
    assert back == [number, {"a": number}]
    assert isinstance(written[0], int) is (number == int(number) and -(2**53) < number < 2**53)


def test_only_an_object_with_a_decimal_alone_is_a_number() -> None:
    assert exact({"decimal": "1", "more": 1}) == {"decimal": "1", "more": 1}
    for text in ("01", "1e5", "+1", "1.", ".5", "", " 1", "١"):
        with pytest.raises(Malformed):
            exact({"decimal": text})


# ---- the screen


FIELDS = ("a", "b")
VALUES: list[Any] = [
    *(ABSENT, None, True, False, 0, 1, Decimal("1.0"), Decimal("0.99"), 2, 10**30, [], [1], {}, {"a": 1}),
    *("", "go", "gold", "gol", "gold\0", "gp", "golf", "\U0010ffff", "\U0010ffff\U0010ffff", "z"),
    *("\ud7ff", "\ud7ffz", "\ue000"),
]
CONSTANTS: list[tuple[str, Any]] = [
    *(("gt", value) for value in (1, Decimal("0.99"), "go")),
    *(("le", value) for value in (1, "gold")),
    *(("eq", value) for value in (1, True, False, None, "gold", "")),
    *(("in", value) for value in ((), (1, 2), ("go", None), (None,))),
    *(("prefix", value) for value in ("go", "", "gol\U0010ffff", "\U0010ffff", "\ud7ff")),
    ("exists", True),
    ("exists", False),
]


@st.composite
def formulas(draw: st.DrawFn, depth: int = 2) -> Formula:
    if depth and draw(st.booleans()):
        parts = draw(st.lists(formulas(depth - 1), min_size=0, max_size=3))
        return (both if draw(st.booleans()) else either)(parts)
    op, value = draw(st.sampled_from(CONSTANTS))
    compare = Compare(draw(st.sampled_from(FIELDS)), op, value, 1)
    return Seen(compare, draw(st.sampled_from(["passes", "fails", "other", "missing"])))


def calls() -> st.SearchStrategy[dict[str, Any]]:
    value = st.sampled_from(VALUES)
    return st.fixed_dictionaries(dict.fromkeys(FIELDS, value)).map(
        lambda found: {name: value for name, value in found.items() if value is not ABSENT}
    )


@given(st.lists(formulas(), max_size=5), st.lists(calls(), min_size=1, max_size=4))
def test_the_screen_leaves_out_no_formula_that_holds(
    found: list[Formula], given_calls: list[dict[str, Any]]
) -> None:
    screen = Screen(found)
    for params in given_calls:
        places = list(screen.places(params))
        assert places == sorted(places)
        assert set(places) >= {at for at, formula in enumerate(found) if _true(formula, params)}


@given(st.lists(formulas(), max_size=5), st.sampled_from(VALUES))
def test_the_screen_is_exact_where_one_field_is_read(found: list[Formula], value: Any) -> None:
    single = [_of_one_field(formula) for formula in found]
    params = {} if value is ABSENT else {"a": value}
    assert list(Screen(single).places(params)) == [at for at, one in enumerate(single) if _true(one, params)]


def _true(formula: Formula, params: Mapping[str, Any]) -> bool:
    return holds(
        formula, lambda seen: stands(seen.compare, params.get(seen.compare.field, ABSENT)) == seen.part
    )


def _of_one_field(formula: Formula) -> Formula:
    match formula:
        case Seen(compare, part):
            return Seen(Compare("a", compare.op, compare.value, compare.absent), part)
        case bool():
            return formula
        case _:
            parts = [_of_one_field(part) for part in formula.parts]  # type: ignore[union-attr]  # nothing is told
            return type(formula)(tuple(parts))  # type: ignore[arg-type]  # one of the two
