"""A sync killed with SIGKILL at random moments, again and again on one pair of machines."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from doomed import Doomed
from survival import assert_settled, assert_sound, assert_synced
from world import ITEM

if TYPE_CHECKING:
    from world import World

KILLS = int(os.environ.get("HANDOFF_KILLS", "200"))
SEED = int(os.environ.get("HANDOFF_SEED") or time.time_ns() % 2**32)
OTHER = "github:octo/repo#2"
#: Who syncs, and dies, round by round: two of one machine in a row make the second a run
#: that only sends; a change of machines, one that merges.
VICTIMS = "abbaab"
RANK = {"stop": 2, "pause": 1, "start": 0, "resume": 0}


@dataclass(frozen=True)
class Decision:
    """A command somebody gave, knowing of others."""

    command: str
    at: str
    known: frozenset[Decision]


@dataclass
class Mind:
    """What one machine, or the hub, has been told: comment ids, and decisions."""

    seen: set[str] = field(default_factory=set)
    decisions: frozenset[Decision] = frozenset()

    def command(self) -> str | None:
        """The strongest decision that no other one answers (records.md, Control)."""
        answered = {earlier for later in self.decisions for earlier in later.known}
        opened = self.decisions - answered
        strongest = max(opened, key=lambda d: (RANK[d.command], d.at), default=None)
        return strongest.command if strongest else None


class Story:
    """Two machines, what they were told, and the run that is killed."""

    def __init__(self, world: World, doomed: Doomed, rng: random.Random) -> None:
        self.world, self.doomed, self.rng = world, doomed, rng
        self.machines = {name: world.machine(name) for name in "ab"}
        self.minds = {name: Mind() for name in "ab"}
        self.hub = Mind()
        self.facts = 0
        self.times: list[float] = []

    def tell(self, name: str, *, command: bool = True) -> None:
        """Something happens in the world, and one machine hears of it."""
        machine, mind = self.machines[name], self.minds[name]
        self.facts += 1
        comment = f"IC_{self.facts}"
        machine.seen(comment, ref=self.rng.choice([ITEM, ITEM, OTHER]))
        mind.seen.add(comment)
        if command and self.rng.random() < 0.3:
            hour, minute = divmod(self.facts, 60)
            decision = Decision(
                command=self.rng.choice(sorted(RANK)),
                # Clocks run as they like: only the graph says who knew what.
                at=f"2026-09-{self.rng.randrange(1, 29):02}T{hour % 24:02}:{minute:02}:00Z",
                known=mind.decisions,
            )
            machine.control(decision.command, decision.at)
            mind.decisions |= {decision}

    def hand_off(self, name: str) -> None:
        """One machine and the hub tell each other everything."""
        mind = self.minds[name]
        mind.seen |= self.hub.seen
        mind.decisions |= self.hub.decisions
        self.hub = Mind(set(mind.seen), mind.decisions)

    def sync(self, name: str, context: str) -> None:
        """A run that lives."""
        run = self.doomed.run(self.machines[name], "sync", "--json", settle=False)
        assert_synced(run, context)
        self.times.append(run.seconds)
        self.hand_off(name)
        self.compare(name, context)

    def kill(self, name: str) -> str:
        """A run that is killed, at any moment of its time; what is left must make sense."""
        delay = self.rng.uniform(0, median(self.times[-20:]) * 1.1)
        # Every other time the next run meets what git processes are still at.
        settle = self.rng.random() < 0.5
        machine = self.machines[name]
        run = self.doomed.run(machine, "sync", "--json", after=delay, settle=settle)
        if settle:
            assert_sound(machine)
        return f"kill of {name} after {delay:.4f} s (at {run.last})"

    def compare(self, name: str, context: str) -> None:
        machine, mind = self.machines[name], self.minds[name]
        held = {str(i) for ref in (ITEM, OTHER) for i in machine.seen_ids(ref)}
        assert held == mind.seen, context
        assert machine.command() == mind.command(), context


def test_no_kill_loses_a_fact_or_asks_for_a_repair(world: World) -> None:
    print(f"HANDOFF_SEED={SEED} HANDOFF_KILLS={KILLS}")  # noqa: T201 - to play it again
    with Doomed() as doomed:
        story = Story(world, doomed, random.Random(SEED))  # noqa: S311 - when to die, not a key
        for name in "abab":
            story.tell(name)
            story.sync(name, "the beginning")
        for number in range(KILLS):
            name = VICTIMS[number % len(VICTIMS)]
            story.tell(name)
            if story.rng.random() < 0.5:
                story.tell("b" if name == "a" else "a")
            context = f"seed {SEED}, {number}: {story.kill(name)}"
            if story.rng.random() < 0.2:
                # Nobody gives a command here: what they could see depends on the kill.
                story.tell(name, command=False)
                context += f", then {story.kill(name)}"
            story.sync(name, context)
        doomed.settle()
        for name in "abab":
            story.sync(name, f"seed {SEED}, the end")
    machines = [*story.machines.values()]
    assert_settled(world, *machines)
    assert machines[0].bytes() == machines[1].bytes()
    assert story.minds["a"] == story.minds["b"] == story.hub
