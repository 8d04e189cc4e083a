"""The status for a person, in one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_sync.report.sync_text import records_table
from handoff_sync.report.terminal import console, plain
from handoff_sync.result import Outcome

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation
    from handoff_sync.status import Status


def render(status: Status, invocation: Invocation) -> None:
    """Print a status."""
    out = console(color=invocation.colors())

    def line(text: str) -> None:
        out.print(text, markup=False, highlight=False)

    line(f"state travels on {plain(status.branch)} to {plain(status.remote)}")
    if status.obstacle is not None:
        line(f"a sync would stop: {plain(status.obstacle.what)}")
        if status.obstacle.hint:
            line(f"  {plain(status.obstacle.hint)}")
    if status.plan is not None:
        if status.plan.records and not invocation.quiet:
            records_table(out, status.plan)
        for record in status.plan.records:
            if record.outcome is Outcome.QUARANTINED:
                line(f"held back: {plain(record.file)}: {plain(record.detail)}")
        if status.plan.oldest_unsent:
            line(f"unsent since {status.plan.oldest_unsent}")
        elif not status.plan.records:
            known = (status.plan.remote or "")[:10]
            line(f"nothing to send; {plain(status.remote)} was last seen at {known or 'no commit'}")
    if status.daemon:
        line("a daemon is running here (poll.pid is locked): received ledgers wait until it stops")
    if status.unfinished:
        line("some files are behind the recorded state: the next sync sees to it")
    if invocation.verbose:
        line(f"state root from: {status.root_source}")
