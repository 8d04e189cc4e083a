"""One hand-off from lock to report (sync.md, The run)."""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from handoff_state import behind as behind_map
from handoff_state.errors import HandoffError
from handoff_state.locks import exclusive
from handoff_state.workitems import LOCK_SECONDS
from handoff_sync import identity as identities
from handoff_sync import snapshot as snapshots
from handoff_sync.apply import Application
from handoff_sync.code import check_code, refuse_code
from handoff_sync.errors import (
    PolicyError,
    RaceError,
    RefusedError,
    RemoteGoneError,
    RepositoryBusyError,
)
from handoff_sync.guard import Guard
from handoff_sync.history import History, is_record_name
from handoff_sync.objectstore import Overlay
from handoff_sync.plan import Joined, Planner, Recorded
from handoff_sync.result import Result, Sides, outcomes, utc
from handoff_sync.transport import Pushed

if TYPE_CHECKING:
    from collections.abc import Callable

    from handoff_state.behind import BehindMap
    from handoff_sync.config import Config
    from handoff_sync.git import Deadline
    from handoff_sync.identity import Identity
    from handoff_sync.objects import LibgitObjects
    from handoff_sync.snapshot import Snapshot
    from handoff_sync.transport import Remote
    from handoff_sync.worktree import Worktree

_BUSY_SECONDS = 5.0
_LONGEST_PAUSE = 1.0
#: So many commits may be looked at again before the mark is moved.
_CHECKED_STEP = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller asked for; ``home`` and ``host`` name the machine for the guard.

    ``known_remote`` plans against what is already known of the remote, without asking it.
    """

    dry_run: bool = False
    offline: bool = False
    known_remote: bool = False
    with_code: bool = False
    subject: str = ""
    home: str = ""
    host: str = ""


@dataclass(kw_only=True)
class Sync:
    """One run over one worktree and one remote branch; use :meth:`run` once."""

    config: Config
    objects: LibgitObjects
    worktree: Worktree
    remote: Remote
    options: Options
    progress: Callable[[str], None] = field(default=lambda _: None)
    attempts: int = 0

    def run(self, report: Callable[[Result], None]) -> Result:
        """Hand off, and call ``report`` with the result before the last traces are dropped.

        Raises the failures of ``handoff_sync.errors`` and ``handoff_state.errors``; what
        was already committed then stays committed.
        """
        self.worktree.check()
        if self.options.dry_run:
            return self._dry_run(report)
        with exclusive(self.config.layout.handoff_lock, timeout=self._patience(_BUSY_SECONDS)):
            return self._locked(report)

    # --- the pieces every run has ---------------------------------------------------------

    @cached_property
    def history(self) -> History:
        """The graph this run plans on; a dry run's writes stay in memory."""
        store = Overlay(self.objects) if self.options.dry_run else self.objects
        return History(store, self.worktree.folder)

    @cached_property
    def identity(self) -> Identity:
        """This machine's label."""
        return identities.load(self.config.layout, self.worktree.repository)

    @cached_property
    def planner(self) -> Planner:
        """Makes this run's commits."""
        return Planner(
            history=self.history,
            label=self.identity.label,
            with_code=self.options.with_code,
            subject=self.options.subject,
        )

    @cached_property
    def guard(self) -> Guard:
        """The rules, knowing this machine; built when the first changed record is met."""
        machine = snapshots.machine(
            self.config.layout, home=self.options.home, host=self.options.host
        )
        return Guard(machine, refuse_unknown=self.config.refuse_unknown)

    def _application(self) -> Application:
        return Application(layout=self.config.layout, history=self.history, worktree=self.worktree)

    @property
    def _deadline(self) -> Deadline:
        return self.worktree.repository.git.deadline

    def _patience(self, seconds: float) -> float:
        """How long to wait for a lock: no longer than the whole run may take."""
        return round(min(seconds, self._deadline.remaining()), 1)

    def _snapshot(self, behind: BehindMap, tip: str | None) -> Snapshot:
        layout = self.config.layout
        return snapshots.take(layout, self.history, tip, behind, lambda: self.guard)

    # --- a dry run ------------------------------------------------------------------------

    def _dry_run(self, report: Callable[[Result], None]) -> Result:
        """The plan the real run would take, made by the same planner over an overlay."""
        application = self._application()
        behind, start = application.pending(behind_map.load(self.config.layout.handoff_behind))
        snapshot = self._snapshot(behind, start)
        self._check_removals(snapshot, behind, start)
        joins = self.options.known_remote or not self.options.offline
        remote = self._tracked() if self.options.offline else self._fetched(start)
        recorded = self.planner.record(snapshot, behind, start)
        if not self.options.offline:
            self._check_outgoing(recorded, remote)
        joined = Joined(commit=recorded.commit)
        if joins:
            suspects = self.planner.suspects(self.identity.checked, [recorded.commit, remote])
            joined = self.planner.join(recorded.commit, remote, suspects)
        result = self._result("planned", snapshot, start, recorded, joined, remote)
        report(result)
        return result

    # --- a real run -----------------------------------------------------------------------

    def _locked(self, report: Callable[[Result], None]) -> Result:
        layout = self.config.layout
        application = self._application()
        self.progress("reading records")
        with exclusive(layout.portable_lock, timeout=self._patience(LOCK_SECONDS)):
            behind = application.recover()
            start = self.worktree.tip()
            snapshot = self._snapshot(behind, start)
        self._check_removals(snapshot, behind, start)
        remote = None
        if not self.options.offline:
            self.progress("asking the remote")
            remote = self._fetched(start)
        self.progress("planning")
        recorded = self.planner.record(snapshot, behind, start)
        if not self.options.offline:
            self._check_outgoing(recorded, remote)
        self._keep_identity()
        undo = self._record_tip(application, recorded, behind, start)
        if self.options.offline:
            return self._offline(report, snapshot, start, recorded)
        joined, before, verified = self._exchange(recorded, remote, undo)
        self.progress("writing records")
        merge = joined.commit
        if merge is not None:
            self._write_here(application, snapshot, recorded, start, merge)
            self._keep_checked(merge)
        result = self._result(
            self._outcome(merge, start, before), snapshot, start, recorded, joined, before
        )
        result.remote, result.verified = merge, verified
        result.oldest_unsent = None
        report(result)
        with contextlib.suppress(HandoffError, OSError):
            application.finish(merge)  # said already; what is left the next run drops
        return result

    def _write_here(
        self,
        application: Application,
        snapshot: Snapshot,
        recorded: Recorded,
        start: str | None,
        merge: str,
    ) -> None:
        """Write what was merged; a failure here must not hide that the remote has the work."""
        try:
            application.apply(snapshot, recorded, start, merge)
        except (HandoffError, OSError) as error:
            what = error.what if isinstance(error, HandoffError) else error.strerror
            raise RepositoryBusyError(
                f"the remote holds the work, but it is not all written here: {what}",
                hint="nothing is lost; make room or let go of the file, then git handoff sync",
            ) from error

    def _record_tip(
        self, application: Application, recorded: Recorded, behind: BehindMap, start: str | None
    ) -> Callable[[], None]:
        """The working copy becomes the recorded tip before anything is pushed.

        Returns the way back: a definite refusal leaves the branch, the index and the map
        as they were.
        """
        moved, replaced = recorded.commit not in (None, start), b""
        if moved:
            entries = application.entries_between(start, recorded.commit)
            replaced = self.worktree.move(
                start, recorded.commit, entries, "record the working copy"
            )
        if recorded.files != behind.files:
            application.save_files(recorded.files)

        def undo() -> None:
            # The map first: an entry based on a commit the branch no longer has would say
            # that its file holds nothing new.
            if recorded.files != behind.files:
                application.save_files(behind.files)
            if moved:
                self.worktree.put_back(recorded.commit, start, replaced, "the remote refused it")

        return undo

    def _offline(
        self,
        report: Callable[[Result], None],
        snapshot: Snapshot,
        start: str | None,
        recorded: Recorded,
    ) -> Result:
        known = self._tracked()
        joined = Joined(commit=recorded.commit)
        result = self._result("offline", snapshot, start, recorded, joined, known)
        result.remote = known
        report(result)
        return result

    def _fetched(self, start: str | None) -> str | None:
        """The remote branch's oid, with its objects here; checked before anything is made."""
        self.remote.check_configured()
        oid = self.remote.probe()
        if oid is None:
            if self._tracked() is not None:
                raise RemoteGoneError(
                    "the branch was on the remote before, and is not now",
                    hint="push it again if that was an accident: git push REMOTE BRANCH; "
                    "or forget it: git fetch --prune REMOTE",
                )
        elif not self.objects.has(oid):
            self.progress("fetching")
            self.remote.fetch()
            if not self.objects.has(oid):
                if self._deadline.remaining() < _LONGEST_PAUSE:
                    raise RaceError("the remote moved at every look", hint="run it again")
                return self._fetched(start)  # it moved between the two questions
        if self.options.with_code:
            self.worktree.check_clean(check_code(self.history, start, oid))
        else:
            refuse_code(self.history, start, oid)
        return oid

    def _tracked(self) -> str | None:
        ref = self.remote.tracking_ref()
        return self.objects.ref(ref) if ref else None

    def _exchange(
        self, recorded: Recorded, remote: str | None, undo: Callable[[], None]
    ) -> tuple[Joined, str | None, bool]:
        """Join, push by compare-and-swap, read back; again from the fetch when it moved.

        Returns the join, the remote's oid it was computed from, and whether it was read back.
        """
        while True:
            suspects = self.planner.suspects(self.identity.checked, [recorded.commit, remote])
            joined = self.planner.join(recorded.commit, remote, suspects)
            if joined.commit is None or joined.commit == remote:
                self._note_tracking(remote)
                return joined, remote, remote is not None
            self.attempts += 1
            self.progress("pushing")
            try:
                pushed = self.remote.push(joined.commit, remote)
            except PolicyError:
                undo()
                raise
            if pushed is Pushed.DONE and self._read_back(joined.commit):
                return joined, remote, True
            if self._deadline.remaining() < _LONGEST_PAUSE:
                raise RaceError(
                    f"the remote moved {self.attempts} times; your work is committed here",
                    hint="run it again: git handoff sync",
                )
            pause = min(_LONGEST_PAUSE, 0.02 * 2 ** min(self.attempts, 6))
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter between racing machines
            remote = self._fetched(recorded.commit)

    def _read_back(self, merge: str) -> bool:
        """Whether the remote now holds ``merge``: at its tip, or below a newer one."""
        self.progress("reading back")
        found = self.remote.probe()
        if found == merge:
            self._note_tracking(merge)
            return True
        if found is None:
            return False
        if not self.objects.has(found):
            self.remote.fetch()
        return self.objects.has(found) and self.history.is_ancestor(merge, found)

    def _note_tracking(self, oid: str | None) -> None:
        """Let git's own note of the remote branch say what was just read from it."""
        tracking = self.remote.tracking_ref()
        if tracking and oid is not None:
            self.worktree.set_tracking(tracking, oid)

    # --- checks and words -----------------------------------------------------------------

    def _check_removals(self, snapshot: Snapshot, behind: BehindMap, start: str | None) -> None:
        """Where nothing was ever checked out, an absent record is not a removed one."""
        known = {*snapshot.disk, *snapshot.quarantined, *behind.files}
        gone = self.history.entries(start).keys() - known
        # An entry missing from an index that is there is a removal that was staged: by a
        # person, or by a run of ours that was killed before it moved the branch.
        if gone and not self.worktree.checked_out():
            raise RefusedError(
                "nothing was checked out in this worktree, so no record can be missed in it",
                where=min(gone),
                hint="check it out: git checkout -- .",
            )

    def _check_outgoing(self, recorded: Recorded, remote: str | None) -> None:
        """Commits somebody made by hand are about to be published too: guard their records."""
        for oid in self.history.between(remote, recorded.commit):
            if oid in recorded.made:
                continue
            parents = self.history.commit(oid).parents
            before = [self.history.entries(p) for p in parents]
            for name, entry in self.history.entries(oid).items():
                if any(known.get(name) == entry for known in before):
                    continue
                data = self.history.store.blob(entry.oid)
                bad = [f for f in self.guard.inspect(name, data) if f.holds_back]
                if bad and is_record_name(name):
                    raise RefusedError(
                        f"commit {oid[:10]} would publish {name}: {bad[0].message}",
                        where=f"{bad[0].rule} {bad[0].pointer}",
                        hint="amend or rewrite that commit before it leaves: "
                        f"git show {oid[:10]} -- {self.worktree.folder}",
                    )

    def _keep_identity(self) -> None:
        if not self.identity.stored:
            identities.save(self.config.layout, self.identity)

    def _keep_checked(self, merge: str) -> None:
        """Remember now and then how far merges have been looked at; lost, it costs a look."""
        known = self.identity.checked
        if known and self.objects.has(known):
            new = self.history.between(known, merge)
            merges = any(len(self.history.commit(oid).parents) > 1 for oid in new)
            if not merges and len(new) < _CHECKED_STEP:
                return
        identities.save(self.config.layout, replace(self.identity, checked=merge))

    def _outcome(self, merge: str | None, start: str | None, remote: str | None) -> str:
        if merge == remote:
            return "up-to-date" if merge == start else "received"
        return "handed-off"

    def _result(
        self,
        outcome: str,
        snapshot: Snapshot,
        start: str | None,
        recorded: Recorded,
        joined: Joined,
        remote: str | None,
    ) -> Result:
        sides = Sides(
            disk=snapshot.disk,
            merged=self.history.entries(joined.commit),
            remote=self.history.entries(remote),
            conflicts=recorded.conflicts | joined.conflicts,
            before=recorded.commit,
            texts=snapshot.data,
        )
        reasons = {f.file: f"{f.pointer}: {f.message}" for f in snapshot.findings if f.holds_back}
        held = {
            name
            for name, entry in behind_map.load(self.config.layout.handoff_behind).files.items()
            if entry.held
        }
        unsent = self.history.between(remote, joined.commit)
        return Result(
            outcome=outcome,
            ref=self.remote.ref,
            remote_name=self.remote.name,
            before=start,
            after=joined.commit,
            remote=remote,
            attempts=self.attempts,
            dry_run=self.options.dry_run,
            machine=self.identity.label,
            records=outcomes(self.history, sides, reasons, held),
            findings=[*snapshot.findings, *recorded.findings, *joined.findings],
            oldest_unsent=utc(min(self.history.commit(o).time for o in unsent)) if unsent else None,
        )
