"""This machine's poll clocks: best-effort both ways, and joined where a local reader looks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from data.samples import LOCAL, RECORDS, read
from handoff_state import HandoffError, StateLayout, WorkItemStore
from handoff_state.clocks import PollClockStore
from handoff_state.views import get_work_item, list_work_items

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject

REF, PULL = "github:octo/repo#15", "github:octo/lib#7"
T1, T2 = "2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z"


@pytest.fixture
def clocks(layout: StateLayout) -> PollClockStore:
    return PollClockStore(layout.poll_clocks)


def test_a_clock_is_kept_per_ref_and_forgotten_with_it(clocks: PollClockStore) -> None:
    clocks.put(REF, {"lastPolledAt": T1})
    clocks.put(PULL, {"lastPolledAt": T1, "closureCheckedAt": T2})
    clocks.put(REF, {"lastPolledAt": T2})
    assert clocks.get(REF) == {"lastPolledAt": T2}
    clocks.forget(REF)
    assert clocks.all() == {PULL: {"lastPolledAt": T1, "closureCheckedAt": T2}}
    assert clocks.get(REF) == {}


def test_the_file_of_the_reference_consumer_is_read_and_written_back_as_it_is(
    clocks: PollClockStore,
) -> None:
    data = (LOCAL / "poll-clocks.json").read_bytes()
    clocks.path.parent.mkdir(parents=True)
    clocks.path.write_bytes(data)
    known = clocks.get(REF)
    clocks.put("github:a/b#1", {"lastPolledAt": T1})
    clocks.forget("github:a/b#1")
    assert clocks.path.read_bytes() == data
    assert known == {"lastPolledAt": "2026-09-18T10:42:00Z"}


def test_the_file_is_found_from_the_portable_folder(layout: StateLayout) -> None:
    assert PollClockStore.beside(layout.portable).path == layout.poll_clocks


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"clocks": []}', b'{"clocks": {"x": 1, "y": {"lastPolledAt": 2}}}']
)
def test_a_clock_that_cannot_be_read_is_no_clock_and_the_next_write_repairs_the_file(
    clocks: PollClockStore, data: bytes
) -> None:
    clocks.path.parent.mkdir(parents=True)
    clocks.path.write_bytes(data)
    assert clocks.all() == {}
    clocks.put(REF, {"lastPolledAt": T1})
    assert clocks.all() == {REF: {"lastPolledAt": T1}}


def test_a_clock_that_cannot_be_written_is_logged_and_fails_nothing(
    clocks: PollClockStore, caplog: pytest.LogCaptureFixture
) -> None:
    clocks.path.parent.parent.mkdir()
    clocks.path.parent.write_bytes(b"a file where the folder belongs")
    with caplog.at_level(logging.WARNING):
        clocks.put(REF, {"lastPolledAt": T1})
    assert any("not written" in message for message in caplog.messages)


def test_a_record_is_shown_with_this_machines_clocks(
    layout: StateLayout, store: WorkItemStore, clocks: PollClockStore
) -> None:
    older = read(RECORDS / "older" / "portable-with-clocks.json")
    for section in ("poll", "pullRequests"):
        value = older[section]
        assert isinstance(value, dict)
        store.write_section(REF, section, value)
    clocks.put(REF, {"lastPolledAt": T2})
    clocks.put(PULL, {"closureCheckedAt": T1})
    shown = get_work_item(layout, REF)
    assert shown is not None
    poll, ledgers = shown["poll"], shown["pullRequests"]
    assert isinstance(poll, dict)
    assert isinstance(ledgers, dict)
    # What an old record still carries is read, and the local clock wins.
    assert (poll["lastPolledAt"], poll["closureCheckedAt"]) == (T2, "2026-09-14T10:00:00Z")
    assert ledgers[PULL] == {
        "seenComments": ["2460000007"], "commentAttempts": {},
        "lastPolledAt": "2026-09-15T10:42:00Z", "closureCheckedAt": T1,
    }  # fmt: skip
    assert clocks.get(REF) == {"lastPolledAt": T2}


def test_a_clock_that_lingers_makes_no_section(
    layout: StateLayout, store: WorkItemStore, clocks: PollClockStore
) -> None:
    stop: JsonObject = {"command": "stop", "requestedAt": T1}
    store.write_section(REF, "control", stop)
    clocks.put(REF, {"lastPolledAt": T1})
    assert get_work_item(layout, REF) == store.read(REF)
    assert get_work_item(layout, PULL) is None


def test_a_listing_joins_every_record_and_hands_over_what_is_wrong(
    layout: StateLayout, store: WorkItemStore, clocks: PollClockStore
) -> None:
    store.write_section(REF, "poll", {"seenComments": []})
    clocks.put(REF, {"lastPolledAt": T1})
    (layout.portable / "jira-AB-1.json").write_bytes(b"{")
    listed = dict(list_work_items(layout))
    assert listed["github-octo-repo-15.json"] == get_work_item(layout, REF)
    assert isinstance(listed["jira-AB-1.json"], HandoffError)
