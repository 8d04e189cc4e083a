"""git handoff put: one section of one record, through the diff-checking writer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import Touches, command, json_option

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command(
    "put",
    Touches.RECORDS,
    Touches.LOCAL,
    example='echo \'{"startedAt": "..."}\' | git handoff put github:octo/repo#15 lifecycle',
)
@click.argument("ref")
@click.argument("section")
@click.argument("file", default="-")
@json_option
@click.pass_obj
def command_put(invocation: Invocation, *, ref: str, section: str, file: str, as_json: bool) -> int:
    """Write SECTION of REF from FILE or standard input; null removes it."""
    from handoff_state.codec import JsonObject, decode, encode
    from handoff_state.errors import HandoffError, SectionError
    from handoff_state.refs import WorkItemRef
    from handoff_state.workitems import WorkItemStore, check_section
    from handoff_sync.commands.written import say
    from handoff_sync.guard import Guard
    from handoff_sync.snapshot import machine

    target = WorkItemRef.parse(ref)
    check_section(section)
    data = sys.stdin.buffer.read() if file == "-" else _file(file)
    layout = invocation.layout()
    value: JsonObject | None = None
    if data.strip() != b"null":
        try:
            value = decode(data, "input" if file == "-" else Path(file).name)
        except HandoffError as error:
            raise SectionError(
                error.what, where=error.where, hint="send one JSON object"
            ) from error
        handles = machine(layout, home=invocation.environment.get("HOME", ""), host=invocation.host)
        proposed = encode({"ref": str(target), section: value})
        for finding in Guard(handles).inspect(target.file, proposed):
            if finding.holds_back:
                raise SectionError(
                    f"{finding.rule}: {finding.message}", where=finding.pointer, hint=finding.remedy
                )
    change = WorkItemStore(layout).write_section(target, section, value)
    return say(change, target, as_json=as_json)


def _file(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {Path(name).name}: {error.strerror}") from error


command = command_put
