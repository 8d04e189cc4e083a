"""The terminal: lines with and without colour, tables, and text made safe for both."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_PIPE_WIDTH = 200


def plain(text: str) -> str:
    """A record's text without anything a terminal would act on."""
    return "".join(c if c.isprintable() and c not in _BIDI else "?" for c in text)


def line(text: str, *, color: bool = False, style: str = "") -> None:
    """Print one line; ``style`` is a colour name, or nothing."""
    click.echo(click.style(text, fg=style) if color and style else text, color=color)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    color: bool,
    styles: Iterable[str] = (),
) -> None:
    """Print a table of plain text; as wide as the terminal, or as it needs in a pipe."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    colours = iter(styles)
    for row in rows:
        drawn.add_row(*(escape(plain(cell)) for cell in row), style=next(colours, ""))
    Console(
        force_terminal=color or None,
        no_color=not color,
        highlight=False,
        emoji=False,
        width=None if sys.stdout.isatty() else _PIPE_WIDTH,
    ).print(drawn)
