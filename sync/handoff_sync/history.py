"""The commit graph as the planner sees it: versions of records, merge bases, ancestry."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handoff_state.errors import HandoffError
from handoff_state.workitems import read_record
from handoff_sync.objectstore import FILE_MODE, TREE_MODE, Entry, MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from handoff_state.codec import JsonObject
    from handoff_sync.objectstore import Commit, ObjectStore

INDEX_NAME = "index.json"
#: Commits whose ancestry is cheap enough to be asked for one by one.
_FEW = 64


def is_record_name(name: str) -> bool:
    """Whether an entry of ``portable/`` is a record by its name; all else there is not state."""
    return name.endswith(".json") and name != INDEX_NAME and not name.startswith(".")


@dataclass(slots=True)
class History:
    """One store, seen through the folder that holds the records.

    ``folder`` is the ``/``-separated path of ``portable/`` from the top of the tree.
    """

    store: ObjectStore
    folder: str
    _records: dict[str, JsonObject | HandoffError] = field(default_factory=dict)
    _folders: dict[str, str | None] = field(default_factory=dict)

    def commit(self, oid: str) -> Commit:
        """A commit. Raises ``MissingObjectError``."""
        return self.store.commit(oid)

    def here(self, commit: str | None) -> str | None:
        """A commit, or None when it is gone or beyond a shallow edge."""
        try:
            if commit is not None:
                self.store.commit(commit)
        except MissingObjectError:
            return None
        return commit

    def differing(self, old: str | None, new: str | None) -> set[str]:
        """The names of the records that are not the same at two commits."""
        if self.folder_oid(old) == self.folder_oid(new):
            return set()
        return {name for name, _ in self.entries(old).items() ^ self.entries(new).items()}

    def folder_oid(self, commit: str | None) -> str | None:
        """The tree oid of ``portable/`` at a commit; None when it has none."""
        if commit is None:
            return None
        tree = self.store.commit(commit).tree
        if tree not in self._folders:
            entry = self.store.entry(tree, self.folder)
            usable = entry is not None and entry.mode == TREE_MODE
            self._folders[tree] = entry.oid if entry is not None and usable else None
        return self._folders[tree]

    def entries(self, commit: str | None) -> dict[str, Entry]:
        """The records at a commit, by file name."""
        oid = self.folder_oid(commit)
        if oid is None:
            return {}
        return {n: e for n, e in self.store.tree(oid).items() if is_record_name(n)}

    def version(self, commit: str | None, name: str) -> Entry | None:
        """One record's entry at a commit."""
        oid = self.folder_oid(commit)
        # One look-up, not the whole folder: a walk asks this of many commits.
        return None if oid is None else self.store.entry(oid, name)

    def parsed(self, entry: Entry | None, name: str) -> JsonObject | HandoffError | None:
        """A version's record; the error when its bytes or its mode are not those of one."""
        if entry is None:
            return None
        if entry.mode != FILE_MODE:
            return HandoffError("not a plain file", where=name)
        key = f"{entry.oid} {name}"
        if key not in self._records:
            try:
                self._records[key] = read_record(self.store.blob(entry.oid), name)
            except HandoffError as error:
                self._records[key] = error
        return self._records[key]

    def record(self, commit: str | None, name: str) -> JsonObject | None:
        """A readable record at a commit; unreadable reads as none (the caller reports it)."""
        found = self.parsed(self.version(commit, name), name)
        return found if isinstance(found, dict) else None

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether ``new`` descends from ``old`` or is it; across a shallow edge, it does not."""
        try:
            return self.store.is_ancestor(old, new)
        except MissingObjectError:
            return old in self.ancestors(new)

    def ancestors(self, oid: str) -> set[str]:
        """Every commit reachable from ``oid``, itself included, as far as history is here."""
        return set(self.walk([oid]))

    def walk(self, tips: Iterable[str], hidden: set[str] | None = None) -> Iterator[str]:
        """Every commit reachable from ``tips`` and not through ``hidden``, in no order."""
        pending, seen = list(tips), set(hidden or ())
        while pending:
            oid = pending.pop()
            if oid in seen:
                continue
            seen.add(oid)
            try:
                commit = self.store.commit(oid)
            except MissingObjectError:
                continue
            yield oid
            pending.extend(commit.parents)

    def between(self, old: str | None, new: str | None) -> list[str]:
        """The commits of ``new`` that ``old`` does not have."""
        if new is None or new == old:
            return []
        if old is None:
            return list(self.walk([new]))
        return self._paint([new], old)[1]

    def merge_bases(self, ours: Iterable[str], theirs: str) -> list[str]:
        """The best common ancestors of ``theirs`` and the union of ``ours``, in oid order."""
        return self._paint(list(ours), theirs)[0]

    def _paint(self, ours: list[str], theirs: str) -> tuple[list[str], list[str]]:
        """Merge bases, and the commits only ``ours`` has.

        Git's own walk: newest first, each commit painted by the sides that reach it, until
        nothing but common history is left. Commit times only steer it. What was found is
        checked exactly where a parent was seen that is not older than its child (a skewed
        clock, two commits in one second), and always where it is little: such a parent may
        lie below the point where the walk ended.
        """
        left, right, stale = 1, 2, 4
        paint: dict[str, int] = {}
        queue: list[tuple[int, str]] = []

        def visit(oid: str, colour: int) -> None:
            old = paint.get(oid, 0)
            if old | colour == old:
                return
            try:
                time = self.store.commit(oid).time
            except MissingObjectError:
                return  # a shallow edge: nothing is known below it
            paint[oid] = old | colour
            heapq.heappush(queue, (-time, oid))

        for oid in ours:
            visit(oid, left)
        visit(theirs, right)
        candidates: set[str] = set()
        skewed = False
        while any(not paint[oid] & stale for _, oid in queue):
            _, oid = heapq.heappop(queue)
            colour = paint[oid]
            if colour & (left | right) == left | right and not colour & stale:
                candidates.add(oid)
                colour |= stale
            commit = self.store.commit(oid)
            for parent in commit.parents:
                visit(parent, colour)
                skewed = skewed or (parent in paint and self._time(parent) >= commit.time)
        best = [oid for oid in candidates if not self._below(oid, candidates)]
        only_left = [oid for oid, colour in paint.items() if colour & (left | right) == left]
        if skewed or len(only_left) <= _FEW:
            only_left = [oid for oid in only_left if not self.is_ancestor(oid, theirs)]
        return sorted(best), only_left

    def _time(self, oid: str) -> int:
        return self.store.commit(oid).time

    def _below(self, oid: str, others: Iterable[str]) -> bool:
        return any(other != oid and self.is_ancestor(oid, other) for other in others)

    def outer(self, commit: str | None) -> dict[str, Entry]:
        """Everything at a commit but ``portable/``, as entries level by level along its path."""
        if commit is None:
            return {}
        return dict(_outside(self.store, self.store.commit(commit).tree, self.folder.split("/")))


def _outside(store: ObjectStore, tree: str, path: list[str]) -> Iterator[tuple[str, Entry]]:
    entries: Mapping[str, Entry] = store.tree(tree)
    for name, entry in entries.items():
        if name != path[0]:
            yield name, entry
        elif len(path) > 1 and entry.mode == TREE_MODE:
            for inner, found in _outside(store, entry.oid, path[1:]):
                yield f"{name}/{inner}", found
        elif entry.mode != TREE_MODE:
            yield name, entry  # a file or link where the folder belongs is not state
        else:
            strangers = (e for e in store.tree(entry.oid).items() if not is_state(e[0]))
            for inner, found in strangers:
                yield f"{name}/{inner}", found


def is_state(name: str) -> bool:
    """Whether an entry of ``portable/`` is this tool's: a record, or the derived index."""
    return is_record_name(name) or name == INDEX_NAME
