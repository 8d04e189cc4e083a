"""git handoff ignore: the ignore block, and whether git obeys it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

from handoff_sync.commands.declare import Touches, command, json_option

if TYPE_CHECKING:
    from handoff_sync.commands.invocation import Invocation


@command("ignore", Touches.CONFIG, example="git handoff ignore --check")
@click.option("--check", is_flag=True, help="Ask git about every catalogued path.")
@click.option("--write", is_flag=True, help="Put the block into .gitignore.")
@json_option
@click.pass_obj
def command_ignore(invocation: Invocation, *, check: bool, write: bool, as_json: bool) -> int:
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
        done = AtomicWriter().write(path, data).value
        _say(as_json, [f".gitignore: {done}"], outcome=done)
        return 0
    if not check:
        _say(as_json, [block.rstrip("\n")], outcome="block", block=block.splitlines())
        return 0
    faults = [
        f"HF401: {item.path} {'is ignored, and must travel' if item.portable else 'is not ignored'}"
        for item in check_ignored(repository.git, root)
        if not item.right
    ]
    if not has_block(path, block):
        faults.append("HF401: .gitignore does not hold the block: git handoff ignore --write")
    elif faults:
        faults.append("another rule undoes the block: git check-ignore -v PATH names it")
    lines = faults or ["the ignore block is complete, and nothing undoes it"]
    _say(as_json, lines, outcome="faults" if faults else "complete", faults=faults)
    return 1 if faults else 0


def _say(as_json: bool, lines: list[str], **document: object) -> None:
    text = json.dumps({"schema": 1, **document}, indent=2) if as_json else "\n".join(lines)
    click.echo(text)


command = command_ignore
