"""The laws of the merge, on records grown from a common past by realistic edits.

``merge(o, a, b)`` is the merge of two versions over their base. Control is merged as a
register here, as a merge driver does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handoff_state.codec import canonical, encode
from handoff_state.control import record_arms
from handoff_state.merge import merge_bytes, merge_records
from laws.growth import REF, WHENS, Edit, Past, grown, pasts

if TYPE_CHECKING:
    from typing import TypeAlias

    from handoff_state.codec import JSON, JsonObject

    Record: TypeAlias = JsonObject | None


DISARMS = [("command", word) for word in ("stop", "pause", "cleanup", "execute", "sing")] + [
    ("uncommand", ""), ("end", "merged"),
]  # fmt: skip
SOMETHING = ("ask", "once")

law = settings(deadline=None, max_examples=250)


def merge(o: Record, a: Record, b: Record) -> Record:
    return merge_records(o, a, b).record


def value(record: Record) -> str:
    """A record's value: equal texts, equal values, whatever the order of keys."""
    return canonical(record)


def unordered(found: JSON) -> JSON:
    """A value where the order of a list is no part of it: its lists are sorted."""
    if isinstance(found, dict):
        return {key: unordered(item) for key, item in found.items()}
    if isinstance(found, list):
        return sorted((unordered(item) for item in found), key=canonical)
    return found


def settled(found: JSON) -> JSON:
    """A value up to what three versions may leave in another order, or say in another way.

    Absent, null and empty are one value; the label of give-ups depends on which of two
    versions met a side that withdrew them all.
    """
    bare = unordered(_bare(found))
    return bare if isinstance(bare, dict) and set(bare) != {"ref"} else None


def _bare(found: JSON) -> JSON:
    if not isinstance(found, dict):
        return found
    kept = {key: _bare(item) for key, item in found.items() if key != "version"}
    return {key: item for key, item in kept.items() if item not in (None, {}, [])}


def tombstone_beside_a_removal(past: Past) -> bool:
    """Whether a section the base had not is tombstoned while a side drops the whole record.

    Then the order of merges shows: the tombstone goes with the record where these two meet
    first, and beats the third version's value where it meets that one first.
    """
    new = [
        key
        for side in past[1:]
        for key, item in (side or {}).items()
        if item is None and (past.base or {}).get(key) is None
    ]
    return bool(new) and None in past[1:]


@law
@given(pasts())
def test_symmetric_to_the_byte_and_in_what_it_reports(past: Past) -> None:
    o, a, b, _ = past
    one, two = merge_records(o, a, b), merge_records(o, b, a)
    assert one.conflicts == two.conflicts
    assert value(one.record) == value(two.record)
    if one.record is not None and two.record is not None:
        assert encode(one.record) == encode(two.record)


@law
@given(pasts())
def test_idempotent(past: Past) -> None:
    o, a, _, _ = past
    assert value(merge(o, a, a)) == value(a)
    assert merge_records(o, a, a).conflicts == ()


@law
@given(pasts())
def test_a_side_that_changed_nothing_yields_to_the_other_without_a_word(past: Past) -> None:
    o, a, _, _ = past
    assert value(merge(o, o, a)) == value(a)
    assert merge_records(o, o, a).conflicts == ()


@law
@given(pasts())
def test_absorbing_a_side_merged_once_is_merged_for_good(past: Past) -> None:
    o, a, b, _ = past
    ab = merge(o, a, b)
    assert settled(merge(o, ab, a)) == settled(ab)
    assert settled(merge(o, merge(o, ab, b), a)) == settled(ab)


@law
@given(pasts())
def test_associative_over_one_base(past: Past) -> None:
    assume(not tombstone_beside_a_removal(past))
    o, a, b, c = past
    assert settled(merge(o, merge(o, a, b), c)) == settled(merge(o, a, merge(o, b, c)))


@law
@given(pasts())
def test_commutes_over_one_base_whichever_pair_meets_first(past: Past) -> None:
    assume(not tombstone_beside_a_removal(past))
    o, a, b, c = past
    assert settled(merge(o, merge(o, a, b), c)) == settled(merge(o, merge(o, a, c), b))


@law
@given(pasts(), st.sampled_from(DISARMS), st.sampled_from(WHENS))
def test_never_armed_while_a_side_has_newly_disarmed_or_closed_the_item(
    past: Past, disarm: tuple[str, str], when: str
) -> None:
    # Removing a whole record disarms too, but that no value can tell: only the commit graph.
    o, a, b, _ = past
    a = grown(a, [Edit(*SOMETHING, when), Edit(*disarm, when)])
    section = "ended" if disarm[0] == "end" else "control"
    assume(canonical((a or {}).get(section)) != canonical((o or {}).get(section)))
    assert not record_arms(merge(o, a, b))
    assert not record_arms(merge(o, b, a))


@law
@given(pasts())
def test_nobody_speaks_and_no_room_listens_that_a_side_has_removed(past: Past) -> None:
    o, a, b, _ = past
    for section, entries, key in (
        ("collaborators", "users", "login"),
        ("collaborationChannels", "channels", "type"),
    ):
        before, ours, theirs, merged = (
            _names(record, section, entries, key) for record in (o, a, b, merge(o, a, b))
        )
        assert not merged & ((before - ours) | (before - theirs))
        assert merged >= (ours & theirs) | (ours - before) | (theirs - before)


def _names(record: Record, section: str, entries: str, key: str) -> set[str]:
    found = (record or {}).get(section)
    listed = found.get(entries) if isinstance(found, dict) else None
    rows = listed if isinstance(listed, list) else []
    return {str(row[key]) for row in rows if isinstance(row, dict)}


@law
@given(pasts())
def test_no_comment_either_side_has_newly_seen_is_forgotten(past: Past) -> None:
    o, a, b, _ = past
    sides = [_ledger(record) for record in (o, a, b, merge(o, a, b))]
    assume(all(isinstance(side, dict) for side in sides[1:3]))
    before, ours, theirs, merged = (set(map(str, _seen(side))) for side in sides)
    assert merged == (ours & theirs) | (ours - before) | (theirs - before)


def _ledger(record: Record) -> JSON:
    return (record or {}).get("poll")


def _seen(ledger: JSON) -> list[JSON]:
    found = ledger.get("seenComments") if isinstance(ledger, dict) else None
    return found if isinstance(found, list) else []


@law
@given(pasts())
def test_an_unknown_key_survives_unless_a_side_removed_it(past: Past) -> None:
    o, a, b, _ = past
    assume(a is not None and b is not None)
    merged = merge(o, a, b) or {}
    for key in ("alpha", "zeta"):
        texts = [canonical((side or {}).get(key)) for side in (o, a, b)]
        removed = (o or {}).get(key) is not None and "null" in texts[1:]
        if not removed:
            assert canonical(merged.get(key)) == max(
                text for text in texts[1:] if text != texts[0] or len({*texts}) == 1
            )


words = st.sampled_from([name for deed, name in DISARMS if deed == "command"] + ["start", "do"])


@law
@given(pasts(), words, words, st.sampled_from(WHENS))
def test_of_two_commands_one_is_kept_and_the_other_reported(
    past: Past, one: str, two: str, when: str
) -> None:
    o, a, b, _ = past
    a, b = grown(a, [Edit("command", one, when)]), grown(b, [Edit("command", two, when)])
    assume(one != two and a is not None and b is not None)
    merged = merge_records(o, a, b)
    texts = {canonical((side or {})["control"]) for side in (a, b)}
    kept = canonical((merged.record or {})["control"])
    lost = {found.lost for found in merged.conflicts if found.pointer == "$.control"}
    assert kept in texts
    assert lost == texts - {kept} or canonical((o or {}).get("control")) in texts


@law
@given(pasts())
def test_a_merge_equal_to_a_side_is_stored_as_that_sides_bytes(past: Past) -> None:
    o, a, b, _ = past
    merged = merge(o, a, b)
    sides = [(encode(side), side) for side in (a, b) if side is not None]
    stored = merge_bytes(merged, sides)
    for data, side in sides:
        if value(side) == value(merged):
            assert stored in [known for known, _ in sides]
            assert stored is not None
            assert stored <= data or len(stored) <= len(data)


# --- a slice of JSON nobody writes ----------------------------------------------------------

names = st.sampled_from(
    ["control", "poll", "pullRequests", "collaborators", "collaborationChannels", "channels",
     "ended", "lifecycle", "sealed", "tomorrow", "users", "seenComments", "commentAttempts",
     "spawn", "gaveUp", "comments", "version", "title", "at", "terminal", "thread", "opened",
     "login", "type", "addedAt", "command", "requestedAt", "attempts", "url"]
)  # fmt: skip
atoms = st.sampled_from(
    [None, True, False, 0, 1, 1.0, -1, "", "absent", "closed", "null", "stop", "start", "²", "x01",
     "9" * 5000, "2026-09-14T00:00:00Z", "2026-09-14T00:01:00Z", "Dana", "dana", "\ud800"]
)  # fmt: skip
jsons: st.SearchStrategy[JSON] = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
strangers = st.none() | st.dictionaries(names, jsons, max_size=4).map(
    lambda sections: {"ref": REF, **sections}
)


@settings(deadline=None, max_examples=800)
@given(strangers, strangers, strangers)
def test_any_json_merges_without_raising_and_symmetrically(o: Record, a: Record, b: Record) -> None:
    one, two = merge_records(o, a, b), merge_records(o, b, a)
    assert one.conflicts == two.conflicts
    assert value(one.record) == value(two.record)
    assert value(merge(o, a, a)) == value(a)
    assert value(merge(o, o, a)) == value(a)
    if one.record is not None and two.record is not None:
        assert encode(one.record) == encode(two.record)
        assert one.record["ref"] == REF
