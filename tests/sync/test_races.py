"""Syncs in a loop on two machines while something writes on both: in the end all of it is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from doomed import Doomed
from survival import assert_settled, assert_synced
from world import ITEM

if TYPE_CHECKING:
    from pathlib import Path

    from world import Machine, World

SECONDS = float(os.environ.get("HANDOFF_RACE_SECONDS", "12"))
OTHER = "github:octo/repo#2"

#: A daemon on our store: comments all the time, a command now and then; its journal says
#: what it wrote, and which command it saw when it gave one.
DAEMON = """
import json, pathlib, random, sys, time
from handoff_state import StateLayout, WorkItemStore

root, journal, name, *refs = sys.argv[1:]
store, rng = WorkItemStore(StateLayout(pathlib.Path(root))), random.Random(name)
commands = ["start", "stop", "pause", "resume"]
empty = {"seenComments": [], "commentAttempts": {}, "spawn": {}, "gaveUp": {}}
number = 0
with open(journal, "a", buffering=1) as out:
    while True:
        number += 1
        ref, comment = rng.choice(refs), f"IC_{name}{number}"
        store.update_section(ref, "poll", lambda poll: (poll or empty) | {
            "seenComments": [*(poll or empty)["seenComments"], comment]})
        print(json.dumps({"seen": comment, "ref": ref}), file=out)
        if rng.random() < 0.05:
            given = {"command": rng.choice(commands), "source": "comment", "actor": name,
                     "requestedAt": f"2026-09-{rng.randrange(1, 29):02}T09:00:00Z",
                     "note": str(number), "instance": ""}
            shown = []
            store.update_section(ref, "control", lambda old: shown.append(old) or given)
            print(json.dumps({"given": given, "shown": shown[0], "ref": ref}), file=out)
        time.sleep(rng.uniform(0.005, 0.03))
"""

#: A daemon that knows no lock of ours: reads, writes a temporary, renames it.
FOREIGN = """
import json, os, random, sys, time

path, journal, name = sys.argv[1:]
rng, number = random.Random(name), 0
with open(journal, "a", buffering=1) as out:
    while True:
        number += 1
        with open(path) as file:
            record = json.load(file)
        record["poll"]["seenComments"].append(f"IC_{name}{number}")
        with open(path + ".theirs.tmp", "w") as file:
            file.write(json.dumps(record, indent=2) + "\\n")
        os.rename(path + ".theirs.tmp", path)
        print(json.dumps({"seen": f"IC_{name}{number}", "ref": record["ref"]}), file=out)
        time.sleep(rng.uniform(0.002, 0.02))
"""


class Writer:
    """A process that writes on one machine until it is told to stop."""

    def __init__(self, machine: Machine, journal: Path, code: str, *arguments: str) -> None:
        journal.touch()
        self.journal = journal
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, arguments[0], str(journal), *arguments[1:]],
            cwd=machine.path,
            env=dict(machine.environment),
        )

    def stop(self) -> list[dict[str, object]]:
        """End it, and return what it says it wrote."""
        assert self._process.poll() is None, "it wrote without a fault until now"
        self._process.terminate()
        self._process.wait(timeout=30)
        return [json.loads(line) for line in self.journal.read_text().splitlines()]


def hand_off_until(end: float, machine: Machine, runs: list[int]) -> None:
    """Sync one machine in a loop; ``runs`` gets the exit codes, or the fault."""
    with Doomed() as process:
        while time.monotonic() < end:
            run = process.run(machine, "sync", "--json", settle=False)
            runs.append(99)
            assert_synced(run, "a race")
            runs[-1] = run.code or 0


def race(seconds: float, *machines: Machine) -> None:
    """Sync all machines at once for a time."""
    end = time.monotonic() + seconds
    runs: list[list[int]] = [[] for _ in machines]
    threads = [
        threading.Thread(target=hand_off_until, args=(end, machine, codes))
        for machine, codes in zip(machines, runs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(codes and set(codes) <= {0, 1} for codes in runs), runs


def settle(world: World, *machines: Machine) -> None:
    with Doomed() as process:
        for _ in range(2):
            for machine in machines:
                assert_synced(process.run(machine, "sync", "--json"), "the end")
    assert_settled(world, *machines)


@pytest.mark.parametrize(
    "seconds", [pytest.param(SECONDS, id="short"), pytest.param(60.0, marks=pytest.mark.slow)]
)
def test_two_machines_with_a_daemon_each_lose_nothing(
    world: World, pair: tuple[Machine, Machine], seconds: float
) -> None:
    for machine in pair:
        machine.seen("IC_0")
        machine.sync()
    writers = [
        Writer(m, world.folder / f"{n}.journal", DAEMON, str(m.layout.root), n, ITEM, OTHER)
        for n, m in zip("ab", pair, strict=True)
    ]
    race(seconds, *pair)
    written = [line for writer in writers for line in writer.stop()]
    settle(world, *pair)
    a, b = pair
    for ref in (ITEM, OTHER):
        mine = [line for line in written if line["ref"] == ref]
        seen = {line["seen"] for line in mine if "seen" in line}
        assert len(seen) > seconds, "the daemons wrote all the time"
        assert seen <= set(a.seen_ids(ref)), seen - set(a.seen_ids(ref))
        given = [line for line in mine if "given" in line]
        answered = [line["shown"] for line in given]
        assert a.record(ref) == b.record(ref)
        if given:
            held = a.record(ref)["control"]
            assert held in [line["given"] for line in given]
            assert held not in answered, "who answered it knew it"


def test_a_writer_without_our_lock_races_with_syncs(
    world: World, pair: tuple[Machine, Machine]
) -> None:
    a, b = pair
    a.seen("IC_0")
    world.settle(a, b)
    foreign = Writer(a, world.folder / "a.journal", FOREIGN, str(a.layout.record(ITEM)), "a")
    ours = Writer(b, world.folder / "b.journal", DAEMON, str(b.layout.root), "b", ITEM)
    race(SECONDS / 2, a, b)
    written = [line["seen"] for w in (foreign, ours) for line in w.stop() if "seen" in line]
    settle(world, a, b)
    assert a.record() == b.record()
    assert set(written) <= set(a.seen_ids()), set(written) - set(a.seen_ids())
