"""The state layer of git-handoff: records, stores and merge. Standard library only, no git."""

from handoff_state.catalog import ATTRIBUTES, GENERATED_PATHS
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
from handoff_state.merge import merge_records
from handoff_state.refs import WorkItemRef
from handoff_state.workitems import WorkItemStore
from handoff_state.writer import AtomicWriter, Change, DryRunWriter, RefusingWriter, Writer

__all__ = [
    "ATTRIBUTES",
    "GENERATED_PATHS",
    "AtomicWriter",
    "BusyError",
    "Change",
    "DryRunWriter",
    "HandoffError",
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
    "merge_records",
]
