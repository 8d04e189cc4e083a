"""Sample records in the shapes the reference consumer writes; see ``records/``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handoff_state.codec import decode

if TYPE_CHECKING:
    from handoff_state.codec import JsonObject

RECORDS = Path(__file__).parent / "records"
PORTABLE = sorted((RECORDS / "state-root" / "portable").glob("*.json"))
OLDER = sorted((RECORDS / "older").glob("*.json"))
LOCAL = RECORDS / "state-root" / "local"
REPOSITORY = RECORDS / "repository" / "docs" / "specs" / "issue-15" / "work-item-state.json"


def read(path: Path) -> JsonObject:
    """One sample, parsed as the tool parses it."""
    return decode(path.read_bytes(), path.name)
