"""git handoff init: set a worktree up to carry state."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import Touches, command, json_option

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation
    from handoff_sync.install import Setup
    from handoff_sync.repository import Repository

_STATE_FILES = frozenset(
    {".gitignore", ".gitattributes", ".handoff.yaml", "README.md", "LICENSE", ".the-loop"}
)


@command("init", Touches.CONFIG, Touches.RECORDS, Touches.LOCAL, example="git handoff init")
@click.option(
    "--carry", type=click.Choice(["branch", "ref"]), default="branch", help="Where records live."
)
@click.option("--root", metavar="DIR", help="The state root, from where the command runs.")
@click.option("--remote", metavar="NAME", help="The remote, origin if not told otherwise.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would change; change nothing.")
@json_option
@click.pass_obj
def command_init(
    invocation: Invocation,
    *,
    carry: str,
    root: str | None,
    remote: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Write the ignore block, attributes and .handoff.yaml; commit nothing."""
    from handoff_state.writer import AtomicWriter, DryRunWriter
    from handoff_sync.errors import UnsupportedError
    from handoff_sync.repository import check_supported

    if carry == "ref":
        raise UnsupportedError(
            "carry: ref is not in this version", hint="git handoff init --carry branch"
        )
    repository = invocation.repository()
    check_supported(repository)
    setup = _setup(replace(invocation, root=root or invocation.root), repository, remote)
    changes = setup.carry_out(DryRunWriter() if dry_run else AtomicWriter())
    if not dry_run:
        setup.make_folders()
    if as_json:
        document = {
            "schema": 1,
            "outcome": "planned" if dry_run else "done",
            "root": setup.root,
            "branch": setup.branch,
            "files": {name: change.value for name, change in changes.items()},
        }
        click.echo(json.dumps(document, indent=2))
        return 0
    for name, change in changes.items():
        click.echo(f"{name}: {'would be ' if dry_run and change else ''}{change.value}")
    if any(changes.values()) and not invocation.quiet:
        _advise(setup, repository, list(changes))
    return 0


def _setup(invocation: Invocation, repository: Repository, remote: str | None) -> Setup:
    """The set-up asked for; a person's own .handoff.yaml is not overruled."""
    from handoff_sync.config import FILE, folder_in
    from handoff_sync.errors import ConfigError
    from handoff_sync.install import Setup
    from handoff_sync.objects import LibgitObjects
    from handoff_sync.worktree import current_branch

    known = replace(invocation, root=None).config(repository)
    config = invocation.config(repository)
    told = config.root != known.root or remote not in (None, known.remote)
    if told and (repository.top / FILE).exists():
        hint = f"edit {FILE}, then init again"
        raise ConfigError("says otherwise, and is yours to change", where=FILE, hint=hint)
    folder = folder_in(repository, config.layout)
    head = config.branch or current_branch(LibgitObjects(repository))
    return Setup(
        top=repository.top,
        layout=config.layout,
        root=folder.removesuffix("portable").rstrip("/") or ".",
        branch=head.removeprefix("refs/heads/"),
        remote=remote or config.remote,
    )


def _advise(setup: Setup, repository: Repository, files: list[str]) -> None:
    tracked = repository.git.ok("ls-files", "-z").decode("utf-8", "replace").split("\0")
    if any(path and path.split("/")[0] not in _STATE_FILES for path in tracked):
        note = "this branch holds code too; a repository kept for state alone is calmer"
        click.echo(f"note: {note}", err=True)
    click.echo(f"next: git add {' '.join(files)} && git commit", err=True)
    click.echo(f"      git push -u {setup.remote} {setup.branch} && git handoff sync", err=True)


command = command_init
