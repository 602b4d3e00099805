"""The oracle's views: which copy, approval, fact or entry counts on which side, and what the reason says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.actions.oracle import Malformed, Verdict, covers, judge
from tests.actions.truths import ABSENT, Record, action_digest, at_pointer

TOOL = "pay.refund"
CALL = {"amount": 6000}
BIG: Record = {"field": "amount", "op": "gt", "value": 5000}
GOLD: Record = {"field": "tier", "op": "eq", "value": "gold"}


def policy(name: str, effect: str, predicate: Record = BIG, **members: Any) -> Record:
    content = {"scope": TOOL, "predicate": predicate, "effect": effect}
    return {"id": name, "kind": "policy", **(content | members)}


def fact(name: str, value: Any, **members: Any) -> Record:
    return {"id": name, "kind": "fact", "field": "tier", "value": value, **members}


def retraction(name: str, **members: Any) -> Record:
    return {"id": name, "kind": "fact", "field": "tier", "retracted": True, **members}


def approval(name: str, policy: str, **members: Any) -> Record:
    usual = {"action_digest": action_digest(TOOL, CALL), "granted": True, "approver": "operator:ops"}
    return {"id": name, "kind": "approval", "policy": policy, **(usual | members)}


def judged(records: list[Record], held: str, params: dict[str, Any] | None = None, **options: Any) -> Verdict:
    """Judge the refund. The records have the seqs 1, 2, ...; `held` are ids with spaces between."""
    numbered = [{"seq": seq, **record} for seq, record in enumerate(records, 1)]
    return judge(numbered, held.split(), TOOL, CALL if params is None else params, **options)


# -------------------------------------------------------------------------------------------------- approvals


@pytest.mark.parametrize(
    ("members", "answer"),
    [
        ({}, "default"),
        ({"granted": False}, "needs-approval"),
        ({"action_digest": action_digest(TOOL, {"amount": 6001})}, "needs-approval"),
        ({"action_digest": action_digest(TOOL, {"amount": Decimal("6E+3")})}, "default"),
        ({"approver": "ann"}, "needs-approval"),
        ({"approver": "agent:ann"}, "needs-approval"),
        ({"approver": "operator:ann"}, "default"),
        ({"expires_seq": 2}, "needs-approval"),
        ({"expires_seq": 3}, "default"),
    ],
)
def test_an_approval_lifts_its_rule_for_its_action(members: dict[str, Any], answer: str) -> None:
    records = [policy("p", "require_approval"), approval("a", "p", **members)]
    assert judged(records, "p a", agent="ann") == judged(records, "p a", agent="agent:ann")
    assert judged(records, "p a", agent="ann").policy == answer


def test_without_an_acting_agent_no_approver_is_refused() -> None:
    records = [policy("p", "require_approval"), approval("a", "p", approver="ann")]
    assert judged(records, "p a").policy == "default"


def test_an_approval_never_lifts_a_denial() -> None:
    assert judged([policy("p", "deny"), approval("a", "p")], "p a").policy == "deny"


def test_an_approval_lifts_what_is_unknown_too() -> None:
    digest = action_digest(TOOL, {})
    records = [policy("p", "require_approval"), approval("a", "p", action_digest=digest)]
    assert judged(records, "p a", {}).policy == "default"
    assert judged(records[:1], "p", {}).policy == "undetermined"


@pytest.mark.parametrize(
    "ending",
    [
        approval("end", "p", granted=False),
        approval("end", "p", approver="agent:ann"),
        approval("end", "p", action_digest="0" * 64, supersedes="a"),
        policy("end", "require_approval", supersedes="p"),
    ],
    ids=["revoked", "newer one void", "superseded", "rule restated"],
)
def test_a_held_approval_that_is_dead_is_a_stale_permit(ending: Record) -> None:
    records = [policy("p", "require_approval"), approval("a", "p"), ending]
    name = "end" if ending["kind"] == "policy" else "p"
    assert judged(records, "p a", agent="ann").reasons == [("dropped-superseder-stale-permit", name)]
    assert judged(records, "p a", agent="ann", delivered_ids=["p", "a"]).codes == [
        "unseen-superseder-stale-permit"
    ]
    assert judged(records, "p a end", agent="ann").codes == []


def test_the_newest_approval_decides_and_no_older_one_revives() -> None:
    records = [policy("p", "require_approval"), approval("a", "p"), approval("b", "p", expires_seq=3)]
    assert judged(records, "p a b").policy == "needs-approval"
    assert judged(
        [*records[:2], approval("b", "p", granted=False), approval("c", "p")], "p a b c"
    ).policy == ("default")


def test_an_approval_of_one_copy_leaves_the_other_binding() -> None:
    records = [policy("p", "require_approval"), policy("q", "require_approval"), approval("a", "p")]
    assert judged(records, "p q a").policy == "needs-approval"
    assert judged(records, "p a").reasons == [("dropped-input-kept-rule", "q")]
    assert judged(records, "p a", delivered_ids=["p", "a"]).reasons == [("unseen-input-kept-rule", "q")]


# ------------------------------------------------------------------------------------------------------ rules


def test_any_held_copy_of_a_rule_counts() -> None:
    same: dict[str, Any] = {"scope": [TOOL], "predicate": BIG | {"value": Decimal("5E+3")}}
    records = [policy("p", "deny"), policy("q", "deny", **same)]
    assert judged(records, "p").verdict == judged(records, "q").verdict == "PASS"
    assert judged(records, "").reasons == [("dropped-binding-constraint", "q")]


def test_true_and_one_make_two_rules() -> None:
    records = [
        policy(name, "deny", {"field": "ok", "op": "eq", "value": value})
        for name, value in (("p", True), ("q", 1))
    ]
    assert judged(records, "q", {"ok": True}).reasons == [("dropped-binding-constraint", "p")]


def test_a_permission_that_was_replaced_is_a_stale_permit() -> None:
    records = [policy("p", "allow"), policy("q", "allow", GOLD, supersedes="p")]
    assert judged(records, "p").reasons == [("dropped-superseder-stale-permit", "p")]


def test_a_chain_of_superseders_revives_nothing_even_where_they_expired() -> None:
    second = policy("q", "deny", GOLD, supersedes="p", expires_seq=3)
    records = [policy("p", "deny"), second, policy("r", "deny", {"any": []}, supersedes="q")]
    assert judged(records, "p q r") == Verdict("PASS", [], "default", [])


def test_a_record_is_live_while_the_head_is_below_its_expiry() -> None:
    records = [policy("p", "deny", expires_seq=7)]
    assert [judged(records, "", head=head).verdict for head in (1, 6, 7, 8)] == ["BLOCK"] * 2 + ["PASS"] * 2


def test_a_version_that_nobody_can_read_supersedes_nothing() -> None:
    records = [policy("p", "deny"), policy("q", "deny", version=2, supersedes="p")]
    assert judged(records, "p q").policy == "deny"
    assert judged(records, "p").reasons == [("dropped-unevaluable-record", "q")]
    assert judged(records, "p", delivered_ids=["p"]).verdict == "PASS"


@pytest.mark.parametrize(
    ("scope", "tool", "covered"),
    [
        ("pay.*", "pay.refund", True),
        ("pay.*", "pay.refund.now", True),
        ("pay.*", "pay", False),
        ("pay.*", "payments.refund", False),
        ("*", "pay", True),
        ("pay.refund", "Pay.refund", False),
        ("pay.refund", "pay.refund.now", False),
        (["notes.append", "pay.*"], "pay.void", True),
        (["notes.append"], "pay.void", False),
    ],
)
def test_a_scope_covers_names_and_what_is_below_a_namespace(scope: Any, tool: str, covered: bool) -> None:
    assert covers(policy("p", "deny", scope=scope), tool) == covered


# ------------------------------------------------------------------------------------------------------ facts


def test_a_retracted_or_expired_newest_fact_means_absent() -> None:
    rule = policy("p", "allow", GOLD)
    assert judged([rule, fact("f", "gold")], "p f").policy == "allowed-by"
    assert judged([rule, fact("f", "gold"), retraction("g")], "p f g").policy == "default"
    assert judged([rule, fact("f", "gold"), fact("g", "gold", expires_seq=3)], "p f g").policy == "default"


def test_a_value_whose_retraction_is_missing_is_stale() -> None:
    records = [policy("p", "allow", GOLD), fact("f", "gold"), retraction("g")]
    assert judged(records, "p f").reasons == [("dropped-superseder-stale-permit", "p")]


def test_a_retraction_whose_correction_is_missing_is_an_input_that_is_gone() -> None:
    records = [policy("p", "deny", GOLD), retraction("f"), fact("g", "gold")]
    assert judged(records, "p f").reasons == [("dropped-input-kept-rule", "p")]


def test_a_permission_by_absence_is_an_input_that_is_gone() -> None:
    absent = {"field": "tier", "op": "exists", "value": False, "source": "fact"}
    records = [policy("p", "allow", absent), fact("f", "gold")]
    assert judged(records, "p").reasons == [("dropped-input-kept-permit", "p")]


def test_where_a_param_shadows_the_fact_no_stale_value_is_read() -> None:
    moved = [fact("f", "go"), fact("g", "gold")]
    gone = {"id": "o", "kind": "fact", "field": "ok", "value": True}
    both = {"all": [GOLD, {"field": "ok", "op": "eq", "value": True}]}
    records = [policy("p", "deny", both), *moved, gone]
    assert judged(records, "p f").codes == ["dropped-superseder-stale-kept"]
    assert judged(records, "p f", {"tier": "gold"}).codes == ["dropped-input-kept-rule"]


def test_what_was_never_delivered_is_a_note_where_the_policy_says_so() -> None:
    records = [policy("p", "deny"), policy("q", "deny", {"all": []})]
    some = judged(records, "", delivered_ids=["q"], unseen="note")
    assert (some.reasons, some.notes) == (
        [("dropped-binding-constraint", "q")],
        [("unseen-binding-constraint", "p")],
    )
    assert judged(records, "", delivered_ids=[], unseen="note").verdict == "PASS"


def test_an_id_that_no_record_has_is_refused() -> None:
    with pytest.raises(Malformed, match="'x'"):
        judged([policy("p", "deny")], "p x")
    with pytest.raises(Malformed, match="'y'"):
        judged([policy("p", "deny")], "p", delivered_ids=["y"])


# ----------------------------------------------------------------------------------------------------- ledger

OPEN: Record = {"field": "task", "op": "eq", "value": "open", "source": "ledger", "at": "/status"}


@pytest.mark.parametrize(
    ("effect", "full", "held", "codes"),
    [
        (
            "deny",
            {"task": {"status": "open"}},
            {"task": {"status": "done"}},
            ["dropped-superseder-stale-kept"],
        ),
        ("deny", {"task": {"status": "open"}}, {}, ["dropped-input-kept-rule"]),
        ("deny", {"task": {"status": "open"}}, {"task": {"note": "none"}}, ["dropped-input-kept-rule"]),
        ("deny", {"task": {"status": "open", "n": 1}}, {"task": {"status": "open", "n": 0}}, []),
        ("allow", {"task": "open"}, {"task": {"status": "open"}}, ["dropped-superseder-stale-permit"]),
        ("allow", {}, {"task": {"status": "open"}}, ["dropped-superseder-stale-permit"]),
        ("allow", None, None, []),
    ],
)
def test_a_ledger_entry_is_a_fact_too(effect: str, full: Any, held: Any, codes: list[str]) -> None:
    sides = {"ledger_full": full, "ledger_held": held}
    assert judged([policy("p", effect, OPEN)], "p", **sides).codes == codes
    unserved = judged([policy("p", effect, OPEN)], "p", **sides, ledger_delivered=[])
    assert unserved.codes == [code.replace("dropped-", "unseen-") for code in codes]


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", {"a/b": [5, {"~": None}]}),
        ("/a~1b/0", 5),
        ("/a~1b/1/~0", None),
        ("/a~1b/2", ABSENT),
        ("/a~1b/-", ABSENT),
        ("/a~1b/00", ABSENT),
        ("/a~1b/0/x", ABSENT),
        ("/b", ABSENT),
    ],
)
def test_a_pointer_names_a_part_of_a_value(pointer: str, found: Any) -> None:
    value = at_pointer({"a/b": [5, {"~": None}]}, pointer)
    assert value is found if found is ABSENT else value == found
