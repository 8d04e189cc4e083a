"""The terminal: one console, and text made safe for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def console(*, color: bool) -> Console:
    """A console on standard output; wide in a pipe, so that lines are not broken for nobody."""
    import sys

    from rich.console import Console

    return Console(
        force_terminal=color or None,
        no_color=not color,
        highlight=False,
        emoji=False,
        width=None if sys.stdout.isatty() else 200,
    )


def plain(text: str) -> str:
    """A record's text without anything a terminal would act on."""
    return "".join(c if c.isprintable() and c not in _BIDI else "?" for c in text)
