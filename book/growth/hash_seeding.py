"""The scores of a book for the search's table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from desdaemon.book.book import Book
from desdaemon.book.progress import Going, silent
from desdaemon.book.record import MAX_LEVEL, PASS
from desdaemon.engine.limits import level_limits
from desdaemon.engine.search import Known

from .rounds import Position
from .shrink import root_row

_NO_SQUARE = 64
_STEP = 1 << 8


def known_scores(book: Book, root: Position, most: int, going: Going = silent) -> Iterator[Known]:
    """The scores of ``root`` and of what it leads to, nearest first, ``most`` at most, as moves from ``root`` show the
    boards; each counts as a search of its level. Raises NotInBook."""
    root_row(book, root)
    waiting = deque([root])
    seen = {root}
    given = 0
    while waiting and given < most:
        player, opponent = waiting.popleft()
        entry = book.entry(player, opponent)
        moves = book.moves_on(player, opponent)
        if entry is None:
            continue
        if -64 <= entry.score <= 64 and book.table.moves(player, opponent):
            limits = level_limits(min(max(entry.level, 0), MAX_LEVEL), entry.empties)
            best = moves[0].move if moves else _NO_SQUARE
            yield Known(player, opponent, best, entry.score, limits)
            given += 1
            if given % _STEP == 0:
                going("scores", given, most)
        for move in moves:
            if move.linked:
                child = book.table.play(player, opponent, min(move.move, PASS))
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
