"""The record of a game, as files keep it.

A `GameRecord` has the whole history: the initial position, every move with forced passes, the time of each move, names
and clocks. Unreadable text raises `BadInput`; a game with an illegal move is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def properties(text: str, escapes: bool = False) -> list[tuple[str, str]]:
    """Return the names, in upper case, and values of the main line of the first ``(;A[x]B[y][z];)`` in a text.

    ``escapes``: backslashes in values escape. Raises `BadInput` if there is no such text, or it has no end.
    """
    at = text.find("(;")
    if at < 0:
        raise BadInput(f"{quoted(text)} is not a game: expected (;GM[Othello] ... ;)")
    found: list[tuple[str, str]] = []
    name = ""
    while True:
        opening = text.find("[", at)
        closing = text.find(")", at, opening if opening >= 0 else len(text))
        if closing >= 0:
            return found
        end = _value_end(text, opening + 1, escapes) if opening >= 0 else -1
        if end < 0:
            raise BadInput(f"{quoted(text)} has no end: expected (;GM[Othello] ... ;)")
        head = text[at:opening].rstrip()
        start = len(head)
        while start and head[start - 1].isalpha():
            start -= 1
        name = head[start:].upper() or name
        value = text[opening + 1 : end]
        found.append((name, _ESCAPE.sub(r"\1", value) if escapes else value))
        at = end + 1


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _value_end(text: str, at: int, escapes: bool) -> int:
    """Return the index at which the value that begins at ``at`` ends, -1 if it does not end."""
    end = text.find("]", at)
    while escapes and end >= 0:
        begun = end
        while begun > at and text[begun - 1] == "\\":
            begun -= 1
        if (end - begun) % 2 == 0:
            break
        end = text.find("]", end + 1)
    return end


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
    """The score of a finished game."""
    return seen_by_black(rules.final_score(position.player, position.opponent), position.black_to_move)


def parse_ggf(text: str) -> GameRecord:
    """Return the first game of a GGF text: ``(;GM[Othello]...BO[8 ...]B[f5//1.2]W[d6/-1.5/0.3];)``.

    Unknown tags are ignored. Raises `BadInput`.
    """
    tags: dict[str, str] = {}
    moves: list[tuple[bool, int, float]] = []
    for name, value in properties(text):
        if name in ("B", "W"):
            move, _, rest = value.partition("/")
            moves.append((name == "B", parse_move(move), _seconds(rest.partition("/")[2])))
        else:
            tags.setdefault(name, value.strip())
    if tags.get("GM", "othello").lower() not in ("othello", "reversi"):
        raise BadInput(f"GM[{tags['GM']}] in {quoted(text)}: expected Othello")
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
