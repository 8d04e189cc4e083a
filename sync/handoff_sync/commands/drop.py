"""git handoff drop: forget a section or a record, after it was committed once more."""

from __future__ import annotations

import rich_click as click

from handoff_sync.commands.declare import Touches, command, json_option
from handoff_sync.commands.invocation import DEFAULT_TIMEOUT, Invocation


@command(
    "drop",
    Touches.RECORDS,
    Touches.INDEX,
    Touches.REFS,
    Touches.LOCAL,
    example="git handoff drop github:octo/repo#15 collaborators",
)
@click.argument("ref")
@click.argument("section", required=False)
@json_option
@click.pass_obj
def command_drop(invocation: Invocation, *, ref: str, section: str | None, as_json: bool) -> int:
    """Remove SECTION of REF, or the whole record; what it held stays in history."""
    from handoff_state.refs import WorkItemRef
    from handoff_state.workitems import WorkItemStore, check_section
    from handoff_sync.commands.written import say

    target = WorkItemRef.parse(ref)
    if section is not None:
        check_section(section)
    layout = invocation.layout()
    store = WorkItemStore(layout)
    known = store.read(target)
    if not known:
        click.echo(f"{target}: not tracked", err=True)
        return 1
    _commit_first(invocation)
    change = store.drop(target) if section is None else store.write_section(target, section, None)
    return say(change, target, as_json=as_json)


def _commit_first(invocation: Invocation) -> None:
    """Commit offline, so that the decision being removed is one a later merge can see.

    A state root outside any repository has no history to keep it in.
    """
    from handoff_sync.errors import NoRepositoryError
    from handoff_sync.sync import Options

    options = Options(
        offline=True, home=invocation.environment.get("HOME", ""), host=invocation.host
    )
    try:
        run = invocation.sync(options, DEFAULT_TIMEOUT)
    except NoRepositoryError:
        return
    run.run(lambda _: None)


command = command_drop
