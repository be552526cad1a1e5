"""Moves of games compared with the book, and scores of boards."""

from desdaemon.book.kernels.grades import NONE, link_score
from desdaemon.book.kernels.graph import BOARD, MOST_LINKS, list_children, prefetch_key
from desdaemon.book.kernels.imports import mirrored
from desdaemon.book.kernels.records import leaf_move_of, leaf_score_of, opponent_of, player_of, score_of, set_board
from desdaemon.book.kernels.table import find_row, row_at
from desdaemon.book.layout import MAX_SCORE, NOT_IN_BOOK, PASS
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    canonical,
    canonical_symmetry,
    ctz,
    flip,
    i2u,
    ld64,
    moves,
    st64,
    stack_buf,
    u2i,
)

PAIR = 2 * BOARD
"""Bytes of a move to be judged: the position and the position after it."""
JUDGED_GOOD = 8
JUDGED_OTHER = 16
PAIRS_AHEAD = 8


@kernel("void(u64,u64,i64,u64)")
def judge_moves(ctx, pairs, count, out):
    """Compare ``count`` moves, each a canonical position and the one it leads to (32 bytes), with the book.

    The word at ``out`` grows by the number of positions outside the book, that at `JUDGED_GOOD` by the number of moves
    at least as good as their position's score, that at `JUDGED_OTHER` by the number of other moves.
    """
    children = stack_buf(MOST_LINKS)
    k = U(0)
    while k < i2u(count):
        pair = pairs + k * U(PAIR)
        after = pair + U(BOARD)
        if k + U(PAIRS_AHEAD) < i2u(count):
            ahead = pair + U(PAIRS_AHEAD * PAIR)
            prefetch_key(ctx, player_of(ahead), opponent_of(ahead))
        k += U(1)
        row = find_row(ctx, player_of(pair), opponent_of(pair))
        if row < 0:
            st64(out, ld64(out) + U(1))
            continue
        record = row_at(ctx, i2u(row))
        total = list_children(ctx, player_of(record), opponent_of(record), children)
        legal = moves(player_of(record), opponent_of(record))
        good = False
        # A forced pass is one child.
        count_here = i2u(total) if total >= 0 else U(1)
        j = U(0)
        while j < count_here:
            child = children + j * U(BOARD)
            j += U(1)
            move = U(PASS)
            if total > 0:
                move = ctz(legal)
                legal = blsr(legal)
            if player_of(child) != player_of(after) or opponent_of(child) != opponent_of(after):
                continue
            child_row = find_row(ctx, player_of(child), opponent_of(child))
            score = link_score(ctx, child_row)
            if child_row < 0 and move == leaf_move_of(record) and leaf_score_of(record) >= -MAX_SCORE:
                score = leaf_score_of(record)
            if score != NONE and score >= score_of(record):
                good = True
        slot = out + U(JUDGED_GOOD) if good else out + U(JUDGED_OTHER)
        st64(slot, ld64(slot) + U(1))


@kernel("i64(u64,u64,i64,u64,u64)")
def list_scores(ctx, boards, count, answers, children):
    """Look up ``count`` boards in any orientation, 16 bytes each. Returns the number of boards written to ``children``.

    ``answers`` gets a word for each board: NOT_IN_BOOK, or the row in bits 0..31, the best move on that board (64 for
    none or the pass) from bit 32 on, and in bit 40 whether the side to move has a legal move. ``children`` gets the
    boards that links lead to, in that orientation.
    """
    key = stack_buf(16)
    linked = children
    k = U(0)
    while k < i2u(count):
        p = player_of(boards + k * U(BOARD))
        o = opponent_of(boards + k * U(BOARD))
        canonical(p, o, key)
        place = find_row(ctx, player_of(key), opponent_of(key))
        if place < 0:
            st64(answers + (k << U(3)), U(NOT_IN_BOOK))
            k += U(1)
            continue
        row = i2u(place)
        record = row_at(ctx, row)
        symmetry = canonical_symmetry(p, o)
        legal = moves(p, o)
        passing = legal == U(0)
        best = NONE
        best_move = U(PASS)
        more = not passing or moves(o, p) != U(0)
        while more:
            move = U(PASS)
            other = o
            own = p
            if not passing:
                move = ctz(legal)
                legal = blsr(legal)
                f = flip(move, p, o)
                other = o ^ f
                own = p | f | bit(move)
            more = legal != U(0)
            canonical(other, own, key)
            child = find_row(ctx, player_of(key), opponent_of(key))
            score = link_score(ctx, child)
            if child >= 0:
                set_board(linked, other, own)
                linked += U(BOARD)
            elif mirrored(move, symmetry) == leaf_move_of(record) and leaf_score_of(record) >= -MAX_SCORE:
                score = leaf_score_of(record)
            if score > best:
                best = score
                best_move = move
        st64(answers + (k << U(3)), row | (best_move << U(32)) | ((U(0) if passing else U(1)) << U(40)))
        k += U(1)
    return u2i((linked - children) // U(BOARD))
