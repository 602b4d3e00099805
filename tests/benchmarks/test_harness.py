"""The benchmarks run, at sizes that measure nothing: pairs, figures, reports, and every benchmark once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import logs, report
from benchmarks.catalog import BENCHMARKS
from benchmarks.figures import FULL, Figure, Target, costs, rates
from benchmarks.harness import Paired, Sample, paired
from benchmarks.machine import facts, workplace
from benchmarks.run import Run
from benchmarks.sizes import TINY
from benchmarks.writers import Writers
from blackboard.events.envelope import verify_row

TARGETED = {
    "storage": {"storage.single", "storage.group64"},
    "embedded": {"embedded.1"},
    "http": {"http.2", "http.3", "http.1x16"},
    "replay": {"replay.plain", "replay.verifying"},
    "growth": {
        "growth.log.gate",
        "growth.keys.gate",
        "growth.agents.gate",
        "growth.cycle.gate",
        "growth.all.embedded",
    },
    "opening": {"opening.mean", "opening.worst"},
    "memory": {"memory.entry", "memory.restored", "memory.views", "memory.idle"},
    "actions": {
        "actions.verdict",
        "actions.verdict.flat",
        "actions.check",
        "actions.check.flat",
        "actions.certificate",
        "actions.compile",
        "actions.precheck",
        "actions.file",
    },
    "postgres": {
        "postgres.http.3",
        "postgres.http.2",
        "postgres.notify",
        "postgres.hot.2.fair",
        "postgres.storage.single",
        "postgres.storage.group64",
        "postgres.replay.plain",
        "postgres.replay.verifying",
        "postgres.opening.mean",
        "postgres.opening.worst",
    },
}
PROCESSES = {"http", "opening", "memory", "actions", "postgres"}
"""Those that start processes of their own, which takes its time."""


def sides(*seconds: float) -> list[Sample]:
    return [Sample(10, one, one) for one in seconds]


def figure(**members: Any) -> Figure:
    given: dict[str, Any] = {
        "name": "a.b",
        "what": "it",
        "unit": "events/s",
        "durability": FULL,
        "ours": 12.0,
    }
    return Figure(**(given | members))


# -- pairs


def test_sides_take_turns_and_the_first_pair_only_warms_up() -> None:
    order: list[str] = []

    def turn(name: str) -> Sample:
        order.append(name)
        return Sample(1, 1.0, 1.0)

    taken = paired(lambda: turn("ours"), lambda: turn("base"), 2)
    assert order == ["base", "ours", "ours", "base", "base", "ours"]
    assert (len(taken.ours), len(taken.base)) == (2, 2)


def test_a_ratio_is_the_median_of_the_pairs() -> None:
    pairs = Paired(sides(1, 2, 4), sides(1, 1, 1))
    found = rates("a.b", "it", "events/s", pairs, durability=FULL, base_name="raw", target=Target(0.5))
    assert (found.ratio, found.ours, found.base, found.rounds) == (0.5, 5, 10, 3)
    assert (found.low, found.high) == (0.375, 0.75)


def test_a_cost_that_doubles_has_the_ratio_two() -> None:
    pairs = Paired(sides(2), sides(1))
    found = costs("a.b", "it", pairs, durability=FULL, base_name="small", target=Target(1.2, "at most"))
    assert found.ratio == 2
    assert found.met is False


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target(10, of="ours"), True),
        (Target(13, of="ours"), False),
        (Target(13, "at most", "ours"), True),
        (None, None),
    ],
)
def test_a_target_is_met_or_missed_and_what_has_none_is_neither(
    target: Target | None, met: bool | None
) -> None:
    assert figure(target=target).met is met


# -- logs


def test_a_built_log_is_chained_and_has_what_was_asked_for() -> None:
    spec = logs.Spec(writes=70, keys=10, agents=3, readers=2)
    rows = [row for built in logs.build(spec) for row in built.rows]
    previous = bytes(32)
    for row in rows:
        assert verify_row(row, previous)
        previous = row.hash
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    board, tip = logs.fold(spec)
    assert (board.head, tip.seq, len(board.ledger.entries)) == (len(rows), len(rows), 10)


@pytest.mark.parametrize("spec", [logs.Spec(0, 6, 3), logs.Spec(17, 6, 3), logs.Spec(4, 6, 2)])
def test_writers_go_on_at_the_next_revision_of_keys_of_their_own(spec: logs.Spec) -> None:
    board, _ = logs.fold(spec)
    known = {entry.key: entry.revision for entry in board.ledger.entries.values()}
    writers = Writers(spec)
    for _ in range(40):
        one = writers.next()
        assert one.revision == known.get(one.key, 0) + 1
        assert int(one.key.rpartition("/")[2]) % spec.agents == one.agent
        known[one.key] = one.revision


# -- reports


def test_a_missed_target_is_marked_and_durability_stands_beside_every_figure(tmp_path: Path) -> None:
    shown = [
        figure(target=Target(13, of="ours")),
        figure(name="c.d", ratio=0.5, base=24.0, low=0.4, high=0.6),
    ]
    machine = facts(tmp_path)
    for form in (report.table, report.markdown):
        text = form(shown, machine)
        assert text.count("MISSED") == 1
        assert text.count(" full") >= 2
        assert str(machine["sqlite"]) in text
    read = json.loads(report.as_json(shown, machine))
    assert [one["met"] for one in read["figures"]] == [False, None]


def test_what_is_not_there_is_named_and_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["speed"]) == 2
    assert "there are storage, embedded" in capsys.readouterr().err


@pytest.mark.parametrize("more", ["--quick", "storage"])
def test_the_document_is_never_updated_with_less_than_everything(
    more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--update", more]) == 2
    assert "--update stands alone" in capsys.readouterr().err


def test_a_benchmark_that_fails_does_not_keep_others_from_running(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_run: Run) -> Any:
        raise RuntimeError("no disk")

    monkeypatch.setattr(command, "BENCHMARKS", {"broken": broken, "whole": lambda _run: iter([figure()])})
    assert command.main(["--json"]) == 2
    told = capsys.readouterr()
    assert "no disk" in told.err
    assert json.loads(told.out)["figures"][0]["name"] == "a.b"


def test_the_place_of_the_files_is_gone_afterwards(tmp_path: Path) -> None:
    with workplace(tmp_path) as place:
        (place / "a.db").write_bytes(b"x")
    assert list(tmp_path.iterdir()) == []


def test_what_was_measured_replaces_what_stood_in_the_document(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text(command.DOCUMENT.read_text(encoding="utf-8"), encoding="utf-8")
    for table in ("| one |", "| two |"):
        command.update(document, table)
    text = document.read_text(encoding="utf-8")
    assert "| two |" in text
    assert "| one |" not in text
    assert text.startswith("# Performance")
    assert text.count(command.END) == 1


# -- every benchmark


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in PROCESSES else name for name in BENCHMARKS],
)
def test_every_benchmark_measures_its_rows(name: str, tmp_path: Path) -> None:
    found = list(BENCHMARKS[name](Run(TINY, tmp_path, quiet=True)))
    assert {one.name for one in found if one.target is not None} == TARGETED[name]
    # The resident set of boards this small may come out below zero: the allocator gave back more elsewhere.
    assert all((one.ours >= 0 or name == "memory") and one.durability for one in found)
