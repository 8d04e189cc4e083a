"""Step 8 of a sync: write what was merged, so that a crash between any two steps loses nothing.

(a) the behind map, naming the merge and where each file's bytes come from; (b) the files,
each only while it still has the snapshot's bytes; (c) the index entries and the tip; then
the report, and only then are the entries of files in step dropped. Whoever takes the lock
next finishes (c).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from handoff_state import behind as behind_map
from handoff_state.behind import BehindFile, BehindMap, fingerprint
from handoff_state.codec import decode, encode
from handoff_state.errors import HandoffError, UnsafePathError
from handoff_state.locks import exclusive, is_held
from handoff_state.workitems import LOCK_SECONDS, WorkItemStore, ordered
from handoff_state.writer import AtomicWriter, read_plain, sweep
from handoff_sync.code import changed_code
from handoff_sync.guard import arms_whatever_the_time
from handoff_sync.history import INDEX_NAME, is_record_name
from handoff_sync.objectstore import FILE_MODE, Entry, blob_oid

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject
    from handoff_state.layout import StateLayout
    from handoff_sync.history import History
    from handoff_sync.plan import Recorded
    from handoff_sync.snapshot import Snapshot
    from handoff_sync.worktree import Worktree

#: Sections a running daemon keeps in memory and saves whole: written under it, a received
#: one would be erased by its next save.
_LEDGERS = ("poll", "pullRequests")


@dataclass(slots=True, kw_only=True)
class Application:
    """Brings one worktree's files, index and tip to a merge; made anew for every run."""

    layout: StateLayout
    history: History
    worktree: Worktree
    writer: AtomicWriter = field(default_factory=AtomicWriter)

    def recover(self) -> BehindMap:
        """Finish what a crash left: settle each file, then the index entries and the tip.

        The caller holds the writers' lock.
        """
        for folder in (self.layout.local, self.layout.portable):
            sweep(folder)
        left = behind_map.load(self.layout.handoff_behind)
        known, tip = self.pending(left)
        if left.tip is not None:
            if tip is not None and tip != self.worktree.tip():
                self._move(left.previous, tip)
            behind_map.save(self.layout.handoff_behind, known, self.writer)
        return known

    def pending(self, left: BehindMap) -> tuple[BehindMap, str | None]:
        """The map and the tip as they are once what a crash left is finished."""
        known, tip = left, self.worktree.tip()
        for name in left.files:
            known = known.settled(name, self._bytes(name))
        unfinished = left.tip is not None and left.previous == tip
        return replace(known, tip=None, previous=None), left.tip if unfinished else tip

    def apply(self, snapshot: Snapshot, recorded: Recorded, start: str | None, merge: str) -> None:
        """Steps (a) to (c)."""
        with exclusive(self.layout.portable_lock, timeout=LOCK_SECONDS):
            daemon = is_held(self.layout.poll_pid)
            writes = self._writes(snapshot, recorded, start, merge, daemon=daemon)
            known = behind_map.load(self.layout.handoff_behind)
            pending = BehindMap(tip=merge, previous=recorded.commit)
            if writes.targets or merge != recorded.commit or writes.files != known.files:
                self._carry_out(writes, pending)
            if not daemon and is_held(self.layout.poll_pid):
                # It has started since, and may have read the ledgers before they were written.
                self._carry_out(_given_back(writes), pending)
            if merge != recorded.commit:
                self._move(recorded.commit, merge)
        if writes.targets:
            with contextlib.suppress(HandoffError, OSError):
                # Derived, and read by nobody: it must not hide a sync that has happened.
                WorkItemStore(self.layout).reindex(writes.targets)

    def _carry_out(self, writes: _Writes, pending: BehindMap) -> None:
        """Steps (a) and (b): the map, then the files."""
        known = replace(pending, files=writes.files)
        behind_map.save(self.layout.handoff_behind, known, self.writer)
        for name, (current, target) in writes.targets.items():
            self.writer.swap(self.layout.portable / name, target, current)

    def finish(self, merge: str | None) -> None:
        """After the report: drop the entries of files that show the merge, or are based on it.

        Until then the map names the merge, so that a writer who takes the lock in between is
        known to have seen what was written.
        """
        if not self.layout.handoff_behind.exists():
            return
        with exclusive(self.layout.portable_lock, timeout=LOCK_SECONDS):
            known, _ = self.pending(behind_map.load(self.layout.handoff_behind))
            kept = {
                name: entry
                for name, entry in known.files.items()
                if entry.held or not self._shows(name, entry, merge)
            }
            behind_map.save(self.layout.handoff_behind, BehindMap(files=kept), self.writer)

    def save_files(self, files: dict[str, BehindFile]) -> None:
        """Keep the map after the working copy was committed."""
        with exclusive(self.layout.portable_lock, timeout=LOCK_SECONDS):
            known = behind_map.load(self.layout.handoff_behind)
            behind_map.save(self.layout.handoff_behind, replace(known, files=files), self.writer)

    def _shows(self, name: str, entry: BehindFile, merge: str | None) -> bool:
        data = self._bytes(name)
        shown = blob_oid(data) if data is not None else None
        expected = self.history.version(merge, name)
        return shown == (expected.oid if expected else None) or (
            entry.base == merge and entry.before == entry.after
        )

    def _move(self, old: str | None, new: str) -> None:
        code = changed_code(self.history, old, new)
        self.worktree.set_code(changed_code(self.history, new, old), code)
        self.worktree.move(old, new, self.entries_between(old, new), "merge")

    def entries_between(self, old: str | None, new: str | None) -> dict[str, Entry | None]:
        """The index entries a move of the tip asks for: what differs, and what is staged."""
        before, after = self.history.entries(old), self.history.entries(new)
        names = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        names |= {name for name in self.worktree.staged(old) if is_record_name(name)}
        entries = {name: after.get(name) for name in names}
        if self.history.version(old, INDEX_NAME) != self.history.version(new, INDEX_NAME):
            entries[INDEX_NAME] = self.history.version(new, INDEX_NAME)
        return entries

    def _writes(
        self,
        snapshot: Snapshot,
        recorded: Recorded,
        start: str | None,
        merge: str,
        *,
        daemon: bool,
    ) -> _Writes:
        writes = _Writes(files=dict(recorded.files))
        for name in snapshot.quarantined:
            writes.files.setdefault(name, BehindFile(base=start))
        merged = self.history.entries(merge)
        for name in self._touched(snapshot, recorded, merge, merged):
            self._plan_write(writes, snapshot, recorded, name, merged.get(name), daemon=daemon)
        return writes

    def _touched(
        self, snapshot: Snapshot, recorded: Recorded, merge: str, merged: dict[str, Entry]
    ) -> set[str]:
        """Files the disk does not show as merged, and those the merge learned something about."""
        names = {*merged, *snapshot.disk, *recorded.files} - snapshot.quarantined
        differing = {
            name
            for name in names
            if snapshot.disk.get(name) != (merged[name].oid if name in merged else None)
        }
        # A file with sections held back is looked at anew each time: the daemon may be gone.
        differing |= {name for name, entry in recorded.files.items() if entry.held} & names
        return differing | (self._learned(recorded.commit, merge) & names)

    def _learned(self, ours: str | None, merge: str) -> set[str]:
        """Records that merges new to ``ours`` tell of, though their bytes may be as they were.

        A decision a peer's merge has set aside shows in the graph only, and nobody here has
        heard of it before the report.
        """
        learned: set[str] = set()
        if ours is None or ours == merge:
            return learned
        for oid in self.history.between(ours, merge):
            first, *others = self.history.commit(oid).parents or (None,)
            for side in others:
                met = self.history.merge_bases([ours], side) if first == ours else [first]
                for past in met or [None]:
                    learned |= self.history.differing(self.history.here(past), side)
        return learned

    def _plan_write(
        self,
        writes: _Writes,
        snapshot: Snapshot,
        recorded: Recorded,
        name: str,
        entry: Entry | None,
        *,
        daemon: bool,
    ) -> None:
        current = self._bytes(name)
        target = self._target(name, entry)
        base = writes.files[name].base if name in writes.files else recorded.commit
        if entry is not None and target is None:
            # Unreadable, not a plain file, or arming at no time: it is not written here.
            writes.files[name] = BehindFile(base=base)
            return
        shown = blob_oid(current) if current is not None else None
        fresh = shown == snapshot.disk.get(name)
        held: JsonObject = {}
        if daemon and fresh and current is not None and target is not None:
            target, held = _held_back(name, current, target)
        writes.files[name] = BehindFile(
            base=base, before=fingerprint(current), after=fingerprint(target), held=held
        )
        if fresh and current != target:
            writes.targets[name] = current, target

    def _target(self, name: str, entry: Entry | None) -> bytes | None:
        if entry is None or entry.mode != FILE_MODE:
            return None
        record = self.history.parsed(entry, name)
        if not isinstance(record, dict) or arms_whatever_the_time(record):
            return None
        return self.history.store.blob(entry.oid)

    def _bytes(self, name: str) -> bytes | None:
        try:
            return read_plain(self.layout.portable / name)
        except (UnsafePathError, OSError):
            return None


@dataclass(slots=True, kw_only=True)
class _Writes:
    """The map to keep, and the files to change: the bytes they hold, and are to hold."""

    files: dict[str, BehindFile]
    targets: dict[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)


def _given_back(writes: _Writes) -> _Writes:
    """What was written, with the ledgers as they were before, and held."""
    back = _Writes(files=dict(writes.files))
    for name, (before, written) in writes.targets.items():
        if before is None or written is None:
            continue
        target, held = _held_back(name, before, written)
        if held:
            back.targets[name] = written, target
            back.files[name] = replace(back.files[name], after=fingerprint(target), held=held)
    return back


def _held_back(name: str, current: bytes, target: bytes) -> tuple[bytes, JsonObject]:
    """The bytes to write under a running daemon, and the sections kept as the disk has them."""
    disk, merged = decode(current, name), decode(target, name)
    held = {
        section: disk.get(section)
        for section in _LEDGERS
        if disk.get(section) != merged.get(section)
    }
    if not held:
        return target, {}
    mixed = {key: value for key, value in merged.items() if key not in held}
    mixed |= {key: value for key, value in held.items() if value is not None}
    return encode(ordered(mixed)), held
