"""The classification as data: every path, every attribute, who owns it and how it merges."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from pathlib import PurePosixPath


class Party(enum.StrEnum):
    """Who owns an attribute; the party decides the file (seed 003)."""

    REPOSITORY = "repository"
    OPERATOR = "operator"
    MACHINE = "machine"


class Kind(enum.StrEnum):
    """What sort of fact an attribute is; each kind has one home (seed 003)."""

    POINTER = "pointer"
    HUMAN_DECISION = "human decision"
    REPOSITORY_ENTITY = "repository entity"
    WORKSPACE_ENTITY = "workspace entity"
    OPERATOR_LEDGER = "operator ledger"
    MACHINE_HANDLE = "machine handle"
    DERIVED = "derived"


class Merge(enum.StrEnum):
    """How two changed versions of an attribute become one (records.md)."""

    IDENTITY = "must be equal"
    DERIVED = "recomputed"
    GRAPH = "decided on the commit graph"
    LEDGER = "ledger, field by field"
    LEDGERS = "ledgers keyed by ref"
    SET = "three-way set"
    ATTEMPTS = "three-way per id, both changed: max"
    SPAWN = "larger attempts, then canonical bytes"
    GIVE_UPS = "three-way set within seen, older version"
    BYTES = "larger canonical bytes"
    ROSTER = "keyed by login, removal wins, earlier addedAt"
    ROOMS = "keyed by type, removal wins, later addedAt"
    BINDINGS = "one value a type, earlier opened"
    CLOSURE = "earlier closure"
    OPAQUE = "opaque"
    KEYED = "keyed, three-way"
    NEVER = "never merged"


#: Which kinds a party's file may hold; anything else there is refused by a test and the guard.
KINDS_OF_PARTY: dict[Party, frozenset[Kind]] = {
    Party.REPOSITORY: frozenset(
        {Kind.POINTER, Kind.HUMAN_DECISION, Kind.REPOSITORY_ENTITY, Kind.DERIVED}
    ),
    Party.OPERATOR: frozenset({Kind.WORKSPACE_ENTITY, Kind.OPERATOR_LEDGER, Kind.DERIVED}),
    Party.MACHINE: frozenset({Kind.MACHINE_HANDLE, Kind.DERIVED}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedPath:
    """One path the state layer or the daemon writes, relative to the state root.

    ``pattern`` holds ``<slug>`` or ``<name>`` where a name varies; ``ignore`` is its line
    in the ignore block, empty when another line covers it or when it travels.
    """

    name: str
    pattern: str
    portable: bool
    holds: str
    why: str
    ignore: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute: its party, dotted path in the party's file, kind, and merge strategy."""

    party: Party
    path: str
    kind: Kind
    holds: str
    why: str
    merge: Merge


def _local(name: str, pattern: str, holds: str, why: str, ignore: str = "") -> GeneratedPath:
    return GeneratedPath(
        name=name, pattern=pattern, portable=False, holds=holds, why=why, ignore=ignore
    )


_MINE = "a handle to this machine, useless or harmful on another"
_TRAIL = "a per-machine trail; two machines appending to one tracked file conflict on every line"
_PID = "a pid means nothing off its host"

GENERATED_PATHS: tuple[GeneratedPath, ...] = (
    GeneratedPath(
        name="record",
        pattern="portable/<slug>.json",
        portable=True,
        holds="what was armed, who may speak, what was seen, which thread, whether it ended",
        why="facts about the world: true on any machine, and some cannot be rebuilt at all",
    ),
    _local(
        "index",
        "portable/index.json",
        "one row per record: ref, url, file, sections",
        "derived from the records beside it; every machine rebuilds its own, nothing reads it",
        "portable/index.json",
    ),
    _local(
        "temporaries",
        "portable/*.tmp",
        "a write that has not happened yet",
        "half a file is not a fact",
        "portable/*.tmp",
    ),
    _local(
        "sessions", "local/<slug>.json", "session id, cwd, tmux target, status", _MINE, "local/"
    ),
    _local(
        "poll clocks",
        "local/poll-clocks.json",
        "when this machine last listed each ref, and last asked whether it is closed",
        "a clock of this machine: carried, it would dirty the tree every cycle",
    ),
    _local("standing", "local/standing/<name>.json", "standing sessions of this machine", _MINE),
    _local(
        "model verdicts",
        "local/model-verdicts.json",
        "which models this machine's harnesses accept",
        _MINE,
    ),
    _local(
        "slack split", "local/slack-split.json", "what this listener measured of its traffic", _MINE
    ),
    _local("attachments", "local/attachments/<slug>/", "files fetched for local sessions", _MINE),
    _local(
        "handoff",
        "local/handoff.json",
        "this machine's label, and the tip its syncs have checked",
        "the label names this machine; the tip is a cache",
    ),
    _local(
        "behind",
        "local/handoff-behind.json",
        "which files this disk has not caught up with, and the commit their bytes come from",
        "a fact about this disk",
    ),
    _local("sync lock", "local/handoff.lock", "nothing; its lock is the fact", _MINE),
    _local("writers' lock", "local/portable.lock", "nothing; its lock is the fact", _MINE),
    _local("event log", "logs/", "the decision trail and daemon output", _TRAIL, "logs/"),
    _local("webhook pid", "gh-webhook.pid", "the receiver's pid, and its lock", _PID, "*.pid"),
    _local("poller pid", "poll.pid", "the poller's pid, and its lock", _PID),
    _local("listener pid", "slack-listener.pid", "the Slack listener's pid, and its lock", _PID),
    _local(
        "poll status",
        "poll-status.json",
        "the poller's heartbeat",
        "rewritten every cycle by one machine about itself",
        "poll-status.json",
    ),
    _local(
        "self diagnosis",
        "self-diagnosis.json",
        "failures this machine has reported",
        "another machine has its own failures",
        "self-diagnosis.json*",
    ),
    _local(
        "channels",
        "channels/",
        "channel cursors and undelivered events, with their locks",
        "what this deployment's listener has in flight",
        "channels/",
    ),
    _local(
        "stray temporaries and locks",
        "*.tmp, *.lock",
        "a write or a lock in flight anywhere under the root",
        "half a file is not a fact",
        "**/*.tmp\n**/*.lock",
    ),
    _local(
        "pre-split layout",
        "sessions/",
        "session handles, control and poll files of older versions",
        "read once per work item on upgrade, then dead; it mixes handles with facts",
        "sessions/",
    ),
    _local(
        "older poll file",
        "poll-state.json",
        "the poll ledger of still older versions",
        "read once per work item on upgrade, then dead",
        "poll-state.json",
    ),
)


def _attribute(
    party: Party, kind: Kind, merge: Merge, path: str, holds: str, why: str
) -> Attribute:
    return Attribute(party=party, path=path, kind=kind, holds=holds, why=why, merge=merge)


def _operator(path: str, merge: Merge, holds: str, why: str) -> Attribute:
    return _attribute(Party.OPERATOR, Kind.OPERATOR_LEDGER, merge, path, holds, why)


def _repository(path: str, kind: Kind, merge: Merge, holds: str, why: str) -> Attribute:
    return _attribute(Party.REPOSITORY, kind, merge, path, holds, why)


def _machine(path: str, holds: str, why: str = _MINE) -> Attribute:
    return _attribute(Party.MACHINE, Kind.MACHINE_HANDLE, Merge.NEVER, path, holds, why)


_ARMING = "decides whether an unattended agent runs; proposable by nobody but an authorised human"
_FROZEN = "a declaration with provenance, frozen by a human on the work item's branch"
_WALK = "where the walk is: survives machines and sessions, reviewable in a diff"
_SEEN = "what was already read; forgetting it forwards a whole thread again"

ATTRIBUTES: tuple[Attribute, ...] = (
    # The operator's file, portable/<slug>.json, in the order it is written.
    _operator("ref", Merge.IDENTITY, "which work item this is", "a record is about one item"),
    _attribute(
        Party.OPERATOR,
        Kind.DERIVED,
        Merge.DERIVED,
        "url",
        "the ref's address in a browser",
        "for the person who reads the file; derived, never guessed",
    ),
    _operator("control", Merge.GRAPH, "the last command: who, when, from where", _ARMING),
    _operator("poll", Merge.LEDGER, "what has been seen on the item and tried for it", _SEEN),
    _operator("poll.seenComments", Merge.SET, "ids of comments already handled", _SEEN),
    _operator(
        "poll.commentAttempts",
        Merge.ATTEMPTS,
        "failed deliveries per comment id",
        "bounds the retries; heals itself",
    ),
    _operator(
        "poll.spawn",
        Merge.SPAWN,
        "attempts to start the session, and whether they were given up",
        "bounds the retries; heals itself",
    ),
    _operator(
        "poll.gaveUp",
        Merge.GIVE_UPS,
        "comments given up on, and the version that gave up",
        "a newer version tries them again, so the label must not run ahead",
    ),
    _operator("poll.title", Merge.BYTES, "the item's title when last read", "for a person to read"),
    _operator(
        "pullRequests",
        Merge.LEDGERS,
        "the same ledger per pull request delivering the item",
        "one work item is one record (seed 003)",
    ),
    _operator(
        "collaborators",
        Merge.ROSTER,
        "whom an authorised human let speak on the item",
        "decides whose comments an agent reads",
    ),
    _operator(
        "collaborationChannels",
        Merge.ROOMS,
        "the rooms an authorised human declared for the item",
        "decides where an agent listens",
    ),
    _attribute(
        Party.OPERATOR,
        Kind.WORKSPACE_ENTITY,
        Merge.BINDINGS,
        "channels",
        "the thread that carries the item, per channel type",
        "an object of the operator's workspace; its ids must not enter a repository",
    ),
    _operator(
        "lifecycle", Merge.OPAQUE, "which lifecycle hooks were asked", "once per arming, anywhere"
    ),
    _operator(
        "ended", Merge.CLOSURE, "how and when the item was closed", "decides that it is over"
    ),
    _operator("graph", Merge.OPAQUE, "retired: a frozen walk", "read, never written any more"),
    _operator(
        "sealed",
        Merge.OPAQUE,
        "every section was removed on purpose",
        "keeps an older layout from bringing it back",
    ),
    # The repository's file, docs/specs/<id>/work-item-state.json.
    _repository("version", Kind.DERIVED, Merge.DERIVED, "the file's shape", "for the reader"),
    _repository("workItem", Kind.POINTER, Merge.IDENTITY, "which work item this is", _WALK),
    _repository("loop", Kind.POINTER, Merge.BYTES, "which loop it walks", _WALK),
    _repository("phase", Kind.POINTER, Merge.BYTES, "the phase the walk is in", _WALK),
    _repository("currentNode", Kind.POINTER, Merge.BYTES, "the node the walk is at", _WALK),
    _repository("nodes", Kind.POINTER, Merge.KEYED, "attempts and outcome per node", _WALK),
    _repository("completions", Kind.POINTER, Merge.KEYED, "claims sessions have made", _WALK),
    _repository("parked", Kind.POINTER, Merge.BYTES, "the gate it waits at, and why", _WALK),
    _repository("forced", Kind.HUMAN_DECISION, Merge.SET, "forced moves, audited", _FROZEN),
    _repository("decisions", Kind.HUMAN_DECISION, Merge.KEYED, "each gate's outcome", _FROZEN),
    _repository("skips", Kind.HUMAN_DECISION, Merge.KEYED, "declared skips, by whom", _FROZEN),
    _repository("optIns", Kind.HUMAN_DECISION, Merge.KEYED, "phases somebody asked for", _FROZEN),
    _repository("surface", Kind.HUMAN_DECISION, Merge.BYTES, "where it is iterated", _FROZEN),
    _repository(
        "sessionPerPr", Kind.HUMAN_DECISION, Merge.BYTES, "sessions its pull requests get", _FROZEN
    ),
    _repository("model", Kind.HUMAN_DECISION, Merge.BYTES, "what it runs on", _FROZEN),
    _repository("effort", Kind.HUMAN_DECISION, Merge.BYTES, "at what effort", _FROZEN),
    _repository("repos", Kind.HUMAN_DECISION, Merge.SET, "where it may contribute", _FROZEN),
    _repository(
        "pullRequests",
        Kind.REPOSITORY_ENTITY,
        Merge.KEYED,
        "the pull requests that deliver it",
        "a pull request is an object of the repository",
    ),
    # The machine's file, local/<slug>.json.
    _attribute(
        Party.MACHINE, Kind.DERIVED, Merge.NEVER, "version", "the file's shape", "for the reader"
    ),
    _machine("workItem", "which work item these handles serve", "an identity, never a copy"),
    _machine("channels", "read cursors of the item's threads", "what this machine has mirrored"),
    _machine("sessions", "one session per ref this machine serves"),
    _machine("sessions.harness", "which harness runs it"),
    _machine("sessions.harnessSessionId", "the conversation to resume"),
    _machine("sessions.cwd", "its working directory"),
    _machine("sessions.status", "whether the handle is live"),
    _machine("sessions.createdAt", "when this machine made it"),
    _machine("sessions.lastEventAt", "when this machine last delivered to it"),
    _machine("sessions.tmuxTarget", "the terminal it runs in"),
    _machine("sessions.recentDeliveries", "the last 50 deliveries to it"),
    _machine("sessions.model", "the model this machine resolved"),
    _machine("sessions.effort", "the effort this machine resolved"),
    _machine("sessions.harnessArgs", "arguments of this machine's harness"),
)

#: The operator file's top-level keys in writing order.
RECORD_KEYS: tuple[str, ...] = tuple(
    attribute.path
    for attribute in ATTRIBUTES
    if attribute.party is Party.OPERATOR and "." not in attribute.path
)

#: The keys a section write may name: everything but the record's own identity.
SECTIONS: tuple[str, ...] = tuple(
    key for key in RECORD_KEYS if key not in {"ref", "url", "graph", "sealed"}
)

#: How each top-level key of the operator's file merges; an undeclared key is opaque.
MERGE_OF_KEY: dict[str, Merge] = {
    attribute.path: attribute.merge
    for attribute in ATTRIBUTES
    if attribute.party is Party.OPERATOR and "." not in attribute.path
}

#: Machine handles by name: these keys may stand in no tracked file (rule HF201).
HANDLE_KEYS: frozenset[str] = frozenset(
    {"harnessSessionId", "cwd", "tmuxTarget", "pid", "session", "sessions", "recentDeliveries",
     "harnessArgs", "sessionId", "tmux", "hostname", "runner"}
)  # fmt: skip

#: Poll clocks: read from an old record, never written to one again (seed 000).
CLOCK_KEYS: tuple[str, ...] = ("lastPolledAt", "closureCheckedAt")


def ignore_lines(root: str) -> list[str]:
    """The ignore block's patterns for a state root given as a ``/``-separated path.

    No negation is needed: what travels is simply not listed (seed 002, R6.4).
    """
    folder = PurePosixPath(root.strip("/")).as_posix()
    literal = re.sub(r"([\\*?\[])", r"\\\1", folder)
    prefix = "/" if folder == "." else f"/{literal}/"
    return [
        f"{prefix}{line}"
        for path in GENERATED_PATHS
        if path.ignore
        for line in path.ignore.split("\n")
    ]
