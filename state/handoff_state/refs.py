"""Work item refs, the file names made from them, and the urls derived from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from handoff_state.errors import RefError

_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+"
_NAME = r"[A-Za-z0-9._-]+"
_REPOSITORY_REF = re.compile(
    rf"(?P<provider>[a-z][a-z0-9-]*):(?:(?P<host>{_HOST})/)?"
    rf"(?P<owner>{_NAME})/(?P<repo>{_NAME})#(?P<number>0|[1-9][0-9]{{0,17}})"
)
_TICKET_REF = re.compile(
    rf"(?P<provider>[a-z][a-z0-9-]*):(?:(?P<host>{_HOST})/)?"
    r"(?P<key>[A-Z][A-Z0-9_]{1,9}-[1-9][0-9]{0,9})"
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_DOTS = {".", ".."}
_GITHUB = "github.com"
#: GitHub's own shape of an owner: no dot, and an underscore only before an enterprise's name.
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}(?:_[A-Za-z0-9]+)?")
#: Leaves room in a 255-byte file name for the writer's temporary beside it.
MAX_SLUG = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItemRef:
    """One work item's identity, ``github:[<host>/]<owner>/<repo>#<n>`` or ``jira:PROJ-12``.

    ``slug`` is its file name without ``.json``; ``url`` is derived and empty when the
    parts have not GitHub's shapes (records.md, Work item refs and slugs). Raises
    :class:`RefError` from :meth:`parse`.
    """

    provider: str
    host: str
    path: str
    number: str

    @classmethod
    def parse(cls, text: str) -> WorkItemRef:
        """Read a ref; everything that could escape a folder is refused here."""
        match = _REPOSITORY_REF.fullmatch(text)
        if match and not {match["owner"], match["repo"]} & _DOTS:
            path, number = f"{match['owner']}/{match['repo']}", match["number"]
        elif (match := _TICKET_REF.fullmatch(text)) is not None:
            path, _, number = match["key"].rpartition("-")
        else:
            raise RefError(
                f"not a work item ref: {text[:80]!r}",
                hint="write it as github:owner/repo#15, github:host/owner/repo#15 or jira:PROJ-12",
            )
        host = match["host"] or ""
        ref = cls(
            provider=match["provider"],
            host="" if match["provider"] == "github" and host == _GITHUB else host,
            path=path,
            number=number,
        )
        if len(ref.slug) > MAX_SLUG:
            raise RefError(f"a ref of {len(text)} characters gives too long a file name")
        return ref

    def __str__(self) -> str:
        mark = "#" if "/" in self.path else "-"
        host = f"{self.host}/" if self.host else ""
        return f"{self.provider}:{host}{self.path}{mark}{self.number}"

    @property
    def slug(self) -> str:
        """The file name, without its ending; two refs can share one (a collision)."""
        host = f"{self.host}/" if self.host else ""
        return _UNSAFE.sub("-", f"{self.provider}-{host}{self.path}-{self.number}")

    @property
    def file(self) -> str:
        """The record's file name under ``portable/``."""
        return f"{self.slug}.json"

    @property
    def url(self) -> str:
        """The browser url, or ``""``: a link to the wrong place is worse than none."""
        owner, slash, _ = self.path.partition("/")
        shaped = slash and self.number != "0" and _OWNER.fullmatch(owner)
        if self.provider != "github" or not shaped:
            return ""
        return f"https://{self.host or _GITHUB}/{self.path}/issues/{self.number}"


def as_ref(ref: str | WorkItemRef) -> WorkItemRef:
    """``ref`` parsed, unless it is already."""
    return ref if isinstance(ref, WorkItemRef) else WorkItemRef.parse(ref)
