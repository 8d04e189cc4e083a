"""The derived list of records: whatever was written, it equals one built anew."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.samples import PORTABLE, read
from handoff_state import AtomicWriter, Change, StateLayout, WorkItemStore
from handoff_state.codec import encode
from handoff_state.index import build, patched, row
from handoff_state.refs import as_ref

if TYPE_CHECKING:
    from handoff_state.codec import JSON, JsonObject

#: Some are prefixes of others, and some sort otherwise by file name than by ref.
REFS = [
    "github:a/b#1", "github:a/b#10", "github:a/b#2", "github:a/b-1#1", "github:a-b/c#1",
    "github:ghe.example:80/a/b#1", "gitlab:a/b#1", "jira:AB-1", "jira:AB-11",
]  # fmt: skip
SECTIONS = ["control", "poll", "ended"]

refs = st.sampled_from(REFS)
some = st.lists(st.sampled_from(SECTIONS), unique=True)


def row_of(ref: str, names: list[str], *, sealed: bool = False) -> JsonObject:
    sections: JsonObject = {name: {} for name in names}
    return row(as_ref(ref).file, {"ref": ref, **sections, "sealed": sealed})


def test_rows_stand_by_ref_and_say_what_a_record_holds() -> None:
    rows = [row(path.name, read(path)) for path in reversed(PORTABLE)]
    ordered: list[JSON] = [*sorted(rows, key=lambda one: str(one["ref"]))]
    assert build(rows) == encode({"workItems": ordered})
    assert row("github-octo-repo-9.json", read(PORTABLE[-1])) == {
        "ref": "github:octo/repo#9",
        "url": "https://github.com/octo/repo/issues/9",
        "file": "github-octo-repo-9.json",
        "sections": ["control", "ended"],
    }


def test_a_tombstone_is_no_section_and_a_seal_is_shown() -> None:
    record: JsonObject = {"ref": "jira:AB-1", "control": None, "sealed": True}
    assert row("jira-AB-1.json", record) == {
        "ref": "jira:AB-1", "file": "jira-AB-1.json", "sections": [], "sealed": True,
    }  # fmt: skip


def test_no_record_is_no_index() -> None:
    assert build([]) is None


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(refs, some, min_size=1), refs, some, st.booleans(), st.booleans())
def test_a_patched_index_has_the_bytes_of_a_built_one(
    before: dict[str, list[str]], ref: str, names: list[str], removed: bool, sealed: bool
) -> None:
    rows = {known: row_of(known, held) for known, held in before.items()}
    index = build(rows.values())
    assert index is not None
    new = None if removed else row_of(ref, names, sealed=sealed)
    after = {known: one for known, one in rows.items() if known != ref}
    after |= {} if new is None else {ref: new}
    assert patched(index, ref, new) == (build(after.values()) or b"")


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_bytes_that_are_no_index_of_ours_are_patched_or_given_up_and_never_raise(
    data: st.DataObject,
) -> None:
    index = build(row_of(ref, ["control"]) for ref in REFS)
    assert index is not None
    start = data.draw(st.integers(0, len(index)))
    end = data.draw(st.integers(start, len(index)))
    torn = index[:start] + data.draw(st.sampled_from([b"", b"\n", b'"', b"\xff"])) + index[end:]
    assert isinstance(patched(torn, "github:a/b#3", row_of("github:a/b#3", [])), bytes | None)


writes = st.lists(
    st.tuples(refs, st.sampled_from([*SECTIONS, "drop", "lose", "tear", "empty"]), st.booleans()),
    max_size=12,
)


@settings(deadline=None, max_examples=40)
@given(writes)
def test_after_any_writes_the_index_is_the_one_built_anew(
    steps: list[tuple[str, str, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        layout = StateLayout(Path(folder))
        store = WorkItemStore(layout)
        for ref, action, there in steps:
            act(store, ref, action, there=there)
        # The index may be gone or torn until a write has another reason to touch it.
        store.write_section("github:z/z#1", "control", {})
        assert layout.index.read_bytes() == rebuilt(store)


def act(store: WorkItemStore, ref: str, action: str, *, there: bool) -> None:
    index = store.layout.index
    if action == "drop":
        store.drop(ref)
    elif action == "lose":
        index.unlink(missing_ok=True)
    elif action in {"tear", "empty"} and index.exists():
        index.write_bytes(b"" if action == "empty" else index.read_bytes()[:-9])
    elif action in SECTIONS:
        store.write_section(ref, action, {} if there else None)


def rebuilt(store: WorkItemStore) -> bytes | None:
    return build(row(name, record) for name, record in store.records() if isinstance(record, dict))


def test_a_rebuild_leaves_out_what_cannot_be_read_and_goes_with_the_last_record(
    store: WorkItemStore, layout: StateLayout
) -> None:
    store.write_section("jira:AB-1", "control", {})
    layout.index.unlink()
    (layout.portable / "jira-AB-2.json").write_bytes(b"{")
    assert store.rebuild_index() is Change.CREATED
    assert store.rebuild_index() is Change.UNCHANGED
    assert layout.index.read_bytes() == build([row_of("jira:AB-1", ["control"])])
    layout.record("jira:AB-1").unlink()
    assert store.rebuild_index() is Change.REMOVED


@pytest.mark.parametrize("torn", [False, True])
def test_records_somebody_else_wrote_are_brought_in_by_name(
    store: WorkItemStore, layout: StateLayout, *, torn: bool
) -> None:
    for ref in REFS[:3]:
        store.write_section(ref, "control", {})
    layout.record(REFS[0]).unlink()
    layout.record(REFS[1]).write_bytes(b"{")
    AtomicWriter().write(layout.record(REFS[4]), encode({"ref": REFS[4], "poll": {}}))
    if torn:
        layout.index.write_bytes(b"{")
    store.reindex(layout.record(ref).name for ref in (REFS[0], REFS[1], REFS[4]))
    assert layout.index.read_bytes() == rebuilt(store)
