"""How two poll ledgers become one: what was seen, what was tried, what was given up on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from handoff_state.catalog import CLOCK_KEYS, Merge
from handoff_state.codec import JSON, JsonObject, as_object
from handoff_state.threeway import (
    ABSENT,
    Absent,
    Place,
    Sides,
    Value,
    emptied,
    is_gone,
    larger,
    mapping,
    opaque,
    settle_keys,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handoff_state.threeway import Strategy

#: These constrain each other, so they are settled together whatever side moved.
_TOGETHER: Final = ("seenComments", "commentAttempts", "gaveUp")
_EMPTY: Final[JsonObject] = {"spawn": {}}
#: The order the reference writer gives a ledger, so that a merge does not churn it.
_ORDER: Final = ("seenComments", "commentAttempts", "spawn", "gaveUp", *CLOCK_KEYS, "title")


def ledger(sides: Sides, place: Place) -> Value:
    """Merge two ledgers field by field; a tombstone against a changed ledger stays one."""
    base, ours, theirs = sides
    if is_gone(ours) or is_gone(theirs):
        return place.chose(
            Merge.LEDGER, None if ours is None or theirs is None else ABSENT, ours, theirs
        )
    if not (_is_ledger(ours) and _is_ledger(theirs)):
        return opaque(sides, place)
    known = base if _is_ledger(base) else ABSENT
    # An absent map and an empty one are one value.
    versions = [_EMPTY | mapping(side) for side in (known, ours, theirs)]
    seen = _merged_ids(version.get("seenComments") for version in versions)
    out = settle_keys(Sides(*versions), _strategy_of, place, leaving=_TOGETHER)
    out["seenComments"] = [*seen]
    out["commentAttempts"] = _attempts([v.get("commentAttempts") for v in versions], set(seen))
    out["gaveUp"] = _give_ups([v.get("gaveUp") for v in versions], set(seen), place.at("gaveUp"))
    present = {*mapping(ours), *mapping(theirs)}
    order = [key for key in _ORDER if key in out] + [key for key in out if key not in _ORDER]
    return {key: out[key] for key in order if key in present}


def ledgers(sides: Sides, place: Place) -> Value:
    """Merge ledgers by ref; one that a side dropped stays dropped."""
    if not all(is_gone(side) or isinstance(side, dict) for side in sides):
        return opaque(sides, place)
    merged = settle_keys(sides, lambda _: _kept_ledger, place)
    return merged or emptied(sides.ours, sides.theirs)


def _kept_ledger(sides: Sides, place: Place) -> Value:
    if isinstance(sides.ours, Absent) or isinstance(sides.theirs, Absent):
        return place.chose("a dropped ledger stays dropped", ABSENT, sides.ours, sides.theirs)
    return ledger(sides, place)


def _strategy_of(key: str) -> Strategy:
    if key == "spawn":
        return _spawn
    return larger if key in _ORDER else _unknown


def _unknown(sides: Sides, place: Place) -> Value:
    return place.chose(Merge.BYTES, larger(sides, place), sides.ours, sides.theirs)


def _spawn(sides: Sides, _: Place) -> Value:
    def order(value: Value) -> tuple[int, str]:
        return _count(mapping(value).get("attempts")), text(value)

    return max(sides.ours, sides.theirs, key=order)


def _attempts(versions: Iterable[JSON], seen: set[str]) -> JsonObject:
    base, ours, theirs = (as_object(version) for version in versions)
    out: JsonObject = {}
    for key in sorted({*ours, *theirs} - seen, key=_natural):
        x, y, z = (_count(side.get(key)) for side in (base, ours, theirs))
        count = z if y == x else y if z == x else max(y, z)
        if count:
            out[key] = count
    return out


def _give_ups(versions: Iterable[JSON], seen: set[str], place: Place) -> JsonObject:
    base, ours, theirs = (as_object(version) for version in versions)
    merged = _merged_ids(version.get("comments") for version in (base, ours, theirs))
    comments: list[JSON] = [comment for comment in merged if comment in seen]
    others = settle_keys(
        Sides(base, ours, theirs), lambda _: _unknown, place, leaving=("comments", "version")
    )
    if not comments:
        return others
    return {"comments": comments, "version": _older_version(ours, theirs), **others}


def _older_version(*sides: Mapping[str, JSON]) -> str:
    # The older label: a newer version then tries them again, where the newer label would
    # strand what only the older one gave up on.
    versions = [str(side["version"]) for side in sides if side.get("version")]
    return min(versions, key=_natural, default="")


def _merged_ids(versions: Iterable[JSON]) -> list[str]:
    """Three-way set: kept members in base order, then additions in natural order."""
    base, ours, theirs = (_ids(version) for version in versions)
    o, a, b = set(base), set(ours), set(theirs)
    members = (a & b) | (a - o) | (b - o)
    kept = [item for item in dict.fromkeys(base) if item in members]
    return kept + sorted(members - o, key=_natural)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort with numbers by their value: 9 before 10, whatever their length."""
    pieces = re.split(r"([0-9]+)", name)
    # By length and then as text: int() refuses a number of some thousand digits.
    return [
        (0, len(piece.lstrip("0")), piece.lstrip("0") + " " + piece) if is_number else (1, 0, piece)
        for is_number, piece in ((index % 2, piece) for index, piece in enumerate(pieces))
        if piece
    ]


def _is_ledger(value: Value) -> bool:
    record = mapping(value)
    attempts, gave_up = record.get("commentAttempts"), record.get("gaveUp")
    return (
        isinstance(value, dict)
        and _is_ids(record.get("seenComments"))
        and isinstance(attempts, dict | None)
        and all(type(count) is int for count in as_object(attempts).values())
        and isinstance(record.get("spawn"), dict | None)
        and isinstance(gave_up, dict | None)
        and _is_ids(as_object(gave_up).get("comments"))
        and isinstance(as_object(gave_up).get("version", ""), str)
    )


def _is_ids(value: JSON) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _ids(value: JSON) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _count(value: JSON) -> int:
    return value if type(value) is int else 0
