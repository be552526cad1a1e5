"""Lines of Edax's text form: reading with every check; and what the readers of all formats share."""

from desdaemon.book.layout import (
    CENTRE,
    CENTRE_EMPTY,
    IMPORT_BYTE,
    IMPORT_LEAST_EMPTIES,
    IMPORT_LEVELS,
    IMPORT_PASSES,
    IMPORT_REASON,
    IMPORT_REPEATED,
    MAX_LEVEL,
    MAX_SCORE,
    NO_LEVEL,
    NO_MOVE,
    NO_SCORE,
    NOT_CANONICAL,
    OVERLAP,
    PASS,
)
from desdaemon.engine.compiler.jit import kernel
from desdaemon.engine.kernels.bits import (
    U,
    bit,
    canonical,
    canonical_symmetry,
    final_score,
    i2u,
    ld64,
    lds64,
    ldu8,
    moves,
    popc,
    st64,
    stack_buf,
    sts64,
    u2i,
)

from .graph import prefetch_key
from .records import (
    opponent_of,
    player_of,
    set_leaf,
    set_level,
)
from .table import insert_row, row_at

PACKED_OPPONENT = 8
"""Offset of the other side's discs in a record of Edax's and Egaroucid's files, which begins with the mover's."""

# Discs of a board in text (`text_load`'s ``discs``) and other characters.
FIRST = 1
SECOND = 2
BLANK = 32
COMMA = 44
MINUS = 45
NEWLINE = 10
RETURN = 13
DIGIT_0 = 48
LETTER_A = 65
LETTER_P = 80

MOST_LINE = 96
"""Most bytes that are read of a line; a well-formed one has at most 79 characters."""
LINE_SIDE = 65
"""Offset of the side to move in a line, after 64 squares and a blank; a comma and the level follow."""
LINE_BATCH = 32
# The words that `text_line` writes.
LINE_LEVEL = 16
LINE_MOVE = 24
LINE_SCORE = 32
LINE_AT = 40
LINE_BYTES = 48
BATCH_BYTES = LINE_BATCH * LINE_BYTES
NO_NUMBER = 1000


@kernel("u64(u64)", inline=True)
def word_at(address):
    """Return the 64-bit word at an address that need not be aligned."""
    word = U(0)
    k = U(8)
    while k > U(0):
        k -= U(1)
        word = (word << U(8)) | ldu8(address + k)
    return word


@kernel("u64(u64)", inline=True)
def packed_player(address):
    """Return the mover's discs in a file's record, whose address need not be aligned."""
    return word_at(address)


@kernel("u64(u64)", inline=True)
def packed_opponent(address):
    """Return the other side's discs in a file's record, whose address need not be aligned."""
    return word_at(address + U(PACKED_OPPONENT))


@kernel("u64(u64)", inline=True)
def half_at(address):
    """Return the 32-bit word at an address that need not be aligned."""
    return (
        ldu8(address)
        | (ldu8(address + U(1)) << U(8))
        | (ldu8(address + U(2)) << U(16))
        | (ldu8(address + U(3)) << U(24))
    )


@kernel("void(u64,i64,u64)", inline=True)
def set_word(out, number, value):
    """Store ``value`` in the word ``number`` (IMPORT_...) of an importing kernel's output."""
    st64(out + (i2u(number) << U(3)), value)


@kernel("u64(u64,i64)", inline=True)
def word_of(out, number):
    return ld64(out + (i2u(number) << U(3)))


@kernel("i64(u64,i64,i64)", inline=True)
def at_fault(out, byte, fault):
    """Return ``fault``, after storing ``byte``, the place of the fault in its record, as IMPORT_BYTE in ``out``."""
    sts64(out + U(8 * IMPORT_BYTE), byte)
    return fault


@kernel("i64(u64,u64)")
def check_board(p, o):
    """Return the fault of a record's board: OVERLAP, CENTRE_EMPTY or NOT_CANONICAL, 0 for none."""
    key = stack_buf(16)
    if p & o:
        return OVERLAP
    if (p | o) & U(CENTRE) != U(CENTRE):
        return CENTRE_EMPTY
    canonical(p, o, key)
    if player_of(key) != p or opponent_of(key) != o:
        return NOT_CANONICAL
    return 0


@kernel("void(u64,u64,u64,i64,u64,u64)", inline=True)
def tally_import(out, p, o, level, own, other):
    """Count a new position of ``level`` in an import's result at ``out`` (from `layout.IMPORT_REASON` on).

    ``own`` and ``other`` are the masks of the legal moves of the side to move and of the other side.
    """
    empties = 64 - popc(p | o)
    if empties < u2i(word_of(out, IMPORT_LEAST_EMPTIES)):
        set_word(out, IMPORT_LEAST_EMPTIES, i2u(empties))
    if other == U(0) and own:
        set_word(out, IMPORT_PASSES + empties, word_of(out, IMPORT_PASSES + empties) + U(1))
    if (own or other) and 0 <= level <= MAX_LEVEL:
        set_word(out, IMPORT_LEVELS + level, word_of(out, IMPORT_LEVELS + level) + U(1))


@kernel("u64(u64,i64)", inline=True)
def mirrored(move, symmetry):
    """Return the image of a square under a symmetry 0..7 (`rules.transform_move`); other moves stay as they are."""
    if move > U(63):
        return move
    if symmetry & 1:
        move ^= U(7)
    if symmetry & 2:
        move ^= U(56)
    if symmetry & 4:
        move = ((move & U(7)) << U(3)) | (move >> U(3))
    return move


@kernel("i64(u64,u64)", inline=True)
def number_at(address, out):
    """Return the number of one to three digits, perhaps with a minus, at ``address``, NO_NUMBER if there is none; the
    address after it goes to ``out``.
    """
    sign = 1
    if ldu8(address) == U(MINUS):
        sign = -1
        address += U(1)
    value = 0
    digits = 0
    while digits < 4 and U(DIGIT_0) <= ldu8(address) <= U(DIGIT_0 + 9):
        value = value * 10 + u2i(ldu8(address)) - DIGIT_0
        digits += 1
        address += U(1)
    st64(out, address)
    if digits == 0 or digits == 4:
        return NO_NUMBER
    return sign * value


@kernel("i64(u64,u64,i64,i64)", inline=True)
def fits(p, o, move, score):
    """Return 1 if a position can have this leaf (a square, PASS or NO_MOVE) with this score, else 0."""
    legal = moves(p, o)
    if move == NO_MOVE:
        if score == NO_SCORE:
            return 1
        over = legal == U(0) and moves(o, p) == U(0)
        return 1 if over and score == final_score(p, 64 - popc(p | o)) else 0
    if score < -MAX_SCORE or score > MAX_SCORE:
        return 0
    if move == PASS:
        return 1 if legal == U(0) and moves(o, p) != U(0) else 0
    return 1 if legal & bit(i2u(move)) else 0


@kernel("i64(u64,u64)", inline=True)
def move_at(address, out):
    """Return the move at ``address``: a square, PASS ("PA"), NO_MOVE ("--"), or NO_MOVE + 1 for other characters; the
    address after it goes to ``out``.
    """
    first = ldu8(address)
    second = ldu8(address + U(1))
    st64(out, address + U(2))
    if first == U(MINUS) and second == U(MINUS):
        return NO_MOVE
    column = first & U(0xDF)
    rank = second - U(DIGIT_0 + 1)
    if first >= U(LETTER_A) and U(LETTER_A) <= column <= U(LETTER_A + 7) and rank < U(8):
        return u2i(column) - LETTER_A + 8 * u2i(rank)
    if first == U(LETTER_P) and second == U(LETTER_A):
        return PASS
    return NO_MOVE + 1


@kernel("i64(u64,u64,u64,u64)")
def text_line(line, end, discs, to):
    """Read the line at address ``line``. Returns the address after it; 0 for a line that is wrong, has an unusual form,
    or begins less than `MOST_LINE` bytes before ``end``.

    ``discs`` is the table of bytes of `text_load`. ``to`` gets the canonical board, then three words: the level,
    the leaf's move on that board, the score.
    """
    if line + U(MOST_LINE) > end:
        return 0
    p = U(0)
    o = U(0)
    strange = False
    k = U(0)
    while k < U(64):
        disc = ldu8(discs + ldu8(line + k))
        p |= (disc & U(1) & ~(disc >> U(1))) << k
        o |= ((disc >> U(1)) & ~disc & U(1)) << k
        if disc == U(0):
            strange = True
        k += U(1)
    side = ldu8(discs + ldu8(line + U(LINE_SIDE)))
    separated = ldu8(line + U(LINE_SIDE - 1)) == U(BLANK) and ldu8(line + U(LINE_SIDE + 1)) == U(COMMA)
    if strange or not separated or (side != U(FIRST) and side != U(SECOND)):
        return 0
    if side == U(SECOND):
        p, o = o, p
    level = number_at(line + U(LINE_SIDE + 2), to)
    comma = ldu8(ld64(to)) == U(COMMA)
    move = move_at(ld64(to) + U(1), to)
    comma = comma and ldu8(ld64(to)) == U(COMMA)
    score = number_at(ld64(to) + U(1), to)
    after = ld64(to)
    if ldu8(after) == U(RETURN):
        after += U(1)
    good = comma and ldu8(after) == U(NEWLINE) and 0 <= level <= MAX_LEVEL and (p | o) & U(CENTRE) == U(CENTRE)
    if not good or move > NO_MOVE or fits(p, o, move, score) == 0:
        return 0
    canonical(p, o, to)
    sts64(to + U(LINE_LEVEL), level)
    st64(to + U(LINE_MOVE), mirrored(i2u(move), canonical_symmetry(p, o)))
    sts64(to + U(LINE_SCORE), score)
    return u2i(after + U(1))


@kernel("i64(u64,u64,i64,i64,u64,u64)")
def text_load(ctx, data, start, size, discs, out):
    """Insert the positions of whole lines from byte ``start`` on of the ``size`` bytes at ``data``. Returns the byte
    where it stopped.

    ``discs`` has for each byte value FIRST for a disc of the first side, SECOND for one of the second, 3 for an empty
    square, else 0. ``out`` gets the words from `layout.IMPORT_REASON` on; that is also 0 if it stopped at a line that
    is unusual, wrong, or near the end. Of repeated positions the first is kept.
    """
    # Some lines are read before the first is inserted, while their prefetches arrive.
    batch = stack_buf(BATCH_BYTES)
    line = data + i2u(start)
    end = data + i2u(size)
    set_word(out, IMPORT_REASON, U(0))
    while True:
        count = U(0)
        odd = False
        while count < U(LINE_BATCH) and not odd:
            to = batch + count * U(LINE_BYTES)
            after = text_line(line, end, discs, to)
            if after:
                prefetch_key(ctx, player_of(to), opponent_of(to))
                st64(to + U(LINE_AT), line)
                line = i2u(after)
                count += U(1)
            else:
                odd = True
        k = U(0)
        while k < count:
            source = batch + k * U(LINE_BYTES)
            p = player_of(source)
            o = opponent_of(source)
            level = lds64(source + U(LINE_LEVEL))
            score = lds64(source + U(LINE_SCORE))
            answer = insert_row(ctx, p, o)
            if answer < 0:
                set_word(out, IMPORT_REASON, i2u(answer))
                return u2i(ld64(source + U(LINE_AT)) - data)
            k += U(1)
            if answer & 1 == 0:
                set_word(out, IMPORT_REPEATED, word_of(out, IMPORT_REPEATED) + U(1))
                continue
            row = row_at(ctx, i2u(answer >> 1))
            set_level(row, level)
            set_leaf(row, lds64(source + U(LINE_MOVE)), score, NO_LEVEL if score == NO_SCORE else level)
            tally_import(out, p, o, level, moves(p, o), moves(o, p))
        if odd:
            return u2i(line - data)
