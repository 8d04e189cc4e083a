"""Three-way merge of one record, by the strategy its catalog entry declares (records.md).

Every rule is symmetric in its two sides. Wherever both sides changed the same thing the
outcome is decided by the values alone, never by which side is ours; what a rule sets aside
is reported as a conflict, and stays reachable in the commit that held it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from handoff_state.catalog import MERGE_OF_KEY, Merge
from handoff_state.codec import JSON, JsonObject, as_object, canonical, encode, is_time
from handoff_state.control import ABSENT as NO_CONTROL
from handoff_state.control import CLOSED, strength
from handoff_state.errors import RefError
from handoff_state.refs import WorkItemRef
from handoff_state.workitems import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _Absent:
    """The value of a key that is not there; not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
Value: TypeAlias = "JSON | _Absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One place where both sides changed and a rule chose: what was set aside, and why.

    ``lost`` is canonical JSON; ``commit`` is the one that holds it, where the caller knows.
    """

    pointer: str
    rule: str
    lost: str
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merged record (None: it is gone) and what the rules set aside on the way."""

    record: JsonObject | None
    conflicts: tuple[Conflict, ...] = ()


@dataclass(slots=True)
class _Report:
    conflicts: list[Conflict] = field(default_factory=list)

    def chose(self, pointer: str, rule: str, kept: Value, *sides: Value) -> Value:
        """Note every side that is not ``kept``, and hand ``kept`` on."""
        self.conflicts += [
            Conflict(pointer=pointer, rule=rule, lost=_text(side))
            for side in sides
            if _text(side) != _text(kept)
        ]
        return kept


def merge_records(
    base: JsonObject | None,
    ours: JsonObject | None,
    theirs: JsonObject | None,
    *,
    control: JSON | _Absent = ABSENT,
    decided: bool = False,
) -> Merged:
    """Merge two versions of one work item's record over their common past.

    None stands for "no record". With ``decided`` the control section is ``control`` (an
    object, None for a tombstone, ABSENT for no section): the commit graph has spoken.
    Without it the order of :func:`handoff_state.control.strength` is used as a register.
    Both sides must name one ``ref``; otherwise the larger one's record is kept whole and
    reported, for two work items are never mixed.
    """
    report = _Report()
    if not decided and (shortcut := _one_sided(base, ours, theirs)) is not None:
        return Merged(record=shortcut[0])
    if ours is not None and theirs is not None and ours.get("ref") != theirs.get("ref"):
        kept = max(ours, theirs, key=canonical)
        report.chose("$.ref", "two work items in one file", kept, ours, theirs)
        return Merged(record=kept, conflicts=tuple(report.conflicts))
    forced: list[Value] = [control] if decided else []
    record = _merge_whole(base, ours, theirs, forced, report)
    return Merged(record=record, conflicts=tuple(report.conflicts))


def merge_bytes(
    merged: JsonObject | None, sides: Iterable[tuple[bytes, JsonObject]]
) -> bytes | None:
    """The bytes of a merged record: a side's own when it has that value, the smaller of two."""
    if merged is None:
        return None
    text = canonical(merged)
    same = [data for data, value in sides if canonical(value) == text]
    if same:
        return min(same, key=lambda data: (len(data), data))
    return encode(ordered(merged))


def _one_sided(
    base: JsonObject | None, ours: JsonObject | None, theirs: JsonObject | None
) -> tuple[JsonObject | None] | None:
    b, x, y = (None if side is None else canonical(side) for side in (base, ours, theirs))
    if x in (y, b):
        return (theirs,)
    return (ours,) if y == b else None


def _merge_whole(
    base: JsonObject | None,
    ours: JsonObject | None,
    theirs: JsonObject | None,
    forced: list[Value],
    report: _Report,
) -> JsonObject | None:
    survivor = theirs if ours is None else ours
    if base is None and (ours is None or theirs is None):
        # First sight on one side is not a removal on the other.
        return None if survivor is None else _with_control(survivor, forced)
    if ours is None and theirs is None and not (forced and isinstance(forced[0], dict)):
        return None
    out = _sections(as_object(base), as_object(ours), as_object(theirs), forced, report)
    if forced:
        out = _with_control(out, forced)
    if ours is None or theirs is None:
        if all(value is None for key, value in out.items() if key not in {"ref", "url"}):
            return None
        identity = {key: base[key] for key in ("ref", "url") if base and key in base}
        out = identity | out
    return ordered(_with_url(out))


def _with_control(record: JsonObject, forced: list[Value]) -> JsonObject:
    if not forced:
        return record
    without = {key: value for key, value in record.items() if key != "control"}
    value = forced[0]
    return without if isinstance(value, _Absent) else ordered(without | {"control": value})


def _with_url(record: JsonObject) -> JsonObject:
    if "url" not in record:
        return record
    try:
        url = WorkItemRef.parse(str(record.get("ref"))).url
    except RefError:
        return record
    return record | {"url": url} if url else record


def _sections(
    base: JsonObject, ours: JsonObject, theirs: JsonObject, forced: list[Value], report: _Report
) -> JsonObject:
    def section(key: str) -> Callable[[Value, Value, Value, str, _Report], Value]:
        return _STRATEGIES[MERGE_OF_KEY.get(key, Merge.OPAQUE)]

    skipped = {"control"} if forced else set[str]()
    return _keys(base, ours, theirs, section, "$", report, skipped)


def _keys(
    base: JsonObject,
    ours: JsonObject,
    theirs: JsonObject,
    strategy: Callable[[str], Callable[[Value, Value, Value, str, _Report], Value]],
    pointer: str,
    report: _Report,
    skipped: set[str] | frozenset[str] = frozenset(),
) -> JsonObject:
    """Merge two objects key by key; ``strategy`` is asked only where both sides changed."""
    out: JsonObject = {}
    for key in sorted({*ours, *theirs} - skipped):
        sides = base.get(key, ABSENT), ours.get(key, ABSENT), theirs.get(key, ABSENT)
        value = _three(*sides, strategy(key), f"{pointer}.{key}", report)
        if not isinstance(value, _Absent):
            out[key] = value
    return out


def _three(
    base: Value,
    ours: Value,
    theirs: Value,
    both: Callable[[Value, Value, Value, str, _Report], Value],
    pointer: str,
    report: _Report,
) -> Value:
    b, x, y = _text(base), _text(ours), _text(theirs)
    if x == y or y == b:
        return ours
    if x == b:
        return theirs
    if {x, y} == {"", "null"}:
        return None  # a tombstone beats plain absence
    return both(base, ours, theirs, pointer, report)


def _text(value: Value) -> str:
    return "" if isinstance(value, _Absent) else canonical(value)


# --- strategies: called only when both sides changed, and differ ---------------------------


def _identity(_: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    return report.chose(pointer, Merge.IDENTITY, max(ours, theirs, key=_text), ours, theirs)


def _derived(_: Value, ours: Value, theirs: Value, __: str, ___: _Report) -> Value:
    return max(ours, theirs, key=_text)


def _register(_: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    def order(value: Value) -> tuple[int, str, str]:
        return strength(NO_CONTROL if isinstance(value, _Absent) else value)

    return report.chose(pointer, Merge.GRAPH, max(ours, theirs, key=order), ours, theirs)


def _opaque(_: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    gone = _gone(ours, theirs)
    kept = max(ours, theirs, key=_text) if gone is None else gone[0]
    return report.chose(pointer, Merge.OPAQUE, kept, ours, theirs)


def _bytes(_: Value, ours: Value, theirs: Value, __: str, ___: _Report) -> Value:
    if isinstance(ours, _Absent) or isinstance(theirs, _Absent):
        return theirs if isinstance(ours, _Absent) else ours
    return max(ours, theirs, key=_text)


def _gone(ours: Value, theirs: Value) -> tuple[Value] | None:
    """What is left when a side emptied the value: a tombstone beats plain absence."""
    if isinstance(ours, _Absent) or isinstance(theirs, _Absent) or ours is None or theirs is None:
        emptied = [side for side in (ours, theirs) if side is None or isinstance(side, _Absent)]
        return (None,) if None in emptied else (ABSENT,)
    return None


def _ledger(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    gone = _gone(ours, theirs)
    if gone is not None:
        return report.chose(pointer, Merge.LEDGER, gone[0], ours, theirs)
    if not (_is_ledger(ours) and _is_ledger(theirs)):
        return _opaque(base, ours, theirs, pointer, report)
    before: JsonObject = {"spawn": {}}  # an absent map and an empty one are one value
    o, a, b = before | _object(base if _is_ledger(base) else None), _object(ours), _object(theirs)
    seen = _merged_set(*(_ids(side.get("seenComments")) for side in (o, a, b)))
    out = _keys(o, a, b, _ledger_field, pointer, report)
    # These three constrain each other, so they are settled together whatever side moved.
    if "seenComments" in a or "seenComments" in b:
        out["seenComments"] = [*seen]
    if "commentAttempts" in a or "commentAttempts" in b:
        out["commentAttempts"] = _attempts(o, a, b, set(seen))
    if "gaveUp" in a or "gaveUp" in b:
        out["gaveUp"] = _give_ups(o, a, b, set(seen))
    order = list(dict.fromkeys([*a, *b]))
    return {key: out[key] for key in sorted(out, key=order.index)} if set(a) == set(b) else out


def _ledger_field(key: str) -> Callable[[Value, Value, Value, str, _Report], Value]:
    settled_together: dict[str, Callable[[Value, Value, Value, str, _Report], Value]] = {
        "seenComments": _derived,
        "commentAttempts": _derived,
        "gaveUp": _derived,
        "spawn": _spawn,
    }
    return settled_together.get(key, _bytes)


def _is_ledger(value: Value) -> bool:
    record = _object(value)
    attempts, gave_up = record.get("commentAttempts", {}), record.get("gaveUp", {})
    return (
        isinstance(value, dict)
        and _is_ids(record.get("seenComments", []))
        and isinstance(attempts, dict)
        and all(type(count) is int for count in attempts.values())
        and isinstance(record.get("spawn", {}), dict)
        and isinstance(gave_up, dict)
        and _is_ids(gave_up.get("comments", []))
        and isinstance(gave_up.get("version", ""), str)
    )


def _attempts(o: JsonObject, a: JsonObject, b: JsonObject, seen: set[str]) -> JsonObject:
    base, ours, theirs = (as_object(side.get("commentAttempts")) for side in (o, a, b))
    out: JsonObject = {}
    for key in sorted({*ours, *theirs} - seen, key=_natural):
        x, y, z = (_count(side.get(key)) for side in (base, ours, theirs))
        count = z if y == x else y if z == x else max(y, z)
        if count:
            out[key] = count
    return out


def _give_ups(o: JsonObject, a: JsonObject, b: JsonObject, seen: set[str]) -> JsonObject:
    base, ours, theirs = (as_object(side.get("gaveUp")) for side in (o, a, b))
    comments = [
        comment
        for comment in _merged_set(*(_ids(side.get("comments")) for side in (base, ours, theirs)))
        if comment in seen
    ]
    if not comments:
        return {}
    versions = [str(side["version"]) for side in (ours, theirs) if side.get("version")]
    extra = {
        key: value
        for key, value in _keys(base, ours, theirs, lambda _: _bytes, "", _Report()).items()
        if key not in {"comments", "version"}
    }
    # The older label: a newer version then tries them again, where the newer label would
    # strand what only the older one gave up on.
    version = min(versions, key=lambda text: (_natural(text), text), default="")
    return {"comments": [*comments], "version": version, **extra}


def _spawn(_: Value, ours: Value, theirs: Value, __: str, ___: _Report) -> Value:
    def order(value: Value) -> tuple[int, str]:
        return _count(_object(value).get("attempts")), _text(value)

    return max(ours, theirs, key=order)


def _ledgers(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    def one(o: Value, a: Value, b: Value, where: str, into: _Report) -> Value:
        if isinstance(a, _Absent) or isinstance(b, _Absent):
            return into.chose(where, "a dropped ledger stays dropped", ABSENT, a, b)
        return _ledger(o, a, b, where, into)

    return _emptied(_map(base, ours, theirs, one, pointer, report), ours, theirs)


def _bindings(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    return _emptied(_map(base, ours, theirs, _binding, pointer, report), ours, theirs)


def _binding(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    thread = _object(base).get("thread", ABSENT)
    if isinstance(base, dict):
        old = [_object(side).get("thread", None) == thread for side in (ours, theirs)]
        if old[0] != old[1]:
            moved = theirs if old[0] else ours
            return report.chose(pointer, "the moved thread stays", moved, ours, theirs)
    return _bytes_or(ours, theirs, _earlier("opened"), pointer, Merge.BINDINGS, report)


def _bytes_or(
    ours: Value,
    theirs: Value,
    prefer: Callable[[Value], tuple[bool, str, str]],
    pointer: str,
    rule: str,
    report: _Report,
) -> Value:
    present = [side for side in (ours, theirs) if not isinstance(side, _Absent)]
    return report.chose(pointer, rule, min(present, key=prefer), *present)


def _roster(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    return _keyed_list(base, ours, theirs, "users", _person, _earlier("addedAt"), pointer, report)


def _rooms(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    return _keyed_list(
        base, ours, theirs, "channels", _room, _earlier("addedAt"), pointer, report, latest=True
    )


def _person(entry: JSON) -> str:
    fields = as_object(entry)
    login, slack = fields.get("login"), fields.get("slack")
    if isinstance(login, str) and login:
        return login.casefold()
    return f"slack:{slack}" if isinstance(slack, str) and slack else canonical(entry)


def _room(entry: JSON) -> str:
    kind = as_object(entry).get("type")
    return kind if isinstance(kind, str) else canonical(entry)


def _keyed_list(
    base: Value,
    ours: Value,
    theirs: Value,
    name: str,
    key: Callable[[JSON], str],
    prefer: Callable[[Value], tuple[bool, str, str]],
    pointer: str,
    report: _Report,
    *,
    latest: bool = False,
) -> Value:
    """Merge a list by its entries' keys; an entry removed on one side stays removed."""
    if not all(_is_list_section(side, name) for side in (ours, theirs)):
        return _opaque(base, ours, theirs, pointer, report)
    o, a, b = (_object(side) for side in (base, ours, theirs))
    entries = [_by_key(side.get(name), key) for side in (o, a, b)]

    def both(_: Value, x: Value, y: Value, where: str, into: _Report) -> Value:
        if isinstance(x, _Absent) or isinstance(y, _Absent):
            return into.chose(where, "removal wins", ABSENT, x, y)
        best = max if latest else min
        return into.chose(where, MERGE_RULE[name], best(x, y, key=prefer), x, y)

    order = list(dict.fromkeys([*entries[0], *sorted({*entries[1], *entries[2]})]))
    out: list[JSON] = []
    for k in order:
        value = _three(*(side.get(k, ABSENT) for side in entries), both, f"{pointer}.{k}", report)
        if not isinstance(value, _Absent):
            out.append(value)
    others = _keys(o, a, b, lambda _: _opaque, pointer, report, {name})
    if not out and not others:
        return _emptied({}, ours, theirs)
    return {name: out, **others} if out or name in a or name in b else others


MERGE_RULE: Final = {"users": Merge.ROSTER, "channels": Merge.ROOMS}


def _by_key(entries: JSON | None, key: Callable[[JSON], str]) -> dict[str, Value]:
    listed = entries if isinstance(entries, list) else []
    return {key(entry): entry for entry in reversed(listed)}


def _is_list_section(value: Value, name: str) -> bool:
    if value is None or isinstance(value, _Absent):
        return True
    return isinstance(value, dict) and isinstance(value.get(name, []), list)


def _closure(base: Value, ours: Value, theirs: Value, pointer: str, report: _Report) -> Value:
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return _closure_against_none(base, ours, theirs, pointer, report)
    before = base.get("at") if isinstance(base, dict) else ABSENT
    ours_is_new, theirs_is_new = ours.get("at") != before, theirs.get("at") != before
    if isinstance(base, dict) and ours_is_new != theirs_is_new:
        # A stamp that still carries the base's time is the old closure: it yields.
        return report.chose(
            pointer, "a newer closure", ours if ours_is_new else theirs, ours, theirs
        )
    winner = min(ours, theirs, key=_earlier("at"))
    terminal = winner.get("terminal")
    if ours.get("at") == theirs.get("at"):
        terminal = _richer(ours.get("terminal"), theirs.get("terminal"))
    kept: JsonObject = {key: value for key, value in winner.items() if key != "terminal"}
    if terminal:
        kept["terminal"] = terminal
    return report.chose(pointer, Merge.CLOSURE, kept, ours, theirs)


def _closure_against_none(
    base: Value, ours: Value, theirs: Value, pointer: str, report: _Report
) -> Value:
    stamp, other = (ours, theirs) if isinstance(ours, dict) else (theirs, ours)
    if not isinstance(stamp, dict):
        return _opaque(base, ours, theirs, pointer, report)
    if isinstance(other, dict | str | int | float | list):
        return _opaque(base, ours, theirs, pointer, report)
    if isinstance(base, dict) and stamp.get("at") == base.get("at"):
        return report.chose(pointer, "the closure was reopened", None, ours, theirs)
    return report.chose(pointer, "a closure nobody reopened", stamp, ours, theirs)


def _richer(ours: JSON | None, theirs: JSON | None) -> JSON | None:
    if not ours or not theirs:
        return ours or theirs
    return max(ours, theirs, key=lambda value: (len(canonical(value)), canonical(value)))


def _map(
    base: Value,
    ours: Value,
    theirs: Value,
    one: Callable[[Value, Value, Value, str, _Report], Value],
    pointer: str,
    report: _Report,
) -> JsonObject:
    return _keys(_object(base), _object(ours), _object(theirs), lambda _: one, pointer, report)


def _emptied(merged: JsonObject, ours: Value, theirs: Value) -> Value:
    """Absent, null and empty are one value; of the two ways to say it, null is kept."""
    if merged:
        return merged
    return ABSENT if isinstance(ours, _Absent) or isinstance(theirs, _Absent) else None


def _merged_set(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """Three-way set: kept members in base order, then additions in natural order."""
    o, a, b = set(base), set(ours), set(theirs)
    members = (a & b) | (a - o) | (b - o)
    kept = [item for item in dict.fromkeys(base) if item in members]
    return kept + sorted(members - o, key=_natural)


def _natural(text: str) -> list[tuple[int, int, str]]:
    pieces = re.split(r"([0-9]+)", text)
    return [(0, int(p), p) if p.isdigit() else (1, 0, p) for p in pieces if p]


def _earlier(name: str) -> Callable[[Value], tuple[bool, str, str]]:
    def order(value: Value) -> tuple[bool, str, str]:
        when = _object(value).get(name)
        return not is_time(when), str(when) if is_time(when) else "", _text(value)

    return order


def _object(value: Value) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _is_ids(value: JSON | None) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _ids(value: JSON | None) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _count(value: JSON | None) -> int:
    return value if type(value) is int else 0


def _strategies() -> Iterable[tuple[Merge, Callable[[Value, Value, Value, str, _Report], Value]]]:
    yield Merge.IDENTITY, _identity
    yield Merge.DERIVED, _derived
    yield Merge.GRAPH, _register
    yield Merge.LEDGER, _ledger
    yield Merge.LEDGERS, _ledgers
    yield Merge.ROSTER, _roster
    yield Merge.ROOMS, _rooms
    yield Merge.BINDINGS, _bindings
    yield Merge.CLOSURE, _closure
    yield Merge.OPAQUE, _opaque


_STRATEGIES: Final = dict(_strategies())
