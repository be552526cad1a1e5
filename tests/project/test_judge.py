"""The fast referee of these tests against the slow one."""

import random

import judge
import referee


def test_the_judge_knows_the_rules() -> None:
    for seed in range(3):
        for board in judge.walk(random.Random(seed)):
            cells = referee.from_bits(*board)
            assert judge.squares(judge.moves(*board)) == referee.legal_moves(cells)
            for square in range(64):
                assert judge.squares(judge.flips(*board, square)) == sorted(referee.flips(cells, square))
            for square in referee.legal_moves(cells)[:2]:
                assert judge.play(board, square) == referee.to_bits(referee.play(cells, square))


def test_the_judge_scores_finished_games() -> None:
    for board in [*judge.positions(1, 40, range(7)), *judge.strewn(2, 40, range(7))]:
        assert judge.solve(*board) == referee.solve(referee.from_bits(*board))
        scores = referee.solve_moves(referee.from_bits(*board))
        assert judge.score_of_moves(board) == scores


def test_the_judge_knows_the_eight_images() -> None:
    board = judge.positions(2, 1, [30])[0]
    expected = [referee.to_bits(image) for image in referee.symmetries(referee.from_bits(*board))]
    assert [judge.image(board, places) for places in judge.images()] == expected
