"""Books grown by the real search."""

import threading
import time

import pytest
import referee
from toys import contents, new_book, small_book, toy

from desdaemon.book.book import Book
from desdaemon.book.check import verify
from desdaemon.book.editing.add import add_positions
from desdaemon.book.editing.engine_evaluator import Searches
from desdaemon.book.editing.rounds import Worker
from desdaemon.book.errors import NotInBook
from desdaemon.book.growth.grow import deviate
from desdaemon.book.options import BookOptions
from desdaemon.book.record import START
from desdaemon.book.reports.hash_seeding import known_scores
from desdaemon.engine.limits import level_limits
from desdaemon.engine.search import Searcher

pytestmark = pytest.mark.needs("book.reports")


def test_solved_leaves_are_right_without_the_moves_left_out() -> None:
    search = Searches()
    done = 0
    for seed in range(60):
        cells = referee.random_position(seed, 54)
        scores = referee.solve_moves(cells)
        while scores:
            excluded = sum(1 << move for move in referee.legal_moves(cells) if move not in scores)
            answer = search(*referee.to_bits(cells), 10, excluded)
            assert answer is not None
            move, score = answer
            assert score == max(scores.values()) == scores[move]
            del scores[move]
            done += 1
    assert done > 100


def test_a_search_without_an_end_lasts_until_its_deadline() -> None:
    """Not shorter: what its command tells of the budget would be wrong."""
    searches = Searches(hash_bits=14)
    for _ in range(20):
        searches.deadline = time.monotonic() + 0.0059
        assert searches(*START, 60, 0) is None
        assert time.monotonic() >= searches.deadline


def test_any_number_of_threads_grows_the_same_book() -> None:
    books = []
    for threads in (1, 2):
        search = Searches(hash_bits=14)
        book = new_book(BookOptions(level=3, min_empties=54), search)
        outcome = deviate(book, START, Worker(search, threads=threads), 1, 3)
        assert outcome.finished
        assert verify(book) == (len(book), [], 0, 0)
        books.append(contents(book))
    assert books[0] == books[1]
    assert len(books[0]) > 10


def test_a_stop_ends_a_long_search_and_the_book_is_sound() -> None:
    search = Searches()
    book = new_book(BookOptions(level=2, min_empties=51), search)
    book.options = book.options.at_level(40)
    timer = threading.Timer(0.2, search.stop)
    timer.start()
    begun = time.monotonic()
    outcome = deviate(book, START, Worker(search, threads=2), 2, 4)
    timer.join()
    assert not outcome.finished
    assert time.monotonic() - begun < 30
    assert verify(book).clean
    assert search(*START, 2, 0) is None


def plainly_known(book: Book, root: tuple[int, int]) -> dict[tuple[int, int], tuple[int, int]]:
    """Best move and score of every board that links from ``root`` lead to."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    waiting = [root]
    while waiting:
        board = waiting.pop()
        entry = book.entry(*board)
        if board in found or entry is None:
            continue
        moves = book.moves_on(*board)
        if -64 <= entry.score <= 64 and book.table.moves(*board):
            found[board] = (moves[0].move if moves else 64), entry.score
        waiting += [book.table.play(*board, move.move) for move in moves if move.linked]
    return found


@pytest.mark.parametrize("opening", [(), (44,), (26, 18)])
def test_what_a_book_knows_is_what_its_links_lead_to(opening: tuple[int, ...]) -> None:
    book = small_book(depth=8)
    deviate(book, START, Worker(toy), 3, 8)
    root = START
    for move in opening:
        root = book.table.play(*root, move)
    expected = plainly_known(book, root)
    known = list(known_scores(book, root, 1 << 16))
    assert {entry[:2]: entry[2:4] for entry in known} == expected
    assert len(known) == len(expected) > 3
    discs = [(entry[0] | entry[1]).bit_count() for entry in known]
    assert discs == sorted(discs)
    assert all(entry[4] == level_limits(2, 64 - count) for entry, count in zip(known, discs, strict=True))


def test_what_a_book_knows_spares_the_search_its_work() -> None:
    searches = Searches()
    book = Book(BookOptions(level=8, min_empties=50))
    worker = Worker(searches)
    add_positions(book, [START], worker)
    deviate(book, START, worker, 2, 4)
    assert verify(book).clean
    fresh, fed = Searcher(hash_bits=16), Searcher(hash_bits=16)
    player, opponent = book.table.play(*START, 44)
    known = list(known_scores(book, (player, opponent), 1 << 16))
    assert known[0][:2] == (player, opponent)
    assert len({entry[:2] for entry in known}) == len(known) > 20
    fed.feed(player, opponent, known)
    limits = level_limits(8, 59)
    alone, helped = (searcher.search(player, opponent, limits) for searcher in (fresh, fed))
    assert helped.nodes < alone.nodes
    fed.clear()
    again = fed.search(player, opponent, limits)
    assert (again.nodes, again.lines[0].score) == (alone.nodes, alone.lines[0].score)
    with pytest.raises(NotInBook):
        list(known_scores(book, (1, 2), 9))
    assert len(list(known_scores(book, START, 3))) == 3
