"""State roots of any size, and the environment benchmarks run git in."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from handoff_state import StateLayout, WorkItemStore
from handoff_state.codec import encode

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.codec import JsonObject


def ref(number: int) -> str:
    """The ref of one generated item."""
    return f"github:octo/repo#{number + 1}"


def fill(layout: StateLayout, count: int) -> None:
    """Write ``count`` records of the usual size, and the index beside them."""
    layout.portable.mkdir(parents=True, exist_ok=True)
    layout.local.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        layout.record(ref(number)).write_bytes(encode(_record(number)))
    WorkItemStore(layout).rebuild_index()


def seen(layout: StateLayout, number: int, comment: int) -> None:
    """One more comment seen, as a poll cycle writes it; ``comment`` only makes the id readable."""

    def change(poll: JsonObject | None) -> JsonObject:
        ledger = poll or {}
        known = ledger.get("seenComments")
        return ledger | {
            "seenComments": [
                *(known if isinstance(known, list) else []),
                f"N{comment}-{time.monotonic_ns()}",
            ]
        }

    WorkItemStore(layout).update_section(ref(number), "poll", change)


def environment(folder: Path) -> dict[str, str]:
    """The caller's PATH, a person of the benchmark's own, and no configuration of the caller."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Bench",
        "GIT_AUTHOR_EMAIL": "bench@example.invalid",
        "GIT_COMMITTER_NAME": "Bench",
        "GIT_COMMITTER_EMAIL": "bench@example.invalid",
    }


def _record(number: int) -> JsonObject:
    return {
        "ref": ref(number),
        "url": f"https://github.com/octo/repo/issues/{number + 1}",
        "control": {
            "command": "start",
            "source": "comment",
            "actor": "octocat",
            "requestedAt": "2026-09-14T09:11:58Z",
            "note": "",
            "instance": "",
        },
        "poll": {
            "seenComments": [f"IC_{number}_{comment}" for comment in range(8)],
            "commentAttempts": {},
            "spawn": {},
            "gaveUp": {},
        },
    }
