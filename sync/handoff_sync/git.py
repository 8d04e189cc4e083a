"""Run the git binary: no prompt, no hang, no stray environment (sync.md, Engines)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_sync.errors import CorruptError, DeadlineError, NoRepositoryError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Variables that would point git at another repository, index or object store than the one
#: named on the command line (git rev-parse --local-env-vars, less the two config ones, which
#: carry the user's own `git -c`).
_LOCATION = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
)  # fmt: skip

#: By itself git syncs neither loose objects nor refs: after a power cut a branch could name a
#: commit that is an empty file. Commits made and fetched here are on the disk first.
_DURABLE = {"core.fsync": "committed", "core.fsyncMethod": "batch"}

_GRACE_SECONDS = 1.0


class Deadline:
    """A point in monotonic time; ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self._end - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An ended git process."""

    code: int
    out: bytes
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Runs git in one place; ``git_dir`` and ``top`` pin the repository once it is known."""

    directory: Path
    environment: Mapping[str, str]
    deadline: Deadline
    interactive: bool = False
    git_dir: Path | None = None
    top: Path | None = None
    ssh_is_configured: bool = False
    fsync_is_configured: bool = False

    def run(self, *args: str, data: bytes | None = None, literal: bool = True) -> Finished:
        """Run ``git args``; whatever the exit code. Raises ``DeadlineError``.

        Paths are taken as they are unless ``literal`` is off, for the commands that refuse it.
        """
        argv = ["git", *args]
        try:
            process = subprocess.Popen(
                argv,
                cwd=self.directory,
                env=self._environment() | ({"GIT_LITERAL_PATHSPECS": "1"} if literal else {}),
                stdin=None if self.interactive else subprocess.PIPE if data else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=not self.interactive,
            )
        except FileNotFoundError as error:
            raise NoRepositoryError("git is not installed", hint="install git 2.39+") from error
        try:
            out, err = process.communicate(data, timeout=self.deadline.remaining())
        except subprocess.TimeoutExpired:
            _end(process)
            raise DeadlineError(
                f"git {args[0]} did not finish within {self.deadline.seconds:g} s",
                hint="run it again, with a longer --timeout if the remote is slow",
            ) from None
        except BaseException:
            _end(process)
            raise
        return Finished(code=process.returncode, out=out, err=err.decode("utf-8", "replace"))

    def ok(self, *args: str, data: bytes | None = None, literal: bool = True) -> bytes:
        """Run ``git args`` and return its output; a failure is a ``CorruptError``."""
        done = self.run(*args, data=data, literal=literal)
        if done.code:
            raise CorruptError(f"git {args[0]} failed: {sanitised(done.err)}", hint="git fsck")
        return done.out

    def _environment(self) -> dict[str, str]:
        environment = {k: v for k, v in self.environment.items() if k not in _LOCATION}
        environment |= {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }
        if self.git_dir is not None:
            environment["GIT_DIR"] = str(self.git_dir)
        if self.top is not None:
            environment["GIT_WORK_TREE"] = str(self.top)
        if not self.interactive:
            environment |= {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}
            environment.pop("SSH_ASKPASS", None)  # git would open the desktop's window for http
            if not self.ssh_is_configured and not {"GIT_SSH", "GIT_SSH_COMMAND"} & set(environment):
                environment["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        if not self.fsync_is_configured:
            environment |= _settings(environment, _DURABLE)
        return environment


def _settings(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Git config for one command, after what the environment already has of it."""
    count = int(environment.get("GIT_CONFIG_COUNT") or 0)
    found = {"GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (key, value) in enumerate(settings.items(), count):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    # The whole group: ssh, a credential helper or a hook may be what hangs. The second signal
    # goes out even when git has ended: what it started may ignore the first and hold no pipe.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE_SECONDS)


def sanitised(text: str) -> str:
    """A message fit to show: no url, address, absolute path or control character in it."""
    import re

    # In quotes, as git has them, a path or url may hold spaces.
    text = re.sub(r"'[a-z][a-z0-9+.-]*://[^'\n]*'", "'<url>'", text)
    text = re.sub(r"'/[^'\n]*'", "'<path>'", text)
    text = re.sub(r"[a-z][a-z0-9+.-]*://[^\s'\"]+", "<url>", text)
    text = re.sub(r"[^\s'\"@:]+@[^\s'\"]+", "<address>", text)
    text = re.sub(r"(?<![\w.])(?:/[^\s/'\":]+){2,}/?", "<path>", text)
    text = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(dict.fromkeys(lines[:12]))
