"""git handoff show: one record, with this machine's clocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import command, json_option

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command("show", example="git handoff show github:octo/repo#15")
@click.argument("ref")
@json_option
@click.pass_obj
def command_show(invocation: Invocation, *, ref: str, as_json: bool) -> int:
    """Show one record, joined with this machine's poll clocks."""
    from handoff_state.refs import WorkItemRef
    from handoff_state.views import get_work_item
    from handoff_sync.report.terminal import plain

    target = WorkItemRef.parse(ref)
    record = get_work_item(invocation.layout(), target)
    if as_json:
        click.echo(json.dumps({"schema": 1, "ref": str(target), "record": record}, indent=2))
    elif record is None:
        click.echo(f"{target}: not tracked", err=True)
    else:
        for key, value in record.items():
            text = value if isinstance(value, str) else json.dumps(value, indent=2)
            click.echo(f"{plain(key)}: {text if not isinstance(value, str) else plain(text)}")
    return 1 if record is None else 0


command = command_show
