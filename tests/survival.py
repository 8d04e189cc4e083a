"""What must hold of a machine after a run that was killed, and of all of them in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from handoff_state.errors import HandoffError

if TYPE_CHECKING:
    from doomed import Run
    from world import Machine, World


def assert_sound(machine: Machine, *code: str) -> None:
    """Git reads the worktree, only records (and ``code``) differ, and every record is whole."""
    lines = machine.git("status", "--porcelain", "--untracked-files=all").splitlines()
    places = (f"{machine.root}/portable/", *code)
    assert all(any(place in line for place in places) for line in lines), lines
    for name, record in machine.store.records():
        assert not isinstance(record, HandoffError), f"{name}: {record}"
    assert not locks(machine)


def assert_synced(run: Run, context: str) -> None:
    """The run did its work without help: exit 0, or 1 only to report a conflict."""
    assert run.code in {0, 1}, f"after {context}: {run.code}\n{run.out}{run.err}"
    document = json.loads(run.out)
    outcomes = {record["outcome"] for record in document["records"]}
    assert not outcomes & {"quarantined", "refused"}, f"after {context}: {run.out}"
    assert (run.code == 1) == ("conflict" in outcomes), f"after {context}: {run.out}"


def assert_settled(world: World, *machines: Machine) -> None:
    """Machines and hub are equal, and no trace of a killed run is left."""
    tip = world.tip()
    for machine in machines:
        assert machine.git("rev-parse", "HEAD") == tip
        assert machine.git("status", "--porcelain", "--untracked-files=all") == ""
        assert not machine.layout.handoff_behind.exists()
        assert not locks(machine)
        assert not [p.name for p in machine.layout.root.rglob(".handoff-*.tmp")]
    world.git("fsck", "--strict", "--connectivity-only")


def locks(machine: Machine) -> list[str]:
    """Lock files git would trip over."""
    git_dir = Path(machine.git("rev-parse", "--absolute-git-dir"))
    return [str(path.relative_to(git_dir)) for path in git_dir.rglob("*.lock")]
