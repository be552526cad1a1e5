"""The memory that the kernels of the counts and Python share: offsets and sizes in bytes, each written here alone."""

from desdaemon.engine.layout import WORD

LINE_BYTES = 64
"""A line of play that a kernel has found: a byte for each move, 64 for a pass; the last byte is their number."""

GAME_PLIES = 60
FLIP_COLUMNS = 5
"""Words for each ply of `random_games`: moves there were, discs they turn, squares of these numbers, moves played, and
the discs these turned."""

# The context of `stoners_after`: the address, capacity and number of the lines found, the number of moves played before
# them, and these moves, a byte each.
STONER_LINES = 0
STONER_CAPACITY = 8
STONERS_FOUND = 16
STONER_PLAYED = 24
STONER_MOVES = 32
STONER_CONTEXT_BYTES = 128

# The context of `grow_shape`: the squares that have to be in the shape, its number of discs, the address, capacity and
# number of the shapes found, then four masks of the squares whose lines do not count as full: along the rank, the
# file, the diagonal to H8 and the one to A8.
SHAPE_SQUARES = 0
SHAPE_DISCS = 8
SHAPES = 16
SHAPES_CAPACITY = 24
SHAPES_FOUND = 32
SHAPE_JOINED = 40

# The context of `draws_of_shape`: the address of the table of dead positions (pairs of words and the shape's number),
# its slots less one, the shape's number, the address, capacity and number of the games found, the number of moves
# played, four masks as above, the number of cells, the cells, the lines of the board (mask and axis, ended by a mask of
# 0), and the moves, a byte each.
DEAD_TABLE = 0
DEAD_TABLE_MASK = 8
SHAPE_NUMBER = 16
GAMES = 24
GAMES_CAPACITY = 32
GAMES_FOUND = 40
GAME_PLAYED = 48
GAME_JOINED = 56
CELLS = 88
CELL = 96
BOARD_LINES = 608
GAME_MOVES = 1408
DEAD_SLOT_BYTES = 3 * WORD
DRAW_CONTEXT_BYTES = 2048
