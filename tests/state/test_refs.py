"""Work item refs, slugs and urls (records.md, Work item refs and slugs)."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handoff_state.errors import RefError
from handoff_state.refs import WorkItemRef, as_ref


@pytest.mark.parametrize(
    ("ref", "slug", "url"),
    [
        ("github:octo/repo#15", "github-octo-repo-15", "https://github.com/octo/repo/issues/15"),
        (
            "github:ghe.corp.example/octo/repo#15",
            "github-ghe.corp.example-octo-repo-15",
            "https://ghe.corp.example/octo/repo/issues/15",
        ),
        (
            "github:ghe.example:8443/octo/re.po#1",
            "github-ghe.example-8443-octo-re.po-1",
            "https://ghe.example:8443/octo/re.po/issues/1",
        ),
        ("gitlab:octo/repo#15", "gitlab-octo-repo-15", ""),
        ("jira:PROJ-12", "jira-PROJ-12", ""),
        ("jira:jira.example.org/PROJ_X-12", "jira-jira.example.org-PROJ_X-12", ""),
        ("github:PROJ-12", "github-PROJ-12", ""),
        ("github:octo/repo#0", "github-octo-repo-0", ""),
        ("github:oc.to/repo#1", "github-oc.to-repo-1", ""),
        ("github:-octo/repo#1", "github--octo-repo-1", ""),
        ("github:jane_corp/repo#1", "github-jane_corp-repo-1",
         "https://github.com/jane_corp/repo/issues/1"),
    ],
)  # fmt: skip
def test_a_ref_gives_a_file_name_and_where_github_has_its_shapes_a_url(
    ref: str, slug: str, url: str
) -> None:
    parsed = WorkItemRef.parse(ref)
    assert (parsed.slug, parsed.file, parsed.url) == (slug, f"{slug}.json", url)
    assert str(parsed) == ref


def test_githubs_own_host_is_no_part_of_the_identity() -> None:
    assert WorkItemRef.parse("github:github.com/octo/repo#15") == as_ref("github:octo/repo#15")


@pytest.mark.parametrize(
    "text",
    ["", "octo/repo#15", "github:", "github:octo#15", "github:octo/repo", "github:octo/repo#",
     "github:octo/repo#01", "github:octo/repo#-1", "github:octo/repo#1\n", "github:octo/repo#٣",
     "github:../repo#1", "github:octo/..#1", "github:./repo#1", "github:a/b/c/d#1",
     "github:octo/re po#1", "github:octo/repo#1/../x", "Github:octo/repo#1", "jira:proj-12",
     "jira:PROJ-0", "github:octo/repo#" + "1" * 19, "github:octo/" + "r" * 250 + "#1",
     "github:\x00/repo#1", "github:octo\\repo#1", "/etc:octo/repo#1"],
)  # fmt: skip
def test_what_has_not_the_shape_of_a_ref_never_becomes_a_path(text: str) -> None:
    with pytest.raises(RefError):
        WorkItemRef.parse(text)


def test_a_refused_ref_is_quoted_short_and_with_a_hint() -> None:
    with pytest.raises(RefError) as caught:
        WorkItemRef.parse("x" * 10_000)
    assert len(str(caught.value)) < 120
    assert "github:owner/repo#15" in caught.value.hint


def test_two_refs_can_share_a_file_name_and_stay_two_refs() -> None:
    one, two = as_ref("github:octo-repo/a#1"), as_ref("github:octo/repo-a#1")
    assert one.file == two.file
    assert one != two


names = st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True)
hosts = st.sampled_from(["", "ghe.example/", "localhost:80/", "github.com/"])


@settings(deadline=None, max_examples=200)
@given(names, names, hosts, st.integers(0, 10**17))
def test_a_ref_that_parses_prints_as_itself_and_stays_in_its_folder(
    owner: str, repo: str, host: str, number: int
) -> None:
    try:
        ref = WorkItemRef.parse(f"github:{host}{owner}/{repo}#{number}")
    except RefError:
        assert {owner, repo} & {".", ".."}
        return
    assert WorkItemRef.parse(str(ref)) == ref
    assert re.fullmatch(r"github-[A-Za-z0-9._-]+\.json", ref.file)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=40) | st.from_regex(r"[a-z]+:[A-Za-z0-9./:#-]{0,30}", fullmatch=True))
def test_any_text_is_a_ref_or_a_ref_error(text: str) -> None:
    with contextlib.suppress(RefError):
        assert WorkItemRef.parse(text).slug.isascii()
