"""The memory that kernels and Python share: offsets, sizes and special values, each written here alone.

Plain data: kernels read it while they are compiled, and a search with compiled code from the cache must not load the
compiler. Offsets and sizes are bytes unless a name says otherwise. The digest of the compiled code includes this file.
"""

from desdaemon.protocol.othello.selectivity import Selectivity

WORD = 8

# A thread's context: 64-bit words, 0 until `engine.search` and `engine.team` set them.
NODES = 0
"""Nodes visited so far."""
TABLE = 8
"""Address of the transposition table, buckets of `BUCKET_ENTRIES` entries, shared by the threads of a search."""
TABLE_MASK = 16
"""Number of buckets of the transposition table, minus one."""
EDGES = 24
"""Address of the table of stable edges (`kernels.stability.fill_edge_table`)."""
WEIGHTS = 32
"""Address of linear weights (`kernels.evaluate`)."""
STOP = 40
"""Address of the word that ends the search when it is not 0."""
DATE = 48
"""Date of new table entries: each search adds 1, and 1 follows `LAST_DATE`. Entries of the most dates ago are replaced
first.
"""
BEST = 56
"""Best move of the last node that has tried its moves, after a search the root's; NO_MOVE if it has none,
`context.ANSWERED` if its result is another thread's.
"""
NODE_LIMIT = 64
"""Visited nodes at which this thread draws more of the team's nodes (`TEAM_NODES`) or, alone, sets the stop word."""
TEAM = 72
"""Address of the words of the threads that search together (`TEAM_...`); 0 for a thread that searches alone."""
PROBCUT_TABLE = 80
"""Address of the table of `desdaemon.engine.probcut`."""
PV_TABLE = 88
"""Address of the small table of results of open-window nodes, from which principal variations are read."""
PV_TABLE_MASK = 96
"""Number of buckets of the table at `PV_TABLE`, minus one."""
SWITCHED_OFF = 104
"""Bits (`OFF_ETC`, `OFF_EVALUATION`) that switch off parts of the search, for tests."""
SALT = 112
"""XORed with all keys, so that a new salt hides all old entries; its low half is 0, so that boards keep their buckets.
"""
LOCAL_TABLE = 120
"""Address of the thread's own table, for results of the exact solver (`kernels.endgame`) with up to
`LOCAL_TABLE_EMPTIES` empties.
"""
LOCAL_TABLE_MASK = 128
"""Number of buckets of the thread's own table, minus one."""
CURVE = 136
"""Address of the tables of `desdaemon.engine.evaluation.curve`."""
SAMPLES = 144
"""Address of a sample of nodes where ProbCut is tried (`kernels.midgame.sample`); 0 for none."""

NETWORK = 232
"""Address of a network (`kernels.evaluate`), which is used instead of linear weights; 0 for none."""

UNWIND = 152
"""0, or the target of the thread's return: the number, from 1, of a node on its `PATH`, or `UNWIND_ALL` for the whole
search.

While it is not 0, no value that a node returns may be compared or stored.
"""
CHECK_AT = 160
"""Visited nodes at which `kernels.context.checkpoint` is called, for the node limit or the end of a virtual turn."""
THREAD = 168
"""The number of the thread; 0 is the leader."""
JOB = 176
"""The number of the shared search that the thread takes part in."""
SHARE_FROM = 184
"""Least depth of shared nodes; `NEVER_SHARED` outside a shared search."""
EPOCH_SEEN = 192
"""`TEAM_EPOCH` when the thread last checked its `PATH`."""
PATH_LENGTH = 200
"""Number of shared nodes on the thread's `PATH`."""
HOOK = 208
"""Address of a C function i64(i64 reason, i64 thread) to wait or wake others; the reasons are `HOOK_...`."""
SPINS = 216
"""Number of polls while waiting before the thread calls the hook; 0 if the threads are virtual and have turns."""
EXPECTED = 224
"""The kind, `CUT_NODE` or `ALL_NODE`, that the caller expects the next null-window node of a shared search to be."""
LEAVE = 512
"""Not 0 if a helper must leave its team. Other threads write it: it has a cache line of its own."""
PATH = 1024
"""The shared nodes that the thread is in, from the root down, five words each: bucket, key, draft, alpha, beta."""
PATH_BYTES = 40
PATH_CAPACITY = 64
"""Most nodes of a path.

Depths fall from node to node, from 60 at the root; only internal iteration searches a board to the same depth again, at
most three times on a path.
"""

PV_NODE, CUT_NODE, ALL_NODE = range(3)
"""Kinds of nodes of a shared search: open window; expected to fail high by the first move; expected to search all
moves.

D. Knuth and R. Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6(4), 1975.
"""

UNWIND_ALL = 1 << 32
NEVER_SHARED = 127

CONTEXT_BYTES = 4096
"""Bytes of a context: a page, so that no two threads write to one cache line."""

# The words of a team. Those that different threads write are 128 bytes apart, since processors fetch pairs of lines.
TEAM_OPEN = 0
"""The number of the running shared search, 0 for none."""
TEAM_EPOCH = 8
"""Incremented whenever a thread has finished a shared node, or the whole search."""
TEAM_ACTIVE = 128
"""Number of helpers in the shared search."""
TEAM_SLEEPERS = 256
"""Number of helpers that sleep in the hook."""
TEAM_NODES = 384
"""Number of nodes of the limit that threads have drawn."""
TEAM_NODE_LIMIT = 392
"""The node limit of all threads together; all bits set for no limit."""
TEAM_PORTION = 400
"""Nodes that a thread draws at once."""
TEAM_CLAIMED = 512
"""Number of threads that have finished the root; the first gives the result."""
TEAM_SCORE = 520
TEAM_BEST = 528
TEAM_ROOT = 640
"""The arguments of `kernels.interface.search_root` after the context, a word each, which the leader writes."""
TEAM_SHARE_FROM = 704
"""Least depth of nodes that are shared."""
TEAM_BUSY = 4096
"""`BUSY_WORDS` words that mark searches under way and vain tries of ProbCut (`kernels.context.mark_busy`), in groups of
`BUSY_WAYS`.
"""
BUSY_WORDS = 1 << 15
BUSY_WAYS = 4
TEAM_BYTES = TEAM_BUSY + BUSY_WORDS * WORD

HOOK_TURN, HOOK_SLEEP, HOOK_WAKE, HOOK_WAIT = range(4)
"""Reasons to call the hook: a virtual turn is over; a helper has no search to enter; the leader opens a search while
helpers sleep; the leader waits for helpers to leave its search.
"""

OFF_ETC, OFF_EVALUATION = 1, 2
"""Bits at `SWITCHED_OFF`: no enhanced transposition cutoffs; no evaluation in move ordering."""

# Transposition tables.
ENTRY_BYTES = 16
BUCKET_ENTRIES = 4
BUCKET_BYTES = BUCKET_ENTRIES * ENTRY_BYTES
LAST_DATE = 255
SELECTIVITY_BIAS = 64
"""Added to the selectivity index in an entry."""
PV_TABLE_BUCKETS = 1 << 13
LOCAL_TABLE_BUCKETS = 1 << 12
"""Buckets of a thread's own table, few enough to stay in the processor's cache."""
LOCAL_TABLE_EMPTIES = 11
SIX_BOUNDS = LOCAL_TABLE_BUCKETS * BUCKET_BYTES
"""The words of bounds with 6 empties (`kernels.endgame.solve6`), behind the buckets of the thread's own table."""
SIX_BOUNDS_NUMBER = 1 << 12
LOCAL_TABLE_BYTES = SIX_BOUNDS + SIX_BOUNDS_NUMBER * WORD

# Values.
NO_MOVE = 64
"""Stands for no move where a square is expected."""
INFINITE = 127
"""More than any score."""
EXACT = int(Selectivity.FULL.index)
"""The selectivity index of a search without ProbCut."""

# The table of `desdaemon.engine.probcut`, signed 16-bit numbers: `PROBCUT_DEPTHS` rows of `PROBCUT_ROW` for searches
# that end before the game does, as many for searches to the end, `PROBCUT_FACTORS` margins of each kind, and the
# factors of errors before the end by empties, in 2**-`PROBCUT_ONE_BITS`. Errors and margins are in
# 2**-`PROBCUT_UNIT_BITS`.
PROBCUT_DEPTHS = 64
PROBCUT_ROW = 4
PROBCUT_FACTORS = 8
PROBCUT_UNIT_BITS = 7
PROBCUT_ONE_BITS = 12

SAMPLED = 8
"""Number of nodes that a sample (`SAMPLES`) keeps of each class."""

# The score curve: `CURVE_STEPS` bytes, whole discs for each step of a sum, then as many 16-bit numbers and one more,
# in 128ths of a disc, at the steps' borders. A step is 1 << `CURVE_STEP_BITS` 128ths of a disc.
CURVE_STEPS = 1024
CURVE_STEP_BITS = 4

# Expanded linear weights: `PLIES` rows of the tables end to end, a byte a weight, in eighths of a disc; the constant,
# 16 bits, in 128ths of a disc; then room for a reader of 32 bits, to a multiple of 32 bytes.
PLIES = 61
WEIGHTS_TABLE_BYTES = 454_896
"""Configurations of all patterns' tables; `kernels.evaluate` checks the number against the patterns."""
WEIGHTS_ROW_BYTES = (WEIGHTS_TABLE_BYTES + 4 + 31) // 32 * 32

# An expanded network: `PLIES` heads, then for each band of plies a table of `LANES` bytes a configuration. A head has
# the biases and the factors of the lanes, 16 bits each, the constant, 32 bits, and the distance in bytes from the head
# to the table of its ply's band.
LANES = 32
LINEAR_LANES = 2
"""Number of the first lanes, which are linear: a band's plies share their weights, but each has its own factors."""
HEAD_FACTORS = 2 * LANES
HEAD_CONSTANT = HEAD_FACTORS + 2 * LANES
HEAD_TABLE = HEAD_CONSTANT + 8
HEAD_BYTES = (HEAD_TABLE + WORD + 31) // 32 * 32
HEADS_BYTES = (PLIES * HEAD_BYTES + 63) // 64 * 64
NETWORK_TABLE_BYTES = LANES * WEIGHTS_TABLE_BYTES
HIDDEN_ONE = 128
"""Upper limit of a hidden lane, standing for 1."""
LINEAR_MOST = 511
"""Limit of a linear lane, in eighths of a disc."""
LINEAR_SCALE = 64
"""Factor of a linear lane, where a hidden lane is squared."""
NETWORK_SHIFT = 15
"""Bits by which the sum of lanes times factors, and the constant, are more precise than 1/128 disc."""

# A record of `kernels.short_searches`. Arguments: boards, plies (the empties or more: to the end), selectivity index.
SHORT_PLAYER = 0
SHORT_OPPONENT = 8
SHORT_DEPTH = 16
SHORT_SELECTIVITY = 24
# Results: the score in discs for ``SHORT_PLAYER``, nodes of all iterations and of the last one, length and moves of the
# line, a byte a move, `NO_MOVE` for a pass. The length is 0 if the search was not finished.
SHORT_SCORE = 32
SHORT_NODES = 40
SHORT_LINE_NODES = 48
SHORT_LENGTH = 56
SHORT_LINE = 64
SHORT_LINE_MOST = 64
SHORT_BYTES = SHORT_LINE + SHORT_LINE_MOST

# A record of `kernels.lines`. Arguments: boards, number of moves, and at the end the moves, two letters each.
PLAYED_PLAYER = 0
PLAYED_OPPONENT = 8
PLAYED_LENGTH = 16
# Results: the boards after the moves in place of those before; 1 if the game is over, 0 if not, -1 if the moves cannot
# be played; the canonical boards and the symmetry that leads to them.
PLAYED_OVER = 24
PLAYED_CANONICAL_PLAYER = 32
PLAYED_CANONICAL_OPPONENT = 40
PLAYED_SYMMETRY = 48
PLAYED_TEXT = 56
PLAYED_BYTES = PLAYED_TEXT + 2 * 60
