"""What a check found: rule, severity, place, and what to do; never the offending value."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.StrEnum):
    """How much a finding weighs."""

    VIOLATION = "violation"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. ``file`` is a name under ``portable/``, ``pointer`` a JSON path in it."""

    rule: str
    severity: Severity
    file: str
    message: str
    pointer: str = "$"
    remedy: str = ""

    @property
    def holds_back(self) -> bool:
        """Whether the record must not travel as it is."""
        return self.severity is Severity.VIOLATION
