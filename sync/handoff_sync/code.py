"""Paths that are not state: seen, never merged; taken whole only with ``--with-code``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_sync.errors import DivergedError, UnrelatedError
from handoff_sync.history import is_state
from handoff_sync.objectstore import TREE_MODE, Entry, MissingObjectError

if TYPE_CHECKING:
    from handoff_sync.history import History
    from handoff_sync.objectstore import ObjectStore

_STEPS = (
    "git handoff sync --with-code, where no path is changed on both sides; else "
    "git handoff sync --offline, then git pull or git push, then git handoff sync"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCommits:
    """How many commits on each side touch paths that are not state."""

    ours: int
    theirs: int


def count_code_commits(history: History, ours: str | None, theirs: str | None) -> CodeCommits:
    """Look at every commit only one side has."""
    return CodeCommits(
        ours=sum(_touches_code(history, oid) for oid in history.between(theirs, ours)),
        theirs=sum(_touches_code(history, oid) for oid in history.between(ours, theirs)),
    )


def refuse_code(history: History, ours: str | None, theirs: str | None) -> None:
    """Stop where a sync would publish or merge code. Raises ``DivergedError``."""
    found = count_code_commits(history, ours, theirs)
    if not found.ours and not found.theirs:
        return
    if ours and theirs and not history.merge_bases([ours], theirs):
        raise UnrelatedError(
            "the remote branch shares no commit with this one, and they differ outside the state",
            hint="check the remote and the branch: git remote -v; or clone the remote anew",
        )
    if theirs is None:
        raise DivergedError(
            "the remote has no such branch yet, and its first push would publish code",
            hint="push the branch once (git push -u origin main), then git handoff sync",
        )
    sides = [
        f"{count} {whose} commit{'' if count == 1 else 's'}"
        for count, whose in ((found.ours, "unpushed"), (found.theirs, "incoming"))
        if count
    ]
    raise DivergedError(
        f"{' and '.join(sides)} to paths that are not state, and code is never merged here",
        hint=_STEPS,
    )


def _touches_code(history: History, oid: str) -> bool:
    parents = history.commit(oid).parents
    try:
        before = [history.outer(parent) for parent in parents] or [{}]
    except MissingObjectError:
        return True  # at a shallow edge nothing can be said to be untouched
    # A merge that has one parent's code unchanged brings none of its own.
    return history.outer(oid) not in before


def merged_outer(history: History, bases: list[str], ours: str, theirs: str) -> str:
    """The tree outside the state, each path from the one side that changed it.

    Raises ``DivergedError`` where both sides changed one path.
    """
    if len(bases) != 1:
        raise DivergedError("the code has no single common past", hint=_STEPS)
    store = history.store
    trees = [_without_folder(history, oid) for oid in (bases[0], ours, theirs)]
    return _three_trees(store, trees[0], trees[1], trees[2], "")


def _without_folder(history: History, commit: str) -> str:
    def strip(tree: str, path: list[str]) -> str:
        head, *rest = path
        entry = history.store.tree(tree).get(head)
        if entry is None or entry.mode != TREE_MODE:
            return tree
        inner = strip(entry.oid, rest) if rest else _strangers(history.store, entry.oid)
        kept = Entry(TREE_MODE, inner) if inner and history.store.tree(inner) else None
        return history.store.write_tree(tree, {head: kept})

    return strip(history.commit(commit).tree, history.folder.split("/"))


def _strangers(store: ObjectStore, folder: str) -> str:
    state = [name for name in store.tree(folder) if is_state(name)]
    return store.write_tree(folder, dict.fromkeys(state))


def _three_trees(store: ObjectStore, base: str, ours: str, theirs: str, where: str) -> str:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    o, a, b = (store.tree(oid) for oid in (base, ours, theirs))
    changes: dict[str, Entry | None] = {}
    for name in {*a, *b}:
        x, y, z = o.get(name), a.get(name), b.get(name)
        if z in (x, y):
            continue
        if y == x:
            changes[name] = z
        elif all(entry is None or entry.mode == TREE_MODE for entry in (x, y, z)):
            # A folder that is gone on one side is an empty one: its files are what counts.
            empty = store.write_tree(None, {})
            inner = [entry.oid if entry else empty for entry in (x, y, z)]
            merged = _three_trees(store, inner[0], inner[1], inner[2], f"{where}{name}/")
            changes[name] = Entry(TREE_MODE, merged) if store.tree(merged) else None
        else:
            raise DivergedError(f"both sides changed {where}{name}", hint=_STEPS)
    return store.write_tree(ours, changes)


def changed_code(history: History, old: str | None, new: str | None) -> dict[str, Entry | None]:
    """The files outside the state that differ between two commits, by path."""
    found: dict[str, Entry | None] = {}
    if history.outer(old) == history.outer(new):
        return found
    before, after = (
        _without_folder(history, oid) if oid else history.store.write_tree(None, {})
        for oid in (old, new)
    )
    _diff(history.store, before, after, "", found)
    return found


def _diff(
    store: ObjectStore, old: str, new: str, where: str, into: dict[str, Entry | None]
) -> None:
    if old == new:
        return
    empty = store.write_tree(None, {})
    before, after = store.tree(old), store.tree(new)
    for name in {*before, *after}:
        x, y = before.get(name), after.get(name)
        if x == y:
            continue
        inner = [entry.oid if entry and entry.mode == TREE_MODE else empty for entry in (x, y)]
        if any(oid != empty for oid in inner):
            _diff(store, inner[0], inner[1], f"{where}{name}/", into)
        if (x and x.mode != TREE_MODE) or (y and y.mode != TREE_MODE):
            into[f"{where}{name}"] = y if y and y.mode != TREE_MODE else None


def check_code(history: History, ours: str | None, theirs: str | None) -> dict[str, Entry | None]:
    """The incoming files outside the state, once it is sure that none needs a merge.

    Raises ``DivergedError``.
    """
    if theirs is None:
        return {}
    if ours is None or history.is_ancestor(ours, theirs):
        return changed_code(history, ours, theirs)
    bases = history.merge_bases([ours], theirs)
    merged_outer(history, bases, ours, theirs)
    return changed_code(history, bases[0], theirs)
