"""Every sample record goes from one machine to the next, and nothing of ``local/`` does."""

from __future__ import annotations

import shutil
import subprocess

from world import FILE, ITEM, RECORDS, Machine, World

STATE_ROOT = RECORDS / "state-root"


def adopt(machine: Machine) -> list[str]:
    """Put the sample state root on a machine, as its daemon would have left it."""
    shutil.copytree(STATE_ROOT, machine.layout.root, dirs_exist_ok=True)
    return sorted(path.name for path in (STATE_ROOT / "portable").glob("*.json"))


def test_every_record_arrives_byte_for_byte(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    names = adopt(a)
    sent = a.sync()
    assert sent["outcome"] == "handed-off"
    assert sent["verified"] is True
    received = b.sync()
    assert received["outcome"] == "received"
    for name in names:
        assert b.bytes(name) == (STATE_ROOT / "portable" / name).read_bytes()
    assert b.git("status", "--porcelain") == ""
    assert a.git("status", "--porcelain") == ""


def test_local_is_in_no_object_of_the_hub(world: World, pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    adopt(a)
    a.sync()
    b.sync()
    a.seen("IC_9")
    b.control("stop", "2026-09-20T09:00:00Z")
    world.settle(a, b)
    everything = b"".join(world.objects())
    assert b"IC_9" in everything, "the search looks at real content"
    for handle in (b"0f1c2d3e-0000-4000-8000-000000000002", b"/home/op", b"loop-github-octo"):
        assert handle not in everything
    paths = world.git("log", "--all", "--name-only", "--format=").split()
    assert not [path for path in paths if "/local/" in path or path.endswith("index.json")]


def test_the_second_sync_has_nothing_to_do(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    adopt(a)
    for machine in (a, b):
        machine.sync()
    before = a.git("rev-parse", "HEAD")
    document = a.sync()
    assert document["outcome"] == "up-to-date"
    assert document["records"] == []
    assert a.git("rev-parse", "HEAD") == before


def test_incoming_control_changes_come_first_even_when_quiet(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    adopt(a)
    a.sync()
    out = b.handoff("-q", "sync").stdout.splitlines()
    assert out[0].startswith("control changed: github:octo/repo#15: none -> START by @octocat")
    assert "this machine will run an agent" in out[0]
    assert out[-1].startswith("received, verified against origin at ")


def test_offline_work_is_unsent_until_a_sync_lands_it(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.seen("IC_1")
    offline = a.sync("--offline", code=5)
    assert offline["outcome"] == "offline"
    assert offline["oldest_unsent"]
    assert "unsent since" in a.handoff("status").stdout
    a.sync()
    assert "unsent since" not in a.handoff("status").stdout
    b.sync()
    assert b.seen_ids() == ["IC_1"]


def test_the_commit_says_what_changed_and_which_machine_made_it(
    pair: tuple[Machine, Machine],
) -> None:
    a, _ = pair
    a.control("start", "2026-09-14T09:00:00Z")
    a.sync()
    body = a.git("log", "-1", "--format=%B")
    assert body.splitlines()[0] == "handoff: 1 work item, 1 control change"
    assert f"{ITEM}: new, control (none -> START by @octocat)" in body
    assert "Handoff-Machine: a" in body


def test_a_record_value_cannot_forge_a_trailer(pair: tuple[Machine, Machine]) -> None:
    a, _ = pair
    a.control("start", "2026-09-14T09:00:00Z", actor="x\n\nHandoff-Machine: forged")
    a.sync()
    trailers = a.git("log", "-1", "--format=%(trailers:key=Handoff-Machine,valueonly)")
    assert trailers == "a"


def test_an_unborn_branch_on_an_empty_hub_hands_off(world: World) -> None:
    path = world.folder / "first"
    subprocess.run(
        ["git", "clone", "-q", str(world.hub), str(path)], env=world.environment, check=True,
        capture_output=True,
    )  # fmt: skip
    machine = Machine(path, world.environment)
    machine.layout.portable.mkdir(parents=True)
    machine.seen("IC_1")
    assert machine.sync()["outcome"] == "handed-off"
    assert world.git("ls-tree", "-r", "--name-only", "main").splitlines() == [
        ".the-loop/portable/github-octo-repo-15.json"
    ]


def test_a_hand_made_merge_that_took_the_start_is_put_right(world: World) -> None:
    a, b = world.machine("a"), world.machine("b")
    a.control("start", "2026-09-14T09:00:00Z")
    world.settle(a, b)
    a.control("stop", "2026-09-14T10:00:00Z")
    a.sync()
    b.control("start", "2026-09-14T11:00:00Z")
    b.git("commit", "-aqm", "by hand")
    b.git("fetch", "-q")
    b.git("merge", "-q", "-s", "ours", "-m", "mine wins", "origin/main")
    b.git("push", "-q")
    assert b.command() == "start"
    document = b.sync(code=1)
    assert b.command() == "stop"
    assert document["records"][0]["control"]["after"].startswith("STOP")  # type: ignore[index]  # JSON of a known shape
    a.sync()
    assert a.command() == "stop"


def test_a_tracked_index_is_dropped_from_git_and_kept_on_disk(world: World) -> None:
    a, b = world.machine("a"), world.machine("b")
    a.seen("IC_1")
    a.git("add", "-f", ".the-loop/portable")
    a.git("commit", "-qm", "as the reference consumer tracks it")
    a.git("push", "-q")
    b.sync("--with-code")
    a.seen("IC_2")
    a.sync()
    b.sync()
    for machine in (a, b):
        assert "index.json" not in machine.git("ls-files")
        assert machine.layout.index.exists()
        assert machine.git("status", "--porcelain") == ""
        assert machine.seen_ids() == ["IC_1", "IC_2"]


def test_a_clone_without_checkout_removes_nothing(world: World) -> None:
    a = world.machine("a")
    a.seen("IC_1")
    a.sync()
    path = world.folder / "bare-ish"
    world.git("clone", "-q", "--no-checkout", str(world.hub), str(path))
    b = Machine(path, world.environment)
    b.layout.portable.mkdir(parents=True)
    document = b.sync(code=3)
    assert document["error"]["kind"] == "refused"  # type: ignore[index]  # JSON of a known shape
    a.seen("IC_1", ref="github:octo/repo#2")
    a.sync()
    assert b.sync(code=3)["outcome"] == "failed"
    assert a.sync()["outcome"] == "up-to-date"


def test_a_removal_that_is_staged_is_a_removal(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.seen("IC_1")
    a.sync()
    b.sync()
    a.git("rm", "-q", f".the-loop/portable/{FILE}")
    a.layout.portable.mkdir(exist_ok=True)
    a.sync()
    b.sync()
    assert b.bytes() is None


def test_every_record_gone_at_once_is_not_a_removal(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.seen("IC_1")
    a.seen("IC_1", ref="github:octo/repo#2")
    a.sync()
    for path in a.layout.portable.glob("*.json"):
        path.unlink()
    assert a.sync(code=3)["error"]["kind"] == "refused"  # type: ignore[index]  # JSON of a known shape
    a.git("checkout", "--", ".the-loop/portable")
    assert a.sync()["outcome"] == "up-to-date"
    b.sync()
    assert len(list(b.layout.portable.glob("github*.json"))) == 2


def test_what_was_received_is_not_called_unsent(pair: tuple[Machine, Machine]) -> None:
    a, b = pair
    a.seen("IC_1")
    a.sync()
    assert b.sync()["outcome"] == "received"
    status = b.handoff("status").stdout
    assert "nothing to send" in status
    assert b.git("rev-parse", "origin/main") == b.git("rev-parse", "HEAD")
