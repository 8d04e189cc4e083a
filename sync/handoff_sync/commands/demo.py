"""git handoff demo: the main job end to end, in a temporary folder, each step checked."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import command

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command("demo", example="git handoff demo --machines 3")
@click.option("--keep", metavar="DIR", help="Work in DIR, which must not exist, and keep it.")
@click.option(
    "--machines", type=click.IntRange(min=2, max=9), default=2, show_default=True, metavar="N"
)
@click.pass_obj
def command_demo(invocation: Invocation, *, keep: str | None, machines: int) -> int:
    """Hand an armed work item between real clones of a real hub, verifying every step."""
    from handoff_sync.demo import Demonstration, StepFailedError

    if keep is not None and Path(keep).exists():
        raise click.UsageError(f"{keep} exists; name a folder that does not")
    folder = Path(keep or tempfile.mkdtemp(prefix="git-handoff-demo-"))
    folder.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        if not invocation.quiet:
            click.echo(text)

    try:
        Demonstration(folder.absolute(), invocation.environment, machines, say).run()
    except StepFailedError as error:
        click.echo(f"not true: {error}", err=True)
        return 1
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    click.echo("demo: every step verified")
    return 0


command = command_demo
