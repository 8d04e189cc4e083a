"""How two channel bindings become one: the thread that carries the item, per channel type."""

from __future__ import annotations

from handoff_state.catalog import Merge
from handoff_state.threeway import (
    ABSENT,
    Absent,
    Place,
    Sides,
    Value,
    earlier,
    emptied,
    is_gone,
    mapping,
    opaque,
    settle_keys,
    text,
)


def bindings(sides: Sides, place: Place) -> Value:
    """Merge bindings by channel type, each one atomic value."""
    if not all(is_gone(side) or isinstance(side, dict) for side in sides):
        return opaque(sides, place)
    merged = settle_keys(sides, lambda _: _binding, place)
    return merged or emptied(sides.ours, sides.theirs)


def _binding(sides: Sides, place: Place) -> Value:
    base, ours, theirs = sides
    if isinstance(base, dict):
        stays = [_thread(side) == _thread(base) for side in (ours, theirs)]
        if stays[0] != stays[1]:
            # A side that still names the base's thread did not rebind the item.
            moved = theirs if stays[0] else ours
            return place.chose("the moved thread stays", moved, ours, theirs)
    present = [side for side in (ours, theirs) if not isinstance(side, Absent)]
    return place.chose(Merge.BINDINGS, min(present, key=earlier("opened")), ours, theirs)


def _thread(binding: Value) -> str | None:
    if isinstance(binding, Absent):
        return None
    return text(mapping(binding).get("thread", ABSENT))
