"""The record of a game: initial position, every move with forced passes and its time, names and clocks.

Text that cannot be read raises `BadInput`; a game with an illegal move is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, escaped, in_one_line, quoted
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
"""Takes the message about a game that cannot be read."""


def complain(line: str, bad: Complain | None) -> None:
    """Pass a message to ``bad``; without it raise `BadInput`."""
    if bad is None:
        raise BadInput(line) from None
    bad(line)


class ClockTerms(NamedTuple):
    """A side's clock: milliseconds for the game, and milliseconds added after each move; both 0 without a clock."""

    main: float
    increment: float


class PlayedMove(NamedTuple):
    """A move (0..63, or a pass) and the milliseconds it took, 0 if unknown."""

    move: int
    ms: float


class GameRecord(NamedTuple):
    """A game. ``moves`` holds every forced pass; names may be empty; the clocks are Black's and White's."""

    initial: Position
    moves: tuple[PlayedMove, ...]
    black: str = ""
    white: str = ""
    black_clock: ClockTerms = ClockTerms(0.0, 0.0)
    white_clock: ClockTerms = ClockTerms(0.0, 0.0)

    @property
    def positions(self) -> list[Position]:
        """The positions before each move, and the last one."""
        positions = [self.initial]
        for played in self.moves:
            positions.append(positions[-1].after(played.move))
        return positions

    @property
    def final(self) -> Position:
        """The position after the last move."""
        return self.positions[-1]


def follow(initial: Position, moves: list[tuple[bool, int, float]]) -> tuple[PlayedMove, ...]:
    """Return a game's moves from ``initial``, missing forced passes inserted and passes after its end removed. Each of
    ``moves`` is a triple of whether it is Black's, the move, and its milliseconds.

    Raises `BadInput` for an illegal move or one of the wrong side.
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


WRITTEN_RESULT = "*"
"""The name in a `GameText` of the result that stands after the moves."""


class GameText(NamedTuple):
    """The text of a game in parts: where it begins (an index; in a format of lines the number of one), and its
    pairs of a name in upper case and a value, in order.

    A move, or a line of moves, to which the text gives no name has the name "". ``fault`` says why the text cannot be a
    game, "" if it can.
    """

    start: int
    properties: list[tuple[str, str]]
    fault: str = ""

    def tags(self) -> dict[str, str]:
        """Return the first value for each name, in one line without blanks around it."""
        return {name: plain_name(value) for name, value in reversed(self.properties)}


def plain_name(text: str) -> str:
    """Return a name in one line, without blanks around it, control characters escaped."""
    text = text.strip()
    return text if text.isprintable() else escaped(" ".join(text.split()))


# Properties that only the beginning of a game has, so that a variation is not taken for one.
_ROOT_NAMES = re.findall(r"\w\w", "GM FF CA AP ST SZ PB PW EV DT PC RE GN RO RU US SO BR WR")
# As `_property_name` reads them: GM, GaMe or gm.
_SPELLINGS = "|".join(f"{name[0]}[a-z]*{name[1]}[a-z]*|{name.lower()}" for name in _ROOT_NAMES)
_ROOT = rf"\(\s*;\s*(?:{_SPELLINGS})\s*\["
_GAME = re.compile(r"\(\s*;")
_NEXT_GAME = re.compile(_ROOT)
_MARK = re.compile(r"[\[()]")
# The beginning of a game inside a value shows that the value's end is missing: brackets in values are escaped.
_IN_VALUE = rf"\]|(?={_ROOT}[^\\\[\]]{{0,80}}\])"
_VALUE_STOPS = {False: re.compile(_IN_VALUE), True: re.compile(rf"\\.|{_IN_VALUE}", re.DOTALL)}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LONG_NAMES = {"BLACK": "B", "WHITE": "W"}


def trees(text: str, *, escapes: bool) -> Iterator[GameText]:
    """Yield the main lines of the games ``(;A[x]B[y][z];)`` in a text, in one pass.

    With ``escapes`` a backslash in a value escapes the next character. A game without its end reaches to the next one
    and has a ``fault``.
    """
    begin = _GAME.search(text)
    while begin:
        tree, end = _tree(text, begin.start(), escapes)
        yield tree
        begin = _GAME.search(text, end)


def _tree(text: str, start: int, escapes: bool) -> tuple[GameText, int]:
    """Return the game that begins at ``start``, with a ``fault`` if it has no end, and where to look for the next."""
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
    """Return the index at which the value from ``at`` ends, and whether a bracket ends it."""
    for stop in _VALUE_STOPS[escapes].finditer(text, at):
        if stop[0] in ("", "]"):
            return stop.start(), bool(stop[0])
    return len(text), False


def _property_name(text: str) -> str:
    """Return the name of the property with which a text ends. Only its capitals count, because older files write
    ``Black`` for ``B``; a name without capitals is returned in capitals, ``black`` and ``BLACK`` as ``B``.
    """
    text = text.rstrip()
    start = len(text)
    while start and text[start - 1].isalpha():
        start -= 1
    name = text[start:]
    name = "".join(c for c in name if c.isupper()) or name.upper()
    return _LONG_NAMES.get(name, name)


_ANTI = re.compile(r"anti|inverse|mis[e\u00e8]re|reverse|suicide", re.IGNORECASE)


def check_variant(text: str) -> None:
    """Raise `BadInput` if ``text`` names anti-Othello, which the fewest discs win."""
    if _ANTI.search(text):
        raise BadInput(f"{quoted(text)} is another game: expected Othello")


def ggf_text(
    record: GameRecord,
    date: str,
    place: str = "desdaemon",
    result: BlackScore | None = None,
    *,
    comment: str = "",
    scores: Sequence[MoverScore | None] = (),
    ending: str = "",
) -> str:
    """Return a game as a line of GGF. ``result`` is Black's score of an unfinished game, None for ``?``; ``ending``
    is why, as for `forfeit_mark`.

    ``date`` is written as given; ``comment`` is about the game. ``scores`` belong to the first moves, in discs for the
    mover, None for no score.
    """
    score = final_result(record, result)
    board = squares_text(record.initial).replace("X", "*")
    rows = " ".join(board[start : start + 8] for start in range(0, 64, 8))
    names = f"PB[{_plain(record.black)}]PW[{_plain(record.white)}]"
    points = "?" if score is None else f"{score}{forfeit_mark(ending)}"
    head = f"GM[Othello]PC[{_plain(place)}]DT[{date}]{names}RE[{points}]{_ggf_clocks(record)}"
    side = "*" if record.initial.black_to_move else "O"
    about = f"CO[{_plain(comment)}]" if comment else ""
    return f"(;{head}TY[8]BO[8 {rows} {side}]{about}{''.join(_ggf_moves(record, scores))};)"


_MARKS = {"time": ":t", "hang": ":t", "resigned": ":r", "illegal": ":f", "answer": ":f", "crash": ":f"}


def forfeit_mark(ending: str) -> str:
    """Return what follows a result to say why a game ended early: GGF's ``:t`` for time and ``:r`` for a resignation,
    ``:f`` for other forfeits; "" for every other ``ending`` of a match.
    """
    return _MARKS.get(ending, "")


def final_result(record: GameRecord, claimed: BlackScore | None) -> BlackScore | None:
    """Return Black's score of a finished game, empty squares counted for the winner; of another game ``claimed``."""
    final = record.final
    return black_score(final) if final.over else claimed


def _ggf_clocks(record: GameRecord) -> str:
    black, white = (_clock_text(clock) for clock in (record.black_clock, record.white_clock))
    if black == white:
        return f"TI[{black}]" if black else ""
    return (f"TB[{black}]" if black else "") + (f"TW[{white}]" if white else "")


def _clock_text(clock: ClockTerms) -> str:
    """Return a clock as GGF has it, ``5:00/0:02.5``; "" without a clock."""
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
    for ply, played in enumerate(record.moves):
        score = scores[ply] if ply < len(scores) else None
        worth = "" if score is None else f"{score:.2f}"
        fields = f"/{worth}/{played.ms / 1000:.3f}" if played.ms else f"/{worth}" if worth else ""
        texts.append(f"{'B' if black else 'W'}[{move_text(played.move)}{fields}]")
        black = not black
    return texts


def _plain(name: str) -> str:
    """Return a name without characters that would end its field in GGF."""
    return "".join(c for c in name if c.isprintable() and c not in "[]\\")


def black_score(position: Position) -> BlackScore:
    """Return Black's score of a finished game in discs, empty squares counted for the winner."""
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
    """Return the game of a GGF text. Raises `BadInput` for a fault, another game or size, and illegal moves."""
    if text.fault:
        raise BadInput(text.fault)
    moves: list[tuple[bool, int, float]] = []
    for name, value in text.properties:
        if name in ("B", "W"):
            move, _, rest = value.partition("/")
            moves.append((name == "B", parse_move(move), _seconds(rest.partition("/")[2])))
    tags = text.tags()
    if tags.get("GM", "othello").lower() not in ("othello", "reversi"):
        raise BadInput(f"GM[{in_one_line(tags['GM'])}]: expected Othello")
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
    """Raise `BadInput` for a GGS game type of anti-Othello (``8a``), of another size, or of a random start (``s8r5``)
    without its board.
    """
    type = tags.get("TY", "")[:20].lower()
    parts = re.match(r"[a-z]?(\d+)(\w*)", type, re.ASCII)
    if not parts:
        check_variant(type)
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
        raise BadInput(f"BO[{in_one_line(text)}]: expected a board of size 8")
    return parse_board(squares)


def _seconds(text: str) -> float:
    """Return a number of seconds in milliseconds; 0, for unknown, if the text is no number or is out of range."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds * 1000 if 0 <= seconds < 1e9 else 0.0


def parse_clock(text: str) -> ClockTerms:
    """Return the clock in ms of GGF's ``main/increment/grace``, each ``[[[days.]hours:]minutes:]seconds`` or empty;
    raises `BadInput`.

    The grace period is ignored, since the program does not exceed its time.
    """
    fields = [field.split(",", 1)[0].strip() for field in text.split("/")]
    times = [parse_time(field, text) if field else 0.0 for field in fields]
    return ClockTerms(times[0], times[1] if len(times) > 1 else 0.0)


def parse_time(text: str, clock: str) -> float:
    """Return the ms of ``[[[days.]hours:]minutes:]seconds``; raises `BadInput`, which quotes ``clock``."""
    fields = _TIME.fullmatch(text)
    if not fields:
        raise BadInput(f"clock {quoted(clock)}: expected main/increment/grace such as 15:00//02:00")
    days, hours, minutes, seconds = (float(part or 0) for part in fields.groups())
    return 1000 * (((days * 24 + hours) * 60 + minutes) * 60 + seconds)
