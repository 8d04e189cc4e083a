"""What ``init`` sets up in a worktree, as a plan that can be shown and then carried out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_state.writer import Change, Writer, read_plain
from handoff_sync.block import attributes_block, ignore_block, with_block
from handoff_sync.config import FILE

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_state.layout import StateLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The files of one setup; ``root`` is the state root from the top of the worktree."""

    top: Path
    layout: StateLayout
    root: str
    branch: str
    remote: str

    def files(self) -> dict[str, bytes]:
        """Each file's bytes after the setup, by path from the top."""
        portable = f"{self.root}/portable" if self.root != "." else "portable"
        return {
            FILE: self._config(),
            ".gitignore": self._with_block(".gitignore", ignore_block(self.root)),
            ".gitattributes": self._with_block(".gitattributes", attributes_block(portable)),
        }

    def carry_out(self, writer: Writer) -> dict[str, Change]:
        """Write what differs; says per file what happened."""
        return {name: writer.write(self.top / name, data) for name, data in self.files().items()}

    def make_folders(self) -> None:
        """The two halves of the state root."""
        self.layout.portable.mkdir(parents=True, exist_ok=True)
        self.layout.local.mkdir(parents=True, exist_ok=True)

    def _config(self) -> bytes:
        known = read_plain(self.top / FILE)
        if known is not None:
            return known  # a person's file: init completes what is missing elsewhere
        import yaml

        values = {
            "root": self.root,
            "carry": "branch",
            "branch": self.branch,
            "remote": self.remote,
        }
        return yaml.safe_dump(values, sort_keys=False).encode()

    def _with_block(self, name: str, block: str) -> bytes:
        text = (read_plain(self.top / name) or b"").decode("utf-8", "surrogateescape")
        return with_block(text, block).encode("utf-8", "surrogateescape")
