"""Paired timing: two jobs in turn, so that a machine whose speed drifts drifts for both."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure: ours and the peer's medians in seconds, and the median of the pairs' ratios."""

    what: str
    ours: float
    peer_name: str
    peer: float
    ratio: float
    goal: float | None = None

    def __str__(self) -> str:
        verdict = ""
        if self.goal is not None:
            verdict = f"  goal {self.goal:g}: {'met' if self.ratio <= self.goal else 'MISSED'}"
        return (
            f"{self.what}: {self.ours * 1000:.1f} ms, {self.peer_name} {self.peer * 1000:.1f} ms, "
            f"ratio {self.ratio:.2f}{verdict}"
        )


def paired(
    what: str,
    ours: Callable[[int], None],
    peer_name: str,
    peer: Callable[[int], None],
    *,
    runs: int,
    goal: float | None = None,
) -> Row:
    """Time two jobs alternately; each gets the run's number, and one unmeasured run first."""
    ours(0)
    peer(0)
    a, b = [], []
    for number in range(1, runs + 1):
        a.append(_seconds(ours, number))
        b.append(_seconds(peer, number))
    ratios = [x / y for x, y in zip(a, b, strict=True)]
    return Row(
        what=what,
        ours=statistics.median(a),
        peer_name=peer_name,
        peer=statistics.median(b),
        ratio=statistics.median(ratios),
        goal=goal,
    )


def _seconds(job: Callable[[int], None], number: int) -> float:
    start = time.perf_counter()
    job(number)
    return time.perf_counter() - start
