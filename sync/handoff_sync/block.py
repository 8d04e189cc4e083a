"""Marked blocks in ``.gitignore`` and ``.gitattributes``, and whether git obeys them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from handoff_state.catalog import GENERATED_PATHS, ignore_lines
from handoff_sync.errors import CorruptError
from handoff_sync.git import sanitised

if TYPE_CHECKING:
    from pathlib import Path

    from handoff_sync.git import Git

BEGIN = "# git-handoff begin: state of an agent loop. portable/ travels, the rest stays here."
END = "# git-handoff end"

_SAMPLE_SLUG = "github-octo-repo-15"


def ignore_block(root: str) -> str:
    """The ignore block for a state root given from the top of the worktree."""
    return "\n".join([BEGIN, *ignore_lines(root), END]) + "\n"


def attributes_block(folder: str) -> str:
    """Keeps git from rewriting records on the way in or out: their bytes are the fact."""
    return f"{BEGIN}\n/{folder}/*.json -text -filter -ident -working-tree-encoding\n{END}\n"


def with_block(text: str, block: str) -> str:
    """``text`` with the block in place: replaced where one stands, else added at the end."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("# git-handoff begin")]
    if starts and END in lines[starts[0] :]:
        start = starts[0]
        end = lines.index(END, start) + 1
        kept = [*lines[:start], *block.splitlines(), *lines[end:]]
        return "\n".join(kept) + "\n"
    head = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{head}{chr(10) if head else ''}{block}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """What git says of one catalogued path: ``right`` when it is treated as declared."""

    path: str
    portable: bool
    right: bool


def check_ignored(git: Git, root: str) -> list[Ignored]:
    """Ask git about a sample of every catalogued path (rule HF401)."""
    prefix = f"{root}/" if root != "." else ""
    samples = [
        (f"{prefix}{_sample(pattern)}", path.portable)
        for path in GENERATED_PATHS
        for pattern in path.pattern.split(", ")
    ]
    data = "".join(f"{sample}\0" for sample, _ in samples).encode()
    done = git.run("check-ignore", "--no-index", "--stdin", "-z", data=data, literal=False)
    if done.code > 1:
        raise CorruptError(f"git could not say what is ignored: {sanitised(done.err)}")
    ignored = set(done.out.decode().split("\0"))
    return [
        Ignored(path=sample, portable=portable, right=(sample in ignored) != portable)
        for sample, portable in samples
    ]


def _sample(pattern: str) -> str:
    filled = pattern.replace("<slug>", _SAMPLE_SLUG).replace("<name>", "a").replace("*", "a")
    return f"{filled}a" if filled.endswith("/") else filled


def has_block(path: Path, block: str) -> bool:
    """Whether a file holds the block verbatim."""
    return path.is_file() and block in path.read_text(encoding="utf-8", errors="replace")
