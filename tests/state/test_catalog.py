"""The classification is complete: no path and no attribute without an owner and a why."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from data.samples import LOCAL, OLDER, PORTABLE, REPOSITORY, read
from handoff_state.catalog import (
    ATTRIBUTES,
    CLOCK_KEYS,
    GENERATED_PATHS,
    HANDLE_KEYS,
    KINDS_OF_PARTY,
    RECORD_KEYS,
    SECTIONS,
    Kind,
    Merge,
    Party,
    ignore_lines,
)
from handoff_state.layout import StateLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handoff_state.codec import JsonObject

ROOT = StateLayout(Path("root"))
REF = "github:octo/repo#15"
PATHS = [
    *(
        getattr(ROOT, name)
        for name in dir(StateLayout)
        if isinstance(getattr(StateLayout, name), property) and name not in {"portable", "local"}
    ),
    ROOT.record(REF),
    ROOT.session(REF),
    ROOT.attachments(REF),
    ROOT.standing("triage"),
]


def declared(party: Party) -> set[str]:
    return {attribute.path for attribute in ATTRIBUTES if attribute.party is party}


def matches(pattern: str, path: Path) -> bool:
    names = re.sub(r"<\w+>|\*", "[^/]+", pattern.replace(".", r"\.")).split(", ")
    text = path.relative_to("root").as_posix()
    return any(re.fullmatch(name.rstrip("/"), text) for name in names)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_every_path_of_the_layout_is_declared(path: Path) -> None:
    assert any(matches(generated.pattern, path) for generated in GENERATED_PATHS)


def test_only_records_travel() -> None:
    assert [path.name for path in GENERATED_PATHS if path.portable] == ["record"]


@pytest.mark.parametrize("path", PORTABLE + OLDER, ids=lambda path: path.stem)
def test_every_key_of_a_portable_record_is_declared(path: Path) -> None:
    keys = set(fields(read(path), {"poll"}))
    assert keys - {f"poll.{clock}" for clock in CLOCK_KEYS} <= declared(Party.OPERATOR)


def test_every_key_of_the_repositorys_file_is_declared() -> None:
    assert set(read(REPOSITORY)) <= declared(Party.REPOSITORY)


def test_every_key_of_the_machines_file_is_declared() -> None:
    record = read(LOCAL / "github-octo-repo-15.json")
    sessions = record["sessions"]
    assert isinstance(sessions, dict)
    keys = {f"sessions.{key}" for one in sessions.values() if isinstance(one, dict) for key in one}
    assert set(record) | keys <= declared(Party.MACHINE)


def fields(record: JsonObject, inside: set[str]) -> Iterator[str]:
    for key, value in record.items():
        yield key
        if key in inside and isinstance(value, dict):
            yield from (f"{key}.{name}" for name in value)


def test_every_attribute_is_declared_once_and_says_what_it_holds_and_why() -> None:
    names = [(attribute.party, attribute.path) for attribute in ATTRIBUTES]
    assert len(names) == len(set(names))
    assert all(attribute.holds and attribute.why for attribute in ATTRIBUTES)
    assert all(path.holds and path.why for path in GENERATED_PATHS)


def test_every_kind_stands_in_a_file_its_party_may_hold() -> None:
    strangers = [
        (attribute.party, attribute.path, attribute.kind)
        for attribute in ATTRIBUTES
        if attribute.kind not in KINDS_OF_PARTY[attribute.party]
    ]
    assert strangers == []


def test_no_machine_handle_stands_in_a_tracked_file() -> None:
    assert Kind.MACHINE_HANDLE not in KINDS_OF_PARTY[Party.OPERATOR]
    assert Kind.MACHINE_HANDLE not in KINDS_OF_PARTY[Party.REPOSITORY]
    tracked = declared(Party.OPERATOR) | declared(Party.REPOSITORY)
    assert not {part for path in tracked for part in path.split(".")} & HANDLE_KEYS


def test_nothing_that_arms_and_no_workspace_id_stands_in_the_repositorys_file() -> None:
    never = {"control", "collaborators", "collaborationChannels", "ended", "channels"}
    assert not declared(Party.REPOSITORY) & never


def test_every_attribute_that_travels_says_how_it_merges() -> None:
    tracked = [a for a in ATTRIBUTES if a.party is not Party.MACHINE]
    assert [a.path for a in tracked if a.merge is Merge.NEVER] == []


def test_a_record_is_written_in_the_order_of_the_table() -> None:
    assert RECORD_KEYS == (
        "ref", "url", "control", "poll", "pullRequests", "collaborators",
        "collaborationChannels", "channels", "lifecycle", "ended", "graph", "sealed",
    )  # fmt: skip


def test_identity_and_retired_keys_are_no_sections_to_write() -> None:
    assert set(RECORD_KEYS) - set(SECTIONS) == {"ref", "url", "graph", "sealed"}


@pytest.mark.parametrize(
    "root", [".the-loop", "deep/state root", ".", "./", "./a", "/.x/", "we[i]rd*"]
)
def test_the_ignore_block_leaves_exactly_the_records_to_track(root: str, tmp_path: Path) -> None:
    files = [path.relative_to("root") for path in PATHS] + [
        Path("portable/.handoff-0.tmp"), Path("logs/a/b.jsonl"), Path("poll-state.json"),
        Path("self-diagnosis.json.lock"), Path("anywhere/at/all.lock"), Path("x.tmp"),
    ]  # fmt: skip
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    top = tmp_path / root.strip("/")
    for file in files:
        named = top / file if file.suffix or file.name == "poll.pid" else top / file / "inside"
        named.parent.mkdir(parents=True, exist_ok=True)
        named.write_text("{}")
    (tmp_path / ".gitignore").write_text("\n".join(ignore_lines(root)) + "\n")
    shown = subprocess.run(
        ["git", "-C", tmp_path, "ls-files", "--others", "--exclude-standard", "-z"],
        check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    record = (top / "portable" / "github-octo-repo-15.json").relative_to(tmp_path)
    assert set(shown) == {".gitignore", record.as_posix(), ""}
