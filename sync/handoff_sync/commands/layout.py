"""git handoff layout: every catalogued path, and whether it travels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import command, json_option

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command("layout", example="git handoff layout --json")
@json_option
@click.pass_obj
def command_layout(invocation: Invocation, *, as_json: bool) -> int:
    """Say for every path under the state root: portable or local, what it holds, and why."""
    from handoff_state.catalog import GENERATED_PATHS

    if as_json:
        rows = [
            {
                "path": path.pattern,
                "travels": path.portable,
                "holds": path.holds,
                "why": path.why,
            }
            for path in GENERATED_PATHS
        ]
        click.echo(json.dumps({"schema": 1, "paths": rows}, indent=2))
        return 0
    from handoff_sync.report.terminal import table

    listed = [
        (path.pattern, "portable" if path.portable else "local", path.holds, path.why)
        for path in GENERATED_PATHS
    ]
    table(("path", "", "holds", "why"), listed, color=invocation.colors())
    return 0


command = command_layout
