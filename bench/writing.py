"""One record written among many against one among few, and the rescan it does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.states import fill, ref, seen
from bench.timing import Row, paired
from handoff_state import StateLayout, WorkItemStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FEW = 100


def rows(folder: Path, many: int, runs: int) -> Iterator[Row]:
    """The writer figures; a row a kind of write."""
    few_layout, many_layout = StateLayout(folder / "few"), StateLayout(folder / "many")
    fill(few_layout, _FEW)
    fill(many_layout, many)
    yield paired(
        f"write one record among {many:,}",
        lambda number: seen(many_layout, 7, number),
        f"among {_FEW}",
        lambda number: seen(few_layout, 7, number),
        runs=runs * 5,
        goal=1.2,
    )
    yield paired(
        f"add one record (index changes) among {many:,}",
        lambda number: _add(many_layout, many + number),
        f"among {_FEW}",
        lambda number: _add(few_layout, many + number),
        runs=runs,
    )
    rescanned = min(many, 5_000)
    layout = StateLayout(folder / "rescanned")
    fill(layout, rescanned)
    yield paired(
        f"write one record among {rescanned:,}",
        lambda number: seen(layout, 7, number),
        "with a rescan of every record on each write",
        lambda number: _write_and_rescan(layout, number),
        runs=runs,
    )


def _add(layout: StateLayout, number: int) -> None:
    WorkItemStore(layout).write_section(ref(number), "lifecycle", {"startedAt": "now"})


def _write_and_rescan(layout: StateLayout, number: int) -> None:
    """What the reference consumer's own store does: read every record to write its index."""
    seen(layout, 8, number)
    WorkItemStore(layout).rebuild_index()
