"""The command's root: what there is to run, loaded when it is run, and the codes it exits with."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple

import click

import blackboard

PROG = "blackboard"
COMPLETE = "_BLACKBOARD_COMPLETE"
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE


class Row(NamedTuple):
    """One command: where it lives, and what it does in a line (also without loading it)."""

    name: str
    module: str
    summary: str


SECTIONS: dict[str, tuple[Row, ...]] = {
    "Start here": (
        Row("demo", "demo", "Play the observed incident: announced, silent, and with the gate off."),
        Row("serve", "serve", "Run the server."),
        Row("doctor", "doctor", "Check versions, durability, disk, schema and the log's chain."),
    ),
    "Boards": (
        Row("board", "board", "Open and list boards; show and set policy, mode and format."),
        Row("read", "entries", "Read keys, or everything; the read is recorded."),
        Row("write", "entries", "Write one key, or a batch."),
        Row("say", "messages", "Post a message to the board's agents."),
        Row("compact", "messages", "Report a compaction."),
        Row("end-turn", "messages", "End the agent's turn."),
    ),
    "Single-writer mode": (
        Row("propose", "proposals", "Propose a write to the coordinator."),
        Row("proposals", "proposals", "Read the open proposals."),
        Row("accept", "proposals", "Accept a proposal as the coordinator's own write."),
        Row("refuse", "proposals", "Refuse a proposal."),
    ),
    "Looking": (
        Row("log", "log", "Print the log."),
        Row("follow", "log", "Print the log, then what comes, until interrupted."),
        Row("ledger", "agents", "Show the entries as of any seq; nothing is recorded."),
        Row("agents", "agents", "Show every agent's standing and counts."),
        Row("show", "agents", "Show one agent's standing, view and baselines."),
    ),
    "The action gate": (
        Row("record", "records", "Add and read records: policies, facts, approvals, chatter."),
        Row("check", "records", "Ask whether something that the agent lacks binds an action."),
        Row("gate", "gate", "Judge actions on files of records: PASS, BLOCK or ERROR."),
        Row("certify", "certify", "Certify what the gate says of a tool, and check calls by that alone."),
        Row("keep", "keep", "Say which records a compaction has to keep: of a file, or of a board."),
    ),
    "Keeping": (
        Row("token", "token", "Create, list and revoke tokens."),
        Row("db", "db", "Upgrade, downgrade and check a database."),
        Row("audit", "audit", "Verify logs, and keep and prove checkpoints of them."),
        Row("completion", "completion", "Print a shell's completion script."),
    ),
}
ROWS = {row.name: row for rows in SECTIONS.values() for row in rows}

EPILOG = """\b
Exit codes:
  0 done   2 usage or unexpected failure   3 rejected   4 not allowed
  5 integrity failure   6 unavailable   130 interrupted
  gate, check and certify --verify: 0 PASS   1 BLOCK   2 ERROR

Data goes to stdout, everything else to stderr. Settings come from flags, then BLACKBOARD_* variables, then
blackboard.toml, then defaults."""


class Root(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help page."""
        return list(ROWS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command; None for a name that does not exist."""
        row = ROWS.get(name)
        if row is None:
            return None
        module = import_module(f"blackboard.cli.commands.{row.module}")
        found: click.Command = getattr(module, name.replace("-", "_"))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; one that does not exist is answered with those that may be meant."""
        name = args[0]
        if name not in ROWS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = " or ".join(repr(one) for one in get_close_matches(name, ROWS))
            raise click.UsageError(
                f"No such command {name!r}." + (f" Did you mean {meant}?" if meant else ""), ctx
            )
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command; an option that belongs behind it is told so."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            raise click.UsageError(
                f"No such option {name!r} before the command: options stand after it, as in "
                "`blackboard board list --json`",
                ctx,
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, from the table alone."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(row.name, row.summary) for row in rows])


@click.command(
    cls=Root,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(blackboard.__version__, prog_name=PROG, message="%(prog)s %(version)s")
def root() -> None:
    """A shared board for several agents that remembers what each has seen and still holds."""


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing that goes wrong is raised."""
    if os.environ.get(COMPLETE):
        return _complete(os.environ[COMPLETE])
    try:
        return _invoke(list(argv))
    except click.ClickException as error:
        from blackboard.cli import failures

        return failures.report_usage(error, argv)
    except (KeyboardInterrupt, EOFError, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last resort: a failure is told, never a traceback
        from blackboard.cli import failures

        return failures.report(error, argv)


def _invoke(argv: list[str]) -> int:
    try:
        with root.make_context(PROG, argv) as context:
            code = root.invoke(context)
    except click.exceptions.Exit as done:
        code = done.exit_code
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(root, {}, PROG, COMPLETE, instruction)


def drop_stdout() -> None:
    """Let go of what stdout still holds: it would raise again while the interpreter shuts down."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
