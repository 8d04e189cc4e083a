"""What a sync would find, without the network unless asked: working, recorded, remote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_state.errors import HandoffError
from handoff_state.locks import is_held

if TYPE_CHECKING:
    from handoff_sync.result import Result
    from handoff_sync.sync import Sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One look at a worktree; ``obstacle`` is why a sync would stop, if it would."""

    branch: str
    remote: str
    root_source: str
    plan: Result | None
    obstacle: HandoffError | None
    daemon: bool
    unfinished: bool


def look(run: Sync) -> Status:
    """Gather the status; ``run`` is a dry run, offline unless ``--fetch`` was given."""
    layout = run.config.layout
    plan: Result | None = None
    obstacle: HandoffError | None = None
    try:
        plan = run.run(lambda _: None)
    except HandoffError as error:
        obstacle = error
    return Status(
        branch=run.worktree.branch.removeprefix("refs/heads/"),
        remote=run.remote.name,
        root_source=run.config.source,
        plan=plan,
        obstacle=obstacle,
        daemon=is_held(layout.poll_pid),
        unfinished=layout.handoff_behind.exists(),
    )
