"""The layers of docs/: who may import what, read from the source and not from memory."""

from __future__ import annotations

import ast
import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
STATE = ROOT / "state" / "handoff_state"
SYNC = ROOT / "sync" / "handoff_sync"
#: What stands in front of a person: it may print, read the environment and exit.
COMMAND_LINE = ("cli.py", "__main__.py", "commands/", "report/")

WALL_CLOCK = {
    "time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today",
}  # fmt: skip
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}
EXITS = {"sys.exit", "os._exit"}
PROCESSES = {"os.system", "os.popen", "os.fork", "os.execv", "os.spawnv", "os.posix_spawn"}
TERMINAL = {"rich_click", "click", "rich"}


@dataclass(frozen=True)
class Import:
    """One imported name. ``lazy``: in a function; ``typing``: for the type checker alone."""

    name: str
    line: int
    lazy: bool
    typing: bool

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}"


def imports(tree: ast.AST, *, lazy: bool = False, typing: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, lazy, typing)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                yield Import(full, node.lineno, lazy, typing)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.body:
                yield from imports(ast.Module([child], []), lazy=lazy, typing=True)
            yield from imports(ast.Module(node.orelse, []), lazy=lazy, typing=typing)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, lazy=lazy or inside, typing=typing)


def uses(tree: ast.Module, forbidden: set[str]) -> Iterator[tuple[str, int]]:
    """Where a dotted name is used, by its full name, an alias, or a name taken out of it."""
    known = dict(_aliases(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            head, dot, rest = ast.unparse(node).partition(".")
            full = known.get(head, head) + dot + rest
            dotted = [name for name in forbidden if "." in name and full.endswith(f".{name}")]
            hits = {*dotted, *({full} & forbidden)}
            yield from ((name, node.lineno) for name in hits)


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.asname, a.name) for a in node.names if a.asname)
        elif isinstance(node, ast.ImportFrom):
            yield from ((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)


def offences_of_state(path: Path) -> Iterator[str]:
    tree = parse(path)
    for found in imports(tree):
        if found.package not in {*sys.stdlib_module_names, "handoff_state"}:
            yield f"{place(path, found.line)}: imports {found.name}, not the standard library"
        if found.package == "subprocess":
            yield f"{place(path, found.line)}: starts processes"
    for name, line in uses(tree, WALL_CLOCK | ENVIRONMENT | EXITS | PROCESSES | {"print", "input"}):
        yield f"{place(path, line)}: uses {name}"


def offences_of_sync_core(path: Path) -> Iterator[str]:
    tree = parse(path)
    for found in imports(tree):
        if found.package in TERMINAL:
            yield f"{place(path, found.line)}: imports {found.name}, the command line's"
        if _is_command_line(found.name):
            yield f"{place(path, found.line)}: imports {found.name} from below"
    for name, line in uses(tree, ENVIRONMENT | EXITS | {"print", "input", "SystemExit"}):
        yield f"{place(path, line)}: uses {name}"


def _is_command_line(name: str) -> bool:
    names = {f"handoff_sync.{part.strip('/').removesuffix('.py')}" for part in COMMAND_LINE}
    return any(f"{name}.".startswith(f"{one}.") for one in names)


def is_core(path: Path) -> bool:
    inside = path.relative_to(SYNC).as_posix()
    return not any(inside == part or inside.startswith(part) for part in COMMAND_LINE if part)


def offences_of_engine(folder: Path, engine: str) -> Iterator[str]:
    """More than one module that imports an engine, and each way to load it at start-up."""
    found = [
        (path, one)
        for path in modules(folder)
        for one in imports(parse(path))
        if one.package == engine
    ]
    owners = sorted({path for path, _ in found})
    yield from (
        f"{place(path, one.line)}: imports {engine} besides {owners[0].name}"
        for path, one in found
        if path != owners[0]
    )
    if all(one.lazy or one.typing for _, one in found):
        return
    # Its owner loads it at once, so nobody may load its owner at once.
    owner = f"{folder.name}.{owners[0].stem}"
    for path in modules(folder):
        for one in imports(parse(path)):
            if f"{one.name}.".startswith(f"{owner}.") and not one.lazy and not one.typing:
                yield f"{place(path, one.line)}: loads {engine} at start-up"


def test_the_state_layer_needs_the_standard_library_and_nothing_of_its_surroundings() -> None:
    assert [one for path in modules(STATE) for one in offences_of_state(path)] == []


def test_the_core_of_sync_never_prints_reads_the_environment_or_exits() -> None:
    core = [path for path in modules(SYNC) if is_core(path)]
    assert core
    assert [one for path in core for one in offences_of_sync_core(path)] == []


@pytest.mark.parametrize("engine", ["pygit2", "dulwich"])
def test_one_module_at_most_imports_an_engine_and_none_at_start_up(engine: str) -> None:
    assert list(offences_of_engine(SYNC, engine)) == []


def test_pygit2_has_its_one_module() -> None:
    owners = {p for p in modules(SYNC) for one in imports(parse(p)) if one.package == "pygit2"}
    assert len(owners) == 1


def test_only_the_command_line_stands_above_the_core() -> None:
    assert [p.name for p in modules(SYNC) if p.name == "cli.py" and is_core(p)] == []
    assert is_core(SYNC / "plan.py")


# --- the checks themselves -------------------------------------------------------------------

BAD_STATE = [
    ("import pygit2", "imports pygit2"),
    ("from rich import print", "imports rich.print"),
    ("import subprocess", "starts processes"),
    ("import os\nx = os.environ['HOME']", "uses os.environ"),
    ("from os import getenv as g\ng('HOME')", "uses os.getenv"),
    ("import os as o\no.getenv('HOME')", "uses os.getenv"),
    ("import time\ntime.time()", "uses time.time"),
    ("from time import time\ntime()", "uses time.time"),
    ("import datetime\ndatetime.datetime.now()", "uses datetime.now"),
    ("from datetime import datetime\ndatetime.now()", "uses datetime.now"),
    ("from datetime import datetime as dt\ndt.utcnow()", "uses datetime.utcnow"),
    ("def f():\n    import click", "imports click"),
    ("import sys\nsys.exit(1)", "uses sys.exit"),
    ("print(1)", "uses print"),
]


@pytest.mark.parametrize(("source", "expected"), BAD_STATE, ids=[text for _, text in BAD_STATE])
def test_an_offence_is_named_by_file_and_line(source: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(f"# fine\n{source}\n")
    last = 1 + len(source.splitlines())
    found = list(offences_of_state(path))
    assert any(one.startswith(f"{path}:{last}: {expected}") for one in found)


GOOD_STATE = """
import os, time, handoff_state.codec
from typing import TYPE_CHECKING
from handoff_state.refs import as_ref
time.monotonic(), time.sleep(0), os.listdir("."), as_ref.print
def now(environ): return environ.get("HOME")
"""


def test_what_is_allowed_is_no_offence(tmp_path: Path) -> None:
    path = tmp_path / "good.py"
    path.write_text(GOOD_STATE)
    assert list(offences_of_state(path)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import rich.table", "imports rich.table"),
        ("from handoff_sync.report import terminal", "from below"),
        ("from handoff_sync import cli", "from below"),
        ("raise SystemExit(1)", "uses SystemExit"),
    ],
)
def test_the_core_may_not_reach_up(source: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(source)
    assert [one for one in offences_of_sync_core(path) if expected in one]


def engine_files(tmp_path: Path, write: Callable[[Path], object]) -> list[str]:
    folder = tmp_path / "pkg"
    folder.mkdir()
    write(folder)
    return [one.rpartition("/")[2] for one in offences_of_engine(folder, "pygit2")]


def test_a_second_module_with_an_engine_is_named(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "a.py").write_text("def f():\n    import pygit2\n")
        (folder / "b.py").write_text("def f():\n    from pygit2 import Oid\n")

    assert engine_files(tmp_path, write) == ["b.py:2: imports pygit2 besides a.py"]


def test_an_engine_loaded_at_start_up_is_named(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "a.py").write_text("import pygit2\n")
        (folder / "b.py").write_text("def f():\n    from pkg.a import x\n")
        (folder / "c.py").write_text("from pkg import a\n")

    assert engine_files(tmp_path, write) == ["c.py:1: loads pygit2 at start-up"]
