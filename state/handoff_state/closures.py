"""How two closures of an item become one: how and when it ended, or that it was reopened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_state.catalog import Merge
from handoff_state.codec import JSON, JsonObject, canonical
from handoff_state.threeway import ABSENT, Place, Sides, Value, earlier, is_gone, opaque, text

if TYPE_CHECKING:
    from collections.abc import Mapping


def closure(sides: Sides, place: Place) -> Value:
    """Merge two stamps as atoms; one that carries the base's ``at`` is the old closure."""
    base, ours, theirs = sides
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _of_two(base, ours, theirs, place)
    stamp, other = (ours, theirs) if isinstance(ours, dict) else (theirs, ours)
    if not isinstance(stamp, dict) or not is_gone(other):
        return opaque(sides, place)
    if isinstance(base, dict) and _at(stamp) == _at(base):
        return place.chose("the closure was reopened", None, stamp)
    return place.chose("a closure nobody reopened", stamp, other)


def _of_two(base: Value, ours: JsonObject, theirs: JsonObject, place: Place) -> Value:
    if isinstance(base, dict):
        is_new = [_at(side) != _at(base) for side in (ours, theirs)]
        if is_new[0] != is_new[1]:
            newer = ours if is_new[0] else theirs
            return place.chose("a newer closure", newer, ours, theirs)
    winner = ours if _earlier_stamp(ours) <= _earlier_stamp(theirs) else theirs
    kept: JsonObject = {key: value for key, value in winner.items() if key != "terminal"}
    terminal = winner.get("terminal")
    if _at(ours) == _at(theirs):
        terminal = _richer(ours.get("terminal"), theirs.get("terminal"))
    if terminal:
        kept["terminal"] = terminal
    return place.chose(Merge.CLOSURE, kept, ours, theirs)


_earlier_stamp = earlier("at")


def _at(stamp: Mapping[str, JSON]) -> str:
    return text(stamp.get("at", ABSENT))


def _richer(ours: JSON, theirs: JSON) -> JSON:
    if not ours or not theirs:
        return ours or theirs
    return max(ours, theirs, key=lambda value: (len(canonical(value)), canonical(value)))
