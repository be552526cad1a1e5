"""The referee against published facts, so that it may judge the engine."""

import random

import pytest
import referee

SHORTEST_GAME = "e6f4e3f6g5d6e7f5c5"


def replay(text: str) -> referee.Cells:
    cells = referee.start()
    for at in range(0, len(text), 2):
        if not referee.legal_moves(cells):
            cells = referee.passed(cells)
        cells = referee.play(cells, referee.square(text[at : at + 2]))
    return cells


def plain_negamax(cells: referee.Cells) -> int:
    scores = [-plain_negamax(referee.play(cells, move)) for move in referee.legal_moves(cells)]
    if scores:
        return max(scores)
    return referee.final_score(cells) if referee.game_over(cells) else -plain_negamax(referee.passed(cells))


def test_opening_moves_are_d3_c4_f5_e6() -> None:
    moves = referee.legal_moves(referee.start())
    assert [referee.name(move) for move in moves] == ["D3", "C4", "F5", "E6"]


def test_bits_have_a1_first() -> None:
    assert referee.to_bits(referee.start()) == (0x0000000810000000, 0x0000001008000000)
    assert referee.from_bits(1, 0)[0][0] == referee.MINE
    assert referee.from_bits(0, 1 << 63)[7][7] == referee.THEIRS


@pytest.mark.parametrize(("player", "opponent"), [(1, 1), (1 << 64, 0), (-1, 0)])
def test_impossible_words_are_refused(player: int, opponent: int) -> None:
    with pytest.raises(ValueError, match="disjoint"):
        referee.from_bits(player, opponent)


@pytest.mark.parametrize("text", ["", "d", "d33", "i1", "a9", "a0"])
def test_a_text_that_is_no_square_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a square"):
        referee.square(text)


def test_illegal_moves_are_refused() -> None:
    for text in ("a1", "d4", "e3"):
        with pytest.raises(ValueError, match="illegal"):
            referee.play(referee.start(), referee.square(text))


@pytest.mark.parametrize("mode", [1, 2])
def test_perft_is_the_known_one(mode: int) -> None:
    assert [referee.perft(referee.start(), depth, mode) for depth in range(1, 7)] == [
        4,
        12,
        56,
        244,
        1396,
        8200,
    ]


def test_perft_counts_a_finished_game_once_and_a_pass_as_the_mode_says() -> None:
    finished = referee.from_bits(0xFF, 0)
    assert [referee.perft(finished, depth, mode) for depth in (0, 1, 5) for mode in (1, 2)] == [1] * 6
    # B1 is the mover's, A1 the opponent's: only the opponent can move, to C1, which ends the game.
    must_pass = referee.from_bits(0b10, 0b01)
    assert [referee.perft(must_pass, depth, 1) for depth in (1, 2, 3)] == [1, 1, 1]
    assert referee.legal_moves(referee.passed(must_pass)) == [referee.square("c1")]


def test_positions_of_the_opening_are_the_known_ones() -> None:
    assert [referee.count_positions(depth) for depth in range(7)] == [1, 1, 3, 14, 60, 322, 1773]
    assert referee.count_positions(5, 2) == referee.count_positions(5, 3) == 322


def test_the_shortest_game_is_a_wipe_out_after_nine_moves() -> None:
    cells = replay(SHORTEST_GAME)
    assert referee.game_over(cells)
    assert referee.empties(cells) == 60 - 9
    assert referee.final_score(cells) == -64


def test_empties_go_to_the_winner_and_to_nobody_in_a_draw() -> None:
    assert referee.final_score(referee.from_bits(0b111, 0b1 << 63)) == 63 - 1
    assert referee.final_score(referee.from_bits(0b1, 0b111 << 60)) == 1 - 63
    assert referee.final_score(referee.from_bits(1, 1 << 63)) == 0


def test_alpha_beta_agrees_with_plain_negamax() -> None:
    for seed in range(20):
        cells = referee.random_position(seed, 55)
        assert referee.solve(cells) == plain_negamax(cells)
        scores = referee.solve_moves(cells)
        if scores:
            assert max(scores.values()) == referee.solve(cells)


def test_the_eight_symmetric_boards_are_the_orbit_of_one() -> None:
    cells = referee.random_position(7, 12)
    images = [referee.to_bits(image) for image in referee.symmetries(cells)]
    assert images[0] == referee.to_bits(cells)
    assert len(set(images)) == 8
    for image in referee.symmetries(cells):
        assert {referee.to_bits(other) for other in referee.symmetries(image)} == set(images)
        assert referee.canonical_bits(image) == min(images)


def test_random_positions_follow_their_moves_and_repeat_with_the_seed() -> None:
    for seed in range(30):
        cells = referee.random_position(seed, 2 * seed)
        assert cells == referee.random_position(seed, 2 * seed)
        moves = referee.random_moves(seed, 2 * seed)
        assert referee.empties(cells) == 60 - len(moves)
        assert referee.legal_moves(cells) or referee.game_over(cells)
        replayed = replay("".join(referee.name(move) for move in moves))
        assert cells in (replayed, referee.passed(replayed))


def test_the_positional_player_takes_a_corner_and_plays_legally() -> None:
    cells = referee.from_bits(1 << referee.square("d1"), 0b110)
    assert referee.positional_move(cells, random.Random(1)) == referee.square("a1")
    for seed in range(10):
        cells = referee.random_position(seed, 30)
        if not referee.game_over(cells):
            assert referee.positional_move(cells, random.Random(seed)) in referee.legal_moves(cells)
