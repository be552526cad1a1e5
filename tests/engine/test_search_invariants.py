"""What must not change an answer: mirrors, tables, threads, orderings, what was searched before."""

from __future__ import annotations

import threading
from collections.abc import Callable

import judge
import pytest
from table_entries import switch_off

from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.layout import EDGES, LAST_DATE, OFF_ETC, OFF_EVALUATION
from desdaemon.engine.limits import Limits
from desdaemon.engine.memory import Block
from desdaemon.engine.result import Line
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.selectivity import Selectivity

TO_THE_END = Limits(60)


@pytest.fixture(scope="module")
def endgames() -> list[tuple[judge.Board, int]]:
    """Positions with their exact scores."""
    return [(board, judge.solve(*board)) for board in judge.positions(40, 36, range(9, 14)) if not judge.over(board)]


def longer(seed: int, number: int, empties: int) -> list[judge.Board]:
    return [board for board in judge.positions(seed, number, [empties]) if judge.moves(*board)]


@pytest.mark.compiled
@pytest.mark.parametrize("limits", [Limits(4), Limits(6, Selectivity(73)), TO_THE_END], ids=["d4", "d6@73", "exact"])
def test_mirror_images_have_the_same_answers(searcher: Searcher, limits: Limits) -> None:
    left = range(8, 11) if limits is TO_THE_END else range(20, 50)
    for board in judge.positions(41, 5, left):
        images = [judge.image(board, places) for places in judge.images()]
        if len(set(images)) < 8 or not judge.moves(*board):
            continue
        answers = []
        for image, places in zip(images, judge.images(), strict=True):
            searcher.clear()
            back = {place: square for square, place in enumerate(places)}
            lines = searcher.search(*image, limits, multipv=64).lines
            answers.append(
                [(back[line.move], line.score, tuple(back.get(move, move) for move in line.pv)) for line in lines]
            )
        assert all(answer == answers[0] for answer in answers)


def test_mirror_images_have_the_same_evaluation(searcher: Searcher) -> None:
    for board in judge.positions(42, 40, range(1, 60)):
        assert len({searcher.evaluate(*judge.image(board, places)) for places in judge.images()}) == 1


@pytest.mark.parametrize("moves", ["", "f5f6d3c3", "f5f6c4c3", "f5f6e6"])
def test_moves_to_mirror_images_share_one_search(searcher: Searcher, moves: str) -> None:
    """Whatever the table holds, here of a game with one of the moves, taken back."""
    board = judge.OPENING
    for place in range(0, len(moves), 2):
        board = judge.play(board, 8 * (int(moves[place + 1]) - 1) + "abcdefgh".index(moves[place]))

    def reached(move: int, line: tuple[int, ...]) -> set[judge.Board]:
        after = judge.play(board, move)
        for reply in line:
            after = judge.play(after, reply)
        return {judge.image(after, places) for places in judge.images()}

    first = searcher.search(*board, Limits(7)).lines[0].move
    searcher.search(*judge.play(board, first), Limits(8))
    shown: list[tuple[int, Line]] = []
    result = searcher.search(*board, Limits(8), multipv=64, progress=lambda rank, line: shown.append((rank, line)))
    assert {line.move for line in result.lines} == set(judge.squares(judge.moves(*board)))
    assert 0 < sum(line.nodes for _, line in shown) <= result.nodes
    assert [rank for rank, _ in shown] == list(range(len(result.lines))) * 4
    groups: dict[frozenset[judge.Board], list[Line]] = {}
    for line in result.lines:
        groups.setdefault(frozenset(reached(line.move, ())), []).append(line)
    for group in groups.values():
        assert len({line.score for line in group}) == 1
        assert all(reached(line.move, line.pv[1:]) == reached(group[0].move, group[0].pv[1:]) for line in group)
    assert len(groups) < len(result.lines)
    lines = searcher.search(*board, Limits(8), multipv=2).lines
    assert len(lines) == 2


def test_a_tiny_table_gives_the_same_scores(weights: Weights, endgames: list[tuple[judge.Board, int]]) -> None:
    searcher = Searcher(hash_bits=10, weights=weights)
    for board, score in endgames:
        assert searcher.search(*board, TO_THE_END).lines[0].score == score


def test_tiny_and_large_tables_agree_on_longer_endgames(weights: Weights) -> None:
    tiny, large = (Searcher(hash_bits=bits, weights=weights) for bits in (10, 22))
    for board in longer(43, 8, 16):
        lines = [searcher.search(*board, TO_THE_END).lines[0] for searcher in (tiny, large)]
        assert lines[0].score == lines[1].score
        assert all(line.exact for line in lines)


def plain(searcher: Searcher) -> None:
    switch_off(searcher, 0)


def without_etc(searcher: Searcher) -> None:
    switch_off(searcher, OFF_ETC)


def without_evaluation(searcher: Searcher) -> None:
    switch_off(searcher, OFF_EVALUATION)


def without_either(searcher: Searcher) -> None:
    switch_off(searcher, OFF_ETC | OFF_EVALUATION)


def without_edges(searcher: Searcher) -> None:
    """The table of edges is shared by all searchers: this one gets another, empty one."""
    searcher._edges = Block(1 << 16)
    for context in searcher._contexts:
        context[EDGES] = searcher._edges.address


@pytest.mark.parametrize("change", [plain, without_etc, without_evaluation, without_either, without_edges])
def test_parts_of_the_search_can_be_switched_off(
    weights: Weights, endgames: list[tuple[judge.Board, int]], change: Callable[[Searcher], None]
) -> None:
    searcher = Searcher(hash_bits=14, weights=weights)
    whole = Searcher(hash_bits=14, weights=weights)
    change(searcher)
    nodes = 0
    for board, score in endgames:
        result = searcher.search(*board, TO_THE_END)
        assert result.lines[0].score == score
        nodes += result.nodes - whole.search(*board, TO_THE_END).nodes
    for board in longer(44, 3, 16):
        results = [s.search(*board, TO_THE_END) for s in (searcher, whole)]
        assert results[0].lines[0].score == results[1].lines[0].score
        nodes += results[0].nodes - results[1].nodes
    # What is switched off was in use.
    assert (nodes == 0) == (change is plain)


def test_threads_give_the_same_scores_of_lines(weights: Weights, searcher: Searcher) -> None:
    both = Searcher(threads=2, hash_bits=14, weights=weights)
    for board in longer(48, 3, 15):
        one = searcher.search(*board, TO_THE_END, multipv=3)
        two = both.search(*board, TO_THE_END, multipv=3)
        assert [line.score for line in one.lines] == [line.score for line in two.lines]
        for line in two.lines:
            end, value = board, line.score
            for move in line.pv:
                end, value = judge.play(end, move), -value
            assert judge.over(end)
            assert judge.solve(*end) == value


def test_searchers_do_not_disturb_each_other(weights: Weights) -> None:
    """Each in a thread of its own at the same time: the same nodes as one after the other."""
    boards = [*longer(54, 6, 14), *longer(55, 6, 40)]

    def work(searcher: Searcher, into: list[tuple[int, int]]) -> None:
        for board in boards:
            result = searcher.search(*board, Limits(6) if judge.empties(board) > 20 else TO_THE_END)
            into.append((result.nodes, result.lines[0].score))

    alone: list[tuple[int, int]] = []
    work(Searcher(hash_bits=14, weights=weights), alone)
    together: list[list[tuple[int, int]]] = [[], []]
    threads = [threading.Thread(target=work, args=(Searcher(hash_bits=14, weights=weights), into)) for into in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [alone, alone]


@pytest.mark.parametrize(("first", "later"), [(253, 5), (49, LAST_DATE - 1)])
def test_a_cleared_table_is_as_new_after_dates_began_again(weights: Weights, first: int, later: int) -> None:
    """Old entries have a higher date than the search after the clearing, or the same one."""
    board, other = longer(51, 2, 15)
    new, old = (Searcher(hash_bits=10, weights=weights) for _ in range(2))
    old.search(*judge.OPENING, Limits(1))
    # The first clearing is another one.
    old.clear()
    for _ in range(first - 1):
        old.search(*judge.OPENING, Limits(1))
    old.search(*other, TO_THE_END)
    for _ in range(later):
        old.search(*judge.OPENING, Limits(1))
    old.clear()
    assert old.search(*board, TO_THE_END).nodes == new.search(*board, TO_THE_END).nodes


def test_earlier_searches_do_not_change_a_score(searcher: Searcher, endgames: list[tuple[judge.Board, int]]) -> None:
    """Old entries of all kinds of searches, and the count of searches going round."""
    for board in judge.positions(52, 300, range(10, 14)):
        searcher.search(*board, Limits(3, Selectivity(73)))
    for board, score in endgames:
        searcher.search(*board, Limits(60, Selectivity(73)))
        searcher.search(*board, Limits(8, Selectivity(87)))
        assert searcher.search(*board, TO_THE_END, alpha=score - 1, beta=score + 1).lines[0].score == score
        assert searcher.search(*board, TO_THE_END).lines[0].score == score


def test_after_clearing_a_full_table_every_node_is_searched_again_alike() -> None:
    boards = longer(47, 4, 18)
    searcher = Searcher(hash_bits=12)

    def nodes() -> list[int]:
        found = []
        for board in boards:
            searcher.clear()
            found.append(searcher.search(*board, TO_THE_END).nodes)
        return found

    first = nodes()
    assert first == nodes() == nodes()
