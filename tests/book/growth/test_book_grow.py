"""Growing, fixing, shrinking: against plain re-statements of the reference, and against books that Edax grew."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
import referee
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import canonical, contents, game_positions, new_book, small_book, toy, worth

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.chunks import address
from desdaemon.book.editing.add import BookGame, add_games, add_positions, fix
from desdaemon.book.editing.by_hand import edit
from desdaemon.book.editing.game_results import count, live_game
from desdaemon.book.editing.rounds import CommandProgress, Worker
from desdaemon.book.editing.shrink import cut, prune, prune_marks
from desdaemon.book.errors import NotInBook, OutOfRange
from desdaemon.book.growth.grow import (
    Mode,
    deviate,
    deviate_rows,
    enhance,
    extend,
    fill,
    fill_positions,
    play_out,
    select,
)
from desdaemon.book.growth.research import correct, deepen
from desdaemon.book.growth.self_play import SelfPlayTerms, self_play
from desdaemon.book.layout import MAX_LEVEL, NEGAMAX_WORDS, NO_LEVEL, NO_SCORE, OPEN
from desdaemon.book.negamax import LayerOrder, margins_of, negamax, negamax_from
from desdaemon.book.options import BookOptions, Rule, default_depth
from desdaemon.book.passes import kernels
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.table import BookTable
from desdaemon.engine.limits import level_limits


def after(moves: str) -> tuple[int, int]:
    cells = referee.start()
    for k in range(0, len(moves), 2):
        cells = referee.play(cells, referee.square(moves[k : k + 2]))
    return referee.to_bits(cells)


def keys(book: Book, rows: list[int]) -> set[tuple[int, ...]]:
    return {book.table.entry(row)[:2] for row in rows}


def children(entry: PositionEntry) -> Iterator[tuple[int, tuple[int, int]]]:
    """The referee's (move, canonical child) pairs, one for each legal move, or the forced pass."""
    cells = referee.from_bits(entry.player, entry.opponent)
    legal = referee.legal_moves(cells)
    for move in legal:
        yield move, canonical(*referee.to_bits(referee.play(cells, move)))
    if not legal and not referee.game_over(cells):
        yield 64, canonical(*referee.to_bits(referee.passed(cells)))


class LeafMargins(NamedTuple):
    """The margins (discs) of the score of a leaf, and whether it is exact."""

    lower: int
    upper: int
    exact: bool


def leaf_bound(level: int, empties: int, midgame_error: int, endcut_error: int) -> LeafMargins:
    """The margins of a leaf, one by one, from the depth and selectivity of its search."""
    depth, percent = level_limits(min(max(level, 0), MAX_LEVEL), empties)[:2]
    if depth == empties:
        return LeafMargins(0, 0, True) if percent == 100 else LeafMargins(-endcut_error, endcut_error, False)
    bias = depth % 2 - empties % 2
    return LeafMargins(-midgame_error - bias, midgame_error - bias, False)


def expected(book: Book) -> dict[tuple[int, int], PositionEntry]:
    """Reference 5.3, by recursion over all paths."""
    known = {entry[:2]: entry for entry in (book.table.entry(row) for row in range(len(book)))}
    done: dict[tuple[int, int], PositionEntry] = {}

    def visit(key: tuple[int, int]) -> PositionEntry:
        if key in done:
            return done[key]
        entry = known[key]
        value = lower = upper = NO_SCORE
        counts = [0, 0, 0, 0]
        if entry.leaf_score != NO_SCORE:
            bound = leaf_bound(entry.level, entry.empties, book.options.midgame_error, book.options.endcut_error)
            value, lower, upper = (entry.leaf_score + margin for margin in (0, bound.lower, bound.upper))
            counts[3] = 1
            if bound.exact:
                counts[0 if value > 0 else 2 if value < 0 else 1] = 1
        for _, child in children(entry):
            if child in known:
                found = visit(child)
                value = max(value, -found.score)
                lower = max(lower, -found.upper)
                upper = max(upper, -found.lower)
                counts = [
                    a + b for a, b in zip(counts, (found.losses, found.draws, found.wins, found.lines), strict=True)
                ]
        done[key] = entry._replace(
            score=value, lower=lower, upper=upper, wins=counts[0], draws=counts[1], losses=counts[2], lines=counts[3]
        )
        return done[key]

    for key in known:
        visit(key)
    return done


def game_book(seed: int, games: int = 4, depth: int = 60, level: int = 1) -> Book:
    book = new_book(BookOptions(level=level, min_empties=61 - depth), toy)
    rng = random.Random(seed)
    for _ in range(games):
        moves = referee.random_moves(rng.randrange(1000), 60)
        add_positions(book, game_positions(book, moves), Worker(toy))
    return book


# ---------------------------------------------------------------------------------------------------- negamax


def test_bounds_follow_parity() -> None:
    # Level 12 with 30 empties reads 12 plies, level 11 11 plies; 23 empties are read to the end with selectivity.
    assert leaf_bound(12, 30, 2, 1) == (-2, 2, False)
    assert leaf_bound(12, 31, 2, 1) == (-1, 3, False)
    assert leaf_bound(11, 30, 2, 1) == (-3, 1, False)
    assert leaf_bound(11, 31, 2, 1) == (-2, 2, False)
    assert leaf_bound(12, 23, 2, 1) == (-1, 1, False)
    assert leaf_bound(12, 21, 2, 1) == (0, 0, True)


def test_margins_are_right_for_every_level_and_number_of_empties() -> None:
    for midgame_error, endcut_error in ((3, 2), (1, 1), (0, 0)):
        margins = margins_of(BookOptions(midgame_error=midgame_error, endcut_error=endcut_error))
        for level in range(NO_LEVEL, 128):
            for empties in range(61):
                lower, upper, exact = margins[level - NO_LEVEL, empties]
                assert (lower, upper, exact) == leaf_bound(level, empties, midgame_error, endcut_error)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(4))
def test_negamax_is_the_recursion_over_paths(seed: int) -> None:
    book = game_book(seed)
    assert {entry[:2]: entry for entry in contents(book)} == expected(book)
    assert verify(book).clean


@pytest.mark.parametrize("rule", list(Rule))
def test_a_move_of_plus_2_whose_replies_are_all_minus_4_becomes_plus_4(rule: Rule) -> None:
    book = Book(BookOptions(level=1, min_empties=50, rule=rule))
    reply_level, move_level = 1, 20
    child = canonical(*after("f5"))
    book.put(PositionEntry(*START, score=2, level=move_level))
    book.put(PositionEntry(*child, score=-2, level=move_level))
    for _, grandchild in children(book.entry(*child)):
        # Worth -4 to the one who replies, so +4 to the other, at a lower level than the move.
        book.put(PositionEntry(*grandchild, score=4, level=reply_level))
    assert book.negamax() > 0
    assert book.entry(*child).score == -4
    assert [move.score for move in book.moves_on(*START)] == [4, 4, 4, 4]
    assert book.entry(*START).score == 4
    assert book.negamax() == 0


def test_leaves_count_with_edaxs_rule_only() -> None:
    for rule, score in ((Rule.EDAX, 5), (Rule.EGAROUCID, -2)):
        book = Book(BookOptions(level=1, min_empties=50, rule=rule))
        child = canonical(*after("f5"))
        end = canonical(*after("f5d6"))
        leaf = next(move for move, key in children(PositionEntry(*child)) if key != end)
        book.put(PositionEntry(*end, score=2, level=1))
        book.put(PositionEntry(*child, score=0, level=1, leaf_move=leaf, leaf_score=5, leaf_level=1))
        book.negamax()
        assert book.entry(*child).score == score


def test_threads_and_repetition_change_nothing() -> None:
    book = game_book(7)
    before = contents(book)
    assert book.negamax(threads=2) == 0
    assert contents(book) == before
    assert book.negamax(threads=3) == 0
    assert contents(book) == before


@pytest.mark.parametrize("big", [(1 << 32) - 1, 1 << 32, 1 << 62, (1 << 64) - 2])
def test_counts_go_on_beyond_32_bits_and_saturate_at_64(big: int) -> None:
    book = new_book(BookOptions(level=1, min_empties=50), toy)
    add_positions(book, game_positions(book, [referee.square("f5")]), Worker(toy))
    child = book.table.find(*after("f5"))
    book.table.write(child, book.table.entry(child)._replace(wins=5, draws=6, losses=7, lines=big))
    order = LayerOrder(book.table)
    root = book.table.find(*START)
    place = order.rows.tolist().index(root)
    margins = margins_of(book.options)
    block = np.zeros(NEGAMAX_WORDS, np.uint64)
    places = address(margins), 0, order.filters.at, address(block)
    with book.table.lock:
        stopped = kernels().negamax_rows(book.table.context, address(order.rows), place, place + 1, *places)
    assert stopped == place + 1
    entry = book.table.entry(root)
    # All four first moves lead to the same position.
    assert entry[2:6] == (28, 24, 20, min(4 * big, (1 << 64) - 1))
    book.forget_state()
    book.negamax()
    assert book.table.entry(root).lines == 4


# ---------------------------------------------------------------------------------------------------- adding


def test_games_are_added_down_to_the_depth_and_completely() -> None:
    book = new_book(BookOptions(level=1, min_empties=61 - 12), toy)
    moves = referee.random_moves(3, 60)
    outcome = add_positions(book, game_positions(book, moves), Worker(toy))
    assert outcome.finished
    assert len(book) == 13
    assert min(entry.empties for entry in contents(book)) == 48
    assert not len(book.faults())
    assert verify(book).clean
    before = contents(book)
    again = add_positions(book, game_positions(book, moves), Worker(toy))
    assert (again.added, again.searches) == (0, 0)
    assert contents(book) == before
    for entry in contents(book):
        free = [(move, child) for move, child in children(book.entry(*entry[:2])) if book.entry(*child) is None]
        if free and free[0][0] != 64:
            best = max(-worth(*child) for _, child in free)
            assert entry.leaf_score == best


# ---------------------------------------------------------------------------------------------------- Edax's choice


def reference_deviate(
    book: Book, root: tuple[int, int], mine: int, other: int, low: int, high: int
) -> set[tuple[int, int]]:
    """Reference 5.7.3, one pass, as it is written."""
    chosen, visited = set(), set()

    def visit(key: tuple[int, int], tolerance: tuple[int, int], low: int, high: int) -> None:
        entry = book.entry(*key)
        assert entry is not None
        over = referee.game_over(referee.from_bits(*entry[:2]))
        if key in visited or not low <= entry.score <= high or entry.empties < book.options.min_empties or over:
            return
        visited.add(key)
        for _, child in children(entry):
            found = book.entry(*child)
            if found is not None:
                score = -found.score
                if entry.score - score <= tolerance[0] and low <= score <= high:
                    visit(child, tolerance[::-1], -high, -low)
        leaf = entry.leaf_score
        if entry.leaf_move <= 64 and entry.score - leaf <= tolerance[0] and low <= leaf <= high:
            chosen.add(key)

    visit(canonical(*root), (mine, other), low, high)
    return chosen


@pytest.mark.parametrize("relative", [0, 2, 5])
def test_deviate_chooses_what_the_reference_says(relative: int) -> None:
    book = game_book(1, games=6, depth=20)
    for absolute in (0, 4, 30):
        score = book.entry(*START).score
        first, second = deviate_rows(book, START, relative, absolute)
        low, high = score - absolute, score + absolute
        assert keys(book, first) == reference_deviate(book, START, relative, 0, low, high)
        assert keys(book, second) == reference_deviate(book, START, 0, relative, low, high)


# ---------------------------------------------------------------------------------------------------- running


def grown(threads: int = 1) -> Book:
    book = small_book(depth=7)
    deviate(book, START, Worker(toy, threads=threads), 3, 8)
    return book


def test_deviate_ends_with_nothing_left_to_choose() -> None:
    book = grown()
    assert len(book) > 30
    assert deviate_rows(book, START, 3, 8) == ([], [])
    assert {entry[:2]: entry for entry in contents(book)} == expected(book)
    assert verify(book) == (len(book), [], 0, 0)
    assert min(entry.empties for entry in contents(book)) >= 64 - 4 - 7


def test_threads_make_the_same_book_with_the_same_rows() -> None:
    one, two = grown(1), grown(3)
    assert [one.table.entry(row) for row in range(len(one))] == [two.table.entry(row) for row in range(len(two))]


def test_an_unfinished_search_is_not_stored() -> None:
    book = small_book(depth=7)
    asked = 0

    def interrupted(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int] | None:
        nonlocal asked
        asked += 1
        return toy(player, opponent, level, excluded) if asked < 8 else None

    outcome = deviate(book, START, Worker(interrupted), 3, 8)
    assert not outcome.finished
    assert outcome.searches == 7
    assert verify(book).clean
    deviate(book, START, Worker(toy), 3, 8)
    assert contents(book) == contents(grown())


def test_progress_never_goes_back() -> None:
    reports: list[CommandProgress] = []

    def on_progress(report: CommandProgress) -> bool:
        reports.append(report)
        return True

    book = small_book(depth=7)
    outcome = deviate(book, START, Worker(toy, on_progress=on_progress), 3, 8)
    assert sum(report.stage == "search" for report in reports) == outcome.searches
    assert all(1 <= report.done <= report.total for report in reports if report.stage == "search")
    assert [report.positions for report in reports] == sorted(report.positions for report in reports)
    assert [report.searches for report in reports] == sorted(report.searches for report in reports)
    assert reports[-1].searches == outcome.searches


def test_commands_from_outside_the_book_and_bad_settings_say_so() -> None:
    book = small_book()
    outside = after("f5f6e6")
    for command in (deviate, enhance, play_out, extend):
        with pytest.raises(NotInBook, match=r"not in the book \(book store adds the game"):
            command(book, outside, Worker(toy))
    with pytest.raises(OutOfRange, match=r"absolute error 66 is outside 0\.\.65"):
        deviate(book, START, Worker(toy), 2, 66)
    with pytest.raises(OutOfRange, match=r"relative error -130 is outside -129\.\.129"):
        deviate(book, START, Worker(toy), -130, 4)
    with pytest.raises(OutOfRange, match="midgame"):
        enhance(book, START, Worker(toy), 130, 0)
    with pytest.raises(OutOfRange, match="fill depth"):
        fill(book, Worker(toy), 0)
    with pytest.raises(OutOfRange, match="fill depth"):
        fill(book, Worker(toy), 62)
    with pytest.raises(OutOfRange, match="level"):
        deepen(book, Worker(toy), 61)
    with pytest.raises(OutOfRange, match="depth"):
        cut(book, 62)
    with pytest.raises(OutOfRange, match="threads"):
        Worker(toy, threads=0)
    assert len(book) == 1


def test_enhance_goes_to_its_end_and_keeps_the_errors() -> None:
    book = small_book(depth=6)
    outcome = enhance(book, START, Worker(toy), 3, 1)
    assert outcome.added > 0
    assert (book.options.midgame_error, book.options.endcut_error) == (3, 1)
    assert len(select(book, START, Mode.ENHANCE)) == 0
    assert verify(book).clean


def test_play_continues_every_line_to_the_depth() -> None:
    book = small_book(depth=8)
    play_out(book, START, Worker(toy))
    for entry in contents(book):
        links = [child for _, child in children(book.entry(*entry[:2])) if book.entry(*child) is not None]
        assert links or book.entry(*entry[:2]).empties == 60 - 8
    assert len(book) == 9


def test_extend_links_a_best_move_everywhere() -> None:
    book = small_book(depth=5)
    extend(book, START, Worker(toy))
    for key in (entry[:2] for entry in contents(book)):
        entry = book.entry(*key)
        assert entry is not None
        if entry.empties >= book.options.min_empties and entry.leaf_move <= 64:
            assert entry.leaf_score < entry.score
    assert verify(book).clean


def test_fill_adds_what_lies_between() -> None:
    book = small_book(depth=8)
    line = [referee.square("f5d6c3d3c4f4"[k : k + 2]) for k in range(0, 12, 2)]
    positions = game_positions(book, line)
    add_positions(book, [positions[0], positions[2], positions[4]], Worker(toy))
    missing = {canonical(*positions[1]), canonical(*positions[3])}
    assert missing <= set(fill_positions(book, 2))
    assert fill_positions(book, 1) == []
    fill(book, Worker(toy), 2)
    assert all(book.entry(*position) for position in positions[:5])
    assert fill_positions(book, 2) == []
    assert verify(book).clean


def test_deepen_searches_again_and_raises_levels() -> None:
    book = grown()
    asked: list[int] = []

    def deeper(player: int, opponent: int, level: int, excluded: int) -> tuple[int, int]:
        asked.append(level)
        move, score = toy(player, opponent, level, excluded)
        return move, score + 1

    leaves = sum(book.entry(*entry[:2]).has_leaf for entry in contents(book))
    outcome = deepen(book, Worker(deeper), 8)
    assert outcome.searches == leaves
    assert set(asked) == {8}
    assert all(entry.leaf_level == 8 for entry in (book.entry(*key[:2]) for key in contents(book)) if entry.has_leaf)
    assert deepen(book, Worker(deeper), 8).searches == 0
    assert deepen(book, Worker(deeper), 5).searches == 0
    assert verify(book).clean


def test_correct_finds_wrong_solved_leaves() -> None:
    book = game_book(2)
    exact = [
        entry
        for entry in (book.entry(*key[:2]) for key in contents(book))
        if entry.has_leaf and leaf_bound(entry.leaf_level, entry.empties, 2, 1).exact
    ]
    assert exact
    spoilt = exact[0]._replace(leaf_score=-(exact[0].leaf_score or 2))
    before = contents(book)
    book.put(spoilt)
    book.negamax()
    assert contents(book) != before
    outcome, wrong = correct(book, Worker(toy))
    assert outcome.finished
    assert [item.score for item in wrong] == [exact[0].leaf_score]
    assert contents(book) == before


def test_cut_keeps_the_root_and_says_what_is_lost() -> None:
    book = grown()
    root = book.entry(*START)
    deep = sum(entry.empties < 60 - 4 for entry in (book.entry(*key[:2]) for key in contents(book)))
    shrunk = cut(book, 4)
    assert shrunk.removed == deep > 0
    assert book.options.depth == 4
    assert book.entry(*START).score == root.score
    assert verify(book).clean


def test_prune_marks_follow_the_definition() -> None:
    book = grown()
    marks = prune_marks(book)
    found: dict[tuple[int, ...], int] = {}

    def visit(key: tuple[int, int], best: bool) -> None:
        bit = 1 if best else 2
        if found.get(key, 0) & bit:
            return
        found[key] = found.get(key, 0) | bit
        entry = book.entry(*key)
        for _, child in children(entry):
            below = book.entry(*child)
            if below is not None and (not best or -below.score >= entry.score):
                visit(child, not best)

    visit(START, True)
    visit(START, False)
    assert found == {book.table.entry(row)[:2]: int(mark) for row, mark in enumerate(marks) if mark}


def test_human_scores_survive_everything() -> None:
    book = grown()
    child = canonical(*after("f5"))
    edit(book, *START, referee.square("f5"), 30)
    assert book.entry(*child).score == -30
    assert book.entry(*child).human
    book.negamax()
    assert book.entry(*START).score == 30
    deviate(book, START, Worker(toy), 3, 8)
    deepen(book, Worker(toy), 9)
    prune(book)
    assert book.entry(*child)[6:10] == (-30, -30, -30, 70)
    assert verify(book).clean
    with pytest.raises(OutOfRange, match="score 65"):
        edit(book, *START, None, 65)
    with pytest.raises(ValueError, match="not legal"):
        edit(book, *START, 0, 1)


def test_open_leaves_are_no_problem_but_are_counted() -> None:
    book = grown()
    row = next(row for row in range(len(book)) if book.table.entry(row).has_leaf)
    book.put(book.table.entry(row).without_leaf())
    book.negamax()
    verdict = verify(book)
    assert verdict.clean
    assert verdict.open == 1
    assert book.faults().tolist() == [[row, OPEN]]


def test_depths_have_defaults() -> None:
    assert [default_depth(level) for level in (1, 10, 11, 18, 21, 25, 30, 36, 41, 42, 60)] == [
        58, 40, 39, 39, 36, 33, 30, 30, 25, 24, 24
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------- only what changed


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_after_any_changes_the_quick_negamax_does_what_the_whole_one_does(data: st.DataObject) -> None:
    book = game_book(data.draw(st.integers(0, 3)), games=2)
    book.negamax()
    known = [book.table.entry(row) for row in range(len(book))]
    touched = set()
    for _ in range(data.draw(st.integers(1, 5))):
        entry = known[data.draw(st.integers(0, len(known) - 1))]
        kind = data.draw(st.sampled_from(["leaf", "no leaf", "human", "new"]))
        if kind == "new":
            below = [key for _, key in children(entry) if book.entry(*key) is None]
            if not below:
                continue
            score = data.draw(st.integers(-64, 64))
            touched.add(book.put(PositionEntry(*below[0], score=score, lower=score, upper=score, level=1)))
        elif kind == "human":
            score = data.draw(st.integers(-64, 64))
            touched.add(book.put(entry._replace(score=score, lower=score, upper=score, level=70, flags=1)))
        elif kind == "no leaf":
            touched.add(book.put(entry.without_leaf()))
        elif entry.has_leaf:
            touched.add(book.put(entry._replace(leaf_score=data.draw(st.integers(-64, 64)))))
    quick = BookTable()
    for row in range(len(book)):
        entry = book.table.entry(row)
        quick.insert(*entry[:2])
        quick.write(row, entry)
    found = negamax_from(quick, book.options, touched)
    assert found is not None
    negamax(book.table, book.options)
    assert [quick.entry(row) for row in range(len(quick))] == [book.table.entry(row) for row in range(len(book))]
    assert book.faults().tolist() == book.faults_among(np.arange(len(book))).tolist()


def test_growing_a_large_book_a_little_looks_at_a_little() -> None:
    book = game_book(5, games=8)
    worker = Worker(toy)
    fix(book, worker)
    assert book.unverified_rows().tolist() == []
    position = game_positions(book, referee.random_moves(77, 9))[-1]
    before = {entry[:2]: entry for entry in contents(book)}
    add_positions(book, [position], worker)
    assert verify(book) == (len(book), [], 0, 0)
    row = book.table.find(*position)
    book.put(book.table.entry(row)._replace(leaf_score=60))
    assert set(book.unverified_rows().tolist()) == {row, *book.table.parents(row)}
    assert 1 <= book.negamax() <= 10
    assert verify(book).clean
    assert before.keys() < {entry[:2] for entry in contents(book)}
    # Another margin changes everything.
    book.options = book.options._replace(midgame_error=9)
    assert book.unverified_rows() is None
    book.negamax()
    assert verify(book).clean


# ---------------------------------------------------------------------------------------------------- many games


def some_games(count: int) -> list[tuple[list[int], int]]:
    found = []
    for seed in range(count):
        moves = referee.random_moves(seed, 60)
        cells, sign = referee.start(), 1
        for move in moves:
            if not referee.legal_moves(cells):
                cells, sign = referee.passed(cells), -sign
            cells, sign = referee.play(cells, move), -sign
        found.append((moves, sign * referee.final_score(cells)))
    return found


@pytest.mark.parametrize("depth", [12, 61])
def test_many_games_at_once_are_the_same_as_one_by_one(depth: int) -> None:
    games = some_games(6)
    one = new_book(BookOptions(level=1, min_empties=61 - depth), toy)
    for moves, score in games:
        positions = game_positions(one, moves)
        add_positions(one, positions, Worker(toy))
        count(one, live_game(positions, score, "", learned=False))
    many = new_book(BookOptions(level=1, min_empties=61 - depth), toy)
    given = [BookGame(bytes(moves), score) for moves, score in games]
    outcome, problems, *_ = add_games(many, given, Worker(toy), keep_results=True)
    assert problems == []
    assert outcome.added == len(many) - 1
    assert contents(many) == contents(one)
    for key in (entry[:2] for entry in contents(one)):
        assert many.table.results(many.table.find(*key)) == one.table.results(one.table.find(*key))


@pytest.mark.parametrize("unsorted", [1, 1 << 20])
def test_positions_that_enough_games_reach_are_added(monkeypatch: pytest.MonkeyPatch, unsorted: int) -> None:
    monkeypatch.setattr("desdaemon.book.editing.add._GAMES", 4)
    monkeypatch.setattr("desdaemon.book.editing.add._UNSORTED", unsorted)
    games = [BookGame(bytes(moves), score) for moves, score in some_games(30)]
    book = new_book(BookOptions(level=1, min_empties=40), toy)
    counts = Counter(
        book.table.canonical(*position)[:2]
        for game in games
        for position in game_positions(book, game.moves)
        if 64 - (position[0] | position[1]).bit_count() >= book.options.min_empties - 1
    )
    for least in (8, 3):
        outcome, *_ = add_games(book, games, Worker(toy), keep_results=True, played=least)
        found = [book.table.entry(row) for row in range(len(book))]
        assert {entry[:2] for entry in found} == {position for position, count in counts.items() if count >= least}
        added = [counts[entry[:2]] for entry in found[len(book) - outcome.added :]]
        assert added == sorted(added, reverse=True)
        assert verify(book).clean
    # What is in the book already stays.
    outcome, *_ = add_games(book, games[:1], Worker(toy), played=2)
    assert (outcome.added, outcome.searches) == (0, 0)
    # The order of the games makes no difference.
    other = new_book(BookOptions(level=1, min_empties=40), toy)
    for least in (8, 3):
        add_games(other, games[::-1], Worker(toy), played=least)
    assert contents(other) == contents(book)


def test_an_illegal_move_ends_its_game_and_is_named() -> None:
    book = new_book(BookOptions(level=1, min_empties=0), toy)
    moves = referee.random_moves(1, 60)
    games = [
        BookGame(bytes(moves[:10])),
        BookGame(bytes([*moves[:20], 27, *moves[20:]])),
        BookGame(b"\x40"),
        BookGame(b"\x13\xff"),
    ]
    outcome, problems, *_ = add_games(book, games, Worker(toy))
    assert outcome.finished
    assert problems == [f"game {game}: move {move} is not legal" for game, move in ((2, 21), (3, 1), (4, 2))]
    assert min(entry.empties for entry in (book.table.entry(row) for row in range(len(book)))) == 40
    assert verify(book).clean


def test_a_stop_between_batches_keeps_the_games_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # The scores are brought up to date however slow the kernels are.
    monkeypatch.setattr("desdaemon.book.book.SETTLE_S", 600.0)
    monkeypatch.setattr("desdaemon.book.editing.add._GAMES", 2)
    games = [BookGame(bytes(moves), score) for moves, score in some_games(6)]
    book = new_book(BookOptions(level=1, min_empties=40), toy)
    outcome, *_ = add_games(book, games, Worker(toy, on_progress=lambda report: report.total < 4))
    assert not outcome.finished
    assert verify(book).clean
    outcome, *_ = add_games(book, games, Worker(toy))
    whole = new_book(BookOptions(level=1, min_empties=40), toy)
    add_games(whole, games, Worker(toy))
    assert contents(book) == contents(whole)


def test_store_searches_the_game_alone() -> None:
    book = small_book(depth=8)
    games = [BookGame(bytes(move for move in referee.random_moves(seed, 60) if move < 64)) for seed in range(40)]
    add_games(book, games, Worker(toy), search=False)
    waiting = verify(book).open
    assert waiting > 150
    game = game_positions(book, [move for move in referee.random_moves(99, 8) if move < 64])
    outcome = add_positions(book, game, Worker(toy))
    assert outcome.finished
    assert outcome.searches < 3 * len(game)
    assert verify(book).clean
    assert verify(book).open >= waiting - len(game)
    assert all(book.entry(*position).score != NO_SCORE for position in game)
    worker, before = Worker(toy), verify(book).open
    self_play(book, START, worker, 1, SelfPlayTerms(1, seed=1))
    assert verify(book).open >= before - 9
    fix(book, Worker(toy))
    assert verify(book).open == 0
