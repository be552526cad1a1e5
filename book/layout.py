"""The memory that the book's kernels and Python share: offsets, sizes and special values, each written here alone.

Plain data: kernels read it while they are compiled, and a book with compiled code from the cache must not load the
compiler. Offsets and sizes are bytes unless a name says otherwise; the docstring of an offset describes what lies
there. The digest of the compiled code includes this file.
"""

from desdaemon.engine.layout import WORD as WORD
from desdaemon.protocol.othello.rules import CENTRE as CENTRE
from desdaemon.protocol.othello.rules import PASS as PASS
from desdaemon.protocol.othello.selectivity import MAX_LEVEL as MAX_LEVEL

# A record: the position, four path counts of 32 bits, eight bytes. See book/FORMAT.md.
RECORD_BYTES = 40
PLAYER = 0
"""Discs of the side to move in canonical orientation, a1 = bit 0."""
OPPONENT = 8
COUNTS = 16
"""Wins, draws, losses, lines (`WINS` ...), 32 bits each; with the flag `WIDE` the first is a row of the wide table."""
SCORE = 32
"""The score in discs for the side to move, a signed byte; so are the bounds, the levels and the leaf's
score after it.
"""
LOWER = 33
UPPER = 34
LEVEL = 35
LEAF_MOVE = 36
"""An unsigned byte: a square or `PASS`; `NO_MOVE` and above stand for no move."""
LEAF_SCORE = 37
LEAF_LEVEL = 38
FLAGS = 39

WINS, DRAWS, LOSSES, LINES = range(4)
"""The order of the path counts."""
WIDE_COUNTS_BYTES = 32
"""Bytes of a row of the wide table: four counts of 64 bits."""
RESULT_BYTES = 24
"""Bytes of a position's game results: games won, drawn and lost, as doubles."""

HUMAN = 1
"""Flag: the score was set by hand. Negamax, merges and imports leave such a score as it is."""
WIDE = 2
"""Flag of a record in memory: a count is 2^32 or more, and all four are in the wide table."""

EGAROUCID_LEVELS = 4
"""Flag: the levels of position and leaf come from Egaroucid's file, and are read as its program reads them."""

# Values.
NO_SCORE = -127
"""Stands for an unknown score."""
MAX_SCORE = 64
MAX_BOUND = 127
"""Largest bound, which fits a byte; scores are at most 64, so a larger margin would say nothing more."""
NO_MOVE = 65
NOT_IN_BOOK = 0xFFFFFFFFFFFFFFFF
"""Stands for a board outside the book in the result of `list_scores`."""
KEPT, GONE, GONE_BY_HAND = 1, 0, 2
"""Kinds of rows for `list_lost`: one stays; one goes; one goes, and its score rests on a score set by hand."""
KEEPS_LEAF = 255
"""Stands for the move in a note of `list_lost` if the position keeps the leaf that it has."""
NO_LEVEL = -1
"""The level of a score of unknown origin, Egaroucid's undefined level."""
HUMAN_LEVEL = 70
"""The level of a score set by hand, which outranks every search."""
SQUARES = 65
"""Length of arrays by 0 to 64 empty squares."""
SOLVED, READ, GUESSED = 1, 2, 4
"""Bits of a grade: an end of a good line is solved, read to the end with selectivity, or neither."""
LEVELS = 129
"""Length of arrays by level, from `NO_LEVEL` on."""

# A table's context: 64-bit words, most of them addresses.
CHUNKS = 0
"""Address of the addresses of the chunks of records."""
COUNT = 8
"""Number of rows in use."""
SEGMENTS = 16
"""Address of the index segments' descriptors."""
WIDE_TABLE = 24
"""Address of the wide table."""
WIDE_COUNT = 32
"""Number of rows of the wide table in use."""
WIDE_CAPACITY = 40
ROW_CAPACITY = 48
"""Number of rows for which there are chunks."""
FULL = 56
"""Result of `insert_row`: the number of the segment that must grow before it can continue."""
RESULTS = 64
"""Address of the addresses of the chunks of game results; 0 if there are none."""
GUARD = 72
"""Address of the guard of a mapped file; 0 if nothing has to be verified."""
PACKED = 80
"""Address of the words of a packed file below the table (`PACKED_PAGES` ...); 0 if there is none."""
CONTEXT_WORDS = 16

CHUNK_BITS = 14
"""Logarithm (base 2) of the rows of a chunk."""
SEGMENT_BITS = 10
"""Logarithm (base 2) of the number of segments; the top bits of a hash choose one."""

# A segment's descriptor.
SEGMENT_BYTES = 32
SEGMENT_TAGS = 0
"""Address of the tags: a byte for each slot, 0 if the slot is free."""
SEGMENT_ROWS = 8
"""Address of the slots' 32-bit row numbers."""
SEGMENT_CAPACITY = 16
SEGMENT_USED = 24

LISTED_BYTES = 4
"""Bytes of a row number in a list of rows, such as a segment's slots or an order."""

# The words that `insert_records` writes.
INSERTED_REASON = 0
"""0 if all records were inserted, else an answer of `insert_row`."""
INSERTED_KNOWN = 8
"""Number of positions that were in the table already."""
INSERTED_WORDS = 2

# Answers of `insert_row` that ask the caller to grow the table.
SEGMENT_FULL = -1
CHUNK_MISSING = -2

# The guard of a mapped file (`memory/blocks.py`): words.
GUARD_FIRST = 0
"""Address of the first byte under a checksum."""
GUARD_END = 8
"""Address after the last byte under a checksum."""
GUARD_SHIFT = 16
"""Logarithm (base 2) of the size of a block in bytes."""
GUARD_STATES = 24
"""Address of a byte for each block: `UNCHECKED`, `CHECKED` or `DAMAGED`."""
GUARD_SUMS = 32
"""Address of the blocks' 32-bit checksums."""
GUARD_TABLES = 40
"""Address of the eight tables of CRC-32."""
GUARD_NEXT = 48
"""The lock of `check_block`: the number of tickets given out."""
GUARD_SERVED = 56
"""The ticket that is being served."""
GUARD_DAMAGED = 64
"""Number of the first block found to be damaged, plus 1; 0 for none."""
GUARD_RECORDS_END = 72
"""Address after the last record; the first record lies at GUARD_FIRST."""
GUARD_RESULTS = 80
"""Address of the first game result, then the one after the last; they are equal if there are no results."""
GUARD_RESULTS_END = 88
GUARD_WORDS = 12

MOST_GAMES = 0x4340000000000000
"""The bits of 2^53 as a double, the most games of a result."""
MINUS_ZERO = 1 << 63
"""The bits of -0 as a double."""

UNCHECKED, CHECKED, DAMAGED = range(3)
"""The states of a block."""

# Filters of look-ups: for every number of empty squares two words.
FILTER_BYTES = 16
FILTER_BITS = 0
"""Address of a bit array for the rows with this number of empty squares; 0 if there are no such rows, 1 if there are,
but no bits for them.
"""
FILTER_MASK = 8
"""Number of bits, a power of 2, minus 1; 0 if there are no bits, so that any position may be in the book."""
MOST_FILTERED = 1 << 22
"""Most rows with one number of empty squares for which there are bits: more bits would not stay in a cache."""
DENSE_LAYER = 3
"""A layer with this many times the rows of the layer with one empty square more is dense: bits would only cost time."""
FILTER_BITS_PER_ROW = 16

# Faults of a leaf.
OPEN = 1
"""The leaf has no move or no score though a move or forced pass leads out of the book, or a finished game has none."""
LINKED = 2
"""The leaf's move leads into the book."""
ILLEGAL = 3
"""The leaf is not a legal move."""
SURPLUS = 4
"""The leaf is a score without a move, in a position that is not finished."""

# Bits of the faults that `inspect_rows` finds in a row.
BAD_BOARD = 1
"""The board is impossible or not canonical."""
NOT_FOUND = 2
"""A look-up of the board does not find the row."""
BAD_NUMBERS = 4
"""The score or the level is out of range, or the human mark contradicts the level."""

# Kinds of positions.
MUST_PASS = 1
"""Only the other side has a move."""
FINISHED = 2
"""Neither side has a move."""
OTHER_PASSES = 4
"""Only the side to move has a move."""

# The arguments of `negamax_rows`: words of its block, and bits of its rule.
NEGAMAX_CHANGED = 0
"""Result: the number of rows whose score or bounds changed; when checking, of rows that are wrong."""
NEGAMAX_FLAGS = 8
"""Address of a byte for each place in the order, set to 1 if score, bounds or counts changed; 0 for no flags."""
NEGAMAX_TALLY = 16
"""Address of a tally to add counts to (`TALLY_WORDS`); 0 for no tally."""
NEGAMAX_FAULTS = 24
"""Address of a byte for each place in the order, set to the fault of its leaf (`OPEN` ...); 0 to note no faults."""
NEGAMAX_WORDS = 4
RULE_EGAROUCID = 1
"""Only links count; a position without links keeps its score; lines count positions."""
RULE_CHECK_ONLY = 8
"""Nothing is stored; differences are only counted."""
MARGIN_BYTES = 6
"""Bytes of a margin, 16 bits each: what a leaf's two bounds add to its score, and whether the score is exact."""

LAYERS = 130
"""Number of layers; a layer is twice the empty squares, + 1 if the mover must pass, and falls along every link."""

# Counts of a whole book: words, `SQUARES` of each kind by empty squares, then 256 each by level and by score, + 128.
TALLY_POSITIONS, TALLY_LINKS, TALLY_LEAVES, TALLY_FINISHED = range(4)
TALLY_KINDS = 4
TALLY_LEVELS = TALLY_KINDS * SQUARES
TALLY_SCORES = TALLY_LEVELS + 256
TALLY_WORDS = TALLY_SCORES + 256
TALLY_BIAS = 128

# The arguments of `select_rows` and `select_below`: words.
SELECT_MODE = 0
SELECT_TOLERANCE = 8
"""Discs that each side may lose, two words."""
SELECT_LOW = 24
"""DEVIATE looks only at scores from `SELECT_LOW` to `SELECT_HIGH`: in each two words, for the side of mark 1 and for
the other.
"""
SELECT_HIGH = 40
SELECT_LEAST = 56
"""Least number of empty squares of a position whose leaf may be grown."""
SELECT_MARGINS = 64
"""Address of the margins of leaves (`negamax.margins_of`)."""
DEVIATE, ENHANCE, PLAY, EXTEND = range(4)
"""Modes of `select_rows`."""
EXPAND = 64
"""Mark of a row whose leaf is to be added."""
WALK_STACK_WORDS = 1 << 14
"""Words of the stack of `select_below`: more than the rows of a line times their legal moves."""

# The words of `list_parents`: by direction, the most discs that a move may have turned, and `RUN_MASKS` masks of them.
RUN_DIRECTIONS = 8
RUN_LENGTHS_BYTES = RUN_DIRECTIONS * WORD
RUN_MASKS = 8
"""Number of masks for a direction: of the first 0 to 7 discs of its run."""
RUN_MASKS_BYTES = RUN_DIRECTIONS * RUN_MASKS * WORD

UNDEFINED_SCORE = -126
UNDEFINED_MOVE = 125
"""Score and move of a leaf that some programs write in place of none."""

# Faults of a record in a file.
(
    CUT,
    OVERLAP,
    CENTRE_EMPTY,
    NOT_CANONICAL,
    BAD_SCORE,
    BAD_LEVEL,
    TOO_MANY_LINKS,
    BAD_LINK,
    LINK_TWICE,
    BAD_LINK_SCORE,
    BAD_LEAF,
    BAD_LEAF_SCORE,
    BAD_LEAF_LEVEL,
    LEAF_LINKED,
) = range(1, 15)

# The words that importing kernels write.
IMPORT_REASON = 0
"""0 if everything was read, `SEGMENT_FULL`, `CHUNK_MISSING`, or the fault of the record where reading stopped."""
IMPORT_BYTE = 1
"""The place of the fault in the record, in bytes."""
IMPORT_REPEATED = 2
"""Number of repeated positions."""
IMPORT_LEAST_EMPTIES = 3
IMPORT_LEVELS = 4
"""Numbers of unfinished positions by level, 0 to `MAX_LEVEL`, a word each."""
IMPORT_PASSES = IMPORT_LEVELS + MAX_LEVEL + 1
"""Numbers of positions in which the other side could not move, by 0 to 64 empty squares, a word each."""
IMPORT_WORDS = IMPORT_PASSES + SQUARES

# A packed file (book/packed/): pages of positions, then a directory with the key of each page's first position. A key
# is the occupied squares and the mover's discs, two words in the order of squares `PACKED_SQUARES`.
PACKED_PAGE = 4096
PACKED_KEY_BYTES = 16
PACKED_SQUARES = tuple(
    column + 8 * row
    for squares in (
        "d4 e4 d5 e5 a1 h1 a8 h8 b2 g2 b7 g7 b1 g1 a2 h2 a7 h7 b8 g8 c1 f1 a3 h3 a6 h6 c8 f8 d1 e1 a4 h4 a5 h5 d8 e8",
        "b3 g3 b6 g6 c2 f2 c7 f7 b4 g4 b5 g5 d2 e2 d7 e7 c3 f3 c6 f6 c4 f4 c5 f5 d3 e3 d6 e6",
    )
    for column, row in ((ord(name[0]) - 97, int(name[1]) - 1) for name in squares.split())
)
"""The squares from a word's highest bit to its lowest. Those in which a book's positions differ least come first, so
that neighbours differ in the low bits.
"""

# A page: its checksum, the number of positions, the byte where their fields begin, the occupied squares of the first, a
# byte each for the least value and the number of bits of each field; then the keys, then the fields.
PACKED_CRC = 0
PACKED_COUNT = 4
PACKED_FIELDS_AT = 6
PACKED_FIRST = 8
PACKED_LEAST = 16
PACKED_WIDTHS = 24
PACKED_KEYS = 32
PACKED_FIELDS = 8
"""Number of fields: the last bytes of a record, from SCORE on."""
PACKED_BITS = 8 * (PACKED_PAGE - 24)
"""Bits of a page in use: a word read at any of them lies in the page."""
PACKED_LENGTH_BITS = 6
"""Bits that say how long the difference of two keys' occupied squares is."""
PACKED_WHOLE = 63
"""Stands for the length of a difference of 63 bits and more, which is written whole."""
PACKED_OTHER_LEAF = 66
"""Stands for NO_MOVE where score or level of the leaf are not those of a missing leaf."""
PACKED_ROW_BITS = 10
PACKED_MOST = (1 << PACKED_ROW_BITS) - 1
"""Most positions of a page."""
PACKED_ROW = 1 << 40
"""Added to the row of a position of a packed file: its page, and its number there in the low PACKED_ROW_BITS."""

# The words of an open packed file.
PACKED_PAGES = 0
"""Address of the first page."""
PACKED_NUMBER = 8
"""Number of pages."""
PACKED_DIRECTORY = 16
PACKED_STATES = 24
"""Address of a byte for each page: UNCHECKED, CHECKED or DAMAGED."""
PACKED_TABLES = 32
"""Address of the tables for checksums."""
PACKED_DAMAGED = 40
"""1 + the number of the page that was first found to be damaged; 0 for none."""
PACKED_WORDS = 6
