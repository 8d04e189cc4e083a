"""A state root in a temporary folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from handoff_state import StateLayout, WorkItemStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def layout(tmp_path: Path) -> StateLayout:
    """The paths of an empty state root."""
    return StateLayout(tmp_path / "root")


@pytest.fixture
def store(layout: StateLayout) -> WorkItemStore:
    """The records of an empty state root."""
    return WorkItemStore(layout)
