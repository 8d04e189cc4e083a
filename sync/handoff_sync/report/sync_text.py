"""The outcome of a sync for a person: control changes first, then a table, then one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_sync.findings import Severity
from handoff_sync.report.terminal import console, plain
from handoff_sync.result import Outcome

if TYPE_CHECKING:
    from rich.console import Console

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
    out = console(color=invocation.colors())
    for record in result.control_changes:
        _control(out, record, planned=result.dry_run)
    if result.records and not invocation.quiet:
        records_table(out, result)
    for finding in result.findings:
        if finding.holds_back or not invocation.quiet:
            _finding(out, finding)
    out.print(summary(result), markup=False, highlight=False)


def _control(out: Console, record: RecordOutcome, *, planned: bool) -> None:
    before, after = record.control or ("", "")
    verb = "would change" if planned else "changed"
    arms = "; this machine will run an agent on it" if record.arms else ""
    text = f"control {verb}: {plain(record.ref)}: {plain(before)} -> {plain(after)}{arms}"
    out.print(text, style="bold red" if record.arms else "bold", markup=False, highlight=False)


def records_table(out: Console, result: Result) -> None:
    """One row a record that did not stay as it was everywhere."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("outcome", "work item", "what"):
        table.add_column(heading, overflow="fold")
    for record in result.records[:_MOST_ROWS]:
        words = ", ".join(plain(section) for section in record.sections)
        detail = "; ".join(part for part in (words, plain(record.detail)) if part)
        style = _STYLE.get(record.outcome, "")
        table.add_row(record.outcome, plain(record.ref), _text(detail), style=style)
    out.print(table)
    if len(result.records) > _MOST_ROWS:
        out.print(f"... and {len(result.records) - _MOST_ROWS} more (--json lists them all)")


def _text(value: str) -> str:
    from rich.markup import escape

    return escape(value)


def _finding(out: Console, finding: Finding) -> None:
    where = f"{plain(finding.file)}: " if finding.file else ""
    pointer = f" at {plain(finding.pointer)}" if finding.pointer != "$" else ""
    line = f"{finding.severity} {finding.rule}: {where}{plain(finding.message)}{pointer}"
    style = "red" if finding.severity is Severity.VIOLATION else "yellow"
    out.print(line, style=style, markup=False, highlight=False)
    if finding.remedy and finding.holds_back:
        out.print(f"  {plain(finding.remedy)}", markup=False, highlight=False)


def summary(result: Result) -> str:
    """The one line: what happened, and what was verified."""
    counts: dict[str, int] = {}
    for record in result.records:
        counts[record.outcome] = counts.get(record.outcome, 0) + 1
    listed = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    tail = f" ({listed})" if listed else ""
    at = (result.remote or "")[:10]
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
    return f"{words[result.outcome]} {plain(result.remote_name)} at {at}{tail}"
