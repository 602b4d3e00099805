"""What the action gate costs: a verdict, a precheck, a file; and what people would otherwise call.

All of it is computation that writes nothing, so there is nothing to be durable. Warm rows judge with rules
that are compiled, or parsed; cold ones begin at the rules in every call. Every figure is the median call.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.calls import Calls
from benchmarks.checking import Checks, Judge, compacted_board
from benchmarks.engines import ENGINES, Engine, EngineKind, load, version
from benchmarks.figures import READ, Figure, Target, costs
from benchmarks.harness import Clock, Paired, Sample, alone, median, paired, quartiles
from benchmarks.rulebook import (
    TOOL,
    Rule,
    blocked,
    document,
    passing,
    read_world,
    rules,
    world,
    written,
)
from benchmarks.run import Run, runner
from benchmarks.serving import ROOT, environment
from blackboard.canonical import encode
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.certificate import CertificateVerdict, certificate, sign_certificate
from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.judging import Verdict, judge
from blackboard.gate.actions.precheck import Tool, precheck
from blackboard.gate.actions.signing import PrivateKey, PublicKey
from blackboard.gate.actions.verifying import load_certificate
from blackboard.gate.actions.world import World
from blackboard.records.truth import TRUE

COMPUTED = "none: pure computation"
FLAT = Target(1.2, "at most")
COLD = 50
"""So many fewer calls a turn are made of what starts at the rules: each takes so much longer, about."""
FILE_SECONDS = 120
TOOLS = (Tool(TOOL),)


class Worlds(NamedTuple):
    """One holder in front of a long history, and of a short one with the same rules."""

    large: World
    small: World
    what: str


def actions(run: Run) -> Iterator[Figure]:
    """The gate alone, then beside other engines, then on a file."""
    sizes = run.sizes
    worlds = Worlds(
        world(sizes.records, sizes.rules),
        world(sizes.small_log, sizes.rules),
        f"{sizes.rules} rules in scope, history of {sizes.small_log:,} → {sizes.records:,} records",
    )
    yield from _verdicts(run, worlds)
    yield from _checks(run)
    yield from _certificates(run, worlds)
    yield from _from_the_rules(run, worlds)
    yield from _beside(run, worlds)
    yield _file(run)


# ---- the gate alone


def _verdicts(run: Run, worlds: Worlds) -> Iterator[Figure]:
    """What passes: its time, then its growth, measured once. Then what is blocked, with its reasons."""
    large, small = compile_tool(worlds.large, TOOL), compile_tool(worlds.small, TOOL)
    steps = run.sizes.steps
    for word, given in (("PASS", passing()), ("BLOCK", blocked())):
        gates = [partial(judge, one) for one in (large, small)]
        _expect(word, given, *gates)
        ours, base = (Calls(one, given, steps) for one in gates)
        pairs = paired(ours, base, run.sizes.rounds)
        what = f"a verdict ({word}), rules compiled; {worlds.what}"
        if word == "BLOCK":
            yield _growth("actions.verdict.block", what, pairs, None)
        else:
            told = _growth("actions.verdict", what, pairs, Target(50, "at most", "ours"))
            yield replace(told, detail={"p99_us": ours.p99})
            yield _growth("actions.verdict.flat", "the same, as the history grows", pairs, FLAT)


def _checks(run: Run) -> Iterator[Figure]:
    """The same verdicts through a board: the decision of a check, then all of it from message to reply."""
    sizes = run.sizes
    boards = [compacted_board(count, sizes.rules) for count in (sizes.records, sizes.small_log)]
    what = f"on a board with {sizes.small_log:,} → {sizes.records:,} records"
    ours, base = (
        Calls(judge.decide, judge.prepared(passing(), "PASS"), sizes.steps) for judge in map(Judge, boards)
    )
    pairs = paired(ours, base, sizes.rounds)
    told = f"deciding a check (PASS), {sizes.rules} rules in scope, {what}"
    figure = _growth("actions.check", told, pairs, Target(50, "at most", "ours"))
    yield replace(figure, detail={"p99_us": ours.p99})
    yield _growth("actions.check.flat", "the same, as the history grows", pairs, FLAT)
    large, small = (Checks(board, passing()) for board in boards)
    with runner() as loops:
        pairs = paired(
            lambda: loops.run(large.checks(sizes.steps)),
            lambda: loops.run(small.checks(sizes.steps)),
            sizes.rounds,
        )
    yield _growth("actions.check.gate", f"a check in memory, message to reply, {what}", pairs, None)


def _certificates(run: Run, worlds: Worlds) -> Iterator[Figure]:
    """What whoever executes a call does, without records: a certificate loaded before, then for each call."""
    key = PrivateKey.from_private_bytes(bytes(32))
    public, steps, rounds = key.public_key(), run.sizes.steps, run.sizes.rounds
    signed = [
        encode(sign_certificate(certificate(compile_tool(one, TOOL), full="", held=""), key))
        for one in (worlds.large, worlds.small)
    ]
    large, small = (load_certificate(document, public) for document in signed)
    what = f"its {len(large.body.rows)} rows of {worlds.what}"
    for word, given in (("PASS", passing()), ("BLOCK", blocked())):
        _expect(word, given, large.check, small.check)
        pairs = paired(Calls(large.check, given, steps), Calls(small.check, given, steps), rounds)
        told = f"checking a loaded certificate ({word}); {what}"
        if word == "PASS":
            yield _growth("actions.certificate", told, pairs, Target(20, "at most", "ours"))
        else:
            yield _growth("actions.certificate.block", told, pairs, None)
    ours, base = (
        Calls(partial(_load_and_check, document, public), passing(), steps // COLD) for document in signed
    )
    told = f"loading a certificate and checking it, its signature included; {what}"
    yield _growth("actions.certificate.cold", told, paired(ours, base, rounds), None)


def _load_and_check(document: bytes, public: PublicKey, action: Action) -> CertificateVerdict:
    return load_certificate(document, public).check(action)


def _from_the_rules(run: Run, worlds: Worlds) -> Iterator[Figure]:
    """What a changed view or rule costs once, and the question that no action answers."""
    large, small = worlds.large, worlds.small
    count = run.sizes.steps // COLD
    pairs = paired(
        Calls(lambda one: compile_tool(one, TOOL), [large], count),
        Calls(lambda one: compile_tool(one, TOOL), [small], count),
        run.sizes.rounds,
    )
    yield _growth("actions.compile", f"compiling the rules for one tool; {worlds.what}", pairs, FLAT)
    pairs = paired(
        Calls(lambda one: precheck(one, TOOLS), [large], count),
        Calls(lambda one: precheck(one, TOOLS), [small], count),
        run.sizes.rounds,
    )
    what = f"a precheck, compiling included; {worlds.what}"
    yield _growth("actions.precheck", what, pairs, Target(5000, "at most", "ours"))


def _growth(name: str, what: str, pairs: Paired, target: Target | None) -> Figure:
    return costs(name, what, pairs, durability=COMPUTED, base_name="the short history", target=target)


def _expect(word: str, given: list[Action], *gates: Callable[[Action], Verdict | CertificateVerdict]) -> None:
    """What is measured must be what the row says."""
    for judging in gates:
        for action in given:
            found = judging(action)
            said = found.word if isinstance(found, Verdict) else found.verdict
            if said != word:
                raise RuntimeError(f"{action} should {word}; its reasons are {found.reasons}")


# ---- beside other engines


class Subject(NamedTuple):
    """The same rules and actions for every engine, and our two sides."""

    book: list[Rule]
    given: list[Action]
    compiled: Compiled
    warm: Calls[Action]
    cold: Calls[Action]


def _beside(run: Run, worlds: Worlds) -> Iterator[Figure]:
    """Each engine that is installed, warm and cold. Another question, the same rules and actions."""
    book, given, steps = rules(run.sizes.rules), passing(), run.sizes.steps
    compiled = compile_tool(worlds.large, TOOL)
    subject = Subject(
        book,
        given,
        compiled,
        warm=Calls(partial(judge, compiled), given, steps),
        cold=Calls(partial(_from_text, written(book)), given, steps // COLD),
    )
    for kind in ENGINES:
        yield from _engine(run, subject, kind)


def _engine(run: Run, subject: Subject, kind: EngineKind) -> Iterator[Figure]:
    what = f"{len(subject.book)} rules, the same action"
    rows = [
        (f"actions.{kind.NAME}", f"a verdict, rules compiled; {what}", subject.warm),
        (f"actions.{kind.NAME}.cold", f"from the rules to a verdict; {what}", subject.cold),
    ]
    module = load(kind)
    if module is None:
        yield from (_alone(run, name, told, ours, kind) for name, told, ours in rows)
        return
    engine = kind(module, subject.book)
    _agree(engine, subject)
    count = run.sizes.steps // COLD
    theirs = [
        Calls(lambda action: engine.answer(action.params), subject.given, 10 * count),
        Calls(lambda action: kind(module, subject.book).answer(action.params), subject.given, count),
    ]
    base = (
        f"{kind.PACKAGE} {version(kind)}, which answers another question: do the rules allow it? {kind.CALL}"
    )
    for (name, told, ours), other in zip(rows, theirs, strict=True):
        pairs = paired(ours, other, run.sizes.rounds)
        yield costs(name, told, pairs, durability=COMPUTED, base_name=base, target=None)


def _from_text(records: list[bytes], action: Action) -> Verdict:
    """From the text of the rules to the verdict of somebody who holds them all."""
    return judge(compile_tool(read_world(records), TOOL), action)


def _agree(engine: Engine, subject: Subject) -> None:
    """Raise unless the engine finds the same rules true of every action; approvals are none of its matter."""
    allow = {rule.id for rule in subject.book if rule.effect == "allow"}
    for action in [*subject.given, *blocked()]:
        rows = subject.compiled.rows
        ours = {row.id for row in rows if row.truths(action.params, "")[0] == TRUE}
        expected = (ours - allow or ours) if engine.DECIDING_ONLY else ours
        found = engine.true_of(action.params)
        if found != expected:
            raise RuntimeError(
                f"{engine.NAME} finds {sorted(found)} true of {action}, not {sorted(expected)}"
            )


def _alone(run: Run, name: str, what: str, ours: Calls[Action], kind: EngineKind) -> Figure:
    """Our side only, saying why."""
    missing = f"{kind.PACKAGE} is not installed (./scripts/bench installs it): nothing to hold it against"
    found = alone(ours, run.sizes.rounds)
    low, high = quartiles([one.cost * 1e6 for one in found])
    return Figure(
        name=name,
        what=f"{what}; {missing}",
        unit="µs",
        durability=COMPUTED,
        ours=median([one.cost * 1e6 for one in found]),
        low=low,
        high=high,
        rounds=len(found),
    )


# ---- on a file


def _file(run: Run) -> Figure:
    """`blackboard gate`, the whole process: the interpreter, the reading, the verdict, the report."""
    sizes = run.sizes
    large, small = (_write(run, count) for count in (sizes.records, sizes.small_log))
    pairs = paired(partial(_gate, large), partial(_gate, small), max(sizes.rounds // 2, 1))
    seconds = [one.seconds for one in pairs.ours]
    low, high = quartiles(seconds)
    return Figure(
        name="actions.file",
        what=f"`blackboard gate` on a file of {sizes.records:,} records, the whole process",
        unit="s",
        durability=READ,
        ours=median(seconds),
        low=low,
        high=high,
        target=Target(1.0, "at most", "ours"),
        rounds=len(seconds),
        detail={
            "cpu_s": median([one.cpu for one in pairs.ours]),
            f"of_{sizes.small_log}_records_s": median([one.seconds for one in pairs.base]),
            "file_mib": large.stat().st_size / 2**20,
        },
    )


def _write(run: Run, count: int) -> Path:
    path = run.place / f"records-{count}.json"
    path.write_bytes(document(count, run.sizes.rules, passing()[:1]))
    return path


def _gate(path: Path) -> Sample:
    command = [sys.executable, "-m", "blackboard", "gate", str(path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Clock() as clock:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=FILE_SECONDS,
        )
    if done.returncode != 0 or "PASS" not in done.stdout:
        raise RuntimeError(f"`blackboard gate` exits {done.returncode}: {done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Sample(1, clock.seconds, used)
