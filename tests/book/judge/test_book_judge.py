"""Two books against each other: who wins, what is told of their lines, and that nothing but the seed decides."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from toys import create_store, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.choose import MoveChoice
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.growth.grow import deviate
from desdaemon.book.judge import games
from desdaemon.book.judge.account import Account, data
from desdaemon.book.judge.cli import main
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import START, Position, parse_board, parse_move, parse_moves

pytestmark = pytest.mark.needs("book.growth")

LATE = parse_board("--OOO-X---OOOOOOXXOXXX--XXXXXOXOXXXXXOOXXOXXXXOXXOOOOOXXXOOOOXXX X")
LOST = -2
"""The exact score of f1 there, the only losing move; the best one wins by 22."""


def line_book(line: GameRecord, plies: slice) -> Book:
    """A book that knows some moves of a line, with made-up scores of 40 discs, and nothing else."""
    book = Book()
    for position, played in [*zip(line.positions, line.moves, strict=False)][plies]:
        edit(book, position.player, position.opponent, played.move, 40)
        edit(book, position.player, position.opponent, None, 40)
    return book


def record(text: str, initial: Position = START) -> GameRecord:
    return GameRecord(initial, tuple(PlayedMove(move, 0.0) for move in parse_moves(text)))


def grown(depth: int = 5, relative: int = 2) -> Book:
    made = small_book(depth)
    deviate(made, START[:2], Worker(toy), relative, 8)
    return made


@pytest.fixture(autouse=True)
def quickly_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "EXACT_EMPTIES", 12)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("books")
    paths = folder / "first.book", folder / "second.book"
    for path, book in zip(paths, (grown(), grown(4, 0)), strict=True):
        create_store(path, book).close()
    return str(paths[0]), str(paths[1])


def test_a_book_with_a_losing_line_alone_loses() -> None:
    books = line_book(record("f1", LATE), slice(1)), Book()
    opening = GameRecord(LATE, ())
    worker = Worker(Searches())
    played = [*games.games(books, [opening], 1, games.Terms(10, MoveChoice(), 1), worker)]
    # As Black the first book plays the losing move; as White it meets the engine's best.
    assert [game.record.final.black.bit_count() > 32 for game in played] == [False, True]
    account = data(Account(("a", "b"), played, [opening], ([], [])), {})
    assert account["pairs"] == (1, 0, 0, 0, 0)
    assert account["points"]["mean"] == 0
    assert [book["results"] for book in account["books"]] == [(0, 0, 2), (2, 0, 0)]
    # The line of one move was left after it, and promised 40 discs.
    line = played[0].lines[0]
    assert (line.last, line.promised) == (1, 40)
    assert line.score is not None
    assert line.score <= LOST
    (promise,) = games.promises(played, 0, 5)
    assert promise == (LATE.after(parse_move("f1")), True, 40)
    assert [*games.losses([promise], worker)] == [40 - LOST]
    assert games.promises(played, 1, 5) == []


def test_equal_books_play_each_game_twice() -> None:
    book = grown()
    openings = [*games.starts((book, book), 6, 3, seed=5)]
    played = [*games.games((book, book), openings, 12, games.Terms(1, MoveChoice(randomness=2), 1), Worker(Searches()))]
    assert [game.record for game in played[::2]] == [game.record for game in played[1::2]]
    account = data(Account(("a", "b"), played, openings, ([], [])), {})
    assert account["pairs"] == (0, 0, 12, 0, 0)
    assert account["points"]["mean"] == 0.5
    # Chances between a book's moves differ from pair to pair.
    assert len({game.record for game in played}) > 6


def test_each_book_is_played_and_left_where_it_ends() -> None:
    line = record("f5d6c3d3c4f4")
    books = line_book(line, slice(0, None, 2)), line_book(line, slice(1, None, 2))
    # The first move has four mirror images in every book.
    opening = line._replace(moves=line.moves[:1])
    played = next(games.games(books, [opening], 1, games.Terms(1, MoveChoice(), 1), Worker(toy)))
    assert played.record.moves[:6] == line.moves
    assert [one.last for one in played.lines] == [5, 6]
    assert [one.left for one in played.lines] == [6, 7]
    for one, end in zip(played.lines, (6, 7), strict=True):
        position = played.record.positions[end]
        assert one.score == toy(position.player, position.opponent, 1, 0)[1]
        assert one.promised == 40
        assert position.empties == 60 - end


def test_starts_follow_both_books_in_turn_and_differ() -> None:
    lines = record("f5d6c3d3"), record("f5f6e6f4")
    books = line_book(lines[0], slice(4)), line_book(lines[1], slice(4))
    found, again, other = ([*games.starts(books, 30, 4, seed)] for seed in (2, 2, 3))
    assert [*map(games.key_of, found)] == [*map(games.key_of, lines)]
    assert found == again
    # One mirror image of the first move or another.
    assert found != other
    # Without a book all moves are drawn; there are three different ones after two plies.
    assert len([*games.starts((Book(), Book()), 9, 2)]) == 3


def test_the_seed_decides_and_the_threads_do_not(files: tuple[str, str], tmp_path: Path) -> None:
    accounts = []
    for number, more in enumerate((("--threads", "1"), ("--threads", "3"), ("--seed", "2"))):
        path = tmp_path / f"{number}.json"
        games_asked = ["--level", "1", "--pairs", "4", "--plies", "2", "--exact", "2"]
        assert main([*files, *games_asked, "--json", str(path), *more]) == 0
        accounts.append(path.read_bytes())
    assert accounts[0] == accounts[1] != accounts[2]
    account = json.loads(accounts[0])
    assert account["games"] == sum(account["books"][0]["results"]) == len(account["played"]) == 8
    assert account["stopped"] is False
    assert [book["name"] for book in account["books"]] == ["first.book", "second.book"]
    assert all(1 <= book["exact"]["positions"] <= 2 for book in account["books"])


def test_the_table_tells_points_lines_and_promises(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([files[0], files[0], "--level", "1", "--pairs", "3", "--plies", "2", "--exact", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{files[0]} against {files[0]}: level 1, seed 1\n")
    assert f"points of {files[0]}: 50.0 %, 95 % from " in said
    assert "pairs with 0, 0.5, 1, 1.5, 2 points: 0 0 3 0 0\n" in said
    assert said.count(" in 1 line, solved at 22 empty squares\n") == 2


def test_games_begin_at_the_positions_of_a_file(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "games.txt").write_text("f5d6c3d3c4f4\nf5f6e6f4\n")
    path = tmp_path / "out.json"
    begin = ["--openings", str(tmp_path / "games.txt"), "--plies", "3", "--pairs", "3"]
    assert main([*files, "--level", "1", *begin, "--json", str(path)]) == 0
    moves = [game["moves"][:6].lower() for game in json.loads(path.read_bytes())["played"]]
    assert moves == ["f5d6c3", "f5d6c3", "f5f6e6", "f5f6e6", "f5d6c3", "f5d6c3"]


@pytest.mark.posix
def test_names_are_one_line_and_what_is_read_is_not_written_over(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, openings = tmp_path / "a\x1b[31m\n\udcff.book", tmp_path / "openings.txt"
    book.write_bytes(Path(files[0]).read_bytes())
    openings.write_text("f5d6\n", encoding="utf-8")
    asked = [str(book), files[1], "--pairs", "1", "--level", "1", "--openings", str(openings)]
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert told.replace("\n", "").isprintable()
    assert "a\\x1b[31m\\n\\udcff.book" in told
    before = [path.read_bytes() for path in (book, openings)]
    for path in (book, openings):
        assert main([*asked, "--json", str(path)]) == 1
        assert "expected another file" in capsys.readouterr().err
    assert [path.read_bytes() for path in (book, openings)] == before


@pytest.mark.posix
def test_a_signal_ends_with_what_was_found(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = games.games

    def interrupted(*arguments: object) -> Iterator[games.BookGame]:
        for number, game in enumerate(whole(*arguments), 1):  # type: ignore[arg-type]
            yield game
            if number == 3:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(games, "games", interrupted)
    assert main([*files, "--level", "1", "--pairs", "5000", "--plies", "2", "--json", "-"]) == 128 + signal.SIGINT
    account = json.loads(capsys.readouterr().out)
    assert account["stopped"] is True
    assert 3 <= account["games"] == len(account["played"]) <= 4


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("none.book", "{second}"), "none.book: No such file"),
        (("{first}", "{folder}"), "Is a directory"),
        (("{first}", "{text}"), "not a book"),
        (("{first}", "{second}", "--openings", "none.txt"), "none.txt"),
        (("{first}", "{second}", "--json", "none/out.json"), '--json "none/out.json": expected a file'),
    ],
    ids=["missing", "folder", "text", "openings", "json"],
)
def test_a_file_that_cannot_be_used_is_one_line(
    wrong: tuple[str, ...], said: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.book"
    text.write_text("hello")
    places = {"first": files[0], "second": files[1], "folder": tmp_path, "text": text}
    assert main([part.format(**places) for part in wrong]) == 1
    out, error = capsys.readouterr()
    assert not out
    assert said in error
    assert error.startswith("desdaemon: ")
    assert error.count("\n") == 1
