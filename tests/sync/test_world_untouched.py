"""A sync moves the branch, the index entries and the files of ``portable/``, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from world import FILE, fingerprint

if TYPE_CHECKING:
    from world import Machine, World


@pytest.fixture
def busy(world: World) -> tuple[Machine, Machine]:
    """A machine in the middle of a person's work, and its peer."""
    a, b = world.machine("a"), world.machine("b")
    for name in ("kept.txt", "staged.txt", "edited.txt", "assumed.txt"):
        (a.path / name).write_text("one\n")
    a.git("add", ".")
    a.git("commit", "-qm", "files")
    a.git("push", "-q")
    b.git("pull", "-q")
    a.seen("IC_1")
    world.settle(a, b)
    (a.path / "kept.txt").write_text("stashed\n")
    a.git("stash", "-q")
    a.git("branch", "other")
    a.git("worktree", "add", "-q", str(world.folder / "linked"), "other")
    (a.path / "staged.txt").write_text("staged\n")
    a.git("add", "staged.txt")
    (a.path / "staged.txt").write_text("staged and edited\n")
    (a.path / "edited.txt").write_text("edited\n")
    (a.path / "untracked.txt").write_text("untracked\n")
    (a.path / "intended.txt").write_text("intended\n")
    a.git("add", "-N", "intended.txt")
    a.git("update-index", "--assume-unchanged", "assumed.txt")
    a.git("tag", "mark")
    a.git("config", "handoff.note", "mine")
    return a, b


def run(world: World, busy: tuple[Machine, Machine], situation: str) -> None:
    """Bring about one kind of sync on the first machine."""
    a, b = busy
    if situation in {"receive", "merge", "conflict"}:
        b.seen("IC_2")
        b.control("stop", "2026-09-14T09:00:00Z")
        b.sync()
    if situation in {"send", "merge", "offline", "policy"}:
        a.seen("IC_3")
    if situation == "conflict":
        a.control("start", "2026-09-14T10:00:00Z")
    if situation == "quarantine":
        (a.layout.portable / FILE).write_bytes(b"{")
    if situation == "policy":
        hook = world.hub / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
        hook.chmod(0o755)
    if situation == "no remote":
        a.seen("IC_3")
        world.hub.rename(world.folder / "gone.git")
    codes = {"conflict": 1, "quarantine": 1, "offline": 5, "policy": 5, "no remote": 3}
    arguments = ["--offline"] if situation == "offline" else []
    a.sync(*arguments, code=codes.get(situation, 0))


@pytest.mark.parametrize(
    "situation",
    ["nothing", "send", "receive", "merge", "conflict", "quarantine", "offline", "policy",
     "no remote"],
)  # fmt: skip
def test_everything_else_is_as_it_was(
    world: World, busy: tuple[Machine, Machine], situation: str
) -> None:
    a, _ = busy
    before = fingerprint(a)
    run(world, busy, situation)
    assert fingerprint(a) == before
    assert a.git("diff", "--cached", "--name-only").split() == ["staged.txt"]


@pytest.mark.parametrize("situation", ["policy", "no remote"])
def test_a_refused_or_failed_sync_leaves_branch_index_and_records(
    world: World, busy: tuple[Machine, Machine], situation: str
) -> None:
    a, _ = busy
    a.seen("IC_3")
    watched = ("rev-parse", "HEAD"), ("ls-files", "-s", "--", ".the-loop/portable")
    before = [a.git(*args) for args in watched], a.bytes()
    run(world, busy, situation)
    assert ([a.git(*args) for args in watched], a.bytes()) == before


@pytest.mark.parametrize("situation", ["send", "receive", "merge", "conflict", "quarantine"])
def test_a_dry_run_touches_nothing_and_foretells_the_real_one(
    busy: tuple[Machine, Machine], situation: str
) -> None:
    a, b = busy
    if situation in {"receive", "merge", "conflict"}:
        b.seen("IC_2")
        b.control("stop", "2026-09-14T09:00:00Z")
        b.sync()
    if situation in {"send", "merge"}:
        a.seen("IC_3")
    if situation == "conflict":
        a.control("start", "2026-09-14T10:00:00Z")
    if situation == "quarantine":
        (a.layout.portable / FILE).write_bytes(b"{")
    before = _everything(a)
    planned = a.sync("--dry-run", code=None)
    assert _everything(a) == before
    done = a.sync(code=None)
    told = ("ref", "file", "outcome", "sections", "control")
    for document in (planned, done):
        document["records"] = [
            {key: record.get(key) for key in told}
            for record in document["records"]  # type: ignore[attr-defined]  # JSON of a known shape
        ]
    assert planned["records"] == done["records"]
    assert planned["findings"] == done["findings"]


def _everything(machine: Machine) -> dict[str, object]:
    """Every file of the worktree and of the git directory but its object store."""
    return {
        str(path.relative_to(machine.path)): (path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(machine.path.rglob("*"))
        if path.is_file() and "objects" not in path.parts
    }


def test_a_poll_cycle_that_learned_nothing_leaves_git_status_clean(
    pair: tuple[Machine, Machine],
) -> None:
    a, _ = pair
    a.seen("IC_1")
    a.sync()
    path = a.layout.portable / FILE
    before = path.stat()
    a.seen("IC_1")
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert a.git("status", "--porcelain") == ""
    assert a.sync()["outcome"] == "up-to-date"
