"""Version, limits and sets of operations of the wire protocol: plain data without imports."""

VERSION = 1
"""The version of the protocol. Additions do not change it: they have a feature name and a revision of the document."""

LARGEST_BODY = 1 << 20
"""Bytes of the largest request."""

LONGEST_ID = 64
"""Bytes of the longest textual id."""

ALIVE_IDLE_S, ALIVE_INTERVAL_S, ALIVE_PROBES = 15, 5, 4
"""Keep-alive at both ends of TCP: seconds to the first probe, seconds between probes, and the number of unanswered
probes after which the connection is lost.
"""

UNACKNOWLEDGED_MS = 30_000
"""Milliseconds that sent bytes may stay unacknowledged until the connection is lost."""

LONGEST_LINE = 65_536
"""Characters of the longest line of the text protocol."""

LONGEST_BOARD = 512
"""Characters of the longest argument `board`."""

LONGEST_MOVES = 1024
"""Characters of the longest argument `moves`."""

MOST_LINES = 64
"""Largest `multipv`, and most moves of `allow` and `avoid`."""

MOST_PLIES = 128
"""Most plies of one `analyze`."""

MOST_ITEMS = 20_000
"""Most positions of a batch in one request."""

MOST_LINES_OF_FILE = 100_000
"""Most positions of a batch in a file."""

MOST_POSITIONS = 1000
"""Most positions of one `analyze`, `book.get` or `games.get`."""

MOST_GAMES = 50
"""Most games that are listed for a position."""

LONGEST_NAME = 100
"""Characters of the longest name of a player or tournament."""

MOST_LISTED_MOVES = 4000
"""Largest product of the number of `positions` and `multipv` of one `analyze`, and of `positions` and `games` of
`games.get`.
"""

MOST_RESULTS = 1000
"""Most results of a batch in one reply."""
