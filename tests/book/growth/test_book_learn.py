"""Learning, reducing, leaves searched again, grades, results, schedules."""

from pathlib import Path

import pytest
import referee
from toys import canonical, contents, create_store, game_positions, set_results, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.editing.add import add_positions, fix
from desdaemon.book.editing.game_results import adjust, count, live_game
from desdaemon.book.editing.rounds import CommandProgress, Worker
from desdaemon.book.errors import NotInBook, OutOfRange
from desdaemon.book.formats import registry
from desdaemon.book.grade import LETTERS, Grades
from desdaemon.book.growth.learn import (
    NO_LIMIT,
    Window,
    expansions,
    learn,
    recalculate_leaves,
    reduce,
    walk,
)
from desdaemon.book.growth.schedule import RECIPES, parse
from desdaemon.book.layout import EGAROUCID_LEVELS, GUESSED, HUMAN_LEVEL, MAX_LEVEL, READ, SOLVED
from desdaemon.book.options import BookOptions, Rule
from desdaemon.book.readings import egaroucid_reading, in_scale, reading
from desdaemon.book.record import START, PositionEntry
from desdaemon.book.storage.store import open_store

WINDOW = Window(6, 6, 14)


def learnt(threads: int = 1, window: Window = WINDOW, leaf: int = 8, level: int = 3) -> Book:
    book = small_book(depth=10)
    outcome = learn(book, START, Worker(toy, threads=threads), window, leaf, level)
    assert outcome.finished
    return book


def entries(book: Book) -> dict[tuple[int, int], PositionEntry]:
    return {entry[:2]: entry for entry in (book.table.entry(row) for row in range(len(book)))}


def paths(book: Book, window: Window, best_only: bool | None) -> dict[tuple[tuple[int, int], bool], int]:
    """The largest budget of every position, by trying every path."""
    found: dict[tuple[tuple[int, int], bool], int] = {}

    def visit(key: tuple[int, int], own: bool, remaining: int) -> None:
        if found.get((key, own), -1) >= remaining:
            return
        found[key, own] = remaining
        entry = book.entry(*key)
        assert entry is not None
        if 64 - entry.empties >= window.depth + 4:
            return
        moves = book.known_moves(entry)
        for move in moves:
            error = max(0, entry.score - move.score)
            if move.linked and error <= window.per_move and error <= remaining:
                if own is best_only and move.score < moves[0].score:
                    continue
                visit(book.table.entry(move.row)[:2], not own, remaining - error)

    visit(START, True, window.cumulative)
    return found


@pytest.mark.parametrize("best_only", [None, True, False])
@pytest.mark.parametrize("window", [Window(6, 4, 8), Window(4, 2, 3), Window(6, 0, 0), Window(9, 20, 30)])
def test_a_walk_gives_every_position_its_largest_budget(window: Window, best_only: bool | None) -> None:
    book = learnt()
    found = {
        (book.table.entry(visit.row)[:2], visit.own): visit.remaining for visit in walk(book, START, window, best_only)
    }
    assert found == paths(book, window, best_only)


def test_learning_ends_with_nothing_to_expand() -> None:
    book = learnt()
    assert len(book) > 50
    assert expansions(book, START, WINDOW, 8) == []
    again = learn(book, START, Worker(toy), WINDOW, 8, 3)
    assert (again.added, again.searches) == (0, 0)
    assert verify(book).clean
    assert max(64 - entry.empties for entry in entries(book).values()) == WINDOW.depth + 4
    assert book.memo == {}


def one_round() -> Worker:
    """A worker that is stopped in its second round."""
    return Worker(toy, on_progress=lambda report: report.round < 2)


def test_a_round_follows_whole_lines() -> None:
    book = small_book(depth=10)
    # The toy's scores change at every step: without limits a line goes down to the depth at once.
    learn(book, START, one_round(), Window(6, NO_LIMIT, NO_LIMIT), 0, 3)
    assert len(book) == 7
    assert sorted(64 - entry.empties for entry in entries(book).values()) == [4, 5, 6, 7, 8, 9, 10]
    # With none at all it stops after its first position, whose score is new.
    book = small_book(depth=10)
    learn(book, START, one_round(), Window(6, 0, 0), 0, 3)
    assert len(book) == 2


def test_the_side_that_plays_best_moves_expands_best_leaves_only() -> None:
    book = learnt()
    for leaf in (0, 4, 12):
        expected = set()
        for best_only in (True, False):
            for (key, own), _ in paths(book, Window(8, 4, 8), best_only).items():
                entry = book.entry(*key)
                if 64 - entry.empties >= 12 or not entry.has_leaf or entry.score - entry.leaf_score > leaf:
                    continue
                if own is best_only and entry.leaf_score < book.known_moves(entry)[0].score:
                    continue
                child = book.table.play(*key, entry.leaf_move)
                expected.add(canonical(*child))
        assert {found[:2] for found in expansions(book, START, Window(8, 4, 8), leaf)} == expected


def test_threads_make_the_same_book() -> None:
    one, two = learnt(1), learnt(3)
    assert [one.table.entry(row) for row in range(len(one))] == [two.table.entry(row) for row in range(len(two))]


@pytest.mark.parametrize("threads", [1, 2])
def test_stopped_three_times_and_resumed_is_the_same_book(threads: int, tmp_path: Path) -> None:
    whole = learnt()
    path = tmp_path / "b.book"
    create_store(path, small_book(depth=10)).close()
    asked: list[tuple[int, ...]] = []

    def counting(*question: int) -> tuple[int, int]:
        asked.append(question)
        return toy(*question)

    for limit in (5, 30, 60, 10**9):
        left = limit

        def on_progress(report: CommandProgress) -> bool:
            nonlocal left
            left -= 1
            return left > 0

        with open_store(path) as store:
            outcome = learn(store.book, START, Worker(counting, threads=threads, on_progress=on_progress), WINDOW, 8, 3)
            assert outcome.finished == (limit == 10**9)
            assert verify(store.book).clean
            if limit == 30:
                store.save()
    with open_store(path) as store:
        assert contents(store.book) == contents(whole)
        assert store.book.memo == {}
    if threads == 1:
        assert len(asked) == len(set(asked))


def test_a_root_outside_the_book_is_added() -> None:
    book = small_book(depth=10)
    cells = referee.play(referee.play(referee.start(), 19), 18)
    root = referee.to_bits(cells)
    before = book.entry(*START)
    learn(book, root, Worker(toy), Window(5, 2, 2), 2, 3)
    assert book.entry(*root) is not None
    assert book.entry(*START) == before
    assert all(entry.empties <= 58 or entry[:2] == START for entry in entries(book).values())


def test_settings_out_of_range_are_refused() -> None:
    book = small_book()
    for window, leaf, level, problem in (
        (Window(61, 0, 0), 0, 1, r"depth 61 is outside 0\.\.60"),
        (Window(1, -1, 0), 0, 1, "error per move"),
        (Window(1, 0, 130), 0, 1, "cumulative error"),
        (Window(1, 0, 0), -1, 1, "leaf error"),
        (Window(1, 0, 0), 0, 0, r"level 0 is outside 1\.\.60"),
    ):
        with pytest.raises(OutOfRange, match=problem):
            learn(book, START, Worker(toy), window, leaf, level)
    outside = referee.to_bits(referee.random_position(1, 20))
    with pytest.raises(NotInBook):
        reduce(book, outside, WINDOW)
    with pytest.raises(NotInBook):
        recalculate_leaves(book, outside, Worker(toy), WINDOW, 3)


def test_reduce_keeps_the_window_and_what_the_root_does_not_reach() -> None:
    book = learnt()
    orphan = canonical(*referee.to_bits(referee.random_position(9, 40)))
    book.put(PositionEntry(*orphan, score=3, lower=3, upper=3, level=5, leaf_score=3, leaf_move=65))
    small = Window(5, 1, 2)
    kept = {key for key, _ in paths(book, small, None)} | {orphan}
    before = len(book)
    shrunk = reduce(book, START, small)
    assert set(entries(book)) == kept
    assert shrunk.removed == before - len(kept) > 0
    assert not [
        problem for problem in verify(book).problems if "leaf" not in problem.what and "final" not in problem.what
    ]


def test_leaves_are_searched_again_in_the_window_alone() -> None:
    book = learnt()
    small = Window(4, 2, 4)
    inside = {key for key, _ in paths(book, small, None) if 64 - book.entry(*key).empties < 8}
    before = entries(book)
    outcome = recalculate_leaves(book, START, Worker(toy), small, 9)
    assert outcome.finished
    for key, entry in entries(book).items():
        if key in inside and entry.has_leaf:
            assert entry.leaf_level == 9
        else:
            assert entry[10:13] == before[key][10:13]
    assert recalculate_leaves(book, START, Worker(toy), small, 9).searches == 0


def test_reduce_keeps_lines_that_are_read_to_the_end() -> None:
    book = learnt()
    fewest = min(entry.empties for entry in contents(book))
    deep = [entry for entry in contents(book) if entry.empties == fewest and entry.has_leaf]
    ends = {entry[:2] for entry in deep[::5]}
    for entry in deep:
        book.put(entry._replace(leaf_level=60 if entry[:2] in ends else 10))
    book.negamax()

    def leads(entry: PositionEntry) -> bool:
        links = [child for _, child in book.table.links(*entry[:2]) if child >= 0]
        return entry[:2] in ends or any(leads(book.table.entry(child)) for child in links)

    expected = {entry[:2] for entry in contents(book) if leads(entry)} | {START}
    assert 1 < len(expected) < len(book)
    reduce(book, START, Window(60, NO_LIMIT, NO_LIMIT), read_only=True)
    assert {entry[:2] for entry in contents(book)} == expected
    assert verify(book).clean


# ---------------------------------------------------------------------------------------------------- grades


def test_levels_read_as_deep_as_documented() -> None:
    for level, empties, letter in ((21, 24, "A"), (21, 25, "C"), (21, 30, "C"), (21, 31, "F"), (27, 28, "A")):
        assert LETTERS[egaroucid_reading(level, empties)] == letter
    for level, empties, letter in ((21, 24, "A"), (21, 25, "C"), (21, 30, "C"), (21, 31, "F"), (27, 28, "C")):
        assert LETTERS[reading(level, empties)] == letter
    assert reading(70, 60) == egaroucid_reading(70, 60) == SOLVED
    assert reading(-1, 30) == egaroucid_reading(-1, 30) == GUESSED
    # The two programs agree where the seed's remarks fix it.
    assert (egaroucid_reading(19, 29), egaroucid_reading(17, 29), egaroucid_reading(21, 28)) == (READ, GUESSED, READ)


def graded(flags: int = 0, **levels: int) -> Book:
    """The position after f5 and its children at the levels given, all of score 0; (e.g. d6=60, f4=1, f6=27)."""
    book = Book()
    cells = referee.play(referee.start(), referee.square("f5"))
    for move, level in levels.items():
        p, o = canonical(*referee.to_bits(referee.play(cells, referee.square(move))))
        book.put(PositionEntry(p, o, score=0, level=level, leaf_level=level, flags=flags))
    p, o = canonical(*referee.to_bits(cells))
    book.put(PositionEntry(p, o, score=0, level=1))
    return book


ROOT = referee.to_bits(referee.play(referee.start(), referee.square("f5")))
# With 58 empties: level 60 solves, level 55 of Egaroucid's reads with selectivity, level 20 guesses.
BY_LETTER = {"A": 60, "C": 55, "F": 20}


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("AA", "A"), ("AC", "B"), ("CC", "C"), ("AF", "D"), ("CF", "E"), ("FF", "F"), ("ACF", "D")],
)
def test_grades_are_what_is_at_the_ends(letters: str, expected: str) -> None:
    moves = ("d6", "f4", "f6")
    book = graded(EGAROUCID_LEVELS, **{move: BY_LETTER[letter] for move, letter in zip(moves, letters, strict=False)})
    assert Grades(book).grade(*ROOT)[0] == expected
    assert (Grades(book).grade(*ROOT) == "AA") == (expected == "A")


@pytest.mark.parametrize("rule", list(Rule))
def test_own_searches_are_graded_by_what_they_were_whatever_the_rule(rule: Rule) -> None:
    player, opponent = canonical(*referee.to_bits(referee.random_position(3, 34)))
    assert 64 - (player | opponent).bit_count() == 26
    book = Book(BookOptions(level=24, rule=rule))
    add_positions(book, [(player, opponent)], Worker(toy))
    entry = book.entry(player, opponent)
    assert entry.leaf_level == 24
    assert Grades(book).grade(player, opponent) == Grades(book).leaf_grade(entry) == "C"
    # Its program solves 26 empties at this level. What comes from its files is graded so, until it is searched here.
    book.put(entry._replace(flags=EGAROUCID_LEVELS))
    assert Grades(book).grade(player, opponent) == "AA"
    book.put(book.entry(player, opponent).without_leaf()._replace(level=24))
    fix(book, Worker(toy))
    assert Grades(book).grade(player, opponent) == "C"


def test_a_level_in_the_other_scale_is_read_as_no_surer() -> None:
    place = PositionEntry(*START)
    for empties in range(1, 61):
        board = place._replace(player=(1 << (64 - empties)) - 1, opponent=0)
        for level in range(1, 61):
            own = board._replace(level=level, leaf_level=level)
            there = in_scale(own, egaroucid=True)
            assert egaroucid_reading(there.level, empties) >= reading(level, empties)
            assert egaroucid_reading(there.leaf_level, empties - 1) >= reading(level, empties)
            assert max(there.level, there.leaf_level) <= level
            here = in_scale(own._replace(flags=EGAROUCID_LEVELS))
            assert reading(here.level, empties) >= egaroucid_reading(level, empties)
            assert here.flags == 0
    human = place._replace(level=HUMAN_LEVEL)
    assert in_scale(human, egaroucid=True)[9:] == (*human[9:13], EGAROUCID_LEVELS)


@pytest.mark.needs("book.edax")
@pytest.mark.needs("book.egaroucid")
@pytest.mark.parametrize("name", ["b.dat", "b.txt"])
def test_no_export_calls_a_score_surer_than_its_search_was(name: str, tmp_path: Path) -> None:
    levels = {}
    book = Book(BookOptions(level=1, min_empties=0))
    for seed in range(8):
        for ply, board in enumerate(game_positions(book, referee.random_moves(seed, 60))):
            position = book.table.canonical(*board)[:2]
            levels[position] = 1 + (seed * 60 + ply) * 7 % 60
            entry = PositionEntry(*position, score=0, lower=0, upper=0, level=levels[position], flags=EGAROUCID_LEVELS)
            book.put(entry)
    lost = registry.save(tmp_path / name, book).lost
    written = registry.load(tmp_path / name).book
    lower = 0
    for position, level in levels.items():
        entry = written.entry(*position)
        assert entry.flags == 0
        assert reading(entry.level, entry.empties) >= egaroucid_reading(level, entry.empties)
        lower += entry.level < level
    assert 0 < lower < len(levels) / 2
    assert f"levels that mean more there, so that lower ones are written ({lower})" in lost


def test_only_near_moves_count_and_the_second_letter_looks_two_discs_far() -> None:
    book = graded(EGAROUCID_LEVELS, d6=60, f4=20)
    child = canonical(*referee.to_bits(referee.play(referee.from_bits(*ROOT), referee.square("f4"))))
    for worse, expected in ((1, "D"), (2, "AD"), (3, "AA")):
        book.put(book.entry(*child)._replace(score=worse))
        assert Grades(book).grade(*ROOT) == expected


def test_an_unsolved_leaf_counts() -> None:
    book = graded(d6=60)
    key = canonical(*ROOT)
    assert Grades(book).grade(*ROOT) == "AA"
    free = next(move for move, row in book.table.links(*key) if row < 0)
    book.put(book.entry(*key)._replace(leaf_move=free, leaf_score=0, leaf_level=10))
    assert Grades(book).grade(*ROOT) == "D"
    assert Grades(book).flags(*ROOT, 1) == SOLVED | GUESSED
    assert Grades(book).grade(*referee.to_bits(referee.random_position(3, 20))) == ""


# ---------------------------------------------------------------------------------------------------- results


def game() -> list[tuple[int, int]]:
    cells, positions = referee.start(), [START]
    for name in ("f5", "d6", "c3", "d3", "c4"):
        cells = referee.play(cells, referee.square(name))
        positions.append(referee.to_bits(cells))
    return positions


def line_book() -> Book:
    book = Book(BookOptions(level=1, min_empties=50))
    for position in game():
        book.put(PositionEntry(*canonical(*position), score=0, level=1))
    return book


def test_results_are_seen_from_the_side_to_move() -> None:
    book = line_book()
    positions = game()
    for score in (10, 10, 0, -2):
        assert count(book, live_game(positions, score, "", learned=False)) == len(positions)
    for ply, position in enumerate(positions):
        won, drawn, lost = book.table.results(book.table.find(*position))
        assert (won, drawn, lost) == ((2, 1, 1) if ply % 2 == 0 else (1, 1, 2))
    with pytest.raises(OutOfRange, match="final score"):
        live_game(positions, 65, "", learned=False)


@pytest.mark.parametrize("loser", [0, 1])
def test_a_lost_game_weighs_most_at_its_end(loser: int) -> None:
    book = line_book()
    positions = game()
    rows = [book.table.find(*position) for position in positions]
    for row in rows:
        set_results(book, row, (100, 7, 100))
    adjust(book, positions, loser)
    shares = []
    for ply, row in enumerate(rows):
        won, drawn, lost = book.table.results(row)
        if ply % 2 != loser:
            won, lost = lost, won
        assert drawn == 7
        shares.append(won / (won + lost))
    assert shares[0] == 0.5
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == len(shares)
    won, _, lost = book.table.results(rows[-1])
    expected = (80.0, 120.0) if (len(rows) - 1) % 2 == loser else (120.0, 80.0)
    assert (won, lost) == pytest.approx(expected)
    for _ in range(100):
        adjust(book, positions, loser)
    assert all(min(book.table.results(row)[::2]) > 0 for row in rows)


# ---------------------------------------------------------------------------------------------------- schedules


def test_recipes_are_the_published_ones() -> None:
    steps = {
        name: [(*step.window, step.leaf_error, step.level) for step in parse(text)] for name, text in RECIPES.items()
    }
    assert steps == {
        "accurate-32": [(31, 4, 4, 4, 19), (31, 4, 4, 0, 19), (32, 0, 0, 2, 30)],
        "fast-32": [(31, 4, 4, 4, 17), (32, 1, 1, 2, 21)],
        "deep-40": [(30, 3, 3, 3, 8), (36, 2, 2, 2, 9), (40, 1, 1, 1, 21)],
    }
    for text in RECIPES.values():
        assert parse("\n".join(map(str, parse(text)))) == parse(text)


def test_recipes_search_as_their_grades_say() -> None:
    grades = {"accurate-32": "A", "fast-32": "C", "deep-40": "A"}
    for name, text in RECIPES.items():
        last = parse(text)[-1]
        assert LETTERS[reading(last.level, 60 - last.window.depth)] == grades[name]
        assert f"Grade {grades[name]}" in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\nlearn 1 2 3 4", "line 2: expected"),
        ("deviate 2 4", "line 1: expected"),
        ("learn 1 2 3 4 x", "line 1: the five"),
        ("learn 61 2 3 4 5", r"line 1: depth 61 is outside 0\.\.60"),
        ("learn 6 2 3 4 61", rf"line 1: level 61 is outside 1\.\.{MAX_LEVEL}"),
    ],
)
def test_bad_schedules_are_refused(text: str, problem: str) -> None:
    with pytest.raises((ValueError, OutOfRange), match=problem):
        parse(text)
