"""The shortest lines of play that end in a Stoner; `kernels.lines` says what counts as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from desdaemon.engine.layout import WORD
from desdaemon.engine.memory import Block
from desdaemon.protocol.othello import rules

from .compiled import Progress, in_parallel, kernels, noted_lines, processors, silent, write_moves
from .layout import (
    LINE_BYTES,
    STONER_CAPACITY,
    STONER_CONTEXT_BYTES,
    STONER_LINES,
    STONER_MOVES,
    STONER_PLAYED,
)

F5 = 37
_PREFIX = 6
_CAPACITY = 4096


class Stoners(NamedTuple):
    """The lines of ``plies`` moves that begin with f5 and end in a Stoner, as squares; there are none shorter."""

    plies: int
    lines: list[list[int]]


def is_stoner(line: list[int]) -> bool:
    """Whether the last move of a line of moves from the opening position is one. Raises `rules.IllegalMove`."""
    position = rules.START
    for move in line:
        position = rules.play(*position, move)
    return bool(kernels().stoner_by(position[1], position[0], line[-1]))


def shortest_stoners(most: int = 13, progress: Progress = silent) -> Stoners:
    """Search every line of play, ply by ply, up to ``most`` plies. No lines where there is none so short.

    All first moves being mirror images of one, f5 stands for them. 13 plies take some seconds a processor core.
    """
    library = kernels(progress)
    for plies in range(2, most + 1):
        prefixes = list(_prefixes(rules.play(*rules.START, F5), [F5], min(_PREFIX, plies - 1)))
        found: list[list[int]] = []

        def search(prefix: tuple[tuple[int, int], list[int]], plies: int = plies) -> list[list[int]]:
            (player, opponent), line = prefix
            context, lines = Block(STONER_CONTEXT_BYTES), Block(LINE_BYTES * _CAPACITY)
            words = context.words()
            words[STONER_LINES // WORD], words[STONER_CAPACITY // WORD] = lines.address, _CAPACITY
            words[STONER_PLAYED // WORD] = len(line)
            write_moves(context.address + STONER_MOVES, line)
            number = library.stoners_after(player, opponent, plies - len(line), context.address)
            return noted_lines(lines.address, min(number, _CAPACITY))

        for done, lines in enumerate(in_parallel(search, prefixes, processors()), 1):
            found += lines
            progress(f"{plies} plies", done, len(prefixes))
        if found:
            return Stoners(plies, sorted(found))
    return Stoners(most, [])


def _prefixes(position: tuple[int, int], line: list[int], plies: int) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """The positions of that many plies, with the moves that lead there: no game passes or ends so early."""
    if len(line) >= plies:
        yield position, line
        return
    for move in rules.squares(rules.legal_moves(*position)):
        yield from _prefixes(rules.play(*position, move), [*line, move], plies)
