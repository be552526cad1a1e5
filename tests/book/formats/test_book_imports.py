"""What a file of another program does not say of the book, the forced passes it leaves out, unusual lines of text."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import contents, game_positions, small_book, spread, toy

from desdaemon.book.book import Book
from desdaemon.book.editing.add import add_positions, enumerate_book
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.errors import Unreadable
from desdaemon.book.formats import registry, text
from desdaemon.book.options import BookOptions


def with_games(count: int, *, level: int = 1, depth: int = 61) -> Book:
    """A book of whole random games, searched by the toy."""
    book = Book(BookOptions(level=level).at_depth(depth))
    positions = [key for seed in range(count) for key in game_positions(book, referee.random_moves(seed, 60))]
    add_positions(book, positions, Worker(toy))
    return book


# ------------------------------------------------------------------------------------------------ level and depth


@pytest.mark.needs("book.egaroucid")
@pytest.mark.compiled
def test_the_level_is_what_most_unfinished_positions_have(tmp_path: Path) -> None:
    """A finished game has level 60 in Egaroucid's files: it says nothing of the book."""
    book = with_games(2, level=3)
    assert any(kind == 2 for kind in book.table.kinds().tolist())
    for name in ("b.egbk3", "b.txt"):
        registry.save(tmp_path / name, book)
        assert registry.load(tmp_path / name).book.options.level == 3


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["b.egbk3", "b.txt", "b.dat", "b.book"])
@pytest.mark.parametrize("depth", [4, 9])
def test_a_book_comes_back_as_deep_as_it_was(name: str, depth: int, tmp_path: Path) -> None:
    book = small_book(depth=depth)
    spread(book, 1)
    assert min(entry[0].bit_count() + entry[1].bit_count() for entry in contents(book)) == 4
    registry.save(tmp_path / name, book)
    assert registry.load(tmp_path / name).book.options.depth == depth


# ------------------------------------------------------------------------------------------------ text


VARIANTS = (
    lambda line: line + "\n",
    lambda line: line + "\r\n",
    lambda line: line.lower() + "\n",
    lambda line: line.replace(" X,", "X,") + "\n",
    lambda line: line.replace(" X,", "  X ,") + "\n",
    lambda line: line.replace(",", ", ") + "\n",
    lambda line: line.replace("PA", "pass") + "\n",
    lambda line: line[:64].replace("-", ".", 20) + line[64:] + "\n",
    lambda line: line + "\n\n",
)


BOOK = with_games(2)


@given(st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=10, deadline=None)
def test_unusual_spellings_of_a_line_are_read_alike(
    tmp_path_factory: pytest.TempPathFactory, dice: random.Random, cut: bool
) -> None:
    lines = list(text.lines(BOOK))
    path = tmp_path_factory.getbasetemp() / "unusual.txt"
    content = "".join(dice.choice(VARIANTS)(line) for line in lines)
    path.write_text(content.rstrip("\n") if cut else content, newline="")
    imported = text.read(path)
    assert contents(imported.book) == contents(BOOK)
    assert imported.duplicates == 0


def test_repeated_lines_are_counted(tmp_path: Path) -> None:
    lines = list(text.lines(BOOK))
    (tmp_path / "b.txt").write_text("\n".join(lines + lines[:5]) + "\n")
    assert text.read(tmp_path / "b.txt").duplicates == 5


def test_a_wrong_line_far_into_the_file_is_named(tmp_path: Path) -> None:
    lines = list(text.lines(BOOK))
    for at in (0, len(lines) // 2, len(lines) - 1):
        wrong = [*lines[:at], lines[at].replace(" X,1,", " X,61,"), *lines[at + 1 :]]
        (tmp_path / "b.txt").write_text("\n".join(wrong) + "\n", newline="\n")
        with pytest.raises(Unreadable, match=f"line {at + 1}: the level 61") as caught:
            text.read(tmp_path / "b.txt")
        assert caught.value.offset == sum(len(line) + 1 for line in lines[:at])


def test_a_board_without_a_centre_is_no_board(tmp_path: Path) -> None:
    line = "X" + "-" * 63 + " X,1,--,-127\n"
    for content in (line, line + "-" * 100):
        (tmp_path / "b.txt").write_text(content)
        with pytest.raises(Unreadable, match="line 1: a centre square is empty"):
            text.read(tmp_path / "b.txt")


# ------------------------------------------------------------------------------------------------ work and memory


@pytest.mark.compiled
def test_a_text_goes_through_memory_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_PIECE", 1 << 15)
    path = tmp_path / "b.txt"
    book = enumerate_book(8, BookOptions(level=1, min_empties=52))
    text.write(path, book)
    text.read(path)
    tracemalloc.start()
    try:
        read = text.read(path).book
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(read) == len(book)
    assert most < read.table.memory + path.stat().st_size / 2
