"""What one command run knows, and the opening of the repository, state and remote it names."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_sync.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.layout import StateLayout
    from handoff_sync.config import Config
    from handoff_sync.repository import Repository
    from handoff_sync.sync import Options, Sync

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The options before the command, and the environment read once, here."""

    directory: Path
    root: str | None
    quiet: bool
    verbose: bool
    color: str
    environment: dict[str, str]

    @property
    def host(self) -> str:
        """This machine's host name, for the guard to keep out of records."""
        return socket.gethostname()

    def colors(self) -> bool:
        """Whether standard output gets colour."""
        if self.color != "auto":
            return self.color == "always"
        return sys.stdout.isatty() and not self.environment.get("NO_COLOR")

    def repository(
        self, timeout: float = DEFAULT_TIMEOUT, *, interactive: bool = False
    ) -> Repository:
        """The repository around ``-C``. Raises ``NoRepositoryError``."""
        from handoff_sync.git import Deadline, Git
        from handoff_sync.repository import discover

        if not self.directory.is_dir():
            raise ConfigError(f"no folder {self.directory}", hint="name one that exists with -C")
        git = Git(
            directory=self.directory,
            environment=self.environment,
            deadline=Deadline(timeout),
            interactive=interactive,
        )
        return discover(git)

    def config(self, repository: Repository) -> Config:
        """The configuration of a worktree."""
        from handoff_sync.config import load

        return load(repository.top, root_option=self.root, current=self.directory.absolute())

    def layout(self) -> StateLayout:
        """The state's paths; with ``--root`` no repository is needed."""
        if self.root is not None:
            from handoff_sync.config import load

            return load(self.directory, root_option=self.root, current=self.directory).layout
        return self.config(self.repository()).layout

    def sync(self, options: Options, timeout: float, *, interactive: bool = False) -> Sync:
        """A sync over this worktree and its configured remote branch, ready to run."""
        from handoff_sync.config import folder_in
        from handoff_sync.objects import LibgitObjects
        from handoff_sync.repository import check_supported
        from handoff_sync.sync import Sync
        from handoff_sync.transport import Remote
        from handoff_sync.worktree import Worktree, current_branch

        repository = self.repository(timeout, interactive=interactive)
        config = self.config(repository)
        if config.carry != "branch":
            raise UnsupportedError(
                "carry: ref is not in this version",
                where=".handoff.yaml: carry",
                hint="set carry: branch",
            )
        check_supported(repository)
        folder = folder_in(repository, config.layout)
        objects = LibgitObjects(repository)
        branch = f"refs/heads/{config.branch}" if config.branch else current_branch(objects)
        return Sync(
            config=config,
            objects=objects,
            worktree=Worktree(repository=repository, objects=objects, branch=branch, folder=folder),
            remote=Remote(repository=repository, name=config.remote, ref=branch),
            options=options,
        )
