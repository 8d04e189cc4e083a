"""Portable records: one file a work item, written one section at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from data.samples import OLDER, PORTABLE, read
from handoff_state import (
    BusyError,
    Change,
    DryRunWriter,
    HandoffError,
    RefError,
    RefusedWriteError,
    RefusingWriter,
    SectionError,
    SlugCollisionError,
    StateLayout,
    UnreadableRecordError,
    UnsafePathError,
    WorkItemStore,
)
from handoff_state import behind as behind_map
from handoff_state.behind import BehindFile, BehindMap, fingerprint
from handoff_state.codec import encode
from handoff_state.locks import exclusive
from handoff_state.workitems import read_record
from handoff_state.writer import AtomicWriter

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.codec import JsonObject

REF = "github:octo/repo#15"
URL = "https://github.com/octo/repo/issues/15"
STOP: JsonObject = {"command": "stop", "requestedAt": "2026-09-14T09:00:00Z"}
LEDGER: JsonObject = {"seenComments": ["1"], "commentAttempts": {}, "spawn": {}}


def put(layout: StateLayout, record: JsonObject | bytes, ref: str = REF) -> Path:
    """Lay a record down as something else than the store would."""
    path = layout.record(ref)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(record if isinstance(record, bytes) else encode(record))
    return path


def state(path: Path) -> tuple[bytes, int, int]:
    found = path.stat()
    return path.read_bytes(), found.st_ino, found.st_mtime_ns


def listed(layout: StateLayout) -> list[JsonObject]:
    rows: list[JsonObject] = json.loads(layout.index.read_bytes())["workItems"]
    return rows


def test_the_first_section_makes_the_record_and_its_row(
    store: WorkItemStore, layout: StateLayout
) -> None:
    assert store.write_section(REF, "control", STOP) is Change.CREATED
    assert layout.record(REF).read_bytes() == encode({"ref": REF, "url": URL, "control": STOP})
    assert listed(layout) == [
        {"ref": REF, "url": URL, "file": "github-octo-repo-15.json", "sections": ["control"]}
    ]


def test_an_item_that_has_no_url_gets_none(store: WorkItemStore, layout: StateLayout) -> None:
    store.write_section("jira:PROJ-12", "control", STOP)
    assert list(read(layout.record("jira:PROJ-12"))) == ["ref", "control"]
    assert listed(layout) == [
        {"ref": "jira:PROJ-12", "file": "jira-PROJ-12.json", "sections": ["control"]}
    ]


def test_a_write_replaces_one_section_and_leaves_the_rest(store: WorkItemStore) -> None:
    store.write_section(REF, "poll", LEDGER)
    store.write_section(REF, "control", STOP)
    store.write_section(REF, "poll", LEDGER | {"title": "new"})
    assert store.read(REF) == {
        "ref": REF, "url": URL, "control": STOP, "poll": LEDGER | {"title": "new"},
    }  # fmt: skip
    assert list(store.read(REF)) == ["ref", "url", "control", "poll"]
    assert store.section(REF, "control") == STOP
    assert store.section(REF, "ended") is None


def test_an_item_nobody_knows_reads_as_nothing(store: WorkItemStore, layout: StateLayout) -> None:
    assert store.read(REF) == {}
    assert store.section(REF, "control") is None
    assert store.files() == []
    assert list(store.records()) == []
    assert store.drop(REF) is Change.UNCHANGED
    assert store.write_section(REF, "control", None) is Change.UNCHANGED
    assert not layout.portable.exists()


@pytest.mark.parametrize("path", PORTABLE + OLDER, ids=lambda path: path.stem)
def test_a_record_of_the_reference_writer_changes_in_the_section_written_and_nowhere_else(
    store: WorkItemStore, layout: StateLayout, path: Path
) -> None:
    record = read(path)
    ref = str(record["ref"])
    copy = put(layout, path.read_bytes(), ref)
    store.write_section(ref, "control", STOP)
    expected = record | {"control": STOP}
    assert read(copy) == expected
    store.write_section(ref, "control", STOP | {"note": "x"})
    known = record.get("control")
    if isinstance(known, dict):
        store.write_section(ref, "control", known)
        assert copy.read_bytes() == path.read_bytes()


def test_unknown_keys_survive_behind_the_known_ones_in_their_order(
    store: WorkItemStore, layout: StateLayout
) -> None:
    poll: JsonObject = {"seenComments": [], "tomorrow": {"x": [1.0, True]}}
    put(layout, {"zeta": 1, "ref": REF, "alpha": None, "poll": poll, "url": URL})
    store.write_section(REF, "control", STOP)
    assert list(store.read(REF)) == ["ref", "url", "control", "poll", "zeta", "alpha"]
    assert store.section(REF, "poll") == poll


def test_a_removed_section_leaves_a_tombstone(store: WorkItemStore, layout: StateLayout) -> None:
    store.write_section(REF, "poll", LEDGER)
    store.write_section(REF, "control", STOP)
    assert store.write_section(REF, "control", None) is Change.UPDATED
    assert store.read(REF)["control"] is None
    assert store.section(REF, "control") is None
    assert listed(layout) == [
        {"ref": REF, "url": URL, "file": "github-octo-repo-15.json", "sections": ["poll"]}
    ]


def test_the_last_section_takes_the_record_and_the_index_with_it(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section(REF, "poll", LEDGER)
    store.write_section(REF, "control", STOP)
    store.write_section(REF, "poll", None)
    assert store.write_section(REF, "control", None) is Change.REMOVED
    assert list(layout.portable.iterdir()) == []


def test_a_sealed_record_and_one_with_an_unknown_key_are_not_empty(
    store: WorkItemStore, layout: StateLayout
) -> None:
    left: list[JsonObject] = [{"sealed": True}, {"tomorrow": []}]
    for rest in left:
        path = put(layout, {"ref": REF, "url": URL, "control": STOP, **rest})
        assert store.write_section(REF, "control", None) is Change.UPDATED
        assert read(path) == {"ref": REF, "url": URL, "control": None} | rest


def test_a_dropped_record_is_gone_with_its_row(store: WorkItemStore, layout: StateLayout) -> None:
    store.write_section(REF, "control", STOP)
    store.write_section("jira:PROJ-12", "control", STOP)
    assert store.drop(REF) is Change.REMOVED
    assert store.files() == ["jira-PROJ-12.json"]
    assert [row["ref"] for row in listed(layout)] == ["jira:PROJ-12"]


def test_nothing_learned_means_nothing_written(store: WorkItemStore, layout: StateLayout) -> None:
    store.write_section(REF, "poll", LEDGER)
    before = state(layout.record(REF)), state(layout.index)
    assert store.write_section(REF, "poll", dict(reversed(LEDGER.items()))) is Change.UNCHANGED
    assert store.update_section(REF, "poll", lambda old: old) is Change.UNCHANGED
    assert (state(layout.record(REF)), state(layout.index)) == before


def test_one_and_true_are_something_learned(store: WorkItemStore) -> None:
    store.write_section(REF, "lifecycle", {"asked": 1})
    assert store.write_section(REF, "lifecycle", {"asked": True}) is Change.UPDATED


def test_an_update_decides_on_what_is_on_the_disk(store: WorkItemStore) -> None:
    def see(ledger: JsonObject | None) -> JsonObject:
        known = (ledger or {}).get("seenComments")
        return {"seenComments": [*(known if isinstance(known, list) else []), "x"]}

    store.update_section(REF, "poll", see)
    store.update_section(REF, "poll", see)
    assert store.section(REF, "poll") == {"seenComments": ["x", "x"]}


def test_an_update_that_fails_writes_nothing_and_lets_the_lock_go(
    store: WorkItemStore, layout: StateLayout
) -> None:
    def fail(_: JsonObject | None) -> JsonObject:
        raise RuntimeError

    store.write_section(REF, "control", STOP)
    before = state(layout.record(REF))
    with pytest.raises(RuntimeError):
        store.update_section(REF, "control", fail)
    assert state(layout.record(REF)) == before
    store.write_section(REF, "poll", LEDGER)


@pytest.mark.parametrize("name", ["ref", "url", "graph", "sealed", "controls", ""])
def test_what_is_no_section_is_not_written(
    store: WorkItemStore, layout: StateLayout, name: str
) -> None:
    with pytest.raises(SectionError) as caught:
        store.write_section(REF, name, {})
    assert "control" in caught.value.hint
    assert not layout.portable.exists()


def test_a_ref_is_checked_before_it_becomes_a_path(store: WorkItemStore) -> None:
    for act in (store.read, store.drop):
        with pytest.raises(RefError):
            act("github:../repo#1")
    with pytest.raises(RefError):
        store.write_section("../../etc", "control", STOP)


def refuses_everything(store: WorkItemStore, ref: str, error: type[HandoffError]) -> list[str]:
    messages = []
    for act in (
        lambda: store.read(ref),
        lambda: store.section(ref, "control"),
        lambda: store.write_section(ref, "control", STOP),
        lambda: store.write_section(ref, "control", None),
        lambda: store.drop(ref),
    ):
        with pytest.raises(error) as caught:
            act()
        messages.append(str(caught.value))
    return messages


def test_two_items_of_one_file_name_are_an_error_that_names_both_and_changes_nothing(
    store: WorkItemStore, layout: StateLayout
) -> None:
    one, two = "github:octo-repo/a#1", "github:octo/repo-a#1"
    store.write_section(one, "control", STOP)
    before = state(layout.record(one)), state(layout.index)
    for message in refuses_everything(store, two, SlugCollisionError):
        assert one in message
        assert two in message
    assert (state(layout.record(one)), state(layout.index)) == before


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xef\xbb\xbf{}", b'{"ref": "github:octo/repo#15", "ref": 1}',
     b'{"control": null}', b'{"ref": 15}', b'{"ref": "octo/repo#15"}'],
)  # fmt: skip
def test_an_unreadable_record_is_not_an_absent_one_and_stays_as_it_is(
    store: WorkItemStore, layout: StateLayout, data: bytes
) -> None:
    before = state(put(layout, data))
    for message in refuses_everything(store, REF, UnreadableRecordError):
        assert message.startswith("github-octo-repo-15.json: $")
    assert state(layout.record(REF)) == before


def test_a_link_is_not_followed(store: WorkItemStore, layout: StateLayout, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_bytes(encode({"ref": REF, "control": STOP}))
    layout.portable.mkdir(parents=True)
    layout.record(REF).symlink_to(target)
    refuses_everything(store, REF, UnsafePathError)
    assert layout.record(REF).is_symlink()


def test_a_listing_leaves_out_what_is_no_record_and_hands_over_what_is_wrong(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section(REF, "control", STOP)
    put(layout, b"{", "jira:PROJ-12")
    for name in (".hidden.json", ".handoff-1.tmp", "notes.txt"):
        (layout.portable / name).write_bytes(b"{}")
    (layout.portable / "other-name.json").write_bytes(encode({"ref": REF}))
    found = dict(store.records())
    assert list(found) == ["github-octo-repo-15.json", "jira-PROJ-12.json", "other-name.json"]
    assert found["github-octo-repo-15.json"] == store.read(REF)
    assert isinstance(found["jira-PROJ-12.json"], UnreadableRecordError)
    assert isinstance(found["other-name.json"], SlugCollisionError)


def test_a_record_read_by_its_file_name_must_be_of_that_name() -> None:
    data = encode({"ref": REF})
    assert read_record(data, "github-octo-repo-15.json") == {"ref": REF}
    with pytest.raises(SlugCollisionError, match="github-octo-repo-16"):
        read_record(data, "github-octo-repo-16.json")
    with pytest.raises(UnreadableRecordError, match=r"\$\.ref: names no work item"):
        read_record(b"{}", "github-octo-repo-15.json")


def test_a_writers_lock_held_elsewhere_is_busy(layout: StateLayout) -> None:
    store = WorkItemStore(layout, lock_seconds=0.05)
    with exclusive(layout.portable_lock, timeout=0):
        with pytest.raises(BusyError):
            store.write_section(REF, "control", STOP)
        with pytest.raises(BusyError):
            store.drop(REF)
        assert store.read(REF) == {}


def test_a_dry_run_answers_and_leaves_portable_alone(layout: StateLayout) -> None:
    dry = WorkItemStore(layout, DryRunWriter())
    assert dry.write_section(REF, "control", STOP) is Change.CREATED
    assert not layout.portable.exists()
    WorkItemStore(layout).write_section(REF, "control", STOP)
    before = state(layout.record(REF)), state(layout.index)
    assert dry.write_section(REF, "control", STOP) is Change.UNCHANGED
    assert dry.write_section(REF, "poll", LEDGER) is Change.UPDATED
    assert dry.drop(REF) is Change.REMOVED
    assert (state(layout.record(REF)), state(layout.index)) == before


def test_a_refusing_store_lets_only_no_change_pass(layout: StateLayout) -> None:
    WorkItemStore(layout).write_section(REF, "control", STOP)
    refusing = WorkItemStore(layout, RefusingWriter())
    assert refusing.write_section(REF, "control", STOP) is Change.UNCHANGED
    with pytest.raises(RefusedWriteError):
        refusing.write_section(REF, "control", None)
    assert WorkItemStore(layout).section(REF, "control") == STOP


def left_behind(layout: StateLayout, data: bytes) -> None:
    entry = BehindFile(base="old", before=fingerprint(b"found"), after=fingerprint(data))
    known = BehindMap(tip="merge", previous="old", files={layout.record(REF).name: entry})
    behind_map.save(layout.handoff_behind, known, AtomicWriter())


def base(layout: StateLayout) -> str | None:
    return behind_map.load(layout.handoff_behind).files[layout.record(REF).name].base


def test_a_write_that_knew_the_merge_says_so_in_the_behind_map(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section(REF, "control", STOP)
    left_behind(layout, layout.record(REF).read_bytes())
    store.write_section(REF, "control", STOP)
    assert base(layout) == "old"
    store.write_section(REF, "poll", LEDGER)
    assert base(layout) == "merge"


def test_a_write_on_other_bytes_leaves_the_file_behind(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section(REF, "control", STOP)
    left_behind(layout, b"what the sync was to write")
    store.write_section(REF, "poll", LEDGER)
    assert base(layout) == "old"


def test_a_damaged_behind_map_stops_a_write_before_it_could_be_taken_for_a_late_one(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section(REF, "control", STOP)
    layout.handoff_behind.write_bytes(b"{")
    before = state(layout.record(REF))
    with pytest.raises(UnreadableRecordError, match=r"handoff-behind\.json"):
        store.write_section(REF, "poll", LEDGER)
    assert state(layout.record(REF)) == before


WRITE = """
import pathlib, sys
from handoff_state import StateLayout, WorkItemStore
store = WorkItemStore(StateLayout(pathlib.Path(sys.argv[1])))
section, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    def change(old):
        return {"seen": [*(old or {}).get("seen", []), number]}
    store.update_section("github:octo/repo#15", section, change)
"""


def test_processes_that_write_one_record_at_once_lose_nothing(layout: StateLayout) -> None:
    count = 60
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITE, layout.root, section, str(count)])
        for section in ("control", "poll", "poll")
    ]
    store = WorkItemStore(layout)
    while any(process.poll() is None for process in processes):
        store.read(REF)  # a reader takes no lock and never meets half a record
    assert [process.returncode for process in processes] == [0, 0, 0]
    control, poll = store.section(REF, "control"), store.section(REF, "poll")
    assert control == {"seen": [*range(count)]}
    assert poll is not None
    seen = poll["seen"]
    assert isinstance(seen, list)
    assert sorted(map(int, map(str, seen))) == sorted([*range(count)] * 2)
    assert [path.name for path in layout.portable.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.parametrize(
    "value", [{"x": float("nan")}, {"n": 2**63 + 1}, {"t": "x" * (4 * 1024 * 1024)}]
)
def test_a_value_no_reader_would_take_is_not_written(
    store: WorkItemStore, value: dict[str, object]
) -> None:
    store.write_section("github:octo/repo#15", "lifecycle", {"startedAt": "x"})
    with pytest.raises(SectionError):
        store.write_section("github:octo/repo#15", "lifecycle", value)  # type: ignore[arg-type]  # bad on purpose
    assert store.section("github:octo/repo#15", "lifecycle") == {"startedAt": "x"}


def test_a_section_that_is_no_object_is_not_written(store: WorkItemStore) -> None:
    with pytest.raises(SectionError):
        store.write_section("github:octo/repo#15", "lifecycle", [1])  # type: ignore[arg-type]  # bad on purpose


def test_a_broken_index_does_not_fail_a_write(store: WorkItemStore) -> None:
    store.write_section("github:octo/repo#15", "lifecycle", {"startedAt": "x"})
    store.layout.index.unlink()
    store.layout.index.symlink_to(store.layout.root / "elsewhere")
    assert store.write_section("github:octo/repo#15", "ended", {"state": "closed"})
