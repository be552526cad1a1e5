"""Who may import whom, and what a light command must not load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT

from desdaemon.protocol.satellites import SATELLITES

ORDER = """
    protocol.system  protocol.errors  protocol.texts  protocol.spelling  protocol.rows  protocol.satellites
    protocol.othello  protocol.wire.constants  protocol.wire.fields  protocol.wire.arguments
    protocol.commands.book_rows
    protocol.commands  protocol.command_line  protocol.games  protocol.dialects  protocol.wire  protocol

    engine.layout  engine.result  engine.compiler
    engine.exports  engine.limits  engine.memory  engine.probcut  engine.evaluation  engine.team
    engine.kernels  engine.search  engine.short_searches
    engine.warmup
    engine

    book.layout  book.errors  book.progress  book.exports  book.options  book.record  book.readings  book.kernels
    book.passes  book.chunks  book.games  book.changes  book.memory
    book.table  book.counts  book.negamax  book.book  book.storage  book.formats
    book.choose  book.editing  book.grade  book.summary  book.check  book.front  book

    core.threads  core.paths  core.settings  core.searchers  core.metrics  core.search
    core.books
    core.requests  core
    book.commands

    dialogue.interrupt  dialogue.clock  dialogue.game  dialogue.streams  dialogue.log_files
    dialogue.session  dialogue.terminal  dialogue.commands  dialogue.dialects  dialogue.configuration
    dialogue.text_sessions  dialogue.services  dialogue.json_lines  dialogue.stdio  dialogue

    server.transport  server  api
    clients.errors  clients.shapes  clients.results  clients.requests  clients.handle
    clients.connection  clients.asynchronous  clients.blocking  clients.arguments  clients.pages  clients.gamefiles
    clients.programs
    clients.match  clients.bot  clients.analysis  clients.web  clients  cli
    engine.training  engine.counting  engine.bench  cluster  batches  engine.people  engine.reasons
    book.edax  book.egaroucid  book.packed  book.bench  book.umigame
    book.reports  book.explorer  book.growth  book.judge  book.site  guis  clients.mcp  clients.http_api  extras
    __main__
"""
"""The parts, each with all that its prefix covers and no longer one does: a module imports what stands before it.

Imports for types and in functions count. What a table of names loads when it is asked for is no import: the dialects,
the sub-commands, the satellites.
"""
RANKS = ORDER.split()

THIRD_PARTY = {
    "daemon": {"zmq", "dask", "distributed", "psutil"},
    "clients": {"numpy", "zmq", "tornado", "mcp"},
    "book": {"numpy"},
    "engine": {"llvmlite", "numba", "numpy"},
    "protocol": {"msgpack", "psutil"},
}
COMPILER = {"llvmlite", "numba"}
PACKAGES = ("daemon", "protocol", "engine", "book", "clients")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
COMPILING = [
    ROOT / "engine/compiler/jit.py",
    ROOT / "engine/compiler/target.py",
    ROOT / "engine/compiler/inspect.py",
    *ROOT.glob("*/kernels/*.py"),
    *ROOT.glob("engine/counting/kernels/*.py"),
    *ROOT.glob("book/*/kernels.py"),
    ROOT / "engine/counting/studies.py",
    *ROOT.glob("engine/training/**/*.py"),
    *ROOT.glob("engine/people/fitting/*.py"),
]
HEAVY = (
    "desdaemon.engine.kernels",
    "desdaemon.book.kernels",
    *(f"desdaemon.book.{name}.kernels" for name in ("edax", "egaroucid", "growth", "packed", "reports")),
    "desdaemon.engine.counting.kernels",
    "desdaemon.engine.compiler.jit",
    "desdaemon.engine.training",
)
LIGHT = ("desdaemon.engine.training.labelling.chunks",)

AT_THE_PROMPT = """
    cli
    cli.arguments
    cli.main
    core
    core.books
    core.books.job_turns
    core.books.jobs
    core.books.service
    core.search
    core.search.loader
    core.settings
    dialogue
    dialogue.clock
    dialogue.configuration
    dialogue.dialects
    dialogue.dialects.text
    dialogue.game
    dialogue.interrupt
    dialogue.session
    dialogue.stdio
    dialogue.streams
    protocol
    protocol.commands
    protocol.commands.options
    protocol.commands.text
    protocol.dialects
    protocol.dialects.edax
    protocol.errors
    protocol.othello
    protocol.othello.notation
    protocol.othello.rules
    protocol.othello.scores
    protocol.othello.selectivity
    protocol.rows
    protocol.satellites
    protocol.spelling
    protocol.system
    protocol.system.folders
    protocol.system.interpreter
    protocol.system.logs
    protocol.system.output
    protocol.system.platform
    protocol.system.platform.posix
    protocol.version
"""
"""The program's modules that are imported before the first prompt; the rows of the satellites come to them."""
SLOW_TO_IMPORT = {
    *("argparse", "asyncio", "ctypes", "dataclasses", "inspect", "json", "logging", "msgpack", "numba", "numpy"),
    *("pathlib", "random", "shutil", "socket", "ssl", "subprocess", "tempfile", "tomllib", "traceback", "zmq"),
}


@cache
def imports(path: Path, *, anywhere: bool = True, types: bool = True) -> tuple[tuple[int, str], ...]:
    """Line and absolute name of every import.

    Without `anywhere` those in functions are left out, without `types` those under `if TYPE_CHECKING:`.
    """
    return tuple(_imports(path, anywhere=anywhere, types=types))


def _imports(path: Path, *, anywhere: bool, types: bool) -> Iterator[tuple[int, str]]:
    package = ["desdaemon", *path.relative_to(ROOT).parent.parts]
    if package[1] == "daemon":
        del package[1]
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        if isinstance(node, ast.If) and not types and ast.unparse(node.test) == "TYPE_CHECKING":
            pending.extend(node.orelse)
        elif anywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending.extend(ast.iter_child_nodes(node))


def rank(module: str) -> int:
    """The place in `RANKS` of the longest prefix of a module's absolute name."""
    name = module.removeprefix("desdaemon.")
    while name not in RANKS:
        assert name, f"{module} has no rank"
        name = name.rpartition(".")[0]
    return RANKS.index(name)


def module_name(path: Path) -> str:
    """The absolute name under which a file of the checkout is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "daemon" else parts
    return ".".join(("desdaemon", *(part for part in parts if part != "__init__")))


@cache
def import_graph() -> dict[str, set[str]]:
    """For each module the modules that it imports: at its top, in a function, or for types."""
    modules = {module_name(path): path for path in SOURCES}
    graph = {}
    for name, path in modules.items():
        found = set()
        for _, imported in imports(path):
            while imported and imported not in modules:
                imported = imported.rpartition(".")[0]
            found.add(imported)
        graph[name] = found - {"", name}
    return graph


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of modules each of which reaches all others of its set."""
    reached = {name: set(below) for name, below in graph.items()}
    growing = True
    while growing:
        growing = False
        for below in reached.values():
            size = len(below)
            below.update(*(reached[name] for name in tuple(below)))
            growing = growing or len(below) > size
    return {
        frozenset(other for other in below if name in reached[other])
        for name, below in reached.items()
        if name in below
    }


def test_modules_import_each_other_in_no_cycle() -> None:
    graph = import_graph()
    assert len(graph) == len(SOURCES)
    assert [sorted(cycle) for cycle in cycles(graph)] == []


def test_a_part_imports_what_stands_before_it() -> None:
    graph = {name: below for name, below in import_graph().items() if name != "desdaemon"}
    upwards = [
        f"{name} imports {other}"
        for name, below in graph.items()
        for other in below - {"desdaemon"}
        if rank(other) > rank(name)
    ]
    assert not upwards, "\n".join(upwards)
    assert {rank(name) for name in graph} == set(range(len(RANKS)))


def test_a_cycle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert cycles(graph) == {frozenset("bc")}


PATH = re.compile(r"`((?:daemon|protocol|engine|book|clients|docs|tests)/[\w./]*)`(?: \((`[^)]*`)\))?")
"""A path of the checkout in the document, and the names that stand behind it in brackets."""
NAMELESS = ("engine/layout.py", "book/layout.py", "clients/shapes.py")
"""Modules that are meant as a whole."""


def rows_of(heading: str) -> list[str]:
    """The rows of the first table below a heading of the document."""
    below = (ROOT / "docs" / "where.md").read_text("utf-8").split(f"## {heading}\n", 1)[1]
    table = below[below.index("\n|") :].split("\n\n", 1)[0]
    return [line for line in table.strip().splitlines()[2:] if line.startswith("|")]


def defined(path: Path) -> set[str]:
    """What a module defines: its functions, classes and constants, and the methods as `Class.method`."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


WHERE = rows_of("Where is ...")
MACHINES = rows_of("State machines")


@pytest.mark.parametrize("row", [*WHERE, *MACHINES], ids=lambda row: row.split("|")[1].strip())
def test_each_row_of_the_document_leads_to_what_it_tells(row: str) -> None:
    """Every path is there, and defines the names behind it; a module is named with what is to be found in it."""
    places = PATH.findall(row)
    assert places or "docs/glossary.md" in row or "build/" in row
    for place, names in places:
        path = ROOT / place
        assert path.exists(), f"{place} is not there"
        if path.suffix == ".py" and not place.startswith("tests/"):
            assert names or place in NAMELESS, f"{place}: nothing says what is in it"
        for name in re.findall(r"`([\w.]+)`", names):
            assert name in defined(path), f"{name} is not defined in {place}"


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_imports_of_other_projects_are_the_agreed_ones() -> None:
    known = {package: sys.stdlib_module_names | used | {"desdaemon"} for package, used in THIRD_PARTY.items()}
    wrong = [
        f"{label(path)}:{line} imports {module}"
        for path in SOURCES
        for line, module in imports(path)
        if module.split(".")[0] not in known[path.relative_to(ROOT).parts[0]]
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_compiler_loads_the_compiler() -> None:
    """Starting and searching with compiled code at hand must not wait for numba."""
    wrong = [
        f"{label(path)}:{line} imports {module}"
        for path in SOURCES
        if path not in COMPILING
        for line, module in imports(path, anywhere=False)
        if module.split(".")[0] in COMPILER or (module.startswith(HEAVY) and not module.startswith(LIGHT))
    ]
    assert not wrong, "\n".join(wrong)


def modules_after(code: str) -> set[str]:
    """The modules loaded when a fresh interpreter has run `code`, with the checkout as `desdaemon`."""
    shim = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import daemon; "
        f"sys.modules['desdaemon'] = daemon; daemon.__path__.append({str(ROOT)!r})\n"
    )
    tail = "\nprint('\\n' + ' '.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", shim + code + tail], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_clients_load_no_engine() -> None:
    loaded = modules_after("from desdaemon.clients import AsyncClient, Client, connect; import desdaemon.clients.shell")
    assert not loaded & {"numba", "numpy", "llvmlite", "tornado", "desdaemon.engine.search"}


def test_the_version_is_told_without_loading_anything_heavy() -> None:
    loaded = modules_after(
        "from desdaemon.cli.main import main\nsys.argv = ['desdaemon', '--version']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert not loaded & {"numba", "numpy", "llvmlite", "tornado", "asyncio", "argparse", "desdaemon.engine.search"}


def test_a_search_without_a_book_loads_no_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(ROOT / "daemon" / "__main__.py"), "-q", "-l", "1"],
        input="hint 1\nquit\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "desdaemon.engine.search" in loaded
    assert not loaded & {"numpy", "numba", "desdaemon.book.book"}


def test_the_first_prompt_waits_for_no_other_modules(tmp_path: Path) -> None:
    """The engine is loaded beside the dialogue, so that only what comes before the prompt delays it."""

    def loaded_before(program: list[str], end: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *program],
            input="quit\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
        )
        before, found, _ = done.stdout.partition(end)
        assert found, done.stdout
        return {line.rpartition("|")[2].strip() for line in before.splitlines() if line.startswith("import time:")}

    # What Python itself loads differs: under `make coverage` that is coverage, too.
    loaded = loaded_before([str(ROOT / "daemon" / "__main__.py"), "-q"], "\n>")
    loaded -= loaded_before(["-c", "print('\\nhere')"], "\nhere")
    own = {name.removeprefix("desdaemon.") for name in loaded if name.startswith("desdaemon.")}
    read = [name for name, kinds in SATELLITES.items() if "protocols" in kinds.split()]
    rows = {name for satellite in read for name in (satellite.partition(".")[0], satellite, f"{satellite}.rows")}
    assert own == set(AT_THE_PROMPT.split()) | rows
    assert not loaded & SLOW_TO_IMPORT


def test_tracked_files_name_no_machine() -> None:
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    forbidden = re.compile(rb"/(?:home|Users|root|work|opt|mnt)/\w|pypi[.]org|pythonhosted|index-url|[.]internal\b")
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path != Path(__file__) and b"\0" not in (data := path.read_bytes())[:8192]:
            found = forbidden.search(data)
            assert found is None, f"{name} contains {found[0]!r}"
