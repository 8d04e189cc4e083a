"""The status for a person, in one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_sync.report.sync_text import records_table
from handoff_sync.report.terminal import line, plain
from handoff_sync.result import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handoff_sync.commands.invocation import Invocation
    from handoff_sync.result import Result
    from handoff_sync.status import Status


def render(status: Status, invocation: Invocation) -> None:
    """Print a status; ``-q`` leaves out the table, ``-v`` says where the root comes from."""
    line(f"state travels on {plain(status.branch)} to {plain(status.remote)}")
    if status.plan is not None and status.plan.records and not invocation.quiet:
        records_table(status.plan, color=invocation.colors())
    for text in (*_obstacle(status), *_plan(status.plan, status.remote), *_machine(status)):
        line(text)
    if invocation.verbose:
        line(f"state root from: {status.root_source}")


def _obstacle(status: Status) -> Iterator[str]:
    if status.obstacle is not None:
        yield f"a sync would stop: {plain(status.obstacle.what)}"
        if status.obstacle.hint:
            yield f"  {plain(status.obstacle.hint)}"


def _plan(plan: Result | None, remote: str) -> Iterator[str]:
    if plan is None:
        return
    for record in plan.records:
        if record.outcome is Outcome.QUARANTINED:
            yield f"held back: {plain(record.file)}: {plain(record.detail)}"
    if plan.oldest_unsent:
        yield f"unsent since {plan.oldest_unsent}"
    elif not plan.records:
        seen = f"was last seen at {plan.remote[:10]}" if plan.remote else "has not been seen yet"
        yield f"nothing to send; {plain(remote)} {seen}"


def _machine(status: Status) -> Iterator[str]:
    if status.daemon:
        yield "a daemon is running here (poll.pid is locked): received ledgers wait until it stops"
    if status.unfinished:
        yield "some files are behind the recorded state: the next sync sees to it"
