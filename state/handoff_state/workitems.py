"""Portable records: one file a work item, written one section at a time."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from handoff_state import behind, index
from handoff_state.catalog import RECORD_KEYS, SECTIONS
from handoff_state.codec import canonical, decode, encode
from handoff_state.errors import (
    HandoffError,
    RefError,
    SectionError,
    SlugCollisionError,
    UnreadableRecordError,
)
from handoff_state.locks import exclusive
from handoff_state.refs import WorkItemRef, as_ref
from handoff_state.writer import AtomicWriter, Change, Writer, read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from handoff_state.codec import JsonObject
    from handoff_state.layout import StateLayout

LOCK_SECONDS = 30.0


def read_record(data: bytes, file: str) -> JsonObject:
    """Parse a record and check that ``file``, ``ref`` and the file name belong together.

    Raises ``UnreadableRecordError`` and ``SlugCollisionError``.
    """
    record = decode(data, file)
    found = _named(record, file)
    if found.file != file:
        raise SlugCollisionError(file=file, asked=file.removesuffix(".json"), found=str(found))
    return record


def _named(record: JsonObject, file: str) -> WorkItemRef:
    try:
        return WorkItemRef.parse(str(record.get("ref")))
    except RefError as error:
        raise UnreadableRecordError("names no work item", file=file, pointer="$.ref") from error


def ordered(record: JsonObject) -> JsonObject:
    """``record`` in writing order: identity, the sections, then unknown keys as they stood."""
    known = {key: record[key] for key in RECORD_KEYS if key in record}
    return known | {key: value for key, value in record.items() if key not in known}


def is_empty(record: JsonObject) -> bool:
    """Whether nothing but identity and tombstones is left."""
    return all(value is None for key, value in record.items() if key not in {"ref", "url"})


def check_section(name: str) -> None:
    """Raise ``SectionError`` unless a write may name this section."""
    if name not in SECTIONS:
        raise SectionError(f"no section is called {name!r}", hint=f"one of: {', '.join(SECTIONS)}")


class WorkItemStore:
    """Reads and writes the records of one layout (seed 002, R6).

    Each write replaces one section and leaves the rest as it is on disk, under the writers'
    lock; nothing learned means nothing written. Raises ``RefError``, ``SectionError``,
    ``UnreadableRecordError``, ``SlugCollisionError``, ``UnsafePathError``, ``BusyError``
    and ``OSError``.
    """

    def __init__(
        self,
        layout: StateLayout,
        writer: Writer | None = None,
        *,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self.layout = layout
        self._writer = writer or AtomicWriter()
        self._index_writer = AtomicWriter(durable=False) if writer is None else writer
        self._lock_seconds = lock_seconds

    def read(self, ref: str | WorkItemRef) -> JsonObject:
        """The whole record; ``{}`` when there is none."""
        return self._load(as_ref(ref))[1] or {}

    def section(self, ref: str | WorkItemRef, name: str) -> JsonObject | None:
        """One section; None when it is absent or a tombstone."""
        value = self.read(ref).get(name)
        return value if isinstance(value, dict) else None

    def write_section(self, ref: str | WorkItemRef, name: str, value: JsonObject | None) -> Change:
        """Replace one section; None leaves a tombstone, and no section left removes the record."""
        return self.update_section(ref, name, lambda _: value)

    def update_section(
        self,
        ref: str | WorkItemRef,
        name: str,
        change: Callable[[JsonObject | None], JsonObject | None],
    ) -> Change:
        """Read, decide and write one section as one step under the writers' lock."""
        check_section(name)
        target = as_ref(ref)
        with exclusive(self.layout.portable_lock, timeout=self._lock_seconds):
            data, record = self._load(target)
            old = record.get(name) if record else None
            new = change(old if isinstance(old, dict) else None)
            if new is not None and not isinstance(new, dict):
                raise SectionError("a section is an object or None", where=f"$.{name}")
            if record is None and new is None:
                return Change.UNCHANGED
            updated = (record or {"ref": str(target)}) | {name: new}
            return self._store(target, data, record, updated)

    def drop(self, ref: str | WorkItemRef) -> Change:
        """Remove a whole record."""
        target = as_ref(ref)
        with exclusive(self.layout.portable_lock, timeout=self._lock_seconds):
            data, record = self._load(target)
            return self._store(target, data, record, None)

    def files(self) -> list[str]:
        """The names under ``portable/`` that look like records, sorted."""
        try:
            names = os.listdir(self.layout.portable)  # noqa: PTH208 - names, not paths: no Path per record
        except FileNotFoundError:
            return []
        hidden = self.layout.index.name
        return sorted(n for n in names if n.endswith(".json") and n != hidden and n[0] != ".")

    def records(self) -> Iterator[tuple[str, JsonObject | HandoffError]]:
        """Every record by file name; an unreadable one comes as the error that says why."""
        for name in self.files():
            try:
                data = read_plain(self.layout.portable / name)
                if data is not None:
                    yield name, read_record(data, name)
            except HandoffError as error:
                yield name, error

    def rebuild_index(self) -> Change:
        """Write the index anew from the records; remove it with the last of them."""
        with exclusive(self.layout.portable_lock, timeout=self._lock_seconds):
            return self._rebuild_index()

    def reindex(self, files: Iterable[str]) -> None:
        """Bring the index in step with records somebody else wrote, by file name."""
        with exclusive(self.layout.portable_lock, timeout=self._lock_seconds):
            rows = self._indexed() if self.layout.index.exists() else None
            if rows is None:
                self._rebuild_index()
                return
            for file in files:
                rows.pop(file, None)
                data = read_plain(self.layout.portable / file)
                with contextlib.suppress(HandoffError):
                    if data is not None:
                        rows[file] = index.row(file, read_record(data, file))
            self._write_index(index.build(rows.values()))

    def _indexed(self) -> dict[str, JsonObject] | None:
        try:
            data = read_plain(self.layout.index)
            listed = decode(data or b"{}", self.layout.index.name).get("workItems")
        except HandoffError:
            return None
        rows = listed if isinstance(listed, list) else []
        return {str(row["file"]): row for row in rows if isinstance(row, dict) and "file" in row}

    def _rebuild_index(self) -> Change:
        rows = (
            index.row(name, record)
            for name, record in self.records()
            if not isinstance(record, HandoffError)
        )
        return self._write_index(index.build(rows))

    def _write_index(self, data: bytes | None) -> Change:
        if not data:
            return self._index_writer.remove(self.layout.index)
        return self._index_writer.write(self.layout.index, data)

    def _load(self, ref: WorkItemRef) -> tuple[bytes | None, JsonObject | None]:
        data = read_plain(self.layout.record(ref))
        if data is None:
            return None, None
        record = decode(data, ref.file)
        found = _named(record, ref.file)
        if found != ref:
            raise SlugCollisionError(file=ref.file, asked=str(ref), found=str(found))
        return data, record

    def _store(
        self,
        ref: WorkItemRef,
        data: bytes | None,
        old: JsonObject | None,
        new: JsonObject | None,
    ) -> Change:
        path = self.layout.record(ref)
        if new is None or is_empty(new):
            new = None
        elif old is not None and _same(old, new):
            return Change.UNCHANGED
        text = None if new is None else self._readable(ref, new)
        self._settle(ref.file, data)
        change = self._writer.remove(path) if text is None else self._writer.write(path, text)
        with contextlib.suppress(HandoffError, OSError):
            # Derived, and read by nobody: it must not fail a write that has happened.
            self._update_index(ref, old, new)
        return change

    def _readable(self, ref: WorkItemRef, record: JsonObject) -> bytes:
        """The record's bytes, once they are known to pass the reading rules themselves."""
        url = ref.url
        try:
            text = encode(ordered(record | ({"url": url} if url else {})))
            decode(text, ref.file)
        except UnreadableRecordError as error:
            raise SectionError(
                error.reason, where=error.pointer, hint="nothing was written"
            ) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise SectionError("not a JSON value", hint="nothing was written") from error
        return text

    def _settle(self, file: str, data: bytes | None) -> None:
        # Whoever takes the lock next settles what a sync left: what is written now was
        # written knowing the bytes that are on the disk (sync.md step 8).
        known = behind.load(self.layout.handoff_behind)
        settled = known.settled(file, data)
        if settled is not known:
            behind.save(self.layout.handoff_behind, settled, self._writer)

    def _update_index(
        self, ref: WorkItemRef, old: JsonObject | None, new: JsonObject | None
    ) -> None:
        before = index.row(ref.file, old) if old else None
        after = index.row(ref.file, new) if new else None
        shown = before or after
        if shown is None or (before == after and self.layout.index.exists()):
            return
        current = read_plain(self.layout.index) or b""
        patched = index.patched(current, str(shown["ref"]), after)
        if patched is None:
            self._rebuild_index()
        else:
            self._write_index(patched)


def _same(old: JsonObject, new: JsonObject) -> bool:
    return canonical(old) == canonical(new)
