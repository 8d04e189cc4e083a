"""git handoff list: every record, with this machine's clocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import command, json_option

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject
    from handoff_sync.commands.invocation import Invocation


@command("list", example="git handoff list --json")
@json_option
@click.pass_obj
def command_list(invocation: Invocation, *, as_json: bool) -> int:
    """List the records here, joined with this machine's poll clocks."""
    from handoff_state.errors import HandoffError
    from handoff_state.views import list_work_items
    from handoff_sync.report.terminal import plain, table

    good: list[tuple[str, JsonObject]] = []
    bad: list[tuple[str, HandoffError]] = []
    for name, record in list_work_items(invocation.layout()):
        if isinstance(record, HandoffError):
            bad.append((name, record))
        else:
            good.append((name, record))
    if as_json:
        document = {
            "schema": 1,
            "workItems": [{"file": name, **record} for name, record in good],
            "unreadable": [{"file": n, "what": e.what, "where": e.where} for n, e in bad],
        }
        click.echo(json.dumps(document, indent=2))
        return 1 if bad else 0
    if good:
        headings = ("work item", "control", "seen", "ended", "last polled")
        table(headings, [_row(record) for _, record in good], color=invocation.colors())
    for name, error in bad:
        click.echo(f"unreadable: {plain(name)}: {plain(error.what)}", err=True)
    return 1 if bad else 0


def _row(record: JsonObject) -> tuple[str, ...]:
    from handoff_state.codec import as_object
    from handoff_state.control import decision_of
    from handoff_sync.decisions import describe

    poll, ended = as_object(record.get("poll")), as_object(record.get("ended"))
    seen = poll.get("seenComments")
    return (
        str(record.get("ref")),
        describe(decision_of(record)),
        str(len(seen)) if isinstance(seen, list) else "-",
        str(ended.get("state", "-")),
        str(poll.get("lastPolledAt", "-")),
    )


command = command_list
