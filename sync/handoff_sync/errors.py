"""Typed failures of the git side: each has a kind, a message, and the command to run next."""

from __future__ import annotations

from typing import ClassVar

from handoff_state.errors import HandoffError


class SyncError(HandoffError):
    """A hand-off that did not complete; ``kind`` names the failure in ``--json``."""

    kind: ClassVar[str] = "unknown"


class ConfigError(SyncError):
    """A configuration file, option or git config value that cannot be used."""

    kind = "config"


class NoRepositoryError(SyncError):
    """No git repository here, or the state root lies outside of it."""

    kind = "repository"


class UnsupportedError(SyncError):
    """A kind of repository this engine does not handle; refused by name."""

    kind = "unsupported"


class WrongBranchError(SyncError):
    """Not on the branch that carries state, or a merge or rebase is in progress."""

    kind = "branch"


class RefusedError(SyncError):
    """The guard refused the run as a whole, or commits about to be published."""

    kind = "refused"


class DivergedError(SyncError):
    """Commits on either side touch paths that are not state: code is never merged here."""

    kind = "diverged"


class UnrelatedError(DivergedError):
    """The remote branch and this one share no commit, and differ outside the state."""

    kind = "unrelated"


class RepositoryBusyError(SyncError):
    """Another sync, another git process or a moving branch holds what this run needs."""

    kind = "busy"


class CorruptError(SyncError):
    """An object git should have is missing or damaged."""

    kind = "corrupt"


class NoRemoteError(SyncError):
    """No remote of that name is configured."""

    kind = "remote"


class RemoteGoneError(SyncError):
    """The remote branch existed before and does not now: never read as a fresh start."""

    kind = "remote-branch"


class MissingRemoteError(SyncError):
    """There is no repository at the remote's address."""

    kind = "remote-repository"


class AuthError(SyncError):
    """The remote did not accept who we are, or we did not accept its host key."""

    kind = "auth"


class HostError(SyncError):
    """The remote's host name does not resolve."""

    kind = "host"


class NetworkError(SyncError):
    """The remote could not be reached, or the connection broke."""

    kind = "network"


class DeadlineError(SyncError):
    """The deadline passed; everything started was ended."""

    kind = "timeout"


class RaceError(SyncError):
    """The remote moved under every attempt until the deadline; the work is committed here."""

    kind = "race"


class PolicyError(SyncError):
    """A hook or a protected branch said no; never retried."""

    kind = "policy"
