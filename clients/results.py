"""Replies as named tuples: readers of the maps that the daemon sends.

The types of single replies are in `shapes`. Fields that a newer daemon adds are ignored. A reader raises `TypeError` or
`KeyError` if a required field is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from .shapes import (
    Analysed,
    AnalysedMove,
    BookChild,
    BookLeaf,
    BookLink,
    BookPosition,
    GameResults,
    Hello,
    JobProgress,
    Legal,
)

__all__ = [
    "Analysed",
    "AnalysedMove",
    "BatchPage",
    "BatchResult",
    "BookChild",
    "BookLeaf",
    "BookLink",
    "BookPosition",
    "Data",
    "GameResults",
    "Hello",
    "JobDone",
    "JobProgress",
    "Legal",
]

Data = Mapping[str, Any]
T = TypeVar("T")


class BatchResult(NamedTuple):
    """The result of an item of a batch: ``item`` is its place in the batch from 0, ``id`` its own id, else its place
    or, in a file, the number of its line.

    ``found`` is the analysed position, or ``plies`` are the analysed plies of a game. Without either, ``code`` and
    ``message`` are the error.
    """

    item: int
    id: str | int
    found: Analysed | None = None
    plies: tuple[Analysed, ...] = ()
    code: str = ""
    message: str = ""


class BatchPage(NamedTuple):
    """A page of a batch's results, with the ``cursor`` of the next page. If ``done``, this page is the last.

    ``state`` is ``queued``, ``running``, ``done`` or ``cancelled``. Of ``items`` positions ``answered`` have a result
    or an error.
    """

    results: tuple[BatchResult, ...]
    cursor: int
    done: bool
    state: str = ""
    items: int = 0
    answered: int = 0


class JobDone(NamedTuple):
    """The outcome of a book command: the numbers of positions added, changed and in the book, and the seconds it took;
    0 for a number that the daemon left out. ``job`` is 0 if the command was no job; ``data`` is the whole final.
    """

    job: int
    added: int
    changed: int
    positions: int
    time_s: float
    data: Data


def _of(kind: type[T], data: Data, /, **changed: Any) -> T:
    fields = {name: data[name] for name in kind.__annotations__ if data.get(name) is not None}
    return kind(**{**fields, **changed})


def hello(data: Data) -> Hello:
    """Read the final of `hello`."""
    if not isinstance(data["limits"].get("in_flight", 0), int):
        raise TypeError("in_flight")
    return _of(Hello, data, ops=tuple(data["ops"]), features=tuple(data["features"]))


def analysed(data: Data) -> Analysed:
    """Read a partial or final of `analyze` about one position."""
    return _of(Analysed, data, moves=tuple(_of(AnalysedMove, move) for move in data["moves"]))


def analysed_and_done(data: Data) -> Analysed | None:
    """Read a partial of `analyze` about a ply of a game; return None if the ply is not done."""
    return analysed(data) if data.get("done", True) else None


def game_analysed(data: Data) -> tuple[Analysed, ...]:
    """Read the final of `analyze` about plies of a game."""
    return tuple(map(analysed, data["plies"]))


def list_analysed(data: Data) -> tuple[Analysed, ...]:
    """Read the final of `analyze` about a list of positions."""
    return tuple(map(analysed, data["results"]))


def legal(data: Data) -> Legal:
    """Read the final of `legal`."""
    black, white = data["discs"]
    return _of(Legal, data, moves=tuple(data["moves"]), discs=(black, white))


def book_position(data: Data) -> BookPosition:
    """Read the final of `book.get` about one position."""
    leaf, games = data.get("leaf"), data.get("results")
    return _of(
        BookPosition,
        data,
        links=tuple(_of(BookLink, link) for link in data.get("links", ())),
        leaf=_of(BookLeaf, leaf) if leaf else None,
        results=_of(GameResults, games) if games else None,
        children=tuple(_book_child(child) for child in data.get("children", ())),
    )


def _book_child(data: Data) -> BookChild:
    games = data.get("results")
    return _of(BookChild, data, results=_of(GameResults, games) if games else None)


def batch_page(data: Data) -> BatchPage:
    """Read the final of `batch.results`."""
    return _of(BatchPage, data, results=tuple(map(_batch_result, data["results"])))


def _batch_result(data: Data) -> BatchResult:
    error, answer = data.get("error"), data.get("data")
    if error is not None or answer is None:
        error = error or {}
        return BatchResult(data["item"], data["id"], code=str(error.get("code")), message=str(error.get("message")))
    if "plies" in answer:
        return BatchResult(data["item"], data["id"], plies=game_analysed(answer))
    return BatchResult(data["item"], data["id"], analysed(answer))


def progress(data: Data) -> JobProgress:
    """Read a partial of a job on the book."""
    return _of(JobProgress, data)


def job_done(data: Data) -> JobDone:
    """Read the final of a book command, with 0 for numbers that it lacks."""
    fields = {"job": 0, "added": 0, "changed": 0, "positions": 0, "time_s": 0.0, **data}
    return _of(JobDone, fields, data=data)
