"""A daemon that keeps its ledger in memory runs beside a sync: nothing it or we know is lost."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

import pytest

from world import FILE, ITEM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handoff_state.codec import JsonObject
    from world import Machine, World

T1, T2 = "2026-09-14T09:00:00Z", "2026-09-14T10:00:00Z"


class Daemon:
    """Holds ``poll.pid`` and the ledger it read at its start, and saves it whole."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        poll = machine.record().get("poll")
        assert isinstance(poll, dict)
        self.ledger: JsonObject = dict(poll)

    def sees(self, comment: str) -> None:
        known = self.ledger["seenComments"]
        assert isinstance(known, list)
        self.ledger = self.ledger | {"seenComments": [*known, comment]}
        self.machine.put("poll", self.ledger)


@contextlib.contextmanager
def running(machine: Machine) -> Iterator[Daemon]:
    with machine.layout.poll_pid.open("w") as pid:
        fcntl.flock(pid, fcntl.LOCK_EX)
        yield Daemon(machine)


@pytest.fixture
def shared(world: World) -> tuple[Machine, Machine]:
    a, b = world.machine("a"), world.machine("b")
    a.seen("IC_1")
    a.control("start", T1)
    world.settle(a, b)
    return a, b


def test_received_ledgers_wait_and_control_arrives(shared: tuple[Machine, Machine]) -> None:
    a, b = shared
    with running(a) as daemon:
        b.seen("IC_2")
        b.control("stop", T2)
        b.sync()
        document = a.sync()
        assert document["records"][0]["outcome"] == "held"  # type: ignore[index]  # JSON of a known shape
        assert a.command() == "stop", "what stops an agent does not wait"
        assert a.seen_ids() == ["IC_1"], "what the daemon's next save would erase does"
        daemon.sees("IC_3")
        a.sync()
        b.sync()
        assert b.seen_ids() == ["IC_1", "IC_2", "IC_3"]
        b.seen("IC_4")
        b.sync()
        a.sync()
        daemon.sees("IC_5")
    a.sync()
    b.sync()
    assert a.seen_ids() == b.seen_ids() == ["IC_1", "IC_2", "IC_3", "IC_4", "IC_5"]
    assert a.command() == b.command() == "stop"
    assert not a.layout.handoff_behind.exists()
    assert a.git("status", "--porcelain") == ""


def test_a_daemon_that_learns_nothing_leaves_no_commit(shared: tuple[Machine, Machine]) -> None:
    a, b = shared
    with running(a):
        b.seen("IC_2")
        b.sync()
        a.sync()
        head = a.git("rev-parse", "HEAD")
        for _ in range(2):
            assert a.sync()["outcome"] == "up-to-date"
        assert a.git("rev-parse", "HEAD") == head
        assert b.sync()["outcome"] == "up-to-date"
    a.sync()
    assert a.seen_ids() == ["IC_1", "IC_2"]


def test_status_says_that_a_daemon_runs(shared: tuple[Machine, Machine]) -> None:
    a, _ = shared
    with running(a):
        assert "a daemon is running here" in a.handoff("status").stdout
    assert "daemon" not in a.handoff("status").stdout


def test_removals_received_under_a_daemon_stay_removed(shared: tuple[Machine, Machine]) -> None:
    a, b = shared
    a.put("pullRequests", {"github:octo/lib#7": {"seenComments": ["1"], "commentAttempts": {}}})
    a.sync()
    b.sync()
    with running(a) as daemon:
        b.put("pullRequests", None)
        b.sync()
        a.sync()
        assert a.record()["pullRequests"], "held back while the daemon may save it again"
        daemon.sees("IC_2")
        a.sync()
        b.sync()
        assert not b.record().get("pullRequests")
    a.sync()
    assert not a.record().get("pullRequests")
    assert a.bytes(FILE) == b.bytes(FILE)
    assert a.seen_ids(ITEM) == ["IC_1", "IC_2"]


def test_what_the_daemon_saw_itself_is_no_longer_held(shared: tuple[Machine, Machine]) -> None:
    a, b = shared
    with running(a) as daemon:
        b.seen("IC_2")
        b.sync()
        a.sync()
        daemon.sees("IC_2")
        document = a.sync()
        assert "none ->" not in str(document["records"]), "an unchanged control is not news"
    a.sync()
    assert not a.layout.handoff_behind.exists()
    a.seen("IC_3")
    assert a.sync()["records"][0]["outcome"] == "sent"  # type: ignore[index]  # JSON of a known shape
