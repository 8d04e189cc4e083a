"""Every path under a state root, derived from that one root (seed 002, R6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_state.refs import WorkItemRef, as_ref

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The paths of one state root: ``portable/`` travels, everything else stays.

    ``root`` is an absolute or relative path; nothing is created or read.
    """

    root: Path

    @property
    def portable(self) -> Path:
        """The records that travel, one file a work item."""
        return self.root / "portable"

    @property
    def local(self) -> Path:
        """This machine's half; never tracked."""
        return self.root / "local"

    def record(self, ref: str | WorkItemRef) -> Path:
        """A work item's portable record. Raises ``RefError``."""
        return self.portable / as_ref(ref).file

    @property
    def index(self) -> Path:
        """The derived list of records; read by nobody."""
        return self.portable / "index.json"

    def session(self, ref: str | WorkItemRef) -> Path:
        """A work item's session handles on this machine. Raises ``RefError``."""
        return self.local / as_ref(ref).file

    @property
    def poll_clocks(self) -> Path:
        """When this machine last listed each ref (seed 000)."""
        return self.local / "poll-clocks.json"

    def standing(self, name: str) -> Path:
        """One standing session of this machine."""
        return self.local / "standing" / f"{name}.json"

    @property
    def model_verdicts(self) -> Path:
        """Which models this machine's harnesses accept."""
        return self.local / "model-verdicts.json"

    @property
    def slack_split(self) -> Path:
        """What this machine's listener measured of its share of the traffic."""
        return self.local / "slack-split.json"

    def attachments(self, ref: str | WorkItemRef) -> Path:
        """Files people attached, fetched for this machine's sessions. Raises ``RefError``."""
        return self.local / "attachments" / as_ref(ref).slug

    @property
    def handoff(self) -> Path:
        """This machine's label and what its syncs have already verified."""
        return self.local / "handoff.json"

    @property
    def handoff_behind(self) -> Path:
        """Which files the disk has not caught up with (sync.md step 8)."""
        return self.local / "handoff-behind.json"

    @property
    def handoff_lock(self) -> Path:
        """One sync at a time on this root."""
        return self.local / "handoff.lock"

    @property
    def portable_lock(self) -> Path:
        """The writers' lock on ``portable/``."""
        return self.local / "portable.lock"

    @property
    def logs(self) -> Path:
        """Append-only trails of this machine."""
        return self.root / "logs"

    @property
    def poll_pid(self) -> Path:
        """The running poller, and its lock."""
        return self.root / "poll.pid"

    @property
    def webhook_pid(self) -> Path:
        """The running webhook receiver, and its lock."""
        return self.root / "gh-webhook.pid"

    @property
    def slack_pid(self) -> Path:
        """The running Slack listener, and its lock."""
        return self.root / "slack-listener.pid"

    @property
    def poll_status(self) -> Path:
        """The poller's heartbeat."""
        return self.root / "poll-status.json"

    @property
    def self_diagnosis(self) -> Path:
        """Failures this machine already reported; its lock lies beside it."""
        return self.root / "self-diagnosis.json"

    @property
    def channels(self) -> Path:
        """Channel bindings, cursors and undelivered events of this machine."""
        return self.root / "channels"

    @property
    def pre_split(self) -> Path:
        """The layout before ``portable/`` and ``local/``: read, never written (seed 002, R7)."""
        return self.root / "sessions"
