"""The remote moves while a sync is pushing: it plans again, and merges once."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from world import Machine, World

RACE_SECONDS = 2


@pytest.fixture
def shared(pair: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """Two machines with one common record."""
    a, b = pair
    a.seen("IC_0")
    a.sync()
    b.sync()
    return a, b


def offline_commits(machine: Machine, count: int) -> list[str]:
    """Facts recorded one commit each, none of them pushed."""
    made = []
    for number in range(count):
        machine.seen(f"IC_b{number}")
        machine.sync("--offline", code=5)
        made.append(machine.git("rev-parse", "HEAD"))
    return made


def before_each_push(machine: Machine, folder: Path, script: str) -> None:
    """Put a git first on the machine's PATH that runs a script before every push.

    The script has the real git as ``$git``, and none of this run's repository variables.
    """
    folder.mkdir()
    real = shutil.which("git") or "git"
    clean = "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE"
    program = folder / "git"
    program.write_text(
        f"#!/bin/sh\ngit={shlex.quote(real)}\n"
        f'if [ "$1" = push ]; then\n( {clean}\n{script}\n) >&2 || exit 99\nfi\n'
        'exec "$git" "$@"\n'
    )
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{machine.environment['PATH']}"
    machine.environment = {**machine.environment, "PATH": path}


def push_next(b: Machine, commits: list[str], folder: Path) -> str:
    """Script: B pushes the next of its commits, while there is one."""
    (folder / "queue").write_text("".join(f"{oid}\n" for oid in commits))
    queue = shlex.quote(str(folder / "queue"))
    return (
        f'oid=$(head -n 1 {queue})\nsed -i 1d {queue}\n[ -z "$oid" ] || '
        f'"$git" -C {shlex.quote(str(b.path))} push --quiet origin "$oid:refs/heads/main"'
    )


@pytest.mark.parametrize(("moves", "earlier"), [(1, 0), (2, 0), (5, 0), (2, 1)])
def test_a_remote_that_moves_under_the_push(
    world: World, shared: tuple[Machine, Machine], tmp_path: Path, moves: int, earlier: int
) -> None:
    """``earlier`` commits of B are there from the start, so that the first try is a merge too."""
    a, b = shared
    commits = offline_commits(b, earlier + moves)
    for oid in commits[:earlier]:
        b.git("push", "--quiet", "origin", f"{oid}:refs/heads/main")
    a.seen("IC_a")
    before_each_push(a, tmp_path / "first", push_next(b, commits[earlier:], tmp_path))
    document = a.sync()
    assert document["outcome"] == "handed-off"
    assert document["verified"] is True
    assert document["attempts"] == moves + 1
    assert world.git("rev-list", "--merges", "main").splitlines() == [world.tip()]
    ours, theirs = world.git("rev-parse", "main^@").splitlines()
    assert theirs == commits[-1]
    assert world.git("rev-list", "--count", f"{commits[-1]}..main") == "2", "the fact, the merge"
    assert world.git("rev-parse", f"{ours}^") == world.git("merge-base", ours, theirs)
    b.sync()
    assert a.bytes() == b.bytes()
    assert set(a.seen_ids()) == {
        "IC_0",
        "IC_a",
        *(f"IC_b{number}" for number in range(earlier + moves)),
    }
    assert a.git("rev-parse", "HEAD") == b.git("rev-parse", "HEAD") == world.tip()


def test_a_remote_that_moves_between_the_lease_and_the_update(
    world: World, shared: tuple[Machine, Machine]
) -> None:
    """The hub itself finds the branch elsewhere when it takes the lock: a race, not a fault."""
    a, b = shared
    (commit,) = offline_commits(b, 1)
    b.git("push", "--quiet", "origin", f"{commit}:refs/heads/spare")
    hook = world.hub / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nrm hooks/update\ngit update-ref refs/heads/main {commit}\n")
    hook.chmod(0o755)
    a.seen("IC_a")
    document = a.sync()
    assert (document["outcome"], document["attempts"]) == ("handed-off", 2)
    assert a.seen_ids() == ["IC_0", "IC_a", "IC_b0"]
    assert world.git("rev-parse", "main^2") == commit


def test_a_remote_that_never_stands_still(
    world: World, shared: tuple[Machine, Machine], tmp_path: Path
) -> None:
    """At the deadline it is a lost race: committed here, and handed off by a later sync."""
    a, b = shared
    hub = shlex.quote(str(world.hub))
    move = (
        f'cd {hub} && tip=$("$git" rev-parse main) && '
        'new=$("$git" commit-tree -p "$tip" -m again "$tip^{tree}") && '
        '"$git" update-ref refs/heads/main "$new" "$tip"'
    )
    a.seen("IC_a")
    start = a.git("rev-parse", "HEAD")
    calm = a.environment
    before_each_push(a, tmp_path / "first", move)
    began = time.monotonic()
    done = a.handoff("sync", "--json", "--timeout", str(RACE_SECONDS), code=5)
    assert time.monotonic() - began < RACE_SECONDS + 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "race"
    assert "your work is committed here" in error["what"]
    assert a.git("rev-parse", "HEAD^@") == start, "the fact alone, no merge"
    assert a.git("status", "--porcelain") == ""
    a.environment = calm
    a.sync()
    assert world.git("rev-list", "--merges", "main").splitlines() == [world.tip()]
    b.sync()
    assert b.seen_ids() == ["IC_0", "IC_a"]
