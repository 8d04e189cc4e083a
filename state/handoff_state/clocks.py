"""This machine's poll clocks: when it last listed each ref, and last asked whether it is closed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from handoff_state.catalog import CLOCK_KEYS
from handoff_state.codec import as_object, decode, encode
from handoff_state.errors import HandoffError
from handoff_state.writer import AtomicWriter, read_plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from handoff_state.codec import JsonObject

_log = logging.getLogger(__name__)


class PollClockStore:
    """One file for every ref, ``local/poll-clocks.json``; best-effort in both directions.

    A clock must never be what fails a delivery (seed 000): a file that cannot be read is
    empty, a write that fails is logged. Times are passed in as UTC text.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = AtomicWriter(durable=False)

    @classmethod
    def beside(cls, portable_dir: Path) -> PollClockStore:
        """The store of the ``portable/`` folder somebody already holds."""
        return cls(portable_dir.parent / "local" / "poll-clocks.json")

    def get(self, ref: str) -> dict[str, str]:
        """One ref's clocks; ``{}`` when unknown."""
        return self.all().get(ref, {})

    def put(self, ref: str, clocks: Mapping[str, str]) -> None:
        """Replace one ref's clocks; an empty mapping drops them."""
        known = self.all()
        known.pop(ref, None)
        if clocks:
            known[ref] = dict(clocks)
        self._save(known)

    def forget(self, ref: str) -> None:
        """Drop one ref's clocks."""
        self.put(ref, {})

    def all(self) -> dict[str, dict[str, str]]:
        """Every ref's clocks; values that are not text are left out, entry by entry."""
        try:
            data = read_plain(self.path)
            listed = as_object(decode(data, self.path.name).get("clocks")) if data else {}
        except (HandoffError, OSError) as error:
            _log.warning("poll clocks read as empty: %s", error)
            return {}
        known = {ref: _texts(as_object(clocks)) for ref, clocks in listed.items()}
        return {ref: clocks for ref, clocks in known.items() if clocks}

    def _save(self, known: Mapping[str, Mapping[str, str]]) -> None:
        rows: JsonObject = {ref: dict(sorted(known[ref].items())) for ref in sorted(known)}
        try:
            self._writer.write(self.path, encode({"clocks": rows}))
        except (HandoffError, OSError) as error:
            _log.warning("poll clocks not written: %s", error)


def _texts(clocks: JsonObject) -> dict[str, str]:
    return {key: value for key in CLOCK_KEYS if isinstance(value := clocks.get(key), str)}
