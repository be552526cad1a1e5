"""How long a search to the end will take: guessed within a factor, told at a terminal alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout import ROOT
from dialogue import Dialogue

from desdaemon.core.search.loader import EngineSource, build_engine
from desdaemon.dialogue.commands import solve_time
from desdaemon.dialogue.commands.solve_time import FACTOR, nodes_a_second, nodes_to_solve, told
from desdaemon.dialogue.dialects.text import TextDialect
from desdaemon.dialogue.session import Session
from desdaemon.protocol.othello.obf import parse_problem
from desdaemon.protocol.system import logs, terminal

PROBLEM = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
SHOWN = "\r\x1b[K"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is shown on the line of progress, at a terminal of a slow machine."""
    found: list[str] = []
    monkeypatch.setattr(terminal, "watched", lambda: True)
    monkeypatch.setattr(terminal.platform, "escapes", lambda descriptor: True)
    monkeypatch.setattr(logs, "put", found.append)
    monkeypatch.setattr(solve_time, "nodes_a_second", lambda: 1000.0)
    return found


def dialogue(**settings: object) -> Dialogue:
    made = Dialogue(level=60, n_tasks=1, **settings)
    made.session = Session(made.session.settings, EngineSource(build_engine))
    made.text = TextDialect(made.session, made.output)
    made.say(f"setboard {PROBLEM}")
    return made


def test_most_searches_take_a_third_to_three_times_as_many_nodes_as_guessed(shared_data: Path) -> None:
    """Of fforum 40 to 59, picked for being hard and odd, 13 of 20."""
    note = (ROOT / "docs" / "notes" / "solved-by-problem.md").read_text("utf-8")
    published = re.findall(r"^\| \d+ \| \d+ \| [+-]\d+ \| \w\d \| ([\d,]+) \|", note, re.MULTILINE)
    nodes = [int(number.replace(",", "")) for number in published]
    lines = (shared_data / "problems" / "fforum-40-59.obf").read_text("utf-8").splitlines()
    problems = [problem for line in lines if (problem := parse_problem(line))]
    assert len(nodes) == len(problems) == 20
    ratios = [taken / nodes_to_solve(problem.position) for taken, problem in zip(nodes, problems, strict=True)]
    assert sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios) == 13


def test_the_measured_speed_is_plausible() -> None:
    assert 1 < nodes_a_second() == nodes_a_second() < 1e10


def test_times_are_told_in_words() -> None:
    assert [told(seconds) for seconds in (2, 41, 700, 8000, 3e6, 1e12)] == [
        "about 2 s (1 s to 6 s)",
        "about 40 s (14 s to 2 min)",
        "about 12 min (4 min to 35 min)",
        "about 2 h (45 min to 7 h)",
        "about 35 days (12 days to 105 days)",
        "more than 1000 days",
    ]


@pytest.mark.parametrize("command", ["go", "hint"])
def test_a_search_to_the_end_tells_its_time_until_its_result(command: str, shown: list[str]) -> None:
    dialogue(verbose=1).say(command)
    assert shown == [f"{SHOWN}search to the end: about 35 s (11 s to 100 s)", SHOWN]


@pytest.mark.needs("clients.gamefiles")
def test_a_file_of_problems_tells_the_time_of_each(tmp_path: Path, shown: list[str]) -> None:
    (tmp_path / "two.obf").write_text(f"{PROBLEM}\n{'X' * 58}OO---- X\n")
    dialogue(verbose=1).say(f"solve {tmp_path / 'two.obf'}")
    assert shown == [f"{SHOWN}problem 1, 14 empty squares, search to the end: about 35 s (11 s to 100 s)", SHOWN]


def test_other_searches_tell_no_time(shown: list[str]) -> None:
    for line in ("level 4", "selectivity 73", "move-time 1", "nodes 1000", "verbose 0"):
        talk = dialogue(verbose=1)
        talk.say(line)
        talk.say("go")
    assert shown == []


def test_without_a_terminal_nothing_is_told_or_measured(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "watched", lambda: False)
    monkeypatch.setattr(solve_time, "nodes_a_second", None)
    dialogue(verbose=1).say("go")
    assert shown == []
