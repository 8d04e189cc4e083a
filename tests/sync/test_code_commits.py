"""State travels; code does not, unless asked to and where it needs no merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from world import fingerprint

if TYPE_CHECKING:
    from world import Machine


def commit(machine: Machine, path: str, text: str) -> str:
    target = machine.path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    machine.git("add", path)
    machine.git("commit", "-qm", f"code: {path}")
    return machine.git("rev-parse", "HEAD")


def kind(document: dict[str, object]) -> object:
    error = document["error"]
    assert isinstance(error, dict)
    return error["kind"]


def test_unpushed_code_stops_the_sync_and_nothing_moves(pair: tuple[Machine, Machine]) -> None:
    a, _ = pair
    a.seen("IC_1")
    head = commit(a, "main.py", "print(1)\n")
    before = fingerprint(a)
    document = a.sync(code=3)
    assert kind(document) == "diverged"
    assert "1 unpushed commit" in str(document["error"])
    assert "--offline" in str(document["error"])
    assert a.git("rev-parse", "HEAD") == head
    assert fingerprint(a) == before


def test_incoming_code_stops_the_sync_and_nothing_moves(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    commit(a, "main.py", "print(1)\n")
    a.git("push", "-q")
    b.seen("IC_1")
    head = b.git("rev-parse", "HEAD")
    assert kind(b.sync(code=3)) == "diverged"
    assert b.git("rev-parse", "HEAD") == head
    assert not (b.path / "main.py").exists()


def test_the_printed_steps_hand_everything_off(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    commit(a, "main.py", "print(1)\n")
    a.git("push", "-q")
    b.seen("IC_1")
    b.sync(code=3)
    b.sync("--offline", code=5)
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    b.git("push", "-q")
    b.sync()
    a.sync("--with-code")
    assert a.seen_ids() == b.seen_ids() == ["IC_1"]
    assert (b.path / "main.py").exists()


def test_with_code_publishes_unpushed_commits_as_they_are(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    head = commit(a, "src/main.py", "print(1)\n")
    a.seen("IC_1")
    a.sync("--with-code")
    assert head in a.git("rev-list", "origin/main").split()
    b.sync("--with-code")
    assert (b.path / "src/main.py").read_text() == "print(1)\n"
    assert b.git("status", "--porcelain") == ""
    assert b.seen_ids() == ["IC_1"]


def test_with_code_joins_paths_only_one_side_changed(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    commit(a, "src/a.py", "a\n")
    commit(a, "shared.py", "one\n")
    a.sync("--with-code")
    b.sync("--with-code")
    a.git("rm", "-q", "src/a.py")
    a.git("commit", "-qm", "gone")
    a.seen("IC_1")
    a.sync("--with-code")
    commit(b, "src/b.py", "b\n")
    b.seen("IC_2")
    (b.path / "untracked.txt").write_text("mine")
    b.sync("--with-code")
    a.sync("--with-code")
    for machine in pair:
        assert sorted(p.name for p in (machine.path / "src").iterdir()) == ["b.py"]
        assert machine.seen_ids() == ["IC_1", "IC_2"]
    assert a.git("status", "--porcelain") == ""
    assert b.git("status", "--porcelain") == "?? untracked.txt"


@pytest.mark.parametrize("obstacle", ["unstaged", "staged", "untracked", "both committed"])
def test_with_code_never_takes_code_over_changes_here(
    pair: tuple[Machine, Machine], obstacle: str
) -> None:
    a, b = pair
    commit(a, "main.py", "one\n")
    a.sync("--with-code")
    b.sync("--with-code")
    commit(a, "new.py" if obstacle == "untracked" else "main.py", "two\n")
    a.sync("--with-code")
    b.seen("IC_1")
    if obstacle == "both committed":
        commit(b, "main.py", "three\n")
    elif obstacle == "untracked":
        (b.path / "new.py").write_text("mine\n")
    else:
        (b.path / "main.py").write_text("mine\n")
        if obstacle == "staged":
            b.git("add", "main.py")
    before, head, text = fingerprint(b), b.git("rev-parse", "HEAD"), b.bytes()
    assert kind(b.sync("--with-code", code=3)) == "diverged"
    assert fingerprint(b) == before
    assert b.git("rev-parse", "HEAD") == head
    assert b.bytes() == text


def test_a_file_beside_the_records_is_code(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    commit(a, ".the-loop/portable/README.md", "about\n")
    assert kind(a.sync(code=3)) == "diverged"
    a.seen("IC_1")
    a.sync("--with-code")
    b.seen("IC_2")
    b.sync("--with-code")
    assert (b.layout.portable / "README.md").read_text() == "about\n"
    a.sync("--with-code")
    assert a.seen_ids() == ["IC_1", "IC_2"]
    assert a.git("status", "--porcelain") == b.git("status", "--porcelain") == ""


def test_a_merge_that_brings_no_code_of_its_own_stops_nobody(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    commit(a, "main.py", "one\n")
    a.sync("--with-code")
    b.seen("IC_1")
    b.sync("--with-code")
    a.seen("IC_2", ref="github:octo/repo#2")
    assert a.sync()["outcome"] == "handed-off"
    assert b.sync()["outcome"] == "received"


def test_with_code_takes_every_kind_of_file(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    for name in ("becomes-folder", "folder/becomes-file", "plain", 'a "quoted\nname'):
        commit(a, name, "one\n")
    (a.path / "dangling").symlink_to("nowhere")
    (a.path / "to-folder").symlink_to("folder")
    (a.path / "goes").symlink_to("nowhere")
    a.git("add", ".")
    a.git("commit", "-qm", "links")
    a.sync("--with-code")
    b.sync("--with-code")
    a.git("rm", "-rq", "becomes-folder", "folder", "dangling", "to-folder", "goes")
    commit(a, "becomes-folder/inner", "two\n")
    commit(a, "folder", "two\n")
    commit(a, 'a "quoted\nname', "two\n")
    (a.path / "dangling").symlink_to("elsewhere")
    (a.path / "to-folder").symlink_to("becomes-folder")
    (a.path / "plain").chmod(0o755)
    a.git("add", ".")
    a.git("commit", "-qm", "changed")
    a.sync("--with-code")
    b.sync("--with-code")
    assert b.git("status", "--porcelain") == ""
    assert (b.path / "becomes-folder/inner").read_text() == (b.path / "folder").read_text()
    assert (b.path / 'a "quoted\nname').read_text() == "two\n"
    assert (b.path / "dangling").readlink().name == "elsewhere"
    assert (b.path / "to-folder").readlink().name == "becomes-folder"
    assert not (b.path / "goes").is_symlink()
    assert (b.path / "plain").stat().st_mode & 0o100


def test_with_code_applies_the_filters_of_the_worktree(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    b.git("config", "core.autocrlf", "true")
    commit(a, "text.txt", "one\n")
    a.sync("--with-code")
    b.sync("--with-code")
    assert (b.path / "text.txt").read_bytes() == b"one\r\n"
    commit(a, "text.txt", "two\n")
    a.seen("IC_1")
    a.sync("--with-code")
    b.sync("--with-code")
    assert (b.path / "text.txt").read_bytes() == b"two\r\n"
    assert b.git("status", "--porcelain") == ""
    assert b.bytes() == a.bytes(), "records are facts byte for byte"
