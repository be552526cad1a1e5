"""Public collections of games and problems are read whole: as many games, moves and complaints as there are.

The figures are those of this project's reference data; without it the tests are skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from desdaemon.clients.web.pasted import parse_pasted
from desdaemon.protocol.games.bases import read_games
from desdaemon.protocol.othello.obf import parse_problem, problem_lines
from desdaemon.protocol.othello.rules import PASS

GAMES = {
    "edax-books/games.txt": (4, 35, 1),
    "edax-books/passgames.txt": (3, 180, 0),
    "pgn/WTHOR-1990-r.pgn.xz": (2986, 178469, 0),
    "pgn/WTH_1990-python.pgn.xz": (2986, 178469, 0),
    "transcripts/nboard_game.ggf": (1, 60, 0),
    "transcripts/quarry_game.sgf": (1, 60, 0),
    "wthor/PLAYOK_2023.wtb": (54366, 3095108, 0),
    "wthor/WTH_1977.wtb": (12, 719, 0),
    "wthor/WTH_1978.wtb": (8, 479, 0),
    "wthor/WTH_1979.wtb": (11, 659, 0),
    "wthor/WTH_1980.wtb": (160, 9552, 0),
    "wthor/WTH_1981.wtb": (153, 9055, 0),
    "wthor/WTH_1982.wtb": (110, 6579, 0),
    "wthor/WTH_1983.wtb": (199, 11904, 0),
    "wthor/WTH_1984.wtb": (587, 35040, 0),
    "wthor/WTH_1985.wtb": (954, 57062, 0),
    "wthor/WTH_1986.wtb": (1440, 86131, 0),
    "wthor/WTH_1987.wtb": (1386, 82990, 0),
    "wthor/WTH_1988.wtb": (1823, 109047, 0),
    "wthor/WTH_1989.wtb": (2186, 130651, 0),
    "wthor/WTH_1990.wtb": (2986, 178469, 0),
    "wthor/WTH_1991.wtb": (3152, 188385, 0),
    "wthor/WTH_1992.wtb": (3347, 199902, 0),
    "wthor/WTH_1993.wtb": (3484, 208313, 0),
    "wthor/WTH_1994.wtb": (4343, 259288, 0),
    "wthor/WTH_1995.wtb": (4968, 296879, 0),
    "wthor/WTH_1996.wtb": (5852, 350204, 0),
    "wthor/WTH_1997.wtb": (7681, 460055, 0),
    "wthor/WTH_1998.wtb": (8077, 483906, 0),
    "wthor/WTH_1999.wtb": (7685, 459945, 0),
    "wthor/WTH_2000.wtb": (4253, 254140, 0),
    "wthor/WTH_2001.wtb": (5575, 334019, 0),
    "wthor/WTH_2002.wtb": (5423, 324877, 0),
    "wthor/WTH_2003.wtb": (3858, 231034, 0),
    "wthor/WTH_2004.wtb": (9113, 546405, 0),
    "wthor/WTH_2005.wtb": (4199, 251430, 0),
    "wthor/WTH_2006.wtb": (2942, 176045, 0),
    "wthor/WTH_2007.wtb": (2478, 148349, 0),
    "wthor/WTH_2008.wtb": (2232, 133538, 0),
    "wthor/WTH_2009.wtb": (4348, 260450, 0),
    "wthor/WTH_2010.wtb": (2172, 129995, 0),
    "wthor/WTH_2011.wtb": (1891, 113229, 0),
    "wthor/WTH_2012.wtb": (2208, 132061, 0),
    "wthor/WTH_2013.wtb": (2396, 143410, 0),
    "wthor/WTH_2014.wtb": (1817, 108768, 0),
    "wthor/WTH_2015.wtb": (1926, 115235, 0),
    "wthor/WTH_2016.wtb": (2013, 120466, 0),
    "wthor/WTH_2017.wtb": (2449, 146450, 0),
    "wthor/WTH_2018.wtb": (2429, 145146, 0),
    "wthor/WTH_2019.wtb": (1983, 118590, 0),
    "wthor/WTH_2020.wtb": (896, 53613, 0),
    "wthor/WTH_2021.wtb": (680, 40767, 0),
    "wthor/WTH_2022.wtb": (1374, 82166, 0),
    "wthor/WTH_2023.wtb": (2478, 148311, 0),
    "wthor/WTH_2024.wtb": (2891, 173010, 0),
    "wthor/WTH_2025.wtb": (2920, 174481, 0),
}
"""Games, moves without passes, and complaints of each file."""

PROBLEMS = {
    "problems/fforum-1-19.obf": (19, 145),
    "problems/fforum-20-39.obf": (20, 182),
    "problems/fforum-40-59.obf": (20, 211),
    "problems/fforum-60-79.obf": (20, 219),
    "problems/hard-20.obf": (276, 2525),
    "problems/hard-25.obf": (311, 3274),
    "problems/midgame-8.obf": (8, 82),
}
"""Problems and scored moves of each file."""


def path_of(folder: Path, name: str) -> Path:
    if not (folder / name).exists():
        pytest.skip(f"needs {name}")
    return folder / name


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_a_collection_has_its_games(name: str, shared_data: Path) -> None:
    games = moves = 0
    complaints: list[str] = []
    for game in read_games(str(path_of(shared_data, name)), complaints.append):
        games += 1
        moves += sum(played.move != PASS for played in game.record.moves)
    assert (games, moves, len(complaints)) == GAMES[name]


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_collection_has_its_problems(name: str, shared_data: Path) -> None:
    lines = path_of(shared_data, name).read_text().splitlines()
    problems = [problem for _, line in problem_lines(lines) if (problem := parse_problem(line))]
    assert (len(problems), sum(len(problem.scores) for problem in problems)) == PROBLEMS[name]


@pytest.mark.parametrize("name", [name for name in GAMES if not name.endswith((".wtb", ".xz"))])
def test_a_pasted_collection_is_that_of_its_file(name: str, shared_data: Path) -> None:
    path = path_of(shared_data, name)
    complaints: list[str] = []
    read = [game.record for game in read_games(str(path), complaints.append)]
    assert [game.record for game in parse_pasted(path.read_bytes(), path.name, complaints.append)] == read
