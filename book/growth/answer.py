"""A book grown by the games in which one side plays by it and the other as a search of some level does.

So the book knows a move as long as such games last, where growth near the best lines is soon left. A search outside the
book, of either side, is remembered beside it until the command has finished; the positions of a round go into it
together at the end of the round. A stopped command repeats its round from what is remembered, and ends with the same
book.
"""

from __future__ import annotations

from collections.abc import Collection

from desdaemon.book.book import Book
from desdaemon.book.choose import MoveChoice, candidates
from desdaemon.book.editing.rounds import CommandOutcome, Position, SearchLine, Worker
from desdaemon.book.errors import within
from desdaemon.book.layout import MAX_LEVEL
from desdaemon.book.progress import WorkCancelled
from desdaemon.book.record import PositionEntry

from .learn import RememberedRounds


def answer(
    book: Book, openings: Collection[Position], worker: Worker, level: int, settings: MoveChoice
) -> CommandOutcome:
    """Add the positions in which the book's side is to move, in games from each of the ``openings`` with either
    colour, as far as the book's depth.

    The book's side plays every move that the book may choose by ``settings``; where it knows none it plays the best one
    of a search of the book's level, which becomes the position's leaf. The other side plays as a search of ``level``
    does. Rounds end when all these moves are in the book. Raises `OutOfRange`, and `ReadOnly` if not all positions are
    in memory.
    """
    within("level", level, 0, MAX_LEVEL)
    book.table.need_all()
    rounds = RememberedRounds(book, worker)

    def work() -> None:
        while True:
            rounds.rounds += 1
            # Leaves that have become links are searched again.
            rounds.complete()
            rounds.negamax()
            if rounds.full:
                raise WorkCancelled
            seen: set[tuple[Position, bool]] = set()
            starts = ((position, own) for position in openings for own in (True, False))
            lines = (_line(rounds, start, own, level, settings, seen) for start, own in starts)
            entries: dict[Position, PositionEntry] = {}
            for found in rounds.following(lines, 2 * len(openings)):
                entries.update((entry[:2], entry) for entry in found)
            if not entries:
                book.keep_replies(level)
                book.forget()
                return
            # In the order of the lines where some may have to be left out.
            keys = sorted(entries) if worker.room is None else entries
            rounds.finish_round((entries[key] for key in keys), forget=False)

    return rounds.outcome(work)


def _line(
    rounds: RememberedRounds,
    start: Position,
    own: bool,
    level: int,
    settings: MoveChoice,
    seen: set[tuple[Position, bool]],
) -> SearchLine[list[PositionEntry]]:
    """Follow the games from ``start``, yielding their searches; return the positions that the book lacks.

    ``own`` says whether the book's side is to move. What another line has ``seen`` is left to it.
    """
    book, table = rounds.book, rounds.book.table
    entries: list[PositionEntry] = []
    waiting = [(start, own)]
    while waiting:
        position, own = waiting.pop()
        if 64 - (position[0] | position[1]).bit_count() < book.options.min_empties - 1:
            continue
        if not table.moves(*position):
            if table.moves(*reversed(position)):
                waiting.append((position[::-1], not own))
            continue
        key = table.canonical(*position)[:2]
        if (key, own) in seen:
            continue
        seen.add((key, own))
        if not own:
            question = (*key, level, 0)
            moves = [(book.replies.get(question) or (yield from rounds.ask(question)))[0]]
        elif table.find(*key) >= 0:
            with table.lock:
                moves = [move.move for move in candidates(book, *key, settings)]
        else:
            own_level = book.options.level
            move, score = yield from rounds.ask((*key, own_level, 0))
            entry = PositionEntry(*key, level=own_level, leaf_move=move, leaf_score=score, leaf_level=own_level)
            entries.append(entry._replace(score=score, lower=score, upper=score))
            moves = [move]
        waiting.extend((table.play(*key, move), not own) for move in reversed(moves))
    return entries
