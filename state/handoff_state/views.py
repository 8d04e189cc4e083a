"""The joined read side: records with this machine's clocks, as a local reader sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoff_state.clocks import PollClockStore
from handoff_state.codec import as_object
from handoff_state.errors import HandoffError
from handoff_state.workitems import WorkItemStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from handoff_state.codec import JsonObject
    from handoff_state.layout import StateLayout
    from handoff_state.refs import WorkItemRef


def get_work_item(layout: StateLayout, ref: str | WorkItemRef) -> JsonObject | None:
    """One record joined with the clocks; None when it is not tracked (seed 000).

    Raises what ``WorkItemStore.read`` raises.
    """
    record = WorkItemStore(layout).read(ref)
    return _joined(record, PollClockStore(layout.poll_clocks).all()) if record else None


def list_work_items(layout: StateLayout) -> Iterator[tuple[str, JsonObject | HandoffError]]:
    """Every record by file name, joined; the clocks are read once for the whole listing."""
    clocks = PollClockStore(layout.poll_clocks).all()
    for name, record in WorkItemStore(layout).records():
        yield name, record if isinstance(record, HandoffError) else _joined(record, clocks)


def _joined(record: JsonObject, clocks: Mapping[str, Mapping[str, str]]) -> JsonObject:
    # Only sections that are there grow clocks: one that lingers makes no section of its own.
    out = dict(record)
    poll = record.get("poll")
    if isinstance(poll, dict):
        out["poll"] = {**poll, **clocks.get(str(record.get("ref")), {})}
    ledgers = as_object(record.get("pullRequests"))
    if ledgers:
        out["pullRequests"] = {
            ref: {**ledger, **clocks.get(ref, {})} if isinstance(ledger, dict) else ledger
            for ref, ledger in ledgers.items()
        }
    return out
