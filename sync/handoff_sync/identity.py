"""This machine's label, and what its syncs have already checked: ``local/handoff.json``."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_state.codec import decode, encode
from handoff_state.errors import UnreadableRecordError
from handoff_state.writer import AtomicWriter, read_plain

if TYPE_CHECKING:
    from handoff_state.layout import StateLayout
    from handoff_sync.repository import Repository

_FIRST = (
    "amber", "bold", "brisk", "calm", "clear", "copper", "dusty", "eager", "fair", "gentle",
    "green", "humble", "ivory", "jolly", "keen", "lively", "lucky", "mellow", "misty", "noble",
    "olive", "plain", "quiet", "rapid", "ruby", "sandy", "silver", "sunny", "tidy", "vivid",
    "warm", "young",
)  # fmt: skip
_SECOND = (
    "acorn", "badger", "beacon", "birch", "brook", "cedar", "cloud", "comet", "crane", "delta",
    "ember", "falcon", "fern", "harbor", "heron", "island", "juniper", "kestrel", "lantern",
    "maple", "meadow", "orchard", "otter", "pebble", "pine", "raven", "river", "sparrow",
    "stone", "tundra", "willow", "wren",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """``label`` names this machine in commits; ``checked`` is the tip last verified here."""

    label: str
    checked: str | None = None
    stored: bool = False


def load(layout: StateLayout, repository: Repository) -> Identity:
    """The label of git config ``handoff.machine``, else the kept one, else a random pair."""
    configured = repository.setting("handoff.machine")
    known = _read(layout)
    if known is not None:
        return Identity(label=configured or known.label, checked=known.checked, stored=True)
    return Identity(label=configured or _random_pair())


def save(layout: StateLayout, identity: Identity) -> None:
    """Keep the label and the checked tip."""
    document = encode({"schema": 1, "machine": identity.label, "checked": identity.checked})
    AtomicWriter(durable=False).write(layout.handoff, document)


def _read(layout: StateLayout) -> Identity | None:
    try:
        data = read_plain(layout.handoff)
        value = decode(data, layout.handoff.name) if data is not None else {}
    except UnreadableRecordError:
        return None  # a label and a cache: both are made anew
    label, checked = value.get("machine"), value.get("checked")
    if not isinstance(label, str) or not label:
        return None
    return Identity(label=label, checked=checked if isinstance(checked, str) else None)


def _random_pair() -> str:
    # Not a secret: a name to tell machines apart by, and never the host's own.
    return f"{random.choice(_FIRST)}-{random.choice(_SECOND)}"  # noqa: S311 - a label, not a key
