"""Games of an evaluation against itself."""

import numpy as np
from test_training import SHIPPED

from desdaemon.engine.training import cli, store
from desdaemon.engine.training.games import self_play
from desdaemon.engine.training.labelling import boards
from desdaemon.protocol.othello import rules


def played(count, noise, static, seed=1):
    return self_play.play(static, count, np.random.default_rng(seed), noise)


def even(players, _opponents, _ply):
    return np.zeros(len(players), np.float32)


def own_discs(players, opponents, _ply):
    """Discs of the side to move less the other's."""
    return np.array([int(p).bit_count() - int(o).bit_count() for p, o in zip(players, opponents, strict=True)], "f4")


def test_games_are_legal_and_end_after_fifty_moves():
    games = played(40, 1.5, even)
    assert len(games["lengths"]) > 30
    again = np.zeros_like(games["lengths"])
    scores, finished = np.zeros_like(games["scores"]), np.zeros_like(games["finished"])
    assert boards.replay(games["squares"], again, scores, finished) == 0
    assert (again == games["lengths"]).all()
    assert (again <= 50).all()
    assert np.median(again) == 50
    assert len({game.tobytes() for game in games["squares"]}) == len(again)


def test_after_the_random_moves_each_side_plays_the_best_move():
    games = played(20, 0.0, own_discs)
    assert len(games["lengths"])
    for squares, length in zip(games["squares"].tolist(), games["lengths"].tolist(), strict=True):
        position = rules.START
        for ply, square in enumerate(squares[:length]):
            if rules.must_pass(*position):
                position = rules.play(*position, rules.PASS)
            after = {move: rules.play(*position, move) for move in rules.squares(rules.legal_moves(*position))}
            if ply >= 12:
                gained = {move: own.bit_count() - other.bit_count() for move, (other, own) in after.items()}
                assert gained[square] == max(gained.values())
            position = after[square]


def test_games_that_are_decided_after_the_random_moves_are_left_out():
    def won(players, _opponents, ply):
        return np.full(len(players), 13.0 if ply == 12 else 0.0, np.float32)

    assert len(played(20, 1.5, won)["lengths"]) == 0


def test_a_seed_gives_the_same_games(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ["--weights", str(SHIPPED), "--games", "30", "--seed", str(seed), "--out", str(tmp_path / name)]
        assert cli.main(["self-play", *options]) == 0
    a, b, c = (store.load(tmp_path / name)[0]["squares"] for name in "abc")
    assert len(a) > 5
    assert a.tolist() == b.tolist() != c.tolist()
