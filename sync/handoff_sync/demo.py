"""The demonstration: a bare hub, clones, and the real command line; a step is said when true."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from handoff_state.errors import HandoffError
from handoff_state.layout import StateLayout
from handoff_state.workitems import WorkItemStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from handoff_state.codec import JsonObject

_ITEM = "github:octo/repo#15"
_FOLDER = "/home/op/work/issue-15"
_SESSION = "0f1c2d3e-0000-4000-8000-000000000002"
_STEP_SECONDS = 120


class StepFailedError(HandoffError):
    """A step of the demonstration that is not true."""


@dataclass(slots=True)
class _Clone:
    """One machine of the demonstration."""

    name: str
    path: Path
    environment: Mapping[str, str]

    @property
    def store(self) -> WorkItemStore:
        return WorkItemStore(StateLayout(self.path / ".the-loop"))

    def record(self) -> JsonObject:
        return self.store.read(_ITEM)

    def git(self, *args: str) -> str:
        return _run(["git", *args], self.path, self.environment, {0})[1]

    def handoff(self, *args: str, expect: frozenset[int] = frozenset({0})) -> str:
        argv = [sys.executable, "-m", "handoff_sync", *args]
        return _run(argv, self.path, self.environment, expect)[1]

    def sync(self, expect: frozenset[int] = frozenset({0})) -> JsonObject:
        document: JsonObject = json.loads(self.handoff("sync", "--json", expect=expect))
        return document


@dataclass(slots=True)
class Demonstration:
    """Runs in ``folder``; ``say`` gets one line a step, after it was checked."""

    folder: Path
    environment: Mapping[str, str]
    machines: int
    say: Callable[[str], None]
    clones: list[_Clone] = field(default_factory=list)
    steps: int = 0

    def run(self) -> None:
        """Every step in order. Raises ``StepFailedError``."""
        self._set_up()
        self._hand_over()
        self._merge()
        self._decide()
        self._refuse_a_leak()
        self._flag_arming()
        self._look_for_leaks()

    def _set_up(self) -> None:
        hub = self.folder / "hub.git"
        environment = self._isolated()
        _run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], self.folder, environment, {0})
        for number in range(self.machines):
            name = f"machine-{number + 1}"
            clone = _Clone(name, self.folder / name, environment)
            _run(["git", "clone", "-q", str(hub), name], self.folder, environment, {0})
            clone.git("config", "handoff.machine", name)
            if not number:
                clone.git("switch", "-q", "-C", "main")
                clone.handoff("init")
                clone.git("add", ".gitignore", ".gitattributes", ".handoff.yaml")
                clone.git("commit", "-q", "-m", "Set up for hand-offs")
                clone.git("push", "-q", "-u", "origin", "main")
            self.clones.append(clone)
        self._true(
            all((clone.path / ".handoff.yaml").exists() for clone in self.clones),
            f"a bare hub and {self.machines} clones, set up by git handoff init",
        )

    def _hand_over(self) -> None:
        first = self.clones[0]
        first.store.write_section(_ITEM, "control", _control("start", "2026-09-14T09:11:58Z"))
        first.store.write_section(_ITEM, "poll", _ledger("IC_1", "IC_2"))
        session: JsonObject = {
            "version": 2,
            "workItem": _ITEM,
            "sessions": {_ITEM: {"harnessSessionId": _SESSION, "cwd": _FOLDER}},
        }
        path = StateLayout(first.path / ".the-loop").session(_ITEM)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(session), encoding="utf-8")
        sent = first.sync()
        self._true(
            sent.get("verified") is True and sent.get("outcome") == "handed-off",
            f"{first.name} armed {_ITEM} and handed it off, read back from the hub",
        )
        for clone in self.clones[1:]:
            clone.sync()
            self._true(
                clone.record() == first.record(), f"{clone.name} has the record, value for value"
            )

    def _merge(self) -> None:
        first, second = self.clones[:2]
        first.store.write_section(_ITEM, "poll", _ledger("IC_1", "IC_2", "IC_3"))
        second.store.write_section(_ITEM, "poll", _ledger("IC_1", "IC_2", "IC_4"))
        self._settle()
        seen = _seen(first.record())
        self._true(
            seen == ["IC_1", "IC_2", "IC_3", "IC_4"] and self._equal(),
            "two machines saw different comments at once: both know both",
        )

    def _decide(self) -> None:
        first, second = self.clones[:2]
        first.store.write_section(_ITEM, "control", _control("stop", "2026-09-14T10:00:00Z"))
        second.store.write_section(_ITEM, "control", _control("start", "2026-09-14T11:00:00Z"))
        self._settle()
        self._true(
            _command(first.record()) == "stop" and self._equal(),
            "a stop met a later start that had not seen it: stopped, on every machine",
        )

    def _refuse_a_leak(self) -> None:
        first = self.clones[0]
        path = StateLayout(first.path / ".the-loop").record(_ITEM)
        good = path.read_bytes()
        leaking = {**first.record(), "note": f"resume {_SESSION} in {_FOLDER}"}
        path.write_text(json.dumps(leaking, indent=2) + "\n", encoding="utf-8")
        before = self._hub_tip()
        document = first.sync(expect=frozenset({1}))
        self._true(
            "quarantined" in json.dumps(document["records"]) and self._hub_tip() == before,
            "a session handle pasted into the record: held back, named, nothing sent",
        )
        path.write_bytes(good)
        self._true(not first.sync()["records"], "the record repaired: nothing left to say")

    def _flag_arming(self) -> None:
        first, second = self.clones[:2]
        first.store.write_section(_ITEM, "control", _control("start", "2026-09-14T12:00:00Z"))
        first.sync()
        document = second.sync()
        records = document["records"]
        changed = records[0] if isinstance(records, list) and records else {}
        control = changed.get("control") if isinstance(changed, dict) else None
        self._true(
            isinstance(control, dict) and control.get("arms") is True,
            f"{second.name} was told that the incoming change arms an agent",
        )
        self._settle()

    def _look_for_leaks(self) -> None:
        hub, environment = self.folder / "hub.git", self._isolated()
        listed = _run(
            ["git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"],
            hub,
            environment,
            {0},
        )[1]
        everything = _run(["git", "cat-file", "--batch"], hub, environment, {0}, listed)[1]
        self._true(
            _SESSION not in everything and _FOLDER not in everything,
            "no session id and no path of any machine is in any object of the hub",
        )

    def _settle(self) -> None:
        for _ in range(2):
            for clone in self.clones:
                clone.sync(expect=frozenset({0, 1}))

    def _equal(self) -> bool:
        return all(clone.record() == self.clones[0].record() for clone in self.clones)

    def _hub_tip(self) -> str:
        return _run(["git", "rev-parse", "main"], self.folder / "hub.git", self._isolated(), {0})[1]

    def _isolated(self) -> dict[str, str]:
        """The caller's environment, but a person of its own and none of the caller's git."""
        kept = {k: v for k, v in self.environment.items() if not k.startswith("GIT_")}
        return kept | {
            "HOME": str(self.folder),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Demo",
            "GIT_AUTHOR_EMAIL": "demo@example.invalid",
            "GIT_COMMITTER_NAME": "Demo",
            "GIT_COMMITTER_EMAIL": "demo@example.invalid",
        }

    def _true(self, holds: bool, words: str) -> None:
        self.steps += 1
        if not holds:
            raise StepFailedError(f"step {self.steps}: {words}")
        self.say(f"{self.steps:2}. {words}")


def _run(
    argv: list[str],
    folder: Path,
    environment: Mapping[str, str],
    expect: set[int] | frozenset[int],
    text: str | None = None,
) -> tuple[int, str]:
    done = subprocess.run(
        argv,
        cwd=folder,
        env=dict(environment),
        input=text if text is not None else "",
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=_STEP_SECONDS,
        check=False,
    )
    if done.returncode not in expect:
        raise StepFailedError(
            f"{' '.join(argv[:4])} exited with {done.returncode}: {done.stderr.strip()}"
        )
    return done.returncode, done.stdout


def _control(command: str, at: str) -> JsonObject:
    return {
        "command": command,
        "source": "comment",
        "actor": "octocat",
        "requestedAt": at,
        "note": "",
        "instance": "",
    }


def _ledger(*seen: str) -> JsonObject:
    return {"seenComments": [*seen], "commentAttempts": {}, "spawn": {}, "gaveUp": {}}


def _seen(record: JsonObject) -> object:
    poll = record.get("poll")
    return poll.get("seenComments") if isinstance(poll, dict) else None


def _command(record: JsonObject) -> object:
    control = record.get("control")
    return control.get("command") if isinstance(control, dict) else None
