"""The graph walks give git's own answers, also where clocks are skewed."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from handoff_sync.git import Deadline, Git
from handoff_sync.history import History
from handoff_sync.objects import LibgitObjects
from handoff_sync.repository import discover

if TYPE_CHECKING:
    from world import World


def grow(world: World, rng: random.Random, count: int) -> list[str]:
    """A random commit graph on the hub, with commit times off by up to a day."""
    tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin"], cwd=world.hub, input=b"",
        check=True, capture_output=True,
    )  # fmt: skip
    made: list[str] = []
    for number in range(count):
        parents = rng.sample(made[-8:], min(len(made[-8:]), rng.choice([1, 1, 1, 2, 3])))
        when = f"{1_700_000_000 + number * 60 + rng.randint(-86_400, 86_400)} +0000"
        flags = [flag for parent in parents for flag in ("-p", parent)]
        done = subprocess.run(
            ["git", "commit-tree", *flags, "-m", str(number), tree],
            cwd=world.hub,
            env=world.environment | {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when},
            check=True,
            capture_output=True,
            text=True,
        )
        made.append(done.stdout.strip())
    for number, oid in enumerate(made):
        world.git("update-ref", f"refs/heads/c{number}", oid)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_merge_bases_and_ranges_are_those_of_git(world: World, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a seeded graph, not a key
    made = grow(world, rng, 40)
    clone = world.folder / "clone"
    world.git("clone", "-q", "--mirror", str(world.hub), str(clone / ".git"))
    subprocess.run(["git", "-C", clone, "config", "core.bare", "false"], check=True)
    git = Git(directory=Path(clone), environment=world.environment, deadline=Deadline(60))
    history = History(LibgitObjects(discover(git)), "portable")
    for _ in range(40):
        a, b = rng.sample(made, 2)
        shared = reachable(world, a) & reachable(world, b)
        expected = world.git("merge-base", "--all", a, b).split() if shared else []
        assert history.merge_bases([a], b) == sorted(expected), (a, b)
        # `git rev-list a ^b` is itself only nearly right under skew; full walks are exact.
        assert set(history.between(b, a)) == reachable(world, a) - reachable(world, b)
        assert history.is_ancestor(a, b) == (a in reachable(world, b))


def reachable(world: World, oid: str) -> set[str]:
    return set(world.git("rev-list", oid).split())
