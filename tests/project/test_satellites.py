"""The core knows satellites by their rows alone: it imports none of them, and runs without any of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module

import pytest
from checkout import IMPORT
from test_layers import SOURCES, import_graph, module_name

from desdaemon.protocol.rows import Feature, Satellite
from desdaemon.protocol.satellites import LIBRARIES, SATELLITES

PROGRAM = """
from desdaemon.cli.main import program
program()
"""
WITHOUT = (
    """
GONE = {names}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if any((name + ".").startswith("desdaemon." + gone + ".") for gone in GONE):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Missing())
"""
    + PROGRAM
)
"""A program in which satellites cannot be imported, as if their folders were deleted."""

REQUESTS = ("hello", "legal", "status", "games.get", "people.get", "explain")


HELP = """
from desdaemon.cli.main import main
assert main(["--help"]) == 0
"""
"""Before the program, the help of all."""


def run(names: tuple[str, ...], *arguments: str, typed: str = "", before: str = "") -> str:
    code = WITHOUT.format(names=names).replace(PROGRAM, before + PROGRAM)
    command = (sys.executable, "-c", IMPORT + code, *arguments)
    done = subprocess.run(
        command, input=typed, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=True
    )
    return done.stdout


USES = {
    "clients.ggs": {"clients.gamefiles"},
    "clients.programs": {"clients.gamefiles"},
    "book.explorer": {"clients.gamefiles"},
    "engine.training": {"clients.gamefiles"},
    "cluster": {"engine.training"},
    "engine.bench": {"engine.counting"},
    "engine.counting": {"engine.training"},
    "engine.people": {"clients.gamefiles", "engine.training"},
    "clients.http_api": {"clients.web"},
    "book.bench": {"book.edax", "book.egaroucid"},
    "book.judge": {"clients.match"},
}
"""The satellites that use others, for games in GGF and bases of WTHOR, labels by a cluster, the speed of counts,
studies of the game tree, the fit of people's moves, an API on the gateway, the score of games.
"""


def test_nothing_imports_a_satellite_but_its_rows_table() -> None:
    # But for the type of `desdaemon.Explorer`, which programs import from there.
    graph = {name: others for name, others in import_graph().items() if name != "desdaemon"}
    satellite = {name: satellite_of(name) for name in graph}
    wrong = [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if satellite.get(other) not in ("", None, satellite[name], *USES.get(satellite[name], ()))
        and not (satellite[name] and satellite.get(other) in LIBRARIES)
    ]
    assert not wrong, "\n".join(wrong)


def satellite_of(module: str) -> str:
    """The satellite, or the library of satellites, that a module is in; "" for the core."""
    return next((one for one in (*SATELLITES, *LIBRARIES) if f"{module}.".startswith(f"desdaemon.{one}.")), "")


def test_the_core_names_no_protocol_of_a_gui() -> None:
    named = [
        path.name
        for path in SOURCES
        if not satellite_of(module_name(path))
        and re.search(r"gtp|nboard|xboard|cassio", path.read_text("utf-8"), re.IGNORECASE)
    ]
    assert not named


@pytest.mark.parametrize(("name", "kinds"), SATELLITES.items())
def test_the_table_has_the_kinds_of_rows_that_a_satellite_brings(name: str, kinds: str) -> None:
    brought: Satellite = import_module(f"desdaemon.{name}.rows").SATELLITE
    assert kinds.split() == [kind for kind in Satellite.fields_in_order if getattr(brought, kind)]


def test_a_row_takes_its_fields_alone() -> None:
    assert Feature("2.1", help="one") == Feature("2.1", "one") != Feature("2.1", "two")
    for values, named in ((("2.1", "one", "more"), {}), (("2.1",), {"hepl": "one"})):
        with pytest.raises(TypeError, match="Feature: expected at most revision help"):
            Feature(*values, **named)


ALL = (*SATELLITES, *LIBRARIES)


@pytest.mark.parametrize("names", [*((name,) for name in SATELLITES), ALL], ids=" ".join)
def test_the_core_runs_without_satellites(names: tuple[str, ...]) -> None:
    typed = "play f5\ngo\nhelp\noptions\nbook new 1 2\nquit\n"
    said = run(names, "-q", "-l", "1", "--config", "none", typed=typed, before=HELP)
    assert "plays" in said
    assert "internal error" not in said
    helped = said.partition("plays")[0]
    assert ("gtp" in helped) == ("guis" not in names)


@pytest.mark.parametrize("names", [("book.explorer",), ("engine.people",), ("engine.reasons",), ALL], ids=" ".join)
def test_requests_of_satellites_go_with_them(names: tuple[str, ...]) -> None:
    asked = "".join(json.dumps({"v": 1, "id": op, "op": op}) + "\n" for op in REQUESTS)
    replies = {
        reply["id"]: reply for line in run(names, "-json", typed=asked).splitlines() for reply in [json.loads(line)]
    }
    offered = replies["hello"]["data"]["ops"]
    assert ("games.get" in offered) == ("book.explorer" not in names)
    assert ("people.get" in offered) == ("engine.people" not in names)
    assert ("explain" in offered) == ("engine.reasons" not in names)
    unknown = {op for op, reply in replies.items() if reply.get("error", {}).get("code") == "unknown_op"}
    assert unknown == set(REQUESTS) - set(offered)
    assert "internal" not in str(replies)


@pytest.mark.parametrize("gone", sorted(set().union(*USES.values()) | set(LIBRARIES)))
def test_what_needs_a_deleted_satellite_says_so_in_a_line(gone: str) -> None:
    asked = """
from desdaemon.cli.main import main
from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS

for command in SUB_COMMANDS:
    status = main([*command.name.split(), "--help"])
    assert status in (0, 1), (command.name, status)
"""
    code = IMPORT + WITHOUT.format(names=(gone,)).replace(PROGRAM, asked)
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.splitlines()) <= {f"desdaemon: desdaemon.{gone} is not installed"}


def test_a_gui_whose_games_cannot_be_read_goes_on_without_them() -> None:
    said = run(("clients.gamefiles",), "-nboard", "--config", "none", typed="set game (;GM[Othello];)\nping 2\nquit\n")
    assert "desdaemon.clients.gamefiles is not installed" in said
    assert "pong 2" in said
