"""Scores of different views and selectivities do not pass for one another: the type checker refuses it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import blocks
from programs import PICTURES, python_package

CHECKOUT = Path(__file__).resolve().parents[2]

HEAD = """\
from desdaemon.engine.limits import Limits
from desdaemon.engine.probcut import cut, table, DEFAULT
from desdaemon.engine.result import Line
from desdaemon.guis.codecs import gtp, nboard, xboard
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.scores import BlackScore, MoverScore, opposite, seen_by_black
from desdaemon.protocol.othello.selectivity import Selectivity, SelectivityIndex

def line() -> Line: ...
"""

# Every line is one mistake, with what mypy has to say of it.
MISUSE = {
    "Limits(8, 73)": 'has incompatible type "int"; expected "Selectivity"',
    "Limits(8, Selectivity(73).index)": 'has incompatible type "SelectivityIndex"; expected "Selectivity"',
    "cut(table(DEFAULT), 20, 8, Selectivity(73))": '"Selectivity"; expected "SelectivityIndex"',
    "Selectivity.at(3)": 'has incompatible type "int"; expected "SelectivityIndex"',
    "gtp.score_text(line().score)": 'has incompatible type "MoverScore"; expected "BlackScore"',
    "gtp.score_text(rules.final_score(*rules.START))": 'has incompatible type "MoverScore"; expected "BlackScore"',
    "nboard.search_line((), BlackScore(6), '8')": 'has incompatible type "BlackScore"; expected "MoverScore"',
    "xboard.thinking_line(8, -line().score, 1.0, 9, ())": 'has incompatible type "int"; expected "MoverScore"',
    "opposite(seen_by_black(line().score, True))": 'has incompatible type "BlackScore"; expected "MoverScore"',
    "Position(rules.START[0], rules.START[1])": 'Missing positional argument "black_to_move"',
}

USE = """\
Limits(8, Selectivity(73))
cut(table(DEFAULT), 20, 8, Selectivity(73).index)
gtp.score_text(seen_by_black(line().score, START.black_to_move))
xboard.thinking_line(8, opposite(line().score), 1.0, 9, ())
"""


PROGRAM = """\
from desdaemon import Analysis, BadInput, Board, Engine

def best(engine: Engine, text: str) -> str | None:
    try:
        found: Analysis = engine.analyze(text, depth=2)
    except BadInput as error:
        return str(error)
    return found.best.move if found.best else None

print(best(Engine(level=1), "f5d6"), Board("f5").legal)
"""


@pytest.fixture(scope="module")
def programs_of_users(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Examples, programs of the documents, one that uses the engine, and one that names what is not there; outside the
    checkout.
    """
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    for document in ("README.md", "docs/python.md", "docs/remote-analysis.md"):
        path = CHECKOUT / document
        shown = [block.text for block in blocks(path) if block.kind == "python"]
        assert shown
        for number, text in enumerate(shown):
            (folder / f"{path.stem.lower().replace('-', '_')}{number}.py").write_text(text)
    for example in (CHECKOUT / "clients" / "examples").glob("*.py"):
        (folder / example.name).write_text(example.read_text("utf-8"))
    mistaken = folder / "mistaken.py"
    mistaken.write_text("from desdaemon import Bord\n")
    return [*sorted(path for path in folder.glob("*.py") if path != mistaken), mistaken]


@pytest.fixture(scope="module")
def complaints(programs_of_users: list[Path]) -> list[str]:
    """What the type checker has to say of users' programs, of misuse and of use, asked once: most of its time is for
    the modules that all of them import.
    """
    folder = programs_of_users[0].parent
    misuse, use = folder / "misuse.py", folder / "use.py"
    misuse.write_text(HEAD + "".join(f"{code}\n" for code in MISUSE))
    use.write_text(HEAD + USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(folder / "cache")]
    command += ["--no-error-summary", "--hide-error-context", *map(str, programs_of_users), str(misuse), str(use)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert not found.stderr
    return [line for line in found.stdout.splitlines() if "[empty-body]" not in line]


@pytest.mark.compiled
def test_the_type_checker_refuses_misuse(complaints: list[str]) -> None:
    assert not [complaint for complaint in complaints if complaint.startswith("use.py")]
    first = HEAD.count("\n") + 1
    for number, (code, expected) in enumerate(MISUSE.items(), first):
        [complaint] = [text for text in complaints if text.startswith(f"misuse.py:{number}: error: ")]
        assert expected in complaint, code
    assert len([text for text in complaints if text.startswith("misuse.py")]) == len(MISUSE)


@pytest.mark.compiled
def test_programs_of_users_pass_mypy(complaints: list[str]) -> None:
    others = [line for line in complaints if "error:" in line and not line.startswith(("misuse.py", "use.py"))]
    assert others == [
        'mistaken.py:1: error: Module "desdaemon" has no attribute "Bord"; maybe "Board"?  [attr-defined]'
    ]


@pytest.mark.slow
def test_programs_of_users_pass_pyright(programs_of_users: list[Path]) -> None:
    python_package("pyright", "pyright")
    folder = programs_of_users[0].parent
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *map(str, programs_of_users)]
    environment = {**os.environ, "PYTHONPATH": str(PICTURES / "python")}
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    (complaint,) = [line for line in checked.stdout.splitlines() if " - error: " in line]
    assert "mistaken.py:1:23" in complaint


def test_the_type_checker_looks_at_all_systems() -> None:
    makefile = (CHECKOUT / "Makefile").read_text("utf-8")
    assert "\nlint: style types-linux types-darwin types-win32\n" in makefile
    tested = makefile.partition("\ntest: ")[2].partition("\ntest-core:")[0]
    assert " types-linux names-win32 " in tested
    assert "\n\t$(BIN)/mypy --platform $* " in makefile.partition("\ntypes-%:")[2]
    assert f" --config-file {NAMES_ELSEWHERE.relative_to(CHECKOUT)}\n" in makefile.partition("\nnames-%:")[2]


NAMES_ELSEWHERE = CHECKOUT / "tests" / "support" / "names_elsewhere.ini"

# Every line asks for something that Windows lacks, with what mypy has to say of it.
LACKED = {
    "os.fork()": 'Module has no attribute "fork"',
    "os.kill(1, signal.SIGKILL)": 'Module has no attribute "SIGKILL"',
    "fcntl.flock(0, 0)": 'Module has no attribute "flock"',
    "numpy.zeros(os.getuid())": 'Module has no attribute "getuid"',
}


@pytest.mark.compiled
@pytest.mark.posix
def test_what_windows_lacks_is_refused_unless_it_is_guarded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    head = "import fcntl, os, signal, sys\nimport numpy\n"
    guarded = "".join(f"    {code}\n" for code in LACKED)
    program.write_text(f"{head}if sys.platform != 'win32':\n{guarded}" + "".join(f"{code}\n" for code in LACKED))
    command = [sys.executable, "-m", "mypy", "--platform=win32", "--config-file", str(NAMES_ELSEWHERE)]
    command += ["--no-error-summary", f"--cache-dir={tmp_path / 'cache'}", str(program)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT).stdout.splitlines()
    first = 4 + len(LACKED)
    for number, (complaint, expected) in enumerate(zip(found, LACKED.values(), strict=True), first):
        assert f":{number}: error: {expected}" in complaint
