"""Fixtures every test may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from world import Machine, World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare hub in a temporary folder."""
    return World(tmp_path)


@pytest.fixture
def pair(world: World) -> tuple[Machine, Machine]:
    """Two machines on one hub, both set up and equal."""
    return world.machine("a"), world.machine("b")
