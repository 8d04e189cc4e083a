"""git handoff sync: hand the records off, and say what was verified."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import Touches, command, json_option
from handoff_sync.commands.invocation import DEFAULT_TIMEOUT, Invocation

if TYPE_CHECKING:
    from handoff_sync.result import Result

NOT_DURABLE = 5


@command(
    "sync",
    Touches.RECORDS,
    Touches.INDEX,
    Touches.REFS,
    Touches.REMOTE,
    Touches.LOCAL,
    example="git handoff sync --dry-run",
)
@click.option("-n", "--dry-run", is_flag=True, help="Print the plan and touch nothing.")
@click.option("--offline", is_flag=True, help="Commit here, without the network.")
@click.option("-m", "--message", default="", metavar="M", help="The commit's subject.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    metavar="S",
    help="Seconds until everything started is ended.",
)
@click.option(
    "--with-code", is_flag=True, help="Also publish and take commits to other paths, unmerged."
)
@click.option("--interactive", is_flag=True, help="Let git and ssh ask questions.")
@click.option("-q", "--quiet", is_flag=True, help="Control changes and one line only.")
@json_option
@click.pass_obj
def command_sync(
    invocation: Invocation,
    *,
    dry_run: bool,
    offline: bool,
    message: str,
    timeout: float,
    with_code: bool,
    interactive: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Send and receive records, merge them, and read the remote back."""
    from handoff_sync.report.progress import steps
    from handoff_sync.report.sync_json import document
    from handoff_sync.report.sync_text import render
    from handoff_sync.sync import Options

    invocation = replace(invocation, quiet=quiet or invocation.quiet)
    options = Options(
        dry_run=dry_run,
        offline=offline,
        with_code=with_code,
        subject=message,
        home=invocation.environment.get("HOME", ""),
        host=invocation.host,
    )
    run = invocation.sync(options, timeout, interactive=interactive)

    def report(result: Result) -> None:
        progress.stop()
        if as_json:
            click.echo(document(result, run.config.source))
        else:
            render(result, invocation)
            if invocation.verbose:
                click.echo(f"state root from: {run.config.source}")

    with steps(quiet=invocation.quiet or as_json) as progress:
        run.progress = progress.step
        result = run.run(report)
    if result.needs_a_person:
        return 1
    return NOT_DURABLE if offline and result.oldest_unsent and not dry_run else 0


command = command_sync
