"""git handoff ignore: the ignore block, and whether git obeys it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import Touches, command

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command("ignore", Touches.CONFIG, example="git handoff ignore --check")
@click.option("--check", is_flag=True, help="Ask git about every catalogued path.")
@click.option("--write", is_flag=True, help="Put the block into .gitignore.")
@click.pass_obj
def command_ignore(invocation: Invocation, *, check: bool, write: bool) -> int:
    """Print the ignore block for this state root; check it or write it."""
    from handoff_state.writer import AtomicWriter, read_plain
    from handoff_sync.block import check_ignored, has_block, ignore_block, with_block
    from handoff_sync.config import folder_in

    if check and write:
        raise click.UsageError("--check and --write exclude each other")
    repository = invocation.repository()
    folder = folder_in(repository, invocation.config(repository).layout)
    root = folder.removesuffix("portable").rstrip("/") or "."
    block, path = ignore_block(root), repository.top / ".gitignore"
    if write:
        text = (read_plain(path) or b"").decode("utf-8", "surrogateescape")
        data = with_block(text, block).encode("utf-8", "surrogateescape")
        click.echo(f".gitignore: {AtomicWriter().write(path, data).value}")
        return 0
    if not check:
        click.echo(block, nl=False)
        return 0
    wrong = [item for item in check_ignored(repository.git, root) if not item.right]
    for item in wrong:
        words = "is ignored, and must travel" if item.portable else "is not ignored"
        click.echo(f"HF401: {item.path} {words}")
    if not has_block(path, block):
        click.echo("HF401: .gitignore does not hold the block: git handoff ignore --write")
        return 1
    if not wrong:
        click.echo("the ignore block is complete, and nothing undoes it")
    return 1 if wrong else 0


command = command_ignore
