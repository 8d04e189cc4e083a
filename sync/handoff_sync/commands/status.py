"""git handoff status: what differs among working, recorded and remote."""

from __future__ import annotations

import json

import rich_click as click

from handoff_sync.commands.declare import command, json_option
from handoff_sync.commands.invocation import DEFAULT_TIMEOUT, Invocation


@command("status", example="git handoff status --fetch")
@click.option("--fetch", is_flag=True, help="Ask the remote instead of what is known of it.")
@json_option
@click.pass_obj
def command_status(invocation: Invocation, *, fetch: bool, as_json: bool) -> int:
    """Say what would travel, what is unsent and since when, and what is held back."""
    from handoff_sync.report.status_text import render
    from handoff_sync.report.sync_json import document
    from handoff_sync.status import look
    from handoff_sync.sync import Options

    options = Options(
        dry_run=True,
        offline=not fetch,
        known_remote=True,
        home=invocation.environment.get("HOME", ""),
        host=invocation.host,
    )
    status = look(invocation.sync(options, DEFAULT_TIMEOUT))
    if as_json:
        plan = json.loads(document(status.plan, status.root_source)) if status.plan else None
        obstacle = status.obstacle and {"what": status.obstacle.what, "hint": status.obstacle.hint}
        click.echo(
            json.dumps(
                {
                    "schema": 1,
                    "branch": status.branch,
                    "remote": status.remote,
                    "root_from": status.root_source,
                    "plan": plan,
                    "obstacle": obstacle,
                    "daemon": status.daemon,
                    "unfinished": status.unfinished,
                },
                indent=2,
            )
        )
    else:
        render(status, invocation)
    if status.obstacle is not None:
        return 3
    return 1 if status.plan is not None and status.plan.needs_a_person else 0


command = command_status
