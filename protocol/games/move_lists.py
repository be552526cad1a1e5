"""Games as lists of moves, the format txt: a line each, or over several lines; with numbers, remarks and names.

A line that is no game of its own, or whose number says so, goes on with the game before it. If it cannot, that game is
refused as a whole, because half of it would be a wrong game. A line that could be either waits for a later one that
decides; if none does, such lines are a list after a list, and refused at the start of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    board_text,
    first_move,
    moves_text,
    parse_board,
    parse_moves,
    plain_moves,
    play_moves,
    split_result,
)
from desdaemon.protocol.othello.rules import PASS

from .records import WRITTEN_RESULT, GameRecord, GameText, PlayedMove
from .results import result_in_words

_REMARK = re.compile(r"[#%].*|//.*|\{[^{}]*\}|\([^()]*\)|(?<=[a-hA-H][1-8])[!?]+|`|(?<=[a-hA-H][1-8])\s*\.+\s*$")
_BULLET = re.compile(r"^\s*[-*+>\u2022\u2023\u25e6\u00b7]\s+(?=\d|[a-h][1-8])", re.IGNORECASE)
_NAMED = re.compile(r"\s*[^\W\d](?:(?![a-h][1-8]).)*\s((?:[a-h][1-8]){2,})\s*", re.IGNORECASE)
"""Words of a name, without squares, and moves in one word."""
_MARK = r"(?:([.):])|(?=[a-hA-H][1-8]))"
_NUMBER = re.compile(rf"\s*(\d{{1,3}})\s*{_MARK}")
_NUMBERS = re.compile(rf"\b\d{{1,3}}\s*{_MARK}")
_SECOND = re.compile(r"(?<!\w)(\d{1,3})[ \t]{0,3}\.?[ \t]{0,3}(?:\.{2,}|\u2026)")
"""The number of a move and dots, before the second move of that number: ``1...``."""
_MOST_UNREAD = 1000
"""Most lines without moves after which a game may still go on."""
# A colon and an equals sign follow a name, but no move.
_FIELD_END = re.compile(r"[|\t;,]|\s-+\s|(?<![a-h][1-8])[:=]", re.IGNORECASE)


class _Line(NamedTuple):
    """A line: its ``number`` (0 without one), whether a dot or its like makes it ``sure``, whether it has several, the
    board before its moves, the moves, and the result that follows them, "" without one.

    Of a line that cannot be read, ``fault`` says why, and ``moves`` has the first move, if the line begins with one.
    """

    moves: list[int]
    board: Position | None = None
    number: int = 0
    sure: bool = False
    several: bool = False
    result: str = ""
    fault: str = ""


def _read_line(text: str) -> _Line:
    text = _REMARK.sub(" ", _BULLET.sub("", plain_moves(text)))
    # Counted move by move.
    text = _SECOND.sub(lambda number: f"{2 * int(number[1])}. ", text)
    before, semicolon, after = text.partition(";")
    board, fault = None, ""
    if semicolon:
        try:
            board, text = parse_board(before), after
        except BadInput as error:
            fault = str(error)
    try:
        return _moves_line(text.replace(";", " "), board)
    except BadInput as error:
        fault = fault or str(error)
    # Whatever begins with a move is no name and no remark: what cannot be read of it would be half of the game.
    fields = (field.strip(" \"'[]\r\n") for field in _FIELD_END.split(text))
    found = [field for field in fields if _first_move(field) not in (None, PASS)]
    if len(found) == 1:
        with suppress(BadInput):
            return _moves_line(found[0], board)
    if (named := _NAMED.fullmatch(text)) and _is_game(moves := parse_moves(named[1])):
        return _Line(moves, board)
    first = _first_move(text)
    return _Line([] if first is None else [first], board, *_number(text), fault=fault)


def _number(text: str) -> tuple[int, bool]:
    """Return the number with which a line begins, 0 without one, and whether a dot or its like marks it as one."""
    number = _NUMBER.match(text)
    return (int(number[1]), bool(number[2])) if number else (0, False)


def _first_move(text: str) -> int | None:
    """Return the move with which a line begins, after its number; None if it begins with something else."""
    number = _NUMBER.match(text)
    return first_move(text[number.end() :] if number else text)


def _moves_line(text: str, board: Position | None) -> _Line:
    """Return the line; a number or a result may be all there is. Raises `BadInput`."""
    written, result = split_result(text)
    several = len(_NUMBERS.findall(written)) > 1
    moves = parse_moves(text) if _NUMBERS.sub("", written).strip() else []
    return _Line(moves, board, *_number(text), several, result.strip())


class _Game:
    """A game as far as its lines were read, from the line with the number ``start``."""

    def __init__(self, start: int, line: _Line) -> None:
        self.start = start
        self.line = line
        self.first = START if line.board is None else line.board
        self.moves: list[int] = []
        self.written = 0
        """Number of moves as they were given; ``moves`` has the missing passes too."""
        self.last = self.first
        self.lines = 0
        self.result = ""
        """The result after the moves, "" as long as there is none."""
        self.fault = line.fault
        self.unread: list[tuple[int, str]] = []
        """The lines after the game that are no moves: their numbers, and what is wrong."""
        self.apart: list[_Game] = []
        """The games that the lines are if they are a list, as long as they could be one."""
        if not self.fault:
            try:
                self.add(line)
            except BadInput as error:
                self.fault = str(error)

    def add(self, line: _Line) -> None:
        """Add the moves of a line; raises `BadInput` if one is illegal, and then adds none."""
        played = play_moves(self.last, line.moves)
        self.moves += played.moves
        self.written += len(line.moves)
        self.last = played.last
        self.lines += 1
        self.result = line.result

    @property
    def ended(self) -> bool:
        """Whether a result follows the moves: a number alone, or a time, may be anything."""
        return self.result.strip("()") == "*" or result_in_words(self.result) is not None

    def has_number(self, number: int) -> bool:
        """Return whether the game's next move has this number, which counts two moves or one."""
        counts = {self.written, len(self.moves)}
        return number in {count // 2 + 1 for count in counts} | {count + 1 for count in counts}

    def may_go_on(self, line: _Line) -> bool:
        """Return whether the line could go on with the game: whether its first move begins no game, or has a square
        that the game has not taken yet.
        """
        if self.ended or self.last.over or not line.moves:
            return False
        first = line.moves[0]
        taken = self.last.player | self.last.opponent
        return not START.moves >> first & 1 or not (taken >> first & 1 or first in self.line.moves[:1])

    def text(self) -> GameText:
        board = [] if self.first == START else [("BOARD", board_text(self.first))]
        result = [(WRITTEN_RESULT, self.result)] if self.result else []
        return GameText(self.start, [*board, ("", moves_text(self.moves)), *result], self.fault)

    def texts(self, listed: bool) -> Iterator[GameText]:
        """Yield the game, or the games of a list (``listed``), and the lines that are none."""
        if self.apart and not listed:
            self.fault = (
                f"lines {self.start} to {self.apart[-1].start}: one game or several? "
                "Write one game in one line, or a result such as * behind each of several"
            )
        yield from [game.text() for game in self.apart if listed] or [self.text()]
        for number, fault in self.unread:
            yield GameText(number, [], fault)


def move_lists(lines: Iterable[str]) -> Iterator[GameText]:
    """Yield the games of lines of moves, each as one line of moves with its passes, after the ``BOARD`` if it is not
    the standard start; it starts at the number of its first line, from 1. A game that cannot be read, and a line that
    belongs to none, have a ``fault``.
    """
    game: _Game | None = None
    # Whether there were games, each of one line.
    listed = False
    for number, words in enumerate(lines, 1):
        if words.strip()[:1] in ("", "#", "%", ";") or words.strip().startswith("//"):
            continue
        line = _read_line(words)
        if line.board is None and not line.moves:
            if game and line.fault:
                game.unread.append((number, line.fault))
                if len(game.unread) > _MOST_UNREAD:
                    yield from game.texts(listed)
                    game = None
            elif game:
                game.result = game.result if game.ended else line.result
            elif line.fault:
                yield GameText(number, [], line.fault)
        elif game and _goes_on(game, line, number, listed):
            continue
        else:
            if game:
                yield from game.texts(listed)
                listed = game.lines == 1 or (listed and (not game.lines or bool(game.apart)))
            game = _Game(number, line)
    if game:
        yield from game.texts(listed)


def _goes_on(game: _Game, line: _Line, number: int, listed: bool) -> bool:
    """Return whether a line of this ``number`` is a part of the game, and add it. If it is a part that does not fit,
    the game gets a ``fault``; in a list of games (``listed``) such a line is a bad game of its own.
    """
    if game.last.over and set(line.moves) == {PASS}:
        return True
    if line.board is not None or line.number == 1 or not game.may_go_on(line):
        return False
    alone = not line.fault and _is_game(line.moves)
    numbered = line.sure or game.has_number(line.number)
    wrong, at = line.fault, number
    # A game over several lines, or with several numbers, goes on.
    decided = not alone or (game.lines > 1 and not game.apart) or game.line.several or numbered
    if not game.fault and not wrong and (not numbered or game.has_number(line.number)):
        try:
            # What could not be read may have had moves.
            if not game.unread:
                game.add(line)
                apart = game.apart or [_Game(game.start, game.line)]
                game.apart = [] if decided else [*apart, _Game(number, line)]
                return True
            play_moves(game.last, line.moves)
            at, wrong = game.unread[0]
        except BadInput as error:
            wrong = str(error)
    in_order = line.number == game.line.number + 1 and not game.line.several
    if (alone or (listed and (game.lines < 2 or game.apart))) and (not numbered or in_order):
        return False
    game.fault = game.fault or f"line {at}: {wrong or f'the number {line.number} is not that of its next move'}"
    game.unread.clear()
    game.apart.clear()
    return True


def _is_game(moves: list[int]) -> bool:
    try:
        return bool(play_moves(START, moves))
    except BadInput:
        return False


def txt_game(text: GameText) -> GameRecord:
    """Return a game of `move_lists`. Raises `BadInput`."""
    if text.fault:
        raise BadInput(text.fault)
    tags = text.tags()
    initial = parse_board(tags["BOARD"]) if "BOARD" in tags else START
    moves = play_moves(initial, parse_moves(tags[""])).moves
    return GameRecord(initial, tuple(PlayedMove(move, 0.0) for move in moves))
