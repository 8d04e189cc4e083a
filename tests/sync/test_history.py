"""The graph walks give git's own answers, also where clocks are skewed or stand still."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from handoff_sync.git import Deadline, Git
from handoff_sync.history import History
from handoff_sync.objects import LibgitObjects
from handoff_sync.repository import discover

if TYPE_CHECKING:
    from world import World


class Clock(NamedTuple):
    """Seconds from one commit to the next, and how far off each may be."""

    step: int
    error: int


def grow(world: World, rng: random.Random, count: int, clock: Clock) -> list[str]:
    """A random commit graph on the hub."""
    made: list[str] = []
    for number in range(count):
        parents = rng.sample(made[-8:], min(len(made[-8:]), rng.choice([1, 1, 1, 2, 3])))
        error = rng.randint(-clock.error, clock.error)
        made.append(commit(world, f"{number}", number * clock.step + error, *parents))
    return made


def commit(world: World, name: str, second: int, *parents: str) -> str:
    """An empty commit on the hub, under a branch of its own."""
    when = f"{1_700_000_000 + second} +0000"
    dated = world.environment | {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when}
    tree = world.git("hash-object", "-w", "-t", "tree", "/dev/null")
    flags = [flag for parent in parents for flag in ("-p", parent)]
    oid = subprocess.run(
        ["git", "commit-tree", *flags, "-m", name, tree],
        cwd=world.hub,
        env=dated,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    world.git("update-ref", f"refs/heads/c{name}", oid)
    return oid


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "clock",
    [
        pytest.param(Clock(step=60, error=86_400), id="off by up to a day"),
        pytest.param(Clock(step=0, error=0), id="all in one second"),
    ],
)
def test_merge_bases_and_ranges_are_those_of_git(world: World, seed: int, clock: Clock) -> None:
    rng = random.Random(seed)  # noqa: S311 - a seeded graph, not a key
    made = grow(world, rng, 40, clock)
    history = opened(world)
    for _ in range(40):
        a, b = rng.sample(made, 2)
        shared = reachable(world, a) & reachable(world, b)
        expected = world.git("merge-base", "--all", a, b).split() if shared else []
        assert history.merge_bases([a], b) == sorted(expected), (a, b)
        # `git rev-list a ^b` is itself only nearly right under skew; full walks are exact.
        assert set(history.between(b, a)) == reachable(world, a) - reachable(world, b)
        assert history.is_ancestor(a, b) == (a in reachable(world, b))


def test_a_slow_clock_below_the_meeting_point_hides_nothing(world: World) -> None:
    """The one parent that is newer than its child lies under what both sides have."""
    root = commit(world, "root", 60)
    slow = commit(world, "slow", 50, root)
    base = commit(world, "base", 80, slow)
    theirs = commit(world, "theirs", 90, base)
    ours = commit(world, "ours", 100, base, root)
    history = opened(world)
    assert history.between(theirs, ours) == [ours]
    assert history.between(ours, theirs) == [theirs]
    assert history.merge_bases([ours], theirs) == [base]


def opened(world: World) -> History:
    clone = world.folder / "clone"
    world.git("clone", "-q", "--mirror", str(world.hub), str(clone / ".git"))
    subprocess.run(["git", "-C", clone, "config", "core.bare", "false"], check=True)
    git = Git(directory=Path(clone), environment=world.environment, deadline=Deadline(60))
    return History(LibgitObjects(discover(git)), "portable")


def reachable(world: World, oid: str) -> set[str]:
    return set(world.git("rev-list", oid).split())
