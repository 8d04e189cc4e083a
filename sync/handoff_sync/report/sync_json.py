"""The JSON document of a sync (sync.md, Results)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handoff_sync.findings import Finding
    from handoff_sync.result import RecordOutcome, Result


def document(result: Result, root_source: str) -> str:
    """One JSON document, ``"schema": 1``."""
    return json.dumps(
        {
            "schema": 1,
            "outcome": result.outcome,
            "carry": result.carry,
            "ref": result.ref,
            "before": result.before,
            "after": result.after,
            "remote": result.remote,
            "verified": result.verified,
            "attempts": result.attempts,
            "dry_run": result.dry_run,
            "engines": {"objects": "pygit2", "transport": "git"},
            "root_from": root_source,
            "machine": result.machine,
            "records": [_record(record) for record in result.records],
            "findings": [finding_object(finding) for finding in result.findings],
            "oldest_unsent": result.oldest_unsent,
        },
        indent=2,
    )


def _record(record: RecordOutcome) -> dict[str, object]:
    shown: dict[str, object] = {
        "ref": record.ref,
        "file": record.file,
        "outcome": record.outcome,
        "sections": record.sections,
        "detail": record.detail,
    }
    if record.control is not None:
        before, after = record.control
        shown["control"] = {"before": before, "after": after, "arms": record.arms}
    return shown


def finding_object(finding: Finding) -> dict[str, object]:
    """One finding as JSON."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "file": finding.file,
        "pointer": finding.pointer,
        "message": finding.message,
        "remedy": finding.remedy,
    }
