"""What the README says is true: its blocks, its commands, its exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from handoff_sync.block import ignore_block
from handoff_sync.commands import failures

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(
    not README.exists(), reason="a source distribution without documentation"
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def test_this_repository_ignores_by_the_documented_block_verbatim() -> None:
    (documented,) = blocks("gitignore")
    assert documented == ignore_block(".the-loop")
    assert documented in (ROOT / ".gitignore").read_text()


def test_the_library_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "created\n"


def test_every_command_the_readme_names_exists() -> None:
    from handoff_sync.cli import COMMANDS

    text = README.read_text().replace(ignore_block(".the-loop"), "")
    named = set(re.findall(r"git[ -]handoff ([a-z]+)", text))
    assert named <= set(COMMANDS)


def test_the_exit_codes_are_the_programs() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README.read_text(), re.MULTILINE)}
    assert listed == {
        0,
        1,
        failures.USAGE,
        failures.INCOMPLETE,
        failures.NOT_DURABLE,
        failures.BUG,
        failures.INTERRUPTED,
    }


def test_the_two_commands_are_what_ci_runs_and_what_installs() -> None:
    commands = "".join(blocks("sh"))
    assert "pip install --quiet . && .venv/bin/git-handoff demo" in commands
    assert ".ci/run\n" in commands
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_every_decision_is_listed_and_every_link_leads_somewhere() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    linked = set(re.findall(r"\(([0-9]{4}-[a-z0-9-]+\.md)\)", index))
    assert linked == {path.name for path in folder.glob("[0-9]*.md")}
    for page in [README, *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_nothing_in_the_project_names_where_it_was_made() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    forbidden = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian")
    for name in filter(None, listed):
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            assert not forbidden.search(path.read_text(errors="replace")), name
