"""The merge table of records.md, one readable example a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from handoff_state.codec import encode
from handoff_state.merge import ABSENT, Conflict, merge_bytes, merge_records

if TYPE_CHECKING:
    from handoff_state.codec import JSON, JsonObject
    from handoff_state.merge import Value

REF = "github:octo/repo#15"
URL = "https://github.com/octo/repo/issues/15"
T1, T2, T3 = "2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z", "2026-09-14T11:00:00Z"


def record(**sections: Value) -> JsonObject:
    present = {key: value for key, value in sections.items() if value is not ABSENT}
    return {"ref": REF, "url": URL, **present}  # type: ignore[dict-item] # ABSENT is filtered out


def merged(section: str, base: Value, ours: Value, theirs: Value) -> Value:
    """One section merged, from both ends: every rule is symmetric."""
    sides = [record(**{section: side}) for side in (base, ours, theirs)]
    found, mirrored = merge_records(*sides), merge_records(sides[0], sides[2], sides[1])
    assert found.record is not None
    assert mirrored.record is not None
    assert encode(found.record) == encode(mirrored.record)
    assert found.conflicts == mirrored.conflicts
    return found.record.get(section, ABSENT)


def conflicts(section: str, base: Value, ours: Value, theirs: Value) -> list[tuple[str, str]]:
    """Where a rule chose, and what it set aside."""
    sides = [record(**{section: side}) for side in (base, ours, theirs)]
    return [(one.pointer, one.lost) for one in merge_records(*sides).conflicts]


def control(command: str, when: str = T1) -> JsonObject:
    return {"command": command, "requestedAt": when}


def users(*entries: JsonObject) -> JsonObject:
    return {"users": [*entries]}


def user(login: str, when: str = T1, **more: JSON) -> JsonObject:
    return {"login": login, "addedAt": when, **more}


def rooms(*entries: JsonObject) -> JsonObject:
    return {"channels": [*entries]}


def room(kind: str, target: str, when: str = T1) -> JsonObject:
    return {"type": kind, "target": target, "addedAt": when}


def thread(name: str, opened: str = T1, **more: JSON) -> JsonObject:
    return {"thread": name, "opened": opened, **more}


def ledger(*seen: str, **more: JSON) -> JsonObject:
    return {"seenComments": [*seen], **more}


# --- every one ------------------------------------------------------------------------------


def test_what_one_side_changed_is_taken_section_by_section() -> None:
    base = record(control=control("start"), lifecycle={"asked": 1})
    ours = base | {"control": control("stop", T2)}
    theirs = base | {"lifecycle": {"asked": 2}, "ended": None}
    assert merge_records(base, ours, theirs).record == base | ours | {
        "lifecycle": {"asked": 2}, "ended": None,
    }  # fmt: skip
    assert merge_records(base, ours, theirs).conflicts == ()


def test_two_first_sights_are_merged_over_nothing() -> None:
    ours, theirs = record(poll=ledger("1")), record(poll=ledger("2"), control=control("start"))
    expected = record(control=control("start"), poll=ledger("1", "2"))
    assert merge_records(None, ours, theirs).record == expected


def test_a_first_sight_on_one_side_is_no_removal_on_the_other() -> None:
    assert merge_records(None, None, record(poll={})).record == record(poll={})
    assert merge_records(None, None, None).record is None


def test_a_tombstone_beats_absence() -> None:
    base = record(sealed=True, lifecycle={"asked": 1})
    assert merge_records(base, record(sealed=None), record()).record == record(sealed=None)


def test_equal_values_in_different_writings_are_the_smaller_bytes_whichever_side_has_them() -> None:
    one: JsonObject = {"thread": "1", "channel": "C"}
    two: JsonObject = {"channel": "C", "thread": "1"}
    base, ours, theirs = record(), record(lifecycle=one, poll={}), record(lifecycle=two, graph={})
    expected = record(poll={}, lifecycle=two, graph={})
    for found in (merge_records(base, ours, theirs), merge_records(base, theirs, ours)):
        assert found.record is not None
        assert encode(found.record) == encode(expected)
        assert found.conflicts == ()


def test_a_merge_that_equals_a_side_keeps_that_sides_bytes() -> None:
    value = record(poll={})
    tight, loose = b'{"ref":1}', encode(value)
    assert merge_bytes(value, [(loose, value), (tight, value)]) == tight
    assert merge_bytes(value, [(loose, value), (tight, {})]) == loose
    assert merge_bytes(value, [(tight, {})]) == loose
    assert merge_bytes({"zeta": 1, **value}, []) == encode({**value, "zeta": 1})
    assert merge_bytes(None, [(tight, {})]) is None


# --- ref and url ----------------------------------------------------------------------------


def test_two_work_items_in_one_file_are_a_reported_conflict_and_never_mixed() -> None:
    ours: JsonObject = {"ref": "github:octo-repo/a#1", "poll": ledger("1")}
    theirs: JsonObject = {"ref": "github:octo/repo-a#1", "control": control("start")}
    for found in (merge_records(None, ours, theirs), merge_records({}, theirs, ours)):
        assert found.record == ours
        assert [(one.pointer, one.rule) for one in found.conflicts] == [
            ("$.ref", "two work items in one file")
        ]


def test_a_url_is_recomputed_and_never_guessed() -> None:
    base = record()
    ours, theirs = base | {"url": "https://a", "poll": {}}, base | {"url": "https://b", "graph": {}}
    merge = merge_records(base, ours, theirs).record
    assert merge is not None
    assert merge["url"] == URL
    jira: JsonObject = {"ref": "jira:PROJ-12"}
    assert merge_records(jira, jira | {"poll": {}}, jira | {"graph": {}}).record == {
        "ref": "jira:PROJ-12", "poll": {}, "graph": {},
    }  # fmt: skip


def test_a_url_of_a_ref_that_does_not_parse_is_left_as_it_stands() -> None:
    base: JsonObject = {"ref": "?", "url": "https://a"}
    merge = merge_records(base, base | {"poll": {}}, base | {"graph": {}}).record
    assert merge == base | {"poll": {}, "graph": {}}


# --- control, as a register -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        (control("stop"), control("start", T3)),
        (control("stop"), control("pause", T3)),
        (control("pause"), control("cleanup", T3)),
        (control("cleanup"), control("execute", T3)),
        (control("execute"), None),
        (None, control("start", T3)),
        (ABSENT, control("resume", T3)),
        (control("launch"), control("start", T3)),
        (control("start", T3), control("start", T2)),
    ],
)
def test_of_two_new_controls_the_one_that_arms_less_is_kept_and_the_other_reported(
    stronger: Value, weaker: Value
) -> None:
    base = control("review")
    assert merged("control", base, stronger, weaker) == stronger
    assert len(conflicts("control", base, stronger, weaker)) == 1


def test_an_arming_word_whose_time_does_not_parse_beats_one_that_arms() -> None:
    assert merged("control", None, control("start", "soon"), control("start")) == control(
        "start", "soon"
    )


def test_a_control_the_graph_has_decided_is_put_in_whatever_the_sides_say() -> None:
    base, ours, theirs = (record(poll={}, control=control(c)) for c in ("start", "stop", "pause"))
    stop = control("stop", T3)
    assert merge_records(base, ours, theirs, control=stop, decided=True).record == record(
        control=stop, poll={}
    )
    assert merge_records(base, base, base, control=None, decided=True).record == record(
        control=None, poll={}
    )
    assert merge_records(base, ours, ours, decided=True).record == record(poll={})
    assert merge_records(None, None, ours, decided=True).record == record(poll={})


def test_a_decided_stop_keeps_a_record_both_sides_removed_and_one_nobody_knows_stays_unknown() -> (
    None
):
    base, stop = record(poll={}, control=control("start")), control("stop", T3)
    kept = merge_records(base, None, None, control=stop, decided=True)
    assert kept.record == record(control=stop)
    assert merge_records(base, None, None, control=None, decided=True).record is None
    assert merge_records(None, None, None, control=stop, decided=True).record is None


# --- poll -----------------------------------------------------------------------------------


def test_seen_comments_are_a_set_in_base_order_then_additions_in_natural_order() -> None:
    assert merged(
        "poll", ledger("9", "b", "2"), ledger("9", "b", "2", "10"), ledger("2", "b", "3", "c10")
    ) == ledger("b", "2", "3", "10", "c10")


def test_no_seen_comment_is_evicted_by_a_merge() -> None:
    ours, theirs = [f"a{n}" for n in range(1500)], [f"b{n}" for n in range(1500)]
    found = merged("poll", ABSENT, ledger(*ours), ledger(*theirs))
    assert isinstance(found, dict)
    assert found["seenComments"] == [*ours, *theirs]


def test_ids_of_any_form_have_a_natural_order() -> None:
    odd = ["²", "٣", "1" * 5000, "", "01", "1", "x1", "x01"]
    found = merged("poll", ledger(), ledger("0"), ledger(*odd))
    assert found == ledger("", "0", "01", "1", "1" * 5000, "x01", "x1", "²", "٣")


def test_attempts_are_three_way_per_id_and_the_larger_where_both_counted() -> None:
    assert merged(
        "poll",
        ledger(commentAttempts={"1": 1, "2": 3, "4": 1}),
        ledger(commentAttempts={"1": 2, "2": 3, "4": 1}),
        ledger(commentAttempts={"1": 3, "2": 1, "5": 1}),
    ) == ledger(commentAttempts={"1": 3, "2": 1, "5": 1})


def test_a_comment_the_merge_has_as_seen_keeps_no_attempts() -> None:
    assert merged(
        "poll",
        ledger(commentAttempts={"1": 1}),
        ledger("1", commentAttempts={}),
        ledger(commentAttempts={"1": 2}),
    ) == ledger("1", commentAttempts={})


def test_of_two_spawn_ledgers_the_one_with_more_attempts_is_kept_whole() -> None:
    few: JsonObject = {"attempts": 1, "gaveUp": True, "deliveryId": "z"}
    many: JsonObject = {"attempts": 2, "gaveUp": False, "deliveryId": "a"}
    assert merged("poll", {"spawn": {}}, {"spawn": few}, {"spawn": many}) == {"spawn": many}
    same: JsonObject = {**few, "attempts": 2}
    assert merged("poll", {"spawn": {}}, {"spawn": same}, {"spawn": many}) == {"spawn": same}


def test_give_ups_are_a_set_within_what_is_seen_under_the_older_version() -> None:
    base = ledger("1", "2", gaveUp={"comments": ["1"], "version": "1.9.0"})
    ours = ledger("1", "2", "3", gaveUp={"comments": ["1", "3"], "version": "1.10.0"})
    theirs = ledger("2", "4", gaveUp={"comments": ["1", "4"], "version": "1.9.0"})
    assert merged("poll", base, ours, theirs) == ledger(
        "2", "3", "4", gaveUp={"comments": ["3", "4"], "version": "1.9.0"}
    )


def test_give_ups_that_are_all_withdrawn_leave_no_version() -> None:
    base = ledger("1", gaveUp={"comments": ["1"], "version": "1.0"}, title="a")
    ours, theirs = ledger("1", gaveUp={}, title="a"), {**base, "title": "b"}
    assert merged("poll", base, ours, theirs) == ledger("1", gaveUp={}, title="b")


def test_a_title_both_changed_is_the_larger_bytes_and_no_conflict() -> None:
    base, ours, theirs = ledger(title="a"), ledger(title="b"), ledger(title="c")
    assert merged("poll", base, ours, theirs) == theirs
    assert conflicts("poll", base, ours, theirs) == []


def test_a_ledger_keeps_the_order_of_the_reference_writer_and_unknown_fields() -> None:
    ours = ledger("2", tomorrow=1, title="a", commentAttempts={})
    theirs = ledger("1", spawn={}, tomorrow=2)
    found = merged("poll", ABSENT, ours, theirs)
    assert isinstance(found, dict)
    assert list(found) == ["seenComments", "commentAttempts", "spawn", "title", "tomorrow"]
    assert found["tomorrow"] == 2
    assert conflicts("poll", ABSENT, ours, theirs) == [("$.poll.tomorrow", "1")]


def test_a_cleared_ledger_stays_cleared_beside_a_changed_one() -> None:
    assert merged("poll", ledger("1"), None, ledger("1", "2")) is None
    assert merged("poll", ledger("1"), ABSENT, ledger("1", "2")) is ABSENT
    assert conflicts("poll", ledger(), None, ledger("2")) == [("$.poll", '{"seenComments":["2"]}')]


def test_null_in_a_ledger_is_an_empty_set() -> None:
    base: JsonObject = {"seenComments": None, "commentAttempts": None, "gaveUp": None}
    ours, theirs = base | {"seenComments": ["1"]}, base | {"seenComments": ["2"], "title": "x"}
    assert merged("poll", base, ours, theirs) == {
        "seenComments": ["1", "2"], "commentAttempts": {}, "gaveUp": {}, "title": "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    "strange",
    [{"seenComments": [1]}, {"commentAttempts": {"1": True}}, {"spawn": []}, {"seenComments": "x"},
     {"gaveUp": {"comments": 1}}, {"gaveUp": {"version": 1}}, [], "x"],
)  # fmt: skip
def test_a_ledger_of_another_shape_is_opaque_and_nothing_of_it_is_mixed(strange: JSON) -> None:
    other = ledger("1", title="~")
    found = merged("poll", ledger(), strange, other)
    assert found in (strange, other)
    assert len(conflicts("poll", ledger(), strange, other)) == 1


# --- pullRequests ---------------------------------------------------------------------------


def test_ledgers_are_merged_by_ref() -> None:
    base: JsonObject = {"a#1": ledger("1")}
    ours: JsonObject = {"a#1": ledger("1", "2"), "b#2": ledger()}
    theirs: JsonObject = {"a#1": ledger("1", "3"), "c#3": ledger("9")}
    assert merged("pullRequests", base, ours, theirs) == {
        "a#1": ledger("1", "2", "3"), "b#2": ledger(), "c#3": ledger("9"),
    }  # fmt: skip


def test_a_dropped_ledger_stays_dropped_beside_a_changed_one() -> None:
    base: JsonObject = {"a#1": ledger("1"), "b#2": ledger()}
    ours: JsonObject = {"b#2": ledger("5")}
    theirs: JsonObject = {"a#1": ledger("1", "2"), "b#2": ledger()}
    assert merged("pullRequests", base, ours, theirs) == ours
    assert conflicts("pullRequests", base, ours, theirs) == [
        ('$.pullRequests["a#1"]', '{"seenComments":["1","2"]}')
    ]


def test_ledgers_cleared_on_one_side_are_each_dropped_there() -> None:
    base: JsonObject = {"a#1": ledger("1")}
    theirs: JsonObject = {"a#1": ledger("1"), "b#2": ledger("2")}
    assert merged("pullRequests", base, None, theirs) == {"b#2": ledger("2")}
    assert merged("pullRequests", base, None, {"a#1": ledger("1", "2")}) is None


# --- collaborators --------------------------------------------------------------------------


def test_grants_of_two_people_are_both_kept_behind_the_ones_that_were_there() -> None:
    zoe, dana, eve = user("zoe"), user("dana"), user("eve")
    assert merged("collaborators", users(zoe), users(eve, zoe), users(zoe, dana)) == users(
        zoe, dana, eve
    )


def test_a_removal_wins_over_an_edit_of_the_grant() -> None:
    base, ours = users(user("dana"), user("eve")), users(user("eve"))
    theirs = users(user("dana", note="x"), user("eve"), user("finn"))
    assert merged("collaborators", base, ours, theirs) == users(user("eve"), user("finn"))
    assert [pointer for pointer, _ in conflicts("collaborators", base, ours, theirs)] == [
        "$.collaborators.dana"
    ]


@pytest.mark.parametrize("nobody", [None, users()])
def test_the_last_one_revoked_beside_an_edit_stays_revoked(nobody: JSON) -> None:
    found = merged("collaborators", users(user("dana")), nobody, users(user("dana", note="x")))
    assert found is None


def test_the_last_one_revoked_beside_a_new_grant_leaves_the_new_grant() -> None:
    base, theirs = users(user("dana")), users(user("dana"), user("eve"))
    assert merged("collaborators", base, None, theirs) == users(user("eve"))


def test_nobody_written_as_null_or_empty_or_not_at_all_is_one_value() -> None:
    nobodies: list[Value] = [None, ABSENT, users(), {"users": None}]
    for base in nobodies:
        for ours in nobodies:
            found = merged("collaborators", base, ours, users(user("dana")))
            assert found == users(user("dana"))


def test_one_person_granted_twice_is_the_earlier_grant_whatever_the_case_of_the_login() -> None:
    early, late = user("Dana", T1), user("dana", T2)
    assert merged("collaborators", users(), users(late), users(early)) == users(early)
    assert merged("collaborators", users(), users(late), users(user("dana", "soon"))) == users(late)


def test_a_person_without_a_login_is_known_by_the_slack_id() -> None:
    one: JsonObject = {"slack": "U1", "addedAt": T2}
    two: JsonObject = {"slack": "U1", "addedAt": T1}
    assert merged("collaborators", ABSENT, users(one, user("U1")), users(two)) == users(
        two, user("U1")
    )


# --- collaborationChannels ------------------------------------------------------------------


def test_a_room_declared_twice_for_one_type_is_the_later_and_removal_wins() -> None:
    base = rooms(room("slack", "A"), room("irc", "I"))
    ours = rooms(room("slack", "B", T2), room("irc", "J", T2))
    theirs = rooms(room("slack", "C", T3))
    assert merged("collaborationChannels", base, ours, theirs) == rooms(room("slack", "C", T3))


def test_a_room_whose_time_does_not_parse_yields_to_one_whose_time_does() -> None:
    good = rooms(room("slack", "B", T1))
    assert merged("collaborationChannels", ABSENT, good, rooms(room("slack", "C", "x"))) == good


def test_no_rooms_written_as_null_is_none() -> None:
    base = rooms(room("slack", "A"))
    edited = rooms(room("slack", "B", T2))
    assert merged("collaborationChannels", base, None, edited) is None


# --- channels -------------------------------------------------------------------------------


def test_a_side_that_still_names_the_bases_thread_yields() -> None:
    base: JsonObject = {"slack": thread("1", T1)}
    ours: JsonObject = {"slack": thread("1", T1, mode="quiet")}
    theirs: JsonObject = {"slack": thread("2", T3)}
    assert merged("channels", base, ours, theirs) == theirs


def test_of_two_new_threads_the_one_opened_earlier_stays_and_the_other_is_reported() -> None:
    first: JsonObject = {"slack": thread("2", T2)}
    second: JsonObject = {"slack": thread("3", T3)}
    bases: list[Value] = [ABSENT, {"slack": thread("1", T1)}]
    for base in bases:
        assert merged("channels", base, second, first) == first
        assert conflicts("channels", base, second, first) == [
            ("$.channels.slack", '{"opened":"2026-09-14T11:00:00Z","thread":"3"}')
        ]


def test_bindings_of_two_types_do_not_touch_each_other() -> None:
    assert merged("channels", ABSENT, {"slack": thread("1")}, {"irc": thread("2")}) == {
        "irc": thread("2"), "slack": thread("1"),
    }  # fmt: skip


def test_a_removed_binding_stays_removed_beside_an_edit_and_yields_to_a_new_thread() -> None:
    base: JsonObject = {"slack": thread("1")}
    assert merged("channels", base, {}, {"slack": thread("1", mode="quiet")}) is None
    assert merged("channels", base, {}, {"slack": thread("2")}) == {"slack": thread("2")}


# --- ended ----------------------------------------------------------------------------------


def test_of_two_new_closures_the_earlier_one_stands_whole() -> None:
    early: JsonObject = {"at": T1, "state": "closed"}
    late: JsonObject = {"at": T2, "state": "merged", "outcome": "x"}
    assert merged("ended", ABSENT, late, early) == early
    assert merged("ended", {"at": T3}, late, early) == early


def test_an_old_closure_yields_to_a_reopening_and_to_a_new_closure() -> None:
    base: JsonObject = {"at": T1, "state": "closed"}
    touched: JsonObject = {"at": T1, "state": "merged"}
    assert merged("ended", base, touched, None) is None
    assert merged("ended", base, touched, ABSENT) is None
    assert merged("ended", base, touched, {"at": T2}) == {"at": T2}


def test_a_closure_nobody_has_reopened_stands() -> None:
    assert merged("ended", {"at": T1}, None, {"at": T2}) == {"at": T2}
    assert merged("ended", {"at": T1}, ABSENT, {"at": T2}) == {"at": T2}


def test_what_is_terminal_belongs_to_its_own_closure_and_the_richer_of_two_is_kept() -> None:
    rich: JsonObject = {"by": "octocat", "why": "x"}
    one: JsonObject = {"at": T1, "terminal": rich}
    assert merged("ended", ABSENT, one, {"at": T1, "terminal": {"by": "zoe"}}) == one
    assert merged("ended", ABSENT, {"at": T1, "a": 1}, {"at": T1, "b": 1, "terminal": rich}) == {
        "at": T1, "a": 1, "terminal": rich,
    }  # fmt: skip
    assert merged("ended", ABSENT, {"at": T1}, {"at": T2, "terminal": rich}) == {"at": T1}


# --- lifecycle, graph, sealed, and any other key --------------------------------------------


@pytest.mark.parametrize("key", ["lifecycle", "graph", "tomorrow"])
def test_an_opaque_value_both_changed_is_the_larger_bytes_and_the_other_is_reported(
    key: str,
) -> None:
    assert merged(key, {"a": 0}, {"a": 1}, {"a": 2}) == {"a": 2}
    assert conflicts(key, {"a": 0}, {"a": 1}, {"a": 2}) == [(f"$.{key}", '{"a":1}')]
    assert merged(key, {"a": 0}, {"a": 1}, {"a": 0}) == {"a": 1}
    assert conflicts(key, {"a": 0}, {"a": 1}, {"a": 0}) == []


@pytest.mark.parametrize("key", ["lifecycle", "graph", "tomorrow"])
def test_an_emptied_opaque_value_stays_emptied_beside_a_change(key: str) -> None:
    assert merged(key, {"a": 0}, None, {"a": 2}) is None
    assert merged(key, {"a": 0}, ABSENT, {"a": 2}) is ABSENT


def test_true_and_one_are_a_conflict_and_not_the_same() -> None:
    assert merged("tomorrow", None, 1, True) is True
    assert len(conflicts("tomorrow", None, 1, True)) == 1


@pytest.mark.parametrize("key", ["pullRequests", "channels", "collaborators", "ended"])
def test_a_section_of_another_shape_is_opaque_and_never_taken_for_empty(key: str) -> None:
    found = merged(key, {}, ["x"], {"a": {"b": 1}})
    assert found == {"a": {"b": 1}}
    assert conflicts(key, {}, ["x"], {"a": {"b": 1}}) == [(f"$.{key}", '["x"]')]


# --- the whole record removed on one side ---------------------------------------------------

ARMED = record(
    control=control("start"),
    poll=ledger("1"),
    collaborators=users(user("dana")),
    lifecycle={"a": 1},
)


def removed_beside(**changes: JSON) -> JsonObject | None:
    found = merge_records(ARMED, None, {**ARMED, **changes})
    assert found == merge_records(ARMED, {**ARMED, **changes}, None)
    assert "$" in [one.pointer for one in found.conflicts]
    return found.record


@pytest.mark.parametrize(
    "changes",
    [
        {"poll": ledger("1", "2")},
        {"lifecycle": {"a": 2}},
        {"control": control("start", T3)},
        {"control": None},
        {"collaborators": users(user("dana", note="x"))},
        {"ended": None},
    ],
)
def test_a_removed_record_beside_a_mere_edit_goes_and_is_reported(changes: JsonObject) -> None:
    assert removed_beside(**changes) is None


@pytest.mark.parametrize(
    "news",
    [
        {"control": control("stop", T2)},
        {"control": control("pause", T2)},
        {"pullRequests": {"a#1": ledger()}},
        {"collaborators": users(user("eve"))},
        {"collaborationChannels": rooms(room("slack", "A"))},
        {"channels": {"slack": thread("1")}},
        {"ended": {"at": T2}},
        {"tomorrow": 1},
    ],
)
def test_what_is_new_beside_the_removal_keeps_the_record_and_nothing_else(news: JsonObject) -> None:
    assert removed_beside(**news) == record(**news)


def test_a_record_removed_beside_no_change_goes_without_a_word() -> None:
    assert merge_records(ARMED, None, ARMED).record is None
    assert merge_records(ARMED, None, ARMED).conflicts == ()


def test_a_conflict_names_the_place_and_the_rule_and_what_was_set_aside() -> None:
    base, ours, theirs = (record(control=control(c)) for c in ("do", "stop", "start"))
    assert merge_records(base, ours, theirs).conflicts == (
        Conflict(
            pointer="$.control",
            rule="decided on the commit graph",
            lost='{"command":"start","requestedAt":"2026-09-14T09:00:00Z"}',
        ),
    )
