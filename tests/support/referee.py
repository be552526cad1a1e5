"""An independent referee of Othello: slow, obvious and sharing no code or representation with the engine.

A position is a `Cells`: eight rows of eight numbers, `cells[rank][file]` with A1 at `cells[0][0]`, B1 at
`cells[0][1]`, A2 at `cells[1][0]`. `MINE` is a disc of the side to move, `THEIRS` one of the other side,
`EMPTY` neither. Squares are numbered 0..63 from A1, B1 .. H8 (`8 * rank + file`). No function changes
its argument.

    from referee import from_bits, legal_moves, solve

    start() -> Cells                            the opening position, Black to move
    from_bits(player, opponent) -> Cells        from two 64-bit words, A1 = bit 0, player = side to move
    to_bits(cells) -> (player, opponent)        the reverse
    square(name) / name(square)                 "D3" <-> 19
    flips(cells, square) -> list of squares     the discs a move would turn; empty if it is illegal
    legal_moves(cells) -> list of squares       ascending; empty when the side to move has to pass
    play(cells, square) -> Cells                after the move, seen by the other side; ValueError if illegal
    passed(cells) -> Cells                      the same board seen by the other side
    game_over(cells) -> bool                    neither side has a move
    empties(cells) -> int                       number of empty squares
    final_score(cells) -> int                   discs, for the side to move, the empties given to the winner
    solve(cells) -> int                         the exact final score with best play, for the side to move
    solve_moves(cells) -> {square: score}       the same for every legal move, seen by the side to move
    perft(cells, depth, mode) -> int            number of lines of play; see there for the two modes
    count_positions(depth, definition) -> int   distinct positions of the opening; see there
    symmetries(cells) -> list of 8 Cells        the mirror images and rotations, the position itself first
    canonical_bits(cells) -> (player, opponent) the smallest pair of words among the eight
    random_position(seed, plies) -> Cells       legal random play from the opening; the side to move
                                                has a move, or the game is over
    random_moves(seed, plies) -> list           the moves of that line, without passes
    positional_move(cells, rng) -> square       the mobility-and-corners player
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator

Cells = list[list[int]]

MINE, THEIRS, EMPTY = 1, -1, 0
DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
CORNERS = [0, 7, 56, 63]
CORNER_NEIGHBOURS = {0: [1, 8, 9], 7: [6, 14, 15], 56: [48, 49, 57], 63: [54, 55, 62]}


def start() -> Cells:
    """The opening position: Black, to move, has E4 and D5, White has D4 and E5."""
    cells = [[EMPTY] * 8 for _ in range(8)]
    cells[3][4] = cells[4][3] = MINE
    cells[3][3] = cells[4][4] = THEIRS
    return cells


def from_bits(player: int, opponent: int) -> Cells:
    """The board of two 64-bit words, A1 = bit 0; ValueError when they share a square or have a 65th."""
    if player & opponent or (player | opponent) >> 64 or player < 0 or opponent < 0:
        raise ValueError(f"not two disjoint 64-bit words: {player:#x}, {opponent:#x}")
    cells = [[EMPTY] * 8 for _ in range(8)]
    for number in range(64):
        if player >> number & 1:
            cells[number // 8][number % 8] = MINE
        elif opponent >> number & 1:
            cells[number // 8][number % 8] = THEIRS
    return cells


def to_bits(cells: Cells) -> tuple[int, int]:
    """The two 64-bit words of a board: discs of the side to move, discs of the other side."""
    words = {MINE: 0, THEIRS: 0, EMPTY: 0}
    for rank in range(8):
        for file in range(8):
            words[cells[rank][file]] |= 1 << (8 * rank + file)
    return words[MINE], words[THEIRS]


def square(text: str) -> int:
    """The number of a square written as `d3` or `D3`; ValueError for anything else."""
    if len(text) != 2 or text[0].upper() not in "ABCDEFGH" or text[1] not in "12345678":
        raise ValueError(f"not a square: {text!r}")
    return 8 * (int(text[1]) - 1) + "ABCDEFGH".index(text[0].upper())


def name(number: int) -> str:
    """The name of a square, as `D3`."""
    return "ABCDEFGH"[number % 8] + str(number // 8 + 1)


def flips(cells: Cells, number: int) -> list[int]:
    """The squares whose discs a move on `number` turns; an empty list when the move is illegal."""
    rank, file = divmod(number, 8)
    if cells[rank][file] != EMPTY:
        return []
    turned = []
    for down, right in DIRECTIONS:
        line = []
        r, f = rank + down, file + right
        while 0 <= r < 8 and 0 <= f < 8 and cells[r][f] == THEIRS:
            line.append(8 * r + f)
            r, f = r + down, f + right
        if line and 0 <= r < 8 and 0 <= f < 8 and cells[r][f] == MINE:
            turned.extend(line)
    return turned


def legal_moves(cells: Cells) -> list[int]:
    """The squares the side to move may play, in ascending order."""
    # Of taken squares `flips` says the same, but takes most of the time of solving when it is asked.
    return [8 * r + f for r in range(8) for f in range(8) if cells[r][f] == EMPTY and flips(cells, 8 * r + f)]


def passed(cells: Cells) -> Cells:
    """The same discs seen by the other side."""
    return [[-cell for cell in row] for row in cells]


def play(cells: Cells, number: int) -> Cells:
    """The board after a move, seen by the side that then has the turn; ValueError when it is illegal."""
    turned = flips(cells, number)
    if not turned:
        raise ValueError(f"illegal move {name(number)}")
    after = [row.copy() for row in cells]
    for placed in [number, *turned]:
        after[placed // 8][placed % 8] = MINE
    return passed(after)


def game_over(cells: Cells) -> bool:
    """True when neither side has a move."""
    return not any(flips(board, number) for board in (cells, passed(cells)) for number in range(64))


def empties(cells: Cells) -> int:
    """The number of empty squares."""
    return sum(row.count(EMPTY) for row in cells)


def final_score(cells: Cells) -> int:
    """The disc difference for the side to move, the empty squares given to the winner, of a finished game."""
    difference = sum(sum(row) for row in cells)
    if difference > 0:
        return difference + empties(cells)
    if difference < 0:
        return difference - empties(cells)
    return 0


def solve(cells: Cells, alpha: int = -64, beta: int = 64) -> int:
    """The final score with best play, for the side to move. Bearable up to some ten empty squares.

    Plain alpha-beta, fail-soft; with the default window the score is exact.
    """
    moves = legal_moves(cells)
    if not moves:
        other = passed(cells)
        return -solve(other, -beta, -alpha) if legal_moves(other) else final_score(cells)
    best = -65
    for number in moves:
        best = max(best, -solve(play(cells, number), -beta, -max(alpha, best)))
        if best >= beta:
            break
    return best


def solve_moves(cells: Cells) -> dict[int, int]:
    """The exact score of every legal move, for the side to move."""
    return {number: -solve(play(cells, number)) for number in legal_moves(cells)}


def perft(cells: Cells, depth: int, mode: int = 1) -> int:
    """The number of lines of play of `depth` plies; a game that ends earlier counts once.

    Mode 1: a pass is a ply. Mode 2: it is not.
    """
    if depth == 0:
        return 1
    moves = legal_moves(cells)
    if not moves:
        other = passed(cells)
        if not legal_moves(other):
            return 1
        return perft(other, depth - 1 if mode == 1 else depth, mode)
    return sum(perft(play(cells, number), depth - 1, mode) for number in moves)


def symmetries(cells: Cells) -> list[Cells]:
    """The board, its three quarter turns, and the mirror images of these four."""
    images = []
    for board in (cells, [row[::-1] for row in cells]):
        turned = board
        for _ in range(4):
            images.append([row.copy() for row in turned])
            turned = [[turned[7 - file][rank] for file in range(8)] for rank in range(8)]
    return images


def canonical_bits(cells: Cells) -> tuple[int, int]:
    """The smallest (player, opponent) pair of unsigned words among the eight symmetric boards."""
    return min(to_bits(image) for image in symmetries(cells))


def count_positions(depth: int, definition: int = 1) -> int:
    """The number of positions, symmetric ones counted once, after `depth` discs have been placed.

    Definition 1: positions as they are right after the move. Definition 2: where the side to move has to
    pass, the position after the pass. Definition 3: as 2, without finished games. Finished games are never
    continued.
    """
    level = {canonical_bits(start())}
    for _ in range(depth):
        level = set(_after_one_move(level))
    boards = [from_bits(*words) for words in level]
    if definition >= 2:
        boards = [board if legal_moves(board) or game_over(board) else passed(board) for board in boards]
    if definition == 3:
        boards = [board for board in boards if not game_over(board)]
    return len({canonical_bits(board) for board in boards})


def _after_one_move(level: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for words in level:
        board = from_bits(*words)
        if not legal_moves(board):
            board = passed(board)
        for number in legal_moves(board):
            yield canonical_bits(play(board, number))


def random_moves(seed: int, plies: int) -> list[int]:
    """The moves, passes left out, of a random legal line of at most `plies` plies from the opening."""
    return list(_random_line(seed, plies)[0])


def random_position(seed: int, plies: int) -> Cells:
    """The position after `random_moves(seed, plies)`, for the side that can move, if one can."""
    return _random_line(seed, plies)[1]


@functools.lru_cache(4096)
def _random_line(seed: int, plies: int) -> tuple[list[int], Cells]:
    rng = random.Random(seed)
    cells = start()
    legal = legal_moves(cells)
    moves: list[int] = []
    while len(moves) < plies and legal:
        moves.append(rng.choice(legal))
        cells = play(cells, moves[-1])
        legal = legal_moves(cells)
        if not legal:
            legal = legal_moves(passed(cells))
            cells = passed(cells) if legal else cells
    return moves, cells


def positional_move(cells: Cells, rng: random.Random) -> int:
    """The move of a player who knows corners and mobility and looks one ply ahead; ties are drawn by lot.

    Corners held count for much, squares beside an empty corner against; then comes mobility.
    """

    def value(number: int) -> tuple[int, int]:
        after = passed(play(cells, number))
        corners = 0
        for corner in CORNERS:
            held = after[corner // 8][corner % 8]
            corners += 4 * held
            if held == EMPTY:
                corners -= sum(after[near // 8][near % 8] for near in CORNER_NEIGHBOURS[corner])
        return corners, len(legal_moves(after)) - 2 * len(legal_moves(passed(after)))

    moves = legal_moves(cells)
    best = max(value(number) for number in moves)
    return rng.choice([number for number in moves if value(number) == best])
