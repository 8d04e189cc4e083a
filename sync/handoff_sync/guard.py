"""What may not travel in a record: rules HF1xx to HF3xx, applied to one record's bytes.

No finding repeats the value it is about: a report is read in places a secret must not be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from handoff_state.catalog import CLOCK_KEYS, HANDLE_KEYS, RECORD_KEYS
from handoff_state.codec import as_object, is_time
from handoff_state.control import ARMING
from handoff_state.errors import HandoffError, SlugCollisionError, UnreadableRecordError
from handoff_state.refs import WorkItemRef
from handoff_state.workitems import read_record
from handoff_sync.detector import is_secret
from handoff_sync.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handoff_state.codec import JSON, JsonObject

#: Written by people, so a path in it need not be a handle (cli.md, HF201 and free text).
_FREE_TEXT = frozenset({"title", "note", "terminal"})
#: Of the free text, where even another user's home directory is only a warning.
_LENIENT = frozenset({"title", "terminal"})
#: Names the instance its operator chose; it may well be the host's name.
_INSTANCE = "instance"

#: Machine handles by name, however a daemon spells them: ``session_id`` is ``sessionId``.
_HANDLES = frozenset(key.lower() for key in HANDLE_KEYS)

_ABSOLUTE = re.compile(r"(?:~/|/[^/\s]+/|[A-Za-z]:[\\/]|\\\\[^\\\s]+\\)\S*")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s]+[/\\]")
_SHORTEST_HANDLE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What names this machine: handle values from ``local/``, its home and its host name."""

    handles: frozenset[str] = frozenset()
    home: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value on its way down: the JSON path, and the keys that led to it."""

    pointer: str
    keys: tuple[str, ...] = ()

    def down(self, key: str) -> _Place:
        return _Place(f"{self.pointer}.{key}", (*self.keys, key))


@dataclass(slots=True)
class Guard:
    """Applies the rules to records; ``machine`` is what it must keep from travelling."""

    machine: Machine = field(default_factory=Machine)
    refuse_unknown: bool = False

    def inspect(self, name: str, data: bytes, known: JsonObject | None = None) -> list[Finding]:
        """Every finding on one record's bytes; ``known`` is its recorded version.

        Text that already stands in ``known`` has travelled, so the detector library is
        asked about new text only.
        """
        return [self._masked(finding) for finding in self._inspect(name, data, known)]

    def _inspect(self, name: str, data: bytes, known: JsonObject | None) -> list[Finding]:
        try:
            record = read_record(data, name)
        except SlugCollisionError:
            message = "the file's name and its ref are of two work items"
            remedy = "move a copy out of portable/; a record is named after its ref"
            return [_violation("HF303", name, message, remedy)]
        except UnreadableRecordError as error:
            return [_violation("HF301", name, error.reason, error.hint, pointer=error.pointer)]
        except HandoffError as error:
            message = "its ref is not a work item's"
            return [_violation("HF303", name, message, error.hint, pointer="$.ref")]
        old = frozenset(text for _, text in _texts(known or {}, _Place("$")))
        return [
            *_identity(name, record),
            *_arming_time(name, record),
            *self._keys(name, record, _Place("$")),
            *self._values(name, record, old),
            *_clocks(name, record),
            *self._unknown(name, record),
        ]

    def _masked(self, finding: Finding) -> Finding:
        """A finding whose place does not repeat what it is about: keys can be secrets too."""
        told = is_secret(finding.pointer) or self._handle(finding.pointer, _Place("$"))[0]
        return replace(finding, pointer="$ (hidden)") if told else finding

    def _keys(self, name: str, value: JSON, place: _Place) -> Iterator[Finding]:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._keys(name, item, _Place(f"{place.pointer}[{index}]", place.keys))
        for key, item in as_object(value).items():
            if _plain_key(key) in _HANDLES:
                message = "its key names a machine handle"
                remedy = "take it out; handles belong in local/"
                yield _violation("HF201", name, message, remedy, pointer=f"{place.pointer}.{key}")
            yield from self._keys(name, item, place.down(key))

    def _values(self, name: str, record: JsonObject, old: frozenset[str]) -> Iterator[Finding]:
        for place, text in _texts(record, _Place("$")):
            message, severity = self._handle(text, place)
            if message:
                yield Finding(
                    rule="HF201",
                    severity=severity,
                    file=name,
                    pointer=place.pointer,
                    message=message,
                    remedy="take it out, or move it to local/",
                )
            key = place.keys[-1] if place.keys else ""
            if text not in old and is_secret(text, key):
                yield _violation(
                    "HF202",
                    name,
                    "looks like a secret",
                    "take it out, and revoke it where it was issued",
                    pointer=place.pointer,
                )

    def _handle(self, text: str, place: _Place) -> tuple[str, Severity]:
        if any(handle in text for handle in self.machine.handles):
            return "holds a handle of this machine's local/", Severity.VIOLATION
        if self.machine.home and re.search(_inside(self.machine.home), f"{text}/"):
            return "holds this user's home directory", Severity.VIOLATION
        key = place.keys[-1] if place.keys else ""
        if self.machine.host and text == self.machine.host and key != _INSTANCE:
            return "holds this machine's host name", Severity.VIOLATION
        free = _FREE_TEXT & {*place.keys}
        if _HOME.search(text):
            lenient = _LENIENT & {*place.keys}
            severity = Severity.WARNING if lenient else Severity.VIOLATION
            return "holds a home directory", severity
        if not free and _ABSOLUTE.fullmatch(text):
            return "holds an absolute path", Severity.VIOLATION
        return "", Severity.NOTE

    def _unknown(self, name: str, record: JsonObject) -> Iterator[Finding]:
        severity = Severity.VIOLATION if self.refuse_unknown else Severity.WARNING
        for key in sorted(record.keys() - set(RECORD_KEYS)):
            yield Finding(
                rule="HF302",
                severity=severity,
                file=name,
                pointer=f"$.{key}",
                message="no catalogue entry claims this key",
                remedy="declare it under attributes: in .handoff.yaml, or take it out",
            )


def _plain_key(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _inside(home: str) -> str:
    """Matches the home directory where a path begins, and not inside a url's own path."""
    return rf"(?<![\w.-]){re.escape(home)}/"


def arms_whatever_the_time(record: JsonObject) -> bool:
    """Whether a reader that does not look at the time would arm on this record.

    The reference consumer is one: such a record is held back, and one that comes in is not
    written (records.md, Control).
    """
    control = as_object(record.get("control"))
    command = control.get("command")
    arming = isinstance(command, str) and command in ARMING
    return arming and not is_time(control.get("requestedAt"))


def _violation(rule: str, name: str, message: str, remedy: str, *, pointer: str = "$") -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.VIOLATION,
        file=name,
        pointer=pointer,
        message=message,
        remedy=remedy,
    )


def not_plain(name: str, what: str) -> Finding:
    """The finding on an entry of ``portable/`` that is not a plain file (HF102)."""
    return _violation("HF102", name, f"{what}, not a plain file", "move it out of portable/")


def unreadable(name: str, reason: str) -> Finding:
    """The finding on a record the file system will not give (HF301)."""
    return _violation("HF301", name, reason, "make it readable to this user")


def stranger(name: str) -> Finding:
    """The finding on a plain file of ``portable/`` that is not a record: it stays behind."""
    return Finding(
        rule="HF102",
        severity=Severity.NOTE,
        file=name,
        message="not a record, so it is not carried",
        remedy="move it out of portable/",
    )


def _identity(name: str, record: JsonObject) -> Iterator[Finding]:
    url = record.get("url")
    derived = WorkItemRef.parse(str(record.get("ref"))).url
    if url is not None and url != derived:
        yield _violation(
            "HF303",
            name,
            "the url is not the ref's own",
            "remove it; it is derived",
            pointer="$.url",
        )


def _arming_time(name: str, record: JsonObject) -> Iterator[Finding]:
    if arms_whatever_the_time(record):
        yield _violation(
            "HF301",
            name,
            "an arming command whose time does not parse",
            "write it as 2026-09-14T09:11:58Z, or arm the item again",
            pointer="$.control.requestedAt",
        )


def _clocks(name: str, record: JsonObject) -> Iterator[Finding]:
    ledgers = {"poll": record.get("poll"), **as_object(record.get("pullRequests"))}
    for where, ledger in ledgers.items():
        for key in CLOCK_KEYS:
            if key in as_object(ledger):
                place = "$.poll" if where == "poll" else f'$.pullRequests["{where}"]'
                yield Finding(
                    rule="HF304",
                    severity=Severity.WARNING,
                    file=name,
                    pointer=f"{place}.{key}",
                    message="a poll clock in a portable record",
                    remedy="the next poll write strips it",
                )


def _texts(value: JSON, place: _Place) -> Iterator[tuple[_Place, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, _Place(f"{place.pointer}[{index}]", place.keys))
    elif isinstance(value, dict):
        for key, item in value.items():
            # A key is text too: an id used as a key can be a handle or a token.
            yield _Place(f"{place.pointer} (a key)", place.keys), key
            yield from _texts(item, place.down(key))


def handles_in(session: JsonObject) -> Iterator[str]:
    """The values in one file of ``local/`` that name this machine's processes and folders."""
    for place, text in _texts(session, _Place("$")):
        named = place.keys and place.keys[-1] in {"harnessSessionId", "cwd", "tmuxTarget"}
        if named and not place.pointer.endswith("(a key)") and len(text) >= _SHORTEST_HANDLE:
            yield text
