"""The handler of the book command `umigame`."""

from __future__ import annotations

from desdaemon.book.editing.shrink import OUTSIDE
from desdaemon.book.summary import moves_text, score_text
from desdaemon.core.books.command_run import BookCommandRun
from desdaemon.core.books.jobs import Result
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import move_text

from .numbers import UmigameNumbers


def umigame(run: BookCommandRun) -> Result:
    player, opponent, black = run.caller.positions[-1]
    book = run.book
    moves = book.moves_on(player, opponent)
    if not moves:
        raise BadInput(f"book umigame: {OUTSIDE}")
    numbers = UmigameNumbers(book, 64 - (player | opponent).bit_count() - run.number("depth"))
    here = numbers.of(player, opponent, run.progress).by_colour(black=black)
    after = {
        move: numbers.of(*book.table.play(player, opponent, move.move), run.progress).by_colour(black=not black)
        for move in moves
    }
    rows = {f"here:{score_text(moves[0].score)}": here}
    rows |= {moves_text([move], black): sides for move, sides in after.items()}
    names = [move_text(move.move).lower() for move in moves]
    return {
        "black": here[0],
        "white": here[1],
        "black_after": dict(zip(names, (of_black for of_black, _ in after.values()), strict=True)),
        "white_after": dict(zip(names, (of_white for _, of_white in after.values()), strict=True)),
        "text": [
            "Lines to know        Black       White",
            *(f" {name:<12} {of_black:>12}{of_white:>12}" for name, (of_black, of_white) in rows.items()),
        ],
    }
