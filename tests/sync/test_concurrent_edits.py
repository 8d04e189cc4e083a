"""Both machines changed something: results as the merge table says, whichever syncs first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from world import FILE, ITEM, SCRIPT, Machine, World

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject

T1, T2, T3 = "2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z", "2026-09-14T11:00:00Z"


@pytest.fixture(params=["a first", "b first"])
def order(request: pytest.FixtureRequest, pair: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """The two machines in the order they sync after the concurrent edits."""
    a, b = pair
    return (a, b) if request.param == "a first" else (b, a)


def shared(a: Machine, b: Machine) -> None:
    a.sync()
    b.sync()


def meet(world: World, first: Machine, second: Machine) -> list[dict[str, object]]:
    """Sync both until equal; returns the documents of the syncs that joined."""
    documents = [machine.sync(code=None) for machine in (first, second, first, second)]
    assert first.bytes() == second.bytes()
    assert first.git("rev-parse", "HEAD") == second.git("rev-parse", "HEAD") == world.tip()
    return documents


def users(*logins: str) -> JsonObject:
    return {"users": [_user(login) for login in logins]}


def _user(login: str) -> JsonObject:
    return {"login": login, "addedBy": "octocat", "addedAt": T1, "source": "comment", "note": ""}


def in_history(world: World, text: str) -> bool:
    blobs = world.git("rev-list", "--objects", "main").splitlines()
    oids = [line.split()[0] for line in blobs if FILE in line]
    return any(text in world.git("cat-file", "blob", oid) for oid in oids)


def test_different_sections_are_both_kept(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_1")
    shared(a, b)
    a.control("start", T1)
    b.put("collaborators", users("dana"))
    meet(world, *order)
    assert a.command() == "start"
    assert a.record()["collaborators"] == users("dana")
    assert a.seen_ids() == ["IC_1"]


def test_set_additions_on_both_sides_are_united(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_1")
    shared(a, b)
    a.seen("IC_3")
    b.seen("IC_2")
    meet(world, *order)
    assert a.seen_ids() == ["IC_1", "IC_2", "IC_3"]


def test_a_removed_collaborator_stays_removed_beside_an_addition(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.put("collaborators", users("dana", "eve"))
    shared(a, b)
    a.put("collaborators", users("eve"))
    b.put("collaborators", users("dana", "eve", "finn"))
    meet(world, *order)
    assert a.record()["collaborators"] == users("eve", "finn")


def test_the_last_collaborator_revoked_beside_an_edit_stays_revoked(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_1")
    a.put("collaborators", users("dana"))
    shared(a, b)
    a.put("collaborators", None)
    edited = _user("dana") | {"note": "edited"}
    b.put("collaborators", {"users": [edited]})
    meet(world, *order)
    assert not a.record().get("collaborators")
    assert in_history(world, "edited")


def test_a_dropped_record_beside_an_edit_keeps_only_what_is_new(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_1")
    a.control("start", T1)
    shared(a, b)
    a.handoff("drop", ITEM)
    b.put("collaborators", users("dana"))
    meet(world, *order)
    assert a.record().get("control") is None
    assert "poll" not in a.record()
    assert a.record()["collaborators"] == users("dana")


def test_two_first_sights_of_one_item_are_united_without_a_common_base(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_1")
    a.put("collaborators", users("dana"))
    b.seen("IC_2")
    b.put("collaborators", users("eve"))
    meet(world, *order)
    assert a.seen_ids() == ["IC_1", "IC_2"]
    assert a.record()["collaborators"] == users("dana", "eve")


def test_an_unseen_stop_beats_a_later_start_and_is_reported(
    world: World, pair: tuple[Machine, Machine], order: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.control("start", T1)
    shared(a, b)
    a.control("stop", T2)
    b.control("start", T3, actor="eve")
    documents = meet(world, *order)
    assert a.command() == "stop"
    joined = documents[1]
    assert joined["records"][0]["outcome"] == "conflict"  # type: ignore[index]  # JSON of a known shape
    assert "an unanswered STOP" in json.dumps(joined)
    assert in_history(world, T3), "the refused start stays reachable"


def test_an_informed_start_is_not_refused(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.control("stop", T2)
    shared(a, b)
    b.control("start", T1)  # its clock runs behind; the graph does not care
    shared(b, a)
    assert a.command() == b.command() == "start"


def test_an_absorbed_pause_stays_open_and_keeps_the_item_disarmed(world: World) -> None:
    """A stops; C receives it and starts; B's unseen pause was absorbed by the stop."""
    a, b, c = (world.machine(name) for name in "abc")
    a.control("start", T1)
    world.settle(a, b, c)
    a.control("stop", T3)
    a.sync()
    c.sync()
    c.control("start", "2026-09-14T12:00:00Z")
    b.control("pause", T2)
    b.sync(code=None)
    c.sync(code=None)
    world.settle(a, b, c)
    assert {m.command() for m in (a, b, c)} == {"pause"}


def test_an_old_start_repaired_from_quarantine_does_not_rearm(world: World) -> None:
    a, b = world.machine("a"), world.machine("b")
    a.control("start", T1)
    a.seen("IC_1")
    world.settle(a, b)
    good = b.bytes()
    assert good is not None
    path = b.layout.portable / FILE
    path.write_bytes(good[:-20])
    a.control("stop", T2)
    a.seen("IC_2")
    a.sync()
    document = b.sync(code=1)
    assert document["records"][0]["outcome"] == "quarantined"  # type: ignore[index]  # JSON of a known shape
    assert path.read_bytes() == good[:-20], "quarantined bytes stay where they are"
    path.write_bytes(good)
    world.settle(b, a, b)
    assert a.command() == b.command() == "stop"
    assert a.seen_ids() == b.seen_ids() == ["IC_1", "IC_2"]


def test_facts_written_while_a_file_was_behind_are_not_lost(world: World) -> None:
    a, b = world.machine("a"), world.machine("b")
    a.seen("IC_1")
    world.settle(a, b)
    good = b.bytes()
    path = b.layout.portable / FILE
    path.write_bytes(b"{")
    a.seen("IC_2")
    a.sync()
    b.sync(code=1)
    assert good is not None
    path.write_bytes(good)
    b.seen("IC_3")
    world.settle(b, a, b)
    assert a.seen_ids() == b.seen_ids() == ["IC_1", "IC_2", "IC_3"]


def test_the_same_stop_given_again_is_a_new_decision(world: World) -> None:
    """A command that is written without a time can have the very bytes of an older one."""
    a, b, c = (world.machine(name) for name in "abc")
    stop: JsonObject = {"command": "stop", "actor": "octocat"}
    a.put("control", stop)
    world.settle(a, b)
    b.control("start", T1)
    b.sync()
    c.sync()
    c.put("control", stop)
    c.sync()
    b.control("start", T2)
    document = b.sync(code=1)
    assert b.command() == "stop"
    assert "an unanswered STOP" in json.dumps(document)


def test_an_unreadable_commit_over_a_stop_does_not_arm(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.control("start", T1)
    shared(a, b)
    a.control("stop", T2)
    a.sync()
    (a.layout.portable / FILE).write_bytes(b"<<<<<<<")
    a.git("commit", "-qam", "by hand")
    a.git("push", "-q")
    b.control("start", T3)
    b.sync(code=1)
    assert b.command() == "stop"


def test_a_settled_conflict_is_not_reported_again(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.control("start", T1)
    shared(a, b)
    a.control("stop", T2)
    b.control("start", T3)
    a.sync()
    b.sync(code=1)
    a.sync()
    for number in range(2):
        a.seen(f"IC_a{number}", ref="github:octo/repo#2")
        b.seen(f"IC_b{number}", ref="github:octo/repo#3")
        a.sync()
        assert b.sync()["outcome"] == "handed-off"
        a.sync()


def test_a_conflict_names_the_commits_to_look_in(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.put("lifecycle", {"startedAt": "x"})
    shared(a, b)
    a.put("lifecycle", {"startedAt": "a"})
    b.put("lifecycle", {"startedAt": "b"})
    a.sync()
    document = b.sync(code=1)
    detail = str(document["records"])
    named = [word for word in detail.replace(")", " ").split() if len(word) == 10]
    texts = [b.git("show", f"{oid}:.the-loop/portable/{FILE}", code=None) for oid in named]
    assert any('"a"' in text for text in texts)
    assert any('"b"' in text for text in texts)


def test_a_cleanup_set_aside_by_the_peer_is_not_answered_by_a_start_before_the_report(
    pair: tuple[Machine, Machine], world: World
) -> None:
    """The merge left the bytes as they were, so only the graph says that there was more."""
    a, b = pair
    a.control("start", T1)
    shared(a, b)
    a.control("stop", T2)
    a.sync()
    b.control("cleanup", T2)
    b.sync(code=1)
    a.control("stop", T3)
    unreported = f"{SCRIPT} sync --json >/dev/full"
    assert a.run("sh", "-c", unreported, code=None).returncode not in {0, 1}
    a.control("start", "2026-09-14T12:00:00Z")
    for machine in (a, b, a):
        machine.sync(code=None)
    assert a.command() == b.command() == "cleanup"
    assert a.bytes() == b.bytes()
    assert world.tip() == a.git("rev-parse", "HEAD")


def test_an_item_closed_again_is_not_answered_by_a_start_that_knew_the_first_closure(
    pair: tuple[Machine, Machine],
) -> None:
    a, b = pair
    first: JsonObject = {"state": "closed", "kind": "issue", "at": T1}
    a.put("ended", first)
    shared(a, b)
    a.put("ended", None)
    a.put("ended", first | {"at": T2})
    b.control("start", T3)
    a.sync()
    b.sync(code=None)
    a.sync(code=None)
    assert not a.command()
    assert a.bytes() == b.bytes()
