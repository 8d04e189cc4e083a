"""The one branch and the index entries under ``portable/``: all a sync moves in a worktree."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_sync.errors import (
    CorruptError,
    DivergedError,
    RefusedError,
    RepositoryBusyError,
    WrongBranchError,
)
from handoff_sync.git import sanitised
from handoff_sync.objectstore import blob_oid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handoff_sync.objects import LibgitObjects
    from handoff_sync.objectstore import Entry
    from handoff_sync.repository import Repository

#: Files and links are written; a submodule's entry is set, and its folder is the user's.
_CHECKED_OUT = frozenset({0o100644, 0o100755, 0o120000})
_INDEX_LOCK_SECONDS = 5.0
_LAST_SECONDS = 0.5
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A worktree on the branch that carries state; ``folder`` is ``portable/`` from its top."""

    repository: Repository
    objects: LibgitObjects
    branch: str
    folder: str

    def check(self) -> None:
        """Raise ``WrongBranchError`` unless state may be committed here now."""
        head = self.objects.head()
        if head != self.branch:
            where = f"on {_short(head)}" if head else "on a detached HEAD"
            raise WrongBranchError(
                f"state travels on {_short(self.branch)}, and this worktree is {where}",
                hint=f"git switch {_short(self.branch)}, or run it in the worktree that is on it",
            )
        path = self.repository.top
        for part in self.folder.split("/"):
            path /= part
            if path.is_symlink():
                raise RefusedError(
                    f"{part} on the way to the records is a link, so they may lie anywhere",
                    hint="make it a plain folder, or name the real one with --root DIR",
                )
        operation = self.repository.in_progress()
        if operation:
            raise WrongBranchError(
                f"{operation} is in progress",
                hint="finish it (git status says how) or abort it, then run this again",
            )
        if self.repository.flag("core.sparsecheckout") and self._skipped():
            raise WrongBranchError(
                "records under portable/ are outside the sparse checkout",
                hint=f"git sparse-checkout add {self.folder}",
            )

    def tip(self) -> str | None:
        """The branch's oid; None while it is unborn."""
        return self.objects.ref(self.branch)

    def move(
        self, old: str | None, new: str | None, entries: Mapping[str, Entry | None], why: str
    ) -> bytes:
        """Set index entries, then the branch from ``old`` to ``new``, each by compare-and-swap.

        The index goes first: a commit made between the two then holds the records as they
        are, where the other order would let it take them back. Returns what was replaced
        in the index, for :meth:`put_back`; a branch that cannot be moved puts it back here.
        """
        replaced = self._listed(entries)
        self.set_entries({f"{self.folder}/{name}": entry for name, entry in entries.items()})
        try:
            self.set_tip(old, new, why)
        except RepositoryBusyError:
            self._relist(replaced)
            raise
        return replaced

    def put_back(self, new: str | None, old: str | None, replaced: bytes, why: str) -> None:
        """Undo a :meth:`move` to ``new``; the branch goes first, for the reason given there."""
        self.set_tip(new, old, why)
        self._relist(replaced)

    def set_tip(self, old: str | None, new: str | None, why: str) -> None:
        """Move the branch; ``RepositoryBusyError`` when it is not at ``old`` any more."""
        line = f"update {self.branch}\0{new or _ZERO}\0{old or _ZERO}\0"
        done = self.repository.git.run(
            "update-ref", "-m", f"handoff: {why}", "--stdin", "-z", data=line.encode()
        )
        if done.code and "File exists" in done.err:
            raise RepositoryBusyError(
                f"another git process holds {self.branch}.lock in this repository",
                hint="let it finish; if none is running, it is a left-over: "
                f"look at .git/{self.branch}.lock, then remove it",
            )
        if done.code:
            raise RepositoryBusyError(
                f"{_short(self.branch)} moved while this ran: {sanitised(done.err)}",
                hint="nothing is lost; run it again",
            )

    def set_tracking(self, ref: str, new: str) -> None:
        """Let git's own note of the remote branch say what was just read back."""
        if self.objects.ref(ref) != new:
            # Best effort: a stale note is git's ordinary state, and no decision rests on it.
            self.repository.git.run("update-ref", "-m", "handoff: verified", ref, new)

    def set_entries(self, entries: Mapping[str, Entry | None]) -> None:
        """Replace index entries by path from the top; git does the locking."""
        if not entries:
            return
        lines = [
            f"{entry.mode:06o} {entry.oid}\t{path}\0" if entry else f"0 {_ZERO}\t{path}\0"
            for path, entry in sorted(entries.items())
        ]
        data = "".join(lines).encode("utf-8", "surrogateescape")
        self._with_index("update-index", "-z", "--index-info", data=data)
        kept = "".join(f"{path}\0" for path, entry in sorted(entries.items()) if entry)
        self._refresh(kept.encode("utf-8", "surrogateescape"))

    def _refresh(self, paths: bytes) -> None:
        """Stat data only, so that the next ``git status`` need not read the files again."""
        if paths:
            self.repository.git.run(
                "add", "--refresh", "--ignore-errors", "--pathspec-from-file=-",
                "--pathspec-file-nul", data=paths,
            )  # fmt: skip

    def _listed(self, names: Iterable[str]) -> bytes:
        """What ``update-index --index-info`` needs to bring the entries of ``names`` back."""
        paths = {f"{self.folder}/{name}".encode("utf-8", "surrogateescape") for name in names}
        if not paths:
            return b""
        known = self.repository.git.ok("ls-files", "-s", "-z", "--", f"{self.folder}/")
        lines = [line for line in known.split(b"\0") if line.partition(b"\t")[2] in paths]
        gone = [f"0 {_ZERO}\t".encode() + path for path in sorted(paths)]
        return b"".join(line + b"\0" for line in [*gone, *lines])

    def _relist(self, replaced: bytes) -> None:
        if replaced:
            self._with_index("update-index", "-z", "--index-info", data=replaced)
            paths = {line.partition(b"\t")[2] for line in replaced.split(b"\0") if line}
            self._refresh(b"".join(path + b"\0" for path in sorted(paths)))

    def staged(self, tip: str | None) -> set[str]:
        """Names under ``portable/`` whose index entry is not the tip's."""
        git, tree = self.repository.git, tip or _EMPTY_TREE
        out = git.ok(
            "diff-index", "--cached", "--name-only", "-z", "--ita-invisible-in-index",
            "--no-renames", tree, "--", f"{self.folder}/",
        )  # fmt: skip
        prefix = f"{self.folder}/"
        paths = out.decode("utf-8", "surrogateescape").split("\0")
        return {path.removeprefix(prefix) for path in paths if path}

    def check_clean(self, paths: Mapping[str, Entry | None]) -> None:
        """Refuse to take code over changes of the user's own. Raises ``DivergedError``."""
        if not paths:
            return
        out = self.repository.git.ok(
            "status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching",
            "--no-renames", literal=False,
        )  # fmt: skip
        for line in out.decode("utf-8", "surrogateescape").split("\0"):
            mine = line[3:].rstrip("/")
            for path in paths if mine else ():
                if path == mine or path.startswith(f"{mine}/") or mine.startswith(f"{path}/"):
                    raise DivergedError(
                        f"incoming code would touch {path}, which is changed or untracked here",
                        hint="commit it or move it away, then git handoff sync --with-code",
                    )

    def set_code(self, old: Mapping[str, Entry | None], new: Mapping[str, Entry | None]) -> None:
        """Bring files outside the state from ``old`` to ``new``: index entries, then files.

        A file that shows neither version was changed by somebody since; it is left, and
        git shows it as modified.
        """
        if not new:
            return
        self.set_entries(new)
        shown = self._shown(new)
        for path, entry in new.items():
            before = old.get(path)
            if entry is None and before is not None and shown.get(path) == before.oid:
                self._remove(path)
        written = [
            path
            for path, entry in new.items()
            if entry is not None
            and entry.mode in _CHECKED_OUT
            and shown.get(path) in {before.oid if (before := old.get(path)) else None, entry.oid}
        ]
        if written:
            data = "".join(f"{path}\0" for path in written).encode("utf-8", "surrogateescape")
            self.repository.git.ok("checkout-index", "-f", "-u", "-z", "--stdin", data=data)

    def _shown(self, paths: Iterable[str]) -> dict[str, str]:
        """The blob oid of each file or link that is there, as git would add it."""
        shown: dict[str, str] = {}
        files: list[str] = []
        for path in paths:
            target = self.repository.top / path
            if target.is_symlink():
                shown[path] = blob_oid(os.fsencode(target.readlink()))
            elif target.is_file():
                files.append(path)
        # One process for all, but for the names a list of lines cannot hold.
        listed = [path for path in files if "\n" not in path and not path.startswith('"')]
        data = "".join(f"{path}\n" for path in listed).encode("utf-8", "surrogateescape")
        if listed:
            out = self.repository.git.ok("hash-object", "--stdin-paths", data=data)
            shown.update(zip(listed, out.decode("ascii").split(), strict=True))
        for path in {*files} - {*listed}:
            out = self.repository.git.ok("hash-object", "--path", path, "--", path)
            shown[path] = out.decode("ascii").strip()
        return shown

    def _remove(self, path: str) -> None:
        target = self.repository.top / path
        target.unlink(missing_ok=True)
        for parent in target.relative_to(self.repository.top).parents:
            try:
                (self.repository.top / parent).rmdir()
            except OSError:
                return

    def _with_index(self, *args: str, data: bytes) -> None:
        # Less than the run has left: the holder of a lock is worth naming, a deadline is not.
        left = self.repository.git.deadline.remaining() - _LAST_SECONDS
        deadline = time.monotonic() + min(_INDEX_LOCK_SECONDS, left)
        while True:
            done = self.repository.git.run(*args, data=data)
            if not done.code:
                return
            if "index.lock" not in done.err:
                raise CorruptError(f"git could not write the index: {sanitised(done.err)}")
            if time.monotonic() >= deadline:
                raise RepositoryBusyError(
                    "another git process holds index.lock in this worktree",
                    hint="let it finish; if none is running, it is a left-over: "
                    "look at .git/index.lock, then remove it",
                )
            time.sleep(_PAUSE_SECONDS)

    def checked_out(self) -> bool:
        """Whether there is an index at all: a clone without checkout has none."""
        return (self.repository.git_dir / "index").exists()

    def _skipped(self) -> bool:
        out = self.repository.git.ok("ls-files", "-t", "-z", "--", f"{self.folder}/")
        return any(line.startswith(b"S ") for line in out.split(b"\0"))


_ZERO = "0" * 40
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def _short(ref: str | None) -> str:
    return (ref or "").removeprefix("refs/heads/")


def current_branch(objects: LibgitObjects) -> str:
    """The branch HEAD is on. Raises ``WrongBranchError`` when detached."""
    head = objects.head()
    if head is None:
        raise WrongBranchError("HEAD is detached", hint="git switch BRANCH")
    return head
