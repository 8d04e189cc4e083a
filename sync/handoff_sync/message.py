"""What a change to a record is in words, and the commit messages made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_state.codec import canonical
from handoff_state.control import decision_of
from handoff_sync import __version__
from handoff_sync.decisions import describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handoff_state.codec import JsonObject

_MOST_LINES = 100


def changed_sections(before: JsonObject | None, after: JsonObject | None) -> list[str]:
    """The top-level keys whose values differ, in record order; identity left out."""
    old, new = before or {}, after or {}
    return [
        key
        for key in dict.fromkeys([*new, *old])
        if key not in {"ref", "url"} and _text(old, key) != _text(new, key)
    ]


def _text(record: JsonObject, key: str) -> str:
    return canonical(record[key]) if key in record else ""


def change(before: JsonObject | None, after: JsonObject | None, name: str) -> str:
    """One line about one record: its ref, what changed, and control from and to."""
    known = after or before
    ref = str(known.get("ref")) if known else name
    if after is None:
        return f"{ref}: removed"
    sections = changed_sections(before, after)
    words = ", ".join(sections) or "rewritten"
    if decision_of(before) != decision_of(after):
        moved = f"{describe(decision_of(before))} -> {describe(decision_of(after))}"
        words = f"{words} ({moved})"
    return f"{ref}: {'new, ' if before is None else ''}{words}"


def compose(lines: Mapping[str, str], *, label: str, subject: str = "") -> str:
    """A commit message: a subject that counts, a line per record, and our trailers."""
    controls = sum(" -> " in line for line in lines.values())
    counted = f"handoff: {_count(len(lines), 'work item')}"
    if controls:
        counted += f", {_count(controls, 'control change')}"
    shown = [_one_line(line) for line in list(lines.values())[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"... and {len(lines) - _MOST_LINES} more")
    body = "\n".join(shown)
    trailers = f"Handoff-Machine: {label}\nHandoff-Version: {__version__}\n"
    return "\n\n".join(part for part in (_one_line(subject) or counted, body, trailers) if part)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _one_line(text: str) -> str:
    # A record's values are hostile text: no line of theirs may pass for a trailer.
    return "".join(c if c.isprintable() else "?" for c in text)
