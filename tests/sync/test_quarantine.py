"""One bad record is held back and named; its bytes stay, and the others go."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from world import FILE, ITEM

if TYPE_CHECKING:
    from pathlib import Path

    from world import Machine, World

GOOD: dict[str, object] = {
    "ref": ITEM,
    "url": "https://github.com/octo/repo/issues/15",
    "lifecycle": {"startedAt": "x"},
}
SESSION = "0f1c2d3e-0000-4000-8000-000000000002"
TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


def text(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def control(**fields: str) -> dict[str, object]:
    base = {"command": "start", "source": "comment", "actor": "octocat", "note": ""}
    return GOOD | {"control": base | {"requestedAt": "2026-09-14T09:00:00Z"} | fields}


NESTED: object = "x"
for _ in range(64):
    NESTED = [NESTED]

BAD: dict[str, tuple[bytes, str, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + text(GOOD), "HF301", "$"),
    "not utf-8": (text(GOOD).replace(b'"x"', b'"\xff"'), "HF301", "$"),
    "utf-16": (text(GOOD).decode().encode("utf-16"), "HF301", "$"),
    "utf-32": (text(GOOD).decode().encode("utf-32"), "HF301", "$"),
    "not an object": (b"[]\n", "HF301", "$"),
    "empty": (b"", "HF301", "$"),
    "truncated": (text(GOOD)[:-20], "HF301", "$"),
    "conflict markers": (b"<<<<<<< HEAD\n" + text(GOOD), "HF301", "$"),
    "duplicate key": (b'{"ref": "%s", "lifecycle": {"a": 1, "a": 2}}' % ITEM.encode(), "HF301",
                      "$.lifecycle.a"),
    "escaped duplicate": (b'{"ref": "%s", "a": 1, "\\u0061": 2}' % ITEM.encode(), "HF301", "$.a"),
    "not a number": (b'{"ref": "%s", "lifecycle": {"a": NaN}}' % ITEM.encode(), "HF301",
                     "$.lifecycle.a"),
    "infinity": (b'{"ref": "%s", "lifecycle": [1e999]}' % ITEM.encode(), "HF301",
                 "$.lifecycle[0]"),
    "huge integer": (b'{"ref": "%s", "n": 9223372036854775809}' % ITEM.encode(), "HF301", "$.n"),
    "too deep": (text(GOOD | {"lifecycle": NESTED}), "HF301", "$"),
    "too long": (text(GOOD | {"lifecycle": {"a": "x" * (4 * 1024 * 1024)}}), "HF301", "$"),
    "another item's ref": (text(GOOD | {"ref": "github:octo/repo#16"}), "HF303", "$"),
    "a forged link": (text(GOOD | {"url": "https://example.invalid/15"}), "HF303", "$.url"),
    "arming at no time": (text(control(requestedAt="yesterday")), "HF301",
                          "$.control.requestedAt"),
    "a handle spelt otherwise": (text(GOOD | {"lifecycle": {"session_id": "0b9f"}}), "HF201",
                                 "$.lifecycle.session_id"),
    "a newer token": (text(GOOD | {"lifecycle": {"k": "sk-ant-api03-abcdefghijklmnop"}}), "HF202",
                      "$.lifecycle.k"),
    "a password by name": (text(GOOD | {"lifecycle": {"password": "hunter2hunter2"}}), "HF202",
                           "$.lifecycle.password"),
    "a password in a url": (text(control(note="https://u:p4ssw0rd@h.example/x")), "HF202",
                            "$.control.note"),
    "a handle by name": (text(GOOD | {"lifecycle": {"cwd": "x"}}), "HF201", "$.lifecycle.cwd"),
    "a session block": (text(GOOD | {"session": {"id": "x"}}), "HF201", "$.session"),
    "a handle by value": (text(control(note=f"resume {SESSION} here")), "HF201",
                          "$.control.note"),
    "an absolute path": (text(control(source="/srv/loop/work")), "HF201", "$.control.source"),
    "another home": (text(control(note="see /home/eve/notes")), "HF201", "$.control.note"),
    "a token": (text(control(note=f"use {TOKEN}")), "HF202", "$.control.note"),
    "a token as a key": (text(GOOD | {"lifecycle": {TOKEN: "x"}}), "HF202", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Machine, Machine]:
    """Two machines that share one good record, and handles on the first."""
    from world import World

    world = World(tmp_path_factory.mktemp("quarantine"))
    a, b = world.machine("a"), world.machine("b")
    a.put("lifecycle", {"startedAt": "x"})
    world.settle(a, b)
    session = {"version": 2, "sessions": {ITEM: {"harnessSessionId": SESSION, "cwd": "/srv/loop"}}}
    a.layout.session(ITEM).write_text(json.dumps(session))
    return world, a, b


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_held_back_and_the_others_go(
    held: tuple[World, Machine, Machine], name: str, tmp_path: Path
) -> None:
    world, a, _ = held
    data, rule, pointer = BAD[name]
    path = a.layout.portable / FILE
    path.write_bytes(data)
    other = f"github:octo/other#{len(name) * 1000 + len(data) % 997}"
    a.seen("IC_1", ref=other)
    good = world.git("rev-parse", f"main:.the-loop/portable/{FILE}")
    done = a.handoff("sync", "--json", code=1)
    document = json.loads(done.stdout)
    finding = next(f for f in document["findings"] if f["severity"] == "violation")
    assert finding["rule"] == rule
    assert finding["file"] == FILE
    if pointer:
        assert finding["pointer"] == pointer
    assert finding["remedy"]
    assert path.read_bytes() == data
    assert world.git("rev-parse", f"main:.the-loop/portable/{FILE}") == good
    slug = other.replace(":", "-").replace("/", "-").replace("#", "-")
    assert world.git("cat-file", "-t", f"main:.the-loop/portable/{slug}.json") == "blob"
    human = a.handoff("sync", code=1)
    for secret in (SESSION, TOKEN, str(tmp_path.parent)):
        assert secret not in done.stdout + done.stderr + human.stdout + human.stderr
    path.write_bytes(text(GOOD))
    assert a.sync()["outcome"] == "up-to-date"


@pytest.mark.parametrize("section", ["control", "lifecycle"])
def test_this_users_home_is_held_back_in_any_text(world: World, section: str) -> None:
    machine = world.machine("a")
    home = machine.environment["HOME"]
    value = {"requestedAt": "2026-09-14T09:00:00Z", "command": "stop", "note": f"see {home}/x"}
    machine.seen("IC_1", ref="github:octo/repo#1")
    (machine.layout.portable / FILE).write_bytes(text(GOOD | {section: value}))
    done = machine.handoff("sync", "--json", code=1)
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], finding["pointer"]) == ("HF201", f"$.{section}.note")
    assert home not in done.stdout + done.stderr
    assert world.git("ls-tree", "-r", "--name-only", "main", ".the-loop").splitlines() == [
        ".the-loop/portable/github-octo-repo-1.json"
    ]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_an_entry_that_is_no_plain_file_is_held_back_and_not_followed(
    world: World, kind: str
) -> None:
    machine = world.machine("a")
    machine.seen("IC_1", ref="github:octo/repo#1")
    path = machine.layout.portable / FILE
    if kind == "link":
        (machine.path / "outside.json").write_bytes(text(GOOD))
        path.symlink_to(machine.path / "outside.json")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    document = machine.sync(code=1)
    assert [f["rule"] for f in document["findings"]] == ["HF102"]  # type: ignore[attr-defined]  # JSON of a known shape
    assert world.git("ls-tree", "-r", "--name-only", "main", ".the-loop").splitlines() == [
        ".the-loop/portable/github-octo-repo-1.json"
    ]


def test_hostile_names_are_named_harmlessly_and_never_sent(world: World) -> None:
    machine = world.machine("a")
    machine.seen("IC_1", ref="github:octo/repo#1")
    folder = os.fsencode(machine.layout.portable)
    hostile = [b"a\nb.json", b":(exclude)x.json", b"\xff\xfe.json", b"--help.json", b" x .json"]
    for name in hostile:
        with open(os.path.join(folder, name), "wb") as handle:  # noqa: PTH118, PTH123 - bytes names
            handle.write(text(GOOD))
    done = machine.handoff("sync", code=1)
    assert "\x1b" not in done.stdout
    assert "a\nb.json" not in done.stdout
    assert sum("HF303" in line for line in done.stdout.splitlines()) == len(hostile)
    sent = world.git("ls-tree", "-r", "--name-only", "main", ".the-loop").splitlines()
    assert sent == [".the-loop/portable/github-octo-repo-1.json"]
    assert all(os.path.exists(os.path.join(folder, name)) for name in hostile)  # noqa: PTH110, PTH118 - bytes names


def test_an_incoming_version_waits_until_the_file_is_repaired(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    a.seen("IC_1")
    world.settle(a, b)
    path = b.layout.portable / FILE
    path.write_bytes(b"{")
    a.seen("IC_2")
    a.sync()
    for _ in range(2):
        document = b.sync(code=1)
        assert document["records"][0]["outcome"] == "quarantined"  # type: ignore[index]  # JSON of a known shape
        assert path.read_bytes() == b"{"
    path.unlink()
    b.git("checkout", "-q", "--", f".the-loop/portable/{FILE}")
    b.sync()
    assert b.seen_ids() == ["IC_1", "IC_2"]
    assert not b.layout.handoff_behind.exists()


def test_an_unreadable_version_in_a_commit_blocks_no_other_record(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    a.seen("IC_1")
    world.settle(a, b)
    (b.layout.portable / FILE).write_bytes(b"<<<<<<< HEAD\n")
    b.git("commit", "-qam", "by hand")
    b.git("push", "-q")
    document = a.sync(code=1)
    assert document["records"][0]["outcome"] == "refused"  # type: ignore[index]  # JSON of a known shape
    assert a.seen_ids() == ["IC_1"], "what cannot be read is not written"
    a.seen("IC_2", ref="github:octo/repo#2")
    a.sync(code=1)
    assert "github-octo-repo-2.json" in world.git("ls-tree", "-r", "--name-only", "main")
    a.seen("IC_3")
    document = a.sync(code=1)
    assert document["findings"][0]["rule"] == "HF301"  # type: ignore[index]  # JSON of a known shape
    assert a.seen_ids() == ["IC_1", "IC_3"]
    assert a.sync()["outcome"] == "up-to-date", "the readable version has healed the hub"


def test_a_hand_made_commit_with_a_leak_stops_before_it_is_published(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, _ = pair
    tip = world.tip()
    (a.layout.portable / FILE).write_bytes(text(GOOD | {"lifecycle": {"cwd": "/srv/loop"}}))
    a.git("add", "-f", ".the-loop/portable")
    a.git("commit", "-qm", "oops", "--", f".the-loop/portable/{FILE}")
    document = a.sync(code=3)
    assert document["error"]["kind"] == "refused"  # type: ignore[index]  # JSON of a known shape
    assert "HF201" in str(document["error"])
    assert world.tip() == tip


def test_an_incoming_record_that_arms_at_no_time_is_not_written(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    a.seen("IC_1")
    world.settle(a, b)
    (a.layout.portable / FILE).write_bytes(text(control(requestedAt="yesterday")))
    a.git("commit", "-qam", "by hand")
    a.git("push", "-q")
    document = b.sync(code=1)
    assert document["records"][0]["outcome"] == "refused"  # type: ignore[index]  # JSON of a known shape
    assert b.command() is None


def test_a_missing_or_linked_portable_folder_refuses_the_run(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, _ = pair
    a.seen("IC_1")
    a.sync()
    tip = world.tip()
    real = a.layout.root / "elsewhere"
    a.layout.portable.rename(real)
    assert a.sync(code=3)["error"]["kind"] == "refused"  # type: ignore[index]  # JSON of a known shape
    a.layout.portable.symlink_to(real)
    assert a.sync(code=3)["error"]["kind"] == "refused"  # type: ignore[index]  # JSON of a known shape
    assert world.tip() == tip


def test_a_repaired_record_goes_although_code_was_committed_in_between(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    a.seen("IC_1")
    world.settle(a, b)
    path = a.layout.portable / FILE
    good = path.read_bytes()
    path.write_bytes(b"{")
    a.seen("IC_1", ref="github:octo/repo#2")
    b.seen("IC_2")
    b.sync()
    a.sync(code=1)
    (a.path / "README.md").write_text("about\n")
    a.git("add", "README.md")
    a.git("commit", "-qm", "code")
    a.git("push", "-q")
    path.write_bytes(good)
    a.seen("IC_3")
    a.sync()
    assert a.seen_ids() == ["IC_1", "IC_2", "IC_3"]


def test_an_unreadable_record_is_not_removed_by_a_machine_that_never_had_it(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    huge = b'{"ref": "%s", "n": 9223372036854775809}' % ITEM.encode()
    a.layout.portable.mkdir(exist_ok=True)
    (a.layout.portable / FILE).write_bytes(huge)
    a.git("add", "-f", f".the-loop/portable/{FILE}")
    a.git("commit", "-qm", "by hand")
    a.git("push", "-q")
    b.seen("IC_1", ref="github:octo/repo#2")
    b.sync(code=1)
    kept = world.git("cat-file", "blob", f"main:.the-loop/portable/{FILE}")
    assert kept.encode() == huge


def test_a_stop_that_waits_behind_a_quarantined_record_is_told(
    pair: tuple[Machine, Machine], world: World
) -> None:
    a, b = pair
    a.control("start", "2026-09-14T09:00:00Z")
    world.settle(a, b)
    (b.layout.portable / FILE).write_bytes(b"{")
    a.control("stop", "2026-09-14T10:00:00Z")
    a.sync()
    done = b.handoff("-q", "sync", code=1)
    assert done.stdout.startswith("control changes: github:octo/repo#15: START by @octocat -> STOP")
    assert "held back here" in done.stdout.splitlines()[0]
