"""All legal moves of a position with the book's data about each, for `book show` and `book.get`."""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.book.book import Book
from desdaemon.book.editing.game_results import Results, results_of
from desdaemon.book.layout import MAX_LEVEL, NO_LEVEL
from desdaemon.book.progress import ProgressCallback, no_progress

from .grade import Grades

LINK = "link"
LEAF = "leaf"
UNKNOWN = ""


class ReportedMove(NamedTuple):
    """A legal move, or the forced pass, with its data: scores (discs), counts and results for the side that plays it.

    ``kind`` is `LINK` (it leads into the book), `LEAF` (the best of the other moves) or `UNKNOWN`. ``score``, ``lower``
    and ``upper`` are None if unknown; a leaf has no bounds. ``level`` is that of the position after the move (60 if its
    score was set by hand) or of the leaf's search, -1 if unknown. ``grade`` comes from `Grades.grade` for
    a link, from `Grades.leaf_grade` for the leaf. The path counts ``wins``, ``draws``, ``losses`` and ``lines`` are
    those of the position after the move; a leaf is one line. ``human`` says whether the score was set by hand.
    ``results`` are those of games through the move.
    """

    move: int
    kind: str
    score: int | None = None
    lower: int | None = None
    upper: int | None = None
    level: int = NO_LEVEL
    grade: str = ""
    wins: int = 0
    draws: int = 0
    losses: int = 0
    lines: int = 0
    human: bool = False
    results: Results = Results(0.0, 0.0, 0.0)


def children(
    book: Book,
    player: int,
    opponent: int,
    grades: Grades | None = None,
    most: int | None = None,
    progress: ProgressCallback = no_progress,
) -> list[ReportedMove]:
    """Return a board's legal moves, best score first, then by move, unknown ones last; [] if the book knows nothing of
    the board.

    ``grades`` caches grades for the book's present state; ``most`` limits the positions that each grade may visit.
    Raises `grade.TooMany` and `grade.Stale`. Any thread may call this.
    """
    grades = grades or Grades(book)
    table = book.table
    with table.lock:
        entry = book.view(player, opponent)
        if entry is None:
            return []
        by_move = {move.move: move for move in book.moves_on(player, opponent)}
        legal = [move for move, _ in table.links(player, opponent)]
        reported = []
        for move in legal:
            if move not in by_move:
                reported.append(ReportedMove(move, UNKNOWN))
                continue
            row, score = by_move[move].row, by_move[move].score
            scored = score if -64 <= score <= 64 else None
            if row < 0:
                level, grade = entry.leaf_level, grades.leaf_grade(entry)
                reported.append(ReportedMove(move, LEAF, scored, level=level, grade=grade, lines=1))
                continue
            child = table.entry(row)
            lower, upper = (-child.upper, -child.lower) if scored is not None else (None, None)
            won, drawn, lost = results_of(book, row)
            reported.append(
                ReportedMove(
                    move,
                    LINK,
                    scored,
                    lower,
                    upper,
                    min(child.level, MAX_LEVEL),
                    "",
                    child.losses,
                    child.draws,
                    child.wins,
                    child.lines,
                    human=child.human,
                    results=Results(lost, drawn, won),
                )
            )
    graded = [
        child._replace(grade=grades.grade(*table.play(player, opponent, child.move), most, progress))
        if child.kind is LINK
        else child
        for child in reported
    ]
    return sorted(graded, key=lambda child: (child.score is None, -(child.score or 0), not child.kind, child.move))
