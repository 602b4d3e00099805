"""What a message cites: only identifiers that exist on the board, in the forms that agents use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.events import kinds
from blackboard.projections.ledger import Entry, Ledger
from tests.pure.driver import World, write


@pytest.fixture
def cited(world: World) -> World:
    """`task/B` at revisions 1 and 3 (entries 2 and 3), `gone` deleted (entries 4 and 5)."""
    agent = world.agent("a")
    agent.writes("task/B", 1, {"status": "failed"})
    agent.writes("task/B", 3, {"status": "retry"})
    agent.writes("gone", 1, "x")
    agent.deletes("gone", 2)
    return world


def citations(world: World, text: str) -> list[str]:
    return world.agent("a").says(text).cited


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see entry:2", ["entry:2"]),
        ("B failed (entry:3), retry pending.", ["entry:3"]),
        ("an overwritten one: entry:2; a signal: entry:4", ["entry:2"]),
        ("the tombstone entry:6", ["entry:6"]),
        ("an invented entry:9999", []),
        ("entry:", []),
        ("entry:x", []),
        ("entry:1", []),
        ("entry 2", []),
        ("task/B@1", ["task/B@1"]),
        ("task/B@3!", ["task/B@3"]),
        ("task/B@2 is between", ["task/B@2"]),
        ("task/B@4", []),
        ("task/B@0", []),
        ("task/B@", []),
        ("@3", []),
        ("task/C@1", []),
        ("gone@2", ["gone@2"]),
        ("task/B is at revision 3", ["revision 3"]),
        ("revision 2 of task/B", ["revision 2"]),
        ("Revision 3: task/B", ["revision 3"]),
        ("task/B, revision 4", []),
        ("task/B, revision 0", []),
        ("task/B, revision three", []),
        ("revision 1 of task/C", []),
        ("task/B revision", []),
        ("revision", []),
        ("task/B failed", []),
        ("entry:2, then task/B@1 and entry:2 again", ["entry:2", "task/B@1"]),
        ("", []),
    ],
)
def test_only_what_exists_is_cited(cited: World, text: str, found: list[str]) -> None:
    assert citations(cited, text or "x") == found


def test_a_live_payload_hash_is_cited_by_its_first_eight_digits_or_more(cited: World) -> None:
    digits = cited.bodies(kinds.EntryWritten)[1].payload_hash
    for text in (digits, digits[:8], digits[:8].upper(), f"({digits[:20]})"):
        assert citations(cited, f"hash {text}") == [text.strip("()")]
    wrong = digits[:8] + ("0" if digits[8] != "0" else "1")
    for text in (digits[:7], digits + "0", wrong, "0" * 8):
        assert citations(cited, f"hash {text}") == []


def test_a_superseded_or_deleted_payload_is_not_live(cited: World) -> None:
    superseded, _, deleted, tombstone = (body.payload_hash for body in cited.bodies(kinds.EntryWritten))
    for digits in (superseded, deleted, tombstone):
        assert citations(cited, digits) == []
    # The index exists now; later writes keep it.
    agent = cited.agent("a")
    agent.writes("task/B", 4, "open")
    agent.deletes("task/B", 5)
    agent.writes("new", 1, "x")
    before_last, last, new = (body.payload_hash for body in cited.bodies(kinds.EntryWritten)[-3:])
    assert [citations(cited, digits) for digits in (before_last, last, new)] == [[], [], [new]]


def test_at_most_256_citations_are_recorded(world: World) -> None:
    agent = world.agent("a")
    agent.writes_many(*(write(f"k{number}", 1) for number in range(300)))
    assert len(citations(world, " ".join(f"k{number}@1" for number in range(300)))) == 256


def test_the_event_holds_what_the_server_found(cited: World) -> None:
    citations(cited, "see entry:2 and entry:9999")
    body = cited.last(kinds.MessagePosted)
    assert (body.cited, body.about) == (["entry:2"], None)


tokens = st.one_of(
    st.integers(0, 9).map(lambda seq: f"entry:{seq}"),
    st.builds(
        lambda key, number: f"{key}@{number}", st.sampled_from(["a", "b@c", "d", "x"]), st.integers(0, 4)
    ),
    st.sampled_from(["hello", "a", "done", "@", "entry:a", "a@", "deadbeef"]),
)
marks = st.sampled_from(["", ".", ",", "!", ":", "..."])


@given(
    st.lists(st.tuples(tokens, marks), min_size=1, max_size=8), st.sampled_from([" ", "  ", "\n", " (", "; "])
)
def test_a_message_cites_the_words_in_it_that_exist(words: list[tuple[str, str]], between: str) -> None:
    world = World()
    agent = world.agent("z")
    agent.writes("a", 1)
    agent.writes_many(write("a", 2), write("b@c", 3))
    agent.says("no entry")
    agent.deletes("d", 1)
    revisions = {"a": 2, "b@c": 3, "d": 1}
    existing = {f"entry:{entry.seq}" for entry in world.board.moves}
    existing |= {f"{key}@{n}" for key, last in revisions.items() for n in range(1, last + 1)}
    text = between.join(word + mark for word, mark in words)
    expected = [*dict.fromkeys(word for word, _ in words if word in existing)]
    assert agent.says(text).cited == expected
    assert world.last(kinds.MessagePosted).about == (
        None
        if expected
        else "key"
        if any(word in ("a", "d") for word, _ in words)
        else "status"
        if any(word == "done" for word, _ in words)
        else None
    )


def test_a_hash_is_still_cited_after_one_that_began_alike_is_gone() -> None:
    ledger = Ledger()
    assert not ledger.hashed("01020304")
    one, other = (bytes([1, 2, 3, 4]) + bytes([number]) * 28 for number in range(2))
    ledger.put(Entry("a", b"1", 1, "x", 1, one, 1, 1))
    ledger.put(Entry("b", b"1", 1, "x", 2, other, 2, 2))
    ledger.put(Entry("b", b"null", 2, "x", 3, other, 2, 2, deleted=True))
    assert (ledger.hashed(one.hex()), ledger.hashed(other.hex())) == (True, False)
    ledger.put(Entry("a", b"null", 2, "x", 4, one, 1, 2, deleted=True))
    assert not ledger.hashed("01020304")


hashes = st.integers(0, 3).map(lambda number: bytes([1, 2, 3, 4]) + bytes([number]) * 28)


@given(st.lists(st.tuples(st.sampled_from("abc"), hashes, st.booleans()), max_size=12), st.integers(0, 12))
def test_hashes_that_begin_alike_are_told_apart_whenever_the_index_is_made(
    puts: list[tuple[str, bytes, bool]], asked_at: int
) -> None:
    ledger, live = Ledger(), {}
    for seq, (key, digest, deleted) in enumerate(puts, 1):
        if seq == asked_at:
            ledger.hashed("01020304")
        ledger.put(Entry(key, b"1", seq, "a", seq, digest, seq, seq, deleted))
        live[key] = None if deleted else digest
    for number in range(4):
        digest = bytes([1, 2, 3, 4]) + bytes([number]) * 28
        assert ledger.hashed(digest.hex()) == (digest in live.values())
    assert ledger.hashed("01020304") == any(live.values())
    assert not ledger.hashed("ffffffff")


@given(st.lists(st.tuples(st.sampled_from(["a", "ab", "b"]), st.booleans()), max_size=12), st.integers(0, 12))
def test_live_keys_are_counted_as_they_come_and_go(puts: list[tuple[str, bool]], asked_at: int) -> None:
    ledger = Ledger()
    for seq, (key, deleted) in enumerate(puts, 1):
        if seq == asked_at:
            ledger.live_under("a")
        ledger.put(Entry(key, b"1", seq, "a", seq, b"", seq, seq, deleted))
    live = {key for key, entry in ledger.entries.items() if not entry.deleted}
    assert ledger.live == ledger.live_under("") == len(live)
    assert ledger.live_under("a") == sum(key.startswith("a") for key in live)
    assert [entry.key for entry in ledger.under("a")] == sorted(k for k in ledger.entries if k[0] == "a")
    assert [seq for seq in range(40) if ledger.wrote(seq)] == list(range(1, len(puts) + 1))
    assert Ledger(ledger.entries, ledger.written).live == len(live)
