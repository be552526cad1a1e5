"""Growth by the games in which the other side plays as a search does: what is then in the book, stops, budgets."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from book_dialogue import BookDialogue
from toys import contents, game_positions, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.choose import MoveChoice, candidates
from desdaemon.book.editing.rounds import Worker, leaf_task
from desdaemon.book.errors import OutOfRange
from desdaemon.book.growth.answer import answer
from desdaemon.book.growth.learn import RememberedRounds
from desdaemon.protocol.othello.notation import parse_moves

DEPTH = 12
GAMES = ("f5d6c3d3", "f5f6e6f4", "f5d6c5f4")


def openings(book: Book) -> list[tuple[int, int]]:
    return [game_positions(book, parse_moves(game))[-1] for game in GAMES]


def answered(threads: int = 1, randomness: int = 0) -> Book:
    book = small_book(DEPTH)
    found = answer(book, openings(book), Worker(toy, threads=threads), 3, MoveChoice(randomness=randomness))
    assert found.finished
    assert found.added == len(book) - 1
    return book


def unknown(book: Book, position: tuple[int, int], own: bool, randomness: int = 0) -> list[tuple[int, int]]:
    """The positions in which the book has no move, in every game that the book's side may play from ``position``."""
    table = book.table
    if 64 - (position[0] | position[1]).bit_count() < book.options.min_empties - 1:
        return []
    if not table.moves(*position):
        return unknown(book, position[::-1], not own, randomness) if table.moves(*reversed(position)) else []
    if own:
        moves = [move.move for move in candidates(book, *position, MoveChoice(randomness=randomness))]
    else:
        # The other side's search sees the canonical board.
        position = table.canonical(*position)[:2]
        moves = [toy(*position, 3, 0)[0]]
    if not moves:
        return [position]
    return [lost for move in moves for lost in unknown(book, table.play(*position, move), not own, randomness)]


@pytest.mark.parametrize("randomness", [0, 2])
def test_the_book_knows_a_move_as_long_as_such_a_game_lasts(randomness: int) -> None:
    book = answered(randomness=randomness)
    for opening in openings(book):
        assert unknown(book, opening, True, randomness) == []
        assert unknown(book, opening, False, randomness) == []
    assert verify(book).clean
    assert not len(book.faults())
    assert not book.memo


def test_a_second_run_finds_nothing_and_threads_change_nothing() -> None:
    book = answered()
    assert contents(answered(threads=3)) == contents(book)
    before = contents(book)
    again = answer(book, openings(book), Worker(toy), 3, MoveChoice())
    assert (again.finished, again.added, again.searches) == (True, 0, 0)
    assert contents(book) == before


def test_another_run_searches_what_is_new_alone() -> None:
    """The other side's moves, which no position holds, are known as long as the book is open."""
    book, asked = small_book(DEPTH), list[tuple[int, ...]]()

    def noted(*question: int) -> tuple[int, int]:
        player, opponent, level, excluded = question
        asked.append(question)
        return toy(player, opponent, level, excluded)

    first, *others = openings(book)
    assert answer(book, [first], Worker(noted), 3, MoveChoice()).finished
    searched = len(asked)
    assert answer(book, [first, *others], Worker(noted), 3, MoveChoice()).finished
    assert len(asked) > searched
    assert len(set(asked)) == len(asked)


def test_no_more_replies_than_a_bound_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desdaemon.book.book._MOST_REPLIES", 3)
    book = answered()
    assert len(book.replies) == 3
    again = answer(book, openings(book), Worker(toy), 3, MoveChoice())
    assert (again.finished, again.added) == (True, 0)
    assert again.searches > 0
    assert len(book.replies) == 3


def test_lines_are_made_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million openings are no million lines of games in memory."""
    monkeypatch.setattr("desdaemon.book.editing.rounds._AHEAD", 2)
    begun, most = 0, 0
    book = small_book(DEPTH)

    def counted(line: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        nonlocal begun
        begun += 1
        return line

    rounds = RememberedRounds(book, Worker(toy))
    lines = (counted(rounds.leaf(task)) for _ in range(20) if (task := leaf_task(book, 0, 1)) is not None)
    for done, _ in enumerate(rounds.following(lines, 20)):
        most = max(most, begun - done)
    assert begun == 20
    assert most <= 4


@pytest.mark.parametrize("searches", [1, 5, 17])
def test_a_stopped_run_goes_on_to_the_same_book(searches: int) -> None:
    """Stopped again and again, each time after so many searches; none of them is made twice."""
    asked: list[tuple[int, int, int, int]] = []
    left = 0

    def limited(*question: int) -> tuple[int, int] | None:
        nonlocal left
        left -= 1
        if left < 0:
            return None
        player, opponent, level, excluded = question
        asked.append((player, opponent, level, excluded))
        return toy(*asked[-1])

    book = small_book(DEPTH)
    for _ in range(1000):
        left = searches
        if answer(book, openings(book), Worker(limited), 3, MoveChoice()).finished:
            break
        assert verify(book).clean
    assert contents(book) == contents(answered())
    assert len(set(asked)) == len(asked)


def test_with_room_for_few_positions_it_goes_on_in_parts() -> None:
    book = small_book(DEPTH)
    for _ in range(1000):
        before, worker = len(book), Worker(toy)
        worker.room = 4
        found = answer(book, openings(book), worker, 3, MoveChoice())
        assert len(book) - before <= 4
        assert verify(book).clean
        assert not len(book.faults())
        if found.finished:
            break
        assert len(book) - before == 4
    assert all(unknown(book, opening, own) == [] for opening in openings(book) for own in (True, False))


def test_levels_that_are_none_are_refused() -> None:
    for level in (-1, 61):
        with pytest.raises(OutOfRange, match="level"):
            answer(small_book(), [], Worker(toy), level, MoveChoice())


def test_the_command_reads_openings_from_files_of_games(dialogue: BookDialogue, tmp_path: Path) -> None:
    games = tmp_path / "games.txt"
    games.write_text("f5d6c3d3c4f4\nd3c5f6f5\nf5f6e6f4\n", encoding="utf-8")
    dialogue.say("book new 1 8")
    said = dialogue.say(f"book answer {games} --level 1 --plies 4 --played 2")
    assert "Book answer to level 1 in 1 opening...finished: " in said
    assert "Book answer to level 1 in 2 openings...finished: " in dialogue.say(
        f"book answer {games} --level 1 --plies 4"
    )
    assert "no errors" in dialogue.say("book verify")
    positions = len(dialogue.book)
    assert "no opening that 3 games have" in dialogue.refused(f"book answer {games} --level 1 --plies 4 --played 3")
    assert "2 games" not in dialogue.refused(f"book answer {tmp_path / 'none.txt'}")
    assert "0 to 60" in dialogue.refused(f"book answer {games} --level 61")
    assert len(dialogue.book) == positions
