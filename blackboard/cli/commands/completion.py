"""`completion`: a shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from blackboard.cli import output
from blackboard.cli.app import COMPLETE, PROG, root


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell. For bash: eval "$(blackboard completion bash)"."""
    found = get_completion_class(shell)
    assert found is not None
    output.emit(found(root, {}, PROG, COMPLETE).source())
