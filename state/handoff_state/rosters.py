"""How two lists of grants become one: who may speak on an item, and in which rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_state.catalog import Merge
from handoff_state.codec import JSON, JsonObject, as_object, canonical
from handoff_state.threeway import (
    ABSENT,
    Absent,
    Place,
    Sides,
    Value,
    earlier,
    emptied,
    is_gone,
    later,
    mapping,
    opaque,
    settle,
    settle_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def roster(sides: Sides, place: Place) -> Value:
    """Merge collaborators by login; of two grants of one person the earlier."""

    def prefer(ours: Value, theirs: Value) -> Value:
        return min(ours, theirs, key=earlier("addedAt"))

    return _grants(sides, place, name="users", key=_person, rule=Merge.ROSTER, prefer=prefer)


def rooms(sides: Sides, place: Place) -> Value:
    """Merge declared rooms by type; of two of one type the later."""

    def prefer(ours: Value, theirs: Value) -> Value:
        return max(ours, theirs, key=later("addedAt"))

    return _grants(sides, place, name="channels", key=_room, rule=Merge.ROOMS, prefer=prefer)


def _person(entry: JSON) -> str:
    fields = as_object(entry)
    login, slack = fields.get("login"), fields.get("slack")
    if isinstance(login, str) and login:
        return login.casefold()
    return f"slack:{slack}" if isinstance(slack, str) and slack else canonical(entry)


def _room(entry: JSON) -> str:
    kind = as_object(entry).get("type")
    return kind if isinstance(kind, str) else canonical(entry)


def _grants(
    sides: Sides,
    place: Place,
    *,
    name: str,
    key: Callable[[JSON], str],
    rule: str,
    prefer: Callable[[Value, Value], Value],
) -> Value:
    """Merge a section's list by its entries' keys; an entry removed on one side stays removed."""
    if not all(_is_section(side, name) for side in sides):
        return opaque(sides, place)

    def both(one: Sides, at: Place) -> Value:
        if isinstance(one.ours, Absent) or isinstance(one.theirs, Absent):
            return at.chose("removal wins", ABSENT, one.ours, one.theirs)
        return at.chose(rule, prefer(one.ours, one.theirs), one.ours, one.theirs)

    base, ours, theirs = (_by_key(mapping(side).get(name), key) for side in sides)
    merged: list[JSON] = []
    for entry in dict.fromkeys([*base, *sorted({*ours, *theirs})]):
        one = Sides(base.get(entry, ABSENT), ours.get(entry, ABSENT), theirs.get(entry, ABSENT))
        value = settle(one, both, place.at(entry))
        if not isinstance(value, Absent):
            merged.append(value)
    others = settle_keys(sides, lambda _: opaque, place, leaving=(name,))
    return _section(sides, name, merged, others)


def _section(sides: Sides, name: str, merged: list[JSON], others: JsonObject) -> Value:
    if not merged and not others:
        return emptied(sides.ours, sides.theirs)
    if merged or name in mapping(sides.ours) or name in mapping(sides.theirs):
        return {name: merged, **others}
    return others


def _by_key(entries: JSON, key: Callable[[JSON], str]) -> dict[str, JSON]:
    # Reversed: of two entries with one key, the first is the one that counts.
    listed = entries if isinstance(entries, list) else []
    return {key(entry): entry for entry in reversed(listed)}


def _is_section(value: Value, name: str) -> bool:
    if is_gone(value):
        return True
    return isinstance(value, dict) and isinstance(value.get(name), list | None)
