"""Faulty records and leaves, and counts of positions by kind, level and score."""

from desdaemon.book.layout import (
    BAD_BOARD,
    BAD_NUMBERS,
    FINISHED,
    HUMAN,
    HUMAN_LEVEL,
    ILLEGAL,
    LINKED,
    MAX_LEVEL,
    MAX_SCORE,
    MUST_PASS,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    NOT_FOUND,
    OPEN,
    OTHER_PASSES,
    PASS,
    SQUARES,
    SURPLUS,
    TALLY_BIAS,
    TALLY_FINISHED,
    TALLY_LEAVES,
    TALLY_LEVELS,
    TALLY_LINKS,
    TALLY_POSITIONS,
    TALLY_SCORES,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    ctz,
    final_score,
    i2u,
    ld64,
    moves,
    st8,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import (
    BOARD,
    FAMILIES,
    family_of,
    find_rows,
    is_finished,
    legal_of,
    link_count,
    link_row,
    linked_of,
    links_of,
)
from .imports import check_board
from .records import (
    empties_of,
    flags_of,
    has_leaf,
    leaf_move_of,
    leaf_score_of,
    level_of,
    opponent_of,
    player_of,
    score_of,
    set_board,
    set_leaf,
    set_level,
)
from .table import hash_of, listed_row, row_at

FAULT = 16
"""Bytes of a noted fault: row and kind, 64 bits each."""
FAULT_KIND = 8
INSPECTED = 32
"""Number of rows that `inspect_rows` looks up together."""
INSPECTED_KEYS = INSPECTED * BOARD
INSPECTED_ROWS = 8 * INSPECTED


@kernel("i64(u64,u64)")
def leaf_fault(record, family):
    """Return the fault of the leaf of ``record`` (`layout`: OPEN, LINKED, ILLEGAL or SURPLUS), 0 if it has none.

    ``family`` is the address of its row's family (`family_of`).
    """
    leaf_move = leaf_move_of(record)
    scored = leaf_score_of(record) >= -MAX_SCORE
    legal = legal_of(family)
    if is_finished(family):
        if leaf_move < U(NO_MOVE):
            return ILLEGAL
        return 0 if scored else OPEN
    passing = legal == U(0)
    pass_linked = passing and link_count(family) != U(0)
    if leaf_move > U(PASS):
        if scored:
            return SURPLUS
        free = not pass_linked if passing else legal != linked_of(family)
        return OPEN if free else 0
    if leaf_move == U(PASS):
        if not passing:
            return ILLEGAL
        if pass_linked:
            return LINKED
    elif legal & bit(leaf_move) == U(0):
        return ILLEGAL
    elif linked_of(family) & bit(leaf_move):
        return LINKED
    return 0 if scored else OPEN


@kernel("i64(u64,i64,i64,u64,i64,u64,u64)")
def list_faults(ctx, start, end, out, capacity, stats, filters):
    """Note (row, fault) of each faulty leaf of rows ``start`` to ``end`` - 1 at ``out``, until ``capacity`` are noted.

    Returns the row where it stopped; ``stats`` gets the number of notes. ``filters`` is the address of the
    filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    row = first
    number = U(0)
    while row < i2u(end) and number < i2u(capacity):
        family = family_of(ctx, U(0), first, row, i2u(end), filters, families)
        fault = leaf_fault(row_at(ctx, row), family)
        if fault:
            st64(out + number * U(FAULT), row)
            sts64(out + number * U(FAULT) + U(FAULT_KIND), fault)
            number += U(1)
        row += U(1)
    st64(stats, number)
    return u2i(row)


@kernel("void(u64,i64,i64,i64,u64)")
def make_up_leaves(ctx, start, end, level, filters):
    """Set the level of rows ``start`` to ``end`` - 1, for benchmarks; rows without a leaf also get one of that level.

    The leaf's score is -12..12, or the final score of a finished game. ``filters`` is the address of the filters by
    number of empty squares.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    row = first
    while row < i2u(end):
        family = family_of(ctx, U(0), first, row, i2u(end), filters, families)
        record = row_at(ctx, row)
        set_level(record, level)
        if leaf_fault(record, family) == OPEN:
            p = player_of(record)
            o = opponent_of(record)
            move = U(PASS)
            if legal_of(family):
                move = ctz(legal_of(family) & ~linked_of(family))
            score = u2i((hash_of(p, o) >> U(20)) % U(25)) - 12
            if is_finished(family):
                move = U(NO_MOVE)
                score = final_score(p, empties_of(record))
            set_leaf(record, u2i(move), score, level)
        row += U(1)


@kernel("void(u64,i64,i64,u64)")
def list_kinds(ctx, start, end, out):
    """Write a byte to ``out`` for each of rows ``start`` to ``end`` - 1: MUST_PASS, FINISHED, OTHER_PASSES or 0."""
    row = i2u(start)
    while row < i2u(end):
        record = row_at(ctx, row)
        own = moves(player_of(record), opponent_of(record))
        other = moves(opponent_of(record), player_of(record))
        kind = 0
        if own == U(0):
            kind = FINISHED if other == U(0) else MUST_PASS
        elif other == U(0):
            kind = OTHER_PASSES
        st8(out + row - i2u(start), kind)
        row += U(1)


@kernel("void(u64,i64,i64,u64)")
def count_empties(ctx, start, end, out):
    """Count rows ``start`` to ``end`` - 1 by 0..64 empty squares: add to the 65 words of 64 bits at ``out``."""
    row = i2u(start)
    while row < i2u(end):
        slot = out + (i2u(empties_of(row_at(ctx, row))) << U(3))
        st64(slot, ld64(slot) + U(1))
        row += U(1)


@kernel("void(u64,i64,u64)", inline=True)
def add_to(tally, word, count):
    """Add ``count`` to the word of number ``word`` of a tally."""
    slot = tally + (i2u(word) << U(3))
    st64(slot, ld64(slot) + count)


@kernel("void(u64,u64,i64,u64,i64)", inline=True)
def tally_kinds(tally, record, empties, links, finished):
    """Add ``record``, with its number of ``links`` and ``finished`` or not, to a tally's counts by empty squares."""
    add_to(tally, TALLY_POSITIONS * SQUARES + empties, U(1))
    add_to(tally, TALLY_LINKS * SQUARES + empties, links)
    if has_leaf(record):
        add_to(tally, TALLY_LEAVES * SQUARES + empties, U(1))
    if finished:
        add_to(tally, TALLY_FINISHED * SQUARES + empties, U(1))


@kernel("void(u64,u64)", inline=True)
def tally_values(tally, record):
    """Add ``record`` to a tally's counts by level and by score."""
    add_to(tally, TALLY_LEVELS + TALLY_BIAS + level_of(record), U(1))
    add_to(tally, TALLY_SCORES + TALLY_BIAS + score_of(record), U(1))


@kernel("u64(u64,i64)", inline=True)
def links_below(family, limit):
    """Return the number of a family's links that lead to rows below ``limit``."""
    linked = U(0)
    links = links_of(family)
    k = U(0)
    while k < link_count(family):
        if link_row(links, k) < limit:
            linked += U(1)
        k += U(1)
    return linked


@kernel("void(u64,i64,i64,u64,u64)")
def tally_rows(ctx, start, end, tally, filters):
    """Add rows ``start`` to ``end`` - 1 to all counts of a tally (`layout.TALLY_WORDS`). ``filters`` is the address of
    the filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    first = i2u(start)
    row = first
    while row < i2u(end):
        family = family_of(ctx, U(0), first, row, i2u(end), filters, families)
        record = row_at(ctx, row)
        tally_kinds(tally, record, empties_of(record), link_count(family), is_finished(family))
        tally_values(tally, record)
        row += U(1)


@kernel("void(u64,u64,i64,i64,u64,u64)")
def tally_listed(ctx, order, count, limit, tally, filters):
    """Add the first ``count`` rows listed at ``order`` to a tally's counts by empty squares; its counts by level and
    score stay unchanged.

    Only links to rows below ``limit`` count. ``filters`` is the address of the filters by number of empty squares.
    """
    families = stack_buf(FAMILIES)
    t = U(0)
    while t < i2u(count):
        family = family_of(ctx, order, U(0), t, i2u(count), filters, families)
        record = row_at(ctx, listed_row(order, t))
        tally_kinds(tally, record, empties_of(record), links_below(family, limit), is_finished(family))
        t += U(1)


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
