"""A sync killed at every step it takes, one after the other, in every kind of run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import stories
from doomed import Doomed
from stories import Facts, Stage, assert_known, learned
from survival import assert_settled, assert_sound, assert_synced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from doomed import Run
    from world import Machine

LEAST_STEPS = 5

#: The last three are in others too; they tell what is wrong, where a larger one only fails.
SCENARIOS = [
    stories.sends,
    stories.merges,
    stories.catches_up_after_a_repair,
    stories.is_refused_by_the_remote,
    stories.holds_back_under_a_daemon,
    stories.takes_code,
    pytest.param(stories.receives, marks=pytest.mark.slow),
    pytest.param(stories.keeps_a_stop_over_an_uninformed_start, marks=pytest.mark.slow),
    pytest.param(stories.joins_two_first_sights, marks=pytest.mark.slow),
]


def nothing(_: Machine, facts: Facts) -> Facts:
    return facts


def learns(machine: Machine, facts: Facts) -> Facts:
    """A daemon sees another comment before the next sync."""
    machine.seen("IC_99")
    return learned(facts, "IC_99")


def commands(machine: Machine, facts: Facts) -> Facts:
    """Somebody arms the item: it counts where they could see what they answer."""
    shown = machine.command()
    machine.seen("IC_99")
    machine.control("start", stories.T4, actor="late")
    return learned(facts, "IC_99", "start" if shown == facts.command else None)


@pytest.fixture(scope="module")
def doomed() -> Iterator[Doomed]:
    with Doomed() as process:
        yield process


@pytest.mark.parametrize(
    "between",
    [
        pytest.param((nothing, learns, commands), id="in turn"),
        *(
            pytest.param((f,), id=f.__name__, marks=pytest.mark.slow)
            for f in (nothing, learns, commands)
        ),
    ],
)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda f: f.__name__)
def test_killed_at_every_step(
    tmp_path: Path,
    doomed: Doomed,
    scenario: Callable[[Machine, Machine], Facts],
    between: tuple[Callable[[Machine, Facts], Facts], ...],
) -> None:
    stage = Stage(tmp_path, scenario)
    step, run = 0, None
    while run is None or run.code is None:
        stage.reset()
        step += 1
        run = _killed_once(stage, doomed, step, between[step % len(between)])
    assert step > LEAST_STEPS, "the steps were counted"


def _killed_once(
    stage: Stage, doomed: Doomed, step: int, between: Callable[[Machine, Facts], Facts]
) -> Run:
    a, b, facts = stage.a, stage.b, stage.facts
    sync = ("sync", "--json", *facts.options)
    with facts.during(a):
        run = doomed.run(a, *sync, at_step=step)
        context = f"killed at step {step}, {run.last}; then {between.__name__}"
        assert_sound(a, *facts.code)
        facts = between(a, facts)
        if facts.during is stories.daemon:
            assert_synced(doomed.run(a, *sync), context)
            assert a.command() == facts.command, "control arrives under a daemon"
    assert_synced(doomed.run(a, *sync), context)
    assert_synced(doomed.run(b, *sync), context)
    if a.git("rev-parse", "HEAD") != stage.world.tip():
        assert_synced(doomed.run(a, *sync), context)
    assert_settled(stage.world, a, b)
    assert_known(facts, a, b, context=context)
    return run
