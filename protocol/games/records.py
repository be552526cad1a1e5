"""The record of a game, as files keep it.

A `GameRecord` has the whole history: the initial position, every move with forced passes, the time of each move, names
and clocks. Unreadable text raises `BadInput`; a game with an illegal move is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import (
    START,
    Position,
    illegal_move,
    move_text,
    parse_board,
    parse_move,
    squares_text,
)
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, MoverScore, seen_by_black

_TIME = re.compile(r"(?:(?:(?:(\d{1,4})\.)?(\d{1,6}):)?(\d{1,6}):)?(\d{1,6}(?:\.\d{1,6})?)")


Complain = Callable[[str], None]
"""A function that takes the message about a game that cannot be read."""


def complain(line: str, bad: Complain | None) -> None:
    """Pass a message to ``bad``; without it raise the message as `BadInput`."""
    if bad is None:
        raise BadInput(line) from None
    bad(line)


class ClockTerms(NamedTuple):
    """A side's clock: ms for the game, and ms added after each move; both 0 without a clock."""

    main: float
    increment: float


class PlayedMove(NamedTuple):
    """A move (0..63 or a pass) and the milliseconds it took, 0 if unknown."""

    move: int
    ms: float


class GameRecord(NamedTuple):
    """A game. ``moves`` holds every forced pass; names may be empty; clocks are Black's and White's."""

    initial: Position
    moves: tuple[PlayedMove, ...]
    black: str = ""
    white: str = ""
    black_clock: ClockTerms = ClockTerms(0.0, 0.0)
    white_clock: ClockTerms = ClockTerms(0.0, 0.0)

    @property
    def final(self) -> Position:
        """The position after the last move."""
        position = self.initial
        for played in self.moves:
            position = position.after(played.move)
        return position


def follow(initial: Position, moves: list[tuple[bool, int, float]]) -> tuple[PlayedMove, ...]:
    """Play moves from ``initial``; each is given with whether it is Black's, and its ms.

    A forced pass that was left out is inserted, a needless pass after the end is removed. Raises `BadInput`.
    """
    position = initial
    played: list[PlayedMove] = []
    for number, (black, move, ms) in enumerate(moves, 1):
        if move == PASS and position.over:
            continue
        if black != position.black_to_move and move != PASS and position.must_pass:
            played.append(PlayedMove(PASS, 0.0))
            position = position.after(PASS)
        if black != position.black_to_move:
            raise BadInput(
                f"move {number} is {'Black' if black else 'White'}'s: expected one of "
                f"{'Black' if position.black_to_move else 'White'}"
            )
        try:
            position = position.after(move)
        except rules.IllegalMove:
            raise BadInput(illegal_move(position, move, number)) from None
        played.append(PlayedMove(move, ms))
    return tuple(played)


class GameText(NamedTuple):
    """A game as its text has it: the index where it begins, and what it holds in order, names in upper case and values.

    A move or a line of moves without a name has an empty one. ``fault`` says what the text of the game lacks.
    """

    start: int
    properties: list[tuple[str, str]]
    fault: str = ""

    def tags(self) -> dict[str, str]:
        """Return the first value of each name."""
        return {name: value.strip() for name, value in reversed(self.properties)}


# Only a game, not a variation in it, begins with one of these.
_ROOT = r"\(\s*;\s*(?:GM|GaMe|FF|CA|AP|ST|SZ|PB|PW|EV|DT|PC|RE)\s*\["
_GAME = re.compile(r"\(\s*;")
_NEXT_GAME = re.compile(_ROOT)
_MARK = re.compile(r"[\[()]")
# A game within a value shows that the value has no end: the brackets of a game that it quotes are escaped.
_IN_VALUE = rf"\]|(?={_ROOT}[^\\\[\]]{{0,80}}\])"
_VALUE_STOPS = {False: re.compile(_IN_VALUE), True: re.compile(rf"\\.|{_IN_VALUE}", re.DOTALL)}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def trees(text: str, *, escapes: bool) -> Iterator[GameText]:
    """Yield the main lines of the games ``(;A[x]B[y][z];)`` in a text, in one pass over it.

    ``escapes`` are backslashes in values. A game without its end goes up to the next one.
    """
    begin = _GAME.search(text)
    while begin:
        tree, end = _tree(text, begin.start(), escapes)
        yield tree
        begin = _GAME.search(text, end)


def _tree(text: str, start: int, escapes: bool) -> tuple[GameText, int]:
    """Return the game that begins at ``start``, and the index at which to look for the next one."""
    listed: list[tuple[str, str]] = []
    name = ""
    depth = 0
    main_line = True
    at = start
    while mark := _MARK.search(text, at):
        here, at, begun = mark.start(), mark.end(), at
        if mark[0] == "(":
            if depth and _NEXT_GAME.match(text, here):
                return GameText(start, listed, "it has no end: expected )"), here
            depth += 1
        elif mark[0] == ")":
            main_line = False
            depth -= 1
            if not depth:
                return GameText(start, listed), at
        else:
            end, closed = _value_end(text, at, escapes)
            name = _property_name(text[begun:here]) or name
            if not closed:
                return GameText(start, listed, f"the value of {name} has no end: expected ]"), end
            if main_line:
                value = text[at:end]
                listed.append((name, _ESCAPE.sub(r"\1", value) if escapes else value))
            at = end + 1
    return GameText(start, listed, "it has no end: expected )"), len(text)


def _value_end(text: str, at: int, escapes: bool) -> tuple[int, bool]:
    """Return the index at which the value that begins at ``at`` ends, and whether a bracket ends it."""
    for stop in _VALUE_STOPS[escapes].finditer(text, at):
        if stop[0] in ("", "]"):
            return stop.start(), bool(stop[0])
    return len(text), False


def _property_name(text: str) -> str:
    """Return the name at the end of a text; older files write ``Black`` for ``B``."""
    text = text.rstrip()
    start = len(text)
    while start and text[start - 1].isalpha():
        start -= 1
    name = text[start:]
    return "".join(c for c in name if c.isupper()) or name.upper()


def check_variant(text: str) -> None:
    """Raise `BadInput` for a name of anti-Othello, which the fewest discs win."""
    if "anti" in text.lower():
        raise BadInput(f"{quoted(text)} is another game: expected Othello")


def ggf_text(
    record: GameRecord,
    date: str,
    place: str = "desdaemon",
    result: BlackScore | None = None,
    *,
    comment: str = "",
    scores: Sequence[MoverScore | None] = (),
) -> str:
    """Return a game as a line of GGF. The result of an unfinished one is ``result``, Black's score, or ``?``.

    ``scores`` are those of the first moves, from the mover's side, None for no score.
    """
    score = final_result(record, result)
    board = squares_text(record.initial).replace("X", "*")
    rows = " ".join(board[at : at + 8] for at in range(0, 64, 8))
    names = f"PB[{_plain(record.black)}]PW[{_plain(record.white)}]"
    head = f"GM[Othello]PC[{_plain(place)}]DT[{date}]{names}RE[{'?' if score is None else score}]{_ggf_clocks(record)}"
    side = "*" if record.initial.black_to_move else "O"
    about = f"CO[{_plain(comment)}]" if comment else ""
    return f"(;{head}TY[8]BO[8 {rows} {side}]{about}{''.join(_ggf_moves(record, scores))};)"


def final_result(record: GameRecord, claimed: BlackScore | None) -> BlackScore | None:
    """Return Black's score of a finished game, empty squares to the winner; of an unfinished one the claimed score."""
    final = record.final
    return black_score(final) if final.over else claimed


def _ggf_clocks(record: GameRecord) -> str:
    black, white = (_clock_text(clock) for clock in (record.black_clock, record.white_clock))
    if black == white:
        return f"TI[{black}]" if black else ""
    return (f"TB[{black}]" if black else "") + (f"TW[{white}]" if white else "")


def _clock_text(clock: ClockTerms) -> str:
    """Return ``5:00/0:02.5``, or "" without a clock."""
    if not clock.main and not clock.increment:
        return ""
    increment = f"/{_time_text(clock.increment)}" if clock.increment else ""
    return f"{_time_text(clock.main)}{increment}"


def _time_text(ms: float) -> str:
    minutes, rest = divmod(round(ms), 60_000)
    fraction = f".{rest % 1000:03}".rstrip("0") if rest % 1000 else ""
    return f"{minutes}:{rest // 1000:02}{fraction}"


def _ggf_moves(record: GameRecord, scores: Sequence[MoverScore | None]) -> list[str]:
    black = record.initial.black_to_move
    texts = []
    for at, played in enumerate(record.moves):
        score = scores[at] if at < len(scores) else None
        worth = "" if score is None else f"{score:.2f}"
        fields = f"/{worth}/{played.ms / 1000:.3f}" if played.ms else f"/{worth}" if worth else ""
        texts.append(f"{'B' if black else 'W'}[{move_text(played.move)}{fields}]")
        black = not black
    return texts


def _plain(name: str) -> str:
    """Return a name without characters that would end its field."""
    return "".join(c for c in name if c.isprintable() and c not in "[]\\")


def black_score(position: Position) -> BlackScore:
    """Return the score of a finished game."""
    return seen_by_black(rules.final_score(position.player, position.opponent), position.black_to_move)


def parse_ggf(text: str) -> GameRecord:
    """Return the first game of a GGF text: ``(;GM[Othello]...BO[8 ...]B[f5//1.2]W[d6/-1.5/0.3];)``.

    Unknown tags are ignored. Raises `BadInput`.
    """
    first = next(trees(text, escapes=False), None)
    if first is None:
        raise BadInput(f"{quoted(text)} is not a game: expected (;GM[Othello] ... ;)")
    return ggf_game(first)


def ggf_game(text: GameText) -> GameRecord:
    """Return the game of a GGF text. Raises `BadInput`."""
    if text.fault:
        raise BadInput(text.fault)
    moves: list[tuple[bool, int, float]] = []
    for name, value in text.properties:
        if name in ("B", "W"):
            move, _, rest = value.partition("/")
            moves.append((name == "B", parse_move(move), _seconds(rest.partition("/")[2])))
    tags = text.tags()
    if tags.get("GM", "othello").lower() not in ("othello", "reversi"):
        raise BadInput(f"GM[{tags['GM'][:20]}]: expected Othello")
    _check_type(tags)
    initial = _ggf_board(tags["BO"]) if "BO" in tags else START
    both = tags.get("TI", "")
    return GameRecord(
        initial,
        follow(initial, moves),
        tags.get("PB", ""),
        tags.get("PW", ""),
        parse_clock(tags.get("TB", both)),
        parse_clock(tags.get("TW", both)),
    )


def _check_type(tags: dict[str, str]) -> None:
    """Raise `BadInput` for a type of GGS that is another game, as ``8a`` is, or has a random start, as ``s8r5`` has."""
    type = tags.get("TY", "")[:20].lower()
    parts = re.fullmatch(r"s?(\d+)(\w*)", type, re.ASCII)
    if not parts:
        return
    if parts[1] != "8":
        raise BadInput(f"TY[{type}]: expected a board of size 8")
    if "a" in parts[2]:
        raise BadInput(f"TY[{type}] is anti-Othello, another game: expected Othello")
    if "r" in parts[2] and "BO" not in tags:
        raise BadInput(f"TY[{type}] begins on a random board: expected it as BO[8 ...]")


def _ggf_board(text: str) -> Position:
    size, _, squares = text.partition(" ")
    if size != "8":
        raise BadInput(f"BO[{text[:80]}]: expected a board of size 8")
    return parse_board(squares)


def _seconds(text: str) -> float:
    """Return the milliseconds of a number of seconds; 0, unknown, for any other text."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds * 1000 if 0 <= seconds < 1e9 else 0.0


def parse_clock(text: str) -> ClockTerms:
    """Return a GGF clock, ``main/increment/grace``, each ``[days.]hours:minutes:seconds`` from the right; raises
    `BadInput`.

    The grace period is ignored: the program does not exceed its time.
    """
    fields = [field.split(",", 1)[0].strip() for field in text.split("/")]
    times = [_time(field, text) if field else 0.0 for field in fields]
    return ClockTerms(times[0], times[1] if len(times) > 1 else 0.0)


def _time(text: str, clock: str) -> float:
    found = _TIME.fullmatch(text)
    if not found:
        raise BadInput(f"clock {quoted(clock)}: expected main/increment/grace such as 15:00//02:00")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 1000 * (((days * 24 + hours) * 60 + minutes) * 60 + seconds)
