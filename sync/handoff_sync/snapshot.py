"""Step 2 of a sync: what is on disk under ``portable/``, and what of it may not travel."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handoff_state.codec import MAX_BYTES, decode
from handoff_state.errors import HandoffError
from handoff_state.merge import merge_bytes, merge_records
from handoff_state.workitems import read_record
from handoff_state.writer import TEMPORARY_SUFFIX, read_plain
from handoff_sync import guard as rules
from handoff_sync.errors import RefusedError
from handoff_sync.guard import Guard, Machine
from handoff_sync.history import is_record_name
from handoff_sync.objectstore import blob_oid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handoff_state.behind import BehindFile, BehindMap
    from handoff_state.codec import JsonObject
    from handoff_state.layout import StateLayout
    from handoff_sync.findings import Finding
    from handoff_sync.history import History
    from handoff_sync.objectstore import Entry


@dataclass(slots=True, kw_only=True)
class Snapshot:
    """The records on disk by file name, as blob oids.

    ``disk`` is what the files hold; ``working`` what they say, which differs only for a file
    with sections held back while a daemon runs. ``data`` has the bytes of every working
    blob that its base does not have. A quarantined name is in none of the three.
    """

    disk: dict[str, str] = field(default_factory=dict)
    working: dict[str, str] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def quarantined(self) -> set[str]:
        """The names held back, with their bytes where they are."""
        return {finding.file for finding in self.findings if finding.holds_back}


def take(
    layout: StateLayout,
    history: History,
    tip: str | None,
    behind: BehindMap,
    guard: Callable[[], Guard],
) -> Snapshot:
    """Read every entry of ``portable/``, following nothing; the caller holds the writers' lock.

    Raises ``RefusedError`` when the folder as a whole cannot be trusted.
    """
    snapshot = Snapshot()
    recorded = history.entries(tip)
    expected = _expected(history, recorded, behind)
    folder = _open(layout, has_records=bool(expected))
    if folder is None:
        return snapshot
    try:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - a descriptor, not a path
            if not is_record_name(name):
                snapshot.findings += _stranger(folder, name)
                continue
            entry = behind.files.get(name)
            known = recorded.get(name)
            if entry is not None:
                known = history.version(history.here(entry.base), name)
            _read(snapshot, folder, name, known.oid if known else None, entry, history, guard)
    finally:
        os.close(folder)
    if len(expected) > 1 and not {*snapshot.disk, *snapshot.quarantined} & expected:
        # One record gone is somebody's drop. All of them at once is an unmounted disk, a
        # clone without checkout, or a slip; nothing is inferred from it.
        raise RefusedError(
            "every record git knows is gone from portable/ at once",
            hint="bring them back (git checkout -- PATH); if you mean it, git rm them and commit",
        )
    return snapshot


def _expected(history: History, recorded: Mapping[str, Entry], behind: BehindMap) -> set[str]:
    """The records this disk should show: a file that is behind, only if its base has it."""
    late = {
        name
        for name, entry in behind.files.items()
        if history.version(history.here(entry.base), name) is not None
    }
    return (recorded.keys() - behind.files.keys()) | late


def machine(layout: StateLayout, *, home: str, host: str) -> Machine:
    """What names this machine, read from the session files of ``local/``."""
    handles: set[str] = set()
    for path in sorted(layout.local.glob("*.json")):
        try:
            data = read_plain(path)
            handles.update(rules.handles_in(decode(data or b"", path.name)))
        except (OSError, HandoffError):
            continue  # an unreadable session file holds no handle anybody could paste
    return Machine(handles=frozenset(handles), home=home.rstrip("/"), host=host)


def _open(layout: StateLayout, *, has_records: bool) -> int | None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(layout.portable, flags)
    except FileNotFoundError:
        if not has_records:
            return None
        raise RefusedError(
            "portable/ is missing here, while git records work items in it",
            hint="bring it back (git checkout -- PATH), or drop each item by name",
        ) from None
    except (NotADirectoryError, OSError) as error:
        raise RefusedError(
            "portable/ is a link or not a folder, so it may hold anything",
            hint="make it a plain folder under the state root",
        ) from error


def _stranger(folder: int, name: str) -> list[Finding]:
    if name.endswith((TEMPORARY_SUFFIX, ".lock")) or name == "index.json":
        return []
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return []
    return [rules.stranger(name) if stat.S_ISREG(mode) else rules.not_plain(name, _kind(mode))]


def _kind(mode: int) -> str:
    return "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device"


def _read(
    snapshot: Snapshot,
    folder: int,
    name: str,
    known: str | None,
    entry: BehindFile | None,
    history: History,
    guard: Callable[[], Guard],
) -> None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            snapshot.findings.append(rules.not_plain(name, _kind(status.st_mode)))
            return
        data = _bytes(folder, name)
    except FileNotFoundError:
        return
    except OSError as error:
        snapshot.findings.append(rules.unreadable(name, error.strerror or "cannot be read"))
        return
    oid = blob_oid(data)
    base = history.parsed(history.version(entry.base, name), name) if entry and known else None
    if oid != known:
        if base is None and known is not None:
            base = _parsed(history, known, name)
        findings = guard().inspect(name, data, base if isinstance(base, dict) else None)
        snapshot.findings += findings
        if any(finding.holds_back for finding in findings):
            return
    snapshot.disk[name] = snapshot.working[name] = oid
    if oid != known:
        snapshot.data[oid] = data
    if entry is not None and entry.held and entry.before == entry.after:
        _unhold(snapshot, name, data, entry, base if isinstance(base, dict) else None)


def _bytes(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    with open(descriptor, "rb") as handle:  # noqa: PTH123 - a descriptor, not a path
        # One byte past the limit is enough for the guard to say that it is too long.
        return handle.read(MAX_BYTES + 1)


def _parsed(history: History, oid: str, name: str) -> JsonObject | None:
    try:
        return read_record(history.store.blob(oid), name)
    except (HandoffError, LookupError):
        return None


def _unhold(
    snapshot: Snapshot, name: str, data: bytes, entry: BehindFile, base: JsonObject | None
) -> None:
    """Read a file with held sections as: the merge it was written from, plus what is new.

    ``baseline`` is what the sync left on the disk: the merge, but the held sections as they
    were. What differs from it was learned since, and is carried over onto the merge.
    """
    if base is None:
        return
    disk = read_record(data, name)
    baseline = {key: value for key, value in base.items() if key not in entry.held}
    baseline |= {key: value for key, value in entry.held.items() if value is not None}
    merged = merge_records(baseline, disk, base).record
    said = merge_bytes(merged, [])
    if said is None:
        del snapshot.working[name]
        return
    snapshot.working[name] = blob_oid(said)
    snapshot.data[blob_oid(said)] = said
