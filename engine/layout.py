"""The memory that kernels and Python share: offsets, sizes and special values, each written here alone.

Plain data: kernels read it while they are compiled, and a search with compiled code from the cache must not load the
compiler. Offsets and sizes are bytes unless a name says otherwise. The digest of the compiled code includes this file.
"""

from desdaemon.protocol.othello.selectivity import Selectivity

WORD = 8

# A thread's context block: 64-bit words, zeroed by the caller, who fills in the addresses.
NODES = 0
"""Nodes visited so far."""
TABLE = 8
"""Address of the transposition table, buckets of `BUCKET_ENTRIES` entries, shared by the threads of a search."""
TABLE_MASK = 16
"""Buckets of the transposition table less one."""
EDGES = 24
"""Address of the table of stable edges (`kernels.stability.fill_edge_table`)."""
WEIGHTS = 32
"""Address of linear weights (`kernels.evaluate`)."""
STOP = 40
"""Address of the word that ends the search when it is not 0."""
DATE = 48
"""Age of new table entries, 1 to `LAST_DATE`."""
BEST = 56
"""Out: the best move of the last node that has tried its moves; after a search, of the root."""
NODE_LIMIT = 64
"""Visited nodes at which this thread draws more of the team's nodes (`TEAM_NODES`) or, alone, sets the stop word."""
TEAM = 72
"""Address of the words of the threads that search together (`TEAM_...`); 0 for a thread that searches alone."""
PROBCUT_TABLE = 80
"""Address of the table of `desdaemon.engine.probcut`."""
PV_TABLE = 88
"""Address of the small table of exact results on principal variations."""
PV_TABLE_MASK = 96
"""Its buckets less one."""
SWITCHED_OFF = 104
"""Bits (`OFF_ETC`, `OFF_EVALUATION`) that switch off parts of the search, for tests."""
SALT = 112
"""XORed with all keys; its low half is 0, so that every board keeps its bucket."""
LOCAL_TABLE = 120
"""Address of the thread's own table, for exact results with up to `LOCAL_TABLE_EMPTIES` empties."""
LOCAL_TABLE_MASK = 128
"""Its buckets less one."""
CURVE = 136
"""Address of the tables of `desdaemon.engine.evaluation.curve`."""
SAMPLES = 144
"""Address of a sample of the nodes where ProbCut is tried (`kernels.midgame.sample`); 0 for none."""

NETWORK = 232
"""Address of a network (`kernels.evaluate`), which is used instead of linear weights; 0 for none."""

UNWIND = 152
"""0, or the target of the thread's return: the node of this number on its `PATH`, `UNWIND_ALL` for the whole search.

No value that a node returns while this is not 0 may be compared or stored.
"""
CHECK_AT = 160
"""Visited nodes at which `kernels.context.checkpoint` is called: the node limit, or the end of a virtual turn."""
THREAD = 168
"""The number of the thread, 0 for the one that leads."""
JOB = 176
"""The number of the shared search that the thread takes part in."""
SHARE_FROM = 184
"""Least depth of shared nodes; `NEVER_SHARED` outside a shared search."""
EPOCH_SEEN = 192
"""`TEAM_EPOCH` when the thread last checked its `PATH`."""
PATH_LENGTH = 200
"""Number of shared nodes between the root and the thread's node."""
HOOK = 208
"""Address of a C function i64(i64 reason, i64 thread) by which a thread waits; the reasons are `HOOK_...`."""
SPINS = 216
"""Immediate retries while waiting, before the thread calls the hook."""
EXPECTED = 224
"""The expected kind of the next null-window node of a shared search, `CUT_NODE` or `ALL_NODE`; set by the caller."""
LEAVE = 512
"""Not 0 when a helper is to leave its team. Others write it: it has a cache line of its own."""
PATH = 1024
"""The shared nodes that the thread is in, from the root on: for each the words bucket, key, draft, alpha, beta."""
PATH_BYTES = 40
PATH_CAPACITY = 64
"""The most nodes of a path. Depths fall from node to node, from 60 at the root, in reduced searches of a board as
well; only internal iteration searches a board to the same depth, and a path has three of those at most.
"""

PV_NODE, CUT_NODE, ALL_NODE = range(3)
"""The kind of a node of a shared search: open window; expected to fail high by its first move; expected to have all its
moves searched. (D. Knuth and R. Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6(4), 1975.)
"""

UNWIND_ALL = 1 << 32
NEVER_SHARED = 127

CONTEXT_BYTES = 4096
"""Bytes of a context: a page of its own, so that no two threads write to one cache line."""

# The words of a team: what different threads write stands 128 bytes apart, for processors fetch pairs of cache lines.
TEAM_OPEN = 0
"""The number of the running shared search, 0 for none."""
TEAM_EPOCH = 8
"""Incremented whenever a thread has finished a shared node, or the whole search."""
TEAM_ACTIVE = 128
"""Helpers in the shared search."""
TEAM_SLEEPERS = 256
"""Helpers that wait in the hook."""
TEAM_NODES = 384
"""Nodes of the limit that threads have drawn so far."""
TEAM_NODE_LIMIT = 392
"""The node limit of all threads together; all bits for none."""
TEAM_PORTION = 400
"""Nodes that a thread draws at once."""
TEAM_CLAIMED = 512
"""Threads that have finished the root; the first has the answer."""
TEAM_SCORE = 520
TEAM_BEST = 528
TEAM_ROOT = 640
"""The arguments of `kernels.interface.search_root` after the context, a word each; written by the leader."""
TEAM_SHARE_FROM = 704
"""Least depth of nodes that are shared."""
TEAM_BUSY = 4096
"""`BUSY_WORDS` words that record the positions being searched, in groups of `BUSY_WAYS`."""
BUSY_WORDS = 1 << 15
BUSY_WAYS = 4
TEAM_BYTES = TEAM_BUSY + BUSY_WORDS * WORD

HOOK_TURN, HOOK_SLEEP, HOOK_WAKE, HOOK_WAIT = range(4)
"""Reasons for a call of the hook: the thread has used up its turn; it has no search to take part in; a search begins;
its helpers must leave it.
"""

OFF_ETC, OFF_EVALUATION = 1, 2
"""Bits at `SWITCHED_OFF`: enhanced transposition cutoffs; the evaluation in move ordering."""

# Transposition tables.
ENTRY_BYTES = 16
BUCKET_ENTRIES = 4
BUCKET_BYTES = BUCKET_ENTRIES * ENTRY_BYTES
LAST_DATE = 255
SELECTIVITY_BIAS = 64
"""Added to the selectivity index in an entry, so that one byte holds it."""
PV_TABLE_BUCKETS = 1 << 13
LOCAL_TABLE_BUCKETS = 1 << 12
"""Buckets of a thread's own table, few enough to stay in the processor's cache."""
LOCAL_TABLE_EMPTIES = 11

# Values.
NO_MOVE = 64
"""Stands for no square, in kernels."""
INFINITE = 127
"""A score beyond all scores."""
EXACT = int(Selectivity.FULL.index)
"""The selectivity index of a search without ProbCut."""

# The table of `desdaemon.engine.probcut`, in signed 16-bit numbers: `PROBCUT_DEPTHS` rows of `PROBCUT_ROW` for searches
# that end before the game does, as many for searches to the end, `PROBCUT_FACTORS` margins of each kind, and what
# errors before the end are multiplied with, by empties, in units of 1 / `PROBCUT_ONE`. Errors and margins are in
# units of 1 / `PROBCUT_UNIT`.
PROBCUT_DEPTHS = 64
PROBCUT_ROW = 4
PROBCUT_FACTORS = 8
PROBCUT_UNIT_BITS = 7
PROBCUT_ONE_BITS = 12

SAMPLED = 8
"""Nodes that a sample (`SAMPLES`) keeps of each class."""

# The score curve: `CURVE_STEPS` bytes, whole discs for each step of the size of a sum, then as many 16-bit numbers and
# one more, 128 a disc, at the steps' borders. Sums are in 128ths of a disc, 1 << `CURVE_STEP_BITS` of them to a step.
CURVE_STEPS = 1024
CURVE_STEP_BITS = 4

# Expanded linear weights: `PLIES` rows, the tables end to end, one byte a weight, 8 a disc, then the constant, 16 bits,
# 128 a disc, and enough for a reader of 32 bits, to a multiple of 32.
PLIES = 61
WEIGHTS_TABLE_BYTES = 454_896
"""Configurations of all patterns' tables; `kernels.evaluate` checks the number against the patterns."""
WEIGHTS_ROW_BYTES = (WEIGHTS_TABLE_BYTES + 4 + 31) // 32 * 32

# An expanded network: `PLIES` heads, then a table of `LANES` bytes a configuration for each band of plies. A head has
# what is added to the lanes and the factors they are multiplied with, 16 bits each, then the constant, 32 bits, and how
# far from the head the table of its ply's band is.
LANES = 32
LINEAR_LANES = 2
"""Number of the first lanes, which are linear: weights shared by all plies of the band, with factors that change with
the ply.
"""
HEAD_FACTORS = 2 * LANES
HEAD_CONSTANT = HEAD_FACTORS + 2 * LANES
HEAD_TABLE = HEAD_CONSTANT + 8
HEAD_BYTES = (HEAD_TABLE + WORD + 31) // 32 * 32
HEADS_BYTES = (PLIES * HEAD_BYTES + 63) // 64 * 64
NETWORK_TABLE_BYTES = LANES * WEIGHTS_TABLE_BYTES
HIDDEN_ONE = 128
"""Upper limit of a hidden lane, which stands for 1."""
LINEAR_MOST = 511
"""Limit of a linear lane, in eighths of a disc."""
LINEAR_SCALE = 64
"""Factor of a linear lane, in place of the squaring of a hidden one."""
NETWORK_SHIFT = 15
"""Bits by which the sum of lanes times factors, and the constant, are more precise than a 128th of a disc."""

# A record of `kernels.short_searches`. In: boards, plies (the empties or more: to the end), index of the selectivity.
SHORT_PLAYER = 0
SHORT_OPPONENT = 8
SHORT_DEPTH = 16
SHORT_SELECTIVITY = 24
# Out: the score in discs for ``SHORT_PLAYER``, nodes of all iterations and of the last one, and the moves of the line,
# a byte each, `NO_MOVE` for a pass; a length of 0 where the search was not finished.
SHORT_SCORE = 32
SHORT_NODES = 40
SHORT_LINE_NODES = 48
SHORT_LENGTH = 56
SHORT_LINE = 64
SHORT_LINE_MOST = 64
SHORT_BYTES = SHORT_LINE + SHORT_LINE_MOST
