"""A hub and machines for tests: real repositories, the real console script, an isolated home."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from handoff_state import StateLayout, WorkItemStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handoff_state.codec import JsonObject

SCRIPT = Path(sys.executable).parent / "git-handoff"
RECORDS = Path(__file__).parent / "data" / "records"
ITEM = "github:octo/repo#15"
FILE = "github-octo-repo-15.json"


def environment(home: Path) -> dict[str, str]:
    """An environment in which git knows nothing of the person running the tests."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "gitconfig"
    if not config.exists():
        config.write_text(
            "[user]\n\tname = Test\n\temail = test@example.invalid\n"
            "[init]\n\tdefaultBranch = main\n[core]\n\tfsync = none\n"
            "[advice]\n\tdetachedHead = false\n"
        )
    kept = {k: v for k, v in os.environ.items() if k in {"PATH", "LANG", "TMPDIR"}}
    coverage = {k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")}
    return {
        **kept,
        **coverage,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "xdg"),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
    }


@dataclass
class Machine:
    """One clone, and the commands a person or a daemon runs in it."""

    path: Path
    environment: Mapping[str, str]
    root: str = ".the-loop"

    def run(
        self, *argv: str | Path, code: int | None = 0, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(a) for a in argv],
            cwd=self.path,
            env=dict(self.environment),
            input=text,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=120,
            check=False,
        )
        if code is not None:
            assert done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def git(self, *args: str | Path, code: int | None = 0) -> str:
        return self.run("git", *args, code=code).stdout.strip()

    def handoff(
        self, *args: str, code: int | None = 0, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.run(SCRIPT, *args, code=code, text=text)

    def sync(self, *args: str, code: int | None = 0) -> dict[str, object]:
        """Run a sync and return its JSON document."""
        done = self.handoff("sync", "--json", *args, code=code)
        document: dict[str, object] = json.loads(done.stdout)
        return document

    @property
    def layout(self) -> StateLayout:
        return StateLayout(self.path / self.root)

    @property
    def store(self) -> WorkItemStore:
        return WorkItemStore(self.layout)

    def record(self, ref: str = ITEM) -> JsonObject:
        return self.store.read(ref)

    def bytes(self, name: str = FILE) -> bytes | None:
        path = self.layout.portable / name
        return path.read_bytes() if path.exists() else None

    def put(self, section: str, value: JsonObject | None, ref: str = ITEM) -> None:
        self.store.write_section(ref, section, value)

    def seen(self, *ids: str, ref: str = ITEM) -> None:
        """Mark comments seen, as a daemon's poll cycle does."""

        def change(poll: JsonObject | None) -> JsonObject:
            ledger: JsonObject = poll or {
                "seenComments": [],
                "commentAttempts": {},
                "spawn": {},
                "gaveUp": {},
            }
            known = ledger["seenComments"]
            assert isinstance(known, list)
            return ledger | {"seenComments": [*known, *(i for i in ids if i not in known)]}

        self.store.update_section(ref, "poll", change)

    def control(self, command: str, at: str, ref: str = ITEM, actor: str = "octocat") -> None:
        """Record what an authorised human commanded."""
        value: JsonObject = {
            "command": command,
            "source": "comment",
            "actor": actor,
            "requestedAt": at,
            "note": "",
            "instance": "",
        }
        self.store.write_section(ref, "control", value)

    def command(self, ref: str = ITEM) -> object:
        control = self.record(ref).get("control")
        return control.get("command") if isinstance(control, dict) else control

    def seen_ids(self, ref: str = ITEM) -> list[object]:
        poll = self.record(ref).get("poll")
        ids = poll.get("seenComments") if isinstance(poll, dict) else []
        return list(ids) if isinstance(ids, list) else []


@dataclass
class World:
    """A bare hub and any number of machines cloned from it."""

    folder: Path
    hub: Path = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = environment(self.folder / "home")
        self.hub = self.folder / "hub.git"
        self.git("init", "--quiet", "--bare", "-b", "main", str(self.hub))

    def git(self, *args: str, code: int = 0) -> str:
        """Run git on the hub."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.hub if self.hub.exists() else self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.strip()

    def machine(self, name: str, url: str | None = None) -> Machine:
        """A clone of the hub, set up; the first one makes and pushes the set-up commit."""
        path = self.folder / name
        done = subprocess.run(
            ["git", "clone", "--quiet", url or str(self.hub), str(path)],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        machine = Machine(path, self.environment)
        machine.git("config", "handoff.machine", name)
        if not (path / ".handoff.yaml").exists():
            machine.git("switch", "--quiet", "-C", "main")
            machine.handoff("init")
            machine.git("add", ".gitignore", ".gitattributes", ".handoff.yaml")
            machine.git("commit", "--quiet", "-m", "set up")
            machine.git("push", "--quiet", "-u", "origin", "main")
        return machine

    def tip(self, ref: str = "refs/heads/main") -> str:
        return self.git("rev-parse", ref)

    def objects(self) -> list[bytes]:
        """Every object of the hub, whole: what a leak would be in."""
        listed = self.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        batch = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.hub,
            env=self.environment,
            input=listed.encode(),
            capture_output=True,
            check=True,
        )
        return [batch.stdout]

    def settle(self, *machines: Machine) -> None:
        """Sync every machine until nothing moves."""
        for _ in range(3):
            for machine in machines:
                machine.sync(code=None)


def fingerprint(machine: Machine) -> dict[str, object]:
    """Everything of a worktree and repository that a sync must leave alone."""
    portable = f"{machine.root}/portable/"
    index: list[str] = []
    for line in machine.git("ls-files", "-s", "--debug").splitlines():
        if line[0] == " ":
            index[-1] += line  # the stat data of the entry above
        else:
            index.append(line)
    index = [entry for entry in index if portable not in entry]
    refs = [
        line
        for line in machine.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        if not line.startswith(("refs/heads/main ", "refs/remotes/origin/main "))
    ]
    git_dir = Path(machine.git("rev-parse", "--absolute-git-dir"))
    own = {"logs/HEAD", "logs/refs/heads/main", "logs/refs/remotes/origin/main"}
    logs = {
        str(path.relative_to(git_dir)): path.read_bytes()
        for path in sorted((git_dir / "logs").rglob("*"))
        if path.is_file() and str(path.relative_to(git_dir)) not in own
    }
    files = {
        str(path.relative_to(machine.path)): _digest(path)
        for path in sorted(machine.path.rglob("*"))
        if ".git" not in path.relative_to(machine.path).parts
        and not str(path.relative_to(machine.path)).startswith((portable, f"{machine.root}/local"))
        and not path.is_dir()
    }
    outside = [
        line for line in machine.git("ls-tree", "-r", "HEAD").splitlines() if portable not in line
    ]
    special = {
        name: (git_dir / name).read_bytes()
        for name in ("HEAD", "config", "FETCH_HEAD", "MERGE_HEAD", "ORIG_HEAD", "info/exclude")
        if (git_dir / name).is_file()
    }
    return {
        "index": index,
        "refs": refs,
        "logs": logs,
        "files": files,
        "outside": outside,
        "special": special,
        "stash": machine.git("stash", "list"),
    }


def _digest(path: Path) -> tuple[int, str]:
    status = path.lstat()
    data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    return status.st_mode, hashlib.sha256(data).hexdigest()
