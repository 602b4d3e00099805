"""Every example that a page shows is run by a test; the few that none can run are listed with the reason."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from blackboard import action_digest, config
from blackboard.service.signing import load_or_make
from tests.docs.conftest import SERVE
from tests.docs.pages import PAGES, ROOT, Block, blocks, of_language, page
from tests.docs.running import run

GATE = "docs/reference/gate.md"

RUN = {
    "README.md": {"python"},
    "docs/action-gate.md": {"python"},
    "docs/auditing.md": {"sh", "python"},  # test_auditing
    "docs/operations.md": {"sh"},
    "docs/postgresql.md": {"sh", "toml"},  # test_postgresql
    "docs/quickstart.md": {"sh", "python"},  # test_quickstart
    "docs/reference/cli.md": {"sh"},
    "docs/reference/client.md": {"python"},  # tests/client/test_reference
    "docs/reference/errors.md": {"python"},
    "docs/reference/gate.md": {"sh", "json"},
    "docs/reference/http.md": {"sh"},  # test_http
    "docs/reference/policy.md": {"sh"},
    "docs/reference/settings.md": {"toml"},
}
"""The languages of a page whose blocks a test runs, all of them."""

SHOWN = {
    "README.md": {"sh"},  # the demo has suites of its own, and the other command is this suite
    "docs/install.md": {"sh"},  # it makes environments, from a registry
    "docs/postgresql.md": {"nginx"},
    "docs/performance.md": {"console"},  # twelve minutes; tests/benchmarks run every part of it
}
"""The languages of a page whose blocks nothing here can run."""


def test_every_example_is_run_or_known_not_to_be() -> None:
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}
    languages = {name: {block.language for block in blocks(text)} for name, text in found.items()}
    assert {name: told for name, told in languages.items() if told} == {
        name: RUN.get(name, set()) | SHOWN.get(name, set()) for name in RUN | SHOWN
    }


# ---- Python


def run_python(code: str, directory: Path) -> str:
    """What a program prints that runs without fault."""
    key = directory / "signing.key"
    load_or_make(key)  # a new key is told of
    ran = subprocess.run(
        [sys.executable, "-"],
        input=code,
        cwd=directory,
        env=os.environ | {"BLACKBOARD_SIGNING_KEY": str(key)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("name", ["README.md", "docs/reference/errors.md"])
def test_python_on_a_page_runs_and_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    for block in of_language(name, "python"):
        assert run_python(textwrap.dedent(block.text), tmp_path) == block.output


@pytest.mark.parametrize("name", ["docs/action-gate.md"])
def test_python_that_goes_on_over_a_page_runs_and_prints_what_the_page_says(
    name: str, tmp_path: Path
) -> None:
    """Blocks that build on those before them are one program, with a mark behind each."""
    found = of_language(name, "python")
    mark = "print('==')\n"
    said = run_python(mark.join([*(block.text for block in found), ""]), tmp_path)
    assert said.split("==\n") == [*(block.output or "" for block in found), ""]


# ---- the command


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """The whole file that the page shows."""
    place = tmp_path / "case.json"
    place.write_text(of_language(GATE, "json")[0].text, encoding="utf-8")
    return place


@pytest.mark.usefixtures("case")
@pytest.mark.parametrize("name", [GATE, "docs/reference/cli.md"])
def test_what_a_page_shows_of_files_runs_and_prints_what_the_page_says(
    name: str, environment: dict[str, str], tmp_path: Path
) -> None:
    found = of_language(name, "sh")
    assert found
    ran = run(found, environment, tmp_path)
    assert ran.said == ran.promised


def test_the_approval_that_is_shown_approves_that_action_and_no_other(
    case: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    _, shown = of_language(GATE, "json")
    approval, whole = json.loads(shown.text), json.loads(case.read_text(encoding="utf-8"))
    assert approval["action_digest"] == action_digest("refunds.create", {"amount": 8400})
    whole["records"].append(approval)
    whole["actions"] = [
        {"tool": "refunds.create", "params": {"amount": amount}} for amount in (8400, 8400.0, 8401)
    ]
    case.write_text(json.dumps(whole), encoding="utf-8")
    gate = Block("sh", "blackboard gate --json case.json || true\n", None)
    results = json.loads(run([gate], environment, tmp_path).out)["results"]
    assert [(one["verdict"], one["policy"]) for one in results] == [
        ("PASS", "default"),
        ("PASS", "default"),
        ("BLOCK", "needs-approval"),
    ]


@pytest.mark.usefixtures("server")
def test_what_the_page_on_policies_shows_runs(environment: dict[str, str], tmp_path: Path) -> None:
    opened = Block("sh", "blackboard board open release-42\n", None)
    ran = run([opened, *of_language("docs/reference/policy.md", "sh")], environment, tmp_path)
    assert "policy changed" in ran.err


def test_what_the_page_on_operations_shows_runs_in_the_state_directory(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """With the server stopped; what starts one is left out, and SQLite's own shell may be missing."""
    state = tmp_path / "state" / "blackboard"
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    shell = bin_dir / "sqlite3"
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[-2], isolation_level=None).execute(sys.argv[-1])"
    shell.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
    shell.chmod(stat.S_IRWXU)
    environment |= {"PATH": f"{bin_dir}{os.pathsep}{environment['PATH']}"}
    state.mkdir(parents=True, mode=0o700)
    made = Block("sh", "blackboard board open release-42 --db blackboard.db --operator ops\n", None)
    found = [block for block in of_language("docs/operations.md", "sh") if block.text != SERVE]
    run([made, *found], environment, state)
    assert (state / "copy.db").exists()


# ---- settings


def test_the_settings_file_that_is_shown_is_one() -> None:
    for block in of_language("docs/reference/settings.md", "toml"):
        assert config.parse_file(block.text) == tomllib.loads(block.text)
    assert page("docs/reference/settings.md").count("```toml") == 1
