"""Situations a sync may be in, and what must be known everywhere once it is through."""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from world import FILE, ITEM, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from world import Machine

T1, T2, T3, T4 = (f"2026-09-14T{hour:02}:00:00Z" for hour in (9, 10, 11, 12))
GONE, NEW, OTHER = (f"github:octo/repo#{number}" for number in (1, 2, 3))


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What both machines and the hub must hold in the end.

    ``during`` is what the machine is in while its sync runs; ``code`` are files outside the
    state, None for one that is gone.
    """

    seen: dict[str, set[str]]
    command: str = "start"
    gone: tuple[str, ...] = ()
    code: dict[str, str | None] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    during: Callable[[Machine], AbstractContextManager[None]] = lambda _: nullcontext()


@contextmanager
def daemon(machine: Machine) -> Iterator[None]:
    """A poller that holds its lock."""
    with machine.layout.poll_pid.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def forbidden(machine: Machine) -> Iterator[None]:
    """A hook of the remote that takes nothing."""
    hook = machine.path.parent / "hub.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    yield
    hook.unlink()


def sends(a: Machine, _: Machine) -> Facts:
    a.seen("IC_2")
    a.control("pause", T2)
    a.seen("IC_9", ref=NEW)
    a.store.drop(GONE)
    return Facts(seen={ITEM: {"IC_1", "IC_2"}, NEW: {"IC_9"}}, command="pause", gone=(GONE,))


def receives(a: Machine, b: Machine) -> Facts:
    facts = sends(b, a)
    b.sync()
    return facts


def merges(a: Machine, b: Machine) -> Facts:
    facts = receives(a, b)
    a.seen("IC_3")
    a.seen("IC_8", ref=OTHER)
    seen = {ITEM: {"IC_1", "IC_2", "IC_3"}, NEW: {"IC_9"}, OTHER: {"IC_8"}}
    return replace(facts, seen=seen)


def keeps_a_stop_over_an_uninformed_start(a: Machine, b: Machine) -> Facts:
    b.control("stop", T2)
    b.sync()
    a.control("start", T3)
    a.seen("IC_3")
    return Facts(seen={ITEM: {"IC_1", "IC_3"}}, command="stop")


def joins_two_first_sights(a: Machine, b: Machine) -> Facts:
    b.seen("IC_7", ref=NEW)
    b.sync()
    a.seen("IC_8", ref=NEW)
    return Facts(seen={ITEM: {"IC_1"}, NEW: {"IC_7", "IC_8"}})


def catches_up_after_a_repair(a: Machine, b: Machine) -> Facts:
    """A quarantined file was repaired with more in it, while its record moved on."""
    path = a.layout.portable / FILE
    good = path.read_bytes()
    path.write_bytes(good[:-9])
    b.seen("IC_2")
    b.control("pause", T2)
    b.sync()
    a.sync(code=1)
    path.write_bytes(good)
    a.seen("IC_3")
    b.seen("IC_4")
    b.sync()
    return Facts(seen={ITEM: {"IC_1", "IC_2", "IC_3", "IC_4"}}, command="pause")


def is_refused_by_the_remote(a: Machine, b: Machine) -> Facts:
    facts = catches_up_after_a_repair(a, b)
    return replace(facts, during=forbidden)


def holds_back_under_a_daemon(a: Machine, b: Machine) -> Facts:
    facts = merges(a, b)
    return replace(facts, during=daemon)


def takes_code(a: Machine, b: Machine) -> Facts:
    for path in ("src/changed.py", "src/gone.py", "link.py", "ours.py"):
        commit(b, path, "one\n")
    b.sync("--with-code")
    a.sync("--with-code")
    b.git("rm", "-q", "src/gone.py")
    commit(b, "src/changed.py", "two\n")
    commit(b, "src/new/added.py", "new\n")
    b.seen("IC_2")
    b.sync("--with-code")
    commit(a, "ours.py", "two\n")
    a.seen("IC_3")
    code = {"src/changed.py": "two\n", "src/new/added.py": "new\n", "src/gone.py": None}
    return Facts(
        seen={ITEM: {"IC_1", "IC_2", "IC_3"}},
        code=code | {"ours.py": "two\n", "link.py": "one\n"},
        options=("--with-code",),
    )


def commit(machine: Machine, path: str, text: str) -> None:
    target = machine.path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    machine.git("add", path)
    machine.git("commit", "-qm", f"code: {path}")


def learned(facts: Facts, comment: str, command: str | None = None) -> Facts:
    """The facts, with one more comment on the item and perhaps another command."""
    seen = facts.seen | {ITEM: facts.seen[ITEM] | {comment}}
    return replace(facts, seen=seen, command=command or facts.command)


def assert_known(facts: Facts, *machines: Machine, context: str) -> None:
    """Every machine holds exactly these facts."""
    for machine in machines:
        for ref, ids in facts.seen.items():
            assert set(map(str, machine.seen_ids(ref))) == ids, context
        assert machine.command() == facts.command, context
        assert not any(machine.record(ref) for ref in facts.gone), context
        for path, text in facts.code.items():
            file = machine.path / path
            assert (file.read_text() if file.exists() else None) == text, context


class Stage:
    """One situation, set up once and played again and again from there."""

    def __init__(self, folder: Path, scenario: Callable[[Machine, Machine], Facts]) -> None:
        self._live, self._template = folder / "live", folder / "template"
        self._live.mkdir()
        self.world = World(self._live)
        self.a, self.b = self.world.machine("a"), self.world.machine("b")
        self.a.seen("IC_1")
        self.a.control("start", T1)
        self.a.seen("IC_5", ref=GONE)
        self.world.settle(self.a, self.b)
        self.facts = scenario(self.a, self.b)
        shutil.copytree(self._live, self._template, symlinks=True)

    def reset(self) -> None:
        """Back to the situation."""
        shutil.rmtree(self._live)
        shutil.copytree(self._template, self._live, symlinks=True)
