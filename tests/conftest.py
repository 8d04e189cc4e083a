"""Fixtures every test may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from handoff_state import StateLayout, WorkItemStore
from world import Machine, World

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


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare hub in a temporary folder."""
    return World(tmp_path)


@pytest.fixture
def pair(world: World) -> tuple[Machine, Machine]:
    """Two machines on one hub, both set up and equal."""
    return world.machine("a"), world.machine("b")
