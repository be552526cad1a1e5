"""What requests answer, as named tuples. Fields that a newer daemon adds are left out, missing ones have defaults.

Scores are discs for the side to move in the position asked about, the empty squares to the winner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Data = Mapping[str, Any]


class Hello(NamedTuple):
    """Who the daemon is, what this client may do (``role``) and how much at once (``limits``)."""

    name: str = ""
    version: str = ""
    protocol: int = 1
    role: str = ""
    ops: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    limits: Mapping[str, int] = {}


class Move(NamedTuple):
    """A move (``f5``, ``pa``) with its score, the bounds known for it, and how it was found.

    ``depth`` is in plies, ``selectivity`` in percent; ``source`` is ``book`` or ``search``, and ``level`` that of the
    book's score, None for a search; ``pv`` is the expected line with this move first, ``f5d6c3``.
    """

    move: str
    score: int
    lower: int = -64
    upper: int = 64
    depth: int = 0
    selectivity: int = 100
    exact: bool = False
    source: str = "search"
    pv: str = ""
    nodes: int = 0
    level: int | None = None


class Analysed(NamedTuple):
    """A position and its best moves, best first. ``ply`` counts the moves played before it, where plies were asked.

    ``done`` is false in partials, ``finished`` where the search was cancelled, ``stopped`` is true where nodes or time
    ended it. Where the game is ``over`` there are no moves, and ``score`` is the final one.
    """

    board: str
    moves: tuple[Move, ...]
    nodes: int = 0
    time_ms: float = 0.0
    canonical: str = ""
    ply: int | None = None
    done: bool = True
    finished: bool = True
    stopped: bool = False
    cached: bool = False
    over: bool = False
    score: int | None = None

    @property
    def best(self) -> Move | None:
        """The best move, None where the game is over."""
        return self.moves[0] if self.moves else None


class Legal(NamedTuple):
    """The legal moves of a position; ``discs`` are Black's and White's."""

    moves: tuple[str, ...]
    board: str
    over: bool
    discs: tuple[int, int]


class Link(NamedTuple):
    """A move that stays in the book, and its score."""

    move: str
    score: int


class Leaf(NamedTuple):
    """The best move that leaves the book, its score and the level it was searched at."""

    move: str
    score: int
    level: int


class Child(NamedTuple):
    """A legal move that the book knows, seen by the side that plays it; numbers as in `Look`.

    ``kind`` is ``link`` where it leads into the book, ``leaf`` for the best of the others.
    """

    move: str
    kind: str = "link"
    score: int | None = None
    lower: int | None = None
    upper: int | None = None
    grade: str = ""
    lines: int = 0
    level: int = -1
    human: bool = False
    wins: int = 0
    draws: int = 0
    losses: int = 0


class Look(NamedTuple):
    """What the book has about a position; all else is empty unless ``found``.

    ``children`` is empty unless they were asked for.
    """

    found: bool
    level: int = 0
    score: int = 0
    lower: int = -64
    upper: int = 64
    wins: int = 0
    draws: int = 0
    losses: int = 0
    lines: int = 0
    grade: str = ""
    links: tuple[Link, ...] = ()
    leaf: Leaf | None = None
    children: tuple[Child, ...] = ()


class BatchResult(NamedTuple):
    """The answer to an item of a batch: ``item`` is its place, ``id`` its own or its place.

    ``found`` is the position, ``plies`` are those that were asked for instead; where there is neither, ``code`` and
    ``message`` say why.
    """

    item: int
    id: str | int
    found: Analysed | None = None
    plies: tuple[Analysed, ...] = ()
    code: str = ""
    message: str = ""


class BatchPage(NamedTuple):
    """Results of a batch after a cursor, and the ``cursor`` after them; ``done`` when there will be no more.

    ``answered`` of ``items`` have results by now.
    """

    results: tuple[BatchResult, ...]
    cursor: int
    done: bool
    state: str = ""
    items: int = 0
    answered: int = 0


class Progress(NamedTuple):
    """How far a book job is. ``eta_s`` is a guess, None where there is none; ``positions`` is the book's size."""

    job: int
    phase: str = ""
    done: int = 0
    total: int = 0
    eta_s: float | None = None
    positions: int = 0


class JobDone(NamedTuple):
    """What a book command did; ``data`` is all that the daemon told."""

    job: int
    added: int
    changed: int
    positions: int
    time_s: float
    data: Data


def _of(kind: Any, data: Data, /, **changed: Any) -> Any:
    known = {name: data[name] for name in kind._fields if data.get(name) is not None}
    return kind(**{**known, **changed})


def hello(data: Data) -> Hello:
    """The reply to `hello`."""
    found: Hello = _of(Hello, data, ops=tuple(data.get("ops") or ()), features=tuple(data.get("features") or ()))
    return found


def analysed(data: Data) -> Analysed:
    """A partial or final of `analyze` about one position."""
    moves = tuple(_of(Move, move) for move in data.get("moves") or ())
    found: Analysed = _of(Analysed, {"board": "", **data}, moves=moves)
    return found


def analysed_and_done(data: Data) -> Analysed | None:
    """A partial of `analyze` about a ply of a game; None for one that is still being searched."""
    return analysed(data) if data.get("done", True) else None


def game_analysed(data: Data) -> tuple[Analysed, ...]:
    """The final of `analyze` about plies of a game."""
    return tuple(map(analysed, data["plies"]))


def legal(data: Data) -> Legal:
    """The reply to `legal`."""
    black, white = data["discs"]
    return Legal(tuple(data["moves"]), data["board"], data["over"], (black, white))


def look(data: Data) -> Look:
    """The reply to `book.get`."""
    links = tuple(_of(Link, link) for link in data.get("links") or ())
    leaf = data.get("leaf")
    children = tuple(_of(Child, child) for child in data.get("children") or ())
    found: Look = _of(Look, data, links=links, leaf=_of(Leaf, leaf) if leaf else None, children=children)
    return found


def batch_page(data: Data) -> BatchPage:
    """The reply to `batch.results`."""
    found: BatchPage = _of(BatchPage, data, results=tuple(map(_batch_result, data["results"])))
    return found


def _batch_result(data: Data) -> BatchResult:
    error, answer = data.get("error"), data.get("data")
    if error is not None or answer is None:
        error = error or {}
        return BatchResult(data["item"], data["id"], code=str(error.get("code")), message=str(error.get("message")))
    if "plies" in answer:
        return BatchResult(data["item"], data["id"], plies=game_analysed(answer))
    return BatchResult(data["item"], data["id"], analysed(answer))


def progress(data: Data) -> Progress:
    """A partial of a book job."""
    found: Progress = _of(Progress, {"job": 0, **data})
    return found


def job_done(data: Data) -> JobDone:
    """The final of a book job; a command that was done at once has no job number and counts as 0."""
    known = {"job": 0, "added": 0, "changed": 0, "positions": 0, "time_s": 0.0, **data}
    found: JobDone = _of(JobDone, known, data=data)
    return found
