"""Every path is derived from the one root (seed 002, R6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from handoff_state import RefError, StateLayout

LAYOUT = StateLayout(Path("state"))
REF = "github:octo/repo#15"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (LAYOUT.record(REF), "state/portable/github-octo-repo-15.json"),
        (LAYOUT.index, "state/portable/index.json"),
        (LAYOUT.session(REF), "state/local/github-octo-repo-15.json"),
        (LAYOUT.poll_clocks, "state/local/poll-clocks.json"),
        (LAYOUT.standing("triage"), "state/local/standing/triage.json"),
        (LAYOUT.attachments(REF), "state/local/attachments/github-octo-repo-15"),
        (LAYOUT.handoff_behind, "state/local/handoff-behind.json"),
        (LAYOUT.portable_lock, "state/local/portable.lock"),
        (LAYOUT.logs, "state/logs"),
        (LAYOUT.poll_pid, "state/poll.pid"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_path_is_where_the_reference_consumer_looks_for_it(path: Path, expected: str) -> None:
    assert path == Path(expected)


def test_asking_for_a_path_makes_nothing(tmp_path: Path) -> None:
    layout = StateLayout(tmp_path / "root")
    for name in dir(StateLayout):
        if isinstance(getattr(StateLayout, name), property):
            getattr(layout, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ref", ["../../etc/passwd", "github:../x#1", "", "index"])
def test_a_path_is_never_made_from_something_that_is_no_ref(ref: str) -> None:
    for path_of in (LAYOUT.record, LAYOUT.session, LAYOUT.attachments):
        with pytest.raises(RefError):
            path_of(ref)
