"""Another writer at every step of a sync: what it learned is kept, and what was received."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
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


def foreign(stage: Stage, facts: Facts, _: bytes) -> Facts:
    """A writer without our lock reads the file, adds to it and renames a new one over it."""
    _rename_over(stage.a, stage.a.bytes())
    return learned(facts, "IC_99")


def slow(stage: Stage, facts: Facts, before: bytes) -> Facts:
    """Such a writer had read the file before the sync began."""
    _rename_over(stage.a, before)
    return learned(facts, "IC_99")


def ours(stage: Stage, facts: Facts, _: bytes) -> Facts:
    """A daemon on our store learns something, and somebody arms the item."""
    store, shown = WorkItemStore(stage.a.layout, lock_seconds=0), stage.a.command()
    with suppress(BusyError):  # it would wait, and come at a later step
        store.update_section(ITEM, "poll", _one_more)
        facts = learned(facts, "IC_99")
        stage.a.control("start", stories.T4, actor="late")
        facts = learned(facts, "IC_99", "start" if shown == facts.command else None)
    return facts


def peer(stage: Stage, facts: Facts, _: bytes) -> Facts:
    """The other machine hands off in the middle of it, and moves the branch on the hub."""
    stage.b.seen("IC_99")
    stage.b.sync(*facts.options, code=None)
    return learned(facts, "IC_99")


def committing(stage: Stage, facts: Facts, _: bytes) -> Facts:
    """A person commits code of their own in the middle of it, and moves the branch here."""
    if not _staged(stage.a):
        return facts
    stage.a.git("commit", "-qm", "mine", "--", "mine.txt")
    return replace(facts, code=facts.code | {"mine.txt": "mine\n"}, options=("--with-code",))


def staging(stage: Stage, facts: Facts, _: bytes) -> Facts:
    """A person stages something in the middle of it."""
    _staged(stage.a)
    return facts


def _staged(machine: Machine) -> bool:
    """Whether git could take the index lock, which a stopped run's git may hold."""
    time.sleep(0.05)  # it has only just been started
    (machine.path / "mine.txt").write_text("mine\n")
    done = machine.run("git", "add", "mine.txt", code=None)
    if done.returncode:
        assert "index.lock" in done.stderr
        (machine.path / "mine.txt").unlink()
    return done.returncode == 0


WRITERS = (foreign, slow, ours, peer, committing, staging)


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
        pytest.param(WRITERS, id="in turn"),
        *(pytest.param((f,), id=f.__name__, marks=pytest.mark.slow) for f in WRITERS),
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
    writers: tuple[Callable[[Stage, Facts, bytes], Facts], ...],
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
    writer: Callable[[Stage, Facts, bytes], Facts],
    before: bytes,
) -> bool:
    a, b, facts = stage.a, stage.b, stage.facts

    def meanwhile() -> None:
        nonlocal facts
        facts = writer(stage, facts, before)

    with facts.during(a):
        run, going = doomed.interrupt(
            a, "sync", "--json", *facts.options, at_step=step, meanwhile=meanwhile
        )
        context = f"{writer.__name__} at {step}: {run.steps[min(step, len(run.steps)) - 1]}"
        if writer is committing:
            assert run.code in {0, 1, 3}, f"{context}\n{run.out}{run.err}"
        else:
            assert_synced(run, context)
    if writer is slow and len(run.steps) - step < LAST_STEPS:
        return going
    if writer is staging and (a.path / "mine.txt").exists():
        assert a.git("diff", "--cached", "--name-only", "HEAD") == "mine.txt", context
        a.git("rm", "-qf", "mine.txt")
    for machine in (a, b):
        assert_synced(doomed.run(machine, "sync", "--json", *facts.options), context)
    if a.git("rev-parse", "HEAD") != stage.world.tip() or a.layout.handoff_behind.exists():
        assert_synced(doomed.run(a, "sync", "--json", *facts.options), context)
    assert_settled(stage.world, a, b)
    assert_known(facts, a, b, context=context)
    return going


@pytest.mark.parametrize(
    ("scenario", "first"),
    [
        pytest.param(stories.merges, "open", id="merges, from the first file written"),
        pytest.param(stories.merges, "", id="merges", marks=pytest.mark.slow),
        pytest.param(stories.receives, "", id="receives", marks=pytest.mark.slow),
    ],
)
def test_a_daemon_that_starts_at_every_step(
    tmp_path: Path,
    doomed: Doomed,
    scenario: Callable[[Machine, Machine], Facts],
    first: str,
) -> None:
    stage = Stage(tmp_path, scenario)
    steps = doomed.interrupt(stage.a, "sync", at_step=0, meanwhile=lambda: None)[0].steps
    assert len(steps) > LEAST_STEPS, "the steps were counted"
    start = next(number for number, name in enumerate(steps, 1) if name.startswith(first))
    for step in range(start, len(steps) + 1):
        stage.reset()
        _started_once(stage, doomed, step)


def _started_once(stage: Stage, doomed: Doomed, step: int) -> None:
    a, b, facts = stage.a, stage.b, learned(stage.facts, "IC_99")
    ledgers: list[JsonObject] = []
    with ExitStack() as running:

        def start() -> None:
            running.enter_context(stories.daemon(a))
            poll = a.record()["poll"]
            assert isinstance(poll, dict)
            ledgers.append(poll)

        run, _ = doomed.interrupt(a, "sync", "--json", at_step=step, meanwhile=start)
        context = f"started at {step}: {run.steps[step - 1]}"
        assert_synced(run, context)
        a.put("poll", _one_more(ledgers[0]))
        assert_synced(doomed.run(a, "sync", "--json"), context)
    for machine in (a, b, a):
        assert_synced(doomed.run(machine, "sync", "--json"), context)
    assert_settled(stage.world, a, b)
    assert_known(facts, a, b, context=context)
