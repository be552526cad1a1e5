"""The programs of driving_programs.txt with desdaemon in the place of their engine."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Timer
from typing import NamedTuple

import pytest
from live import Live

from desdaemon.protocol.othello.notation import parse_board, square_text

OPENING = "---------------------------OX------XO---------------------------"
PASS = f"OOOOOOOO{6 * 'XXXXXXXO'}-XXXXXXO X"
PROBLEM = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
DISCS = [(name, square) for name in ("black", "white") for square in range(64)]

VALUES = {
    "start": f"{OPENING} X",
    "glued": f"{OPENING}X",
    "pass": PASS,
    "discs": " ".join(f"{name[0]} {square_text(s)}" for name, s in DISCS if getattr(parse_board(PASS), name) >> s & 1),
    "last": f"{62 * 'X'}O- X",
    "problem": f"{PROBLEM};",
    "file": "problems.obf",
    # The board that Edax shows before its prompt, to the line that programs wait for.
    "board": r"  A B C D E F G H {12}BLACK {12}A  B .*  A B C D E F G H {12}WHITE {12}A  B  C  D  E  F  G  H\n\n",
}
HANGS_S = 60


class Talk(NamedTuple):
    """What a program does; ``steps`` have a mark and a text."""

    name: str
    steps: list[tuple[str, str]]


def talks(path: Path) -> list[Talk]:
    """Read a file such as driving_programs.txt."""
    text = path.read_text("utf-8")
    for name, value in VALUES.items():
        text = text.replace(f"{{{name}}}", value)
    found: list[Talk] = []
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            found.append(Talk(rest, []))
        elif found and rest:
            found[-1].steps.append((mark, rest))
    return found


def name(talk: Talk) -> str:
    """The name of its test."""
    return re.split("[:,]", talk.name)[0]


def drive(talk: Talk) -> None:
    """Start the program and do what the other end does."""
    Path(VALUES["file"]).write_text(f"{PROBLEM}; G8:+18;\n{PROBLEM}; G8:+18;\n")
    errors = "".join(text for mark, text in talk.steps if mark == "!")
    with Live(*next(text for mark, text in talk.steps if mark == "$").split()) as live:
        timer = Timer(HANGS_S, live.process.kill)
        timer.start()
        assert live.process.stdout is not None
        for mark, text in talk.steps:
            if mark == ">":
                live.send(f"{text}\n".encode())
            elif mark == "<":
                seen, wanted = b"", re.compile(text.encode(), re.DOTALL)
                while not wanted.search(seen):
                    byte = live.process.stdout.read(1)
                    assert byte, f"{talk.name} waits for {text} after {seen.decode()}"
                    seen += byte
        _, err, status = live.end()
        timer.cancel()
    assert status == 0
    assert re.fullmatch(errors, err.decode())


def _solves(talk: Talk) -> bool:
    return any(mark == "$" and "-solve" in text for mark, text in talk.steps)


TALKS = [
    pytest.param(talk, marks=pytest.mark.needs("clients.gamefiles")) if _solves(talk) else talk
    for talk in talks(Path(__file__).with_name("driving_programs.txt"))
]


@pytest.mark.parametrize("talk", TALKS, ids=name)
def test_the_driver_finds_the_line_it_waits_for(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drive(talk)
