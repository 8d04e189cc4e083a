"""Three-way merge of one record, by the strategy its catalog entry declares (records.md).

Every rule is symmetric in its two sides. Wherever both sides changed the same thing the
outcome is decided by the values alone, never by which side is ours; what a rule sets aside
is reported as a conflict, and stays reachable in the commit that held it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from handoff_state.bindings import bindings
from handoff_state.catalog import MERGE_OF_KEY, Merge
from handoff_state.closures import closure
from handoff_state.codec import canonical, encode
from handoff_state.control import ABSENT as NO_CONTROL
from handoff_state.control import strength
from handoff_state.errors import RefError
from handoff_state.ledgers import ledger, ledgers
from handoff_state.refs import WorkItemRef
from handoff_state.rosters import rooms, roster
from handoff_state.threeway import (
    ABSENT,
    Absent,
    Conflict,
    Place,
    Sides,
    Value,
    larger,
    mapping,
    opaque,
    settle,
    settle_keys,
    text,
)
from handoff_state.workitems import is_empty, ordered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handoff_state.codec import JsonObject
    from handoff_state.threeway import Strategy

__all__ = ["ABSENT", "Conflict", "Merged", "Value", "merge_bytes", "merge_records"]

_IDENTITY: Final = ("ref", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merged record (None: it is gone) and what the rules set aside on the way."""

    record: JsonObject | None
    conflicts: tuple[Conflict, ...] = ()


def merge_records(
    base: JsonObject | None,
    ours: JsonObject | None,
    theirs: JsonObject | None,
    *,
    control: Value = ABSENT,
    decided: bool = False,
) -> Merged:
    """Merge two versions of one work item's record over their common past.

    None stands for "no record". With ``decided`` the control section is ``control`` (an
    object, None for a tombstone, ABSENT for no section): the commit graph has spoken.
    Without it the order of :func:`handoff_state.control.strength` is used as a register.
    Both sides must name one ``ref``; otherwise the larger one's record is kept whole and
    reported, for two work items are never mixed.
    """
    place = Place()
    sides = Sides(*(ABSENT if side is None else side for side in (base, ours, theirs)))
    forced = (control,) if decided else ()
    # One side changed: take it whole; but a control that is decided goes into any record.
    merged = _record(sides, place, forced) if decided else settle(sides, _record, place)
    record = merged if isinstance(merged, dict) else None
    return Merged(record=record, conflicts=tuple(place.conflicts))


def merge_bytes(
    merged: JsonObject | None, sides: Iterable[tuple[bytes, JsonObject]]
) -> bytes | None:
    """The bytes of a merged record: a side's own when it has that value, the smaller of two."""
    if merged is None:
        return None
    value = canonical(merged)
    same = [data for data, side in sides if canonical(side) == value]
    if same:
        return min(same, key=lambda data: (len(data), data))
    return encode(ordered(merged))


def _record(sides: Sides, place: Place, forced: tuple[Value, ...] = ()) -> Value:
    """Merge section by section; ``forced`` holds the control section when it is decided."""
    base, ours, theirs = sides
    gone = [isinstance(side, Absent) for side in (ours, theirs)]
    if isinstance(base, Absent) and any(gone):
        # First sight on one side is not a removal on the other.
        survivor = theirs if gone[0] else ours
        return survivor if isinstance(survivor, Absent) else _with_control(survivor, forced)
    if not any(gone) and text(mapping(ours).get("ref")) != text(mapping(theirs).get("ref")):
        kept = max(ours, theirs, key=text)
        return place.at("ref").chose("two work items in one file", kept, ours, theirs)
    leaving = ("control",) if forced else ()
    out = settle_keys(sides, _strategy_of, place, leaving=leaving)
    merged = _with_control(out, forced)
    return _outliving(merged, sides, place) if any(gone) else ordered(_with_url(merged))


def _outliving(merged: JsonObject, sides: Sides, place: Place) -> Value:
    """What survives the removal of the whole record on a side, under the base's identity."""
    if is_empty(merged):
        return _reported_removal(ABSENT, sides, place)
    identity = {key: value for key, value in mapping(sides.base).items() if key in _IDENTITY}
    return _reported_removal(ordered(_with_url(identity | merged)), sides, place)


def _reported_removal(kept: Value, sides: Sides, place: Place) -> Value:
    survivor = sides.theirs if isinstance(sides.ours, Absent) else sides.ours
    if not isinstance(survivor, Absent) and text(survivor) != text(sides.base):
        place.chose("removed on one side, section by section", kept, survivor)
    return kept


def _with_control(record: Value, forced: tuple[Value, ...]) -> JsonObject:
    found = mapping(record)
    if not forced:
        return found
    without = {key: value for key, value in found.items() if key != "control"}
    value = forced[0]
    return without if isinstance(value, Absent) else ordered(without | {"control": value})


def _with_url(record: JsonObject) -> JsonObject:
    if "url" not in record:
        return record
    try:
        url = WorkItemRef.parse(str(record.get("ref"))).url
    except RefError:
        return record
    return record | {"url": url} if url else record


def _strategy_of(key: str) -> Strategy:
    return _STRATEGIES[MERGE_OF_KEY.get(key, Merge.OPAQUE)]


def _identity(sides: Sides, place: Place) -> Value:
    return place.chose(Merge.IDENTITY, larger(sides, place), sides.ours, sides.theirs)


def _register(sides: Sides, place: Place) -> Value:
    """Merge control by value alone, where no commit graph is at hand (a merge driver)."""

    def order(value: Value) -> tuple[tuple[int, str, str], str]:
        return strength(NO_CONTROL if isinstance(value, Absent) else value), text(value)

    kept = max(sides.ours, sides.theirs, key=order)
    return place.chose(Merge.GRAPH, kept, sides.ours, sides.theirs)


_STRATEGIES: Final[dict[Merge, Strategy]] = {
    Merge.IDENTITY: _identity,
    Merge.DERIVED: larger,
    Merge.GRAPH: _register,
    Merge.LEDGER: ledger,
    Merge.LEDGERS: ledgers,
    Merge.ROSTER: roster,
    Merge.ROOMS: rooms,
    Merge.BINDINGS: bindings,
    Merge.CLOSURE: closure,
    Merge.OPAQUE: opaque,
}
