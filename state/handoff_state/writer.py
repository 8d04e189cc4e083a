"""The one way a file is written: compared first, then atomically, or not at all."""

from __future__ import annotations

import contextlib
import enum
import errno
import fcntl
import os
import secrets
import stat
from typing import TYPE_CHECKING, Protocol

from handoff_state import exchange
from handoff_state.errors import RefusedWriteError, UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Every temporary of ours is called so; the ignore block covers it.
TEMPORARY_PREFIX = ".handoff-"
TEMPORARY_SUFFIX = ".tmp"


class Change(enum.Enum):
    """What a write did."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    REMOVED = "removed"

    def __bool__(self) -> bool:
        return self is not Change.UNCHANGED


class Writer(Protocol):
    """Writes whole files. ``OSError`` passes through; a link is an ``UnsafePathError``."""

    def write(self, path: Path, data: bytes) -> Change:
        """Make ``path`` hold ``data``; nothing at all happens when it already does."""
        ...

    def remove(self, path: Path) -> Change:
        """Make ``path`` absent."""
        ...


class AtomicWriter:
    """Writes for real: unique temporary in the same folder, fsync, rename, folder fsync.

    Keeps the mode of the file it replaces; ``durable=False`` leaves out the two fsyncs, for
    files that can be rebuilt.
    """

    def __init__(self, *, durable: bool = True) -> None:
        self.durable = durable

    def write(self, path: Path, data: bytes) -> Change:
        """See :class:`Writer`."""
        with contextlib.suppress(FileExistsError):  # a link or a file: named when it is opened
            path.parent.mkdir(parents=True, exist_ok=True)
        with _folder(path) as folder:
            status = _plain(path, folder)
            if status is not None and _holds(path, folder, status, data):
                return Change.UNCHANGED
            self._replace(path.name, folder, data, status)
        return Change.CREATED if status is None else Change.UPDATED

    def remove(self, path: Path) -> Change:
        """See :class:`Writer`."""
        try:
            with _folder(path) as folder:
                if _plain(path, folder) is None:
                    return Change.UNCHANGED
                os.unlink(path.name, dir_fd=folder)
                self._sync(folder)
        except FileNotFoundError:
            return Change.UNCHANGED
        return Change.REMOVED

    def swap(self, path: Path, data: bytes | None, expected: bytes | None) -> bool:
        """Make ``path`` hold ``data``, but only if it holds ``expected`` (None: absent).

        Whether it does now. What somebody else put there is not overwritten, lock or none.
        """
        if data is None and expected is None:
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        with _folder(path) as folder:
            if data is None:
                temporary = _temporary_name()
                done = exchange.take_away(temporary, path.name, folder, expected or b"")
            else:
                with self._temporary(folder, data, _plain(path, folder)) as temporary:
                    done = exchange.place(temporary, path.name, folder, expected)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            self._sync(folder)
        return done

    def _replace(self, name: str, folder: int, data: bytes, old: os.stat_result | None) -> None:
        with self._temporary(folder, data, old) as temporary:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        self._sync(folder)

    @contextlib.contextmanager
    def _temporary(self, folder: int, data: bytes, old: os.stat_result | None) -> Iterator[str]:
        """A synced file of ours that holds ``data``; removed when the block fails."""
        temporary = _temporary_name()
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as handle:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # says to sweep() that we live
                if old is not None:
                    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
                handle.write(data)
                handle.flush()
                self._sync(descriptor)
                yield temporary
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _sync(self, descriptor: int) -> None:
        if self.durable:
            os.fsync(descriptor)


def _temporary_name() -> str:
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"


def sweep(folder: Path) -> None:
    """Remove the temporaries of writers that died; a living one holds a lock on its own."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for name in os.listdir(descriptor):  # noqa: PTH208 - a descriptor, not a path
            if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX):
                with contextlib.suppress(OSError):
                    _remove_if_dead(name, descriptor)
    finally:
        os.close(descriptor)


def _remove_if_dead(name: str, folder: int) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(descriptor)


class DryRunWriter:
    """Answers what :class:`AtomicWriter` would do, and does nothing."""

    def write(self, path: Path, data: bytes) -> Change:
        """See :class:`Writer`."""
        current = read_plain(path)
        if current == data:
            return Change.UNCHANGED
        return Change.CREATED if current is None else Change.UPDATED

    def remove(self, path: Path) -> Change:
        """See :class:`Writer`."""
        return Change.UNCHANGED if read_plain(path) is None else Change.REMOVED


class RefusingWriter(DryRunWriter):
    """Raises :class:`RefusedWriteError` for every write that would change something."""

    def write(self, path: Path, data: bytes) -> Change:
        """See :class:`Writer`."""
        return _refuse(super().write(path, data), path)

    def remove(self, path: Path) -> Change:
        """See :class:`Writer`."""
        return _refuse(super().remove(path), path)


def _refuse(change: Change, path: Path) -> Change:
    if change:
        raise RefusedWriteError(f"would be {change.value}", where=path.name)
    return change


def read_plain(path: Path) -> bytes | None:
    """A plain file's bytes, or None when it is absent; a link is an ``UnsafePathError``."""
    try:
        with _folder(path) as folder:
            if _plain(path, folder) is None:
                return None
            return _read(path.name, folder)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    # The folder is opened once and everything happens relative to it: a folder swapped for
    # a link between two steps is then not followed.
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafePathError("its folder is a link or a file", where=path.name) from error
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _plain(path: Path, folder: int) -> os.stat_result | None:
    try:
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePathError(
            "not a plain file",
            where=path.name,
            hint="move it away; git-handoff follows no link and replaces no folder",
        )
    return status


def _holds(path: Path, folder: int, status: os.stat_result, data: bytes) -> bool:
    return status.st_size == len(data) and _read(path.name, folder) == data


def _read(name: str, folder: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as handle:
        return handle.read()
