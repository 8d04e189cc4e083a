"""How a command is declared: what it does, an example, and what it may touch."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Callable


class Touches(enum.StrEnum):
    """A thing a command may change; a test compares the declaration with what changed."""

    RECORDS = "working records"
    INDEX = "index entries of portable/"
    REFS = "the state branch"
    REMOTE = "the remote"
    CONFIG = "configuration files"
    LOCAL = "local/"


class HandoffCommand(click.RichCommand):
    """A command that knows what it may touch."""

    touches: frozenset[Touches] = frozenset()


def command(
    name: str, *touches: Touches, example: str
) -> Callable[[Callable[..., int | None]], HandoffCommand]:
    """Declare a command; help shows the example and what may be touched."""
    listed = ", ".join(touches) if touches else "nothing"

    def declare(function: Callable[..., int | None]) -> HandoffCommand:
        made = click.command(
            name, cls=HandoffCommand, epilog=f"Example: {example}\n\nMay touch: {listed}."
        )(function)
        made.touches = frozenset(touches)
        return made

    return declare


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
