"""Merge one record's two versions where they meet on the commit graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from handoff_state.control import ABSENT as NO_CONTROL
from handoff_state.control import CLOSED, decision_of, has_command
from handoff_state.errors import HandoffError
from handoff_state.merge import ABSENT, Conflict, Merged, Value, merge_bytes, merge_records
from handoff_sync.decisions import decision_at, describe, open_decisions, strongest
from handoff_sync.findings import Finding, Severity
from handoff_sync.objectstore import FILE_MODE, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handoff_state.codec import JsonObject
    from handoff_sync.history import History


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A record's entry after a merge (None: gone), and what a person should hear of it."""

    entry: Entry | None
    conflicts: tuple[Conflict, ...] = ()
    findings: tuple[Finding, ...] = ()


def reconcile(
    history: History, name: str, ours: str, theirs: str, *, suspect: bool = False
) -> Reconciled:
    """The merge of one record at two tips; ``suspect`` holds its control against the graph."""
    a, b = history.version(ours, name), history.version(theirs, name)
    left, right = history.parsed(a, name), history.parsed(b, name)
    if isinstance(left, HandoffError) or isinstance(right, HandoffError):
        return _around_unreadable(history, name, (ours, a, left), (theirs, b, right))
    base = common_past(history, name, [ours], theirs)
    merged = merge_records(base, left, right)
    if suspect or decision_of(left) != decision_of(right):
        decided = _decided(history, name, [ours, theirs], (base, left, right), merged)
        if decision_of(left) != decision_of(right) or decision_of(decided.record) != decision_of(
            left
        ):
            merged = decided  # else both sides know it already, and nobody need hear it again
    merged = _located(merged, ours, theirs)
    return Reconciled(_stored(history, merged, (a, b), (left, right)), merged.conflicts)


def _located(merged: Merged, ours: str, theirs: str) -> Merged:
    """Say of every value set aside which commits to look for it in."""
    where = f"{ours[:10]} or {theirs[:10]}"
    conflicts = tuple(c if c.commit else replace(c, commit=where) for c in merged.conflicts)
    return replace(merged, conflicts=conflicts)


def corrected(history: History, name: str, tip: str) -> Reconciled | None:
    """A record whose control at ``tip`` is not its strongest open decision, put right."""
    entry = history.version(tip, name)
    record = history.parsed(entry, name)
    if isinstance(record, HandoffError):
        return None
    merged = _decided(history, name, [tip], (record, record, record), Merged(record=record))
    shown, held = decision_of(record), decision_of(merged.record)
    if shown == held or not (has_command(shown) or has_command(held)):
        return None
    return Reconciled(_stored(history, merged, (entry,), (record,)), merged.conflicts)


def common_past(history: History, name: str, ours: list[str], theirs: str) -> JsonObject | None:
    """A record at the merge base; several bases are folded, in oid order, into a virtual one."""
    bases = history.merge_bases(ours, theirs)
    folded = history.record(bases[0], name) if bases else None
    for index in range(1, len(bases)):
        past = common_past(history, name, bases[:index], bases[index])
        other = history.record(bases[index], name)
        merged = merge_records(past, folded, other)
        if decision_of(folded) != decision_of(other):
            sides = (past, folded, other)
            merged = _decided(history, name, bases[: index + 1], sides, merged)
        folded = merged.record
    return folded


def _decided(
    history: History,
    name: str,
    tips: list[str],
    sides: tuple[JsonObject | None, JsonObject | None, JsonObject | None],
    undecided: Merged,
) -> Merged:
    """The merge with control as the graph decides it; ``undecided`` when it says nothing."""
    opened = open_decisions(history, name, tips)
    if not opened:
        return undecided
    held = strongest(opened)
    base, ours, theirs = sides
    control: Value = held.control if has_command(held.decision) else None
    unwritten = held.decision == CLOSED and not any(s and "control" in s for s in (ours, theirs))
    if held.decision == NO_CONTROL or unwritten:
        control = ABSENT
    merged = merge_records(base, ours, theirs, control=control, decided=True)
    rule = f"an unanswered {describe(held.decision)} holds"
    lost = tuple(
        Conflict(pointer="$.control", rule=rule, lost=item.decision, commit=item.commit)
        for item in opened
        if item.decision != held.decision and has_command(item.decision)
    )
    return Merged(record=merged.record, conflicts=merged.conflicts + lost)


def _stored(
    history: History,
    merged: Merged,
    entries: Iterable[Entry | None],
    values: Iterable[JsonObject | None],
) -> Entry | None:
    sides = list(zip(entries, values, strict=True))
    known = {e: history.store.blob(e.oid) for e, _ in sides if e is not None}
    said = merge_bytes(merged.record, [(known[e], v) for e, v in sides if e is not None and v])
    if said is None:
        return None
    for entry, data in known.items():
        if said == data and entry.mode == FILE_MODE:
            return entry
    return Entry(FILE_MODE, history.store.write_blob(said))


def _around_unreadable(
    history: History,
    name: str,
    left: tuple[str, Entry | None, JsonObject | HandoffError | None],
    right: tuple[str, Entry | None, JsonObject | HandoffError | None],
) -> Reconciled:
    """An unreadable version says nothing, so a readable one on the other side stands.

    Where the other side has none either, the bytes are kept for the person who can read them.
    """
    message = "a commit holds an unreadable version of this record"
    remedy = "repair it where it was committed; its bytes stay in history"
    finding = Finding(
        rule="HF301", severity=Severity.VIOLATION, file=name, message=message, remedy=remedy
    )
    readable = [side for side in (left, right) if isinstance(side[2], dict)]
    if not readable:
        present = [entry for _, entry, _ in (left, right) if entry is not None]
        kept = max(present, key=lambda entry: entry.oid, default=None)
        return Reconciled(kept, (), (finding,))
    _, entry, record = readable[0]
    sides = (record, record, record) if isinstance(record, dict) else (None, None, None)
    merged = _decided(history, name, [left[0], right[0]], sides, Merged(record=sides[0]))
    stored = _stored(history, merged, (entry,), (sides[0],))
    return Reconciled(stored, merged.conflicts, (finding,))


def disputed(history: History, merge: str, parents: list[str]) -> set[str]:
    """Records on whose control a merge commit and its parents do not agree."""
    sides = [merge, *parents]
    if len({history.folder_oid(side) for side in sides}) == 1:
        return set()
    versions = [history.entries(side) for side in sides]
    names = {
        name
        for name in {n for version in versions for n in version}
        if len({version.get(name) for version in versions}) > 1
    }
    return {n for n in names if len({decision_at(history, side, n) for side in sides}) > 1}
