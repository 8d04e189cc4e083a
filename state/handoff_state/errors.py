"""The state layer's error tree: every error says what, where and what to run next."""

from __future__ import annotations


class HandoffError(Exception):
    """An expected failure: ``what`` went wrong, ``where``, and a ``hint`` to act on.

    The data are attributes; the message is built once, here.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where
        self.hint = hint


class RefError(HandoffError):
    """A work item ref that has not the shape of one; raised before it becomes a path."""


class SlugCollisionError(HandoffError):
    """A record whose ``ref`` differs from the ref its file name was asked for (records.md)."""

    def __init__(self, *, file: str, asked: str, found: str) -> None:
        super().__init__(
            f"holds {found}, not {asked}: two work items give one file name",
            where=file,
            hint="keep one of the two under this state root; neither was changed",
        )
        self.asked = asked
        self.found = found


class UnreadableRecordError(HandoffError):
    """Bytes that break a rule of records.md, Reading: unreadable, which is not absent."""

    def __init__(self, reason: str, *, file: str, pointer: str = "$") -> None:
        super().__init__(
            reason,
            where=f"{file}: {pointer}",
            hint=f"repair it, or find its last good version: git log -p -- '*/{file}'",
        )
        self.reason = reason
        self.file = file
        self.pointer = pointer


class SectionError(HandoffError):
    """A section name or value the store does not write."""


class UnsafePathError(HandoffError):
    """A path that is a link, a folder or a special file where a plain file belongs."""


class RefusedWriteError(HandoffError):
    """A write reached the refusing writer: the caller promised to change nothing."""


class BusyError(HandoffError):
    """Another process holds the lock; the kernel says so, no pid or age is guessed from."""
