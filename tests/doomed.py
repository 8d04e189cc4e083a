"""Runs of the real command line that die where they are told to.

A process of its own imports git-handoff once and forks a child per run, in a process group
of its own, so that hundreds of killed runs cost no start-up. Nothing of ours is replaced:
the child counts the moments at which something outside of it has changed (a file made,
renamed or removed, a git process that writes started) and kills itself with SIGKILL at one
of them, or its whole group is killed after a time. It can also be stopped at a moment, let
something else happen, and go on.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import IO

    from world import Machine

_PR_SET_CHILD_SUBREAPER = 36
#: Git commands that change nothing: dying beside one is dying at the step before it.
_READERS = frozenset({"config", "diff-index", "ls-files", "ls-remote", "rev-parse"})
_ORPHAN_SECONDS = 20.0
_PAUSED = "paused\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended: ``code`` is None when it was killed; ``steps`` names the steps it took."""

    code: int | None
    steps: list[str]
    seconds: float
    out: str
    err: str

    @property
    def last(self) -> str:
        """The step it died at."""
        return self.steps[-1] if self.steps else "the start"


@dataclass(slots=True)
class Doomed:
    """The process that forks the runs; use it as a context manager."""

    _server: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-W", "error", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(timeout=60)
        self._server.stdout.close()

    def run(
        self,
        machine: Machine,
        *arguments: str,
        at_step: int | None = None,
        after: float | None = None,
        settle: bool = True,
    ) -> Run:
        """Run ``git-handoff arguments`` on a machine; killed at a step, after a time, or not.

        ``settle`` waits until the git processes a killed run left behind have ended too.
        """
        request = {
            "arguments": ["-C", str(machine.path), *arguments],
            "environment": dict(machine.environment),
            "at_step": at_step,
            "after": after,
            "settle": settle,
        }
        return Run(**json.loads(self._ask(request)))

    def interrupt(
        self, machine: Machine, *arguments: str, at_step: int, meanwhile: Callable[[], object]
    ) -> tuple[Run, bool]:
        """Run ``git-handoff arguments``, stopped at a step while ``meanwhile`` happens.

        Also returns whether the run had so many steps. Here a lock that is taken and a git
        process that only reads are steps too.
        """
        request = {
            "arguments": ["-C", str(machine.path), *arguments],
            "environment": dict(machine.environment),
            "at_step": at_step,
            "after": None,
            "settle": False,
            "pause": True,
        }
        answer = self._ask(request)
        paused = answer == _PAUSED
        if paused:
            meanwhile()
            answer = self._ask({})
        return Run(**json.loads(answer)), paused

    def settle(self) -> None:
        """Wait until no git process of an earlier run is left."""
        self._ask({"settle": True})

    def _ask(self, request: Mapping[str, object]) -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline()


# --- the forking process ------------------------------------------------------------------


def serve() -> None:
    """Answer one request a line until the input ends."""
    _adopt_orphans()
    _import_once()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers may reach the asking side

    def pause() -> None:
        answers.write(_PAUSED)
        answers.flush()
        sys.stdin.readline()

    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        answer = asdict(_forked(request, pause)) if "arguments" in request else {}
        if request["settle"]:
            _reap()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _adopt_orphans() -> None:
    # Where the kernel offers it, the git processes of a killed run become our children, and
    # waiting for them is exact; elsewhere _reap sleeps.
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap() -> None:
    if sys.platform != "linux":
        time.sleep(0.3)
    end = time.monotonic() + _ORPHAN_SECONDS
    while time.monotonic() < end:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            time.sleep(0.002)


def _import_once() -> None:
    import importlib

    for name in ("pygit2", "yaml", "rich.console", "rich.table", "rich.progress"):
        importlib.import_module(name)
    import pkgutil

    import handoff_sync

    for found in pkgutil.walk_packages(handoff_sync.__path__, "handoff_sync."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def _forked(request: dict[str, object], pause: Callable[[], None]) -> Run:
    with ExitStack() as files:
        out, err, steps = (files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
        start = time.monotonic()
        pid = os.fork()
        if not pid:
            _child(request, out, err, steps)
        with suppress(OSError):  # the child does it too; whoever comes first
            os.setpgid(pid, pid)
        after = request["after"]
        if isinstance(after, float):
            time.sleep(after)
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            pause()
            os.kill(pid, signal.SIGCONT)
            _, status = os.waitpid(pid, 0)
        seconds = time.monotonic() - start
        for stream in (out, err, steps):
            stream.seek(0)
        return Run(
            code=None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status),
            steps=steps.read().splitlines(),
            seconds=seconds,
            out=out.read(),
            err=err.read(),
        )


def _child(request: dict[str, object], out: IO[str], err: IO[str], steps: IO[str]) -> NoReturn:
    code = 99
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        environment = request["environment"]
        arguments = request["arguments"]
        assert isinstance(environment, dict)
        assert isinstance(arguments, list)
        os.environ.clear()
        os.environ.update(environment)
        at_step = request["at_step"]
        _count_steps(
            at_step if isinstance(at_step, int) else 0, steps, pause=request.get("pause") is True
        )
        from handoff_sync.cli import main

        try:
            main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _count_steps(chosen: int, steps: IO[str], *, pause: bool) -> None:
    taken = 0
    end = signal.SIGSTOP if pause else signal.SIGKILL

    def step(name: str) -> None:
        nonlocal taken
        taken += 1
        os.write(steps.fileno(), f"{name}\n".encode())
        if taken == chosen:
            os.kill(os.getpid(), end)

    def counted(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if _leaves_a_mark(name, args):
                step(" ".join([name, *(Path(a).name for a in args if isinstance(a, str | Path))]))
            return original(*args, **kwargs)

        return call

    for name in ("open", "fsync", "rename", "replace", "link", "unlink"):
        setattr(os, name, counted(name, getattr(os, name)))
    if pause:
        setattr(fcntl, "flock", counted("flock", fcntl.flock))  # noqa: B010 - as below
    started: Callable[..., None] = subprocess.Popen.__init__

    def start(process: subprocess.Popen[bytes], argv: list[str], **options: object) -> None:
        started(process, argv, **options)
        if pause or argv[1] not in _READERS:
            step(f"started {argv[0]} {argv[1]}")

    setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - mypy knows an assignment is wrong


def _leaves_a_mark(name: str, args: tuple[object, ...]) -> bool:
    """Whether the state outside may differ from the one at the step before."""
    if name == "open":
        made = len(args) > 1 and isinstance(args[1], int) and args[1] & os.O_CREAT
        return bool(made) and not str(args[0]).endswith(".lock")
    if name == "fsync":
        # The one of a file says nothing that the rename after it does not.
        return isinstance(args[0], int) and stat.S_ISDIR(os.fstat(args[0]).st_mode)
    return True


if __name__ == "__main__":
    serve()
