"""Control decided on the commit graph: which decisions of several tips are open (records.md).

A commit issues a decision when it changes a record's control, or closes or removes the
record, against its single parent. A decision is answered only by one whose commit descends
from it. What no reachable decision answers is open, and the strongest open one holds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handoff_state.codec import as_object
from handoff_state.control import (
    ABSENT,
    CLOSED,
    decision_of,
    has_command,
    strength,
)
from handoff_state.errors import HandoffError
from handoff_sync.objectstore import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handoff_state.codec import JSON, JsonObject
    from handoff_sync.history import History

_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Open:
    """One decision and the commit that issued it; ``control`` is the section as written."""

    decision: str
    commit: str
    control: JSON = field(default=None, compare=False)


def strongest(decisions: Iterable[Open]) -> Open:
    """The decision that holds among open ones."""
    return max(decisions, key=lambda item: (strength(_value(item)), item.decision))


def _value(item: Open) -> JSON:
    if item.decision in {ABSENT, CLOSED}:
        return item.decision
    return item.control if has_command(item.decision) else None


def open_decisions(history: History, name: str, tips: Iterable[str]) -> list[Open]:
    """The open decisions on one record, over everything reachable from ``tips``."""
    wanted = list(dict.fromkeys(tips))
    common = _common(history, wanted)
    found = _issued(history, name, wanted, common)
    if common is not None and not (
        found and all(history.is_ancestor(common, item.commit) for item in found)
    ):
        # A decision made beside the common past, or none since: the past may still be open.
        found += _issued(history, name, [common], None)
    return _unanswered(history, name, list(dict.fromkeys(found)))


def decision_at(history: History, commit: str | None, name: str) -> str:
    """The control decision a commit shows for one record."""
    found = history.parsed(history.version(commit, name), name)
    return _UNREADABLE if isinstance(found, HandoffError) else decision_of(found)


def _common(history: History, tips: list[str]) -> str | None:
    if len(tips) != 2:  # noqa: PLR2004 - two sides of a merge; anything else walks in full
        return None
    bases = history.merge_bases(tips[:1], tips[1])
    return bases[0] if len(bases) == 1 else None


def _issued(history: History, name: str, tips: list[str], common: str | None) -> list[Open]:
    """The first decisions met on every path down from ``tips``, above ``common``."""
    found: list[Open] = []
    pending, seen = list(tips), set[str]()
    while pending:
        oid = pending.pop()
        if oid in seen or (common is not None and history.is_ancestor(oid, common)):
            continue
        seen.add(oid)
        issued = _issue(history, name, oid)
        if issued is not None:
            found.append(issued)
        else:
            pending.extend(_present_parents(history, oid))
    return found


def _present_parents(history: History, oid: str) -> list[str]:
    present = []
    for parent in history.commit(oid).parents:
        try:
            history.commit(parent)
        except MissingObjectError:
            continue
        present.append(parent)
    return present


def _issue(history: History, name: str, oid: str) -> Open | None:
    """The decision a commit itself makes on a record, if any."""
    parents = history.commit(oid).parents
    present = _present_parents(history, oid)
    entry = history.version(oid, name)
    if len(present) == len(parents) and any(
        history.version(parent, name) == entry for parent in present
    ):
        return None  # the same bytes as a parent decide nothing new
    decision = decision_at(history, oid, name)
    if decision == _UNREADABLE:
        return None
    record = history.record(oid, name)
    made = Open(decision, oid, record.get("control") if record else None)
    if len(present) < len(parents):
        # Missing history: what stands at the edge is a decision of its own.
        return made if decision != ABSENT else None
    if len(parents) > 1:
        return made if _merge_decides(history, name, decision, present) else None
    parent = present[0] if present else None
    return made if _changes(history, name, decision, record, parent) else None


def _changes(
    history: History, name: str, decision: str, record: JsonObject | None, parent: str | None
) -> bool:
    before = decision_at(history, parent, name)
    if decision == ABSENT:
        if record is None:
            return history.version(parent, name) is not None
        return before != ABSENT and not _reopened(history, name, record, parent)
    if decision == CLOSED == before:
        return _closed_at(record) != _closed_at(history.record(parent, name))
    return decision != before and (decision, before) != ("null", CLOSED)


def _closed_at(record: JsonObject | None) -> JSON:
    # Reopened and closed again between two commits: the item was closed anew.
    return as_object((record or {}).get("ended")).get("at")


def _reopened(history: History, name: str, record: JsonObject, parent: str | None) -> bool:
    before = history.record(parent, name) or {}
    closed = isinstance(before.get("ended"), dict) and "control" not in before
    return closed and record.get("ended") is None


def _merge_decides(history: History, name: str, decision: str, parents: list[str]) -> bool:
    """Whether a merge commit shows a control that was open on none of its parents."""
    if not has_command(decision):
        return False
    if any(decision_at(history, parent, name) == decision for parent in parents):
        return False
    return all(item.decision != decision for item in open_decisions(history, name, parents))


def _unanswered(history: History, name: str, found: list[Open]) -> list[Open]:
    return [
        item
        for item in found
        if not any(_answers(history, name, other, item) for other in found if other != item)
    ]


def _answers(history: History, name: str, later: Open, earlier: Open) -> bool:
    if history.is_ancestor(earlier.commit, later.commit):
        return True
    # One decision can reach the graph through several commits (a file committed on its own
    # base, a correction): who descends from any of them has seen it.
    return (
        later.decision != earlier.decision
        and has_command(earlier.decision)
        and _has_seen_value(history, name, later.commit, earlier)
    )


def _has_seen_value(history: History, name: str, commit: str, earlier: Open) -> bool:
    # Only where it was issued beside ``earlier``: the same words given again by somebody who
    # knew the first time are a new decision.
    parents = history.commit(commit).parents
    return any(
        decision_at(history, oid, name) == earlier.decision
        and not history.is_ancestor(oid, earlier.commit)
        for oid in history.walk(parents)
    )


def describe(decision: str) -> str:
    """A decision in words, for reports."""
    if not has_command(decision):
        return {ABSENT: "none", CLOSED: "ended", "null": "cleared"}[decision]
    control = json.loads(decision)
    command = control.get("command") if isinstance(control, dict) else None
    if not isinstance(control, dict) or not isinstance(command, str):
        return "unknown"
    actor = control.get("actor")
    by = f" by @{actor}" if isinstance(actor, str) and actor else ""
    return f"{command.upper()}{by}"
