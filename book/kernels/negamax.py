"""Scores, bounds and counts, computed from the leaves backwards."""

from desdaemon.book.layout import (
    DRAWS,
    HUMAN,
    LINES,
    LOSSES,
    MAX_SCORE,
    NEGAMAX_CHANGED,
    NEGAMAX_FAULTS,
    NEGAMAX_FLAGS,
    NEGAMAX_TALLY,
    NO_MOVE,
    NO_SCORE,
    RULE_CHECK_ONLY,
    RULE_EGAROUCID,
    TALLY_WORDS,
    WIDE,
    WIDE_CAPACITY,
    WIDE_COUNT,
    WIDE_COUNTS_BYTES,
    WIDE_TABLE,
    WINS,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    atomic_add64,
    i2u,
    ld64,
    moves,
    st8,
    st64,
    stack_buf,
    u2i,
)

from .graph import FAMILIES, family_of, is_finished, legal_of, link_count, link_move, link_row, links_of
from .leaves import leaf_fault, tally_kinds, tally_values
from .records import (
    clamped,
    clear_leaf,
    empties_of,
    flags_of,
    leaf_level_of,
    leaf_move_of,
    leaf_score_of,
    level_of,
    lower_bound_of,
    margin_at,
    margin_exact,
    margin_lower,
    margin_upper,
    narrow_count_of,
    opponent_of,
    player_of,
    score_of,
    set_flags,
    set_narrow_count,
    set_score,
    upper_bound_of,
)
from .table import listed_row, row_at

MOST = 0xFFFFFFFFFFFFFFFF
MOST_NARROW = 0xFFFFFFFF
COUNTS_BYTES = 32
TALLY_BYTES = 8 * TALLY_WORDS


@kernel("u64(u64,u64)", inline=True)
def add_saturated(a, b):
    """Return a + b, at most 2^64 - 1."""
    total = a + b
    if total < a:
        return U(MOST)
    return total


@kernel("u64(u64,u64)", inline=True)
def wide_at(ctx, place):
    """Return the address of row ``place`` of the wide table."""
    return ld64(ctx + U(WIDE_TABLE)) + place * U(WIDE_COUNTS_BYTES)


@kernel("u64(u64,u64,u64)", inline=True)
def count_of(ctx, record, which):
    """Return a path count (``which``: WINS .. LINES) of ``record``; 0 if it is damaged and points outside the wide
    table.
    """
    if flags_of(record) & U(WIDE):
        place = narrow_count_of(record, U(0))
        # A damaged file that was not checked must not lead outside.
        if place >= ld64(ctx + U(WIDE_CAPACITY)):
            return U(0)
        return ld64(wide_at(ctx, place) + (which << U(3)))
    return narrow_count_of(record, which)


@kernel("i64(u64,u64,u64)")
def same_counts(ctx, record, counts):
    """Return 1 if ``record`` has the four counts at address ``counts``, else 0."""
    k = U(0)
    while k < U(4):
        if count_of(ctx, record, k) != ld64(counts + (k << U(3))):
            return 0
        k += U(1)
    return 1


@kernel("i64(u64,u64,u64)")
def store_counts(ctx, record, counts):
    """Write the four counts at address ``counts``, which differ from the record's, to the record or, if one is too
    large, to the wide table. Returns 1, or 0 if the wide table is full.
    """
    flags = flags_of(record)
    k = U(0)
    wide = False
    while k < U(4):
        if ld64(counts + (k << U(3))) > U(MOST_NARROW):
            wide = True
        k += U(1)
    if wide:
        place = narrow_count_of(record, U(0))
        if flags & U(WIDE) == U(0) or place >= ld64(ctx + U(WIDE_CAPACITY)):
            place = atomic_add64(ctx + U(WIDE_COUNT), U(1))
            if place >= ld64(ctx + U(WIDE_CAPACITY)):
                return 0
        k = U(0)
        while k < U(4):
            st64(wide_at(ctx, place) + (k << U(3)), ld64(counts + (k << U(3))))
            k += U(1)
        set_narrow_count(record, U(0), place)
        set_flags(record, flags | U(WIDE))
        return 1
    k = U(0)
    while k < U(4):
        set_narrow_count(record, k, ld64(counts + (k << U(3))))
        k += U(1)
    if flags & U(WIDE):
        set_flags(record, flags ^ U(WIDE))
    return 1


@kernel("i64(i64,i64)", inline=True)
def larger(a, b):
    return a if a > b else b


@kernel("void(u64)", inline=True)
def clear_tally(tally):
    k = U(0)
    while k < U(TALLY_BYTES):
        st64(tally + k, U(0))
        k += U(8)


@kernel("void(u64,u64)", inline=True)
def merge_tally(to, tally):
    """Add a thread's tally to the one at ``to``, which the threads share; each word is added atomically."""
    k = U(0)
    while k < U(TALLY_BYTES):
        if ld64(tally + k) != U(0):
            atomic_add64(to + k, ld64(tally + k))
        k += U(8)


@kernel("i64(u64,u64,i64,i64,u64,i64,u64,u64)")
def negamax_rows(ctx, order, start, end, margins, rule, filters, block):
    """Compute the scores, bounds and path counts of the rows ``order[start]`` to ``order[end - 1]`` (``start`` to
    ``end`` - 1 if ``order`` is 0) from their leaves and their children, which must be up to date. Returns the index
    where it stopped: ``end``, or a lower one if the wide table is full.

    If ``rule`` is 0, links and leaf are used, as by Edax; with its bit RULE_EGAROUCID only links are, and the lines are
    a number of positions. With its bit RULE_CHECK_ONLY nothing is stored; the rows that would change are counted.
    ``margins`` is the address of the leaves' margins, ``filters`` that of the filters by number of empty squares,
    ``block`` that of the words from `layout.NEGAMAX_CHANGED` on.

    A leaf whose move has become a link is dropped, a child without a score passed over. If nothing counts, a position
    without links keeps its score if it has one; others take their leaf's score, or none. A score set by hand stays.
    """
    families = stack_buf(FAMILIES)
    counts = stack_buf(COUNTS_BYTES)
    tally = stack_buf(TALLY_BYTES)
    first = i2u(start)
    t = first
    stop = i2u(end)
    changed = U(0)
    marks = ld64(block + U(NEGAMAX_FLAGS))
    faults = ld64(block + U(NEGAMAX_FAULTS))
    total_tally = ld64(block + U(NEGAMAX_TALLY))
    if total_tally:
        clear_tally(tally)
    while t < stop:
        family = family_of(ctx, order, first, t, stop, filters, families)
        row = t
        if order:
            row = listed_row(order, t)
        record = row_at(ctx, row)
        empties = empties_of(record)
        score = NO_SCORE
        lower = NO_SCORE
        upper = NO_SCORE
        wins = U(0)
        draws = U(0)
        losses = U(0)
        lines = U(0)
        scored = 0
        leaf_linked = False
        leaf_move = leaf_move_of(record)
        links = links_of(family)
        k = U(0)
        while k < link_count(family):
            if link_move(links, k) == leaf_move:
                leaf_linked = True
            child = row_at(ctx, i2u(link_row(links, k)))
            k += U(1)
            if score_of(child) == NO_SCORE:
                continue
            scored += 1
            score = larger(score, -score_of(child))
            lower = larger(lower, -upper_bound_of(child))
            upper = larger(upper, -lower_bound_of(child))
            wins = add_saturated(wins, count_of(ctx, child, U(LOSSES)))
            draws = add_saturated(draws, count_of(ctx, child, U(DRAWS)))
            losses = add_saturated(losses, count_of(ctx, child, U(WINS)))
            lines = add_saturated(lines, count_of(ctx, child, U(LINES)))
        own = leaf_score_of(record)
        if leaf_move > U(NO_MOVE) or own < -MAX_SCORE or leaf_linked:
            own = NO_SCORE
        if rule & RULE_EGAROUCID:
            # Egaroucid's files have no positions with a forced pass, so its lines do not count them.
            if legal_of(family) or moves(opponent_of(record), player_of(record)) == U(0):
                lines = add_saturated(lines, U(1))
        elif own > NO_SCORE:
            margin = margin_at(margins, leaf_level_of(record), empties)
            score = larger(score, own)
            lower = larger(lower, own + margin_lower(margin))
            upper = larger(upper, own + margin_upper(margin))
            lines = add_saturated(lines, U(1))
            if margin_exact(margin):
                if own > 0:
                    wins = add_saturated(wins, U(1))
                elif own < 0:
                    losses = add_saturated(losses, U(1))
                else:
                    draws = add_saturated(draws, U(1))
        if scored == 0 and (rule & RULE_EGAROUCID or own == NO_SCORE):
            score = own
            if link_count(family) == U(0) and score_of(record) > NO_SCORE:
                score = score_of(record)
            margin = margin_at(margins, level_of(record), empties)
            lower = score
            upper = score
            if score > NO_SCORE:
                lower += margin_lower(margin)
                upper += margin_upper(margin)
            else:
                upper = -NO_SCORE
        if flags_of(record) & U(HUMAN):
            score = score_of(record)
            lower = score
            upper = score
        st64(counts + U(8 * WINS), wins)
        st64(counts + U(8 * DRAWS), draws)
        st64(counts + U(8 * LOSSES), losses)
        st64(counts + U(8 * LINES), lines)
        lower = clamped(lower)
        upper = clamped(upper)
        right = score_of(record) == score and lower_bound_of(record) == lower and upper_bound_of(record) == upper
        counted = same_counts(ctx, record, counts)
        if rule & RULE_CHECK_ONLY:
            if not right or counted == 0:
                changed += U(1)
        else:
            # A record of a mapped file costs a page of memory once it is written to.
            if counted == 0 and store_counts(ctx, record, counts) == 0:
                break
            if leaf_linked:
                clear_leaf(record)
            if not right:
                changed += U(1)
                set_score(record, score, lower, upper)
            if marks and (not right or counted == 0):
                st8(marks + t, 1)
        if faults:
            fault = leaf_fault(record, family)
            if fault:
                st8(faults + t, fault)
        if total_tally:
            tally_kinds(tally, record, empties, link_count(family), is_finished(family))
            tally_values(tally, record)
        t += U(1)
    atomic_add64(block + U(NEGAMAX_CHANGED), changed)
    if total_tally:
        merge_tally(total_tally, tally)
    return u2i(t)
