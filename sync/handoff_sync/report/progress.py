"""A progress bar on a terminal's standard error, and nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress

#: The steps of a sync in order; the bar is how far along them it is.
_STEPS = (
    "reading records", "asking the remote", "fetching", "planning", "pushing", "reading back",
    "writing records",
)  # fmt: skip


class Steps:
    """Shows which step a run is at; every method does nothing without a terminal."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("starting", total=len(_STEPS))

    def step(self, name: str) -> None:
        """Say that a step begins."""
        if self._bar is not None and self._task is not None:
            at = _STEPS.index(name) if name in _STEPS else 0
            self._bar.update(self._task, description=name, completed=at)

    def stop(self) -> None:
        """Take the bar away before something is printed."""
        if self._bar is not None:
            self._bar.stop()


@contextlib.contextmanager
def steps(*, quiet: bool) -> Iterator[Steps]:
    """A bar for the length of a block."""
    if quiet or not sys.stderr.isatty():
        yield Steps(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Steps(bar)
