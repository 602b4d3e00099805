"""The command as a whole: help, start, exit codes, failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import click
import pytest

from blackboard import __version__
from blackboard.cli import app, failures
from blackboard.cli.session import Session
from blackboard.errors import ERRORS_BY_CODE, BlackboardError
from blackboard.messages.replies import Reply, Standing
from tests.cli.conftest import COMMAND, Cli


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that name it."""
    found: list[tuple[tuple[str, ...], click.Command]] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        here = (*path, name)
        found += commands(command, here) if isinstance(command, click.Group) else [(here, command)]
    return found


COMMANDS = commands(app.root)


def test_help_lists_every_command_with_what_it_does(cli: Cli) -> None:
    shown = cli("--help")
    assert shown.code == 0
    for row in app.ROWS.values():
        assert f"  {row.name} " in shown.out
    assert "Exit codes" in shown.out


@pytest.mark.parametrize(
    ("words", "command"), COMMANDS, ids=lambda part: "-".join(part) if isinstance(part, tuple) else ""
)
def test_every_command_and_every_option_is_explained(
    cli: Cli, words: tuple[str, ...], command: click.Command
) -> None:
    assert command.help
    assert cli(*words, "--help").code == 0
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize(
    ("words", "command"), COMMANDS, ids=lambda part: "-".join(part) if isinstance(part, tuple) else ""
)
def test_every_command_can_answer_in_json_and_be_debugged(
    words: tuple[str, ...], command: click.Command
) -> None:
    if words != ("completion",):
        assert {"json", "debug"} <= {param.name for param in command.params}


def test_the_version_is_the_packages(cli: Cli) -> None:
    assert cli("--version").out == f"blackboard {__version__}\n"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    code = (
        "import sys; from blackboard.cli.app import run; run([sys.argv[1]]); "
        "print({'msgspec', 'sqlalchemy', 'aiohttp', 'asyncio', 'starlette', 'uvicorn'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", code, option], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    "argv", [["nonsense"], ["read", "--nonsense"], ["read"], ["write"], ["board", "mode", "x"]]
)
def test_wrong_usage_ends_with_2_and_says_what(cli: Cli, argv: list[str]) -> None:
    ran = cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert "Error: " in ran.err


@pytest.mark.parametrize(
    "argv", [["nonsense"], ["read"], ["write", "a", "--value", "{"], ["db", "check", "--nonsense"]]
)
def test_wrong_usage_in_json_is_a_problem_document(cli: Cli, argv: list[str]) -> None:
    ran = cli(*argv, "--json")
    assert (ran.code, ran.err, ran.json["code"]) == (2, "", "malformed")
    assert ran.json["detail"]


def test_a_command_that_is_mistyped_is_told_which_may_be_meant(cli: Cli) -> None:
    assert "No such command 'dooctor'. Did you mean 'doctor'?" in cli("dooctor").err
    assert "Did you mean" not in cli("zzz").err


def test_an_option_before_the_command_is_told_where_it_belongs(cli: Cli) -> None:
    ran = cli("--board", "b", "log")
    assert ran.code == 2
    assert "options stand after it" in ran.err


def test_no_summary_in_a_help_page_is_cut(cli: Cli) -> None:
    for group in ("board", "db", "token"):
        shown = cli(group, "--help").out.replace("[ARGS]...", "")
        assert "..." not in shown
    assert " hand the pen to another coordinator." in " ".join(cli("board", "--help").out.split())


@pytest.mark.parametrize("code", sorted(ERRORS_BY_CODE))
def test_every_error_ends_with_its_own_code_which_is_never_1(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ERRORS_BY_CODE[code]("what is wrong")
    assert failures.report(error, ["read"]) == error.exit_code != 1
    said = capsys.readouterr()
    assert said.out == ""
    assert code in said.err
    assert "what is wrong" in said.err


def test_an_error_in_json_is_the_problem_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(ERRORS_BY_CODE["beyond-head"]("no"), ["agents", "--json"]) == 2
    assert '"type":"urn:blackboard:problem:beyond-head"' in capsys.readouterr().out


@pytest.mark.parametrize("command", ["log", "follow"])
def test_a_stream_keeps_stdout_for_its_lines(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    failures.report(ERRORS_BY_CODE["unavailable"]("no"), [command, "--json"])
    said = capsys.readouterr()
    assert said.out == ""
    assert '"code":"unavailable"' in said.err


def test_text_of_agents_in_an_error_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    standing = Standing(state="compacted", since=1, why="\x1b[2J", clear="read")
    error = BlackboardError("\x1b]0;title\x07", reply=Reply(seq=3, head=3, standing=standing))
    failures.report(error, ["read"])
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\\x1b]0;title\\x07" in said
    assert "logged as seq 3" in said


def fail(_: Session) -> None:
    raise RuntimeError("a fault \x1b in the program")


def test_an_unexpected_failure_ends_with_2_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(Session, "settings", property(fail))
    ran = cli("log", "--board", "b")
    assert ran.code == 2
    assert "RuntimeError: a fault \\x1b in the program" in ran.err
    assert "--debug" in ran.err


def test_an_unexpected_failure_in_json_is_a_document_too(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(Session, "settings", property(fail))
    ran = cli("agents", "--board", "b", "--json")
    assert (ran.code, ran.json["code"]) == (2, "error")
    assert "RuntimeError" in ran.json["detail"]


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Session, "settings", property(fail))
    assert app.run(["log", "--board", "b", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("BLACKBOARD_DEBUG", "1")
    assert app.run(["log", "--board", "b"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("raised", [KeyboardInterrupt, EOFError, click.Abort])
def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, cli: Cli, raised: type[BaseException]
) -> None:
    def interrupt(_: Session) -> None:
        raise raised

    monkeypatch.setattr(Session, "settings", property(interrupt))
    assert cli("log", "--board", "b") == (130, "", "")


def test_a_reader_that_goes_away_is_no_failure(board: tuple[str, ...], cli: Cli) -> None:
    for turn in range(40):
        assert cli("end-turn", str(turn), *board, "--agent", "a").code == 0
    with subprocess.Popen(
        [*COMMAND, "log", *board],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) in (0, 141)


HEARING_INTERRUPTS = (
    sys.executable,
    "-c",
    (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    ),
)
"""Undoes what a shell without job control does to those it runs in the background."""


def test_ctrl_c_ends_a_command_quietly(board: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [*HEARING_INTERRUPTS, *COMMAND, "follow", *board],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, said) == (130, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion_script(cli: Cli, shell: str) -> None:
    assert "_BLACKBOARD_COMPLETE" in cli("completion", shell).out


def test_completion_knows_commands_and_options(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_BLACKBOARD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "blackboard boa")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert cli().out == "plain,board\n"
    monkeypatch.setenv("COMP_WORDS", "blackboard board open --pol")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert cli().out == "plain,--policy\n"
