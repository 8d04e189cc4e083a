"""The one writer: compared first, then atomically, or not at all."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from handoff_state import (
    AtomicWriter,
    Change,
    DryRunWriter,
    RefusedWriteError,
    RefusingWriter,
    UnsafePathError,
)
from handoff_state.writer import read_plain, sweep

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state import Writer

WRITERS = [AtomicWriter(), AtomicWriter(durable=False), DryRunWriter(), RefusingWriter()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "portable" / "record.json"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_write_makes_the_folders_and_says_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "record.json"
    writer = AtomicWriter()
    assert writer.write(path, b"one") is Change.CREATED
    assert writer.write(path, b"two") is Change.UPDATED
    assert writer.write(path, b"two") is Change.UNCHANGED
    assert path.read_bytes() == b"two"
    assert writer.remove(path) is Change.REMOVED
    assert writer.remove(path) is Change.UNCHANGED
    assert writer.remove(tmp_path / "nowhere" / "record.json") is Change.UNCHANGED
    assert names(path.parent) == []


def test_only_unchanged_is_falsy() -> None:
    assert [change for change in Change if not change] == [Change.UNCHANGED]


def test_an_unchanged_write_leaves_inode_and_time_and_bytes_alone(file: Path) -> None:
    os.utime(file, ns=(1_000_000_000, 1_000_000_001))
    before = file.stat()
    assert AtomicWriter().write(file, b"old") is Change.UNCHANGED
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names(file.parent) == ["record.json"]


def test_a_changed_write_is_a_new_file_under_the_old_name(file: Path) -> None:
    with file.open("rb") as reader:
        AtomicWriter().write(file, b"new")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_the_mode_of_the_file_is_kept(file: Path, mode: int) -> None:
    file.chmod(mode)
    AtomicWriter().write(file, b"new")
    assert file.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: type(writer).__name__)
def test_a_link_in_the_files_place_is_refused_and_its_target_untouched(
    writer: Writer, file: Path
) -> None:
    link = file.parent / "link.json"
    link.symlink_to(file)
    with pytest.raises(UnsafePathError, match=r"link\.json"):
        writer.write(link, b"new")
    with pytest.raises(UnsafePathError, match=r"link\.json"):
        writer.remove(link)
    with pytest.raises(UnsafePathError):
        read_plain(link)
    assert link.is_symlink()
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: type(writer).__name__)
@pytest.mark.parametrize("target", ["real", "missing", "plain file"])
def test_a_folder_that_is_no_folder_is_refused(writer: Writer, tmp_path: Path, target: str) -> None:
    (tmp_path / "real").mkdir()
    folder = tmp_path / "portable"
    if target == "plain file":
        folder.write_bytes(b"")
    else:
        folder.symlink_to(tmp_path / target)
    with pytest.raises(UnsafePathError, match="its folder is a link or a file"):
        writer.write(folder / "record.json", b"new")
    assert names(tmp_path / "real") == []
    assert not (tmp_path / "missing").exists()


def test_a_folder_or_a_pipe_in_the_files_place_is_refused(file: Path) -> None:
    (file.parent / "folder.json").mkdir()
    os.mkfifo(file.parent / "pipe.json")
    for name in ("folder.json", "pipe.json"):
        with pytest.raises(UnsafePathError, match="not a plain file"):
            AtomicWriter().write(file.parent / name, b"new")
        with pytest.raises(UnsafePathError, match="not a plain file"):
            read_plain(file.parent / name)


def test_a_dry_run_answers_what_the_real_one_would_and_does_nothing(file: Path) -> None:
    other = file.parent / "other.json"
    dry = DryRunWriter()
    answers = [dry.write(file, b"old"), dry.write(file, b"new"), dry.write(other, b""),
               dry.remove(file), dry.remove(other)]  # fmt: skip
    assert (names(file.parent), file.read_bytes()) == (["record.json"], b"old")
    real = AtomicWriter()
    assert answers[:3] == [
        real.write(file, b"old"),
        real.write(file, b"new"),
        real.write(other, b""),
    ]
    assert answers[3:] == [Change.REMOVED, Change.UNCHANGED]


def test_a_refusing_writer_lets_only_no_change_pass(file: Path) -> None:
    writer = RefusingWriter()
    assert writer.write(file, b"old") is Change.UNCHANGED
    assert writer.remove(file.parent / "other.json") is Change.UNCHANGED
    with pytest.raises(RefusedWriteError, match=r"record\.json: would be updated"):
        writer.write(file, b"new")
    with pytest.raises(RefusedWriteError, match="would be removed"):
        writer.remove(file)
    with pytest.raises(RefusedWriteError, match="would be created"):
        writer.write(file.parent / "none" / "other.json", b"")
    assert (names(file.parent), file.read_bytes()) == (["record.json"], b"old")


def test_writers_of_one_file_never_share_a_temporary(file: Path) -> None:
    texts = [bytes([65 + index]) * 50_000 for index in range(8)]
    failures: list[BaseException] = []

    def write(text: bytes) -> None:
        try:
            for _ in range(10):
                AtomicWriter(durable=False).write(file, text)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert file.read_bytes() in texts
    assert names(file.parent) == ["record.json"]


ENDLESS = """
import pathlib, sys
from handoff_state import AtomicWriter
path = pathlib.Path(sys.argv[1])
print("ready", flush=True)
for index in range(10**9):
    AtomicWriter(durable=False).write(path, b"%d" % index * 50_000)
"""


def test_a_killed_writer_leaves_a_whole_file_and_at_most_one_temporary(file: Path) -> None:
    argv = [sys.executable, "-c", ENDLESS, str(file)]
    for milliseconds in (20, 45, 70):
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(milliseconds / 1000)
            process.send_signal(signal.SIGKILL)
        left = [name for name in names(file.parent) if name != "record.json"]
        assert len(left) <= 1
        assert all(name.startswith(".handoff-") and name.endswith(".tmp") for name in left)
        text = file.read_bytes()
        assert text == b"old" or text == text[: len(text) // 50_000] * 50_000
        sweep(file.parent)
        assert names(file.parent) == ["record.json"]


def test_a_sweep_leaves_what_a_living_writer_and_others_made(file: Path) -> None:
    with (file.parent / ".handoff-0123.tmp").open("wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        (file.parent / "theirs.tmp").touch()
        (file.parent / ".handoff-link.tmp").symlink_to(file)
        sweep(file.parent)
        sweep(file.parent / "missing")
    left = [".handoff-0123.tmp", ".handoff-link.tmp", "record.json", "theirs.tmp"]
    assert sorted(names(file.parent)) == left


FULL = """
import pathlib, sys
from handoff_state import AtomicWriter
try:
    AtomicWriter().write(pathlib.Path(sys.argv[1]), b"x" * 100_000)
except OSError as error:
    sys.exit(f"refused: {error.strerror}")
"""


def test_a_write_that_finds_no_room_leaves_the_old_file(file: Path) -> None:
    # A file size limit fails the write in its middle, as a full disk does.
    limit = 20_000
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(file)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    # Whatever else measures the run (coverage) may stumble over the limit after us.
    assert done.stderr.startswith("refused: File too large\n")
    assert (names(file.parent), file.read_bytes()) == (["record.json"], b"old")
