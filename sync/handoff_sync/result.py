"""What a sync did, record by record, before anybody renders it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from handoff_state.control import decision_of, record_arms
from handoff_state.errors import HandoffError
from handoff_state.workitems import read_record
from handoff_sync.decisions import describe
from handoff_sync.guard import arms_whatever_the_time
from handoff_sync.message import changed_sections

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject
    from handoff_state.merge import Conflict
    from handoff_sync.findings import Finding
    from handoff_sync.history import History
    from handoff_sync.objectstore import Entry


class Outcome(enum.StrEnum):
    """What a sync does with one record."""

    SENT = "sent"
    RECEIVED = "received"
    MERGED = "merged"
    CONFLICT = "conflict"
    QUARANTINED = "quarantined"
    REMOVED = "removed"
    REFUSED = "refused"
    HELD = "held"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutcome:
    """One record's part in a run; ``control`` is (before, after) where this disk's changes."""

    ref: str
    file: str
    outcome: Outcome
    sections: list[str] = field(default_factory=list)
    control: tuple[str, str] | None = None
    arms: bool = False
    received: bool = False
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Result:
    """One run; oids are full, ``oldest_unsent`` is a UTC time."""

    outcome: str
    ref: str
    remote_name: str
    carry: str = "branch"
    before: str | None = None
    after: str | None = None
    remote: str | None = None
    verified: bool = False
    attempts: int = 0
    dry_run: bool = False
    machine: str = ""
    records: list[RecordOutcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    oldest_unsent: str | None = None

    @property
    def needs_a_person(self) -> bool:
        """Whether something was held back or set aside: exit code 1."""
        watched = {Outcome.CONFLICT, Outcome.QUARANTINED, Outcome.REFUSED}
        return any(record.outcome in watched for record in self.records) or any(
            finding.holds_back for finding in self.findings
        )

    @property
    def control_changes(self) -> list[RecordOutcome]:
        """What changes what this machine will run; listed first and always."""
        return [record for record in self.records if record.received and record.control]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The versions an outcome is told from, as entries by file name."""

    disk: dict[str, str]
    merged: dict[str, Entry]
    remote: dict[str, Entry]
    conflicts: dict[str, tuple[Conflict, ...]]
    before: str | None
    texts: dict[str, bytes]


def outcomes(
    history: History, sides: Sides, quarantined: dict[str, str], held: set[str]
) -> list[RecordOutcome]:
    """One outcome for every record that did not stay as it was everywhere."""
    found = [
        _held_back(history, sides, name, reason) for name, reason in sorted(quarantined.items())
    ]
    names = {*sides.disk, *sides.merged, *sides.remote} - quarantined.keys()
    for name in sorted(names):
        merged = sides.merged.get(name)
        oid = merged.oid if merged else None
        received = sides.disk.get(name) != oid
        remote = sides.remote.get(name)
        sent = (remote.oid if remote else None) != oid
        if received or sent or name in sides.conflicts:
            found.append(_one(history, sides, name, received=received, sent=sent, held=held))
    return sorted(found, key=lambda item: (item.control is None, item.file))


def _held_back(history: History, sides: Sides, name: str, reason: str) -> RecordOutcome:
    """A quarantined record; an incoming version of it is named, and its control told."""
    before, incoming = history.version(sides.before, name), sides.merged.get(name)
    old, new = _read(history, before, name), _read(history, incoming, name)
    waits = "; an incoming version waits" if before != incoming else ""
    decisions = decision_of(old), decision_of(new)
    moved = (describe(decisions[0]), describe(decisions[1]))
    return RecordOutcome(
        ref=_ref(history, new, None, name),
        file=name,
        outcome=Outcome.QUARANTINED,
        control=moved if decisions[0] != decisions[1] else None,
        received=bool(waits),
        detail=f"{reason}{waits}",
    )


def _one(
    history: History, sides: Sides, name: str, *, received: bool, sent: bool, held: set[str]
) -> RecordOutcome:
    merged = sides.merged.get(name)
    after = _read(history, merged, name)
    before = _disk(history, sides, name)
    theirs = _read(history, sides.remote.get(name), name)
    conflicts = sides.conflicts.get(name, ())
    shown = (before, after) if received else (theirs, after)
    decisions = decision_of(shown[0]), decision_of(shown[1])
    return RecordOutcome(
        ref=_ref(history, before or theirs, merged, name),
        file=name,
        outcome=_outcome(merged, after, conflicts, received=received, sent=sent, held=name in held),
        sections=changed_sections(*shown),
        control=(describe(decisions[0]), describe(decisions[1]))
        if decisions[0] != decisions[1]
        else None,
        arms=record_arms(shown[1]) and not record_arms(shown[0]),
        received=received,
        detail="; ".join(_conflict_words(conflict) for conflict in conflicts),
    )


def _outcome(
    merged: Entry | None,
    after: JsonObject | None,
    conflicts: tuple[Conflict, ...],
    *,
    received: bool,
    sent: bool,
    held: bool,
) -> Outcome:
    if merged is not None and (after is None or arms_whatever_the_time(after)):
        return Outcome.REFUSED
    if held:
        return Outcome.HELD
    if conflicts:
        return Outcome.CONFLICT
    if merged is None:
        return Outcome.REMOVED
    if received and sent:
        return Outcome.MERGED
    return Outcome.RECEIVED if received else Outcome.SENT


def _conflict_words(conflict: Conflict) -> str:
    rule = "both changed, one whole value is kept" if conflict.rule == "opaque" else conflict.rule
    where = f" (in {conflict.commit[:24]})" if conflict.commit else ""
    return f"{conflict.pointer}: {rule}; the other value stays in history{where}"


def _disk(history: History, sides: Sides, name: str) -> JsonObject | None:
    oid = sides.disk.get(name)
    if oid is None:
        return None
    try:
        return read_record(sides.texts.get(oid) or history.store.blob(oid), name)
    except (HandoffError, LookupError):
        return None


def _read(history: History, entry: Entry | None, name: str) -> JsonObject | None:
    found = history.parsed(entry, name)
    return found if isinstance(found, dict) else None


def _ref(history: History, known: JsonObject | None, entry: Entry | None, name: str) -> str:
    record = known or _read(history, entry, name)
    return str(record["ref"]) if record else name.removesuffix(".json")


def utc(seconds: int) -> str:
    """A commit's time as records write theirs."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
