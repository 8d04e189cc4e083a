"""The wire, through git: probe one ref, fetch it, push it by compare-and-swap."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from handoff_sync.errors import (
    AuthError,
    HostError,
    MissingRemoteError,
    NetworkError,
    NoRemoteError,
    PolicyError,
    SyncError,
    UnsupportedError,
)
from handoff_sync.git import sanitised

if TYPE_CHECKING:
    from handoff_sync.git import Git
    from handoff_sync.repository import Repository


class Pushed(enum.Enum):
    """How a push that reached the remote ended; a refusal is raised instead."""

    DONE = enum.auto()
    LOST_RACE = enum.auto()


#: What a failed connection says, most telling first: a word of git, ssh or curl, the failure
#: it stands for, and the next command.
_SIGNS: tuple[tuple[str, type[SyncError], str], ...] = (
    (r"dubious ownership", UnsupportedError, "git config --global --add safe.directory PATH"),
    (r"Host key verification failed|host key", AuthError, "ssh to the host once, accept its key"),
    (
        (
            r"Authentication failed|could not read (Username|Password)|terminal prompts disabled"
            r"|Permission denied|error: 40[13]|Invalid (username|credentials)|Access denied"
        ),
        AuthError,
        "check the credentials: git ls-remote REMOTE must work without a question",
    ),
    (r"SSL certificate|certificate verif\w+ failed", AuthError,
     "trust who signed the server's certificate: git config http.sslCAInfo FILE"),
    (r"Could not resolve host|Name or service not known|unable to look up", HostError,
     "check the name: git remote -v"),
    (
        (
            r"does not appear to be a git repository|[Rr]epository .*not found|error: 404"
            r"|repository not exported|no such repository|does not exist"
            r"|not valid: is this a git repository"
        ),
        MissingRemoteError,
        "check the address: git remote -v",
    ),
)  # fmt: skip

_POLICY = re.compile(
    r"hook declined|protected branch|denyCurrentBranch|branch is currently checked out|prohibited"
    r"|not allowed|denied|refusing|deny|hidden ref|read-only|permission|violation|funny refname"
    r"|aborted by hook"
)

#: A reference-transaction hook that says no ends the remote's git before it sends a status.
_NO_STATUS = "ref updates aborted by hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """One branch of one configured remote."""

    repository: Repository
    name: str
    ref: str

    @property
    def _git(self) -> Git:
        return self.repository.git

    def check_configured(self) -> None:
        """Raise ``NoRemoteError`` when there is no such remote."""
        if f"remote.{self.name}.url" not in self.repository.config:
            raise NoRemoteError(
                f"no remote is called {self.name}",
                hint=f"git remote add {self.name} URL, or commit here only: "
                "git handoff sync --offline",
            )

    def tracking_ref(self) -> str | None:
        """The local ref git keeps for this branch, when the remote is set up to have one."""
        for spec in self.repository.config.get(f"remote.{self.name}.fetch", []):
            source, _, target = spec.removeprefix("+").partition(":")
            if source == self.ref and target:
                return target
            if source.endswith("*") and target.endswith("*") and self.ref.startswith(source[:-1]):
                return target[:-1] + self.ref[len(source) - 1 :]
        return None

    def probe(self) -> str | None:
        """The branch's oid on the remote; None when the remote says it has none.

        A failure is raised, never read as absence.
        """
        done = self._git.run("ls-remote", "--quiet", self.name, self.ref)
        if done.code:
            _fail(done.err)
        for line in done.out.decode("utf-8", "surrogateescape").splitlines():
            oid, _, ref = line.partition("\t")
            if ref == self.ref:
                return oid
        return None

    def fetch(self) -> None:
        """Bring the branch's objects here; no ref and no FETCH_HEAD is written."""
        done = self._git.run(
            "fetch",
            "--quiet",
            "--no-write-fetch-head",
            "--refmap=",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            self.name,
            self.ref,
        )
        if done.code:
            _fail(done.err)

    def push(self, new: str, expected: str | None) -> Pushed:
        """Move the branch from ``expected`` (None: absent) to ``new``, or not at all.

        Raises ``PolicyError`` for a refusal, and the wire's failures; after those the
        outcome is unknown.
        """
        done = self._git.run(
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
            f"--force-with-lease={self.ref}:{expected or ''}",
            self.name,
            f"{new}:{self.ref}",
        )
        if done.code == 0:
            return Pushed.DONE
        line = _status_line(done.out.decode("utf-8", "replace"))
        if line is None and _NO_STATUS not in done.err:
            _fail(done.err)
        return self._refused(line or "", done.err, new, expected)

    def _refused(self, line: str, err: str, new: str, expected: str | None) -> Pushed:
        if "stale info" in line or "fetch first" in line or "non-fast-forward" in line:
            return Pushed.LOST_RACE
        # "failed to update ref" and the like may be a race or a real fault: ask again.
        found = self.probe()
        if found == new:
            return Pushed.DONE
        if found != expected:
            return Pushed.LOST_RACE
        words = _remote_words(err) if line else err
        reason = sanitised(f"{line.partition('(')[2].rstrip(')')}\n{words}")
        if _POLICY.search(f"{line} {err}"):
            raise PolicyError(
                f"the remote refused the push: {reason}",
                hint="push to a branch that is not protected, or ask who guards this one",
            )
        raise NetworkError(f"the remote could not take the push: {reason}")


def _status_line(out: str) -> str | None:
    return next((line for line in out.splitlines() if line.startswith("!")), None)


def _remote_words(err: str) -> str:
    lines = err.splitlines()
    return "\n".join(line.removeprefix("remote: ") for line in lines if line.startswith("remote:"))


def _fail(err: str) -> NoReturn:
    for pattern, failure, hint in _SIGNS:
        if re.search(pattern, err):
            raise failure(sanitised(err), hint=hint)
    raise NetworkError(
        sanitised(err) or "the connection ended without a word",
        hint="check the network: git ls-remote REMOTE, then run this again",
    )
