"""Another writer at every step of a sync: what it learned is kept, and what was received."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import stories
from doomed import Doomed
from handoff_state import WorkItemStore
from handoff_state.errors import BusyError
from stories import Facts, Stage, assert_known, learned
from survival import assert_settled, assert_synced
from world import ITEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from handoff_state.codec import JsonObject
    from world import Machine

LEAST_STEPS = 30
#: In these the sync has made sure of the files and drops its notes on them; a writer that
#: read before the sync and writes now cannot be told from one that takes something back.
LAST_STEPS = 5


def foreign(machine: Machine, facts: Facts, _: bytes) -> Facts:
    """A writer without our lock reads the file, adds to it and renames a new one over it."""
    _rename_over(machine, machine.bytes())
    return learned(facts, "IC_99")


def slow(machine: Machine, facts: Facts, before: bytes) -> Facts:
    """Such a writer had read the file before the sync began."""
    _rename_over(machine, before)
    return learned(facts, "IC_99")


def ours(machine: Machine, facts: Facts, _: bytes) -> Facts:
    """A daemon on our store learns something, and somebody arms the item."""
    store, shown = WorkItemStore(machine.layout, lock_seconds=0), machine.command()
    with suppress(BusyError):  # it would wait, and come at a later step
        store.update_section(ITEM, "poll", _one_more)
        facts = learned(facts, "IC_99")
        machine.control("start", stories.T4, actor="late")
        facts = learned(facts, "IC_99", "start" if shown == facts.command else None)
    return facts


def _one_more(poll: JsonObject | None) -> JsonObject:
    assert poll is not None
    known = poll["seenComments"]
    assert isinstance(known, list)
    return poll | {"seenComments": [*known, "IC_99"]}


def _rename_over(machine: Machine, data: bytes | None) -> None:
    assert data is not None
    record = json.loads(data)
    record["poll"]["seenComments"].append("IC_99")
    path = machine.layout.record(ITEM)
    temporary = path.with_name("theirs.tmp")
    temporary.write_text(json.dumps(record, indent=2) + "\n")
    temporary.rename(path)


@pytest.fixture(scope="module")
def doomed() -> Iterator[Doomed]:
    with Doomed() as process:
        yield process


@pytest.mark.parametrize(
    "writers",
    [
        pytest.param((foreign, slow, ours), id="in turn"),
        *(pytest.param((f,), id=f.__name__, marks=pytest.mark.slow) for f in (foreign, slow, ours)),
    ],
)
@pytest.mark.parametrize(
    "scenario",
    [
        stories.merges,
        pytest.param(stories.holds_back_under_a_daemon, marks=pytest.mark.slow),
        pytest.param(stories.receives, marks=pytest.mark.slow),
        pytest.param(stories.catches_up_after_a_repair, marks=pytest.mark.slow),
        pytest.param(stories.takes_code, marks=pytest.mark.slow),
    ],
    ids=lambda f: f.__name__,
)
def test_a_writer_at_every_step(
    tmp_path: Path,
    doomed: Doomed,
    scenario: Callable[[Machine, Machine], Facts],
    writers: tuple[Callable[[Machine, Facts, bytes], Facts], ...],
) -> None:
    stage = Stage(tmp_path, scenario)
    before = stage.a.bytes()
    assert before is not None
    step, going = 0, True
    while going:
        stage.reset()
        step += 1
        going = _interrupted_once(stage, doomed, step, writers[step % len(writers)], before)
    assert step > LEAST_STEPS, "the steps were counted"


def _interrupted_once(
    stage: Stage,
    doomed: Doomed,
    step: int,
    writer: Callable[[Machine, Facts, bytes], Facts],
    before: bytes,
) -> bool:
    a, b, facts = stage.a, stage.b, stage.facts
    sync = ("sync", "--json", *facts.options)

    def meanwhile() -> None:
        nonlocal facts
        facts = writer(a, facts, before)

    with facts.during(a):
        run, going = doomed.interrupt(a, *sync, at_step=step, meanwhile=meanwhile)
        context = f"{writer.__name__} at {step}: {run.steps[min(step, len(run.steps)) - 1]}"
        assert_synced(run, context)
    if writer is slow and len(run.steps) - step < LAST_STEPS:
        return going
    for machine in (a, b):
        assert_synced(doomed.run(machine, *sync), context)
    if a.git("rev-parse", "HEAD") != stage.world.tip() or a.layout.handoff_behind.exists():
        assert_synced(doomed.run(a, *sync), context)
    assert_settled(stage.world, a, b)
    assert_known(facts, a, b, context=context)
    return going
