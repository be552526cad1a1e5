"""Threads that search together: right scores, counts that repeat with virtual threads, helpers that leave."""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections.abc import Callable

import judge
import pytest
from lab.stress import THREADS, stress
from random_games import random_boards
from table_entries import check_entries
from virtual_turns import Turns
from waits import until

from desdaemon.engine import team
from desdaemon.engine.compiler import INTERPRETED
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits
from desdaemon.engine.result import Result
from desdaemon.engine.search import Control, KnownScore, Searcher
from desdaemon.engine.team import Team
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.system.threads import begin

TO_THE_END = Limits(60)


@pytest.fixture
def shared_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are shared as low as can be, so that small searches have many of them."""
    monkeypatch.setattr(Team, "share_from", 3)
    monkeypatch.setattr("desdaemon.engine.search._TOGETHER_FROM", 3)


def pick(compiled: int, interpreted: int) -> int:
    """The second where kernels run as Python, some thousand times slower."""
    return interpreted if INTERPRETED else compiled


def virtual(weights: Weights, threads: int, quantum: int, bits: int = 14) -> Searcher:
    return Searcher(threads=threads, hash_bits=bits, weights=weights, waiting=Turns(threads, quantum))


def boards(seed: int, number: int, empties: int) -> list[judge.Board]:
    return random_boards(number, empties, seed)


@pytest.mark.usefixtures("shared_low")
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_full_width_searches_have_the_score_of_one_thread(weights: Weights, threads: int) -> None:
    """Without ProbCut a score of so many plies is one number, whoever found its parts."""
    alone = Searcher(hash_bits=16, weights=weights)
    together = virtual(weights, threads, 50, bits=16)
    for empties, depth in ((40, pick(6, 4)), (25, pick(7, 4))):
        for board in boards(80 + empties, pick(8, 1), empties):
            scores = []
            for searcher in (alone, together):
                searcher.clear()
                result = searcher.search(*board, Limits(depth))
                scores.append([line.score for line in result.lines])
            assert result.threads == threads
            assert scores[0] == scores[1]


def searched(searcher: Searcher, board: judge.Board, limits: Limits) -> tuple[list[int], Result]:
    searcher.clear()
    result = searcher.search(*board, limits)
    return searcher.shares, result._replace(time_ms=0, lines=tuple(line._replace(time_ms=0) for line in result.lines))


@pytest.mark.usefixtures("shared_low")
def test_virtual_threads_repeat_themselves(weights: Weights) -> None:
    [board] = boards(90, 1, 36)
    limits = Limits(pick(9, 4), Selectivity(73))
    first = [searched(virtual(weights, threads, 100), board, limits) for threads in (2, 5)]
    again = [searched(virtual(weights, threads, 100), board, limits) for threads in (2, 5)]
    assert first == again
    for shares, result in first:
        assert all(shares)
        assert sum(shares) == result.nodes


@pytest.mark.compiled
def test_eight_threads_visit_few_nodes_more_than_one(weights: Weights) -> None:
    """The counts are the same on every machine; sharing that has come apart triples them."""
    for board, limits in ((boards(91, 1, 20)[0], TO_THE_END), (boards(92, 1, 34)[0], Limits(16, Selectivity(73)))):
        alone = searched(Searcher(hash_bits=18, weights=weights), board, limits)[1].nodes
        shares, result = searched(virtual(weights, 8, 1000, bits=18), board, limits)
        assert result.nodes < 2 * alone
        assert max(shares) < result.nodes / 3


@pytest.mark.compiled
def test_more_threads_visit_few_nodes_more(weights: Weights) -> None:
    """Threads that repeat each other's ProbCut, and part where a cut is expected, visit 2.4 times one's nodes here."""
    limits = Limits(16, Selectivity(73))
    alone, together = Searcher(hash_bits=18, weights=weights), virtual(weights, 32, 1000, bits=18)
    nodes = [0, 0]
    for player, opponent in random_boards(4, 34, 92):
        for which, searcher in enumerate((alone, together)):
            searcher.clear()
            nodes[which] += searcher.search(player, opponent, limits).nodes
    assert nodes[1] < 1.6 * nodes[0]


@pytest.mark.usefixtures("shared_low")
def test_a_stopped_team_leaves_a_sound_table(weights: Weights) -> None:
    """Stopped anywhere, the table says nothing false: the next search by the same table is right."""
    dice = random.Random(93)
    searchers = [Searcher(threads=threads, hash_bits=10, weights=weights) for threads in (2, 4)]
    searchers.append(virtual(weights, 3, 200, bits=10))
    empties = pick(14, 9)
    for board in boards(94, pick(6, 1), empties):
        truth = judge.solve(*board)
        for searcher in searchers:
            for _ in range(3):
                searcher.search(*board, TO_THE_END._replace(nodes=dice.randint(1, 20_000)))
            [line] = searcher.search(*board, TO_THE_END).lines
            assert (line.score, line.exact) == (truth, True)


@pytest.mark.compiled
def test_large_nodes_are_searched_at_lower_selectivity_first(weights: Weights) -> None:
    """With 22 empties, after stops too: all numbers of threads find one score, and entries below hold when searched by
    a searcher for which they are too small for that.
    """
    dice = random.Random(95)
    other = Searcher(hash_bits=14, weights=weights)
    searchers = [Searcher(threads=threads, hash_bits=16, weights=weights) for threads in (1, 4)]
    searchers.append(virtual(weights, 5, 2000, bits=16))
    for board in boards(98, 1, 22):
        scores = set()
        for searcher in searchers:
            searcher.search(*board, TO_THE_END._replace(nodes=dice.randint(1, 500_000)))
            [line] = searcher.search(*board, TO_THE_END).lines
            scores.add((line.score, line.exact))
            _, entries, wrong = check_entries(searcher, other, *board, thread=0, fewest=15, share=25)
            assert (entries > 0, wrong) == (True, 0)
        assert len(scores) == 1


@pytest.mark.usefixtures("shared_low")
def test_no_thread_outlives_its_search(weights: Weights) -> None:
    def helping() -> bool:
        frames = list(sys._current_frames().values())
        return any(frame.f_code is Team.help.__code__ for top in frames for frame, _ in traceback.walk_stack(top))

    searcher = Searcher(threads=8, hash_bits=12, weights=weights)
    [board] = boards(95, 1, 30)
    for limits in (Limits(5), Limits(40, Selectivity(73), 1000)):
        searcher.search(*board, limits)
        # They have given their seats back, and end.
        until(lambda: not helping())


@pytest.mark.usefixtures("shared_low")
def test_a_search_goes_on_where_the_system_gives_no_thread(weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    given = 2

    def refused(work: Callable[[], None], name: str) -> None:
        nonlocal given
        if not given:
            raise RuntimeError("can't start new thread")
        given -= 1
        begin(work, name)

    [board] = boards(96, 1, 12)
    searcher = Searcher(threads=8, hash_bits=12, weights=weights)
    monkeypatch.setattr(team, "begin", refused)
    for number in (2, 0):
        given = number
        searcher.clear()
        assert searcher.search(*board, TO_THE_END).lines[0].score == judge.solve(*board)
        assert given == 0


@pytest.mark.usefixtures("shared_low")
def test_a_stop_ends_every_thread(weights: Weights) -> None:
    searcher = Searcher(threads=8, hash_bits=14, weights=weights)
    [board] = boards(96, 1, 44)
    control = Control()
    begun = threading.Event()
    found: list[Result] = []
    search = threading.Thread(
        target=lambda: found.append(
            searcher.search(*board, Limits(40), control=control, progress=lambda rank, line: begun.set())
        )
    )
    search.start()
    assert begun.wait(60)
    control.stop()
    search.join(60)
    assert not found[0].complete
    assert judge.moves(*board) >> found[0].lines[0].move & 1
    # And the next search is none the worse for it.
    assert searcher.search(*board, Limits(2)).complete


@pytest.mark.usefixtures("shared_low")
def test_guests_join_and_leave_a_search(weights: Weights) -> None:
    """Threads that join a search that goes on, and are sent away, at any moment: the score is that of one thread."""
    [board] = boards(97, 1, pick(20, 11))
    truth = Searcher(hash_bits=16, weights=weights).search(*board, TO_THE_END).lines[0].score
    searcher = Searcher(guests=3, hash_bits=16, weights=weights)
    assert searcher.team is not None
    team = searcher.team
    assert team.join() == 0
    over = threading.Event()
    helped: list[int] = []

    def guest(number: int) -> None:
        dice = random.Random(number)
        while not over.is_set():
            seat = team.join()
            if seat:
                away = threading.Timer(dice.random() * 0.002, team.dismiss, (seat,))
                away.start()
                team.help(seat)
                away.join()
                helped.append(seat)

    guests = [threading.Thread(target=guest, args=(number,)) for number in range(4)]

    def welcome() -> None:
        for each in guests:
            each.start()

    for repeated in range(2):
        result = searcher.search(*board, TO_THE_END, welcome=None if repeated else welcome)
        assert (result.lines[0].score, result.lines[0].exact, result.complete) == (truth, True, True)
        assert repeated == 0 or result.threads == 1
    over.set()
    for each in guests:
        each.join(60)
        assert not each.is_alive()
    assert helped


def test_a_search_without_guests_stays_alone(weights: Weights) -> None:
    """Room for guests changes nothing as long as none comes."""
    for board in boards(98, pick(3, 1), pick(24, 12)):
        limits = Limits(pick(12, 3), Selectivity(73))
        plain = searched(Searcher(hash_bits=16, weights=weights), board, limits)[1]
        roomy = searched(Searcher(guests=3, hash_bits=16, weights=weights), board, limits)[1]
        shared = Searcher(guests=3, hash_bits=16, weights=weights)
        result = shared.search(*board, limits, welcome=lambda: None)
        assert plain == roomy
        assert (result.nodes, result.lines[0].pv, result.threads) == (plain.nodes, plain.lines[0].pv, 1)


@pytest.mark.slow
@pytest.mark.compiled
def test_many_threads_give_exact_scores_and_entries(weights: Weights) -> None:
    found = stress(weights, 4000, seed=99)
    assert (found.wrong, found.wrong_entries, found.wrong_full_width, found.failures) == (0, 0, 0, [])
    assert {empties for empties, _ in found.counts} >= set(range(10, 19))
    assert {threads for _, threads in found.counts} == set(THREADS)
    assert found.stopped > 100
    assert found.entries > 10_000
    assert found.full_width > 10


def test_a_wrong_entry_is_found(weights: Weights) -> None:
    """What `stress` looks at: the exact entries of a table, compared with searches of another."""
    empties = pick(12, 8)
    [board] = boards(99, 1, empties)
    truth = judge.solve(*board)
    searcher, other = (Searcher(hash_bits=12, weights=weights) for _ in range(2))
    where = {"thread": 0, "fewest": empties - 2, "share": 256}
    for score, wrong in ((truth, 0), (truth + 2, 1), (truth - 2, 1)):
        searcher.clear()
        searcher.feed(*board, [KnownScore(*board, 64, MoverScore(score), TO_THE_END)])
        positions, *found = check_entries(searcher, other, *board, **where)
        assert found == [1, wrong]
        assert positions > judge.moves(*board).bit_count()
    searcher.clear()
    searcher.search(*board, TO_THE_END)
    _, entries, wrong = check_entries(searcher, other, *board, **where)
    assert entries > 3
    assert wrong == 0
