"""Values for laws: JSON, identifiers, event bodies."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.events import kinds
from blackboard.events.policy import Policy, PolicyPatch, merge
from blackboard.records.verdict import Answer, Note, Reason

SAFE = 2**53 - 1

names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)
seqs = st.integers(1, SAFE)
revisions = st.integers(1, SAFE)
confidences = st.floats(0, 1).map(lambda value: value + 0.0)  # -0.0 is written as 0
hexes = st.binary(min_size=32, max_size=32).map(bytes.hex)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    | st.floats(-1e6, 1e6).map(lambda value: value + 0.0)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
raws = values.map(lambda value: msgspec.Raw(canonical.encode(value)))
bases = st.none() | st.dictionaries(names, st.integers(0, SAFE), min_size=1, max_size=3)

policies = st.sampled_from(
    [
        Policy(),
        merge(Policy(), PolicyPatch(revisions="advisory", broadcast=False, coordinator="planner")),
        merge(Policy(), PolicyPatch(demotion="read-only", completion_window=3, finished=("ready", "sent"))),
        merge(Policy(), PolicyPatch(signals={"read-elision": "suspect", "write-breadth": "off"})),
    ]
)
ranges = st.none() | st.builds(
    kinds.KeyRange, after=st.none() | names, through=st.none() | names, prefix=names | st.just("")
)
violations = st.builds(
    kinds.Violation,
    code=st.sampled_from(["revision-reused", "unseen-revision"]),
    key=st.none() | names,
    detail=texts,
    evidence=st.dictionaries(names, st.integers(0, 99) | names, max_size=3),
)
attempts = st.builds(
    kinds.AttemptedWrite,
    key=names,
    revision=st.none() | revisions,
    payload_hash=st.none() | hexes,
    status=st.none() | names,
    confidence=st.none() | confidences,
    deleted=st.booleans(),
    basis=bases,
    replayed=st.booleans(),
)
proposed = st.builds(
    kinds.ProposedWrite,
    key=names,
    revision=revisions,
    value=raws,
    held=st.none() | st.integers(0, 99),
    confidence=st.none() | confidences,
    deleted=st.booleans(),
    basis=bases,
)

written = st.builds(
    kinds.EntryWritten,
    payload_hash=hexes,
    value=raws,
    asserted=st.none() | revisions,
    basis=bases,
    confidence=st.none() | confidences,
    deleted=st.booleans(),
)
reads = st.builds(
    kinds.BoardRead,
    keys=st.dictionaries(names, st.integers(0, SAFE), max_size=4),
    range=ranges,
    head=st.none() | seqs,
    page=st.none() | st.integers(1, 99),
    served=st.integers(0, 1000),
    records=st.lists(names, max_size=2),
    proposals=st.lists(names, max_size=2),
)
sizes = st.none() | st.integers(0, SAFE)
tokens = st.builds(kinds.Tokens, before=sizes, after=sizes, window=sizes).filter(
    lambda found: found != kinds.Tokens()  # a body without any size has no tokens
)

bodies: st.SearchStrategy[kinds.EventBody] = st.one_of(
    written,
    reads,
    st.builds(kinds.BoardOpened, name=names, policy=policies, format=st.just(1)),
    st.builds(kinds.BoardPolicyChanged, policy=policies),
    st.builds(kinds.BoardFormatRaised, format=st.integers(1, 9)),
    st.builds(
        kinds.BoardModeChanged,
        mode=st.sampled_from(["open", "single-writer"]),
        coordinator=st.none() | names,
        why=texts,
    ),
    st.builds(kinds.AgentJoined, agent=names, prefix=texts),
    st.builds(
        kinds.WriteRejected,
        code=st.just("unseen-revision"),
        rules=st.lists(violations, min_size=1, max_size=2),
        writes=st.lists(attempts, min_size=1, max_size=2),
        remedy=st.none() | st.builds(kinds.Remedy, detail=texts, keys=st.lists(names, max_size=2)),
        proposal=st.none() | names,
        restate=st.booleans(),
    ),
    st.builds(
        kinds.AgentCompacted,
        agents=st.lists(names, min_size=1, max_size=2),
        base_seq=st.integers(0, SAFE),
        cause=st.sampled_from(["summary", "clear", "unknown"]),
        kept=st.none() | st.lists(names, max_size=2),
        tokens=st.none() | tokens,
    ),
    st.builds(
        kinds.MessagePosted,
        text=texts,
        recipients=st.lists(names, max_size=2),
        cited=st.lists(names, max_size=2),
        about=st.none() | st.just("key"),
        reply_to=st.none() | st.integers(1, SAFE),
    ),
    st.builds(kinds.WriteProposed, writes=st.lists(proposed, min_size=1, max_size=2), reason=texts),
    st.builds(kinds.ProposalAccepted, proposal=names, restate=st.booleans()),
    st.builds(kinds.ProposalRefused, proposal=names, reason=texts),
    st.just(kinds.TurnEnded()),
    st.builds(kinds.RecordAdded, record=raws),
    st.builds(
        kinds.ActionChecked,
        tool=names,
        params=raws,
        verdict=st.sampled_from(["PASS", "BLOCK"]),
        head=seqs,
        policy=st.builds(
            Answer, answer=st.sampled_from(["deny", "default"]), rules=st.lists(names, max_size=2)
        ),
        digest=hexes,
        basis=bases,
        allow_unevaluable=st.booleans(),
        reasons=st.lists(
            st.builds(Reason, code=names, id=names, detail=texts, missing=st.lists(names, max_size=2)),
            max_size=2,
        ),
        notes=st.lists(st.builds(Note, code=names, detail=texts, id=st.none() | names), max_size=2),
        records=st.lists(names, max_size=2),
    ),
    st.builds(
        kinds.CertificateIssued,
        agent=names,
        tool=names,
        as_of=seqs,
        view=seqs,
        clock=seqs,
        digest=hexes,
        full=hexes,
        held=hexes,
        language=st.just(1),
        valid_until_seq=st.none() | seqs,
    ),
    st.builds(
        kinds.SignalRaised,
        signal=names,
        agent=names,
        effect=st.sampled_from(["flag", "suspect"]),
        evidence=st.lists(seqs, max_size=3),
        numbers=st.dictionaries(names, st.integers(0, 99) | st.just(2.5), max_size=2),
        key=st.none() | names,
    ),
)
