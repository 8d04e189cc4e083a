"""The first records a machine ever receives, and a kill at every step on the way in."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from doomed import Doomed
from survival import assert_settled, assert_synced

if TYPE_CHECKING:
    from world import World

OTHER = "github:octo/repo#2"


def test_a_kill_while_the_first_records_arrive_needs_no_repair(world: World) -> None:
    a, b = world.machine("a"), world.machine("b")
    shutil.rmtree(b.layout.root, ignore_errors=True)
    a.seen("IC_1")
    a.seen("IC_2", ref=OTHER)
    a.sync()
    pristine = world.folder / "pristine"
    shutil.copytree(b.path, pristine, symlinks=True)
    step, code = 0, None
    killed_before_any_file = False
    with Doomed() as doomed:
        while code is None:
            shutil.rmtree(b.path)
            shutil.copytree(pristine, b.path, symlinks=True)
            step += 1
            run = doomed.run(b, "sync", "--json", at_step=step)
            code = run.code
            records = list(b.layout.portable.glob("github*.json"))
            killed_before_any_file |= b.layout.handoff_behind.exists() and not records
            assert_synced(doomed.run(b, "sync", "--json"), f"killed at step {step}, {run.last}")
            assert (b.seen_ids(), b.seen_ids(OTHER)) == (["IC_1"], ["IC_2"])
    assert killed_before_any_file, "the moment that matters was met"
    assert_settled(world, a, b)
