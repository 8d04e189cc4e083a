"""The behind map: which files this disk has not caught up with (sync.md, step 8)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from handoff_state.codec import as_object, decode, encode
from handoff_state.errors import UnreadableRecordError
from handoff_state.writer import Writer, read_plain

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.codec import JSON, JsonObject

_SCHEMA = 1


def fingerprint(data: bytes | None) -> str | None:
    """A name for a file's bytes; None for an absent file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindFile:
    """One file that is behind: ``base`` is the commit its bytes come from, None for none.

    ``before`` and ``after`` are fingerprints of the bytes the sync found and the bytes it
    was to write. ``held`` are sections left as the disk had them while a daemon that keeps
    them in memory runs, each with the value the disk had: what differs from it later is
    what the daemon learned.
    """

    base: str | None
    before: str | None = None
    after: str | None = None
    held: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindMap:
    """What the disk owes: ``tip`` is a merge not yet recorded, ``previous`` the tip before it."""

    tip: str | None = None
    previous: str | None = None
    files: dict[str, BehindFile] = field(default_factory=dict)

    def settled(self, name: str, data: bytes | None) -> BehindMap:
        """The map after a look at one file's bytes, before somebody changes them.

        When the disk shows what the sync was to write (and that differs from what it
        found), the file has caught up: whatever is written next was written knowing the
        merge. When both are the same bytes nothing can be told, and the file stays behind.
        """
        entry = self.files.get(name)
        shown = fingerprint(data)
        if entry is None or self.tip is None or shown != entry.after:
            return self
        if entry.before == entry.after:
            return self
        caught_up = replace(entry, base=self.tip, before=shown)
        return replace(self, files={**self.files, name: caught_up})


def load(path: Path) -> BehindMap:
    """The map on disk; empty when absent. Raises ``UnreadableRecordError`` when damaged."""
    data = read_plain(path)
    if data is None:
        return BehindMap()
    value = decode(data, path.name)
    if value.get("schema") != _SCHEMA:
        raise UnreadableRecordError(
            f"a behind map of another schema than {_SCHEMA}", file=path.name
        )
    try:
        files = {name: _entry(item) for name, item in as_object(value.get("records")).items()}
        return BehindMap(tip=_oid(value["tip"]), previous=_oid(value["previous"]), files=files)
    except (KeyError, TypeError) as error:
        raise UnreadableRecordError("not a behind map", file=path.name) from error


def save(path: Path, behind: BehindMap, writer: Writer) -> None:
    """Write the map, or remove the file when there is nothing to say."""
    if behind == BehindMap():
        writer.remove(path)
        return
    records: JsonObject = {
        name: {
            "base": entry.base,
            "before": entry.before,
            "after": entry.after,
            **({"held": entry.held} if entry.held else {}),
        }
        for name, entry in sorted(behind.files.items())
    }
    document: JsonObject = {
        "schema": _SCHEMA,
        "tip": behind.tip,
        "previous": behind.previous,
        "records": records,
    }
    writer.write(path, encode(document))


def _entry(value: JSON) -> BehindFile:
    if not isinstance(value, dict):
        raise TypeError
    return BehindFile(
        base=_oid(value["base"]),
        before=_oid(value["before"]),
        after=_oid(value["after"]),
        held=as_object(value.get("held")),
    )


def _oid(value: JSON) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value
