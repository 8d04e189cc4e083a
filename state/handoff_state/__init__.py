"""The state layer of git-handoff: records, stores and merge. Standard library only, no git."""

from handoff_state.catalog import ATTRIBUTES, GENERATED_PATHS
from handoff_state.clocks import PollClockStore
from handoff_state.errors import (
    BusyError,
    HandoffError,
    RefError,
    RefusedWriteError,
    SectionError,
    SlugCollisionError,
    UnreadableRecordError,
    UnsafePathError,
)
from handoff_state.layout import StateLayout
from handoff_state.merge import ABSENT, Conflict, Merged, merge_records
from handoff_state.refs import WorkItemRef
from handoff_state.views import get_work_item, list_work_items
from handoff_state.workitems import WorkItemStore
from handoff_state.writer import AtomicWriter, Change, DryRunWriter, RefusingWriter, Writer

__all__ = [
    "ABSENT",
    "ATTRIBUTES",
    "GENERATED_PATHS",
    "AtomicWriter",
    "BusyError",
    "Change",
    "Conflict",
    "DryRunWriter",
    "HandoffError",
    "Merged",
    "PollClockStore",
    "RefError",
    "RefusedWriteError",
    "RefusingWriter",
    "SectionError",
    "SlugCollisionError",
    "StateLayout",
    "UnreadableRecordError",
    "UnsafePathError",
    "WorkItemRef",
    "WorkItemStore",
    "Writer",
    "get_work_item",
    "list_work_items",
    "merge_records",
]
