"""What a branch names is on the disk before the branch names it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from world import Machine


def flushes(machine: Machine, trace: Path) -> dict[str, int]:
    """How often each git command of one sync had the disk write out what it made."""
    environment = {**machine.environment, "GIT_TRACE2_EVENT": str(trace)}
    replace(machine, environment=environment).sync()
    commands: dict[str, str] = {}
    counted: dict[str, int] = {}
    for line in trace.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "start" and "/" not in event["sid"]:
            commands[event["sid"]] = event["argv"][1]
        if event.get("key") == "fsync/hardware-flush" and event["sid"] in commands:
            command = commands[event["sid"]]
            counted[command] = counted.get(command, 0) + int(event["value"])
    return counted


@pytest.fixture
def meeting(pair: tuple[Machine, Machine]) -> Machine:
    """A machine about to fetch, merge and push."""
    a, b = pair
    a.seen("IC_1")
    a.sync()
    b.seen("IC_2")
    return b


def test_commits_and_the_branch_are_synced_where_git_was_told_nothing(
    meeting: Machine, tmp_path: Path
) -> None:
    meeting.git("config", "--global", "--unset", "core.fsync")
    counted = flushes(meeting, tmp_path / "trace")
    assert counted["commit-tree"] == counted["update-ref"] == 2


def test_what_the_user_says_of_fsync_holds(meeting: Machine, tmp_path: Path) -> None:
    assert flushes(meeting, tmp_path / "trace") == {}


def test_settings_given_in_the_environment_stay(meeting: Machine, tmp_path: Path) -> None:
    meeting.git("config", "--global", "--unset", "core.fsync")
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Eve"}
    machine = replace(meeting, environment={**meeting.environment, **given})
    assert "commit-tree" in flushes(machine, tmp_path / "trace")
    assert machine.git("log", "-1", "--format=%an") == "Eve"
