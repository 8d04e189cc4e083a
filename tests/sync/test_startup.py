"""Start-up does not pay for engines it does not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pygit2", "dulwich", "deepdiff", "yaml", "detect_secrets", "rich.table", "requests")


def imported(*arguments: str) -> set[str]:
    """The modules in memory after one run of the command line."""
    program = (
        "import sys\n"
        "from handoff_sync.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("sync", "--help")])
def test_help_and_version_import_no_engine(arguments: tuple[str, ...]) -> None:
    heavy = HEAVY if arguments == ("--version",) else HEAVY[:5]
    assert not imported(*arguments) & set(heavy)


def test_the_state_layer_imports_nothing_but_the_standard_library() -> None:
    program = (
        "import sys; before = set(sys.modules); import handoff_state\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    roots = {name.split(".")[0] for name in done.stdout.split()}
    assert roots - set(sys.stdlib_module_names) == {"handoff_state"}
