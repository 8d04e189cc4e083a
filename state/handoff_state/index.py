"""The derived list of records beside them: rebuilt from them, read by nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from handoff_state.catalog import RECORD_KEYS
from handoff_state.codec import as_object, encode
from handoff_state.refs import WorkItemRef

if TYPE_CHECKING:
    from collections.abc import Iterable

    from handoff_state.codec import JsonObject

_HEAD = b'{\n  "workItems": [\n'
_TAIL = b"\n  ]\n}\n"
_ROW_START = b'    {\n      "ref": '
_ROW_END = b"\n    }"
_BETWEEN = b",\n"


def row(file: str, record: JsonObject) -> JsonObject:
    """One record's row: ref, url when there is one, file, sections, sealed when it is."""
    ref = str(record["ref"])
    url = WorkItemRef.parse(ref).url
    sections = [key for key in RECORD_KEYS if isinstance(record.get(key), dict)]
    return {
        "ref": ref,
        **({"url": url} if url else {}),
        "file": file,
        "sections": [*sections],
        **({"sealed": True} if record.get("sealed") else {}),
    }


def build(rows: Iterable[JsonObject]) -> bytes | None:
    """The whole index, sorted by ref; None when there is no record to list."""
    ordered = sorted(rows, key=lambda item: str(item["ref"]))
    return encode({"workItems": [*ordered]}) if ordered else None


def patched(index: bytes, ref: str, new: JsonObject | None) -> bytes | None:
    """``index`` with the row of ``ref`` replaced, added or (``new`` None) removed.

    Works on the bytes, so that one row among 100,000 costs a copy and not a parse; None
    when the bytes are not an index of ours, and a full rebuild is due.
    """
    if not index.startswith(_HEAD) or not index.endswith(_TAIL):
        return None
    body = index[len(_HEAD) : -len(_TAIL)]
    try:
        start, end = _span(body, ref)
    except ValueError:
        return None
    text = b"" if new is None else _row_text(new)
    pieces = [body[:start].removesuffix(_BETWEEN), text, body[end:].removeprefix(_BETWEEN)]
    joined = _BETWEEN.join(piece for piece in pieces if piece)
    return _HEAD + joined + _TAIL if joined else b""


def _row_text(value: JsonObject) -> bytes:
    text = json.dumps(as_object(value), indent=2)
    return "\n".join(f"    {line}" for line in text.split("\n")).encode("ascii")


def _span(body: bytes, ref: str) -> tuple[int, int]:
    # Rows lie sorted by ref, so a bisection over row starts finds the place. What is not
    # there where it must be is a ValueError: not an index of ours.
    low, high = 0, len(body)
    while low < high:
        start = body.rindex(_ROW_START, low, (low + high) // 2 + len(_ROW_START))
        end = body.index(_ROW_END, start) + len(_ROW_END)
        found = _ref_at(body, start)
        if found == ref:
            return start, end
        if found < ref:
            low = end + len(_BETWEEN)
        else:
            high = start
    return low, low


def _ref_at(body: bytes, start: int) -> str:
    begin = start + len(_ROW_START)
    return str(json.loads(body[begin : body.index(_BETWEEN, begin)]))
