"""The bitboard rules against the referee, which shares nothing with them."""

from __future__ import annotations

import referee
from hypothesis import given
from hypothesis import strategies as st

from desdaemon.protocol.othello import rules

SEEDS = st.integers(0, 10**6)
PLIES = st.integers(0, 60)


@given(SEEDS, PLIES)
def test_moves_flips_and_ends_are_those_of_the_referee(seed: int, plies: int) -> None:
    cells = referee.random_position(seed, plies)
    player, opponent = referee.to_bits(cells)
    legal = referee.legal_moves(cells)
    assert rules.squares(rules.legal_moves(player, opponent)) == legal
    assert rules.is_over(player, opponent) == referee.game_over(cells)
    assert rules.final_score(player, opponent) == referee.final_score(cells)
    assert rules.empties(player, opponent) == referee.empties(cells)
    for square in range(64):
        assert rules.can_move(player, opponent, 1 << square) == (square in legal)
        assert rules.squares(rules.flips(player, opponent, square)) == sorted(referee.flips(cells, square))
    for square in legal:
        assert rules.play(player, opponent, square) == referee.to_bits(referee.play(cells, square))
    assert rules.floating_discs(player, opponent) == 0


@given(st.integers(0, rules.FULL), st.integers(0, rules.FULL))
def test_boards_that_no_game_reaches_follow_the_rules_too(first: int, second: int) -> None:
    player, opponent = first, second & ~first
    cells = referee.from_bits(player, opponent)
    assert rules.squares(rules.legal_moves(player, opponent)) == referee.legal_moves(cells)
    assert rules.must_pass(player, opponent) == (not referee.legal_moves(cells) and not referee.game_over(cells))


@given(SEEDS, PLIES)
def test_symmetries_form_the_group_of_the_square(seed: int, plies: int) -> None:
    cells = referee.random_position(seed, plies)
    player, opponent = referee.to_bits(cells)
    images = {(rules.transform(player, s), rules.transform(opponent, s)) for s in range(8)}
    assert images == {referee.to_bits(image) for image in referee.symmetries(cells)}
    assert {rules.canonical(*image) for image in images} == {referee.canonical_bits(cells)}
    *pair, symmetry = rules.canonical_with_symmetry(player, opponent)
    assert pair == [rules.transform(player, symmetry), rules.transform(opponent, symmetry)]


def test_a_symmetry_moves_squares_and_masks_alike() -> None:
    for symmetry in range(8):
        for square in range(64):
            assert 1 << rules.transform_move(square, symmetry) == rules.transform(1 << square, symmetry)
            undone = rules.transform_move(rules.transform_move(square, symmetry), rules.INVERSE_SYMMETRY[symmetry])
            assert undone == square
        assert rules.transform_move(rules.PASS, symmetry) == rules.PASS


@given(SEEDS, PLIES, st.integers(0, 7))
def test_the_rules_are_the_same_in_every_mirror(seed: int, plies: int, symmetry: int) -> None:
    player, opponent = referee.to_bits(referee.random_position(seed, plies))
    image = rules.transform(player, symmetry), rules.transform(opponent, symmetry)
    assert rules.legal_moves(*image) == rules.transform(rules.legal_moves(player, opponent), symmetry)


def test_the_opening_is_that_of_the_referee() -> None:
    assert referee.to_bits(referee.start()) == rules.START


def test_discs_that_no_play_can_have_placed_are_found() -> None:
    player, opponent = rules.START
    assert rules.floating_discs(player | 1, opponent) == 1
    assert rules.floating_discs(player | 1 << 18, opponent) == 0
    assert rules.floating_discs(1, 1 << 63) == 1 | 1 << 63
