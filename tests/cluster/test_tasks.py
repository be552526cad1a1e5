"""What a worker does with a task, in this process: the right answers, refusals, stops."""

from __future__ import annotations

import pickle
import threading
from functools import partial

import pytest

from desdaemon.book.editing.engine_evaluator import HASH_BITS, Searches
from desdaemon.cluster import tasks
from desdaemon.cluster.identity import identity, of_resources, resource_of
from desdaemon.cluster.window import Search, WorkerAnswer
from desdaemon.engine.evaluation.weights import Weights
from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Searcher
from desdaemon.engine.training.labelling.chunks import BoardChunk
from desdaemon.protocol.othello.notation import START, parse_moves
from desdaemon.protocol.othello.rules import squares

WANTED = (Search(START.player, START.opponent, 8), Search(START.player, START.opponent, 5, 1 << 19))


@pytest.fixture(scope="module")
def state() -> tasks.WorkerState:
    return tasks.prepare("here", Weights.load())


def test_a_batch_has_the_answers_of_the_books_own_searches(state: tasks.WorkerState) -> None:
    worker, found = tasks.search_batch("job", HASH_BITS, WANTED)
    own = Searches()
    assert worker == "here"
    assert [answer and answer.found for answer in found] == [own(*search[:4]) for search in WANTED]


def test_a_problem_is_searched_as_deep_as_it_says(state: tasks.WorkerState) -> None:
    (found,) = state.answers("job", 12, [Search(START.player, START.opponent, 0, 0, 6, 100)])
    assert found is not None
    assert found.line is not None
    assert (found.line.depth, found.line.selectivity, len(found.line.pv)) == (6, 100, 6)


def test_a_chunk_of_labels_has_the_scores_of_single_searches(state: tasks.WorkerState) -> None:
    positions = [START.after(move) for move in squares(START.moves)]
    chunk = BoardChunk(
        b"".join(position.player.to_bytes(8, "little") for position in positions),
        b"".join(position.opponent.to_bytes(8, "little") for position in positions),
        4,
        100,
    )
    worker, (found,) = tasks.search_batch("job", 12, (chunk,))
    assert worker == "here"
    assert found is not None
    assert found.ms > 0
    assert isinstance(found.found, bytes)
    searcher = Searcher(hash_bits=12)
    alone = [searcher.search(each.player, each.opponent, Limits(4)).lines[0].score for each in positions]
    assert list(memoryview(found.found).cast("b")) == alone


def test_a_stopped_job_gets_no_more_labels(state: tasks.WorkerState) -> None:
    tasks.stop_job("labels")
    chunk = BoardChunk(START.player.to_bytes(8, "little"), START.opponent.to_bytes(8, "little"), 4, 100)
    assert state.answers("labels", 12, [chunk]) == [None]


def test_a_search_has_the_table_that_its_task_says(state: tasks.WorkerState) -> None:
    """The number of nodes is that of a search of this process with the same table, and another with other tables."""
    position = START
    for move in parse_moves("f5d6c3d3c4"):
        position = position.after(move)
    wanted = Search(position.player, position.opponent, 16)
    nodes = {}
    for bits in (10, HASH_BITS):
        (found,) = state.answers("job", bits, [wanted])
        alone = Searcher(hash_bits=bits).search(wanted.player, wanted.opponent, level_limits(16, 60))
        assert found is not None
        assert found.nodes == alone.nodes
        nodes[bits] = found.nodes
    assert nodes[10] != nodes[HASH_BITS]


def test_fixed_searches_with_another_table_are_another_identity(
    state: tasks.WorkerState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desdaemon.cluster.identity.Searches", partial(Searches, hash_bits=10))
    code, proof = state.identity.split("-")
    other_code, other_proof = identity(Weights.load()).split("-")
    assert other_code == code
    assert other_proof != proof


def test_other_weights_are_another_identity() -> None:
    class Other(Weights):
        def __init__(self, weights: Weights) -> None:
            self.__dict__.update(weights.__dict__)
            self.digest = "other"

    own, other = identity(Weights.load()), identity(Other(Weights.load()))
    assert own.split("-")[0] != other.split("-")[0]


def test_a_resource_tells_the_identity() -> None:
    own = "0123456789ab-ba9876543210"
    assert of_resources({"GPU": 1, resource_of(own): 4}) == own
    assert of_resources({"GPU": 1}) == ""
    assert of_resources({}) == ""


def test_a_stop_ends_a_jobs_searches_and_no_others(state: tasks.WorkerState) -> None:
    found: list[WorkerAnswer | None] = []
    endless = (Search(START.player, START.opponent, 60),) * 3
    searching = threading.Thread(target=lambda: found.extend(state.answers("endless", HASH_BITS, endless)))
    searching.start()
    while searching.is_alive():
        tasks.stop_job("endless")
        searching.join(0.01)
    assert found == [None, None, None]
    assert None not in state.answers("other", HASH_BITS, WANTED)


def test_a_worker_of_weeks_remembers_only_the_last_stopped_jobs() -> None:
    state = tasks.WorkerState("weeks", Weights.load())
    names = [f"{number:016x}" for number in range(1000)]
    for name in names:
        state.stop(name)
        state.stop(name)
    assert state.answers(names[-50], HASH_BITS, WANTED) == [None, None]
    assert len(state._stopped) <= 100


def test_a_task_is_small_and_sent_by_name() -> None:
    assert len(pickle.dumps(tasks.search_batch)) < 200
    assert len(pickle.dumps(("job", HASH_BITS, WANTED))) < 1000
