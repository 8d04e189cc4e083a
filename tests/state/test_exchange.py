"""A swap overwrites nothing but what was read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from handoff_state import AtomicWriter, UnsafePathError, exchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "record.json"
    path.write_bytes(b"read")
    path.chmod(0o640)
    return path


@pytest.fixture
def folder(file: Path) -> Iterator[int]:
    descriptor = os.open(file.parent, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def alone(file: Path) -> bool:
    return [path.name for path in file.parent.iterdir()] == [file.name]


def test_what_was_read_is_replaced_and_its_mode_kept(file: Path) -> None:
    assert AtomicWriter().swap(file, b"merged", b"read")
    assert file.read_bytes() == b"merged"
    assert file.stat().st_mode & 0o777 == 0o640
    assert alone(file)


def test_what_came_in_between_stays(file: Path) -> None:
    inode = file.stat().st_ino
    assert not AtomicWriter().swap(file, b"merged", b"something else")
    assert (file.read_bytes(), file.stat().st_ino) == (b"read", inode)
    assert alone(file)


def test_a_file_is_made_only_where_none_is(file: Path) -> None:
    assert not AtomicWriter().swap(file, b"merged", None)
    assert file.read_bytes() == b"read"
    file.unlink()
    assert AtomicWriter().swap(file, b"merged", None)
    assert file.read_bytes() == b"merged"
    assert file.stat().st_nlink == 1
    assert alone(file)


def test_a_file_is_taken_away_only_as_it_was_read(file: Path) -> None:
    assert not AtomicWriter().swap(file, None, b"something else")
    assert file.read_bytes() == b"read"
    assert AtomicWriter().swap(file, None, b"read")
    assert not file.exists()
    assert not AtomicWriter().swap(file, None, b"read")
    assert AtomicWriter().swap(file, None, None)
    assert list(file.parent.iterdir()) == []


def test_what_is_gone_is_not_brought_back(file: Path) -> None:
    file.unlink()
    assert not AtomicWriter().swap(file, b"merged", b"read")
    assert list(file.parent.iterdir()) == []


def test_a_link_or_folder_is_no_file(file: Path) -> None:
    file.rename(file.with_name("target"))
    file.symlink_to("target")
    with pytest.raises(UnsafePathError):
        AtomicWriter().swap(file, b"merged", b"read")
    file.unlink()
    file.mkdir()
    with pytest.raises(UnsafePathError):
        AtomicWriter().swap(file, b"merged", b"read")
    assert file.is_dir()


def test_a_link_that_came_in_between_goes_back(file: Path, folder: int) -> None:
    target = file.rename(file.with_name("target"))
    file.symlink_to(target)
    (file.parent / "ours").write_bytes(b"merged")
    assert not exchange.place("ours", file.name, folder, b"read")
    assert file.is_symlink()
    assert target.read_bytes() == b"read"


def test_where_names_cannot_be_exchanged_it_looks_and_renames(file: Path, folder: int) -> None:
    (file.parent / "ours").write_bytes(b"merged")
    assert not exchange._rename("ours", file.name, folder, b"something else")
    assert file.read_bytes() == b"read"
    assert exchange._rename("ours", file.name, folder, b"read")
    assert file.read_bytes() == b"merged"
