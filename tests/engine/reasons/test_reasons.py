"""Why a move loses: each kind of reason on a board made for it, and which of them are told."""

from __future__ import annotations

import pickle
import random

import pytest
import referee

from desdaemon import Reason, explain
from desdaemon.engine.reasons import explain as explaining
from desdaemon.engine.reasons.explain import LEAST, MOST, SENTENCES, THIN, reasons, stage_of
from desdaemon.engine.reasons.kinds import KINDS
from desdaemon.engine.reasons.measures import MEASURES, Line, compared, free_moves, held, measured, regions
from desdaemon.engine.reasons.weights import STAGES, WEIGHTS
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import Position, parse_board, parse_moves

BAD = {"x-square", "c-square", "wall", "quiet", "pass", "early"}
"""What is bad for the side that has more of it."""


def board(side: str = "X", **rows: str) -> str:
    """The board with these ranks, ``r1`` to ``r8``; the others are empty."""
    return "".join(rows.get(f"r{rank}", "--------") for rank in range(1, 9)) + f" {side}"


EDGE = board(r1="--OXO---")
SMALL = board(r3="---O----", r4="--XOOO--", r5="--XXOX--", r6="---O----")
END = "OXOOX--XOXXXXXOOOXXOXOXOOXXOOOXOOOXOXOXOOXOOXXXOOOOOOXXOO-O--OXX O"

CASES = {
    "corner": (
        (EDGE, "b1a1", "f1g1"),
        "After b1 White takes a1; White has 5 edge discs held from a corner and you 0 (b1 a1); after f1 instead White "
        "would have 0 and you 0.",
        ((0, 5), (0, 0), ("a1",)),
    ),
    "c-square": (
        (EDGE, "b1a1", "f1g1"),
        "B1 is the C-square beside the empty corner a1; after f1 instead, you would play on none.",
        ((1, 0), (0, 1), ("b1",)),
    ),
    "x-square": (
        (board(r3="--O-----", r4="---X----", r5="--O-----", r6="--X-----"), "b2", "c4"),
        "B2 is the X-square beside the empty corner a1; after c4 instead, you would play on none.",
        ((1, 0), (0, 0), ("b2",)),
    ),
    "moves": (
        (SMALL, "f3e3", "e3f3"),
        "After f3 e3 White has 9 moves and you 8; after e3 f3 instead, White would have 8 and you 9.",
        ((8.0, 8.5), (10.0, 9.0), ()),
    ),
    "room": (
        (SMALL, "g4c3", "d2d1"),
        "Room: after g4 c3 White has 15 empty squares beside your discs and you 13 beside White's; after d2 d1 "
        "instead, White would have 11 and you 16. Such squares become moves.",
        ((12.0, 15.5), (13.5, 14.0), ()),
    ),
    "opens": (
        (board(r3="----X---", r4="---XOO--", r5="--XOOX--", r6="--OO----"), "e6f7", "d3f6"),
        "E6 lets White move to f3 and f7, where White could not move before; White's best answer is there, f7; d3 "
        "instead would open f3.",
        ((0, 2), (0, 1), ("f3", "f7")),
    ),
    "wall": (
        (SMALL, "g4c3", "d2d1"),
        "A wall: after g4 c3 7 of your discs border on empty squares and 5 of White's; after d2 d1 instead, 3 and 9. "
        "There White finds moves.",
        ((7.5, 4.0), (5.0, 6.5), ()),
    ),
    "taken": (
        (SMALL, "c2d2", "d2d1"),
        "After c2 White answers d2: the best move is taken from you.",
        ((0, 1), (0, 0), ("d2",)),
    ),
    "quiet": (
        (SMALL, "f3e3", "e3f3"),
        "E3 is quieter: the discs that it turns have 1 empty neighbour, those that f3 turns have 5.",
        ((5, 0), (1, 0), ()),
    ),
    "wedge": (
        (board(r1="--X-X---", r2="---X----", r3="---O----", r6="--XO----"), "e6d1", "d4b6"),
        "After e6 White wedges in at d1, between your discs on the edge (e6 d1); after d4 instead, White would have "
        "none.",
        ((0, 1), (0, 0), ("d1",)),
    ),
    "free": (
        (board(r3="----X---", r4="---XOO--", r5="--XXOO--", r6="---O-O--"), "e6d7", "f3c4"),
        "After e6 d7 White has 0 free moves and you 0; after f3 c4 instead, White would have 0 and you 1 (b3). A free "
        "move opens nothing, and spares a worse one.",
        ((0, 0), (0.5, 0), ("b3",)),
    ),
    "pass": (
        (END, "f1d8b8e8pag1", "e8g1f1d8b8"),
        "After f1 you have to pass once (f1 d8 b8 e8 pa), after e8 not at all.",
        ((1, 0), (0, 0), ()),
    ),
    "early": (
        (SMALL, "g4c3", "d2d1"),
        "Discs too early: after g4 c3 you have 7 and White 5; after d2 d1 instead, you would have 3 and White 9. Who "
        "has many discs finds few moves.",
        ((7, 5), (3, 9), ()),
    ),
    "last": (
        (END, "f1d8b8e8pag1", "e8g1f1d8b8"),
        "After f1 Black moves last in 2 regions of empty squares, one of them g1, and you in 1; after e8 instead, "
        "Black would in 1 and you in 2.",
        ((1, 2), (2, 1), ("g1",)),
    ),
    "turns": (
        ("OXXXXXXXOOOOOOX-OOOXOXXXOXOOXXXXOXOXOOXXOXXXOOXXOXXOOO--OOOOOO-- O", "h7h8h2g8g7", "h2g8h8pah7g7"),
        "After h7 Black gets h8, where you would play instead; Black ends with h3, h4, h5, h6, h7 and h8, which would "
        "be yours; counted to the end, Black turns 3 discs and you 5; after h2 instead, Black would turn 3 and you 9.",
        ((5, 3), (9, 3), ("h8", "h3", "h4", "h5", "h6", "h7")),
    ),
}
"""A board, the line played and the best one for each kind of reason; what it says, and what it counts."""


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, kind: str) -> str:
    """The kind, which alone has a weight: tests of it do not change with the fit."""
    weights = {each: (-1.0 if each in BAD else 1.0) * (each == kind) for each in KINDS}
    monkeypatch.setattr(explaining, "WEIGHTS", (weights,) * len(STAGES))
    return kind


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_reason_is_told_where_it_is_on_the_board(only: str) -> None:
    (where, played, best), text, (own, other, squares) = CASES[only]
    (reason,) = explain(where, played, best)
    assert reason._replace(discs=0) == Reason(only, 0, text, own, other, squares)


@pytest.mark.parametrize("kind", KINDS)
def test_no_reason_speaks_against_the_better_line(only: str) -> None:
    (where, played, best), _, _ = CASES[only]
    assert explain(where, best, played) == []


@pytest.mark.parametrize(
    ("kind", "played", "best"),
    [("wall", "f3e3", "c2d2"), ("room", "f3e3", "g4c3"), ("early", "f3e3", "e3f3"), ("quiet", "f3e3", "e2c2")],
)
def test_a_difference_that_nobody_would_see_is_no_reason(only: str, played: str, best: str) -> None:
    here, there = compared(parse_board(SMALL), parse_moves(played), parse_moves(best))
    assert 0 < abs(measured(there)[only].balance - measured(here)[only].balance) < THIN[only]
    assert explain(SMALL, played, best) == explain(SMALL, best, played) == []


@pytest.mark.parametrize("kind", ["turns"])
def test_a_count_to_the_end_names_squares_passes_and_discs_that_the_move_costs(only: str) -> None:
    where = "---XXXXX--XXXOOO--XXOXOOO-XOOOXOOXXOOXOOO-OOXOOO-OXOOOOOOOOOOOOO X"
    (reason,) = explain(where, "a7b6a3b4b3a2pab2b1c1paa1", "b6a7b4a3b3a2b2a1b1c1")
    assert reason.text == (
        "After a7 White gets b6, b4 and b2, where you would play instead; you pass twice, after b6 not at all; White "
        "ends with b3, b4 and b5, which would be yours; counted to the end, White turns 20 discs and you 7; after b6 "
        "instead, White would turn 13 and you 6."
    )
    assert reason.squares == ("b6", "b4", "b2", "b3", "b5")
    where = "X--OOO---XOXOO--XOXOXOXXOOOXXXOXOOXOXXXXXXXXXXX---XXOX----XXXX-- X"
    rest = "b7b8a8a7g8"
    (reason,) = explain(where, f"a2{rest}b1c1g7h8g1h7h6h2g2h1", f"b1c1a2{rest}g7h8g1h7h6h2g2h1")
    assert reason.text.startswith(
        "After a2 White ends with d3, c4 and c5, which would be yours; counted to the end, White turns 38 discs and"
    )


@pytest.mark.parametrize("kind", ["c-square"])
def test_what_the_other_side_would_have_to_do_is_told_of_the_best_move(only: str) -> None:
    (reason,) = explain(board(r1="--OXO---", r5="--XO----", r6="--XO----"), "e6b5", "f1g1")
    assert reason.text == "After f1 White would come to play on 1 C-square beside an empty corner, after e6 on none."


def lines_by_lot(seed: int) -> tuple[Position, list[int], list[int]] | None:
    """A position and two lines of random moves from it that differ in the first."""
    lot = random.Random(seed)
    cells = referee.random_position(seed, 4 + seed % 52)
    legal = referee.legal_moves(cells)
    if len(legal) < 2:
        return None
    lines = []
    for first in lot.sample(legal, 2):
        now, moves = referee.play(cells, first), [first]
        while not referee.game_over(now) and len(moves) < 14:
            if not referee.legal_moves(now):
                now = referee.passed(now)
                moves.append(rules.PASS)
                continue
            moves.append(lot.choice(referee.legal_moves(now)))
            now = referee.play(now, moves[-1])
        lines.append(moves)
    player, opponent = referee.to_bits(cells)
    return Position(player, opponent, seed % 2 == 0), lines[0], lines[1]


def test_any_two_lines_have_ordered_reasons_within_the_limits() -> None:
    told = 0
    for seed in range(150):
        found = lines_by_lot(seed)
        if found is None:
            continue
        reasons_found = reasons(*found)
        told += len(reasons_found)
        assert len(reasons_found) <= MOST
        discs = [reason.discs for reason in reasons_found]
        assert discs == sorted(discs, reverse=True)
        for reason in reasons_found:
            assert reason.discs >= LEAST - 0.01
            assert reason.kind in KINDS
            assert reason.text[0].isupper() or reason.text[0].isdigit()
            assert reason.text.endswith(".")
            weight = WEIGHTS[stage_of(found[0].empties)][reason.kind]
            worth = weight * ((reason.best[0] - reason.best[1]) - (reason.played[0] - reason.played[1]))
            assert worth == pytest.approx(reason.discs, abs=0.01)
    assert told > 100


def test_numbers_of_moves_are_those_on_the_board() -> None:
    """Against the referee, after each ply of lines by lot."""
    for seed in range(40):
        found = lines_by_lot(seed)
        if found is None:
            continue
        (line,) = compared(found[0], found[1])
        cells = referee.from_bits(found[0].player, found[0].opponent)
        counts = []
        for step in line.near:
            cells = referee.passed(cells) if step.move == rules.PASS else referee.play(cells, step.move)
            here, there = len(referee.legal_moves(cells)), len(referee.legal_moves(referee.passed(cells)))
            counts.append((there, here) if step.mine else (here, there))
        assert explaining.mobilities(line) == counts


def test_equally_many_plies_of_both_lines_count() -> None:
    position = parse_board(EDGE)
    long, short = compared(position, parse_moves("b1a1"), parse_moves("f1"))
    assert (len(long.near), len(short.near)) == (1, 1)
    assert len(Line.of(position, parse_moves("b1a1")).near) == 2


def test_parts_of_the_board_are_found() -> None:
    corner = 1 << 0 | 1 << 1 | 1 << 8
    assert held(corner | 1 << 3) == corner
    assert held(1 << 1 | 1 << 2) == 0
    assert regions(corner | 1 << 18 | 1 << 63) == [1 << 18, 1 << 63, corner] or len(regions(corner | 1 << 63)) == 2
    assert free_moves(*parse_board(EDGE)[:2]) == 0


def test_every_kind_has_a_measure_a_sentence_a_weight_and_a_case() -> None:
    assert list(MEASURES) == list(SENTENCES) == list(KINDS) == list(WEIGHTS[0])
    assert all(weights.keys() == KINDS.keys() for weights in WEIGHTS)
    assert CASES.keys() == KINDS.keys()
    assert len(WEIGHTS) == len(STAGES)
    for kind in KINDS:
        assert all(weights[kind] * (-1 if kind in BAD else 1) >= 0 for weights in WEIGHTS)
        assert any(weights[kind] for weights in WEIGHTS), f"{kind} is never told"


def test_stages_are_by_empty_squares() -> None:
    assert [stage_of(empties) for empties in (60, 41, 40, 21, 20, 1, 0)] == [0, 0, 1, 1, 2, 2, 2]


def test_the_best_move_itself_has_no_reasons_and_wrong_lines_are_refused() -> None:
    assert explain("", "f5f6", "f5d6") == []
    with pytest.raises(BadInput, match="A1 is illegal"):
        explain("", "a1", "f5")
    with pytest.raises(BadInput, match=r"D6 .*is illegal"):
        explain("", "f5", "d3d6")
    with pytest.raises(BadInput):
        explain("", "", "f5")


def test_a_forced_pass_is_no_choice_to_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the pass in the lines or without it."""
    weights = {kind: -9.0 if kind in BAD else 9.0 for kind in KINDS}
    monkeypatch.setattr(explaining, "WEIGHTS", (weights,) * len(STAGES))
    forced = board("O", r1="XO------", r3="XOO-----")
    assert parse_board(forced).must_pass
    for played, best in (("pac1", "pad3"), ("pad3", "pac1"), ("c1", "d3"), ("d3", "c1")):
        assert explain(forced, played, best) == []


def test_a_reason_can_be_kept() -> None:
    reason = Reason("moves", 1.0, "A.", (1, 2), (3, 4), ("a1",))
    assert pickle.loads(pickle.dumps(reason)) == reason
