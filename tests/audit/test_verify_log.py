"""The independent verifier: it shares no code with the project, and comes to the same."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.audit import merkle
from blackboard.audit.checkpoint import signed
from blackboard.audit.note import base64_text
from blackboard.audit.proof import Consistency, Inclusion
from blackboard.events.envelope import Row
from tests.audit.logs import chained, changed, checkpoint_of, forged, incident, line_of, root_of, seqs_of
from tests.audit.test_note import PRIVATE

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "verify_log.py"
LOG = incident().rows


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("verify_log", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = loaded()


def test_it_needs_nothing_but_the_standard_library() -> None:
    found = set()
    for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    assert {name.partition(".")[0] for name in found} <= sys.stdlib_module_names
    ran = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, "--help"], capture_output=True, text=True, check=True
    )
    assert "The signature under a checkpoint is NOT checked" in ran.stdout


# ---- the same bytes, the same tree

texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer() or abs(x) > 1e21)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_canonical_json_is_that_of_rfc_8785(value: Any) -> None:
    assert script.canonical(value).encode() == canonical.encode(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (123e-7, "0.0000123"),
     (1e-7, "1e-7"), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"), (-1.5, "-1.5"),
     (100.0, "100")],
)  # fmt: skip
def test_numbers_are_written_as_ecmascript_does(value: float, text: str) -> None:
    assert script.number(value) == text


def test_both_verifiers_agree_on_every_proof_and_on_none_that_is_damaged() -> None:
    leaves = [bytes([n]) for n in range(33)]
    roots = [merkle.EMPTY]
    for size in range(1, len(leaves) + 1):
        tree = script.Root()
        for leaf in leaves[:size]:
            tree.add(leaf)
        roots.append(tree.value())
        own = merkle.Tree()
        own.extend(leaves[:size])
        assert tree.value() == own.root()
        for index in range(size):
            proof = merkle.prove(merkle.inclusion_spans(index, size), leaves[:size])
            for wrong in ([], [*proof, bytes(32)], proof[1:], [bytes(32), *proof[1:]], proof):
                same = merkle.included(leaves[index], index, size, wrong, roots[size])
                assert script.included(leaves[index], index, size, wrong, roots[size]) == same
        for first in range(size + 1):
            proof = merkle.prove(merkle.consistency_spans(first, size), leaves[:size])
            for wrong in ([], [*proof, bytes(32)], proof[1:], [bytes(32), *proof[1:]], proof):
                same = merkle.consistent(first, roots[first], size, roots[size], wrong)
                assert script.grown(first, size, wrong, roots[first], roots[size]) == same
    assert not script.included(b"", 1, 1, [], roots[1])
    assert not script.grown(2, 1, [], roots[2], roots[1])


# ---- logs


def run(*arguments: str | Path, stdin: str = "") -> tuple[int, str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    ran = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, encoding="utf-8")
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout + ran.stderr


def written(rows: Sequence[Row], *, printed: bool = False) -> str:
    return "".join(f"{line_of(row, printed=printed)}\n" for row in rows)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    place = tmp_path / "checkpoint"
    place.write_text(signed(checkpoint_of(LOG[:20]), PRIVATE), encoding="utf-8")
    return place


@pytest.mark.parametrize("printed", [False, True])
def test_a_log_as_it_is_served_or_printed_verifies(tmp_path: Path, kept: Path, printed: bool) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(written(LOG, printed=printed), encoding="utf-8")
    said = (
        f"board release-42: {len(LOG)} events\nhash {LOG[-1].hash.hex()}\nroot {base64_text(root_of(LOG))}\n"
    )
    assert run("log", log, "--checkpoint", kept) == (0, said)
    assert run("log", "-", stdin=log.read_text(encoding="utf-8")) == (0, said)


def say(seq: int) -> list[Row]:
    return forged(LOG, seq, body='{"text":"well done"}')


SAID, *_ = seqs_of(LOG, "message.posted")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([changed(row, kind="x") if row.seq == 5 else row for row in LOG], "event 5: its hash does not fit"),
        (
            [row._replace(body="{}") if row.seq == 5 else row for row in LOG],
            "event 5: its body is not the one",
        ),
        ([row._replace(salt=None) if row.seq == 5 else row for row in LOG], "event 5: of body and salt"),
        ([*LOG[:4], *LOG[5:]], "event 5 of board 'release-42' is missing"),
        ([*LOG[:4], LOG[5], LOG[4], *LOG[6:]], "event 5 of board 'release-42' is missing"),
        (chained([*LOG[:4], *LOG[5:]]), "events 1 to 20 are not those of the checkpoint"),
        (say(SAID), "events 1 to 20 are not those of the checkpoint"),
        (LOG[:19], "a checkpoint has size 20, and the log ends with event 19"),
        (chained([row._replace(board="other") for row in LOG]), "the log is of board 'other'"),
    ],
)
def test_what_does_not_fit_ends_with_5_and_is_named(kept: Path, rows: list[Row], why: str) -> None:
    code, said = run("log", "-", "--checkpoint", kept, stdin=written(rows))
    assert (code, why in said) == (5, True), said


def test_a_body_that_is_gone_is_counted() -> None:
    rows = [row._replace(body=None, salt=None) if row.seq == SAID else row for row in LOG]
    code, said = run("log", "-", stdin=written(rows))
    assert code == 0
    assert "1 without a body, which no hash misses" in said


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", '{"seq":NaN}', "{}", "[" * 100_000, '{"board":"b","board":"b"}',
     line_of(LOG[0]).replace('"seq":1', '"seq":true'), line_of(LOG[0]).replace(LOG[0].hash.hex(), "zz")],
)  # fmt: skip
def test_what_is_no_log_ends_with_2(line: str) -> None:
    assert run("log", "-", stdin=line)[0] == 2


@pytest.mark.parametrize("value", ['"\\ud800"', "1" + "0" * 400, "[" * 500 + "]" * 500])
def test_a_body_that_no_board_stores_ends_with_5(value: str) -> None:
    line = json.loads(line_of(LOG[0])) | {"body": 0}
    text = json.dumps(line).replace('"body": 0', f'"body": {value}')
    assert run("log", "-", stdin=text)[0] == 5


@pytest.mark.parametrize(
    "text",
    ["", "a\nb\n\nc", "example.com/log\n1\nx\n\n", "blackboard/x\n01\nx\n\n", "blackboard/x\n1\nx\n\n"],
)
def test_what_is_no_checkpoint_ends_with_2(tmp_path: Path, text: str) -> None:
    place = tmp_path / "checkpoint"
    place.write_text(text, encoding="utf-8")
    assert run("log", "-", "--checkpoint", place, stdin=written(LOG))[0] == 2
    assert run("log", "-", "--checkpoint", tmp_path / "none", stdin=written(LOG))[0] == 2


# ---- proofs


def test_an_event_is_verified_by_its_proof_alone_and_no_other_is(tmp_path: Path) -> None:
    seq, proof, event = SAID, tmp_path / "proof", tmp_path / "event.json"
    hashes = merkle.prove(merkle.inclusion_spans(seq - 1, len(LOG)), [row.hash for row in LOG])
    note = signed(checkpoint_of(LOG), PRIVATE)
    proof.write_text(Inclusion(seq - 1, LOG[seq - 2].hash, hashes, note).text(), encoding="utf-8")
    event.write_text(line_of(LOG[seq - 1]), encoding="utf-8")
    assert run("event", event, "--proof", proof) == (0, f"board release-42: event {SAID} of {len(LOG)}\n")
    event.write_text(line_of(LOG[seq]), encoding="utf-8")
    assert run("event", event, "--proof", proof)[0] == 5
    event.write_text(line_of(LOG[seq - 1]).replace("complete", "on hold"), encoding="utf-8")
    assert run("event", event, "--proof", proof)[0] == 5
    event.write_text(line_of(LOG[seq - 1]._replace(body=None, salt=None)), encoding="utf-8")
    assert "its body is gone" in run("event", event, "--proof", proof)[1]
    event.write_text(line_of(LOG[seq - 1]), encoding="utf-8")
    proof.write_text(Inclusion(seq - 1, LOG[seq - 2].hash, hashes[::-1], note).text(), encoding="utf-8")
    assert "is not in the log of the checkpoint" in run("event", event, "--proof", proof)[1]
    assert run("growth", "--proof", proof, "--since", proof)[0] == 2


def test_growth_is_verified_by_its_proof_alone(tmp_path: Path, kept: Path) -> None:
    proof = tmp_path / "proof"
    hashes = merkle.prove(merkle.consistency_spans(20, len(LOG)), [row.hash for row in LOG])
    note = signed(checkpoint_of(LOG), PRIVATE)
    proof.write_text(Consistency(20, hashes, note).text(), encoding="utf-8")
    said = f"board release-42: 20 events, then {len(LOG)}\n"
    assert run("growth", "--proof", proof, "--since", kept) == (0, said)
    assert run("event", proof, "--proof", proof)[0] == 2
    kept.write_text(signed(checkpoint_of(say(SAID)[:20]), PRIVATE), encoding="utf-8")
    assert "does not go on from the one of 20" in run("growth", "--proof", proof, "--since", kept)[1]
    kept.write_text(signed(checkpoint_of(LOG[:19]), PRIVATE), encoding="utf-8")
    assert "another earlier checkpoint" in run("growth", "--proof", proof, "--since", kept)[1]
    proof.write_text("old 20\n", encoding="utf-8")
    assert run("growth", "--proof", proof, "--since", kept)[0] == 2
