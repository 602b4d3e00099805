"""What holds of the repository itself: its metadata, pins, documents and set-up agree with each other."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import blackboard

ROOT = Path(__file__).resolve().parent.parent
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
GROUPS = ["bench", "build", "lint", "runtime", "test"]
TEXT = {
    ".cfg",
    ".css",
    ".html",
    ".in",
    ".ini",
    ".js",
    ".json",
    ".jsonl",
    ".md",
    ".py",
    ".sh",
    ".toml",
    ".txt",
    ".yaml",
    "",
}


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.suffix in TEXT and path.is_file()]


def pins(path: Path) -> dict[str, str]:
    """Name -> version; the markers of a line are not part of its pin."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            requirement = Requirement(line.removesuffix("\\").strip())
            found[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return found


def entries(path: Path) -> Iterator[str]:
    """The requirements of a file, each with its continuation lines."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def documents() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.md"))


def links(path: Path) -> set[Path]:
    """The files that the relative links of a document point at."""
    targets = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", path.read_text(encoding="utf-8"))
    return {(path.parent / target).resolve() for target in targets}


# -- pins


def test_the_groups_are_pinned() -> None:
    assert [path.stem for path in PINNED] == GROUPS


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_requirement_is_pinned_with_hashes_and_nothing_else_is_in_the_file(path: Path) -> None:
    for entry in entries(path):
        assert re.match(r"[a-z0-9-]+(\[[a-z]+\])?==[\w.]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        assert not re.search(r"://|(?<!-)--(?!hash=)", entry), entry


def test_all_groups_are_one_resolution() -> None:
    seen: dict[str, str] = {}
    for path in PINNED:
        for name, version in pins(path).items():
            assert seen.setdefault(name, version) == version, f"{name} is pinned twice"


def test_the_test_pins_hold_the_runtime_pins() -> None:
    test, runtime = pins(ROOT / "requirements/test.txt"), pins(ROOT / "requirements/runtime.txt")
    assert runtime.items() <= test.items()


def test_the_pinned_releases_are_within_the_ranges_that_the_package_declares() -> None:
    runtime = pins(ROOT / "requirements/runtime.txt")
    for line in project()["project"]["dependencies"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(runtime[canonicalize_name(requirement.name)]), line


def test_the_runtime_inputs_are_the_declared_dependencies() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in project()["project"]["dependencies"]}
    inputs = {canonicalize_name(Requirement(line).name) for line in entries(ROOT / "requirements/runtime.in")}
    assert inputs == declared


def test_the_build_back_end_is_the_pinned_one() -> None:
    (required,) = project()["build-system"]["requires"]
    requirement = Requirement(required)
    assert str(requirement.specifier) == f"=={pins(ROOT / 'requirements/build.txt')[requirement.name]}"


def test_every_runtime_dependency_has_a_reason_in_a_decision_record() -> None:
    records = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/decisions").glob("*.md"))
    for line in project()["project"]["dependencies"]:
        name = Requirement(line).name
        assert re.search(rf"^\| `{re.escape(name)}` \| .{{20,}} \|$", records, re.MULTILINE), (
            f"no reason for {name}"
        )


# -- what no file says


def test_no_tracked_file_names_a_registry() -> None:
    registry = re.compile(
        r"pypi\.(?:org|io)|pythonhosted|registry\.npmjs|--(?:extra-)?index-url\b|--find-links\b"
    )
    for path in tracked_files():
        if path != Path(__file__).resolve():
            assert not registry.search(path.read_text(encoding="utf-8")), path


def test_no_tracked_file_names_a_place_on_somebodys_machine() -> None:
    place = re.compile(r"(?<![\w.:/-])/(?:home|root|Users|work|mnt)/\w")
    for path in tracked_files():
        if path != Path(__file__).resolve():
            found = place.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path}: {found}"


# -- documents


def test_the_index_lists_every_document() -> None:
    index = ROOT / "docs/README.md"
    assert {path for path in documents() if path != index} <= links(index)


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("*.md")), *documents()], ids=lambda path: path.name)
def test_relative_links_lead_somewhere(path: Path) -> None:
    assert [str(target) for target in links(path) if not target.exists()] == []


def test_the_version_is_one() -> None:
    assert blackboard.__version__ == project()["project"]["version"]


def test_the_version_is_the_newest_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[([^\]]+)\]", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == blackboard.__version__


# -- public names


def test_public_names_are_sorted_and_every_one_resolves() -> None:
    assert blackboard.__all__ == sorted(blackboard.__all__)
    for name in blackboard.__all__:
        assert getattr(blackboard, name) is not None
    assert set(blackboard.__all__) <= set(dir(blackboard))


def test_public_names_are_those_that_the_type_checker_sees() -> None:
    tree = ast.parse((ROOT / "blackboard/__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(homes) == blackboard.__all__
    assert homes == {
        name: vars(blackboard)["_HOMES"].get(name, "blackboard.errors") for name in blackboard.__all__
    }


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = blackboard.nothing  # type: ignore[attr-defined]  # what is refused


def test_importing_the_package_loads_no_dependency() -> None:
    code = "import sys, blackboard; print({'msgspec', 'sqlalchemy', 'aiohttp', 'asyncio'} & {*sys.modules})"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "set()"


# -- set-up


def test_the_pure_packages_may_call_nothing_that_ruff_bans_there() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    (pure,) = (contract["source_modules"] for contract in contracts if contract["id"] == "pure")
    excused = " ".join(
        pattern
        for pattern, rules in project()["tool"]["ruff"]["lint"]["per-file-ignores"].items()
        if "TID251" in rules
    )
    for module in pure:
        assert not re.search(rf"\b{module.removeprefix('blackboard.')}\b", excused), module


@pytest.mark.parametrize(
    "name", ["scripts/bench", "scripts/blackboard", "scripts/lint", "scripts/lock", "scripts/test"]
)
def test_scripts_can_be_run_and_parse(name: str) -> None:
    path = ROOT / name
    assert path.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", str(path)], check=True)


@pytest.mark.parametrize("named", ["/bin/false", "no-such-python", "no such python"])
def test_an_interpreter_that_is_named_and_does_not_fit_is_not_passed_over(tmp_path: Path, named: str) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "_setup.sh").symlink_to(ROOT / "scripts" / "_setup.sh")
    code = f'root="{tmp_path}"; . "$root/scripts/_setup.sh"; set_up runtime'
    environment = {"PATH": os.environ["PATH"], "BLACKBOARD_PYTHON": named}
    done = subprocess.run(["sh", "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"BLACKBOARD_PYTHON names '{named}'" in done.stderr
    assert not (tmp_path / ".venv").exists()


# -- the first example


def test_the_first_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"^```(?:python)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (printed, "")
