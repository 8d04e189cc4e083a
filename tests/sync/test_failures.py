"""Each way a sync cannot complete is its own typed failure, and changes nothing here."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import pytest

from servers import (
    LOOPBACK,
    MarkedProcesses,
    free_port,
    git_daemon,
    http_server,
    make_certificate,
    make_key,
    ssh_server,
    useless_server,
)
from world import FILE, SCRIPT, Machine, World, fingerprint

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers import HttpServer, SshServer

NAME, PASSWORD = "carrier", "open-sesame-7731"
STALL_SECONDS = 2


class Failure(NamedTuple):
    """The ``error`` of a failed run's document, and how long the run took."""

    kind: str
    what: str
    where: str
    hint: str
    seconds: float


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A hub and a machine with one record handed off, made once and copied for every test."""
    world = World(tmp_path_factory.mktemp("template"))
    machine = world.machine("a")
    machine.seen("IC_1")
    machine.sync()
    return world


@pytest.fixture
def a(template: World, world: World) -> Machine:
    """A machine with something unsent, and a person's own half-done work beside it."""
    for name in ("hub.git", "a"):
        shutil.copytree(template.folder / name, world.folder / name, dirs_exist_ok=True)
    machine = Machine(world.folder / "a", world.environment)
    point(machine, world.hub)
    machine.seen("IC_2")
    (machine.path / "loose.txt").write_text("not git's yet\n")
    (machine.path / "staged.txt").write_text("in the index only\n")
    machine.git("add", "staged.txt")
    with (machine.path / ".gitignore").open("a") as file:
        file.write("*.orig\n")
    return machine


@pytest.fixture
def http(world: World, a: Machine) -> Iterator[HttpServer]:
    """The hub behind HTTP, and the machine's remote set to it."""
    with http_server(world.folder, world.environment) as server:
        point(a, f"{server.address}/hub.git")
        yield server


@pytest.fixture
def ssh(world: World, a: Machine, tmp_path: Path) -> Iterator[SshServer]:
    """The hub behind sshd, and the machine's remote set to it; nothing says which ssh."""
    with ssh_server(tmp_path / "sshd", world.environment) as server:
        point(a, f"{server.address}{world.hub}")
        yield server


def point(machine: Machine, url: str | Path) -> None:
    machine.git("remote", "set-url", "origin", str(url))


def everything(machine: Machine) -> dict[str, object]:
    """All a failed sync must leave as it was, records and their index entries included."""
    portable = machine.layout.portable
    files = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in portable.iterdir()}
    refs = machine.git("for-each-ref", "--format=%(refname) %(objectname)")
    staged = machine.git("ls-files", "-s", "--", str(portable), code=None)
    return {**fingerprint(machine), "portable": files, "all refs": refs, "entries": staged}


def fail(machine: Machine, kind: str, code: int, *options: str, unchanged: bool = True) -> Failure:
    """Run a sync that must fail as told, show nothing private, and change nothing."""
    before = everything(machine) if unchanged else {}
    start = time.monotonic()
    done = machine.handoff("sync", "--json", *options, code=code)
    seconds = time.monotonic() - start
    keeps_private(machine, done)
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert document["outcome"] == "failed"
    error = document["error"]
    assert error["kind"] == kind, error
    assert error["what"]
    assert error["hint"]
    assert error["what"] in done.stderr, "a person reads the same"
    if unchanged:
        assert everything(machine) == before
    return Failure(**error, seconds=seconds)


def keeps_private(machine: Machine, done: subprocess.CompletedProcess[str]) -> None:
    """No path of this test, no address, mail or credential in what a run prints."""
    printed = done.stdout + done.stderr
    assert str(machine.path.parent) not in printed
    assert machine.path.parent.name not in printed
    assert "://" not in printed
    assert not re.search(r"\w@\w", printed)
    assert PASSWORD not in printed
    assert "Traceback" not in printed


def hook(world: World, name: str, script: str) -> None:
    path = world.hub / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


# --- refused by policy ------------------------------------------------------------------------


REFUSALS = {
    "protected branch": (
        "update",
        'echo "GH006: Protected branch update failed for $1." >&2; exit 1',
        "Protected branch update failed for refs/heads/main",
    ),
    "pre-receive": (
        "pre-receive",
        'echo "commits need a ticket number" >&2; exit 1',
        "commits need a ticket number",
    ),
    "says private things": (
        "pre-receive",
        f"""echo "ask root@example.org, see https://u:{PASSWORD}@example.org/x and $PWD/rules" >&2
        printf '\\033[2Jred\\n' >&2; exit 1""",
        "ask <address> see <url> and <path>",
    ),
    "says nothing": ("pre-receive", "exit 1", "pre-receive hook declined"),
    "changes its mind late": (
        "reference-transaction",
        'test "$1" != prepared || { echo "frozen for the release" >&2; exit 1; }',
        "frozen for the release",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_hub_that_refuses(world: World, a: Machine, case: str) -> None:
    name, script, told = REFUSALS[case]
    hook(world, name, script)
    hub = world.tip()
    failure = fail(a, "policy", 5)
    assert told in failure.what
    assert "\x1b" not in failure.what
    assert world.tip() == hub
    (world.hub / "hooks" / name).unlink()
    assert a.sync()["outcome"] == "handed-off"


def test_what_a_person_had_staged_is_staged_again(world: World, a: Machine) -> None:
    """Also in portable/, and also what was added there or taken out for a later commit."""
    a.seen("IC_9", ref="github:octo/repo#16")
    a.git("add", a.layout.portable)
    a.seen("IC_3")
    a.git("rm", "--quiet", "--cached", a.layout.portable / "github-octo-repo-16.json")
    hook(world, "pre-receive", "exit 1")
    fail(a, "policy", 5)
    assert a.git("diff", "--cached", "--name-only").splitlines() == [
        f".the-loop/portable/{FILE}",
        "staged.txt",
    ]


def test_a_hub_whose_branch_is_checked_out(world: World, a: Machine, tmp_path: Path) -> None:
    workplace = tmp_path / "workplace"
    world.git("clone", "--quiet", str(world.hub), str(workplace))
    point(a, workplace)
    assert "checked out" in fail(a, "policy", 5).what


def test_a_first_push_that_is_refused(world: World) -> None:
    """No branch on the remote yet, and none afterwards."""
    machine = world.machine("a")
    machine.seen("IC_1")
    world.git("update-ref", "-d", "refs/heads/main")
    machine.git("update-ref", "-d", "refs/remotes/origin/main")
    hook(world, "pre-receive", 'echo "no new branches" >&2; exit 1')
    failure = fail(machine, "policy", 5, "--with-code")
    assert "no new branches" in failure.what
    assert world.git("for-each-ref") == ""


# --- who we are ---------------------------------------------------------------------------------


@pytest.mark.parametrize("password", [None, "wrong"])
def test_credentials_that_are_missing_or_wrong(
    a: Machine, http: HttpServer, password: str | None
) -> None:
    http.users[NAME] = PASSWORD
    if password:
        script = f"!f() {{ echo username={NAME}; echo password={password}; }}; f"
        a.git("config", "credential.helper", script)
    failure = fail(a, "auth", 3)
    assert "git ls-remote" in failure.hint


def test_credentials_in_the_address_are_not_shown(a: Machine, http: HttpServer) -> None:
    http.users[NAME] = "another"
    point(a, f"http://{NAME}:{PASSWORD}@{LOOPBACK}:{http.port}/hub.git")
    fail(a, "auth", 3)


def test_a_reader_who_may_not_push(world: World, a: Machine, http: HttpServer) -> None:
    http.answers["?service=git-receive-pack"] = HTTPStatus.FORBIDDEN, "read only"
    hub = world.tip()
    fail(a, "auth", 3, unchanged=False)
    assert world.tip() == hub
    http.heal()
    assert a.sync()["verified"] is True


def test_a_host_key_nobody_knows(a: Machine, ssh: SshServer, tmp_path: Path) -> None:
    nobody = tmp_path / "nobody"
    nobody.touch()
    a.git(
        "config", "core.sshCommand", shlex.join(["ssh", *ssh.client(ssh.folder / "user", nobody)])
    )
    failure = fail(a, "auth", 3)
    assert "Host key verification failed" in failure.what
    assert "accept its key" in failure.hint
    assert nobody.read_bytes() == b"", "no key is taken on trust"


def test_a_host_key_that_changed(a: Machine, ssh: SshServer) -> None:
    other = make_key(ssh.folder / "other")
    (ssh.folder / "known_hosts").write_text(f"[{LOOPBACK}]:{ssh.port} {other}\n")
    a.git("config", "core.sshCommand", ssh.command)
    fail(a, "auth", 3)


@pytest.mark.parametrize("passphrase", ["", "locked"])
def test_a_key_the_host_does_not_take_or_that_is_locked(
    a: Machine, ssh: SshServer, passphrase: str
) -> None:
    key = ssh.folder / "mine"
    make_key(key, passphrase)
    if passphrase:
        allowed = ssh.folder / "authorized"
        allowed.write_text(allowed.read_text() + key.with_suffix(".pub").read_text())
    options = ssh.client(key, ssh.folder / "known_hosts")
    a.git("config", "core.sshCommand", shlex.join(["ssh", *options]))
    assert "Permission denied" in fail(a, "auth", 3).what


@pytest.mark.parametrize("scheme", ["http", "ssh"])
def test_a_desktop_is_there_and_no_window_opens(
    a: Machine, http: HttpServer, ssh: SshServer, scheme: str, tmp_path: Path
) -> None:
    """SSH_ASKPASS is the desktop's question box; git borrows it for http, too."""
    window = tmp_path / "window"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {window}\necho {PASSWORD}\n")
    program.chmod(0o755)
    http.users[NAME] = PASSWORD
    if scheme == "http":
        point(a, f"http://{NAME}@{LOOPBACK}:{http.port}/hub.git")
    make_key(ssh.folder / "locked", PASSWORD)
    options = ssh.client(ssh.folder / "locked", ssh.folder / "known_hosts")
    a.git("config", "core.sshCommand", shlex.join(["ssh", *options]))
    a.environment = {**a.environment, "SSH_ASKPASS": str(program), "DISPLAY": ":0"}
    fail(a, "auth", 3)
    assert not window.exists()


def test_a_terminal_is_there_and_nobody_is_asked(a: Machine, http: HttpServer) -> None:
    """Started from a terminal without --interactive: it fails, and puts no question there."""
    http.users[NAME] = PASSWORD
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(a.path)
        os.execve(SCRIPT, [str(SCRIPT), "--color", "never", "sync"], dict(a.environment))  # noqa: S606 - a child on a terminal of its own
    shown = b""
    while select.select([terminal], [], [], 20)[0]:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the last process on it has ended
            break
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 3
    assert b"error: " in shown
    assert b"://" not in shown, "a question would name the address"
    assert str(a.path.parent).encode() not in shown


def test_a_certificate_nobody_vouches_for(world: World, a: Machine, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    with http_server(world.folder, world.environment, certificate=certificate) as server:
        point(a, f"{server.address}/hub.git")
        assert "http.sslCAInfo" in fail(a, "auth", 3).hint


# --- where the remote is ------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_a_host_name_that_does_not_resolve(a: Machine, scheme: str) -> None:
    point(a, f"{scheme}://nosuch.invalid/hub.git")
    assert "git remote -v" in fail(a, "host", 3).hint


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_a_refused_connection(a: Machine, scheme: str) -> None:
    point(a, f"{scheme}://{LOOPBACK}:{free_port()}/hub.git")
    fail(a, "network", 3)


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_a_server_that_hangs_up(a: Machine, scheme: str) -> None:
    with useless_server(silent=False) as port:
        point(a, f"{scheme}://{LOOPBACK}:{port}/hub.git")
        fail(a, "network", 3)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (HTTPStatus.BAD_GATEWAY, "network"),
        (HTTPStatus.TOO_MANY_REQUESTS, "network"),
        (HTTPStatus.FORBIDDEN, "auth"),
        (HTTPStatus.NOT_FOUND, "remote-repository"),
        (HTTPStatus.OK, "remote-repository"),  # a sign-in page where a repository should be
    ],
)
def test_an_http_server_with_something_else_to_say(
    a: Machine, http: HttpServer, status: HTTPStatus, kind: str
) -> None:
    http.answers["?service=git-upload-pack"] = status, "<html>\nwelcome to the hotel\n</html>\n"
    fail(a, kind, 3)


def test_no_repository_at_a_path(a: Machine, tmp_path: Path) -> None:
    point(a, tmp_path / "elsewhere" / "hub.git")
    assert "git remote -v" in fail(a, "remote-repository", 3).hint


def test_a_path_with_spaces_and_a_colon_is_not_shown(a: Machine, tmp_path: Path) -> None:
    point(a, f"file://{tmp_path}/my own: hub/wéird/hub.git")
    failure = fail(a, "remote-repository", 3)
    assert "hub" not in failure.what


def test_no_repository_at_git_daemon(world: World, a: Machine) -> None:
    with git_daemon(world.folder, world.environment) as address:
        point(a, f"{address}/nowhere.git")
        fail(a, "remote-repository", 3)


def test_no_repository_over_ssh(world: World, a: Machine, ssh: SshServer) -> None:
    a.git("config", "core.sshCommand", ssh.command)
    point(a, f"{ssh.address}{world.folder}/nowhere.git")
    fail(a, "remote-repository", 3)


def test_a_git_daemon_that_takes_no_pushes(world: World, a: Machine) -> None:
    hub = world.tip()
    with git_daemon(world.folder, world.environment, writable=False) as address:
        point(a, f"{address}/hub.git")
        fail(a, "remote-repository", 3, unchanged=False)
    assert world.tip() == hub
    point(a, world.hub)
    assert a.sync()["verified"] is True


def test_a_remote_that_is_not_configured(a: Machine) -> None:
    a.git("remote", "remove", "origin")
    failure = fail(a, "remote", 3)
    assert "origin" in failure.what
    assert "--offline" in failure.hint
    tip = a.git("rev-parse", "HEAD")
    document = a.sync("--offline", code=5)
    assert document["outcome"] == "offline"
    assert a.git("rev-parse", "HEAD~") == tip


def test_a_branch_that_was_there_and_is_gone(world: World, a: Machine) -> None:
    world.git("update-ref", "-d", "refs/heads/main")
    failure = fail(a, "remote-branch", 3)
    assert "git fetch --prune" in failure.hint


def test_a_branch_that_was_never_there(world: World) -> None:
    """The set-up commits are not records: the first push of them is a person's."""
    machine = world.machine("a")
    machine.seen("IC_1")
    world.git("update-ref", "-d", "refs/heads/main")
    machine.git("update-ref", "-d", "refs/remotes/origin/main")
    failure = fail(machine, "diverged", 3)
    assert "git push -u" in failure.hint
    machine.git("push", "--quiet", "-u", "origin", "main")
    assert machine.sync()["outcome"] == "handed-off"


def test_two_histories_with_nothing_in_common(world: World, a: Machine) -> None:
    tree = world.git("hash-object", "-w", "-t", "tree", "/dev/null")
    other = world.git("commit-tree", "-m", "other", tree)
    world.git("update-ref", "refs/heads/main", other)
    fail(a, "unrelated", 3)


# --- servers that never answer -----------------------------------------------------------------


def watched(machine: Machine) -> MarkedProcesses:
    marked = MarkedProcesses()
    machine.environment = {**machine.environment, **marked.environment()}
    return marked


def stall(machine: Machine, *, unchanged: bool = True) -> None:
    """A sync that meets silence ends by its deadline, and so does everything it started."""
    marked = watched(machine)
    failure = fail(machine, "timeout", 3, "--timeout", str(STALL_SECONDS), unchanged=unchanged)
    assert failure.seconds < STALL_SECONDS + 2
    assert f"{STALL_SECONDS} s" in failure.what
    assert "--timeout" in failure.hint
    assert marked.left() == []


@pytest.mark.parametrize("scheme", ["http", "git", "ssh"])
def test_a_server_that_never_answers(a: Machine, scheme: str) -> None:
    with useless_server(silent=True) as port:
        point(a, f"{scheme}://{LOOPBACK}:{port}/hub.git")
        stall(a)


def test_a_credential_helper_that_never_answers(a: Machine, http: HttpServer) -> None:
    http.users[NAME] = PASSWORD
    a.git("config", "credential.helper", "!sleep 60; true")
    stall(a)


def test_a_helper_that_will_not_be_ended(a: Machine, http: HttpServer) -> None:
    """It ignores the first signal and holds none of the pipes its git was given."""
    http.users[NAME] = PASSWORD
    stubborn = "trap '' TERM HUP INT; exec >/dev/null 2>&1 </dev/null; while :; do sleep 1; done"
    a.git("config", "credential.helper", f"!{stubborn}; true")
    stall(a)


STALLED_REQUESTS = {
    "before the push is offered": {"silent": ("?service=git-receive-pack",)},
    "with the push under way": {"silent": ("/git-receive-pack",)},
    "with the push taken": {"swallowed": ("/git-receive-pack",)},
}


@pytest.mark.parametrize("case", STALLED_REQUESTS)
def test_silence_in_the_middle_of_a_push(
    world: World, a: Machine, http: HttpServer, case: str
) -> None:
    """The outcome is unknown: the commit stays, and a later sync finds out which it was."""
    start, hub = a.git("rev-parse", "HEAD"), world.tip()
    for name, endings in STALLED_REQUESTS[case].items():
        setattr(http, name, endings)
    data, work = a.bytes(), fingerprint(a)
    stall(a, unchanged=False)
    kept = a.git("rev-parse", "HEAD")
    assert (a.git("rev-parse", "HEAD~"), a.bytes()) == (start, data)
    assert world.tip() == (kept if case == "with the push taken" else hub)
    http.heal()
    document = a.sync()
    assert document["verified"] is True
    assert a.git("rev-parse", "HEAD") == world.tip() == kept
    assert fingerprint(a) == work


def test_a_hub_on_disk_whose_hook_never_ends(world: World, a: Machine) -> None:
    """Here the server's processes are this run's own, and are ended with it."""
    hook(world, "pre-receive", "exec sleep 60")
    hub = world.tip()
    stall(a, unchanged=False)
    assert world.tip() == hub
    (world.hub / "hooks" / "pre-receive").unlink()
    assert a.sync()["verified"] is True


# --- the worktree ---------------------------------------------------------------------------------


def test_not_a_git_repository(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    machine = Machine(folder, world.environment)
    done = machine.handoff("sync", "--json", code=3)
    keeps_private(machine, done)
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "repository"
    assert "git handoff -C DIR" in error["hint"]
    assert list(folder.iterdir()) == []


def detach(machine: Machine) -> None:
    machine.git("switch", "--quiet", "--detach")


def other_branch(machine: Machine) -> None:
    machine.git("switch", "--quiet", "-c", "feature")


def clashing_side(machine: Machine) -> None:
    """A branch ``side`` that clashes with what main has in one file."""
    machine.git("stash", "--quiet", "--include-untracked")
    machine.git("switch", "--quiet", "-c", "side", "HEAD~")
    for branch in ("side", "main"):
        machine.git("switch", "--quiet", branch)
        (machine.path / "clash.txt").write_text(branch)
        machine.git("add", "clash.txt")
        machine.git("commit", "--quiet", "-m", branch)


def merge(machine: Machine) -> None:
    clashing_side(machine)
    machine.git("merge", "--quiet", "side", code=1)


def rebase(machine: Machine) -> None:
    clashing_side(machine)
    machine.git("rebase", "--quiet", "side", code=1)


def cherry_pick(machine: Machine) -> None:
    clashing_side(machine)
    machine.git("cherry-pick", "side", code=1)


def revert(machine: Machine) -> None:
    clashing_side(machine)
    (machine.path / "clash.txt").write_text("changed")
    machine.git("commit", "--quiet", "-am", "changed")
    machine.git("revert", "--no-edit", "HEAD~", code=1)


def mailed_patches(machine: Machine) -> None:
    clashing_side(machine)
    patch = machine.git("format-patch", "--stdout", "-1", "side")
    machine.run("git", "am", "--quiet", text=f"{patch}\n", code=128)


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (detach, "detached HEAD"),
        (other_branch, "feature"),
        (merge, "a merge is in progress"),
        (rebase, "detached HEAD"),
        (cherry_pick, "a cherry-pick is in progress"),
        (revert, "a revert is in progress"),
        (mailed_patches, "in progress"),
    ],
)
def test_a_worktree_that_is_busy_with_something_else(
    a: Machine, prepare: Callable[[Machine], None], told: str
) -> None:
    prepare(a)
    assert told in fail(a, "branch", 3).what


def test_a_stale_index_lock_is_named_and_stays(a: Machine) -> None:
    lock = a.path / ".git" / "index.lock"
    lock.touch()
    failure = fail(a, "busy", 3, "--timeout", "2")
    assert "index.lock" in failure.what + failure.hint
    assert failure.seconds < 4
    assert lock.exists()
    lock.unlink()
    assert a.sync()["verified"] is True


def test_a_stale_lock_of_the_branch_is_named_and_stays(a: Machine) -> None:
    lock = a.path / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    failure = fail(a, "busy", 3)
    assert "main" in failure.what
    assert lock.exists()
    lock.unlink()
    assert a.sync()["verified"] is True


@pytest.mark.parametrize("name", ["handoff.lock", "portable.lock"])
def test_a_lock_another_process_holds(a: Machine, name: str) -> None:
    with (a.layout.local / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        failure = fail(a, "busy", 3, "--timeout", "1")
    assert failure.where == name
    assert failure.seconds < 3
    assert a.sync()["verified"] is True


# --- the configuration ---------------------------------------------------------------------------


def test_a_state_root_outside_the_repository(a: Machine, tmp_path: Path) -> None:
    for options in (["--root", "../state"], ["--root", str(tmp_path / "state")]):
        before = everything(a)
        done = a.handoff(*options, "sync", "--json", code=3)
        keeps_private(a, done)
        error = json.loads(done.stdout)["error"]
        assert error["kind"] == "repository"
        assert "copy portable/" in error["hint"]
        assert "git handoff init --root" in error["hint"]
        assert everything(a) == before
        assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("text", "told", "where"),
    [
        (b"remot: origin\n", "did you mean remote?", ".handoff.yaml"),
        (b"colour: blue\n", "known keys: root", ".handoff.yaml"),
        (b"root: [\n", "not valid YAML", ".handoff.yaml:2"),
        (b"- root\n", "not a mapping", ".handoff.yaml"),
        (b"branch: 3\n", "must be text", ".handoff.yaml: branch"),
        (b"carry: both\n", "'both' is not one of branch, ref", ".handoff.yaml: carry"),
        (b"root: \xff\xfe\n", "cannot be read", ".handoff.yaml"),
    ],
)
def test_a_configuration_that_cannot_be_used(
    a: Machine, text: bytes, told: str, where: str
) -> None:
    (a.path / ".handoff.yaml").write_bytes(text)
    failure = fail(a, "config", 2)
    assert told in f"{failure.what} {failure.hint}"
    assert failure.where == where


def test_a_configuration_that_is_a_folder(a: Machine) -> None:
    (a.path / ".handoff.yaml").unlink()
    (a.path / ".handoff.yaml").mkdir()
    assert "cannot be read" in fail(a, "config", 2).what


def test_carry_ref_is_refused_by_name(a: Machine) -> None:
    (a.path / ".handoff.yaml").write_text("carry: ref\n")
    assert "carry: ref" in fail(a, "unsupported", 3).what


# --- kinds of repository --------------------------------------------------------------------------


def test_a_sha256_repository_is_refused_by_name(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    world.git("init", "--quiet", "--object-format=sha256", "-b", "main", str(folder))
    machine = Machine(folder, world.environment)
    machine.git("commit", "--quiet", "--allow-empty", "-m", "first")
    machine.layout.portable.mkdir(parents=True)
    machine.seen("IC_1")
    assert "sha256" in fail(machine, "unsupported", 3).what


def test_a_partial_clone_is_refused_by_name(world: World, a: Machine, tmp_path: Path) -> None:
    world.git("config", "uploadpack.allowFilter", "true")
    a.sync()
    folder = tmp_path / "thin"
    world.git("clone", "--quiet", "--filter=blob:none", f"file://{world.hub}", str(folder))
    machine = Machine(folder, world.environment)
    machine.seen("IC_3")
    assert "a partial clone" in fail(machine, "unsupported", 3).what
