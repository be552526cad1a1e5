"""Version, limits and sets of operations of the wire protocol: plain data without imports, for daemon and clients."""

VERSION = 1
"""Of the protocol. Additions do not change it: they have a feature name, and a revision of the document."""

REVISIONS = {
    "1.0": ("analyze.plies", "book", "events", "jobs", "metrics", "text"),
    "1.1": (
        "accounts",
        "analyze.batch",
        "analyze.book.level",
        "analyze.cache",
        "analyze.game_nodes",
        "analyze.many",
        "analyze.threads",
        "analyze.until",
        "book.budget",
        "book.get.children",
        "book.get.many",
        "book.reopen",
        "cache.clear",
        "cancel.all",
        "cancel.data",
        "cluster",
        "status.problems",
    ),
}
"""Revisions of docs/protocol.md, oldest first, with the features that each of them added."""

LARGEST_BODY = 1 << 20
"""Bytes of a request."""

LONGEST_ID = 64
"""Bytes of an id that is text."""

ALIVE_IDLE_S, ALIVE_INTERVAL_S, ALIVE_PROBES = 15, 5, 4
"""Of both ends of a TCP connection: when the first keep-alive probe goes out, and how many follow how often until the
connection counts as lost.
"""

UNACKNOWLEDGED_MS = 30_000
"""So long sent bytes may go unacknowledged until the connection counts as lost."""

LONGEST_LINE = 65_536
"""Characters of a line of the text protocol."""

LONGEST_BOARD = 512
"""Characters of the argument `board`."""

LONGEST_MOVES = 1024
"""Characters of the argument `moves`."""

MOST_LINES = 64
"""`multipv`, and moves of `allow` and `avoid`."""

MOST_PLIES = 128
"""Plies of one `analyze`."""

MOST_ITEMS = 20_000
"""Positions of a batch in one request."""

MOST_LINES_OF_FILE = 100_000
"""Positions of a batch in a file."""

MOST_POSITIONS = 1000
"""Positions of one `analyze` or `book.get`."""

MOST_LISTED_MOVES = 4000
"""`positions` times `multipv` of one `analyze`."""

MOST_RESULTS = 1000
"""Results of a batch in one reply."""

REPEATABLE = frozenset(("ping", "hello", "metrics", "status", "legal", "analyze", "book.get", "jobs", "batch.results"))
"""Operations that change neither the book nor the client's session: a client may send them again after a lost
connection, and the daemon may skip one whose client has gone."""
