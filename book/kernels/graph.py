"""Walking the book: children, links, and the order from the end of the game backwards."""

from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    ctz,
    flip,
    i2u,
    ld64,
    ldu8,
    ldu32,
    moves,
    popc,
    prefetch,
    st32,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .table import (
    GUARD,
    canonical,
    find_row,
    found_at,
    hash_of,
    insert_row,
    place_of,
    prefetch_row,
    probe,
    row_at,
    segment_of,
)

PASS = U(64)


@kernel("void(u64,u64)", inline=True)
def prefetch_hash(ctx, h):
    """Ask for the tags that a look-up of a position of hash ``h`` will read."""
    segment = segment_of(ctx, h)
    prefetch(ld64(segment) + place_of(h, ld64(segment + U(16))))


@kernel("void(u64,u64,u64)", inline=True)
def prefetch_key(ctx, p, o):
    """Ask for the tags that a look-up of (p, o) will read."""
    prefetch_hash(ctx, hash_of(p, o))


@kernel("i64(u64,u64,i64,u64)")
def find_rows(ctx, keys, count, out):
    """The rows (or -1) of ``count`` canonical positions, stored as 64-bit numbers; how many were there."""
    hashes = stack_buf(256)
    slots = stack_buf(256)
    total = i2u(count)
    hits = 0
    guarded = ld64(ctx + GUARD) != U(0)
    first = U(0)
    while first < total:
        # What one look-up waits for, tags, row number and record, is asked for in the others' time.
        batch = total - first
        if batch > U(32):
            batch = U(32)
        if not guarded:
            k = U(0)
            while k < batch:
                at = keys + ((first + k) << U(4))
                h = hash_of(ld64(at), ld64(at + U(8)))
                st64(hashes + (k << U(3)), h)
                prefetch_hash(ctx, h)
                k += U(1)
            k = U(0)
            while k < batch:
                slot = probe(ctx, ld64(hashes + (k << U(3))))
                st64(slots + (k << U(3)), slot)
                prefetch(slot)
                k += U(1)
            k = U(0)
            while k < batch:
                slot = ld64(slots + (k << U(3)))
                if slot != U(0):
                    prefetch_row(ctx, ldu32(slot))
                k += U(1)
        k = U(0)
        while k < batch:
            at = keys + ((first + k) << U(4))
            row = -1
            if guarded:
                row = find_row(ctx, ld64(at), ld64(at + U(8)))
            else:
                row = found_at(ctx, ld64(slots + (k << U(3))), ld64(at), ld64(at + U(8)))
            sts64(out + ((first + k) << U(3)), row)
            if row >= 0:
                hits += 1
            k += U(1)
        first += batch
    return hits


@kernel("i64(u64,u64,u64,u64)")
def list_children(ctx, p, o, out):
    """Canonical children of (p, o), 16 bytes each at ``out``, in ascending order of move; -1: a forced pass
    (one child), 0: the game is over."""
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p) == U(0):
            return 0
        canonical(o, p, out)
        prefetch_key(ctx, ld64(out), ld64(out + U(8)))
        return -1
    count = U(0)
    while legal != U(0):
        x = ctz(legal)
        legal = blsr(legal)
        f = flip(x, p, o)
        at = out + (count << U(4))
        canonical(o ^ f, p | f | bit(x), at)
        prefetch_key(ctx, ld64(at), ld64(at + U(8)))
        count += U(1)
    return u2i(count)


@kernel("i64(u64,u64,u64)", inline=True)
def barren(p, o, empties):
    """Whether nothing can follow (p, o) in the book: it has moves, and no row one empty square less.

    ``empties``: how many rows have 0.. empty squares, see `count_empties`.
    """
    free = U(64) - i2u(popc(p | o))
    return 1 if moves(p, o) != U(0) and ld64(empties + ((free - U(1)) << U(3))) == U(0) else 0


@kernel("i64(u64,u64,u64,u64)")
def list_links(ctx, p, o, out):
    """Every legal move (or the pass) of (p, o) with the row of its child (-1: not in the book), 16 bytes each."""
    children = stack_buf(1024)
    count = list_children(ctx, p, o, children)
    if count == -1:
        st64(out, PASS)
        sts64(out + U(8), find_row(ctx, ld64(children), ld64(children + U(8))))
        return 1
    legal = moves(p, o)
    k = U(0)
    while legal != U(0):
        at = children + (k << U(4))
        st64(out + (k << U(4)), ctz(legal))
        sts64(out + (k << U(4)) + U(8), find_row(ctx, ld64(at), ld64(at + U(8))))
        legal = blsr(legal)
        k += U(1)
    return count


@kernel("i64(u64,u64)", inline=True)
def layer_of(p, o):
    """Twice the empty squares, + 1 when the side to move has to pass: children have a smaller layer."""
    twice = (64 - popc(p | o)) * 2
    if moves(p, o) == U(0) and moves(o, p) != U(0):
        return twice + 1
    return twice


@kernel("void(u64,i64,i64,u64)")
def count_layers(ctx, start, end, layers):
    """Count rows ``start..end`` by layer 0..129: the word at ``layers`` after the layer's own goes up."""
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        slot = layers + (i2u(layer_of(ld64(at), ld64(at + U(8)))) << U(3))
        st64(slot + U(8), ld64(slot + U(8)) + U(1))
        row += U(1)


@kernel("void(u64,i64,i64,u64,u64)")
def place_rows(ctx, start, end, out, places):
    """Put rows ``start..end``, as 32-bit numbers, at ``out`` where the word of their layer at ``places`` says, which
    moves on."""
    row = i2u(start)
    while row < i2u(end):
        at = row_at(ctx, row)
        slot = places + (i2u(layer_of(ld64(at), ld64(at + U(8)))) << U(3))
        st32(out + (ld64(slot) << U(2)), u2i(row))
        st64(slot, ld64(slot) + U(1))
        row += U(1)


@kernel("i64(u64,i64,i64,u64)")
def insert_children(ctx, start, end, out):
    """Add every child of rows ``start..end``; answers where it stopped, and why at ``out`` (see `insert_row`)."""
    children = stack_buf(1024)
    row = i2u(start)
    st64(out, U(0))
    while row < i2u(end):
        at = row_at(ctx, row)
        count = list_children(ctx, ld64(at), ld64(at + U(8)), children)
        if count < 0:
            count = 1
        k = U(0)
        while k < i2u(count):
            answer = insert_row(ctx, ld64(children + (k << U(4))), ld64(children + (k << U(4)) + U(8)))
            if answer < 0:
                sts64(out, answer)
                return u2i(row)
            k += U(1)
        row += U(1)
    return end


@kernel("i64(u64,u64,u64,i64,u64,i64,u64)")
def replay_game(p, o, played, count, out, least, stats):
    """The canonical positions of a game from (p, o) on, 16 bytes each at ``out``, the first one included.

    ``played`` holds ``count`` squares, a byte each (64: a pass); forced passes that are left out are put in. It ends
    before positions of fewer than ``least`` empty squares. ``stats``: + 0 the number of positions. Answers the number
    (from 0) of an illegal move, before which it ends, or -1.
    """
    at = out
    canonical(p, o, at)
    k = U(0)
    illegal = -1
    while k < i2u(count):
        move = ldu8(played + k)
        legal = moves(p, o)
        if legal == U(0) and moves(o, p):
            p, o = o, p
            legal = moves(p, o)
            at += U(16)
            canonical(p, o, at)
            if move == PASS:
                k += U(1)
                continue
        if move > U(63) or (legal >> (move & U(63))) & U(1) == U(0):
            illegal = u2i(k)
            break
        if 64 - popc(p | o) <= least:
            break
        f = flip(move, p, o)
        p, o = o ^ f, p | f | bit(move)
        at += U(16)
        canonical(p, o, at)
        k += U(1)
    st64(stats, ((at - out) >> U(4)) + U(1))
    return illegal
