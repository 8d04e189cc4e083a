"""The pygit2 engine: objects and ref reads of a sha1 repository with file refs.

The one module that imports pygit2, when the store is opened and not before. Commits are
written by ``git commit-tree``, because only git resolves author, committer and signing as
the user has configured them.
"""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from handoff_sync.errors import CorruptError
from handoff_sync.git import sanitised
from handoff_sync.objectstore import Commit, Entry, MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pygit2

    from handoff_sync.repository import Repository

#: Trees kept as dictionaries: the two tips, their base, and the levels above; a folder of
#: 100,000 records takes 30 MB.
_TREE_CACHE = 8
_Kind = TypeVar("_Kind")


class LibgitObjects:
    """Reads and writes objects of one repository through libgit2."""

    name = "pygit2"

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.tree = lru_cache(maxsize=_TREE_CACHE)(self._tree)
        self.commit = lru_cache(maxsize=None)(self._commit)

    @cached_property
    def _repo(self) -> pygit2.Repository:
        import pygit2

        # Ownership is git's to judge, and it has: discovery ran as git. Objects are synced to
        # disk as git itself does, for a tip must never name an object a power cut took.
        pygit2.option(pygit2.enums.Option.SET_OWNER_VALIDATION, False)
        pygit2.option(pygit2.enums.Option.ENABLE_FSYNC_GITDIR, True)
        return pygit2.Repository(str(self._repository.git_dir))

    def ref(self, name: str) -> str | None:
        """The oid a full ref name points at, or None when there is no such ref."""
        import pygit2

        try:
            return str(self._repo.references[name].resolve().target)
        except (KeyError, pygit2.GitError):
            return None

    def head(self) -> str | None:
        """The full ref name HEAD stands for, or None when it is detached."""
        target = self._repo.lookup_reference("HEAD").target
        return target if isinstance(target, str) else None

    def _commit(self, oid: str) -> Commit:
        import pygit2

        commit = self._object(oid, pygit2.Commit)
        return Commit(
            str(commit.tree_id), tuple(str(p) for p in commit.parent_ids), commit.commit_time
        )

    def _tree(self, oid: str) -> Mapping[str, Entry]:
        import pygit2

        tree = self._object(oid, pygit2.Tree)
        return {
            os.fsdecode(e.raw_name): Entry(int(e.filemode), str(e.id))
            for e in tree
            if e.raw_name is not None
        }

    def entry(self, tree: str, path: str) -> Entry | None:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        import pygit2

        try:
            found = self._object(tree, pygit2.Tree)[path]
        except KeyError:
            return None
        return Entry(int(found.filemode), str(found.id))

    def blob(self, oid: str) -> bytes:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        import pygit2

        return bytes(self._object(oid, pygit2.Blob).data)

    def write_blob(self, data: bytes) -> str:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        return str(self._repo.create_blob(data))

    def write_tree(self, base: str | None, changes: Mapping[str, Entry | None]) -> str:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        import pygit2

        known = [self._object(base, pygit2.Tree)] if base else []
        builder = self._repo.TreeBuilder(*known)
        for name, entry in changes.items():
            if entry is not None:
                builder.insert(name, pygit2.Oid(hex=entry.oid), pygit2.enums.FileMode(entry.mode))
            elif builder.get(name) is not None:
                builder.remove(name)
        return str(builder.write())

    def write_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        sign = ["-S"] if self._repository.flag("commit.gpgsign") else []
        flags = [flag for parent in parents for flag in ("-p", parent)]
        done = self._repository.git.run(
            "commit-tree", *sign, *flags, tree, data=message.encode("utf-8", "surrogateescape")
        )
        if done.code:
            raise CorruptError(
                f"git could not make the commit: {sanitised(done.err)}",
                hint="set user.name and user.email, or unset commit.gpgSign: git config --help",
            )
        return done.out.decode("ascii").strip()

    def is_ancestor(self, old: str, new: str) -> bool:
        """See :class:`handoff_sync.objectstore.ObjectStore`."""
        import pygit2

        if old == new:
            return True
        try:
            return self._repo.descendant_of(pygit2.Oid(hex=new), pygit2.Oid(hex=old))
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise MissingObjectError(new) from error

    def has(self, oid: str) -> bool:
        """Whether an object is here."""
        return oid in self._repo

    def _object(self, oid: str, kind: type[_Kind]) -> _Kind:
        import pygit2

        try:
            found = self._repo[oid]
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise MissingObjectError(oid) from error
        if not isinstance(found, kind):
            raise MissingObjectError(oid)
        return found
