"""How many names cross the walls between parts, and how many files of the core name a feature: few, so that a
part can be understood by its doors, and a feature by its folder.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from checkout import ROOT
from test_layers import SOURCES, imports, module_name, rows_of
from test_satellites import satellite_of

WALLS = {
    ("core", "book"): (25, 1),
    ("api", "book"): (5, 1),
    ("core", "engine"): (12, 8),
    ("dialogue", "core"): (46, 17),
    ("server", "core"): (26, 14),
}
"""The most names that one part takes from another, and the most modules that it takes them from. Satellites do not
count. The aims are met: 25 names of one module of the book for the core, and 12 of the engine.
"""

FEATURES = {
    "strength": (r"engine\.(people|policy|strength)|\bstrength\b(?!, as Edax)|human_move", "engine/people/"),
    "book growth": (r"\.growth\b", "book/growth/"),
    "cluster": (r"\bcluster\b", "daemon/cluster/"),
    "batches": (r"analyze\.batch|batch\.(results|forget)|batches: int|desdaemon\.batches", "daemon/batches/"),
    "matches": (r"clients\.match\b", "clients/match/"),
    "formats of books": (r"book\.(edax|egaroucid)\b|\begbk|\bdat_|book\.dat\b", "book/(edax|egaroucid)/"),
    "explorer": (r"explorer|games\.get|games-file|GamesIndex", "explorer"),
    "files of games": (r"\b(sgf|pgn|ggf|wthor|wtb|edx|ndjson)\b", "clients/gamefiles/"),
    "counting": (r"engine\.counting|engine/counting|\bstoner|count shapes", "engine/counting/"),
    "openings of XOT": (r"\bxot\b", "clients/gamefiles/"),
    "packed books": (r"book\.packed\b|PACKED_PAGE|known_row|packed_find|, \.packed|or \.packed", "packed"),
    "umigame's numbers": (r"umigame", "umigame"),
}
"""How a feature is named, and the files that are its own. docs/where.md says how many others of the core name it."""


@cache
def imported_names(part: str) -> list[tuple[str, str]]:
    """The modules that ``part`` without its satellites imports from, each with a name, "" for the module itself."""
    modules = {module_name(path) for path in SOURCES}
    found = []
    for path in SOURCES:
        importing = f"{module_name(path)}."
        if importing.startswith(f"desdaemon.{part}.") and not satellite_of(importing[:-1]):
            for _, imported in imports(path):
                module = imported
                while module and module not in modules:
                    module = module.rpartition(".")[0]
                found.append((module, imported.removeprefix(module).removeprefix(".")))
    return found


def crossing(part: str, other: str) -> set[tuple[str, str]]:
    """The modules of ``other`` that ``part`` imports from, each with a name."""
    return {(module, name) for module, name in imported_names(part) if f"{module}.".startswith(f"desdaemon.{other}.")}


@pytest.mark.parametrize("wall", WALLS, ids="-".join)
def test_no_more_names_cross_a_wall(wall: tuple[str, str]) -> None:
    crossed = crossing(*wall)
    names, modules = WALLS[wall]
    shown = "\n".join(sorted(f"{module} {name}" for module, name in crossed))
    assert len(crossed) <= names, shown
    assert len({module for module, _ in crossed}) <= modules, shown


def test_names_through_a_wall_are_counted() -> None:
    assert ("desdaemon.engine.search", "Searcher") in crossing("core", "engine")
    assert not crossing("core", "server")


@pytest.mark.parametrize("feature", FEATURES)
def test_no_more_files_name_a_feature_than_the_document_says(feature: str) -> None:
    pattern, own = FEATURES[feature]
    named = [
        name
        for path in SOURCES
        if not satellite_of(module_name(path))
        and not re.search(own, name := path.relative_to(ROOT).as_posix())
        and re.search(pattern, path.read_text("utf-8"), re.IGNORECASE)
    ]
    (row,) = [row for row in rows_of("Feet of features") if row.startswith(f"| {feature} |")]
    assert 0 < len(named) <= int(row.split("|")[-2]), "\n".join(named)
