"""Strict reading and canonical writing of records (records.md, Reading)."""

from __future__ import annotations

import json
import re
from typing import NoReturn, TypeAlias

from handoff_state.errors import UnreadableRecordError

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, JSON]

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_INT = 2**63

_TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)

# Brackets inside strings do not nest; a plain scan cannot overflow a stack. Possessive, and
# with the closing quote optional: a string that never ends is scanned once, not once a quote.
_NESTING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def is_time(value: JSON) -> bool:
    """Whether ``value`` is a UTC time in the one accepted form, ``2026-09-14T09:11:58Z``."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def as_object(value: JSON) -> JsonObject:
    """``value`` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def canonical(value: JSON) -> str:
    """The one text of a value: sorted keys, no blanks; ``True``, ``1`` and ``1.0`` differ."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def encode(record: JsonObject) -> bytes:
    """A record as it is written: two-space indent, ASCII escapes, a newline at the end."""
    return (json.dumps(record, indent=2) + "\n").encode("ascii")


def decode(data: bytes, file: str) -> JsonObject:
    """Parse one record, or raise :class:`UnreadableRecordError` naming ``file`` and the place.

    UTF-8 without BOM, one JSON object, no duplicate keys, no NaN or Infinity, integers up
    to 2^63, depth up to 64, at most 4 MiB.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableRecordError(f"{len(data)} bytes, more than {MAX_BYTES}", file=file)
    if data.startswith(b"\xef\xbb\xbf"):
        raise UnreadableRecordError("starts with a byte order mark", file=file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableRecordError(f"not UTF-8 at byte {error.start}", file=file) from error
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text, file)
    return _parse(text, file)


def _parse(text: str, file: str) -> JsonObject:
    faults: list[_Fault] = []
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _object(pairs, faults),
        parse_int=lambda digits: _integer(digits, faults),
        parse_float=lambda digits: _float(digits, faults),
        parse_constant=lambda name: _fault(f"{name} is not JSON", faults),
    )
    try:
        value: JSON = decoder.decode(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at line {error.lineno} column {error.colno}: {error.msg}"
        raise UnreadableRecordError(reason, file=file) from error
    if faults:
        _raise_fault(value, file)
    if not isinstance(value, dict):
        raise UnreadableRecordError(f"a {_kind(value)}, not an object", file=file)
    return value


class _Fault(str):
    """Stands where a forbidden value stood, so that the walk can say at which path."""

    __slots__ = ()


def _fault(reason: str, faults: list[_Fault]) -> _Fault:
    fault = _Fault(reason)
    faults.append(fault)
    return fault


def _object(pairs: list[tuple[str, JSON]], faults: list[_Fault]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                value[key] = _fault("duplicate key", faults)
            seen.add(key)
    return value


def _integer(digits: str, faults: list[_Fault]) -> int | _Fault:
    # The length is looked at first: int() of a long run of digits is itself an attack.
    if len(digits) <= len(str(MAX_INT)) + 1 and abs(int(digits)) <= MAX_INT:
        return int(digits)
    return _fault("an integer beyond 2^63", faults)


def _float(digits: str, faults: list[_Fault]) -> float | _Fault:
    value = float(digits)
    return value if abs(value) != float("inf") else _fault("a number beyond a double", faults)


def _raise_fault(value: JSON, file: str) -> NoReturn:
    stack: list[tuple[str, JSON]] = [("$", value)]
    while stack:
        pointer, item = stack.pop()
        if isinstance(item, _Fault):
            raise UnreadableRecordError(str(item), file=file, pointer=pointer)
        if isinstance(item, dict):
            stack.extend((f"{pointer}{step(key)}", child) for key, child in item.items())
        elif isinstance(item, list):
            stack.extend((f"{pointer}[{index}]", child) for index, child in enumerate(item))
    # A duplicate of a duplicate hides its own marker; the file is still refused.
    raise UnreadableRecordError("duplicate key", file=file)


def step(key: str) -> str:
    """One step of a JSON path: ``.key``, or ``["a key"]`` where a dot would mislead."""
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"


def _check_depth(text: str, file: str) -> None:
    depth = 0
    for token in _NESTING.finditer(text):
        first = token.group()[0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, token.start()) + 1
                reason = f"deeper than {MAX_DEPTH} levels at line {line}"
                raise UnreadableRecordError(reason, file=file)
        elif first in "]}":
            depth -= 1


def _kind(value: JSON) -> str:
    names = {list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
