"""What the planner needs of a git object store, whichever engine provides it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_MODE = 0o100644
TREE_MODE = 0o040000


class Entry(NamedTuple):
    """One entry of a tree."""

    mode: int
    oid: str


class Commit(NamedTuple):
    """The parts of a commit the planner reads; ``time`` is the committer's, in seconds."""

    tree: str
    parents: tuple[str, ...]
    time: int


class MissingObjectError(LookupError):
    """An object that is not in the store: a shallow edge, or damage."""


class ObjectStore(Protocol):
    """Trees, blobs and commits by object id; names are ``str`` decoded as file names are."""

    def commit(self, oid: str) -> Commit:
        """A commit. Raises ``MissingObjectError``."""
        ...

    def tree(self, oid: str) -> Mapping[str, Entry]:
        """One tree's entries. Raises ``MissingObjectError``."""
        ...

    def entry(self, tree: str, path: str) -> Entry | None:
        """The entry at a ``/``-separated path below a tree. Raises ``MissingObjectError``."""
        ...

    def blob(self, oid: str) -> bytes:
        """A blob's bytes. Raises ``MissingObjectError``."""
        ...

    def write_blob(self, data: bytes) -> str:
        """Store a blob."""
        ...

    def write_tree(self, base: str | None, changes: Mapping[str, Entry | None]) -> str:
        """Store ``base`` (None: empty) with entries replaced or, by None, removed."""
        ...

    def write_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """Store a commit by this run's author."""
        ...

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether ``new`` descends from ``old``, or is it."""
        ...


def blob_oid(data: bytes) -> str:
    """The sha1 object id git gives a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Overlay:
    """A store whose writes stay in memory: what a dry run plans on.

    Object ids of what it writes are stand-ins; they name nothing outside of it.
    """

    def __init__(self, below: ObjectStore) -> None:
        self._below = below
        self._blobs: dict[str, bytes] = {}
        self._trees: dict[str, dict[str, Entry]] = {}
        self._commits: dict[str, Commit] = {}

    def commit(self, oid: str) -> Commit:
        """See :class:`ObjectStore`."""
        return self._commits.get(oid) or self._below.commit(oid)

    def tree(self, oid: str) -> Mapping[str, Entry]:
        """See :class:`ObjectStore`."""
        return self._trees[oid] if oid in self._trees else self._below.tree(oid)

    def entry(self, tree: str, path: str) -> Entry | None:
        """See :class:`ObjectStore`."""
        entry: Entry | None = Entry(TREE_MODE, tree)
        for name in path.split("/"):
            if entry is None or entry.mode != TREE_MODE:
                return None
            entry = self.tree(entry.oid).get(name)
        return entry

    def blob(self, oid: str) -> bytes:
        """See :class:`ObjectStore`."""
        return self._blobs[oid] if oid in self._blobs else self._below.blob(oid)

    def write_blob(self, data: bytes) -> str:
        """See :class:`ObjectStore`."""
        oid = blob_oid(data)
        self._blobs[oid] = data
        return oid

    def write_tree(self, base: str | None, changes: Mapping[str, Entry | None]) -> str:
        """See :class:`ObjectStore`."""
        merged = dict(self.tree(base)) if base else {}
        for name, entry in changes.items():
            if entry is None:
                merged.pop(name, None)
            else:
                merged[name] = entry
        if base and merged == dict(self.tree(base)):
            return base
        oid = _stand_in(repr(sorted(merged.items())))
        self._trees[oid] = merged
        return oid

    def write_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """See :class:`ObjectStore`."""
        time = max((self.commit(parent).time for parent in parents), default=0) + 1
        oid = _stand_in(f"{tree} {parents} {message}")
        self._commits[oid] = Commit(tree, parents, time)
        return oid

    def is_ancestor(self, old: str, new: str) -> bool:
        """See :class:`ObjectStore`."""
        pending, seen = [new], set[str]()
        while pending:
            oid = pending.pop()
            if oid == old:
                return True
            if oid in seen:
                continue
            seen.add(oid)
            if oid in self._commits:
                pending.extend(self._commits[oid].parents)
            elif old not in self._commits and self._below.is_ancestor(old, oid):
                return True
        return False


def _stand_in(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
