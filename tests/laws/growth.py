"""Records as they come about: a common past, and what each machine's daemon did since."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from handoff_state.codec import JSON, JsonObject

REF = "github:octo/repo#15"


class Edit(NamedTuple):
    """One thing a daemon did: what, to which part, when. Prints as it was drawn."""

    deed: str
    name: str
    when: str


class Past(NamedTuple):
    """Three versions grown from one base; None is "no record"."""

    base: JsonObject | None
    a: JsonObject | None
    b: JsonObject | None
    c: JsonObject | None


def _command(record: JsonObject, edit: Edit) -> None:
    control: JsonObject = {"command": edit.name, "actor": "octocat", "requestedAt": edit.when}
    record["control"] = control


def _uncommand(record: JsonObject, _: Edit) -> None:
    record["control"] = None


def _see(record: JsonObject, edit: Edit) -> None:
    for ledger in _ledgers(record, edit):
        ledger["seenComments"] = [*_list(ledger, "seenComments", but=edit.name), edit.name]
        _part(ledger, "commentAttempts").pop(edit.name, None)


def _prune(record: JsonObject, edit: Edit) -> None:
    for ledger in _ledgers(record, edit):
        ledger["seenComments"] = _list(ledger, "seenComments", but=edit.name)
        _withdraw(ledger, edit)


def _attempt(record: JsonObject, edit: Edit) -> None:
    for ledger in _ledgers(record, edit):
        attempts = _part(ledger, "commentAttempts")
        if edit.name not in _list(ledger, "seenComments"):
            count = attempts.get(edit.name)
            attempts[edit.name] = 1 + (count if isinstance(count, int) else 0)


def _give_up(record: JsonObject, edit: Edit) -> None:
    _see(record, edit)
    ledger = _part(record, "poll")
    gave_up = _part(ledger, "gaveUp")
    gave_up["comments"] = [*_list(gave_up, "comments", but=edit.name), edit.name]
    gave_up["version"] = "1.9" if edit.when < "2026-09-14T00:05" else "1.10"


def _withdraw(ledger: JsonObject, edit: Edit) -> None:
    gave_up = _part(ledger, "gaveUp")
    gave_up["comments"] = _list(gave_up, "comments", but=edit.name)
    if not gave_up["comments"]:
        ledger["gaveUp"] = {}


def _spawn(record: JsonObject, edit: Edit) -> None:
    spawn = _part(_part(record, "poll"), "spawn")
    count = spawn.get("attempts")
    spawn["attempts"] = 1 + (count if isinstance(count, int) else 0)
    spawn["deliveryId"] = edit.name


def _unspawn(record: JsonObject, _: Edit) -> None:
    _part(record, "poll")["spawn"] = {}


def _retitle(record: JsonObject, edit: Edit) -> None:
    _part(record, "poll")["title"] = edit.name


def _forget(record: JsonObject, _: Edit) -> None:
    record["poll"] = None


def _unlink(record: JsonObject, edit: Edit) -> None:
    _part(record, "pullRequests").pop(edit.name, None)


def _grant(record: JsonObject, edit: Edit) -> None:
    entry: JsonObject = {"login": edit.name, "addedAt": edit.when}
    section = _part(record, "collaborators")
    section["users"] = [*_entries(section, "users", "login", edit.name), entry]


def _revoke(record: JsonObject, edit: Edit) -> None:
    left = _entries(_part(record, "collaborators"), "users", "login", edit.name)
    record["collaborators"] = {"users": left} if left else None


def _declare(record: JsonObject, edit: Edit) -> None:
    entry: JsonObject = {"type": edit.name, "target": edit.when[-3:], "addedAt": edit.when}
    section = _part(record, "collaborationChannels")
    section["channels"] = [*_entries(section, "channels", "type", edit.name), entry]


def _undeclare(record: JsonObject, edit: Edit) -> None:
    left = _entries(_part(record, "collaborationChannels"), "channels", "type", edit.name)
    record["collaborationChannels"] = {"channels": left} if left else None


def _bind(record: JsonObject, edit: Edit) -> None:
    _part(record, "channels")[edit.name] = {"thread": edit.when, "opened": edit.when}


def _quieten(record: JsonObject, edit: Edit) -> None:
    channels = _part(record, "channels")
    if edit.name in channels:
        _part(channels, edit.name)["mode"] = edit.when


def _unbind(record: JsonObject, edit: Edit) -> None:
    channels = _part(record, "channels")
    channels.pop(edit.name, None)
    record["channels"] = channels or None


def _end(record: JsonObject, edit: Edit) -> None:
    record["ended"] = {"state": edit.name, "at": edit.when}


def _backfill(record: JsonObject, edit: Edit) -> None:
    ended = record.get("ended")
    if isinstance(ended, dict):
        record["ended"] = ended | {"terminal": {"by": edit.name}}


def _reopen(record: JsonObject, _: Edit) -> None:
    if "ended" in record:
        record["ended"] = None


def _ask(record: JsonObject, edit: Edit) -> None:
    record["lifecycle"] = {"asked": edit.name}


def _extend(record: JsonObject, edit: Edit) -> None:
    record[edit.name] = {"of": "tomorrow", "at": edit.when}


#: What a daemon does, and to what; a drop of the whole record stands beside these.
DEEDS: dict[str, tuple[Callable[[JsonObject, Edit], None], list[str]]] = {
    "command": (_command, ["start", "stop", "pause", "resume", "cleanup", "execute", "sing"]),
    "uncommand": (_uncommand, [""]),
    "see": (_see, ["2", "10", "IC_1", "IC_2"]),
    "prune": (_prune, ["2", "10", "IC_1", "IC_2"]),
    "attempt": (_attempt, ["2", "10", "IC_1"]),
    "give up": (_give_up, ["2", "10", "IC_1"]),
    "spawn": (_spawn, ["d-1", "d-2"]),
    "unspawn": (_unspawn, [""]),
    "retitle": (_retitle, ["a", "b"]),
    "forget": (_forget, [""]),
    "unlink": (_unlink, ["octo/lib#7"]),
    "grant": (_grant, ["dana", "eve", "finn"]),
    "revoke": (_revoke, ["dana", "eve", "finn"]),
    "declare": (_declare, ["slack", "teams"]),
    "undeclare": (_undeclare, ["slack", "teams"]),
    "bind": (_bind, ["slack", "teams"]),
    "quieten": (_quieten, ["slack", "teams"]),
    "unbind": (_unbind, ["slack", "teams"]),
    "end": (_end, ["merged", "closed"]),
    "backfill": (_backfill, ["octocat", "zo"]),
    "reopen": (_reopen, [""]),
    "ask": (_ask, ["once", "twice"]),
    "extend": (_extend, ["alpha", "zeta"]),
    "drop": (lambda record, _: record.clear(), [""]),
}

#: Few times, so that two machines often act at one time by their clocks.
WHENS = [f"2026-09-14T00:0{minute}:00Z" for minute in range(10)]

edits = st.sampled_from([(deed, name) for deed, (_, names) in DEEDS.items() for name in names])
histories = st.lists(
    st.builds(lambda edit, when: Edit(edit[0], edit[1], when), edits, st.sampled_from(WHENS)),
    max_size=5,
)


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    """A base and three versions grown from it."""
    base = grown(None, draw(histories) + draw(histories))
    return Past(base, *(grown(base, draw(histories)) for _ in "abc"))


def grown(record: JsonObject | None, history: Iterable[Edit]) -> JsonObject | None:
    """A record after some edits; the first one makes it."""
    found: JsonObject = json.loads(json.dumps(record or {}))
    for edit in history:
        found["ref"] = REF
        DEEDS[edit.deed][0](found, edit)
        if not any(value is not None for key, value in found.items() if key != "ref"):
            found.clear()
    return found or None


def _ledgers(record: JsonObject, edit: Edit) -> list[JsonObject]:
    """The item's ledger, and at some times the one of a pull request too."""
    item = _part(record, "poll")
    if edit.when < WHENS[6]:
        return [item]
    return [item, _part(_part(record, "pullRequests"), "octo/lib#7")]


def _part(record: JsonObject, name: str) -> JsonObject:
    found = record.get(name)
    if isinstance(found, dict):
        return found
    made: JsonObject = {}
    record[name] = made
    return made


def _list(record: JsonObject, name: str, *, but: str = "") -> list[JSON]:
    found = record.get(name)
    return [item for item in found if item != but] if isinstance(found, list) else []


def _entries(record: JsonObject, name: str, key: str, but: str) -> list[JSON]:
    return [item for item in _list(record, name) if isinstance(item, dict) and item.get(key) != but]
