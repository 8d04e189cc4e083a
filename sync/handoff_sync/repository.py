"""Find the repository a command runs in, and say by name what cannot be handled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from handoff_sync.errors import NoRepositoryError, UnsupportedError
from handoff_sync.git import Git, sanitised

if TYPE_CHECKING:
    from handoff_sync.git import Deadline

_ANSWERS = 5
_FSYNC = {"core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles"}
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or am",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One worktree of one repository: where it is, and its git config as read once."""

    git: Git
    top: Path
    git_dir: Path
    common_dir: Path
    config: dict[str, list[str]]
    object_format: str
    shallow: bool

    def setting(self, key: str) -> str | None:
        """The last value of a git config key (lower-case section and name), or None."""
        values = self.config.get(key)
        return values[-1] if values else None

    def flag(self, key: str) -> bool:
        """A git config key read as a boolean; absent is false."""
        return (self.setting(key) or "false").lower() in {"true", "yes", "on", "1", ""}

    def in_progress(self) -> str | None:
        """Which multi-step git operation is under way here, in words."""
        for name, words in _IN_PROGRESS.items():
            if (self.git_dir / name).exists():
                return words
        return None

    def with_deadline(self, deadline: Deadline) -> Repository:
        """The same repository, its git processes bound by another deadline."""
        return replace(self, git=replace(self.git, deadline=deadline))


def discover(git: Git) -> Repository:
    """The repository around ``git.directory``. Raises ``NoRepositoryError``."""
    asked = git.run(
        "rev-parse",
        "--show-toplevel",
        "--absolute-git-dir",
        "--path-format=absolute",
        "--git-common-dir",
        "--show-object-format",
        "--is-shallow-repository",
    )
    if asked.code:
        raise NoRepositoryError(
            f"no git worktree here: {sanitised(asked.err)}",
            hint="run it inside the repository that keeps the state: git handoff -C DIR",
        )
    answers = asked.out.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if len(answers) != _ANSWERS:
        raise NoRepositoryError("the repository's path has a line break in it", hint="move it")
    top, git_dir, common, object_format, shallow = answers
    pinned = replace(git, directory=Path(top), git_dir=Path(git_dir), top=Path(top))
    config = _config(replace(pinned, fsync_is_configured=True))  # as it is without our own
    pinned = replace(
        pinned,
        ssh_is_configured="core.sshcommand" in config,
        fsync_is_configured=not config.keys().isdisjoint(_FSYNC),
    )
    return Repository(
        git=pinned,
        top=Path(top),
        git_dir=Path(git_dir),
        common_dir=Path(common),
        config=config,
        object_format=object_format,
        shallow=shallow == "true",
    )


def check_supported(repository: Repository) -> None:
    """Refuse, by name, what the object engine would read wrongly (sync.md, Engines)."""
    if repository.object_format != "sha1":
        _unsupported(f"the {repository.object_format} object format")
    if repository.setting("extensions.refstorage") not in {None, "files"}:
        _unsupported("the reftable ref format")
    if repository.setting("extensions.partialclone") or any(
        key.startswith("remote.") and key.endswith(".promisor") for key in repository.config
    ):
        _unsupported("a partial clone")


def _unsupported(what: str) -> None:
    raise UnsupportedError(
        f"this repository uses {what}, which this version does not handle",
        hint="use a full clone in git's default formats (sha1, file refs)",
    )


def _config(git: Git) -> dict[str, list[str]]:
    config: dict[str, list[str]] = {}
    for item in git.ok("config", "--list", "-z").decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = item.partition("\n")
        if key:
            config.setdefault(key, []).append(value)
    return config
