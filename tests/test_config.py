"""Settings: flags > environment > blackboard.toml > defaults, and nothing unknown passes."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard import config
from blackboard.config import Settings, load
from blackboard.errors import Malformed

FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


def test_without_anything_the_defaults_hold_and_every_place_is_absolute(tmp_path: Path) -> None:
    settings = load({}, {"HOME": str(tmp_path)}, cwd=tmp_path)
    assert settings.state_dir == str(tmp_path / ".local/state/blackboard")
    assert settings.db == f"sqlite:///{tmp_path}/.local/state/blackboard/blackboard.db"
    assert msgspec.structs.replace(settings, state_dir=None, db=None) == Settings()


def test_flags_go_before_environment_before_file_before_defaults(tmp_path: Path) -> None:
    (tmp_path / "blackboard.toml").write_text("port = 1\nfollowers = 1\nlive_boards = 1\n")
    environ = {"HOME": str(tmp_path), "BLACKBOARD_PORT": "2", "BLACKBOARD_FOLLOWERS": "2"}
    settings = load({"port": 3, "followers": None}, environ, cwd=tmp_path)
    assert (settings.port, settings.followers, settings.live_boards) == (3, 2, 1)
    assert settings.pending_commands == Settings().pending_commands


def test_a_named_file_replaces_the_one_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "blackboard.toml").write_text("port = 1\n")
    (tmp_path / "other.toml").write_text("port = 2\n")
    assert load({}, {}, cwd=tmp_path, file="other.toml").port == 2
    assert load({}, {"BLACKBOARD_CONFIG": str(tmp_path / "other.toml")}, cwd=tmp_path).port == 2


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match=r"none\.toml cannot be read"):
        load({}, {}, cwd=tmp_path, file="none.toml")


@pytest.mark.parametrize(
    ("environ", "text", "flags", "named"),
    [
        ({"BLACKBOARD_PROT": "1"}, "", {}, "'BLACKBOARD_PROT'; did you mean 'BLACKBOARD_PORT'"),
        ({"BLACKBOARD_port": "1"}, "", {}, "'BLACKBOARD_port'; did you mean 'BLACKBOARD_PORT'"),
        ({}, "durabilty = 'normal'", {}, "'durabilty'; did you mean 'durability'"),
        ({}, "[server]\nport = 1", {}, "'server'"),
        ({}, "", {"prot": 1}, "'prot'; did you mean 'port'"),
    ],
)
def test_an_unknown_key_is_refused_by_its_name(
    tmp_path: Path, environ: dict[str, str], text: str, flags: dict[str, Any], named: str
) -> None:
    (tmp_path / "blackboard.toml").write_text(text)
    with pytest.raises(Malformed, match=named):
        load(flags, environ, cwd=tmp_path)


@pytest.mark.parametrize(
    ("environ", "text", "named"),
    [
        ({"BLACKBOARD_PORT": "many"}, "", "BLACKBOARD_PORT cannot be 'many'"),
        ({"BLACKBOARD_PORT": "65536"}, "", "0 to 65535"),
        ({"BLACKBOARD_DURABILITY": "some"}, "", "BLACKBOARD_DURABILITY cannot be 'some'"),
        ({"BLACKBOARD_FOLLOWERS": "0"}, "", "a number above 0"),
        ({"BLACKBOARD_HEARTBEAT_SECONDS": "inf"}, "", "BLACKBOARD_HEARTBEAT_SECONDS cannot be"),
        ({"BLACKBOARD_HEARTBEAT_SECONDS": "nan"}, "", "BLACKBOARD_HEARTBEAT_SECONDS cannot be"),
        ({"BLACKBOARD_DB": ""}, "", "empty"),
        ({"BLACKBOARD_AUTO_OPEN": "perhaps"}, "", "BLACKBOARD_AUTO_OPEN cannot be"),
        ({}, "port = '80'", "port in .*blackboard.toml cannot be '80'"),
        ({}, "port = true", "cannot be True"),
        ({}, "port = ", "is not TOML"),
        ({}, "tls_cert = 'cert.pem'", "tls_key is not set"),
        ({}, "tls_key = 'key.pem'", "tls_cert is not set"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(
    tmp_path: Path, environ: dict[str, str], text: str, named: str
) -> None:
    (tmp_path / "blackboard.toml").write_text(text)
    with pytest.raises(Malformed, match=named):
        load({}, environ, cwd=tmp_path)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_the_environment_says_yes_and_no_as_people_write_it(text: str, value: bool) -> None:
    assert config.parse_environment({"BLACKBOARD_AUTO_OPEN": text, "PATH": "x"}) == {"auto_open": value}


@pytest.mark.parametrize("variable", config.COMMAND_VARIABLES)
def test_variables_of_the_command_are_no_settings(variable: str) -> None:
    assert config.parse_environment({variable: "anything"}) == {}


@given(st.data())
def test_every_setting_means_the_same_in_each_source(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(set(FIELDS) - {"tls_cert", "tls_key"})))
    default = FIELDS[name].default
    value: Any = {"durability": "full", "isolation": "serializable"}.get(name, "text")
    if isinstance(default, bool) or name == "auto_open":
        value = data.draw(st.booleans())
    elif isinstance(default, int):
        value = data.draw(st.integers(1, 65535))
    elif isinstance(default, float):
        value = float(data.draw(st.integers(1, 65535)))
    toml = f"{name} = {msgspec.json.encode(value).decode()}"
    sources = [
        config.parse_flags({name: value}),
        config.parse_environment({f"BLACKBOARD_{name.upper()}": str(value)}),
        config.parse_file(toml),
    ]
    assert sources == [{name: value}] * 3


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("board.db", "sqlite:////here/board.db"),
        ("~/board.db", "sqlite:////home-of-kim/board.db"),
        ("/data/board.db", "sqlite:////data/board.db"),
        ("sqlite:///board.db", "sqlite:////here/board.db"),
        ("sqlite:////data/board.db", "sqlite:////data/board.db"),
        ("postgresql://db/board", "postgresql://db/board"),
    ],
)
def test_a_path_is_an_sqlite_file_and_a_url_stays(name: str, url: str) -> None:
    assert config.database_url(name, {"HOME": "/home-of-kim"}, Path("/here")) == url


def test_the_state_directory_follows_the_platform() -> None:
    here = Path("/here")
    assert config.platform_state_dir({"XDG_STATE_HOME": "/x"}, here) == Path("/x/blackboard")
    assert config.platform_state_dir({"XDG_STATE_HOME": "x", "HOME": "/h"}, here) == Path(
        "/h/.local/state/blackboard"
    )


def test_the_state_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    settings = load({"state_dir": str(tmp_path / "a/b")}, {}, cwd=tmp_path)
    place = config.make_state_dir(settings)
    assert place == tmp_path / "a/b"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert config.make_state_dir(settings) == place


def test_a_state_directory_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Malformed, match=r"file/state cannot be made: .*--state-dir"):
        config.make_state_dir(load({"state_dir": "file/state"}, {}, cwd=tmp_path))


def test_unresolved_settings_use_the_platforms_place() -> None:
    assert config.make_state_dir(Settings()).name == "blackboard"
