"""`blackboard gate` as a process: the same bytes everywhere, standard input, and pipes that break."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import COMMAND

HERE = Path(__file__).resolve().parents[1] / "fixtures" / "gate"
ROOT = HERE.parents[2]
SEVEN = sorted(path.name for path in HERE.glob("fx?_*.json") if path.name != "fx5_variants.json")
MANNERS: tuple[list[str], ...] = (
    [],
    ["--json"],
    ["--precheck"],
    ["--retention", "recency", "--allow-unevaluable"],
)


def gate(
    *argv: str, python: str = sys.executable, cwd: Path = HERE, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [python, *COMMAND[1:], "gate", *argv],
        input=stdin,
        capture_output=True,
        timeout=60,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        check=False,
    )


def pythons() -> list[str]:
    """Other interpreters of this machine that have what the command needs, and this one."""
    found = {sys.executable}
    for name in ("python3.11", "python3.12", "python3.13", "python3.14"):
        path = shutil.which(name)
        probe = "import click, msgspec, rfc8785, blackboard.gate.actions.examine"
        if path is not None and _runs(path, probe):
            found.add(path)
    return sorted(found)


def _runs(python: str, code: str) -> bool:
    done = subprocess.run([python, "-c", code], capture_output=True, cwd=ROOT, timeout=60, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("manner", MANNERS, ids=" ".join)
def test_two_runs_are_byte_identical_under_any_hash_seed(manner: list[str]) -> None:
    outs = [gate(*manner, *SEVEN, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")]
    assert {(out.returncode, out.stdout) for out in outs} == {(1, outs[0].stdout)}
    assert not any(out.stderr for out in outs)


@pytest.mark.parametrize("python", pythons())
def test_every_python_prints_the_golden_bytes(python: str) -> None:
    golden = HERE.parents[1] / "golden" / "gate"
    assert gate(*SEVEN, python=python).stdout == (golden / "sweep.txt").read_bytes()
    assert gate("--json", *SEVEN, python=python).stdout == (golden / "sweep.json").read_bytes()


@pytest.mark.parametrize("manner", MANNERS, ids=" ".join)
def test_the_order_of_records_and_members_in_a_file_changes_no_byte(
    tmp_path: Path, manner: list[str]
) -> None:
    chance = random.Random(7)
    names = [name for name in SEVEN if not name.startswith("fx5")]
    for name in names:
        content = json.loads((HERE / name).read_text(encoding="utf-8"))
        for listed in ("records", "kept"):
            chance.shuffle(content[listed])
        mixed = turned(content)
        (tmp_path / name).write_text(json.dumps(mixed, indent=chance.choice([None, 3])), encoding="utf-8")
    assert gate(*manner, *names, cwd=tmp_path).stdout == gate(*manner, *names).stdout


def turned(value: Any) -> Any:
    """The same value with the members of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SEVEN)
def test_every_report_ends_with_the_digest_of_its_own_body(name: str) -> None:
    out = gate(name).stdout
    body, last = out[:-65], out[-65:]
    assert last == sha256(body).hexdigest().encode() + b"\n"


def test_in_a_sweep_a_file_has_the_report_that_it_has_alone() -> None:
    alone = b"\n".join(gate(name).stdout for name in SEVEN)
    assert gate(*SEVEN).stdout == alone + b"\n2 PASS, 4 BLOCK, 1 ERROR -> overall exit 1\n"


def test_the_locale_changes_no_byte(tmp_path: Path) -> None:
    content = json.loads((HERE / SEVEN[0]).read_text(encoding="utf-8"))
    content["name"] = "Rückerstattung – 返金"
    (tmp_path / "case.json").write_text(json.dumps(content), encoding="utf-8")
    outs = {
        gate("case.json", cwd=tmp_path, LC_ALL=name, PYTHONIOENCODING=coding, PYTHONUTF8="0").stdout
        for name, coding in [("C", "ascii"), ("C.UTF-8", "utf-8"), ("POSIX", "latin-1")]
    }
    assert len(outs) == 1
    assert "Rückerstattung – 返金".encode() in outs.pop()


def test_a_dash_is_standard_input() -> None:
    raw = (HERE / SEVEN[0]).read_bytes()
    ran = gate("-", stdin=raw)
    assert (ran.returncode, ran.stderr) == (1, b"")
    named = gate(SEVEN[0]).stdout.replace(SEVEN[0].encode(), b"-").splitlines()
    assert ran.stdout.splitlines()[:-1] == named[:-1]
    assert gate("-", stdin=b"").returncode == 2
    assert gate("-", SEVEN[2], stdin=raw).stdout.splitlines()[-1].endswith(b"overall exit 1")


def test_a_reader_that_went_away_is_no_verdict() -> None:
    """An exit code of 1 would read as BLOCK, 0 as PASS."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(
        [*COMMAND, "gate", *SEVEN],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=HERE,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (2, b"")


def test_a_report_that_cannot_be_written_is_no_verdict() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*COMMAND, "gate", SEVEN[2]],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=HERE,
            timeout=60,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
    assert ran.returncode == 2
    assert b"Traceback" not in ran.stderr
    assert b"could not be written" in ran.stderr


def test_nothing_heavy_is_loaded_for_a_file() -> None:
    code = (
        "import sys; from blackboard.cli.app import run; run(['gate', sys.argv[1]]); "
        "heavy = {'asyncio', 'sqlalchemy', 'aiohttp', 'starlette', 'uvicorn', 'cryptography'}; "
        "print(heavy & {*sys.modules} or '')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(HERE / SEVEN[2])], capture_output=True, cwd=ROOT, check=True
    )
    assert ran.stdout.splitlines()[-1] == b""
