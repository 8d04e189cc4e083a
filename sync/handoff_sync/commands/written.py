"""What a command that writes one record says when it has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from handoff_state.refs import WorkItemRef
    from handoff_state.writer import Change


def say(change: Change, ref: WorkItemRef, *, as_json: bool) -> int:
    """Print ``changed`` or ``unchanged`` and the file; returns exit code 0."""
    word = "changed" if change else "unchanged"
    document = {"schema": 1, "outcome": word, "ref": str(ref), "file": ref.file}
    click.echo(json.dumps(document) if as_json else f"{word} {ref.file}")
    return 0
