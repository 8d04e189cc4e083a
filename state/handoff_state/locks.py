"""Advisory file locks: the kernel answers who holds one, and lets go when a process dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from typing import TYPE_CHECKING

from handoff_state.errors import BusyError, UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


@contextlib.contextmanager
def exclusive(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold an exclusive flock on ``path``, waiting up to ``timeout`` seconds.

    The file is made when missing and never removed: removing a lock file lets two holders
    lock two files of one name. Raises :class:`BusyError` and :class:`UnsafePathError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnsafePathError("a lock file that is a link", where=path.name) from error
        raise
    try:
        _acquire(descriptor, path, timeout)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether some process holds a lock on ``path``; a missing file is held by nobody.

    A file that cannot be probed counts as held: a failed probe is not "nobody". Not for a
    file this process itself holds by ``lockf``: the probe's close would let that lock go.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        # A daemon may use record locks (lockf) instead of flock; they are a separate table.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquire(descriptor: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise BusyError(
                    f"another process holds it (waited {timeout:g} s)",
                    where=path.name,
                    hint="wait for the other git-handoff run or daemon write, then run this again",
                ) from None
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return
