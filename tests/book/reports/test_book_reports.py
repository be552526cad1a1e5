"""Merging and comparing books; games, problems and lines of a book."""

import itertools
import random
from pathlib import Path

import pytest
import referee
from toys import canonical, contents, game_positions, grown, set_results, set_rule, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.choose import line
from desdaemon.book.editing.add import BookGame, add_games, fix
from desdaemon.book.editing.game_results import take_back
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.formats import registry
from desdaemon.book.formats.text import parse_board
from desdaemon.book.layout import HUMAN
from desdaemon.book.options import Rule
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.reports.compare import better, diff, merge
from desdaemon.book.reports.report import best_lines, check_games, problems

FIRST = canonical(*referee.to_bits(referee.play(referee.start(), referee.square("f5"))))


def test_merge_keeps_the_better_level_and_human_scores() -> None:
    ours = PositionEntry(*START, score=1, level=10, leaf_move=19, leaf_score=1, leaf_level=10)
    theirs = PositionEntry(*START, score=2, level=20, leaf_move=26, leaf_score=2, leaf_level=20)
    assert better(ours, theirs)[6:] == theirs[6:]
    assert better(theirs, ours) == theirs
    assert better(ours, theirs, keep_ours=True) == ours
    assert better(ours, theirs._replace(level=10, leaf_level=10)) == ours
    human = ours._replace(score=9, level=70, flags=HUMAN)
    assert better(human, theirs).score == 9
    assert better(theirs, human).score == 9
    assert better(theirs, human).human


def test_merge_adds_what_is_missing() -> None:
    small, large = grown(relative=0), grown(relative=6)
    only = len({entry[:2] for entry in contents(large)} - {entry[:2] for entry in contents(small)})
    expected = contents(large)
    merged = merge(small, large)
    assert merged.added == only > 0
    assert {entry[:2] for entry in contents(small)} >= {entry[:2] for entry in expected}
    assert verify(small).clean
    before = contents(small)
    again = merge(small, large)
    assert again.added == 0
    assert contents(small) == before


def test_a_book_merged_again_changes_nothing() -> None:
    ours, theirs = grown(relative=6), grown(relative=0, level=9)
    merge(ours, theirs)
    before = contents(ours)
    for fixed in (False, True):
        again = merge(ours, theirs)
        assert (again.added, again.replaced) == (0, 0)
        assert contents(ours) == before
        if not fixed:
            fix(ours, Worker(toy))
            before = contents(ours)


@pytest.mark.parametrize("suffix", [".book", ".dat", ".egbk3"])
def test_a_merged_book_has_no_fault_and_is_read_again_from_any_format(suffix: str, tmp_path: Path) -> None:
    """A leaf that has become a link goes with its score, also where the other book's score is taken."""
    ours, theirs = grown(relative=3), grown(relative=6, level=9)
    merge(ours, theirs)
    assert verify(ours).clean
    registry.save(tmp_path / f"merged{suffix}", ours)
    read = registry.load(tmp_path / f"merged{suffix}").book
    assert len(read) == len(ours)
    assert verify(read).clean


def test_merge_reports_conflicts_and_adds_up_results() -> None:
    first, second = grown(), grown(level=9)
    row = second.table.find(*FIRST)
    second.put(second.table.entry(row)._replace(score=40, lower=40, upper=40, level=70, flags=HUMAN))
    set_results(first, first.table.find(*FIRST), (1, 2, 3))
    set_results(second, row, (10, 20, 30))
    merged = merge(first, second)
    assert [(conflict.theirs, conflict.kept) for conflict in merged.conflicts if conflict.theirs == 40] == [(40, 40)]
    assert first.table.results(first.table.find(*FIRST)) == (11, 22, 33)
    assert {entry.leaf_level for entry in (first.entry(*key[:2]) for key in contents(first)) if entry.has_leaf} == {9}


def test_results_without_games_are_merged_once(tmp_path: Path) -> None:
    book, other = grown(), grown()
    set_results(other, 0, (5.0, 6.0, 7.0))
    set_results(other, 3, (1.0, 0.0, 0.5))
    assert merge(book, other).without_games == 2
    merged = [book.table.results(row) for row in range(len(book))]
    add_games(book, [BookGame(bytes([37, 43]), 4, "a game", "games.txt")], Worker(toy), keep_results=True)
    take_back(book, book.games[book.games["source"] == b"games.txt"])
    registry.write_native(tmp_path / "other.book", other)
    for _ in range(2):
        assert merge(book, registry.load(tmp_path / "other.book").book).without_games == 0
        assert [book.table.results(row) for row in range(len(merged))] == merged


def test_diff_counts_every_kind() -> None:
    first, second = grown(relative=0), grown(relative=6)
    same = diff(first, first)
    assert (same.same, same.only_first, same.only_second, same.examples) == (len(first), 0, 0, [])
    found = diff(first, second)
    keys = [{entry[:2] for entry in contents(book)} for book in (first, second)]
    assert found.only_first == len(keys[0] - keys[1])
    assert found.only_second == len(keys[1] - keys[0])
    other = sum(first.entry(*key).score != second.entry(*key).score for key in keys[0] & keys[1])
    assert found.other_score == other
    gaps = [abs(example.first.score - example.second.score) for example in found.examples]
    assert gaps == sorted(gaps, reverse=True)


def plainly_checked(book: Book, games: list[list[tuple[int, int]]]) -> tuple[int, int, int]:
    """Missing, good and bad moves of games, one by one."""
    missing = good = bad = 0
    seen = set()
    for positions in games:
        for before, after in itertools.pairwise(positions):
            key = canonical(*before), canonical(*after)
            if 64 - (before[0] | before[1]).bit_count() < book.options.min_empties or key in seen:
                continue
            seen.add(key)
            entry = book.entry(*before)
            if entry is None:
                missing += 1
                continue
            best = {
                canonical(*book.table.play(*entry[:2], move.move))
                for move in book.known_moves(entry)
                if move.score >= entry.score
            }
            good, bad = (good + 1, bad) if key[1] in best else (good, bad + 1)
    return missing, good, bad


def test_games_are_compared_with_the_book() -> None:
    book = grown()
    best = line(book, *START)
    games = [bytes(move for move in best if move < 64)]
    found, _ = check_games(book, games)
    assert (found.missing, found.bad) == (0, 0)
    assert found.good == min(len(best), 61 - book.options.min_empties)
    assert check_games(book, games + games) == (found, [])
    rng = random.Random(1)
    others = [referee.random_moves(rng.randrange(99), 12) for _ in range(8)]
    found, illegal = check_games(book, (bytes(moves) for moves in others))
    assert found == plainly_checked(book, [game_positions(book, moves) for moves in others])
    assert illegal == []
    assert check_games(book, [bytes([19, 0])])[1] == ["game 1: move 2 is not legal"]
    assert found.missing > 0
    assert found.bad > 0
    assert 0 < found.bad_percent <= 100


def test_exported_problems_have_one_best_move() -> None:
    book = grown(relative=6)
    written = list(problems(book, 57, 3))
    assert 0 < len(written) <= 3
    for problem in written:
        board, _, rest = problem.partition(" % bm ")
        best, _, others = rest.partition("; ba ")
        score = int(best.split(":")[1])
        assert all(int(other.split(":")[1]) < score for other in others.rstrip(";").split())
        player, opponent = parse_board(board[:64], board[65:])
        assert book.entry(player, opponent).empties == 57
    assert list(problems(book, 5, 3)) == []


@pytest.mark.parametrize("rule", Rule, ids=str)
def test_best_lines_keep_the_score(rule: Rule) -> None:
    book = grown(relative=6)
    set_rule(book, rule)
    score = book.entry(*START).score
    lines = list(best_lines(book, *START))
    assert lines
    for moves in lines:
        position = START
        for ply, move in enumerate(moves):
            assert book.entry(*position).score == (score if ply % 2 == 0 else -score)
            position = book.table.play(*position, move)
        end = book.entry(*position).score
        assert not any(move.linked and move.score == end for move in book.moves_on(*position))
    assert len(list(best_lines(book, *START, loss=12))) > len(lines)
    assert len(list(best_lines(book, *START, loss=12, limit=2))) == 2
    assert list(best_lines(book, 1, 2)) == [[]]
