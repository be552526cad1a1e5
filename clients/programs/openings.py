"""The openings of a match: from a file of games or positions, from the list that ships, or from one that users have.

The list, ``openings.txt``, has 1,000 openings, eight moves each, even by this program's search, in random order. They
are random moves from the standard start, none outside the squares B2..G7 without their corners. At the end both sides
have three discs or more, and numbers of moves that differ by two at most; no two lines lead to the same board, mirrored
or turned. Of 4,600 such lines these are the first 1,000 with a score between -2 and +2 discs at level 14. They are
sharper than openings that people play, and favour neither side.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import resources
from itertools import chain
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, Complaints, quoted
from desdaemon.protocol.games.bases import extension_of, read_games
from desdaemon.protocol.games.contents import content_of
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello import openings as known_openings
from desdaemon.protocol.othello.notation import START, parse_board, parse_moves, play_moves
from desdaemon.protocol.othello.obf import parse_problem, problem_lines
from desdaemon.protocol.othello.rules import PASS, canonical, legal_moves, squares
from desdaemon.protocol.system import logs

PLIES = 8
"""Moves of an opening in the list."""
MOST_OPENINGS = 50_000
"""Most openings that can be made of the list."""
MOST_IN_FILE = 200_000
"""Most openings of a file; each takes a kilobyte of memory."""
POSITION_FORMATS = ("obf", "fen", "epd")

_MIDDLE = sum(1 << square for square in range(64) if 1 <= square % 8 <= 6 and 1 <= square // 8 <= 6) & ~sum(
    1 << square for square in (9, 14, 49, 54)
)
"""The squares B2..G7 without their corners."""

Key = tuple[int, int]
"""The canonical board, mover first, after an opening: equal for mirrored and for colour-swapped openings."""


class Openings(NamedTuple):
    """Openings with different final positions, mirror images counted as equal.

    Of the openings of a file, ``coinciding`` were left out because they lead to the position of an earlier one, and
    ``finished`` because the game is over. ``drawn`` openings of the list were lengthened by random moves.
    """

    openings: list[GameRecord]
    coinciding: int = 0
    finished: int = 0
    drawn: int = 0


def key_of(opening: GameRecord) -> Key:
    """Return a key that is equal for openings that lead to the same position, mirrored or not."""
    final = opening.final
    return canonical(final.player, final.opponent)


def listed_lines() -> list[str]:
    """Return the lines of play of the list."""
    return (resources.files(__package__) / "openings.txt").read_text("ascii").split()


def listed_openings(count: int, seed: int = 1) -> Openings:
    """Return ``count`` different openings of the list, in an order that depends on ``seed``.

    If the list has fewer, more are made by adding two random moves in the middle of the board to openings of the list.
    Raises `BadInput` for more than `MOST_OPENINGS`, or fewer than one.
    """
    if not 1 <= count <= MOST_OPENINGS:
        raise BadInput(f"{count} openings: expected at most {MOST_OPENINGS}, or a file of openings")
    chance = random.Random(seed)
    lines = listed_lines()
    openings = [_opening(parse_moves(lines[number])) for number in _drawn(len(lines), count, chance)]
    drawn = count - len(openings)
    if drawn:
        openings += _lengthened(lines, drawn, chance)
    return Openings(openings, drawn=drawn)


def openings_of_list(name: str, count: int, seed: int = 1) -> Openings:
    """Return up to ``count`` different openings of a list, in an order that depends on ``seed``. Raises
    `BadInput` if the list is missing or has an illegal line.
    """
    lines = known_openings.lines_of(name)
    openings: dict[Key, GameRecord] = {}
    for number in _drawn(len(lines), len(lines), random.Random(seed)):
        try:
            opening = _opening(play_moves(START, list(lines[number])).moves)
        except BadInput as error:
            raise BadInput(f"{name}: line {number + 1}: {error}") from None
        openings.setdefault(key_of(opening), opening)
        if len(openings) == count:
            break
    return Openings(list(openings.values()))


def _drawn(size: int, count: int, chance: random.Random) -> Iterator[int]:
    """Yield up to ``count`` different numbers below ``size``, in random order."""
    left = list(range(size))
    for _ in range(min(count, size)):
        # `Random.sample` may depend on the version of Python.
        index = int(chance.random() * len(left))
        left[index], left[-1] = left[-1], left[index]
        yield left.pop()


def _opening(moves: Sequence[int]) -> GameRecord:
    return GameRecord(START, tuple(PlayedMove(move, 0.0) for move in moves))


def _lengthened(lines: list[str], count: int, chance: random.Random) -> list[GameRecord]:
    openings: dict[Key, GameRecord] = {}
    finals = [(opening, opening.final) for opening in map(_opening, map(parse_moves, lines))]
    while len(openings) < count:
        opening, position = finals[int(chance.random() * len(finals))]
        moves = list(opening.moves)
        for _ in range(2):
            legal = squares(position.moves & _MIDDLE)
            if not legal:
                break
            move = legal[int(chance.random() * len(legal))]
            position = position.after(move)
            moves.append(PlayedMove(move, 0.0))
        else:
            if position.moves and legal_moves(position.opponent, position.player):
                openings.setdefault(canonical(position.player, position.opponent), GameRecord(START, tuple(moves)))
    return list(openings.values())


def openings_of_file(path: str, plies: int = 60) -> Openings:
    """Return the games of a file, cut after ``plies`` moves, or its positions. Each final position comes once, and
    openings in which the game is over are left out. So is a game that cannot be read, with a message.

    Positions are lines of OBF or FEN: the file's extension says so or, in a text file, its first line is one. Raises
    `BadInput` for an unreadable file, and if no opening is left.
    """
    openings: dict[Key, GameRecord] = {}
    coinciding = finished = 0
    for opening in _positions(path) or _cut(path, plies):
        key = key_of(opening)
        if opening.final.over:
            finished += 1
        elif key in openings:
            coinciding += 1
        elif len(openings) == MOST_IN_FILE:
            raise BadInput(f"{quoted(path)}: expected at most {MOST_IN_FILE:,} different openings")
        else:
            openings[key] = opening
    if not openings:
        lacking = f"all its games are over after {plies} plies" if finished else "there is no opening in it"
        raise BadInput(f"{quoted(path)}: {lacking}: expected games or positions that go on")
    return Openings(list(openings.values()), coinciding, finished)


def _cut(path: str, plies: int) -> Iterator[GameRecord]:
    # Their times are not used, and equal moves that are one object take little memory.
    played = [PlayedMove(move, 0.0) for move in range(PASS + 1)]
    with Complaints(partial(logs.message, program="desdaemon match")) as few:
        for game in read_games(path, few):
            moves = game.record.moves[:plies]
            yield GameRecord(game.record.initial, tuple(played[each.move] for each in moves))


def _positions(path: str) -> Iterator[GameRecord] | None:
    """Return the positions of a file of positions, without moves; None for a file of games. Raises `BadInput`, at the
    call or during the iteration, if the file or one of its positions is unreadable.
    """
    extension = extension_of(path)
    if extension not in (*POSITION_FORMATS, "txt", ""):
        return None
    lines = (
        (number, line)
        for number, line in problem_lines(content_of(path).lines())
        if line.strip()[:1] not in ("", "#", "%")
    )
    first = next(lines, None)
    if first is None or (extension not in POSITION_FORMATS and not _is_position(first[1])):
        if extension in POSITION_FORMATS:
            raise BadInput(f"{quoted(path)}: expected a position a line, in OBF or FEN")
        return None
    return _parsed(path, chain([first], lines))


def _parsed(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[GameRecord]:
    for number, line in lines:
        try:
            yield GameRecord(parse_board(line.split("%", 1)[0]), ())
        except BadInput as error:
            raise BadInput(f"{quoted(path)}: line {number}: {error}") from None


def _is_position(line: str) -> bool:
    """Return whether a line can be read as a position in OBF or FEN."""
    try:
        return parse_problem(line) is not None
    except BadInput:
        return False
