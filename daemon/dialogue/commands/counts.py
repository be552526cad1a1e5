"""Handlers of ``perft`` and ``count``: lines of play, positions and shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import did_you_mean

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect

MOST_SHAPE_PLIES = 8

# Lines of play shorter than this are counted in one go; longer ones piece by piece, so that a stop gets through.
_PERFT_PIECE = 9


def _perft(text: TextDialect, argument: str) -> None:
    words = argument.split() or ["10"]
    if len(words) > 2:
        raise BadInput(f"perft {quoted(argument)}: expected a depth and optionally a mode, 1 or 2")
    depth = number_within("perft", words[0], 0, 60)
    mode = number_within("perft mode", words[1], 1, 2) if len(words) > 1 else 1
    _count_lines(text, depth, mode)


def _count_lines(text: TextDialect, depth: int, mode: int) -> None:
    """Print the number of lines of ``depth`` plies, or that the count was stopped."""
    from desdaemon.engine.counting import perft

    position = text.session.game.position
    begun = time.monotonic()
    with text.session.interrupt.searching(bounded=depth <= 13) as search:

        def count(player: int, opponent: int, left: int) -> int:
            if search.stopped:
                return 0
            moves = rules.legal_moves(player, opponent)
            if left <= _PERFT_PIECE or not moves:
                return perft(player, opponent, left, mode)
            return sum(count(*rules.play(player, opponent, move), left - 1) for move in rules.squares(moves))

        total = count(position.player, position.opponent, depth)
        stopped = search.stopped
    if stopped:
        text.say(f"perft {depth} (mode {mode}): stopped")
    else:
        text.say(f"perft {depth} (mode {mode}): {total} in {edax.clock_text((time.monotonic() - begun) * 1000)}")


def _count(text: TextDialect, argument: str) -> None:
    what, _, rest = argument.partition(" ")
    words = rest.split()
    counter = _COUNTERS.get(what.lower())
    if counter is None or not words or len(words) > (2 if counter is _positions else 1):
        near = did_you_mean(what, _COUNTERS) if counter is None else ""
        raise BadInput(f"count {quoted(argument)}: expected games, positions or shapes, and a depth{near}")
    counter(text, words)


def _games(text: TextDialect, words: list[str]) -> None:
    depth = number_within("count games", words[0], 0, 60)
    with text.session.interrupt.searching(bounded=depth <= 13) as search:
        for plies in range(depth + 1):
            _count_lines(text, plies, 1)
            if search.stopped:
                return


def _positions(text: TextDialect, words: list[str]) -> None:
    from desdaemon.engine.counting import count_positions

    depth = number_within("count positions", words[0], 0, 12)
    chosen = [number_within("count positions, definition", words[1], 1, 3)] if len(words) > 1 else [1, 2, 3]
    for definition in chosen:
        text.say(f"positions {depth} (definition {definition}): {count_positions(depth, definition)}")


def _shapes(text: TextDialect, words: list[str]) -> None:
    depth = number_within("count shapes", words[0], 0, MOST_SHAPE_PLIES)
    layer = {rules.canonical(*rules.START)}
    with text.session.interrupt.searching(bounded=True) as search:
        for plies in range(depth + 1):
            shapes = {_canonical_shape(player | opponent) for player, opponent in layer}
            text.say(f"shapes {plies}: {len(shapes)}")
            if search.stopped:
                return
            layer = {child for position in layer for child in _children(*position)}


def _children(player: int, opponent: int) -> list[tuple[int, int]]:
    """The positions after each move, with passes made, in their canonical images."""
    moves = rules.squares(rules.legal_moves(player, opponent))
    found = []
    for move in moves:
        after = rules.play(player, opponent, move)
        if rules.must_pass(*after):
            after = rules.play(*after, PASS)
        found.append(rules.canonical(*after))
    return found


def _canonical_shape(discs: int) -> int:
    return min(rules.transform(discs, symmetry) for symmetry in range(8))


_COUNTERS: dict[str, Callable[[TextDialect, list[str]], None]] = {
    "games": _games,
    "positions": _positions,
    "shapes": _shapes,
}

HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {"perft": _perft, "count": _count}
