"""docs/book-statements.md: every row is shown by its commands."""

from __future__ import annotations

import random
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import referee
from book_dialogue import BookDialogue
from checkout import ROOT
from documents import tables
from toys import canonical, dat_file, dat_record

from desdaemon.book.record import START
from desdaemon.protocol.commands.book import BOOK_COMMANDS

pytestmark = [pytest.mark.needs("book.growth"), pytest.mark.needs("book.reports")]

DOCUMENT = ROOT / "docs" / "book-statements.md"
COMMAND = re.compile(r"`([^`]+)`(?: → (.+))?")
FACT = re.compile(r"(no )?`([^`]+)`")

UNSHOWN = {"answer", "salvage", "reopen", "verbose", "import", "feed-hash"}
"""Book commands that no statement is about."""


class Row(NamedTuple):
    """A statement, and its commands, each with the parts that its answer has or, with False, lacks."""

    statement: str
    steps: list[tuple[str, list[tuple[bool, str]]]]


def marked(name: str) -> Iterator[list[list[str]]]:
    """The cells of the tables between two marks of a name, without their heads."""
    for part in re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", DOCUMENT.read_text("utf-8"), re.DOTALL):
        for _, lines in tables(part):
            yield [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def steps(cell: str) -> list[tuple[str, list[tuple[bool, str]]]]:
    """The commands of a cell with their facts. Raises AssertionError where it has anything else."""
    found = []
    for text in cell.split("<br>"):
        command = COMMAND.fullmatch(text)
        assert command, text
        facts = FACT.findall(command[2] or "")
        assert ", ".join(f"{no}`{fact}`" for no, fact in facts) == (command[2] or ""), text
        found.append((command[1], [(not no, fact) for no, fact in facts]))
    return found


*NUMBERED, BESIDES = marked("statements")
ROWS = [Row(cells[1], steps(cells[2])) for table in NUMBERED for cells in table]
ROWS += [Row(cells[0], steps(cells[1])) for cells in BESIDES]


def lopsided_games() -> list[str]:
    """Twelve random games that White wins after f5 d6, and twelve that Black wins after f5 f6."""
    rng = random.Random(1)
    games = []
    for reply, black_wins in (("d6", False), ("f6", True)):
        wanted = len(games) + 12
        while len(games) < wanted:
            cells, moves, black = referee.start(), ["f5", reply], True
            for move in moves:
                cells, black = referee.play(cells, referee.square(move)), not black
            while not referee.game_over(cells):
                legal = referee.legal_moves(cells)
                if legal:
                    moves.append(referee.name(rng.choice(legal)).lower())
                    cells = referee.play(cells, referee.square(moves[-1]))
                else:
                    cells = referee.passed(cells)
                black = not black
            score = referee.final_score(cells) if black else -referee.final_score(cells)
            if score and (score > 0) == black_wins:
                games.append("".join(moves))
    return games


def write_binaries() -> None:
    """Write what no command makes: files of Egaroucid's, and one with a forged score."""
    Path("old.egbk").write_bytes(struct.pack("<iQQB", 1, *START, 64))
    Path("old.egbk2").write_bytes(b"DICUORAGE\x02" + struct.pack("<iQQbbb", 1, *START, 2, 15, 0))
    after = canonical(*referee.to_bits(referee.play(referee.start(), referee.square("d3"))))
    links = b"\xff\x13\xff\x1a\xff\x25\xff\x2c"
    records = dat_record(*START, links=links, leaf=b"\x82\x41") + dat_record(*after, leaf=b"\x01\x2b")
    dat_file(Path("export.dat"), records, 2)
    forged = bytearray(Path("other.dat").read_bytes())
    start = forged.index(struct.pack("<QQ", *START))
    forged[start + 32 : start + 34] = struct.pack("<h", 33)
    Path("forged.dat").write_bytes(forged)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the document describes."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        [table] = marked("files")
        made = BookDialogue()
        for name, content in table:
            parts = re.findall(r"`([^`]+)`", content)
            if parts and parts[0].startswith("book "):
                for command in parts:
                    made.say(command)
            elif parts and name.endswith(".txt`"):
                Path(name.strip("`")).write_text("".join(f"{line}\n" for line in parts))
        made.close()
        Path("lopsided.txt").write_text("".join(f"{game}\n" for game in lopsided_games()))
        write_binaries()
        assert sorted(path.name for path in folder.iterdir() if path.suffix not in (".lock", ".journal")) == sorted(
            name for cell, _ in table for name in re.findall(r"`([^`]+)`", cell)
        )
    return folder


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(1, len(ROWS) + 1)])
def test_a_statement_is_shown_by_its_commands(
    row: Row, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    dialogue = BookDialogue()
    dialogue.say("book load my.book")
    try:
        for command, facts in row.steps:
            answered, complaint = dialogue.both(command)
            answer = answered + complaint
            for there, fact in facts:
                assert (fact in answer) == there, f"{row.statement}: {command}: {fact}: {answer}"
            assert not complaint or any(fact in complaint for there, fact in facts if there), complaint
    finally:
        dialogue.close()


def test_the_statements_are_numbered() -> None:
    assert [cells[0] for table in NUMBERED for cells in table] == [str(number) for number in range(1, 87)]


def test_every_row_looks_for_something() -> None:
    for row in ROWS:
        assert any(there for _, facts in row.steps for there, _ in facts), row.statement


def test_every_command_is_for_something() -> None:
    used = set(re.findall(r"`book ([\w-]+)", DOCUMENT.read_text("utf-8")))
    assert {command.name for command in BOOK_COMMANDS} - used == UNSHOWN
