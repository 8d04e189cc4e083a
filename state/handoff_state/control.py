"""What a control section means: does it arm, and which of two open decisions is stronger."""

from __future__ import annotations

from typing import Final

from handoff_state.codec import JSON, JsonObject, canonical, is_time

#: Commands on which a reader starts or goes on running an agent.
ARMING: Final = frozenset({"start", "resume", "contribute", "do", "review"})

#: Stands for "no control section", which is a decision of its own when one was there before.
ABSENT: Final = "absent"
#: Stands for "no control because the item is over"; reopening alone is no decision.
CLOSED: Final = "closed"

_RANK = {"stop": 70, "pause": 60, "cleanup": 50, "execute": 40}
_NULL_RANK, _ABSENT_RANK, _UNKNOWN_RANK, _ARMING_RANK = 30, 20, 10, 0

#: A control decision as a comparable text: canonical JSON of the section, or a word above.
Decision = str


def decision_of(record: JsonObject | None) -> Decision:
    """The control decision a version of a record shows (records.md, Control)."""
    if record is None:
        return ABSENT
    control = record.get("control", ABSENT)
    if isinstance(control, dict):
        return canonical(control)
    if isinstance(record.get("ended"), dict):
        return CLOSED
    return "null" if control is None else ABSENT if control == ABSENT else canonical(control)


def has_command(decision: Decision) -> bool:
    """Whether the decision is a written command rather than the lack of one."""
    return decision not in {ABSENT, CLOSED, "null"}


def arms(control: JSON) -> bool:
    """Whether a reader would run an agent on this section."""
    if not isinstance(control, dict):
        return False
    command = control.get("command")
    return isinstance(command, str) and command in ARMING and is_time(control.get("requestedAt"))


def record_arms(record: JsonObject | None) -> bool:
    """Whether a record arms its item; a closed item is not armed by a left-over command.

    Only a stamp closes: what a reader may not take for one leaves the item armed.
    """
    if record is None or not arms(record.get("control")):
        return False
    ended = record.get("ended")
    return not (isinstance(ended, dict) and ended)


def strength(control: JSON) -> tuple[int, str, str]:
    """Total order over control values that do not know each other; the larger wins.

    stop > pause > cleanup > execute > null or closed > removed > an unknown word or an
    arming word whose time does not parse > the arming words. Within one rank the later
    valid ``requestedAt``, then canonical bytes: this clock can pick between two arms, and
    never arm.
    """
    if control is None or control == CLOSED:
        return _NULL_RANK, "", ""
    if control == ABSENT:
        return _ABSENT_RANK, "", ""
    if not isinstance(control, dict):
        return _UNKNOWN_RANK, "", canonical(control)
    rank = _RANK.get(str(control.get("command")), _UNKNOWN_RANK)
    when = control.get("requestedAt")
    return (
        _ARMING_RANK if arms(control) else rank,
        str(when) if is_time(when) else "",
        canonical(control),
    )
