"""Put a file in place only while its name still holds what was read.

For files that others replace without a lock: a rename that comes between our look and our
own would be overwritten unseen. Nothing here overwrites: a link makes a name that must not
exist, an exchange of two names shows what was there, and what was not expected goes back.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS
_NOT_OFFERED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def place(temporary: str, name: str, folder: int, expected: bytes | None) -> bool:
    """Give ``temporary``'s file the name, if ``expected`` (None: nothing) is there.

    Both names are in ``folder``; the temporary may be left, and is the caller's to remove.
    """
    if expected is None:
        return _link(temporary, name, folder)
    ours = content(temporary, folder)
    try:
        if not _exchange(temporary, name, folder):
            return _rename(temporary, name, folder, expected)
    except FileNotFoundError:
        return False
    theirs = content(temporary, folder)
    if theirs == expected:
        return True
    while True:
        # What came out is newer than what we looked at: it goes back, unless yet another
        # version has taken the place meanwhile, which then is the one to keep.
        _exchange(temporary, name, folder)
        found = content(temporary, folder)
        if found == ours:
            return False
        ours, theirs = theirs, found


def take_away(temporary: str, name: str, folder: int, expected: bytes) -> bool:
    """Move the file of that name to ``temporary``, if it holds ``expected``."""
    try:
        os.rename(name, temporary, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return False
    if content(temporary, folder) == expected:
        return True
    _link(temporary, name, folder)
    return False


def content(name: str, folder: int) -> bytes | None:
    """A plain file's bytes; None for anything else."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as handle:
            return handle.read()
    except OSError:
        return None


def _link(temporary: str, name: str, folder: int) -> bool:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def _rename(temporary: str, name: str, folder: int, expected: bytes) -> bool:
    """The next best where names cannot be exchanged: look and rename, microseconds apart."""
    if content(name, folder) != expected:
        return False
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _exchange(one: str, other: str, folder: int) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    import ctypes

    call = _system_call()
    if call is None:
        return False
    if call(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), other)


@cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    for name in ("renameat2", "renameatx_np"):
        call: Callable[[int, bytes, int, bytes, int], int] | None = getattr(library, name, None)
        if call is not None:
            return call
    return None
