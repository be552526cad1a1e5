"""Verifying and repairing, choosing moves, summaries."""

import random
import threading
from collections import Counter

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import canonical, contents, grown, set_results, set_rule, small_book, spread, toy

from desdaemon.book.book import Book, MoveInBook
from desdaemon.book.check import repair, verify
from desdaemon.book.choose import Choice, MoveChoice, candidates, choose, line
from desdaemon.book.editing.add import fix
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.editing.shrink import delete
from desdaemon.book.errors import NotInBook, OutOfRange
from desdaemon.book.layout import HUMAN
from desdaemon.book.options import Rule
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.summary import info_lines, show_lines, summary

FIRST = canonical(*referee.to_bits(referee.play(referee.start(), referee.square("f5"))))


def spoil(book: Book, **fields: int) -> PositionEntry:
    """Change a position with a leaf behind everybody's back."""
    row = next(row for row in range(len(book)) if book.table.entry(row).has_leaf)
    entry = book.table.entry(row)._replace(**fields)
    book.table.write(row, entry)
    return entry


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"score": 99}, "out of range"),
        ({"level": 61}, "out of range"),
        ({"flags": HUMAN}, "out of range"),
        ({"leaf_move": 0}, "not a legal move"),
        ({"leaf_move": 65}, "not over"),
        ({"lower": -64}, "do not follow"),
        ({"upper": 64}, "do not follow"),
        ({"lines": 77}, "do not follow"),
        ({"wins": 1 << 40}, "do not follow"),
    ],
)
def test_verify_finds_faults_and_repair_mends_them(fields: dict[str, int], problem: str) -> None:
    book = grown()
    assert verify(book).clean
    spoil(book, **fields)
    verdict = verify(book)
    assert any(problem in found.what for found in verdict.problems)
    assert all(found.positions >= 1 for found in verdict.problems)
    assert verify(book, threads=3) == verdict
    repair(book)
    assert verify(book).clean


def test_a_leaf_that_leads_into_the_book_is_a_link() -> None:
    book = grown()
    row = book.table.find(*START)
    book.table.write(row, book.table.entry(row)._replace(leaf_move=19, leaf_score=5, leaf_level=2))
    assert [found.what for found in verify(book).problems] == ["the leaf's move leads into the book"]
    assert repair(book).leaves == 1
    assert verify(book).clean


def test_impossible_boards_are_removed() -> None:
    book = grown()
    before = contents(book)
    book.table.insert(3, 1)
    book.table.insert(START[1], START[0])
    verdict = verify(book)
    assert verdict.problems[0].positions == 2
    assert repair(book).removed == 2
    assert contents(book) == before


# ---------------------------------------------------------------------------------------------------- choosing


def test_equal_moves_come_up_equally_often_and_a_seed_repeats_them() -> None:
    book = grown()
    settings = MoveChoice()
    found = candidates(book, *START, settings)
    assert [move.move for move in found] == [19, 26, 37, 44]
    rng = random.Random(1)
    counts = Counter(choose(book, *START, settings, rng).move for _ in range(3000))
    assert all(650 < counts[move] < 850 for move in (19, 26, 37, 44))
    again = random.Random(5), random.Random(5)
    first, second = ([choose(book, *START, settings, rng) for _ in range(50)] for rng in again)
    assert first == second


def test_moves_fit_the_orientation_of_the_board() -> None:
    book = grown()
    for entry in contents(book):
        cells = referee.from_bits(*entry[:2])
        for image in referee.symmetries(cells):
            position = referee.to_bits(image)
            legal = referee.legal_moves(image)
            for move in book.moves_on(*position):
                assert move.move in legal
                child = book.entry(*referee.to_bits(referee.play(image, move.move)))
                assert move.linked == (child is not None)
                if child is not None:
                    assert move.score == -child.score


def test_randomness_is_a_margin_in_discs() -> None:
    book = grown(relative=8)
    for entry in contents(book):
        moves = book.moves_on(*entry[:2])
        for randomness in (0, 1, 5, 128):
            found = candidates(book, *entry[:2], MoveChoice(randomness=randomness))
            assert found == [move for move in moves if move.score >= moves[0].score - randomness]
    with pytest.raises(OutOfRange, match="randomness -1"):
        candidates(book, *START, MoveChoice(randomness=-1))


def test_no_move_is_chosen_outside_the_book_or_where_all_are_rejected() -> None:
    book = grown()
    rng = random.Random(1)
    outside = referee.to_bits(referee.random_position(1, 30))
    assert choose(book, *outside, MoveChoice(), rng) is None
    assert choose(book, *START, MoveChoice(reject=1.0), rng) is None
    assert all(choose(book, *START, MoveChoice(reject=0.0), rng) for _ in range(20))
    left = sum(choose(book, *START, MoveChoice(reject=0.3), rng) is None for _ in range(2000))
    assert 500 < left < 700


def test_low_levels_can_be_ignored() -> None:
    book = grown()
    assert candidates(book, *START, MoveChoice(least_level=3)) == []
    assert candidates(book, *START, MoveChoice(least_level=2))


def siblings(book: Book) -> tuple[tuple[int, int], list[MoveInBook]]:
    """A position with two linked moves of the same score, and these."""
    for entry in contents(book):
        moves = [move for move in book.moves_on(*entry[:2]) if move.linked]
        if len(moves) > 1 and moves[0].score == moves[1].score and moves[0].row != moves[1].row:
            return entry[:2], moves[:2]
    raise AssertionError


RESULTS = MoveChoice(choice=Choice.RESULTS)


def chosen_rows(book: Book, position: tuple[int, int], settings: MoveChoice = RESULTS, seed: int = 3) -> Counter[int]:
    rng = random.Random(seed)
    return Counter(choose(book, *position, settings, rng).row for _ in range(2000))


def test_results_decide_when_asked() -> None:
    book = small_book(depth=3)
    spread(book, 60)
    position, (few, many) = siblings(book)
    # Results are stored for the side to move after the move: its wins are the mover's losses.
    set_results(book, few.row, (2, 0, 8))
    set_results(book, many.row, (300, 0, 700))
    assert candidates(book, *position, RESULTS) == book.moves_on(*position)
    counts = chosen_rows(book, position)
    assert counts[many.row] > counts[few.row] > 0
    mixed = candidates(book, *position, MoveChoice(choice=Choice.MIXED))
    assert all(move.score == book.moves_on(*position)[0].score for move in mixed)


def test_a_move_that_always_lost_is_left_for_moves_without_games() -> None:
    book = small_book(depth=3)
    spread(book, 12)
    position, (lost, other) = siblings(book)
    set_results(book, lost.row, (48, 0, 0))
    counts = chosen_rows(book, position)
    assert counts[lost.row] < 20 < counts[other.row]
    # Of every move something is known: the leaf takes part with its score.
    leaf = next(entry for entry in contents(book) if entry.has_leaf and len(book.known_moves(entry)) > 1)
    assert -1 in {move.row for move in candidates(book, *leaf[:2], RESULTS)}


weights = st.one_of(st.integers(0, 5000).map(float), st.floats(0, 1e300, allow_nan=False))


@settings(deadline=None)
@given(st.lists(st.tuples(weights, weights, weights), min_size=4, max_size=4), st.integers(0, 1 << 30))
def test_any_counts_allow_a_choice(counts: list[tuple[float, float, float]], seed: int) -> None:
    book = BOOK
    for move, results in zip(book.moves_on(*START), counts, strict=True):
        set_results(book, move.row, results)
    dice = random.Random(seed), random.Random(seed)
    for choice in (Choice.RESULTS, Choice.MIXED):
        wanted = MoveChoice(choice=choice)
        first, again = (choose(book, *START, wanted, rng) for rng in dice)
        assert first is not None
        assert first == again
        assert first in candidates(book, *START, wanted)


BOOK = grown(depth=2)


@pytest.mark.parametrize("rule", Rule, ids=str)
def test_the_best_line_keeps_the_score_to_its_end(rule: Rule) -> None:
    book = grown()
    set_rule(book, rule)
    for entry in contents(book):
        moves = line(book, *entry[:2])
        position, sign = entry[:2], 1
        for move in moves:
            known = book.entry(*position)
            assert known is not None
            assert known.score * sign == entry[6]
            assert next(played.score for played in book.moves_on(*position) if played.move == move) == known.score
            position = book.table.play(*position, move)
            sign = -sign
        assert moves


# ---------------------------------------------------------------------------------------------------- the rest


def test_a_summary_counts_everything() -> None:
    book = grown(relative=5)
    found = summary(book)
    known = [book.table.entry(row) for row in range(len(book))]
    links = [sum(row >= 0 for _, row in book.table.links(entry.player, entry.opponent)) for entry in known]
    assert found.positions == len(book) == sum(row.positions for row in found.by_empties)
    assert found.links == sum(links) == sum(row.links for row in found.by_empties)
    assert found.leaves == sum(entry.has_leaf for entry in known)
    assert found.finished == 0
    assert found.levels == {2: len(book)}
    assert sum(found.scores.values()) == len(book)
    assert found.depth == 6
    assert [row.empties for row in found.by_empties] == sorted({entry.empties for entry in known}, reverse=True)
    assert found.bytes_per_position == found.memory / len(book)
    assert found.unreachable == 0
    book.put(PositionEntry(*canonical(*referee.to_bits(referee.random_position(1, 30))), score=1, level=1))
    assert summary(book).unreachable == 1


def test_solved_lines_are_shown_as_shares() -> None:
    book = grown()
    assert show_lines(book, *referee.to_bits(referee.random_position(1, 30)), black=True) == []
    row = book.table.find(*START)
    book.table.write(row, book.table.entry(row)._replace(wins=126, draws=48, losses=68, lines=14938))
    shown = show_lines(book, *START, black=True)
    assert shown[3:] == [
        "Lines: 242 full games with 52.07% win, 19.83% draw, 28.10% loss",
        "       14696 incomplete lines.",
    ]
    edit(book, *START, None, 3)
    assert show_lines(book, *START, black=True)[0] == "Level: hand"
    assert "Level hand : 1 nodes" in info_lines(summary(book))


def test_a_deleted_move_becomes_the_leaf_where_it_was_better() -> None:
    book = grown()
    before = len(book)
    score = book.entry(*START).score
    delete(book, START, 19)
    assert len(book) == before - 1
    assert book.entry(*FIRST) is None
    root = book.entry(*START)
    assert (root.score, root.leaf_score, root.has_leaf) == (score, score, True)
    assert verify(book).clean
    with pytest.raises(NotInBook):
        delete(book, START, 19)
    fix(book, Worker(toy))
    assert verify(book) == (len(book), [], 0, 0)


def test_look_ups_may_run_beside_changes() -> None:
    book = grown()
    stop = threading.Event()
    failures: list[BaseException] = []

    def look() -> None:
        try:
            while not stop.is_set():
                assert book.moves_on(*START)
                assert book.entry(*START) is not None
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round in range(6):
        for key in range(1, 2000):
            book.put(PositionEntry(key, (round + 1) << 40, score=1, level=1))
        book.remove((book.table.column("opponent") == (round + 1) << 40).astype(np.uint8))
        book.negamax(threads=2)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert verify(book).clean
