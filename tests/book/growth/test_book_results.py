"""Results of games: counted by every command that stores games, shown, learned from; and the book against itself."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import referee
from book_dialogue import BookDialogue
from toys import contents, game_positions, set_results, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.choose import Choice, MoveChoice, choose
from desdaemon.book.editing.add import BookGame, add_games
from desdaemon.book.editing.game_results import adjust, count, live_game
from desdaemon.book.editing.rounds import CommandProgress, Worker
from desdaemon.book.growth.self_play import ROUND, SelfPlayTally, SelfPlayTerms, self_play
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.core.books.lookup import look_data


def finished_game(seed: int) -> list[int]:
    return [move for move in referee.random_moves(seed, 60) if move < 64]


def text_of(moves: list[int]) -> str:
    return "".join(referee.name(move) for move in moves)


def black_score(moves: list[int]) -> int:
    positions = game_positions(Book(), moves)
    cells = referee.from_bits(*positions[-1])
    assert referee.game_over(cells)
    score: int = referee.final_score(cells)
    return score if len(positions) % 2 else -score


def results(book: Book) -> dict[tuple[int, int], tuple[float, float, float]]:
    return {entry[:2]: book.table.results(book.table.find(*entry[:2])) for entry in contents(book)}


# ------------------------------------------------------------------------------------------------ the fade


def plainly_adjusted(book: Book, positions: list[tuple[int, int]], loser: int) -> int:
    """What `adjust` does, a position after the other; returns the number of changed ones."""
    line = [(ply, row) for ply, position in enumerate(positions) if (row := book.table.find(*position)) >= 0]
    changed = 0
    for ply, row in line:
        share = ply / line[-1][0] if line[-1][0] else 1
        won, drawn, lost = book.table.results(row)
        mine, other = (0.8**share, 1.2**share) if ply % 2 == loser else (1.2**share, 0.8**share)
        changed += (won * mine, lost * other) != (won, lost)
        set_results(book, row, (won * mine, drawn, lost * other))
    return changed


@pytest.mark.parametrize("seed", range(12))
def test_the_line_of_a_lost_game_is_adjusted_position_by_position(seed: int) -> None:
    games = [finished_game(4 * seed + k) for k in range(3)]
    books = [Book(BookOptions(level=1, min_empties=20 if seed % 2 else 61)) for _ in range(2)]
    for book in books:
        add_games(book, [BookGame(bytes(game)) for game in games[:2]], Worker(toy), search=False)
        for row in range(0, len(book), 2):
            set_results(book, row, (row % 7, 3, row % 5))
    for game in games:
        positions = game_positions(Book(), game)[seed % 3 :]
        assert adjust(books[0], positions, seed % 2) == plainly_adjusted(books[1], positions, seed % 2)
    found, expected = results(books[0]), results(books[1])
    assert found.keys() == expected.keys()
    for key, weights in expected.items():
        assert found[key] == pytest.approx(weights)


def test_forty_losses_are_felt_in_the_opening_of_a_book_of_24_plies() -> None:
    book = small_book(depth=24)
    moves = finished_game(1)
    positions = game_positions(book, moves)
    add_games(book, [BookGame(bytes(moves))], Worker(toy))
    for row in range(len(book)):
        set_results(book, row, (100, 0, 100))
    for _ in range(40):
        adjust(book, positions, 0)

    def won(ply: int) -> float:
        return book.table.results(book.table.find(*positions[ply]))[0]

    assert won(0) == 100
    assert won(2) < 60
    assert all(book.table.results(book.table.find(*positions[ply]))[0] > 0 for ply in range(24))
    own = [won(ply) for ply in range(0, 25, 2)]
    assert own == sorted(own, reverse=True)


def test_many_games_at_once_are_learned_from_as_one_by_one() -> None:
    games = [finished_game(seed) for seed in range(6)]
    scored = [BookGame(bytes(moves), black_score(moves)) for moves in games]
    at_once, single = (Book(BookOptions(level=1, min_empties=30)) for _ in range(2))
    add_games(at_once, scored, Worker(toy), keep_results=True, adjusting=True)
    add_games(single, scored, Worker(toy), keep_results=False)
    for moves, game in zip(games, scored, strict=True):
        count(single, live_game(game_positions(single, moves), game.score, "", learned=False))
    for moves, game in zip(games, scored, strict=True):
        if game.score:
            plainly_adjusted(single, game_positions(single, moves), 0 if game.score < 0 else 1)
    found, expected = results(at_once), results(single)
    assert found.keys() == expected.keys()
    for key, weights in expected.items():
        assert found[key] == pytest.approx(weights)
    assert any(any(part % 1 for part in weights) for weights in expected.values())


def test_one_game_is_counted_and_then_adjusted() -> None:
    book = small_book(depth=10)
    moves = finished_game(2)
    add_games(book, [BookGame(bytes(moves))], Worker(toy))
    positions = game_positions(book, moves)
    plain = small_book(depth=10)
    add_games(plain, [BookGame(bytes(moves))], Worker(toy))
    assert count(plain, live_game(positions, 4, "", learned=False)) == 11
    assert count(book, live_game(positions, 4, "", learned=True)) == 11
    for ply in range(11):
        won, _, lost = book.table.results(book.table.find(*positions[ply]))
        flat = plain.table.results(plain.table.find(*positions[ply]))
        assert flat == ((1, 0, 0) if ply % 2 == 0 else (0, 0, 1))
        assert (won, lost) == pytest.approx((1.2 ** (ply / 10), 0) if ply % 2 == 0 else (0, 1.2 ** (ply / 10)))


# ------------------------------------------------------------------------------------------------ commands


def test_store_counts_a_finished_game_once(dialogue: BookDialogue) -> None:
    moves = finished_game(3)
    score = black_score(moves)
    dialogue.say("book new 1 6")
    dialogue.say(f"play {text_of(moves[:20])}")
    dialogue.say("book store")
    assert not dialogue.book.table.keeps_results
    dialogue.say("init")
    dialogue.say(f"play {text_of(moves)}")
    answer = dialogue.lines("book store")
    assert answer[0].startswith("Game counted in 7 positions: ")
    assert ("Black" if score > 0 else "White" if score < 0 else "draw") in answer[0]
    expected = (score > 0, score == 0, score < 0)
    assert dialogue.book.table.results(dialogue.book.table.find(*START)) == expected
    for turn in ("", "rotate", "symmetry 9"):
        dialogue.say(turn)
        assert "counted" not in dialogue.say("book store"), turn
        assert dialogue.book.table.results(dialogue.book.table.find(*START)) == expected
    # The same moves in a new game are another game.
    dialogue.say("new")
    dialogue.say(f"play {text_of(moves)}")
    assert "counted" in dialogue.say("book store")
    assert sum(dialogue.book.table.results(dialogue.book.table.find(*START))) == 2


def test_a_finished_game_of_a_mode_is_counted_by_auto_store(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book off")
    dialogue.session.settings.auto_store = True
    dialogue.session.settings.mode = 2
    dialogue.both("init")
    dialogue.text.settle()
    assert dialogue.session.game.position.over
    assert sum(dialogue.book.table.results(dialogue.book.table.find(*START))) == 1


@pytest.mark.parametrize("learning", [False, True])
def test_the_option_decides_whether_lost_games_are_learned_from(dialogue: BookDialogue, learning: bool) -> None:
    moves = next(moves for moves in map(finished_game, itertools.count()) if black_score(moves) < 0)
    dialogue.say("book new 1 6")
    dialogue.say(f"book-learn-results {'on' if learning else 'off'}")
    for _ in range(3):
        dialogue.say("init")
        dialogue.say(f"play {text_of(moves)}")
        dialogue.say("book store")
    positions = game_positions(dialogue.book, moves)
    _, _, lost = dialogue.book.table.results(dialogue.book.table.find(*positions[2]))
    assert (lost > 3) is learning


def test_results_are_shown(dialogue: BookDialogue, tmp_path: Path) -> None:
    dialogue.say("book new 1 6")
    assert not any(line.startswith("Games") for line in dialogue.lines("book show"))
    assert not any(line.startswith("Games") for line in dialogue.lines("book info"))
    (tmp_path / "games.txt").write_text("".join(text_of(finished_game(seed)) + "\n" for seed in range(5)))
    dialogue.say(f"book add {tmp_path / 'games.txt'}")
    won, drawn, lost = (int(part) for part in dialogue.book.table.results(dialogue.book.table.find(*START)))
    assert won + drawn + lost == 5
    shown = dialogue.lines("book show")
    assert f"Games: {won} won, {drawn} drawn, {lost} lost" in shown
    assert sum(f"{won} won, {drawn} drawn, {lost} lost" in line for line in shown if line.startswith(" [")) == 4
    assert f"Games: Black {won} won, {drawn} drawn, {lost} lost" in dialogue.lines("book info")
    look = dialogue.books.look_up(*START)
    assert look_data(look, "")["results"] == {"won": won, "drawn": drawn, "lost": lost}


# ------------------------------------------------------------------------------------------------ self-play


def played(
    games: int, threads: int = 1, on_progress: object = None, **changed: object
) -> tuple[Book, bool, SelfPlayTally]:
    book = small_book(depth=8)
    worker = Worker(toy, threads=threads, **({"on_progress": on_progress} if on_progress else {}))
    terms = SelfPlayTerms(1, MoveChoice(randomness=2), seed=7, random_plies=2)._replace(**changed)
    outcome, tally = self_play(book, START, worker, games, terms)
    return book, outcome.finished, tally


def test_self_play_stores_its_games_and_counts_them() -> None:
    book, finished, tally = played(3)
    assert finished
    assert sum(tally) == 3
    assert book.table.results(book.table.find(*START)) == tally
    assert verify(book).clean
    assert verify(book).open == 0
    deepest = min(entry.empties for entry in (book.entry(*found[:2]) for found in contents(book)))
    assert deepest == 60 - 8


def test_self_play_is_the_same_with_any_number_of_threads() -> None:
    one, two = played(ROUND + 1), played(ROUND + 1, threads=2)
    assert contents(one[0]) == contents(two[0])
    assert results(one[0]) == results(two[0])
    assert one[2] == two[2]


def test_a_stop_leaves_whole_rounds() -> None:
    def on_progress(report: CommandProgress) -> bool:
        return not (report.stage == "games" and report.done == ROUND + 2)

    book, finished, tally = played(2 * ROUND, on_progress=on_progress)
    assert not finished
    assert sum(tally) == ROUND
    assert sum(book.table.results(book.table.find(*START))) == ROUND
    assert verify(book).clean


def test_self_play_runs_as_a_command(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("book-seed 5")
    answer = dialogue.lines("book self-play 2 1 4")
    assert answer[0].startswith("Games counted: 2; Black won ")
    assert answer[1].startswith("Book self-play 2...finished: ")
    assert sum(dialogue.book.table.results(dialogue.book.table.find(*START))) == 2
    assert "no errors" in dialogue.say("book verify")
    assert "games is missing" in dialogue.refused("book self-play")
    dialogue.say("play f5d6c3d3c4f4c5b3")
    assert "not in the book" in dialogue.refused("book self-play 1") or dialogue.book.entry(
        *dialogue.session.game.position[:2]
    )


def test_a_bad_line_put_in_by_hand_is_abandoned_within_100_games(dialogue: BookDialogue) -> None:
    dialogue.say("book new 1 6")
    dialogue.say("play f5d6c7")
    dialogue.say("book store")
    dialogue.say("undo")
    # A search of 12 plies gives it -11.
    dialogue.say("book edit c7 12")
    before = dialogue.session.game.position[:2]
    for line in ("book-choice results", "book-learn-results on", "book-reject 10", "book-seed 1"):
        dialogue.say(line)

    def share() -> float:
        rng, wanted = random.Random(2), MoveChoice(choice=Choice.RESULTS)
        chosen = [choose(dialogue.book, *before, wanted, rng) for _ in range(400)]
        return sum(move is not None and move.move == referee.square("c7") for move in chosen) / len(chosen)

    assert share() > 0.8
    assert "finished" in dialogue.say("book self-play 100 1")
    assert share() < 0.1
    assert sum(dialogue.book.table.results(dialogue.book.table.find(*before))) > 50


@pytest.mark.parametrize("won", [True, False])
def test_results_alone_decide_where_nothing_is_searched(dialogue: BookDialogue, tmp_path: Path, won: bool) -> None:
    """D6 is played if its games were won, and left to the search if they were lost."""
    games = "".join(f"(;GM[2]RE[{'W' if won else 'B'}+{1 + count}]B[f5]W[d6]B[c3])\n" for count in range(20))
    (tmp_path / "games.sgf").write_text(games)
    dialogue.say("book new 1 12")
    dialogue.say(f"book add {tmp_path / 'games.sgf'} --unsearched")
    dialogue.say("book-choice results")
    dialogue.say("play f5")
    for seed in range(1, 30):
        dialogue.say(f"book-seed {seed}")
        chosen = dialogue.session.books.choose(*dialogue.session.game.position[:2], dialogue.session.settings)
        assert (chosen is not None and chosen.move == referee.square("d6")) == won
    dialogue.say("book-choice value")
    assert dialogue.session.books.choose(*dialogue.session.game.position[:2], dialogue.session.settings) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_the_loop_of_learning_runs_unattended(dialogue: BookDialogue, seed: int) -> None:
    dialogue.say("book new 1 12")
    for line in ("book-choice results", "book-learn-results on", "book-reject 20", f"book-seed {seed}"):
        dialogue.say(line)
    assert "Games counted: 500; " in dialogue.say("book self-play 500 1 2")
    assert "no errors" in dialogue.say("book verify")
    weights = np.array(list(results(dialogue.book).values()))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()


def test_games_taken_back_leave_no_results(dialogue: BookDialogue, tmp_path: Path) -> None:
    """Whatever `book adjust` made of them; and a second adjustment for the same game changes nothing."""
    lost = tmp_path / "lost.txt"
    lost.write_text("f5d6c6f4d7d8c5f6e6b6g5h5\n" * 20)
    other = tmp_path / "other.sgf"
    other.write_text("(;GM[2]RE[B+4]B[f5]W[d6]B[c3])\n")
    dialogue.say("book new 1 12")
    for file in (lost, other):
        dialogue.say(f"book add {file} --unsearched")
    dialogue.say("play f5d6c6f4d7d8c5f6e6b6g5h5")
    assert "0 positions" not in dialogue.say("book adjust black")
    once = results(dialogue.book)
    assert "already" in dialogue.say("book adjust black")
    assert results(dialogue.book) == once
    dialogue.say("book uncount lost.txt")
    left = {position for position, weights in results(dialogue.book).items() if any(weights)}
    assert len(left) == 4, "the other game's positions"
    dialogue.say("book uncount other.sgf")
    assert not any(any(weights) for weights in results(dialogue.book).values())


@pytest.mark.parametrize("kind", ["book", pytest.param("dat", marks=pytest.mark.needs("book.edax")), "overlay"])
def test_a_game_counts_in_each_book_until_it_is_taken_back(kind: str, dialogue: BookDialogue, tmp_path: Path) -> None:
    """What was undone, taken back, or done in another book is no reason to refuse."""
    dialogue.say("book new 1 6")
    dialogue.say(f"book save {tmp_path / 'other.book'}")
    base = tmp_path / f"b.{'book' if kind == 'overlay' else kind}"
    dialogue.say(f"book save {base}")
    dialogue.say(f"book load {base}" + (f" --overlay {tmp_path / 'o'}" if kind == "overlay" else ""))
    dialogue.say("play f5d6c6f4d7d8c5f6e6b6g5h5")
    assert "Game counted" in dialogue.say("book store")
    assert "Game counted" not in dialogue.say("book store")
    once = results(dialogue.book)
    assert "1 game taken back" in dialogue.say("book uncount store")
    assert "Game counted" in dialogue.say("book store")
    dialogue.say("book undo")
    assert "Game counted" in dialogue.say("book store")
    assert results(dialogue.book) == once
    assert "already" not in dialogue.say("book adjust")
    adjusted = results(dialogue.book)
    dialogue.say("rotate 90")
    assert "already" in dialogue.say("book adjust")
    assert "Game counted" not in dialogue.say("book store")
    dialogue.say("book undo")
    assert results(dialogue.book) == once
    assert "already" not in dialogue.say("book adjust")
    assert results(dialogue.book) == adjusted
    dialogue.say(f"book load {tmp_path / 'other.book'} --discard")
    assert "Game counted" in dialogue.say("book store")
    assert "already" not in dialogue.say("book adjust")
    assert results(dialogue.book) == adjusted
    dialogue.say("init")
    dialogue.say("play f5d6c6f4d7d8c5f6e6b6g5h5")
    assert "Game counted" in dialogue.say("book store"), "it is another game"


@pytest.mark.parametrize("gone", ["won", "lost"])
def test_of_games_taken_back_no_result_is_left_and_others_keep_theirs(
    gone: str, dialogue: BookDialogue, tmp_path: Path
) -> None:
    """However often the line was made less attractive in between."""
    dialogue.say("book new 1 12")
    for name, line in (("won", "f5d6c5f4e7f6g5e6e3"), ("lost", "f5d6c6f4d7d8c5f6e6b6g5h5")):
        (tmp_path / f"{name}.txt").write_text(f"{line}\n" * 3)
        dialogue.say(f"book add {tmp_path / name}.txt --unsearched")
        dialogue.say("init")
        dialogue.say(f"play {line}")
        for _ in range(6):
            dialogue.say("init")
            dialogue.say(f"play {line}")
            dialogue.say("book adjust " + ("black" if name == "lost" else "white"))
    dialogue.say(f"book uncount {gone}.txt")
    dialogue.say("init")
    won, drawn, lost = results(dialogue.book)[START]
    assert drawn == 0
    assert (won > 0, lost > 0) == (gone == "lost", gone == "won")
    positions = game_positions(dialogue.book, [37, 43])
    for number, position in enumerate(positions):
        won, drawn, lost = dialogue.book.table.results(dialogue.book.table.find(*position))
        black_won, black_lost = (won, lost) if number % 2 == 0 else (lost, won)
        assert (black_won > 0, black_lost > 0) == (gone == "lost", gone == "won")
