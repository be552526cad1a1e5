"""The types of replies, made from protocol/wire/replies.py: not to be edited by hand.

Fields that a reply does not have get the defaults; those without a default are in every reply. Scores are in discs.
"Seen by the mover" means: by the side to move in the position asked about; "by the player": by the side that plays the
move that the reply describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Hello(NamedTuple):
    """The daemon and the rights of this client."""

    name: str
    """``desdaemon``."""

    version: str
    """Version of the program."""

    protocol: int
    """Version of the protocol: 1."""

    role: str
    """Role of this client: ``reader``, ``editor`` or ``admin``."""

    ops: tuple[str, ...]
    """Operations that this client may ask for."""

    features: tuple[str, ...]
    """Features that this daemon has, see docs/protocol.md, Features."""

    limits: Mapping[str, int]
    """Limits by name, see docs/protocol.md, Load."""


class AnalysedMove(NamedTuple):
    """A move of an analysis, with its score and the search behind it."""

    move: str
    """``f5``, or ``pa``."""

    score: int
    """Expected final disc difference, -64 to 64 (discs, seen by the mover)."""

    lower: int
    """The score is at least this, within depth and selectivity (discs, seen by the mover)."""

    upper: int
    """The score is at most this; equal to ``lower`` after a full search (discs, seen by the mover)."""

    depth: int
    """Plies searched, this move included; all empty squares: to the end (plies)."""

    selectivity: int
    """73, 87, 95, 98, 99, or 100: no branch was left out (percent)."""

    exact: bool
    """Whether the score is proved."""

    source: str
    """``search`` or ``book``."""

    pv: str
    """Principal variation, this move first: ``f5d6c3``."""

    nodes: int
    """Nodes of this move's search; 0 for the book's (nodes)."""

    level: int | None = None
    """Level of the book's score, 0 to 60 (level)."""


class Analysed(NamedTuple):
    """An analysed position with its best moves."""

    board: str
    """64 squares from A1 to H8, a blank, the side to move, see docs/protocol.md, Values."""

    moves: tuple[AnalysedMove, ...]
    """At most ``multipv``, best first; empty where the game is over, or ``book`` ``only`` has none."""

    nodes: int
    """Nodes searched for this reply; 0: from the book or the cache (nodes)."""

    time_ms: float
    """Time searched, without time in the queue (ms)."""

    canonical: str
    """The position as its eight mirror images share it, the side to move as ``X``."""

    ply: int | None = None
    """Place in the game, 0 before the first move (plies)."""

    item: int = 0
    """Place in ``positions``, from 0."""

    over: bool = False
    """True: the game is over."""

    score: int | None = None
    """Final score of a game that is over (discs, seen by the mover)."""

    cached: bool = False
    """True: answered from the cache."""

    threads: int = 0
    """Threads that searched together: a score that is not exact may be another one the next time (threads)."""

    deterministic: bool = False
    """True: asked for, by the request or by the daemon's option."""

    stopped: bool = False
    """True: ``nodes``, ``time_ms`` or ``game_nodes`` ended the search before its depth."""

    finished: bool = True
    """False: a cancel or the end of the daemon ended the search."""

    done: bool = True
    """False: a preliminary result. True: the result of one ply of a game, or of one of ``positions``."""

    @property
    def best(self) -> AnalysedMove | None:
        """The best move; None if the game is over, or if with ``book`` ``only`` the book has none."""
        return self.moves[0] if self.moves else None


class Legal(NamedTuple):
    """The legal moves of a position."""

    moves: tuple[str, ...]
    """Legal moves; ``pa`` alone where a pass is forced; empty where the game is over."""

    board: str
    """64 squares from A1 to H8, a blank, the side to move, see docs/protocol.md, Values."""

    over: bool
    """Whether neither side has a legal move."""

    discs: tuple[int, int]
    """Discs of Black, discs of White (discs)."""


class GameResults(NamedTuple):
    """Games through a position of the book."""

    won: float = 0.0
    """Wins, weighted (games, seen by the mover)."""

    drawn: float = 0.0
    """Draws, weighted (games)."""

    lost: float = 0.0
    """Losses, weighted (games, seen by the mover)."""


class BookLink(NamedTuple):
    """A move to a position of the book."""

    move: str
    """``f5``, or ``pa``."""

    score: int
    """Score of the position it leads to (discs, seen by the player)."""


class BookLeaf(NamedTuple):
    """The best move that leaves the book."""

    move: str
    """``f5``."""

    score: int
    """Score of its search (discs, seen by the player)."""

    level: int
    """Level of its search (level)."""


class BookChild(NamedTuple):
    """A legal move with data in the book."""

    move: str = ""
    """``f5``, or ``pa``."""

    kind: str = ""
    """``link``: to a position of the book. ``leaf``: the best of the other moves."""

    score: int | None = None
    """Score (discs, seen by the player). None: none yet."""

    lower: int | None = None
    """Score minus the book's error margins (discs, seen by the player). None: a leaf."""

    upper: int | None = None
    """Score plus the book's error margins (discs, seen by the player). None: a leaf."""

    grade: str = ""
    """Grade of the position it leads to, or of the leaf's search."""

    lines: int = 0
    """Paths behind it that leave the book; 1 for a leaf (paths)."""

    level: int = 0
    """Level of the position it leads to, or of the leaf's search; -1: not known (level)."""

    human: bool = False
    """Whether the score was set by hand."""

    wins: int = 0
    """Paths behind it to solved wins (paths, seen by the player)."""

    draws: int = 0
    """Paths behind it to solved draws (paths)."""

    losses: int = 0
    """Paths behind it to solved losses (paths, seen by the player)."""

    results: GameResults | None = None
    """Games through it; won and lost are the player's."""


class BookPosition(NamedTuple):
    """The book's data of a position; all defaults unless ``found``."""

    found: bool
    """Whether the book knows the position; if not, there is no other field."""

    level: int = 0
    """Level of the position, 0 to 60; -1: none yet, or its moves alone are known (level)."""

    score: int | None = None
    """Score (discs, seen by the mover). None: none yet."""

    lower: int = 0
    """Score minus the book's error margins (discs, seen by the mover)."""

    upper: int = 0
    """Score plus the book's error margins (discs, seen by the mover)."""

    wins: int = 0
    """Paths through the book to solved wins (paths, seen by the mover)."""

    draws: int = 0
    """Paths to solved draws (paths)."""

    losses: int = 0
    """Paths to solved losses (paths, seen by the mover)."""

    lines: int = 0
    """Paths that leave the book (paths)."""

    human: bool = False
    """Whether a score was set by hand."""

    results: GameResults | None = None
    """Games through the position."""

    grade: str = ""
    """Grade of the score: ``A`` to ``F``, ``AA`` to ``AF``; empty while the book changes."""

    links: tuple[BookLink, ...] = ()
    """Moves to positions of the book, best first."""

    leaf: BookLeaf | None = None
    """Best move that leaves the book. None: every move is a link."""

    children: tuple[BookChild, ...] = ()
    """Legal moves that the book knows, best first."""


class JobProgress(NamedTuple):
    """The progress of a job on the book."""

    job: int
    """Number of the job."""

    phase: str
    """Name of the phase; empty before the first one."""

    done: int
    """Steps of the phase that are done (steps)."""

    total: int
    """Steps of the phase; 0: not known (steps)."""

    positions: int
    """Positions of the book; 0 for a batch, and before the first progress (positions)."""

    eta_s: float | None = None
    """Estimated rest of the phase (s). None: not known."""

    rate: float = 0.0
    """Speed in the phase (steps/s)."""

    workers: int = 0
    """Workers that search beside the daemon (workers)."""

    slots: int = 0
    """Searches that workers do at once (searches)."""

    busy: float = 0.0
    """Part of workers' time in searches (0 to 1)."""

    step: str = ""
    """Step of a schedule, in words."""

    round: int = 0
    """Round of the command (rounds)."""

    added: int = 0
    """Positions added since the job began (positions)."""

    searches: int = 0
    """Searches since the job began (searches)."""

    budget: float = 0.0
    """Spent part of the job's budget (0 to 1)."""
