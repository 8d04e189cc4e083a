"""Locks are the kernel's: held by a process, and gone with it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from handoff_state import BusyError, UnsafePathError
from handoff_state.locks import exclusive, is_held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOCK = """
import pathlib, sys
from handoff_state.locks import exclusive
with exclusive(pathlib.Path(sys.argv[1]), timeout=5):
    print("held", flush=True)
    sys.stdin.readline()
"""
LOCKF = """
import fcntl, sys
with open(sys.argv[1], "w") as handle:
    fcntl.lockf(handle, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def holder(script: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is told to go."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        if process.poll() is None:
            process.communicate("go\n")


def test_a_lock_held_elsewhere_is_busy_after_the_wait_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "local" / "x.lock"
    with holder(FLOCK, path):
        started = time.monotonic()
        with (
            pytest.raises(BusyError, match="another process holds it") as caught,
            exclusive(path, timeout=0.2),
        ):
            pass
        assert 0.2 <= time.monotonic() - started < 2
        assert caught.value.where == "x.lock"
        assert caught.value.hint


def test_a_lock_is_taken_as_soon_as_its_holder_is_done(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with holder(FLOCK, path) as process:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        with exclusive(path, timeout=5):
            pass


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with holder(FLOCK, path) as process:
        process.kill()
        process.wait()
        assert not is_held(path)
        with exclusive(path, timeout=0):
            pass


def test_an_error_under_the_lock_lets_it_go(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(RuntimeError), exclusive(path, timeout=0):
        raise RuntimeError
    with exclusive(path, timeout=0):
        assert is_held(path)
    assert not is_held(path)


@pytest.mark.parametrize("script", [FLOCK, LOCKF], ids=["flock", "lockf"])
def test_a_probe_sees_a_daemon_by_either_kind_of_lock(script: str, tmp_path: Path) -> None:
    path = tmp_path / "poll.pid"
    assert not is_held(path)
    assert not path.exists()
    with holder(script, path):
        assert is_held(path)
    assert not is_held(path)


def test_a_file_that_cannot_be_probed_counts_as_held(tmp_path: Path) -> None:
    (tmp_path / "poll.pid").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder").mkdir()
    assert is_held(tmp_path / "poll.pid")
    assert is_held(tmp_path / "folder")


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(UnsafePathError, match=r"x\.lock"),
        exclusive(tmp_path / "x.lock", timeout=0),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_lock_file_stays_when_the_lock_goes(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with exclusive(path, timeout=0):
        inode = path.stat().st_ino
    assert path.stat().st_ino == inode
