"""What a failure looks like to a person and to a script, and its exit code (cli.md)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from handoff_state.errors import HandoffError, RefError, SectionError
from handoff_sync.errors import ConfigError, PolicyError, RaceError, SyncError

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE, INCOMPLETE, NOT_DURABLE, BUG, INTERRUPTED = 2, 3, 5, 70, 130


def exit_code(error: BaseException) -> int:
    """The documented exit code of a failure."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, Exit):
        return error.exit_code
    if isinstance(error, click.ClickException | ConfigError | RefError | SectionError):
        return USAGE
    if isinstance(error, PolicyError | RaceError):
        return NOT_DURABLE
    return INCOMPLETE if isinstance(error, HandoffError | BrokenPipeError | OSError) else BUG


def show(error: BaseException, *, as_json: bool, environment: Mapping[str, str]) -> None:
    """Print a failure: one line and a hint, or one JSON document."""
    if isinstance(error, SystemExit | Exit | BrokenPipeError):
        return
    if isinstance(error, KeyboardInterrupt | click.Abort):
        if as_json:
            click.echo(json.dumps({"schema": 1, "outcome": "interrupted"}))
        click.echo("interrupted", err=True)
        return
    what, where, hint = _words(error, environment)
    if as_json:
        document = {
            "schema": 1,
            "outcome": "failed",
            "error": {"kind": _kind(error), "what": what, "where": where, "hint": hint},
        }
        click.echo(json.dumps(document, indent=2))
    if isinstance(error, click.ClickException) and not as_json:
        error.show()
        return
    click.echo(f"error: {f'{where}: ' if where else ''}{what}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _kind(error: BaseException) -> str:
    if isinstance(error, SyncError):
        return error.kind
    name = type(error).__name__
    return "usage" if isinstance(error, click.ClickException) else _dashed(name)


def _dashed(name: str) -> str:
    stem = name.removesuffix("Error")
    return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(stem))


def _words(error: BaseException, environment: Mapping[str, str]) -> tuple[str, str, str]:
    if isinstance(error, HandoffError):
        return _clean(error.what), _clean(error.where), _clean(error.hint)
    if isinstance(error, click.ClickException):
        return error.format_message(), "", "git-handoff --help"
    if isinstance(error, OSError):
        name = Path(str(error.filename)).name if error.filename else ""
        return error.strerror or "the file system said no", name, "check space and permissions"
    log = _log(error, environment)
    return f"this is our bug ({type(error).__name__})", "", f"please report it with {log}"


def _log(error: BaseException, environment: Mapping[str, str]) -> str:
    """Write the traceback where the next person can find it; returns the file's name."""
    text = "".join(traceback.format_exception(error))
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "--git-path", "handoff-error.log"],  # noqa: S607 - the user's git
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        found = asked.stdout.strip()
        path = Path(found or tempfile.mkdtemp(prefix="handoff-") + "/handoff-error.log")
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        sys.stderr.write(text)
        return "the traceback above"
    return str(path)


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
