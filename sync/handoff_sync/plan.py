"""Steps 4 and 5 of a sync: from what is recorded, working and remote to commits.

The planner writes through the object store it is given. On the real one its commits are
what gets pushed; on an overlay they are what a dry run prints. It touches no ref, no index
and no file.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from handoff_sync import message
from handoff_sync.code import merged_outer
from handoff_sync.errors import CorruptError
from handoff_sync.findings import Finding, Severity
from handoff_sync.history import INDEX_NAME
from handoff_sync.objectstore import FILE_MODE, TREE_MODE, Entry
from handoff_sync.reconcile import corrected, disputed, reconcile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handoff_state.behind import BehindFile, BehindMap
    from handoff_state.codec import JsonObject
    from handoff_state.merge import Conflict
    from handoff_sync.history import History
    from handoff_sync.objectstore import ObjectStore
    from handoff_sync.snapshot import Snapshot

_Changes = dict[str, Entry | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A commit that has both of two tips, and what a person should hear of how it came about.

    ``made`` are the commits written on the way, oldest first.
    """

    commit: str | None
    conflicts: dict[str, tuple[Conflict, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    made: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Joined):
    """The working copy committed alone; ``files`` is what the disk is still behind on."""

    files: dict[str, BehindFile]


@dataclass(slots=True, kw_only=True)
class Planner:
    """Makes the commits of one run; ``label`` is this machine's, for their trailers."""

    history: History
    label: str
    with_code: bool = False
    subject: str = ""

    def record(self, snapshot: Snapshot, behind: BehindMap, tip: str | None) -> Recorded:
        """Commit the snapshot: on the recorded tip, and what is behind on its own base."""
        recorded = self.history.entries(tip)
        changes: dict[str, str | None] = {}
        groups: dict[str | None, dict[str, str | None]] = defaultdict(dict)
        files = dict(behind.files)
        for name in {*recorded, *snapshot.working, *files} - snapshot.quarantined:
            working, entry = snapshot.working.get(name), files.get(name)
            at_tip = recorded[name].oid if name in recorded else None
            if entry is None or entry.base == tip:
                if working != at_tip:
                    changes[name] = working
                if entry is not None and not entry.held:
                    del files[name]
                continue
            at_base = self._oid_at(entry.base, name)
            if working == at_tip and not entry.held:
                if working != at_base:
                    del files[name]  # the disk shows the tip's version: it was written
            elif working != at_base:
                groups[entry.base if self._known(entry.base) else None][name] = working
        return self._commit_all(snapshot, tip, changes, groups, files)

    def _oid_at(self, base: str | None, name: str) -> str | None:
        entry = self.history.version(base, name) if self._known(base) else None
        return entry.oid if entry else None

    def _known(self, oid: str | None) -> bool:
        return oid is None or self.history.here(oid) is not None

    def _commit_all(
        self,
        snapshot: Snapshot,
        tip: str | None,
        changes: dict[str, str | None],
        groups: dict[str | None, dict[str, str | None]],
        files: dict[str, BehindFile],
    ) -> Recorded:
        made: list[str] = []
        conflicts: dict[str, tuple[Conflict, ...]] = {}
        findings: list[Finding] = []
        commit = tip
        if changes:
            commit = self._commit_files(snapshot, tip, changes)
            made.append(commit)
        for base in sorted(groups, key=lambda oid: oid or ""):
            own = self._commit_files(snapshot, base, groups[base])
            files |= {name: replace(files[name], base=own) for name in groups[base]}
            joined = self.join(commit, own)
            commit = joined.commit
            conflicts |= joined.conflicts
            findings += joined.findings
            made += [own, *joined.made]
        return Recorded(
            commit=commit,
            files=files,
            conflicts=conflicts,
            findings=tuple(findings),
            made=tuple(made),
        )

    def _commit_files(
        self, snapshot: Snapshot, parent: str | None, changes: Mapping[str, str | None]
    ) -> str:
        entries: _Changes = {}
        for name, oid in changes.items():
            if oid is not None and oid in snapshot.data:
                self.history.store.write_blob(snapshot.data[oid])
            entries[name] = None if oid is None else Entry(FILE_MODE, oid)
        return self._write((parent,) if parent else (), entries)

    def join(self, ours: str | None, theirs: str | None, suspects: Iterable[str] = ()) -> Joined:
        """One commit that has both: a fast-forward where one descends, else a true merge.

        ``suspects`` are records some merge not made by us may have decided wrongly; their
        control is held against the graph even where nothing else is to be merged.
        """
        if theirs is None or (ours and self.history.is_ancestor(theirs, ours)):
            return self._correct(ours, suspects)
        if ours is None or self.history.is_ancestor(ours, theirs):
            return self._correct(theirs, suspects)
        return self._merge(ours, theirs, {*suspects})

    def _merge(self, ours: str, theirs: str, suspects: set[str]) -> Joined:
        a, b = self.history.entries(ours), self.history.entries(theirs)
        differing = {name for name in {*a, *b} if a.get(name) != b.get(name)}
        changes: _Changes = {}
        conflicts: dict[str, tuple[Conflict, ...]] = {}
        findings: list[Finding] = []
        for name in sorted(differing | suspects):
            merged = reconcile(self.history, name, ours, theirs, suspect=name in suspects)
            findings += merged.findings
            if merged.conflicts:
                conflicts[name] = merged.conflicts
            if merged.entry != a.get(name):
                changes[name] = merged.entry
        bases = self.history.merge_bases([ours], theirs)
        if not bases:
            findings.append(_UNRELATED)
        outer = merged_outer(self.history, bases, ours, theirs) if self.with_code else None
        commit = self._write((ours, theirs), changes, outer)
        return Joined(commit=commit, conflicts=conflicts, findings=tuple(findings), made=(commit,))

    def suspects(self, checked: str | None, tips: Iterable[str | None]) -> set[str]:
        """Records whose control a merge commit since ``checked`` may have decided wrongly."""
        known = checked if self._known(checked) else None
        found: set[str] = set()
        for oid in {c for tip in tips for c in self.history.between(known, tip)}:
            parents = [p for p in self.history.commit(oid).parents if self._known(p)]
            if len(parents) > 1:
                found |= disputed(self.history, oid, parents)
        return found

    def _correct(self, tip: str | None, suspects: Iterable[str]) -> Joined:
        if tip is None:
            return Joined(commit=None)
        put_right = {name: corrected(self.history, name, tip) for name in sorted(suspects)}
        changes: _Changes = {name: fix.entry for name, fix in put_right.items() if fix}
        if not changes:
            return Joined(commit=tip)
        conflicts = {name: fix.conflicts for name, fix in put_right.items() if fix}
        commit = self._write((tip,), changes)
        return Joined(commit=commit, conflicts=conflicts, made=(commit,))

    def _write(self, parents: tuple[str, ...], changes: _Changes, outer: str | None = None) -> str:
        """Commit the first parent's tree (or ``outer``) with records replaced."""
        store, first = self.history.store, parents[0] if parents else None
        # The derived index is each machine's own; a commit of ours does not carry it on.
        known, records = self.history.folder_oid(first), changes
        root = self.history.commit(first).tree if first else None
        if outer is not None:
            entry = store.entry(outer, self.history.folder)
            known, root = entry.oid if entry else None, outer
            records = {**self.history.entries(first), **changes}
        folder = store.write_tree(known, {**records, INDEX_NAME: None})
        entry = Entry(TREE_MODE, folder) if store.tree(folder) else None
        tree = _set_path(store, root, self.history.folder.split("/"), entry)
        lines = {
            name: message.change(self.history.record(first, name), self._parsed(name, new), name)
            for name, new in sorted(changes.items())
        }
        text = message.compose(lines, label=self.label, subject=self.subject)
        commit = store.write_commit(tree, parents, text)
        self._check_only(commit, parents, changes, outer)
        return commit

    def _check_only(
        self, commit: str, parents: tuple[str, ...], changes: _Changes, outer: str | None
    ) -> None:
        """Hold the commit against the plan: it touches the records planned, and nothing else."""
        before = self.history.entries(parents[0]) if parents else {}
        after = self.history.entries(commit)
        moved = {name for name, _ in before.items() ^ after.items()}
        outside = self.history.outer(commit)
        # Only the first parent's: what a second parent has besides is older code, or was
        # looked at before anything was made (code.refuse_code).
        strayed = outer is None and any(self.history.outer(p) != outside for p in parents[:1])
        if not moved <= changes.keys() or strayed:
            raise CorruptError(
                "a commit came out with more in it than was planned; nothing was moved to it",
                hint="please report this: git handoff sync --dry-run --json",
            )

    def _parsed(self, name: str, entry: Entry | None) -> JsonObject | None:
        found = self.history.parsed(entry, name)
        return found if isinstance(found, dict) else None


_UNRELATED = Finding(
    rule="history",
    severity=Severity.NOTE,
    file="",
    message="the two histories share no commit; records were joined over an empty past",
)


def _set_path(store: ObjectStore, root: str | None, path: list[str], entry: Entry | None) -> str:
    """``root`` with the entry at ``path`` replaced; folders that become empty go too."""
    head, *rest = path
    if rest:
        current = store.tree(root).get(head) if root else None
        below = current.oid if current and current.mode == TREE_MODE else None
        inner = _set_path(store, below, rest, entry)
        entry = Entry(TREE_MODE, inner) if store.tree(inner) else None
    return store.write_tree(root, {head: entry})
