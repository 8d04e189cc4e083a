"""What a control section means: does it arm, and which of two is stronger."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff_state.control import (
    ABSENT,
    ARMING,
    CLOSED,
    arms,
    decision_of,
    has_command,
    record_arms,
    strength,
)

if TYPE_CHECKING:
    from handoff_state.codec import JSON, JsonObject

T1, T2 = "2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z"
REF = "github:octo/repo#15"


def control(command: str, when: JSON = T1) -> JsonObject:
    return {"command": command, "requestedAt": when}


def test_the_words_that_arm_are_these() -> None:
    assert sorted(ARMING) == ["contribute", "do", "resume", "review", "start"]
    assert all(arms(control(word)) for word in ARMING)


@pytest.mark.parametrize(
    "section",
    [None, {}, "start", ["start"], control("stop"), control("Start"), control("execute"),
     control("start", "yesterday"), control("start", None), {"command": "start"},
     {"command": ["start"], "requestedAt": T1}, {"command": {}, "requestedAt": T1}],
)  # fmt: skip
def test_nothing_else_arms(section: JSON) -> None:
    assert not arms(section)


def test_a_closed_item_is_not_armed_by_a_left_over_command() -> None:
    armed: JsonObject = {"ref": REF, "control": control("start")}
    assert record_arms(armed)
    assert record_arms(armed | {"ended": None})
    assert not record_arms(armed | {"ended": {"at": T1}})
    assert not record_arms(None)


@pytest.mark.parametrize("ended", [{}, "yes", 1, [1]])
def test_a_closure_that_is_none_leaves_the_item_armed(ended: JSON) -> None:
    assert record_arms({"ref": REF, "control": control("start"), "ended": ended})


ORDER: list[JSON] = [
    control("stop"), control("pause"), control("cleanup"), control("execute"), None, ABSENT,
    control("launch"), control("start"),
]  # fmt: skip


@pytest.mark.parametrize(("stronger", "weaker"), list(itertools.pairwise(ORDER)), ids=str)
def test_of_two_that_do_not_know_each_other_the_one_that_arms_less_wins(
    stronger: JSON, weaker: JSON
) -> None:
    assert strength(stronger) > strength(weaker)


def test_a_closed_item_counts_as_a_cleared_control() -> None:
    assert strength(CLOSED)[0] == strength(None)[0]


def test_an_arming_word_whose_time_does_not_parse_counts_as_an_unknown_word() -> None:
    assert strength(control("start", "soon"))[0] == strength(control("launch"))[0]
    assert strength(control("start", "soon")) > strength(control("start", T2))


@pytest.mark.parametrize("word", ["stop", "start", "launch"])
def test_within_one_rank_the_later_time_wins_and_a_time_that_parses(word: str) -> None:
    assert strength(control(word, T2)) > strength(control(word, T1))
    if word != "start":
        assert strength(control(word, T1)) > strength(control(word, "9999"))


words = st.sampled_from(["stop", "pause", "cleanup", "execute", "start", "do", "launch"])
sections: st.SearchStrategy[JSON] = st.one_of(
    st.none(),
    st.builds(control, words, st.sampled_from([T1, T2, "soon", None])),
    st.sampled_from([1, "stop", ["start"], {}, {"command": ["stop"]}]),
)


@settings(deadline=None, max_examples=200)
@given(sections, sections)
def test_the_order_is_total_and_never_prefers_what_arms(one: JSON, two: JSON) -> None:
    stronger = max(one, two, key=strength)
    assert stronger == max(two, one, key=strength)
    assert not arms(stronger) or (arms(one) and arms(two))


def test_a_decision_is_the_command_or_why_there_is_none() -> None:
    assert decision_of(None) == ABSENT
    assert decision_of({"ref": REF}) == ABSENT
    assert decision_of({"ref": REF, "control": None}) == "null"
    assert decision_of({"ref": REF, "ended": {"at": T1}}) == CLOSED
    assert decision_of({"ref": REF, "control": None, "ended": {"at": T1}}) == CLOSED
    shown = decision_of({"ref": REF, "control": {"b": 1, "a": 2}, "ended": {"at": T1}})
    assert shown == '{"a":2,"b":1}'
    assert [has_command(word) for word in (ABSENT, CLOSED, "null", shown)] == [False] * 3 + [True]
