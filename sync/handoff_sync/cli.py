"""The command line: options every command has, lazy commands, and what an error looks like."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync import __version__
from handoff_sync.commands.failures import exit_code, show
from handoff_sync.commands.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich_click.utils import CommandGroupDict

#: Command name to the module that holds it; imported when the command is met.
COMMANDS = {
    "init": "init",
    "sync": "sync",
    "status": "status",
    "list": "listing",
    "show": "show",
    "put": "put",
    "drop": "drop",
    "layout": "layout",
    "ignore": "ignore",
    "demo": "demo",
}

_PANELS: list[CommandGroupDict] = [
    {"name": "Hand off", "commands": ["init", "sync", "status"]},
    {"name": "Records", "commands": ["list", "show", "put", "drop"]},
    {"name": "Look", "commands": ["layout", "ignore", "demo"]},
]


class _LazyGroup(click.RichGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        found: click.Command = importlib.import_module(f"handoff_sync.commands.{module}").command
        return found


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run git handoff COMMAND --help for one command, git handoff demo to see it work.",
)
@click.option("-C", "directory", metavar="DIR", default=".", help="Run as if started in DIR.")
@click.option("--root", metavar="DIR", help="The state root, if not the configured one.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what must be said.")
@click.option("-v", "--verbose", is_flag=True, help="Say more about how.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colour."
)
@click.version_option(__version__, prog_name="git-handoff")
@click.pass_context
def cli(
    context: click.Context,
    *,
    directory: str,
    root: str | None,
    quiet: bool,
    verbose: bool,
    color: str,
) -> None:
    """Carry an agent loop's state from machine to machine through git.

    Facts about the world travel in portable/; handles to this machine stay in local/.
    """
    context.obj = Invocation(
        directory=Path(directory),
        root=root,
        quiet=quiet,
        verbose=verbose,
        color=color,
        environment=dict(os.environ),
    )
    context.color = {"always": True, "never": False}.get(color)


click.rich_click.COMMAND_GROUPS = {"*": _PANELS}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the documented code (cli.md)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = cli.main(arguments, prog_name="git-handoff", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 - the one place where every failure becomes an exit code
        show(error, as_json="--json" in arguments, environment=dict(os.environ))
        sys.exit(exit_code(error))
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
