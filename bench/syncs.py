"""A sync with nothing to do, and one with one changed record, against git-sync's algorithm.

git-sync's published algorithm as plain git commands, in the order its script runs them: look
at the state, read the configuration, add everything and commit, fetch, compare, then rebase or
fast-forward, push, and compare again. It does not read the remote back; we do. The second
peer is the least that algorithm could be, with nothing looked at twice.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.states import environment, fill, seen
from bench.timing import Row, paired
from handoff_state import StateLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STATE = """
state() {
  git rev-parse --is-inside-work-tree; git rev-parse --git-dir
  git rev-parse --is-inside-git-dir; git rev-parse --is-inside-work-tree
  git diff --no-ext-diff --quiet --exit-code || true
} >/dev/null
"""
_GIT_SYNC = f"""
set -e
{_STATE}
state
git rev-parse --git-dir >/dev/null
branch=$(git symbolic-ref -q --short HEAD)
for key in branch.$branch.pushRemote remote.pushDefault branch.$branch.remote \\
  branch.$branch.sync branch.$branch.syncNewFiles
do git config --get $key >/dev/null || true; done
git status --porcelain >/dev/null
if [ -n "$(git status --porcelain)" ]; then
  for key in autocommitscript syncNewFiles syncCommitMsg
  do git config --get branch.$branch.$key >/dev/null || true; done
  git add -A
  git commit -q -m "changes"
  state
fi
git fetch -q origin "$branch"
compare() {{ git rev-list --count --left-right "HEAD...origin/$branch"; }}
set -- $(compare)
if [ "$1" -gt 0 ] && [ "$2" -gt 0 ]; then git rebase -q "origin/$branch"; state; compare; fi
if [ "$1" -eq 0 ] && [ "$2" -gt 0 ]; then git merge -q --ff-only "origin/$branch"; fi
if [ "$1" -gt 0 ]; then git push -q origin "$branch"; fi
compare >/dev/null
"""
_LEAST = """
set -e
if [ -n "$(git status --porcelain)" ]; then git add -A; git commit -q -m "changes"; fi
git fetch -q origin main
set -- $(git rev-list --count --left-right "HEAD...origin/main")
if [ "$1" -gt 0 ] && [ "$2" -gt 0 ]; then git rebase -q origin/main; fi
if [ "$1" -eq 0 ] && [ "$2" -gt 0 ]; then git merge -q --ff-only origin/main; fi
if [ "$1" -gt 0 ]; then git push -q origin main; fi
"""


def rows(folder: Path, records: int, runs: int) -> Iterator[Row]:
    """The sync figures."""
    script = str(Path(sys.executable).parent / "git-handoff")
    jobs = {
        "git-sync": ["sh", "-c", _GIT_SYNC],
        "its least form": ["sh", "-c", _LEAST],
        "ours": [script, "-q", "sync"],
    }
    clones = {name: _clone(folder, name.replace(" ", "-"), records) for name in jobs}

    def unchanged(name: str) -> Callable[[int], None]:
        return lambda _: _run(jobs[name], clones[name])

    def changed(name: str) -> Callable[[int], None]:
        def run(number: int) -> None:
            seen(StateLayout(clones[name] / ".the-loop"), 7, number)
            _run(jobs[name], clones[name])

        return run

    for what, job in (("nothing to do", unchanged), ("one record changed", changed)):
        for peer in ("git-sync", "its least form"):
            figure = f"sync, {what}, {records} records"
            yield paired(figure, job("ours"), peer, job(peer), runs=runs)


def _clone(folder: Path, name: str, records: int) -> Path:
    hub, clone = folder / f"{name}.git", folder / name
    _run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], folder)
    _run(["git", "clone", "-q", str(hub), str(clone)], folder)
    _run(["git", "switch", "-q", "-C", "main"], clone)
    _run([str(Path(sys.executable).parent / "git-handoff"), "-q", "init"], clone)
    fill(StateLayout(clone / ".the-loop"), records)
    _run(["git", "add", "-A"], clone)
    _run(["git", "commit", "-q", "-m", "set up"], clone)
    _run(["git", "push", "-q", "-u", "origin", "main"], clone)
    return clone


def _run(argv: list[str], folder: Path) -> None:
    subprocess.run(
        argv, cwd=folder, env=environment(folder), check=True, capture_output=True, timeout=600
    )
