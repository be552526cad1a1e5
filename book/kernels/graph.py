"""Walks through the book: children, links, and the order of rows from the end of the game to the opening.

Passes over many rows look up the children of `BATCH` rows together (`gather_children`), so that the memory accesses of
the look-ups overlap. A family (`FAMILY_...`) describes a row's legal moves and links.
"""

from desdaemon.book.layout import FILTER_BITS, FILTER_BYTES, FILTER_MASK, GUARD, PASS, WORD
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    blsr,
    canonical,
    ctz,
    flip,
    i2u,
    ld64,
    lds64,
    ldu8,
    ldu32,
    moves,
    popc,
    prefetch,
    st8,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .packed import known_row
from .records import empties_of, opponent_of, player_of
from .table import (
    capacity_of,
    find_row,
    first_slot,
    found_at,
    hash_of,
    insert_row,
    list_row,
    listed_row,
    place_of,
    prefetch_row,
    row_at,
    row_place,
    segment_of,
    tags_of,
)

BATCH = 8
"""Number of rows whose children are looked up together."""

# A family describes a row's children: words, then the links by rising move, `LINK` bytes each. During the look-up the
# children stand in place of the links, `CHILD` bytes each: board, and hash or index slot.
FAMILY_CHILDREN = 0
"""Number of children that were looked up."""
FAMILY_LEGAL = 8
"""Mask of the legal moves. If it is 0 the pass is the only child, or, without a child, the game is over."""
FAMILY_LINKED = 16
"""Mask of the moves that are links."""
FAMILY_COUNT = 24
"""Number of links, a pass included."""
FAMILY_LINKS = 32
CHILD = 24
CHILD_PLACE = 16
NOT_THERE = 1
"""Stands instead of a hash or an index slot for a child that is not in the book."""
FILTER_SHIFT = 20
"""First bit of a hash that chooses the bit of a filter."""
FAMILY = FAMILY_LINKS + 64 * CHILD
FAMILIES = BATCH * FAMILY

LINK = 16
"""Bytes of a link in a list: move and row, 64 bits each. A list takes the place of its children and is never longer."""
LINK_ROW = 8
BOARD = 16
"""Bytes of a board in a list."""
MOST_LINKS = 64 * LINK


@kernel("u64(u64)", inline=True)
def child_count(family):
    """Return the number of a family's children that were looked up."""
    return ld64(family + U(FAMILY_CHILDREN))


@kernel("u64(u64)", inline=True)
def legal_of(family):
    """Return a mask of the legal moves in the position of a family."""
    return ld64(family + U(FAMILY_LEGAL))


@kernel("u64(u64)", inline=True)
def linked_of(family):
    """Return a mask of the moves that are links."""
    return ld64(family + U(FAMILY_LINKED))


@kernel("u64(u64)", inline=True)
def link_count(family):
    """Return the number of a family's links: moves, or the pass, that lead into the book."""
    return ld64(family + U(FAMILY_COUNT))


@kernel("u64(u64)", inline=True)
def links_of(family):
    """Return the address of a family's links, by rising move, for `link_move` and `link_row`."""
    return family + U(FAMILY_LINKS)


@kernel("i64(u64)", inline=True)
def is_finished(family):
    """Return whether the game is over in the position of a family."""
    return 1 if legal_of(family) == U(0) and child_count(family) == U(0) else 0


@kernel("u64(u64,u64)", inline=True)
def link_move(links, number):
    return ld64(links + number * U(LINK))


@kernel("i64(u64,u64)", inline=True)
def link_row(links, number):
    return lds64(links + number * U(LINK) + U(LINK_ROW))


@kernel("void(u64,u64,u64,i64)", inline=True)
def set_link(links, number, move, row):
    st64(links + number * U(LINK), move)
    sts64(links + number * U(LINK) + U(LINK_ROW), row)


@kernel("void(u64,u64)", inline=True)
def prefetch_hash(ctx, h):
    """Prefetch the index for a look-up of hash ``h``."""
    segment = segment_of(ctx, h)
    prefetch(tags_of(segment) + place_of(h, capacity_of(segment)))


@kernel("void(u64,u64,u64)", inline=True)
def prefetch_key(ctx, p, o):
    """Prefetch the index for a look-up of (p, o)."""
    prefetch_hash(ctx, hash_of(p, o))


@kernel("i64(u64,u64,i64,u64)")
def find_rows(ctx, keys, count, out):
    """Write the row of each of ``count`` canonical positions at ``keys`` to ``out``, 64 bits each, -1 if it is not in
    the book. Returns the number of those in the book.
    """
    hashes = stack_buf(256)
    slots = stack_buf(256)
    total = i2u(count)
    hits = 0
    guarded = ld64(ctx + U(GUARD)) != U(0)
    first = U(0)
    while first < total:
        # Each look-up waits for tags, row number and record: they are fetched while the other look-ups go on.
        batch = total - first
        if batch > U(32):
            batch = U(32)
        if not guarded:
            k = U(0)
            while k < batch:
                key = keys + (first + k) * U(BOARD)
                h = hash_of(player_of(key), opponent_of(key))
                st64(hashes + (k << U(3)), h)
                prefetch_hash(ctx, h)
                k += U(1)
            k = U(0)
            while k < batch:
                slot = first_slot(ctx, ld64(hashes + (k << U(3))))
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
            key = keys + (first + k) * U(BOARD)
            row = -1
            if guarded:
                row = find_row(ctx, player_of(key), opponent_of(key))
            else:
                row = found_at(ctx, ld64(slots + (k << U(3))), player_of(key), opponent_of(key))
            sts64(out + ((first + k) << U(3)), row)
            if row >= 0:
                hits += 1
            k += U(1)
        first += batch
    return hits


@kernel("i64(u64,u64,u64,u64)")
def list_children(ctx, p, o, out):
    """Write the canonical children of (p, o) to ``out``, 16 bytes each, by rising move, and prefetch their look-ups.

    Returns their number, -1 for a forced pass (one child), 0 if the game is over.
    """
    legal = moves(p, o)
    if legal == U(0):
        if moves(o, p) == U(0):
            return 0
        canonical(o, p, out)
        prefetch_key(ctx, player_of(out), opponent_of(out))
        return -1
    count = U(0)
    while legal != U(0):
        x = ctz(legal)
        legal = blsr(legal)
        f = flip(x, p, o)
        child = out + count * U(BOARD)
        canonical(o ^ f, p | f | bit(x), child)
        prefetch_key(ctx, player_of(child), opponent_of(child))
        count += U(1)
    return u2i(count)


@kernel("i64(u64,u64,u64,u64)")
def list_links(ctx, p, o, out):
    """Write every legal move, or the pass, of (p, o) with the row of its child (-1 if it is not in the book) to
    ``out``, 16 bytes each. Returns their number, 0 if the game is over. Rows of a packed file below the table are
    among them (`packed_find`).
    """
    children = stack_buf(MOST_LINKS)
    count = list_children(ctx, p, o, children)
    if count == -1:
        set_link(out, U(0), U(PASS), known_row(ctx, player_of(children), opponent_of(children)))
        return 1
    legal = moves(p, o)
    k = U(0)
    while legal != U(0):
        child = children + k * U(BOARD)
        set_link(out, k, ctz(legal), known_row(ctx, player_of(child), opponent_of(child)))
        legal = blsr(legal)
        k += U(1)
    return count


@kernel("u64(u64,i64)", inline=True)
def filter_of(filters, empties):
    return filters + i2u(empties * FILTER_BYTES)


@kernel("u64(u64,u64)", inline=True)
def filter_bit(layer, h):
    """Return the number of the bit for hash ``h`` in the filter at address ``layer``."""
    return (h >> U(FILTER_SHIFT)) & ld64(layer + U(FILTER_MASK))


@kernel("i64(u64,u64)", inline=True)
def may_be_there(layer, h):
    """Return 0 if the filter at address ``layer`` shows that no row has hash ``h``, else 1.

    A filter without bits excludes nothing.
    """
    if ld64(layer + U(FILTER_MASK)) == U(0):
        return 1
    number = filter_bit(layer, h)
    return 1 if (ldu8(ld64(layer + U(FILTER_BITS)) + (number >> U(3))) >> (number & U(7))) & U(1) else 0


@kernel("void(u64,u64)", inline=True)
def set_filter_bit(filters, record):
    """Set the bit of ``record`` in its filter, if that has bits."""
    layer = filter_of(filters, empties_of(record))
    if ld64(layer + U(FILTER_MASK)):
        number = filter_bit(layer, hash_of(player_of(record), opponent_of(record)))
        slot = ld64(layer + U(FILTER_BITS)) + (number >> U(3))
        st8(slot, u2i(ldu8(slot) | (U(1) << (number & U(7)))))


@kernel("void(u64,i64,i64,u64)")
def fill_filters(ctx, start, end, filters):
    """Set the bits of rows ``start`` to ``end`` - 1 in those of the filters at address ``filters`` that have bits."""
    row = i2u(start)
    while row < i2u(end):
        set_filter_bit(filters, row_at(ctx, row))
        row += U(1)


@kernel("void(u64,u64,u64,u64,u64,u64)")
def gather_children(ctx, order, start, end, filters, out):
    """Look up the children of the first `BATCH` of the rows ``order[start]`` to ``order[end - 1]`` together, and write
    the rows' families to ``out``.

    ``order`` is the address of a list of rows; if it is 0 the rows are ``start`` to ``end`` - 1. ``filters`` is the
    address of the filters by number of empty squares. If they say that no position of the book has one empty square
    less than a row, the row's moves are not looked up; else their bits exclude most children that the book lacks.
    """
    guarded = ld64(ctx + U(GUARD)) != U(0)
    family = out
    t = start
    stop = end
    if stop - start > U(BATCH):
        stop = start + U(BATCH)
    while t < stop:
        row = t
        if order:
            row = listed_row(order, t)
        record = row_at(ctx, row)
        p = player_of(record)
        o = opponent_of(record)
        legal = moves(p, o)
        count = U(0)
        child = family + U(FAMILY_LINKS)
        st64(family + U(FAMILY_LEGAL), legal)
        if legal == U(0):
            if moves(o, p):
                canonical(o, p, child)
                h = hash_of(player_of(child), opponent_of(child))
                st64(child + U(CHILD_PLACE), h)
                prefetch_hash(ctx, h)
                count = U(1)
        elif ld64(filter_of(filters, 63 - popc(p | o)) + U(FILTER_BITS)):
            layer = filter_of(filters, 63 - popc(p | o))
            while legal != U(0):
                x = ctz(legal)
                legal = blsr(legal)
                f = flip(x, p, o)
                canonical(o ^ f, p | f | bit(x), child)
                h = hash_of(player_of(child), opponent_of(child))
                if may_be_there(layer, h):
                    prefetch_hash(ctx, h)
                else:
                    h = U(NOT_THERE)
                st64(child + U(CHILD_PLACE), h)
                child += U(CHILD)
                count += U(1)
        st64(family + U(FAMILY_CHILDREN), count)
        family += U(FAMILY)
        t += U(1)
    if order:
        # Rows of an order lie anywhere: those of the next batch are fetched meanwhile.
        while t < end and t < start + U(2 * BATCH):
            prefetch(row_place(ctx, listed_row(order, t)))
            t += U(1)
    last = family
    family = out
    while family < last and not guarded:
        child = family + U(FAMILY_LINKS)
        over = child + child_count(family) * U(CHILD)
        while child < over:
            if ld64(child + U(CHILD_PLACE)) != U(NOT_THERE):
                slot = first_slot(ctx, ld64(child + U(CHILD_PLACE)))
                st64(child + U(CHILD_PLACE), slot if slot else U(NOT_THERE))
                prefetch(slot)
            child += U(CHILD)
        family += U(FAMILY)
    family = out
    while family < last and not guarded:
        child = family + U(FAMILY_LINKS)
        over = child + child_count(family) * U(CHILD)
        while child < over:
            if ld64(child + U(CHILD_PLACE)) != U(NOT_THERE):
                prefetch_row(ctx, ldu32(ld64(child + U(CHILD_PLACE))))
            child += U(CHILD)
        family += U(FAMILY)
    family = out
    while family < last:
        links = links_of(family)
        child = links
        over = child + child_count(family) * U(CHILD)
        legal = legal_of(family)
        linked = U(0)
        count = U(0)
        while child < over:
            place = ld64(child + U(CHILD_PLACE))
            row = -1
            if place != U(NOT_THERE):
                p = player_of(child)
                o = opponent_of(child)
                row = find_row(ctx, p, o) if guarded else found_at(ctx, place, p, o)
            if row >= 0:
                set_link(links, count, ctz(legal) if legal else U(PASS), row)
                linked |= legal & (U(0) - legal)
                count += U(1)
            legal = blsr(legal)
            child += U(CHILD)
        st64(family + U(FAMILY_LINKED), linked)
        st64(family + U(FAMILY_COUNT), count)
        family += U(FAMILY)


@kernel("u64(u64,u64,u64,u64,u64,u64,u64)", inline=True)
def family_of(ctx, order, start, t, end, filters, families):
    """Return the address of the family of row ``order[t]`` (row ``t`` if ``order`` is 0). The caller must ask for each
    ``t`` from ``start`` to ``end`` - 1 in turn.

    For every `BATCH` rows `gather_children` writes the families to ``families``, `FAMILIES` bytes.
    """
    number = (t - start) & U(BATCH - 1)
    if number == U(0):
        gather_children(ctx, order, t, end, filters, families)
    return families + number * U(FAMILY)


@kernel("i64(u64,u64)", inline=True)
def layer_of(p, o):
    """Return twice the number of empty squares, + 1 if the side to move must pass: children have a smaller layer."""
    twice = (64 - popc(p | o)) * 2
    if moves(p, o) == U(0) and moves(o, p) != U(0):
        return twice + 1
    return twice


@kernel("void(u64,i64,i64,u64)")
def count_layers(ctx, start, end, layers):
    """Count the rows ``start`` to ``end`` - 1 by layer: a row of layer n adds 1 to word n + 1 at ``layers``."""
    row = i2u(start)
    while row < i2u(end):
        record = row_at(ctx, row)
        slot = layers + (i2u(layer_of(player_of(record), opponent_of(record))) << U(3))
        st64(slot + U(WORD), ld64(slot + U(WORD)) + U(1))
        row += U(1)


@kernel("void(u64,i64,i64,u64,u64,u64)")
def place_rows(ctx, start, end, out, places, filters):
    """Append each of rows ``start`` to ``end`` - 1, 32 bits each, to its layer's part of ``out``, and set its bit in
    the filters at ``filters``.

    ``places`` holds the index in ``out`` of each layer's next row, and is updated: so rows are sorted by counting.
    """
    row = i2u(start)
    while row < i2u(end):
        record = row_at(ctx, row)
        slot = places + (i2u(layer_of(player_of(record), opponent_of(record))) << U(3))
        list_row(out, ld64(slot), row)
        st64(slot, ld64(slot) + U(1))
        set_filter_bit(filters, record)
        row += U(1)


@kernel("i64(u64,i64,i64,u64)")
def insert_children(ctx, start, end, out):
    """Add every child of rows ``start`` to ``end`` - 1 to the book. Returns the row where it stopped; ``out`` gets 0 or
    the answer of `insert_row`, for which the caller must grow the table.
    """
    children = stack_buf(MOST_LINKS)
    row = i2u(start)
    st64(out, U(0))
    while row < i2u(end):
        record = row_at(ctx, row)
        count = list_children(ctx, player_of(record), opponent_of(record), children)
        if count < 0:
            count = 1
        k = U(0)
        while k < i2u(count):
            child = children + k * U(BOARD)
            answer = insert_row(ctx, player_of(child), opponent_of(child))
            if answer < 0:
                sts64(out, answer)
                return u2i(row)
            k += U(1)
        row += U(1)
    return end


@kernel("i64(u64,u64,u64,i64,u64,i64,u64)")
def replay_game(p, o, played, count, out, least, stats):
    """Write the canonical positions of a game, 16 bytes each, to ``out``; (p, o) is the first.

    ``played`` is the address of ``count`` squares, a byte each, 64 for a pass; missing forced passes are inserted. The
    game ends before positions of fewer than ``least`` empty squares. ``stats`` gets the number of positions. Returns
    the number (from 0) of an illegal move, before which the game ends, or -1.
    """
    place = out
    canonical(p, o, place)
    k = U(0)
    illegal = -1
    while k < i2u(count):
        move = ldu8(played + k)
        legal = moves(p, o)
        if legal == U(0) and moves(o, p):
            p, o = o, p
            legal = moves(p, o)
            place += U(BOARD)
            canonical(p, o, place)
            if move == U(PASS):
                k += U(1)
                continue
        if move > U(63) or (legal >> (move & U(63))) & U(1) == U(0):
            illegal = u2i(k)
            break
        if 64 - popc(p | o) <= least:
            break
        f = flip(move, p, o)
        p, o = o ^ f, p | f | bit(move)
        place += U(BOARD)
        canonical(p, o, place)
        k += U(1)
    st64(stats, (place - out) // U(BOARD) + U(1))
    return illegal
