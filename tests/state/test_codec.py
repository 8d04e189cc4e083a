"""Strict reading and canonical writing (records.md, Reading)."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.samples import OLDER, PORTABLE
from handoff_state.codec import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INT,
    canonical,
    decode,
    encode,
    is_time,
)
from handoff_state.errors import UnreadableRecordError

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.codec import JSON, JsonObject

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())  # with lone surrogates, which an escape can write
)
values: st.SearchStrategy[JSON] = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
objects: st.SearchStrategy[JsonObject] = st.dictionaries(st.text(), values, max_size=5)


def reason(data: bytes) -> tuple[str, str]:
    with pytest.raises(UnreadableRecordError) as caught:
        decode(data, "r.json")
    assert caught.value.file == "r.json"
    return caught.value.reason, caught.value.pointer


@settings(deadline=None, max_examples=100)
@given(objects)
def test_what_is_written_reads_as_the_same_value(record: JsonObject) -> None:
    assert canonical(decode(encode(record), "r.json")) == canonical(record)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_an_unreadable_one(data: bytes) -> None:
    with contextlib.suppress(UnreadableRecordError):
        assert isinstance(decode(data, "r.json"), dict)


@pytest.mark.parametrize("path", PORTABLE + OLDER, ids=lambda path: path.stem)
def test_a_record_of_the_reference_writer_is_written_back_byte_for_byte(path: Path) -> None:
    assert encode(decode(path.read_bytes(), path.name)) == path.read_bytes()


def test_bytes_are_those_of_json_dump_with_a_two_space_indent() -> None:
    record: JsonObject = {"b": "é\u2028", "a": [], "c": {"d": [1, 2.0, True]}}
    assert encode(record) == json.dumps(record, indent=2).encode() + b"\n"


def test_true_and_one_and_one_point_zero_are_three_values() -> None:
    assert len({canonical(True), canonical(1), canonical(1.0)}) == 3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ("not JSON at line 1 column 1: Expecting value", "$")),
        (b'{"a": }', ("not JSON at line 1 column 7: Expecting value", "$")),
        (b"\xef\xbb\xbf{}", ("starts with a byte order mark", "$")),
        (b'{"a": "\xff"}', ("not UTF-8 at byte 7", "$")),
        (b"[]", ("a list, not an object", "$")),
        (b"null", ("a null, not an object", "$")),
        (b"true", ("a boolean, not an object", "$")),
        (b'{"a": {"b": 1, "b": 2}}', ("duplicate key", "$.a.b")),
        (b'{"a": [0, NaN]}', ("NaN is not JSON", "$.a[1]")),
        (b'{"a b": -Infinity}', ("-Infinity is not JSON", '$["a b"]')),
        (b'{"a": 9223372036854775809}', ("an integer beyond 2^63", "$.a")),
        (b'{"a": ' + b"9" * 9000 + b"}", ("an integer beyond 2^63", "$.a")),
        (b'{"a": 1e999}', ("a number beyond a double", "$.a")),
        (b"NaN", ("NaN is not JSON", "$")),
        (b'{"a": 1}\x00', ("not JSON at line 1 column 9: Extra data", "$")),
    ],
    ids=lambda value: value[:24] if isinstance(value, bytes) else None,
)
def test_a_broken_rule_is_named_with_its_place(data: bytes, expected: tuple[str, str]) -> None:
    assert reason(data) == expected


def test_a_duplicate_inside_a_duplicate_is_still_refused() -> None:
    assert reason(b'{"a": {"x": 1, "x": 2}, "a": 3}') == ("duplicate key", "$.a")


def test_two_to_the_63_is_the_largest_integer() -> None:
    assert decode(b'{"a": [9223372036854775808, -9223372036854775808]}', "r") == {
        "a": [MAX_INT, -MAX_INT]
    }


def test_depth_is_counted_in_brackets_and_not_in_strings() -> None:
    deepest = b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
    assert decode(deepest, "r")
    assert decode(b'{"a": "' + b"[" * 1000 + b'\\"' + b"{" * 1000 + b'"}', "r")
    assert reason(deepest.replace(b"[]", b"[{}]"))[0] == "deeper than 64 levels at line 1"


def test_a_depth_that_would_overflow_a_stack_is_refused() -> None:
    assert reason(b"[" * 1_000_000)[0].startswith("deeper than 64 levels")


def test_a_record_of_four_mebibytes_is_the_largest() -> None:
    rest = MAX_BYTES - len(b'{"a": ""}')
    assert decode(b'{"a": "' + b"x" * rest + b'"}', "r")
    assert reason(b'{"a": "' + b"x" * (rest + 1) + b'"}')[0].startswith(f"{MAX_BYTES + 1} bytes")


def test_a_string_that_never_ends_takes_no_quadratic_time() -> None:
    started = time.process_time()
    reason(b"{" * 64 + b'"[' + b'\\"' * 500_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("value", ["2026-09-14T09:11:58Z", "2026-02-31T00:00:00Z"])
def test_a_time_is_matched_by_its_pattern(value: str) -> None:
    assert is_time(value)


@pytest.mark.parametrize(
    "value",
    ["2026-09-14T09:11:58", "2026-09-14T09:11:58+00:00", "2026-09-14 09:11:58Z",
     "2026-09-14T09:11:58.0Z", "2026-13-14T09:11:58Z", "2026-09-14T24:11:58Z",
     "2026-09-14T09:11:58Z\n", "٢٠٢٦-09-14T09:11:58Z", "", None, 0, True],
)  # fmt: skip
def test_any_other_form_is_no_time(value: JSON) -> None:
    assert not is_time(value)
