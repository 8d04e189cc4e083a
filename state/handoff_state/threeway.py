"""The three-way rule for one value, and what every merge strategy shares (records.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from handoff_state.codec import canonical, is_time, step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from handoff_state.codec import JSON, JsonObject

    Strategy: TypeAlias = Callable[["Sides", "Place"], "Value"]
    Order: TypeAlias = Callable[["Value"], tuple[bool, str, str]]


class Absent:
    """The value of a key that is not there; not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
Value: TypeAlias = "JSON | Absent"


class Sides(NamedTuple):
    """One value in its common past and in the two versions that came of it."""

    base: Value
    ours: Value
    theirs: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One place where both sides changed and a rule chose: what was set aside, and why.

    ``lost`` is canonical JSON, empty where a removal was set aside; ``commit`` is the one that
    holds it, where the caller knows.
    """

    pointer: str
    rule: str
    lost: str
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a record a merge stands, and what it has set aside so far."""

    pointer: str = "$"
    conflicts: list[Conflict] = field(default_factory=list)

    def at(self, key: str) -> Place:
        """The place of a key of this one's object."""
        return Place(self.pointer + step(key), self.conflicts)

    def chose(self, rule: str, kept: Value, *sides: Value) -> Value:
        """Note every side that is not ``kept``, and hand ``kept`` on."""
        lost = {text(side) for side in sides} - {text(kept)}
        self.conflicts.extend(
            Conflict(pointer=self.pointer, rule=rule, lost=value) for value in sorted(lost)
        )
        return kept


def text(value: Value) -> str:
    """A value as comparable text; the empty one for a key that is not there."""
    return "" if isinstance(value, Absent) else canonical(value)


def mapping(value: Value) -> JsonObject:
    """The object a value is, or an empty one."""
    return value if isinstance(value, dict) else {}


def is_gone(value: Value) -> bool:
    """Whether a value is absent or a tombstone."""
    return value is None or isinstance(value, Absent)


def settle(sides: Sides, strategy: Strategy, place: Place) -> Value:
    """One value merged; ``strategy`` is asked only where both sides changed, and differ."""
    base, ours, theirs = (text(side) for side in sides)
    if ours == theirs:
        return smaller_bytes(sides.ours, sides.theirs)
    if theirs == base:
        return sides.ours
    if ours == base:
        return sides.theirs
    if is_gone(sides.ours) and is_gone(sides.theirs):
        return None  # a tombstone beats plain absence
    return strategy(sides, place)


def settle_keys(
    sides: Sides,
    strategy_of: Callable[[str], Strategy],
    place: Place,
    *,
    leaving: Collection[str] = (),
) -> JsonObject:
    """Two objects merged key by key, in the order of the keys; ``leaving`` some keys out."""
    base, ours, theirs = (mapping(side) for side in sides)
    out: JsonObject = {}
    for key in sorted({*ours, *theirs}.difference(leaving)):
        one = Sides(base.get(key, ABSENT), ours.get(key, ABSENT), theirs.get(key, ABSENT))
        value = settle(one, strategy_of(key), place.at(key))
        if not isinstance(value, Absent):
            out[key] = value
    return out


def smaller_bytes(ours: Value, theirs: Value) -> Value:
    """Of two writings of one value, whose keys may stand in another order, the smaller."""
    if isinstance(ours, dict | list) and isinstance(theirs, dict | list):
        return min(ours, theirs, key=json.dumps)
    return ours


def emptied(ours: Value, theirs: Value) -> Value:
    """What says "nothing left" where a side emptied a value: null, unless a side has no key."""
    return ABSENT if isinstance(ours, Absent) or isinstance(theirs, Absent) else None


def opaque(sides: Sides, place: Place) -> Value:
    """The larger canonical bytes of two values no rule understands; the other is reported."""
    _, ours, theirs = sides
    kept: Value = max(ours, theirs, key=text)
    if is_gone(ours) or is_gone(theirs):
        kept = None if ours is None or theirs is None else ABSENT
    return place.chose("opaque", kept, ours, theirs)


def larger(sides: Sides, _: Place) -> Value:
    """The larger canonical bytes, for values that decide nothing."""
    return max(sides.ours, sides.theirs, key=text)


def earlier(name: str) -> Order:
    """Sort by the time under ``name``: ``min`` is the earliest, and one that parses."""

    def order(value: Value) -> tuple[bool, str, str]:
        when = mapping(value).get(name)
        return not is_time(when), str(when) if is_time(when) else "", text(value)

    return order


def later(name: str) -> Order:
    """Sort by the time under ``name``: ``max`` is the latest, and one that parses."""

    def order(value: Value) -> tuple[bool, str, str]:
        when = mapping(value).get(name)
        return is_time(when), str(when) if is_time(when) else "", text(value)

    return order
