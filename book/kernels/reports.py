"""Grades of scores, moves of games compared with the book, scores of boards, faults of records."""

from desdaemon.book.layout import (
    BAD_BOARD,
    BAD_NUMBERS,
    EGAROUCID_LEVELS,
    HUMAN,
    HUMAN_LEVEL,
    LEVELS,
    MAX_LEVEL,
    MAX_SCORE,
    NO_LEVEL,
    NO_SCORE,
    NOT_FOUND,
    NOT_IN_BOOK,
    PASS,
    SOLVED,
    SQUARES,
)
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
    ldu8,
    moves,
    st8,
    st64,
    stack_buf,
    u2i,
)

from .graph import BOARD, MOST_LINKS, find_rows, link_move, link_row, list_children, list_links, prefetch_key
from .imports import check_board, mirrored
from .records import (
    by_level,
    empties_of,
    flags_of,
    has_leaf,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    level_of,
    opponent_of,
    player_of,
    score_of,
    set_board,
)
from .table import find_row, row_at

INSPECTED = 32
"""Number of rows that `inspect_rows` looks up together."""
INSPECTED_KEYS = INSPECTED * BOARD
INSPECTED_ROWS = 8 * INSPECTED
NONE = -128
PAIR = 2 * BOARD
"""Bytes of a move to be judged: the position and the position after it."""
JUDGED_GOOD = 8
JUDGED_OTHER = 16
PAIRS_AHEAD = 8
LEAVES = LEVELS * SQUARES
"""Offset in bytes of the readings of leaves behind those of positions."""


@kernel("i64(u64,i64)", inline=True)
def link_score(ctx, row):
    """Return the score of a link to ``row`` for the side that follows it; NONE without a score or if ``row`` is -1."""
    if row < 0:
        return NONE
    score = -score_of(row_at(ctx, i2u(row)))
    if score < -MAX_SCORE or score > MAX_SCORE:
        return NONE
    return score


@kernel("i64(u64)", inline=True)
def bad_numbers(record):
    """Return 1 if a record's score or level is out of range or contradicts its human mark, else 0."""
    score = score_of(record)
    level = level_of(record)
    if (score < -MAX_SCORE or score > MAX_SCORE) and score != NO_SCORE:
        return 1
    by_hand = level == HUMAN_LEVEL
    if by_hand != (flags_of(record) & U(HUMAN) != U(0)):
        return 1
    return 1 if (level < NO_LEVEL or level > MAX_LEVEL) and not by_hand else 0


@kernel("i64(u64,i64,i64,u64)")
def inspect_rows(ctx, start, end, out):
    """Write a byte to ``out`` for each of rows ``start`` to ``end`` - 1: the faults BAD_BOARD, NOT_FOUND and
    BAD_NUMBERS added up, 0 if the record is sound.

    Returns the number of rows with a fault.
    """
    keys = stack_buf(INSPECTED_KEYS)
    found_rows = stack_buf(INSPECTED_ROWS)
    row = i2u(start)
    wrong = 0
    while row < i2u(end):
        batch = i2u(end) - row
        if batch > U(INSPECTED):
            batch = U(INSPECTED)
        k = U(0)
        while k < batch:
            record = row_at(ctx, row + k)
            set_board(keys + k * U(BOARD), player_of(record), opponent_of(record))
            k += U(1)
        find_rows(ctx, keys, u2i(batch), found_rows)
        k = U(0)
        while k < batch:
            record = row_at(ctx, row + k)
            what = 0
            if check_board(player_of(record), opponent_of(record)):
                what |= BAD_BOARD
            if ld64(found_rows + (k << U(3))) != row + k:
                what |= NOT_FOUND
            if bad_numbers(record):
                what |= BAD_NUMBERS
            st8(out + row + k - i2u(start), what)
            if what:
                wrong += 1
            k += U(1)
        row += batch
    return wrong


@kernel("i64(u64,u64,i64,u64,i64,u64,i64)")
def grade_rows(ctx, marks, count, stack, loss, readings, most):
    """Mark the rows on the stack, and all they depend on, with the kinds of their lines' ends (SOLVED, READ, GUESSED).

    ``marks`` holds a byte for each of ``count`` rows, 0 if unknown; ``stack`` the number of rows on it, then the rows
    (at most 8,191). Lines lose at most ``loss`` discs at each step. ``readings`` has four tables of kinds by
    level and empties (`by_level`), LEAVES bytes each: for positions, for leaves, and for positions and leaves with
    Egaroucid's levels. Returns 1 if the stack is empty, 0 after ``most`` positions, -1 if a row is not below ``count``.
    """
    links = stack_buf(MOST_LINKS)
    depth = ld64(stack)
    while depth > U(0):
        if most <= 0:
            st64(stack, depth)
            return 0
        most -= 1
        row = ld64(stack + (depth << U(3)))
        if row >= i2u(count):
            return -1
        if ldu8(marks + row):
            depth -= U(1)
            continue
        record = row_at(ctx, row)
        empties = empties_of(record)
        human = flags_of(record) & U(HUMAN)
        scale = readings
        if flags_of(record) & U(EGAROUCID_LEVELS):
            scale += U(2 * LEAVES)
        leaf_move = leaf_move_of(record)
        leaf = leaf_score_of(record) if has_leaf(record) else NONE
        leaf_level = leaf_level_of(record)
        total = i2u(list_links(ctx, player_of(record), opponent_of(record), links))
        best = NONE
        k = U(0)
        while k < total:
            child = link_row(links, k)
            if child >= 0 and link_move(links, k) == leaf_move:
                leaf = NONE
            score = link_score(ctx, child)
            if score > best:
                best = score
            k += U(1)
        kind = 0
        if total == U(0):
            kind = SOLVED
        elif best == NONE or human:
            level = level_of(record)
            if leaf != NONE and human == U(0) and leaf_level >= 0:
                level = leaf_level
            kind = u2i(ldu8(scale + i2u(by_level(level, empties))))
        else:
            if leaf > best:
                best = leaf
            pushed = depth
            k = U(0)
            while k < total:
                child = link_row(links, k)
                score = link_score(ctx, child)
                if score != NONE and score >= best - loss:
                    if child >= count:
                        return -1
                    mark = ldu8(marks + i2u(child))
                    kind |= u2i(mark)
                    if mark == U(0):
                        depth += U(1)
                        st64(stack + (depth << U(3)), i2u(child))
                k += U(1)
            if depth > pushed:
                continue
            if leaf != NONE and leaf >= best - loss:
                kind |= u2i(ldu8(scale + i2u(LEAVES + by_level(leaf_level, empties))))
        st8(marks + row, kind)
        depth -= U(1)
    st64(stack, depth)
    return 1


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
