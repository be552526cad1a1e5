"""The table of features in docs/book.md, carried out."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest
from book_dialogue import BookDialogue
from checkout import ROOT

from desdaemon.book.record import START
from desdaemon.protocol.commands.book import BOOK_COMMANDS

DOCUMENT = ROOT / "docs" / "book.md"
ROW = re.compile(r"^\| (.+?) \| (`.+`) \| `(.+)` \|$", re.MULTILINE)
GAMES = (
    "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1"
    "f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7a3a4a1a2c1h2h1g2b8a8g7h8h7h6",
    "f5f6e6f4e3c5c4e7c6",
)
STEPS = "learn 4 2 4 2 1\nlearn 5 1 1 1 2\n"

IN_FILES = {"new", "salvage", "reopen"}
ELSEWHERE = {"on", "off", "verbose", "diff", "extract", "problem", "feed-hash", "fill", "extend", "enumerate"}
"""Book commands that no feature of the table is about."""


def features() -> list[tuple[str, list[str], str]]:
    """What, commands, and a part of the last answer."""
    text = DOCUMENT.read_text("utf-8")
    part = re.search(r"<!-- features -->\n(.*)<!-- /features -->", text, re.DOTALL)
    assert part is not None
    found = [(what, re.findall(r"`([^`]+)`", commands), shows) for what, commands, shows in ROW.findall(part[1])]
    assert len(found) == len(part[1].splitlines()) - 2
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the document describes."""
    monkeypatch.chdir(tmp_path)
    made = BookDialogue()
    made.say("book new 2 8")
    made.say("book deviate 2 6")
    made.say("book save kept.book")
    made.say("book new 1 6")
    made.say("book deviate 4 8")
    made.say("book save other.dat")
    made.close()
    Path("games.txt").write_text("".join(f"{game}\n" for game in GAMES))
    Path("steps.txt").write_text(STEPS)
    Path("old.egbk").write_bytes(struct.pack("<iQQB", 1, *START, 64))
    return tmp_path


def test_every_feature_is_done_by_its_commands(folder: Path) -> None:
    wrong = []
    for number, (what, commands, shows) in enumerate(features()):
        name = f"my{number}.book"
        shutil.copy("kept.book", name)
        dialogue = BookDialogue()
        dialogue.say(f"book load {name}")
        answer, complaints = "", ""
        for command in commands:
            answer, complaint = dialogue.both(command)
            complaints += complaint
        if shows not in answer or "WARNING" in complaints:
            wrong.append(f"{what}: {shows!r} not in {answer!r} {complaints!r}")
        dialogue.close()
    assert not wrong, "\n".join(wrong)


def test_every_command_is_for_something() -> None:
    used = {command.split()[1] for _, commands, _ in features() for command in commands if command.startswith("book ")}
    assert {command.name for command in BOOK_COMMANDS} - used == IN_FILES | ELSEWHERE
