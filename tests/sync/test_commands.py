"""The commands a person or another program uses on records: put, drop, list, show, and the rest."""

from __future__ import annotations

import json

import pytest

from world import FILE, ITEM, Machine, World

STOP = {
    "command": "stop", "source": "cli", "actor": "octocat",
    "requestedAt": "2026-09-14T09:00:00Z", "note": "", "instance": "",
}  # fmt: skip


@pytest.fixture
def machine(world: World) -> Machine:
    return world.machine("a")


def test_put_says_changed_then_unchanged_and_writes_nothing(machine: Machine) -> None:
    text = json.dumps(STOP)
    assert machine.handoff("put", ITEM, "control", text=text).stdout == f"changed {FILE}\n"
    before = (machine.layout.portable / FILE).stat()
    assert machine.handoff("put", ITEM, "control", text=text).stdout == f"unchanged {FILE}\n"
    after = (machine.layout.portable / FILE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_put_null_removes_the_section_and_the_last_one_the_record(machine: Machine) -> None:
    machine.seen("IC_1")
    machine.handoff("put", ITEM, "control", text=json.dumps(STOP))
    machine.handoff("put", ITEM, "control", text="null\n")
    assert machine.record()["control"] is None
    machine.handoff("put", ITEM, "poll", text="null")
    assert machine.bytes() is None
    assert not machine.layout.index.exists()


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("nonsense", "{}"),
        ("control", "not json"),
        ("control", "[1]"),
        ("control", '{"a": 1, "a": 2}'),
        ("control", '{"a": NaN}'),
        ("control", json.dumps(STOP | {"command": "start", "requestedAt": "yesterday"})),
        ("lifecycle", '{"cwd": "/home/op/work"}'),
        ("lifecycle", '{"token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}'),
    ],
)
def test_put_of_a_bad_value_writes_nothing_and_exits_2(
    machine: Machine, section: str, text: str
) -> None:
    machine.seen("IC_1")
    before = machine.bytes()
    done = machine.handoff("put", ITEM, section, text=text, code=2)
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr
    assert "ghp_" not in done.stderr
    assert machine.bytes() == before


@pytest.mark.parametrize("ref", ["../../etc/passwd", "github:octo/..#1", "octo/repo#1", ""])
def test_a_hostile_ref_is_refused_before_a_file_is_touched(machine: Machine, ref: str) -> None:
    machine.handoff("put", "--", ref, "lifecycle", text="{}", code=2)
    assert list(machine.layout.portable.iterdir()) == []


def test_put_beside_a_slug_collision_changes_nothing(machine: Machine) -> None:
    machine.put("lifecycle", {"startedAt": "x"}, ref="github:octo-repo/a#1")
    before = machine.bytes("github-octo-repo-a-1.json")
    done = machine.handoff("put", "github:octo/repo-a#1", "lifecycle", text="{}", code=3)
    assert "github:octo-repo/a#1" in done.stderr
    assert "github:octo/repo-a#1" in done.stderr
    assert machine.bytes("github-octo-repo-a-1.json") == before


def test_drop_commits_first_so_that_what_it_removes_stays_in_history(machine: Machine) -> None:
    machine.handoff("put", ITEM, "control", text=json.dumps(STOP))
    assert machine.handoff("drop", ITEM).stdout == f"changed {FILE}\n"
    assert machine.bytes() is None
    assert '"stop"' in machine.git("show", f"HEAD:.the-loop/portable/{FILE}")
    assert machine.handoff("drop", ITEM, code=1).stderr == f"{ITEM}: not tracked\n"


def test_drop_of_one_section_leaves_the_others(machine: Machine) -> None:
    machine.seen("IC_1")
    machine.handoff("put", ITEM, "control", text=json.dumps(STOP))
    machine.handoff("drop", ITEM, "control")
    assert machine.record()["control"] is None
    assert machine.seen_ids() == ["IC_1"]


def test_show_and_list_join_this_machines_clocks(machine: Machine) -> None:
    machine.seen("IC_1")
    clocks = {"clocks": {ITEM: {"lastPolledAt": "2026-09-18T10:42:00Z"}}}
    machine.layout.poll_clocks.write_text(json.dumps(clocks))
    shown = json.loads(machine.handoff("show", ITEM, "--json").stdout)
    assert shown["record"]["poll"]["lastPolledAt"] == "2026-09-18T10:42:00Z"
    assert "lastPolledAt" not in (machine.bytes() or b"").decode()
    listed = json.loads(machine.handoff("list", "--json").stdout)
    assert listed["workItems"][0]["poll"]["lastPolledAt"] == "2026-09-18T10:42:00Z"
    assert "2026-09-18T10:42:00Z" in machine.handoff("list").stdout


def test_show_of_an_unknown_item_exits_1_and_an_empty_list_0(machine: Machine) -> None:
    assert machine.handoff("show", ITEM, code=1).stderr == f"{ITEM}: not tracked\n"
    assert machine.handoff("list").stdout == ""


def test_list_names_an_unreadable_record_and_exits_1(machine: Machine) -> None:
    machine.seen("IC_1", ref="github:octo/repo#1")
    (machine.layout.portable / FILE).write_text("{")
    done = machine.handoff("list", code=1)
    assert "github:octo/repo#1" in done.stdout
    assert FILE in done.stderr


def test_init_is_idempotent_and_commits_nothing(world: World) -> None:
    machine = world.machine("a")
    head = machine.git("rev-parse", "HEAD")
    done = machine.handoff("init", "--json")
    assert set(json.loads(done.stdout)["files"].values()) == {"unchanged"}
    assert machine.git("rev-parse", "HEAD") == head
    assert machine.git("status", "--porcelain") == ""


def test_init_completes_an_ignore_file_and_leaves_the_rest_of_it(machine: Machine) -> None:
    path = machine.path / ".gitignore"
    path.write_text("*.log\n# git-handoff begin: old\n/old/\n# git-handoff end\n!keep.log\n")
    planned = json.loads(machine.handoff("init", "--dry-run", "--json").stdout)
    assert planned["files"][".gitignore"] == "updated"
    assert "/old/" in path.read_text()
    machine.handoff("init")
    text = path.read_text()
    assert text.startswith("*.log\n# git-handoff begin")
    assert text.endswith("# git-handoff end\n!keep.log\n")
    assert "/.the-loop/local/" in text
    assert "/old/" not in text


def test_ignore_check_asks_git_and_finds_what_undoes_the_block(machine: Machine) -> None:
    assert "complete" in machine.handoff("ignore", "--check").stdout
    with (machine.path / ".gitignore").open("a") as handle:
        handle.write("!/.the-loop/local/\n!/.the-loop/local/*\n")
    done = machine.handoff("ignore", "--check", code=1)
    assert "HF401: .the-loop/local/github-octo-repo-15.json is not ignored" in done.stdout
    (machine.path / ".gitignore").write_text("/.the-loop/\n")
    done = machine.handoff("ignore", "--check", code=1)
    assert "is ignored, and must travel" in done.stdout


def test_layout_says_of_every_path_whether_it_travels(machine: Machine) -> None:
    rows = json.loads(machine.handoff("layout", "--json").stdout)["paths"]
    travels = {row["path"] for row in rows if row["travels"]}
    assert travels == {"portable/<slug>.json"}
    assert all(row["why"] and row["holds"] for row in rows)


@pytest.mark.parametrize("count", [2, 3])
def test_the_demo_verifies_every_step_it_prints(world: World, count: int) -> None:
    machine = Machine(world.folder, world.environment)
    keep = world.folder / "kept"
    done = machine.handoff("demo", "--machines", str(count), "--keep", str(keep))
    assert done.stdout.endswith("demo: every step verified\n")
    assert (keep / "hub.git").is_dir()
    machine.handoff("demo", "--keep", str(keep), code=2)


def test_the_demo_exits_1_when_a_step_is_not_true(world: World) -> None:
    """A git that says it pushed and did not: the read-back must not be believed blindly."""
    shims = world.folder / "shims"
    shims.mkdir()
    real = Machine(world.folder, world.environment).run("sh", "-c", "command -v git").stdout.strip()
    (shims / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" push --porcelain "*) exit 0;; esac\nexec {real} "$@"\n'
    )
    (shims / "git").chmod(0o755)
    path = f"{shims}:{world.environment['PATH']}"
    machine = Machine(world.folder, world.environment | {"PATH": path})
    done = machine.run(*_demo(), code=1)
    assert "not true" in done.stderr


def _demo() -> tuple[str, ...]:
    from world import SCRIPT

    return str(SCRIPT), "demo"


def test_the_root_can_be_named_and_says_where_it_came_from(world: World) -> None:
    machine = world.machine("a")
    other = world.folder / "elsewhere"
    machine.handoff("--root", str(other), "put", ITEM, "lifecycle", text='{"startedAt": "x"}')
    assert (other / "portable" / FILE).exists()
    assert json.loads(machine.handoff("sync", "--json").stdout)["root_from"] == ".handoff.yaml"
    (machine.path / ".handoff.yaml").unlink()
    (machine.path / ".the-loop").mkdir(exist_ok=True)
    (machine.path / ".the-loop" / "cli-config.yaml").write_text("state:\n  root: .the-loop\n")
    shown = json.loads(machine.handoff("status", "--json").stdout)
    assert shown["root_from"] == ".the-loop/cli-config.yaml"


def test_sync_touches_only_what_its_declaration_says(world: World) -> None:
    """Every command that declares nothing changes nothing at all."""
    from handoff_sync.cli import COMMANDS, cli

    machine = world.machine("a")
    machine.seen("IC_1")
    machine.sync()
    arguments = {
        "status": [], "list": [], "show": [ITEM], "layout": [], "demo": [],
    }  # fmt: skip
    import click

    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if not command.touches:  # type: ignore[attr-defined]  # HandoffCommand's own field
            before = _everything(machine)
            machine.handoff(name, *arguments[name])
            assert _everything(machine) == before, name


def _everything(machine: Machine) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(machine.path)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(machine.path.rglob("*"))
        if path.is_file()
    }


def test_init_takes_another_root_and_does_not_change_a_persons_choice(world: World) -> None:
    machine = world.machine("a")
    done = machine.handoff("init", "--root", "elsewhere", code=2)
    assert ".handoff.yaml" in done.stderr
    (machine.path / ".handoff.yaml").unlink()
    machine.handoff("init", "--root", "elsewhere")
    assert "/elsewhere/local/" in (machine.path / ".gitignore").read_text()
    assert "root: elsewhere" in (machine.path / ".handoff.yaml").read_text()


def test_an_unexpected_failure_writes_a_log_and_exits_70(world: World) -> None:
    """Our own bug, brought about by breaking an installed dependency for one run."""
    machine = world.machine("a")
    broken = world.folder / "broken"
    broken.mkdir()
    (broken / "pygit2.py").write_text("raise RuntimeError('boom')\n")
    other = Machine(machine.path, world.environment | {"PYTHONPATH": str(broken)})
    done = other.handoff("sync", code=70)
    assert "handoff-error.log" in done.stderr
    assert "Traceback" not in done.stderr
    assert "boom" in (machine.path / ".git" / "handoff-error.log").read_text()
