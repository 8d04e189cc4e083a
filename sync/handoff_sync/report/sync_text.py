"""The outcome of a sync for a person: control changes first, then a table, then one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_sync.findings import Severity
from handoff_sync.report.terminal import line, plain, table
from handoff_sync.result import Outcome

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation
    from handoff_sync.findings import Finding
    from handoff_sync.result import RecordOutcome, Result

_STYLE = {
    Outcome.CONFLICT: "yellow",
    Outcome.QUARANTINED: "red",
    Outcome.REFUSED: "red",
    Outcome.REMOVED: "magenta",
    Outcome.RECEIVED: "cyan",
    Outcome.SENT: "green",
    Outcome.MERGED: "green",
}
_MOST_ROWS = 200


def render(result: Result, invocation: Invocation) -> None:
    """Print a result; ``-q`` leaves control changes, what needs a person, and one line."""
    color = invocation.colors()
    for record in result.control_changes:
        _control(record, planned=result.dry_run, color=color)
    if result.records and not invocation.quiet:
        records_table(result, color=color)
    for finding in result.findings:
        if finding.holds_back or not invocation.quiet:
            _finding(finding, color=color)
    line(summary(result))


def _control(record: RecordOutcome, *, planned: bool, color: bool) -> None:
    before, after = record.control or ("", "")
    verb = "would change" if planned else "changed"
    arms = "; this machine will run an agent on it" if record.arms else ""
    if record.outcome is Outcome.QUARANTINED:
        verb, arms = "changes", "; held back here until the record is repaired"
    text = f"control {verb}: {plain(record.ref)}: {plain(before)} -> {plain(after)}{arms}"
    line(text, color=color, style="red" if record.arms else "yellow")


def records_table(result: Result, *, color: bool) -> None:
    """One row a record that did not stay as it was everywhere."""
    shown = result.records[:_MOST_ROWS]
    rows = [(record.outcome, record.ref, _what(record)) for record in shown]
    styles = [_STYLE.get(record.outcome, "") for record in shown]
    table(("outcome", "work item", "what"), rows, color=color, styles=styles)
    if len(result.records) > _MOST_ROWS:
        line(f"... and {len(result.records) - _MOST_ROWS} more (--json lists them all)")


def _what(record: RecordOutcome) -> str:
    moved = f"control {record.control[0]} -> {record.control[1]}" if record.control else ""
    sections = ", ".join(section for section in record.sections if section != "control")
    return "; ".join(part for part in (moved, sections, record.detail) if part)


def _finding(finding: Finding, *, color: bool) -> None:
    where = f"{plain(finding.file)}: " if finding.file else ""
    pointer = f" at {plain(finding.pointer)}" if finding.pointer != "$" else ""
    text = f"{finding.severity} {finding.rule}: {where}{plain(finding.message)}{pointer}"
    line(text, color=color, style="red" if finding.severity is Severity.VIOLATION else "yellow")
    if finding.remedy and finding.holds_back:
        line(f"  {plain(finding.remedy)}")


def summary(result: Result) -> str:
    """The one line: what happened, and what was verified."""
    counts: dict[str, int] = {}
    for record in result.records:
        counts[record.outcome] = counts.get(record.outcome, 0) + 1
    listed = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    tail = f" ({listed})" if listed else ""
    if result.outcome == "planned":
        return f"dry run, nothing touched{tail}"
    if result.outcome == "offline":
        if result.oldest_unsent is None:
            return f"nothing to send{tail}"
        return f"committed here, not handed off; unsent since {result.oldest_unsent}{tail}"
    if result.remote is None:
        return f"nothing to hand off yet{tail}"
    words = {
        "up-to-date": "up to date, verified against",
        "received": "received, verified against",
        "handed-off": "handed off, read back from",
    }
    at = f"{plain(result.remote_name)} at {result.remote[:10]}"
    return f"{words[result.outcome]} {at}{tail}"
