"""The page on PostgreSQL runs word by word, from no database to a restore; and what it names exists."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from blackboard import config
from blackboard.config import Settings
from blackboard.service import Metrics
from tests.docs.pages import ROOT, Block, blocks, page
from tests.docs.running import Ran, run
from tests.docs.tables import names, rows, sections
from tests.faults.serving import free_port
from tests.postgres.binaries import find_binaries
from tests.postgres.cluster import Cluster, own_cluster

PAGE = "docs/postgresql.md"
UNIT = ROOT / "docs" / "examples" / "blackboard.service"
SERVE = "blackboard serve --host 0.0.0.0 --behind-proxy\n"
TWO_HOSTS = ("a.example:8377", "b.example:8377")


# ---- word by word


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as running:
        yield running


@pytest.fixture
def ports() -> list[int]:
    return [free_port(), free_port()]


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """The reader's shell: a home of its own, PostgreSQL's programs, and who its superuser is."""
    known = tmp_path / "home" / ".pgpass"
    known.parent.mkdir()
    known.touch(0o600)
    known.write_text(f"127.0.0.1:{cluster.port}:*:postgres:{cluster.password}\n", encoding="utf-8")
    server = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "PGUSER": "postgres"}
    paths = os.pathsep.join([environment["PATH"].split(":")[0], str(find_binaries()), os.environ["PATH"]])
    without_port = {name: value for name, value in environment.items() if name != "BLACKBOARD_PORT"}
    home = {"HOME": str(known.parent), "PATH": paths}
    return without_port | server | home


@contextlib.contextmanager
def served(found: list[Block], shell: dict[str, str], ports: list[int], place: Path) -> Iterator[None]:
    """What the page starts on each machine, after what it has said before that: a machine is a home."""
    with contextlib.ExitStack() as stack:
        for number, port in enumerate(ports):
            machine = place / f"machine-{number}"
            machine.mkdir()
            said = machine / "said"
            own = shell | {"XDG_STATE_HOME": str(machine), "BLACKBOARD_PORT": str(port)}
            stack.enter_context(_running("".join(block.text for block in found), own, machine, said))
        yield


@contextlib.contextmanager
def _running(script: str, environment: dict[str, str], place: Path, said: Path) -> Iterator[None]:
    with said.open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", script.replace("blackboard serve", "exec blackboard serve")],
            env=environment,
            cwd=place,
            stderr=log,
        )
    try:
        while "ready at" not in said.read_text(encoding="utf-8"):
            assert process.poll() is None, said.read_text(encoding="utf-8")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        yield
    finally:
        process.terminate()
        assert process.wait(30) == 0, said.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_page_on_postgresql_runs_word_by_word(
    cluster: Cluster, shell: dict[str, str], ports: list[int], tmp_path: Path
) -> None:
    text = page(PAGE).replace("db.example:5432", f"127.0.0.1:{cluster.port}")
    for host, port in zip(TWO_HOSTS, ports, strict=True):
        text = text.replace(host, f"127.0.0.1:{port}")
    found = [block for block in blocks(text) if block.language == "sh"]
    serving = [block.text for block in found].index(SERVE)
    before, after = found[:serving], found[serving + 1 :]
    first = run([*before, keep("password")], shell, tmp_path, seconds=120)
    assert not re.search("^(warn|fail)", first.out, re.MULTILINE)
    assert "ok    PostgreSQL" in first.out
    assert "acknowledgement: fsync=on, synchronous_commit=on" in first.out
    password = first.said[-1].strip()
    url = next(block for block in before if block.text.count("BLACKBOARD_DB="))
    exported = Block("sh", "".join(line for line in url.text.splitlines(True) if "export" in line), None)
    user = {name: value for name, value in shell.items() if not name.startswith("PG")}
    with served([exported, Block("sh", SERVE, None)], user, ports, tmp_path):
        ran = run([exported, *after], shell, tmp_path, seconds=120)
    check(ran, password, tmp_path)


def keep(variable: str) -> Block:
    """Shows what the page has set."""
    return Block("sh", f'echo "${variable}"\n', None)


def check(ran: Ran, password: str, place: Path) -> None:
    assert '{"status":"failed"}' in ran.out
    assert re.search(r"executor +entry.written", ran.out)
    assert "every digest, hash and seq fits" in ran.out
    assert "the same boards, to the last event" in ran.out
    said = [path.read_text(encoding="utf-8") for path in place.glob("machine-*/said")]
    assert len(said) == 2
    assert all("token create" in text for text in said), "beyond loopback no token is made"
    everything = "".join([ran.out, ran.err, *said])
    assert "postgresql://blackboard@" in everything
    assert len(password) == 48
    assert password not in everything
    written = [path for path in place.rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
    assert [path.name for path in written] == [".pgpass"]


# ---- what it names


def test_every_message_of_the_page_is_one_that_is_said() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "blackboard" / "store").rglob("*.py")]
    said = re.sub(r'"\s*\n\s*f?"', "", "".join(sources))
    told = rows(sections(page(PAGE))["When something is wrong"])[1:]
    assert len(told) > 10
    for cells in told:
        for message in names(cells[0]):
            assert message in said, message


def test_every_metric_of_the_page_is_exported() -> None:
    told = {name for cells in rows(sections(page(PAGE))["Watch"])[1:] for name in names(cells[0])}
    assert {name.removeprefix("blackboard_").removesuffix("_total") for name in told} <= set(
        Metrics.__slots__
    )


def test_every_setting_of_connections_on_the_page_exists() -> None:
    told = rows(sections(page(PAGE))["Connections and time limits"])[1:]
    assert {name for cells in told for name in names(cells[0])} <= set(Settings.__struct_fields__)
    defaults = Settings()
    assert f"{defaults.write_connections + defaults.read_connections + 1} by default" in page(PAGE)


def test_the_settings_file_of_the_page_is_one() -> None:
    (shown,) = [block for block in blocks(page(PAGE)) if block.language == "toml"]
    assert config.parse_file(shown.text) == tomllib.loads(shown.text)


# ---- the unit


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign] # what its documentation says to do
    parser.read(UNIT, encoding="utf-8")
    return parser


def values(key: str) -> list[str]:
    """All values of a key of [Service], which may stand there several times."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_unit_waits_longer_than_the_server_does() -> None:
    assert int(unit()["Service"]["TimeoutStopSec"]) > Settings().shutdown_seconds


def test_the_unit_starts_the_server_and_hears_that_it_is_ready() -> None:
    service = unit()["Service"]
    assert re.fullmatch(r"/\S+/blackboard serve", service["ExecStart"])
    assert (service["Type"], service["NotifyAccess"]) == ("notify", "main")
    assert (service["DynamicUser"], service["StateDirectoryMode"]) == ("yes", "0700")


def test_the_unit_names_settings_that_exist_and_no_password() -> None:
    told = dict(value.split("=", 1) for value in values("Environment"))
    known = {config.PREFIX + name.upper() for name in Settings.__struct_fields__} | set(
        config.COMMAND_VARIABLES
    )
    assert told
    assert set(told) <= known
    assert "BLACKBOARD_DB" not in told
    (credential,) = values("LoadCredential")
    name, _, source = credential.partition(":")
    assert told["BLACKBOARD_CONFIG"] == f"%d/{name}"
    assert source in page(PAGE)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Where there is no systemd, the unit has at least its three sections."""
    assert unit().sections() == ["Unit", "Service", "Install"]
    verify = shutil.which("systemd-analyze")
    if verify is None:
        return
    copy = tmp_path / UNIT.name
    installed = unit()["Service"]["ExecStart"].split()[0]
    copy.write_text(UNIT.read_text(encoding="utf-8").replace(installed, sys.executable), encoding="utf-8")
    ran = subprocess.run(
        [verify, "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
