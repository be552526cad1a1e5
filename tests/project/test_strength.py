"""The engine against a player who knows corners and mobility and nothing else."""

import random

import pytest
import referee

from desdaemon.engine.limits import Limits, level_limits
from desdaemon.engine.search import Searcher
from desdaemon.protocol.othello.selectivity import Selectivity


def engine_score(searcher: Searcher, opening: int, engine_begins: bool) -> int:
    """The final score, for the engine, of one game from a random position after eight plies."""
    searcher.clear()
    rng = random.Random(opening)
    cells = referee.random_position(opening, 8)
    engine_moves = engine_begins
    while not referee.game_over(cells):
        if not referee.legal_moves(cells):
            cells = referee.passed(cells)
        elif engine_moves:
            result = searcher.search(*referee.to_bits(cells), level_limits(6, referee.empties(cells)))
            cells = referee.play(cells, result.lines[0].move)
        else:
            cells = referee.play(cells, referee.positional_move(cells, rng))
        engine_moves = not engine_moves
    return referee.final_score(cells) if engine_moves else -referee.final_score(cells)


@pytest.mark.parametrize("engine_begins", [True, False], ids=["first", "second"])
def test_level_6_never_loses_to_corners_and_mobility(engine_begins: bool) -> None:
    """From no opening but one that is lost before the first move: random plies make such, too."""
    searcher = Searcher()
    scores = {opening: engine_score(searcher, opening, engine_begins) for opening in range(25)}
    lost = [opening for opening, score in scores.items() if score <= 0]
    assert len(lost) <= 1
    for opening in lost:
        position = referee.to_bits(referee.random_position(opening, 8))
        score = searcher.search(*position, Limits(14, Selectivity(95))).lines[0].score
        assert (score if engine_begins else -score) <= -24
