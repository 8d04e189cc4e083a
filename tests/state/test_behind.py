"""The behind map: which files this disk has not caught up with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from handoff_state import AtomicWriter, UnreadableRecordError
from handoff_state.behind import BehindFile, BehindMap, fingerprint, load, save

if TYPE_CHECKING:
    from pathlib import Path

FOUND, WRITTEN = b"what the sync found", b"what it was to write"
NAME = "github-octo-repo-15.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "local" / "handoff-behind.json"


def behind(before: bytes | None = FOUND, after: bytes | None = WRITTEN) -> BehindMap:
    entry = BehindFile(base="old", before=fingerprint(before), after=fingerprint(after))
    return BehindMap(tip="merge", previous="old", files={NAME: entry})


def base(known: BehindMap) -> str | None:
    return known.files[NAME].base


def test_an_absent_file_has_no_fingerprint_and_an_empty_one_has() -> None:
    assert fingerprint(None) is None
    assert fingerprint(b"") != fingerprint(b"x")


def test_no_file_is_an_empty_map_and_an_empty_map_is_no_file(path: Path) -> None:
    assert load(path) == BehindMap()
    save(path, behind(), AtomicWriter())
    save(path, BehindMap(), AtomicWriter())
    assert not path.exists()


def test_a_map_reads_back_as_it_was_saved(path: Path) -> None:
    held = BehindFile(base=None, held={"poll": {"seenComments": ["1"]}, "control": None})
    known = BehindMap(tip="merge", previous=None, files={**behind().files, "b.json": held})
    save(path, known, AtomicWriter())
    assert load(path) == known


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"schema": 2, "tip": null, "previous": null, "records": {}}',
     b'{"schema": 1, "previous": null, "records": {}}',
     b'{"schema": 1, "tip": 1, "previous": null, "records": {}}',
     b'{"schema": 1, "tip": null, "previous": null, "records": {"a": null}}',
     b'{"schema": 1, "tip": null, "previous": null, "records": {"a": {"base": null}}}'],
)  # fmt: skip
def test_a_damaged_map_is_unreadable_and_never_empty(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(UnreadableRecordError, match=r"handoff-behind\.json"):
        load(path)


def test_a_disk_that_shows_what_the_sync_was_to_write_has_caught_up() -> None:
    assert base(behind().settled(NAME, WRITTEN)) == "merge"


def test_a_removal_that_happened_has_caught_up_too() -> None:
    assert base(behind(after=None).settled(NAME, None)) == "merge"


@pytest.mark.parametrize("shown", [FOUND, b"what somebody wrote in between", None])
def test_any_other_bytes_leave_the_file_behind(shown: bytes | None) -> None:
    known = behind()
    assert known.settled(NAME, shown) is known


def test_equal_bytes_before_and_after_tell_nothing() -> None:
    known = behind(before=WRITTEN)
    assert known.settled(NAME, WRITTEN) is known


def test_a_file_that_is_not_behind_and_a_map_without_a_merge_stay_as_they_are() -> None:
    known = behind()
    assert known.settled("other.json", WRITTEN) is known
    no_tip = BehindMap(previous="old", files=known.files)
    assert no_tip.settled(NAME, WRITTEN) is no_tip
