"""Where the state is and how it travels: ``.handoff.yaml``, git config and options."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from handoff_state.codec import JSON, as_object
from handoff_state.layout import StateLayout
from handoff_sync.errors import ConfigError, NoRepositoryError

if TYPE_CHECKING:
    from handoff_sync.repository import Repository

FILE = ".handoff.yaml"
CONSUMER_FILE = ".the-loop/cli-config.yaml"
DEFAULT_ROOT = ".the-loop"

_KEYS = ("root", "carry", "branch", "ref", "remote", "unknown_attributes")
#: Keys of the format whose feature this version does not have: ignoring one would be a lie.
_LATER = ("repository_state", "allow", "attributes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settled settings; ``root`` is absolute, ``source`` says which of four gave it.

    ``branch`` is None when ``init`` has not recorded one yet.
    """

    root: Path
    source: str
    carry: str = "branch"
    branch: str | None = None
    remote: str = "origin"
    refuse_unknown: bool = False

    @property
    def layout(self) -> StateLayout:
        """The paths under the root."""
        return StateLayout(self.root)


def load(top: Path, *, root_option: str | None, current: Path) -> Config:
    """Read the configuration of a worktree. Raises ``ConfigError``.

    The root comes from ``--root`` (relative to where the command runs), ``.handoff.yaml``,
    the reference consumer's ``state.root``, or the default, in this order (cli.md).
    """
    data = _read(top / FILE, FILE)
    for key in data:
        if key in _LATER:
            raise ConfigError(
                f"this version does not act on {key}", where=FILE, hint=f"take {key} out of {FILE}"
            )
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            guess = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(_KEYS)}"
            raise ConfigError(f"unknown key {key!r}", where=FILE, hint=guess)
    root, source = _root(top, data, root_option, current)
    return Config(
        root=root,
        source=source,
        carry=_choice(data, "carry", ("branch", "ref"), "branch"),
        branch=_text(data, "branch"),
        remote=_text(data, "remote") or "origin",
        refuse_unknown=_choice(data, "unknown_attributes", ("warn", "refuse"), "warn") == "refuse",
    )


def folder_in(repository: Repository, layout: StateLayout) -> str:
    """``portable/`` as a ``/``-separated path from the top of the worktree.

    Raises ``NoRepositoryError`` when the state root lies outside of it.
    """
    try:
        inside = _resolved(layout.portable).relative_to(_resolved(repository.top))
    except ValueError:
        raise NoRepositoryError(
            "the state root lies outside this repository, so git cannot carry it from here",
            hint="copy portable/ yourself, or point the root at a tracked folder: "
            "git handoff init --root DIR",
        ) from None
    return PurePosixPath(*inside.parts).as_posix()


def _resolved(path: Path) -> Path:
    # Links above the root are the system's (a linked /tmp, a linked home); the root's own
    # last steps are looked at unresolved, so that a link there is refused and not followed.
    return path.parent.parent.resolve() / path.parent.name / path.name


def _root(top: Path, data: dict[str, JSON], option: str | None, current: Path) -> tuple[Path, str]:
    if option is not None:
        return _absolute(current / option), "--root"
    if (named := _text(data, "root")) is not None:
        return _absolute(top / named), FILE
    consumer = as_object(_read(top / CONSUMER_FILE, CONSUMER_FILE).get("state"))
    if isinstance(told := consumer.get("root"), str) and told:
        return _absolute(top / told), CONSUMER_FILE
    return top / DEFAULT_ROOT, "default"


def _absolute(path: Path) -> Path:
    return Path(*_normal(path.absolute().parts))


def _normal(parts: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if part == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        else:
            kept.append(part)
    return kept


def _read(path: Path, name: str) -> dict[str, JSON]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"cannot be read: {reason}", where=name, hint=f"edit {name}") from error
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        raise ConfigError("not valid YAML", where=where, hint=f"edit {name}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError("not a mapping of keys to values", where=name, hint=f"edit {name}")
    return {str(key): value for key, value in data.items()}


def _text(data: dict[str, JSON], key: str) -> str | None:
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise ConfigError("must be text", where=f"{FILE}: {key}", hint=f"edit {FILE}")
    return value


def _choice(data: dict[str, JSON], key: str, choices: tuple[str, ...], default: str) -> str:
    value = _text(data, key) or default
    if value not in choices:
        raise ConfigError(
            f"{value!r} is not one of {', '.join(choices)}",
            where=f"{FILE}: {key}",
            hint=f"edit {FILE}",
        )
    return value
