"""Many short searches in one call: a compiled `Searcher.search` for one line without a progress callback.

A search of a tenth of a millisecond costs more time in Python than in the kernels, and only one thread at a time runs
Python. A record (`desdaemon.engine.layout`, ``SHORT_...``) holds a position and its limits, and receives the result.
Iterations, windows, score, line and nodes are those of `Searcher`.
"""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.layout import (
    BEST,
    DATE,
    EXACT,
    LAST_DATE,
    NO_MOVE,
    NODES,
    SHORT_BYTES,
    SHORT_DEPTH,
    SHORT_LENGTH,
    SHORT_LINE,
    SHORT_LINE_MOST,
    SHORT_LINE_NODES,
    SHORT_NODES,
    SHORT_OPPONENT,
    SHORT_PLAYER,
    SHORT_SCORE,
    SHORT_SELECTIVITY,
    STOP,
)

from .bits import (
    U,
    bit,
    canonical_symmetry,
    ctz,
    flip,
    i2u,
    ld64,
    lds64,
    ldu8,
    moves,
    poll64,
    popc,
    st8,
    st64,
    sts64,
    symmetric,
    u2i,
)
from .interface import known_move, search_root


@kernel("i64(i64)", inline=True)
def within_scores(score):
    """Return the nearest number in -64..64."""
    if score < -64:
        return -64
    if score > 64:
        return 64
    return score


@kernel("i64(u64,u64,u64,i64,i64,i64,u64,i64)")
def iterate(ctx, p, o, depth, selectivity, empties, hint, guess):
    """Search one iteration, by windows that widen around ``guess`` (above 64 for no guess; at depths up to 2 it is not
    used). Returns its score in discs for the mover; the move is left at BEST. ``hint``, if not NO_MOVE, is tried first.

    This does what `Searcher._line` does, without the variation. The result is meaningless if the stop word is set.
    """
    width = 3
    if depth >= empties:
        width = 2
    low = -64
    high = 64
    if guess <= 64 and depth > 2:
        low = within_scores(guess - width)
        high = within_scores(guess + width)
        if low >= high:
            low = -64
            high = 64
    failed = 0
    while True:
        score = search_root(ctx, p, o, low, high, depth, selectivity, ~U(0), hint)
        if poll64(ld64(ctx + U(STOP))):
            return score
        if low > -64 and score <= low:
            failed |= 1
            low = within_scores(score - width)
            high = score + 1
        elif high < 64 and score >= high:
            failed |= 2
            low = score - 1
            high = within_scores(score + width)
        else:
            return score
        if failed == 3:
            low = -64
            high = 64
        hint = ld64(ctx + U(BEST))
        width *= 2


@kernel("i64(u64,u64,u64,u64,i64,i64,i64,i64,u64)")
def write_variation(ctx, p, o, move, depth, selectivity, score, empties, to):
    """Write the line that begins with ``move`` and has ``score`` to the address ``to``, one byte for each move, NO_MOVE
    for a pass. Returns its length in bytes, at most SHORT_LINE_MOST - 1.

    A move that no table knows is found by a search, unless ``score`` is 64 or -64 and the search ends before the game.
    The line ends if no move is found. `Searcher._variation` finds the same line.
    """
    left = depth
    read_on = (score > -64 and score < 64) or depth >= empties
    length = 0
    while length < SHORT_LINE_MOST - 1:
        st8(to + i2u(length), u2i(move))
        length += 1
        if move == U(NO_MOVE):
            p, o = o, p
        else:
            flips = flip(move, p, o)
            p, o = o ^ flips, p | flips | bit(move)
            left -= 1
        score = -score
        legal = moves(p, o)
        if left <= 0 and depth < empties:
            break
        if legal == U(0):
            if moves(o, p) == U(0):
                break
            move = U(NO_MOVE)
            continue
        move = known_move(ctx, p, o, left, selectivity)
        if move >= U(NO_MOVE) or (legal >> move) & U(1) == U(0):
            if not read_on or poll64(ld64(ctx + U(STOP))):
                break
            search_root(
                ctx, p, o, within_scores(score - 1), within_scores(score + 1), left, selectivity, ~U(0), U(NO_MOVE)
            )
            move = ld64(ctx + U(BEST))
            if poll64(ld64(ctx + U(STOP))) or move >= U(NO_MOVE) or (legal >> move) & U(1) == U(0):
                break
    return length


@kernel("void(u64,u64)")
def search_record(ctx, record):
    """Search the position in the record at address ``record``, whose game is not over, and write score, nodes and line
    into the record. NODES counts from 0.

    If the stop word ends the search, the length of the line stays as the caller has set it.
    """
    p = ld64(record + U(SHORT_PLAYER))
    o = ld64(record + U(SHORT_OPPONENT))
    symmetry = canonical_symmetry(p, o)
    p = symmetric(p, symmetry)
    o = symmetric(o, symmetry)
    passes = 0
    line = record + U(SHORT_LINE)
    if moves(p, o) == U(0):
        p, o = o, p
        passes = 1
        st8(line, NO_MOVE)
    empties = 64 - popc(p | o)
    depth = lds64(record + U(SHORT_DEPTH))
    selectivity = lds64(record + U(SHORT_SELECTIVITY))
    early_selectivity = selectivity
    border = depth
    if depth >= empties:
        depth = empties
        border = empties - 8
        early_selectivity = 0
    if depth == 0:
        selectivity = EXACT
    st64(ctx + U(NODES), U(0))
    step = 2 - (depth & 1)
    guess = 65
    hint = U(NO_MOVE)
    length = 0
    spent = U(0)
    while True:
        step_selectivity = early_selectivity
        if step >= border:
            step = depth
            step_selectivity = selectivity
        spent = ld64(ctx + U(NODES))
        guess = iterate(ctx, p, o, step, step_selectivity, empties, hint, guess)
        if poll64(ld64(ctx + U(STOP))):
            return
        spent = ld64(ctx + U(NODES)) - spent
        hint = ld64(ctx + U(BEST))
        if step == 0:
            hint = ctz(moves(p, o))
        length = write_variation(ctx, p, o, hint, step, step_selectivity, guess, empties, line + i2u(passes))
        if poll64(ld64(ctx + U(STOP))):
            return
        if step == depth:
            break
        step += 2
    back = symmetry
    if symmetry & 4:
        back = 4 | (symmetry & 1) << 1 | (symmetry & 2) >> 1
    for k in range(length):
        place = line + i2u(passes + k)
        move = ldu8(place)
        if move < U(NO_MOVE):
            st8(place, u2i(ctz(symmetric(bit(move), back))))
    if passes:
        guess = -guess
    sts64(record + U(SHORT_SCORE), guess)
    st64(record + U(SHORT_NODES), ld64(ctx + U(NODES)))
    st64(record + U(SHORT_LINE_NODES), spent)
    sts64(record + U(SHORT_LENGTH), passes + length)


@kernel("void(u64,u64,i64)")
def search_records(ctx, records, number):
    """Search the ``number`` records at address ``records``, each after the first with a new date in the table, until
    the stop word is set.
    """
    for k in range(number):
        if poll64(ld64(ctx + U(STOP))):
            return
        if k > 0:
            st64(ctx + U(DATE), ld64(ctx + U(DATE)) % U(LAST_DATE) + U(1))
        search_record(ctx, records + i2u(k) * U(SHORT_BYTES))
