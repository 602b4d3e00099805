"""The encoding of every event kind, for ever: one golden file for each (kind, version).

A file of a version that is no longer the newest stays, and must still decode (through its upcasters).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Raw

from blackboard import canonical
from blackboard.errors import FormatTooLow
from blackboard.events import kinds
from blackboard.events.envelope import GENESIS, Command, Draft, Row, encode_body, seal
from blackboard.events.policy import Policy, PolicyPatch, merge
from blackboard.events.upcast import decode_body
from blackboard.events.vocabulary import VOCABULARY
from blackboard.records.verdict import Answer, Held, Input, Note, Reason
from tests.pure.golden import GOLDEN, held

WRITTEN = sorted({pair for written in VOCABULARY.values() for pair in written.items()})
"""Every (kind, version) that any board format writes."""

COMMAND = Command("agent:executor", "01900000-0000-7000-8000-000000000001", b'{"body":{}}', 7)
SALT = bytes(range(16))

_rejected = kinds.WriteRejected(
    code="revision-not-advancing",
    rules=[
        kinds.Violation(
            code="revision-not-advancing",
            key="task/B",
            detail="'task/B' is at revision 3",
            evidence={"asserted": 3, "current": 3, "writer": "planner", "seq": 41},
        )
    ],
    writes=[
        kinds.AttemptedWrite(
            key="task/B",
            revision=3,
            payload_hash="ab" * 32,
            status="complete",
            confidence=0.9,
            basis={"task/A": 2},
        ),
        kinds.AttemptedWrite(key="task/A", revision=2, payload_hash="cd" * 32, replayed=True),
        kinds.AttemptedWrite(key="task/C", revision=1, payload_hash="ef" * 32, deleted=True),
    ],
    remedy=kinds.Remedy(detail="read these keys", keys=["task/B"], more=2, call="read_many"),
    proposal="proposal:40",
    restate=True,
)

EXAMPLES: dict[str, list[kinds.EventBody]] = {
    "board.opened": [
        kinds.BoardOpened(name="release-42", policy=Policy(), format=1),
        kinds.BoardOpened(
            name="r", policy=merge(Policy(), PolicyPatch(coordinator="planner", finished=("ok",))), format=1
        ),
    ],
    "board.policy-changed": [kinds.BoardPolicyChanged(policy=merge(Policy(), PolicyPatch(demotion="off")))],
    "board.format-raised": [kinds.BoardFormatRaised(format=1)],
    "board.mode-changed": [
        kinds.BoardModeChanged(mode="open"),
        kinds.BoardModeChanged(mode="single-writer", coordinator="planner", why="quiet night"),
    ],
    "agent.joined": [kinds.AgentJoined(agent="executor"), kinds.AgentJoined(agent="é", prefix="task/")],
    "entry.written": [
        kinds.EntryWritten(payload_hash="ab" * 32, value=Raw(b'{"status":"failed"}')),
        kinds.EntryWritten(payload_hash="ab" * 32, value=Raw(b"null"), deleted=True),
        kinds.EntryWritten(
            payload_hash="ab" * 32,
            value=Raw('"\u20ac 1e21"'.encode()),
            asserted=2,
            basis={"task/A": 0, "task/B": 3},
            confidence=0.25,
        ),
    ],
    "write.rejected": [
        kinds.WriteRejected(
            code="revision-missing",
            rules=[kinds.Violation(code="revision-missing", key="k")],
            writes=[kinds.AttemptedWrite(key="k")],
        ),
        _rejected,
    ],
    "board.read": [
        kinds.BoardRead(keys={"task/B": 3, "task/A": 0}),
        kinds.BoardRead(keys={"\U0001f600": 1, "\uffee": 2}),
        kinds.BoardRead(
            range=kinds.KeyRange(after="task/A", through="task/C", prefix="task/"), head=40, page=2, served=2
        ),
        kinds.BoardRead(range=kinds.KeyRange(), head=0, page=1),
        kinds.BoardRead(proposals=["proposal:40"]),
        kinds.BoardRead(records=["p-1", "record:12"]),
        kinds.BoardRead(records=["record:12"], head=40, page=2),
    ],
    "agent.compacted": [
        kinds.AgentCompacted(agents=["executor"], base_seq=40),
        kinds.AgentCompacted(
            agents=["executor", "verifier"],
            base_seq=0,
            cause="summary",
            declared_by="operator",
            kept=["r1"],
            unknown=["r2"],
            lost=["r3"],
            notify="impossible",
            summary_digest="d1",
            tokens=kinds.Tokens(before=9000, after=800),
        ),
        kinds.AgentCompacted(
            agents=["executor"], base_seq=40, tokens=kinds.Tokens(before=9000, after=800, window=16_000)
        ),
        kinds.AgentCompacted(agents=["executor"], base_seq=41, tokens=kinds.Tokens(window=16_000)),
    ],
    "message.posted": [
        kinds.MessagePosted(text="B failed, see entry:41", cited=["entry:41"]),
        kinds.MessagePosted(text="the tasks are done", recipients=["planner"], about="status"),
        kinds.MessagePosted(text="no, B failed", reply_to=44),
    ],
    "write.proposed": [
        kinds.WriteProposed(
            writes=[
                kinds.ProposedWrite(key="k", revision=2, value=Raw(b"1")),
                kinds.ProposedWrite(
                    key="j",
                    revision=1,
                    value=Raw(b"null"),
                    held=0,
                    confidence=1.0,
                    deleted=True,
                    basis={"k": 1},
                ),
            ],
            reason="the network is back",
        )
    ],
    "proposal.accepted": [
        kinds.ProposalAccepted(proposal="proposal:40"),
        kinds.ProposalAccepted(proposal="proposal:40", repeats={"k": 2}, restate=True),
    ],
    "proposal.refused": [
        kinds.ProposalRefused(proposal="proposal:40"),
        kinds.ProposalRefused(proposal="proposal:40", reason="nobody has answered yet"),
    ],
    "turn.ended": [kinds.TurnEnded()],
    "record.added": [
        kinds.RecordAdded(record=Raw(b'{"id":"record:12","kind":"chatter","text":"hello"}')),
        kinds.RecordAdded(
            record=Raw(
                b'{"effect":"deny","id":"p-1","kind":"policy","predicate":'
                b'{"field":"amount","op":"gt","value":19.99},"scope":"refunds.*"}'
            )
        ),
    ],
    "action.checked": [
        kinds.ActionChecked(
            tool="notes.append",
            params=Raw(b"{}"),
            verdict="PASS",
            head=40,
            policy=Answer(answer="default"),
            digest="ab" * 32,
        ),
        kinds.ActionChecked(
            tool="refunds.create",
            params=Raw(b'{"amount":8400}'),
            verdict="BLOCK",
            head=40,
            policy=Answer(answer="deny", rules=["p-1"]),
            digest="cd" * 32,
            basis={"task/A": 3},
            allow_unevaluable=True,
            reasons=[
                Reason(
                    code="dropped-binding-constraint",
                    id="p-1",
                    detail="policy 'p-1' (deny) is not held any more and binds this call",
                    effect="deny",
                    predicate="amount gt 5000",
                    full="TRUE",
                    inputs=[
                        Input(
                            field="amount",
                            source="fact",
                            held=Held(id="f-1", seq=3, value="120"),
                            missing=Held(id="f-2", seq=9, value="8400", revision=2, supersedes="f-1"),
                        )
                    ],
                    missing=["p-1"],
                    reread=["p-1"],
                    keys=["task/A"],
                )
            ],
            notes=[
                Note(code="dropped as chatter", detail="3"),
                Note(code="permissive", detail="a", id="p-2"),
            ],
            records=["p-1"],
        ),
    ],
    "certificate.issued": [
        kinds.CertificateIssued(
            agent="executor",
            tool="refunds.create",
            as_of=40,
            view=38,
            clock=0,
            digest="ef" * 32,
            full="ab" * 32,
            held="cd" * 32,
            language=1,
        ),
        kinds.CertificateIssued(
            agent="executor",
            tool="refunds.create",
            as_of=40,
            view=38,
            clock=31,
            digest="ef" * 32,
            full="ab" * 32,
            held="cd" * 32,
            language=1,
            valid_until_seq=90,
        ),
    ],
    "signal.raised": [
        kinds.SignalRaised(signal="revision-break", agent="executor", effect="flag"),
        kinds.SignalRaised(
            signal="write-breadth",
            agent="executor",
            effect="suspect",
            evidence=[41, 44],
            numbers={"baseline": 4.5, "breadth": 1},
            key="k",
        ),
    ],
}


def written_in(kind: str, version: int) -> int:
    """The newest board format that writes this version of the kind."""
    return max(found for found, written in VOCABULARY.items() if written.get(kind) == version)


def sealed(body: kinds.EventBody, board_format: int) -> Row:
    """The body as the row of a board of this format."""
    draft = Draft(body, "k", 3) if body.KIND == "entry.written" else Draft(body)
    now = 1_700_000_000_000_000
    rows, _ = seal("release-42", GENESIS, COMMAND, [draft], salts=[SALT], now=now, board_format=board_format)
    return rows[0]


def can_say(body: kinds.EventBody, board_format: int) -> bool:
    """Whether a board of this format has words for the body."""
    try:
        sealed(body, board_format)
    except FormatTooLow:
        return False
    return True


def rendered(kind: str, version: int) -> str:
    """Each example with the digests that chain it; stored is the RFC 8785 text of the body."""
    examples = []
    for body in EXAMPLES[kind]:
        if not can_say(body, written_in(kind, version)):
            continue
        row = sealed(body, written_in(kind, version))
        assert (row.kind, row.version) == (kind, version)
        assert row.body is not None
        examples.append(
            {"body": json.loads(row.body), "body_digest": row.body_digest.hex(), "hash": row.hash.hex()}
        )
    found = {"kind": kind, "version": version, "examples": examples}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(("kind", "version"), WRITTEN, ids=str)
def test_every_kind_is_encoded_as_its_golden_file_says(kind: str, version: int) -> None:
    assert kind in EXAMPLES, f"add examples of {kind} here, then make its golden file"
    held(f"events/{kind}.v{version}.json", rendered(kind, version))


@pytest.mark.parametrize("path", sorted((GOLDEN / "events").glob("*.json")), ids=lambda path: path.stem)
def test_every_golden_event_still_decodes(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    for example in golden["examples"]:
        text = canonical.encode(example["body"])
        body = decode_body(golden["kind"], golden["version"], text.decode())
        assert not isinstance(body, kinds.Opaque)
        assert golden["kind"] == body.KIND
        assert canonical.body_digest(SALT, text).hex() == example["body_digest"]
        if (golden["kind"], golden["version"]) in kinds.KINDS:
            assert encode_body(body) == text
        assert sealed(body, written_in(golden["kind"], golden["version"])).hash.hex() == example["hash"]


def test_no_golden_file_is_of_a_kind_that_was_never_known() -> None:
    known = {kind for kind, _ in kinds.KINDS}
    assert {path.name.rpartition(".v")[0] for path in (GOLDEN / "events").glob("*.json")} == known


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_examples_use_every_member_of_their_kind(kind: str) -> None:
    (body_type,) = (body for (name, _), body in kinds.KINDS.items() if name == kind)
    for name in body_type.__struct_fields__:
        default = body_type.__struct_defaults__
        optional = dict(zip(body_type.__struct_fields__[-len(default) :], default, strict=False))
        used = [getattr(body, name) for body in EXAMPLES[kind]]
        if name in optional and isinstance(optional[name], str | int | float | bool | type(None)):
            assert any(value != optional[name] for value in used), f"no example of {kind} uses {name}"
