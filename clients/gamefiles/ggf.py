"""GGF, the format of the Generic Game Server, and the trees of properties that it has in common with SGF.

Text that cannot be read raises `BadInput`; a game with an illegal move is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from desdaemon.protocol.errors import BadInput, in_one_line, quoted
from desdaemon.protocol.games.formats import GameDetails
from desdaemon.protocol.games.records import ClockTerms, GameRecord, GameText, final_result, follow
from desdaemon.protocol.othello.notation import START, Position, move_text, parse_board, parse_move, squares_text
from desdaemon.protocol.othello.scores import BlackScore, MoverScore

_TIME = re.compile(r"(?:(?:(?:(\d{1,4})\.)?(\d{1,6}):)?(\d{1,6}):)?(\d{1,6}(?:\.\d{1,6})?)")


TREE = re.compile(
    rb"(?:\d+\s*)?\(\s*;|(?:(?![a-h][1-8])[^\[\]{}\"]){0,400}\(\s*;\s*(?:GM|FF|GaMe|FileFormat)\[", re.IGNORECASE
)
"""The beginning of a text of games in GGF or SGF; words may come first, as in a log, but no moves."""

# Properties that only the beginning of a game has, so that a variation is not taken for one.
_ROOT_NAMES = re.findall(r"\w\w", "GM FF CA AP ST SZ PB PW EV DT PC RE GN RO RU US SO BR WR")
# As `_property_name` reads them: GM, GaMe or gm.
_SPELLINGS = "|".join(f"{name[0]}[a-z]*{name[1]}[a-z]*|{name.lower()}" for name in _ROOT_NAMES)
_ROOT = rf"\(\s*;\s*(?:{_SPELLINGS})\s*\["
_GAME = re.compile(r"\(\s*;")
_MOVES = re.compile(r"(?:\b(?:B|W|Black|White)\s*\[[^\[\]\n]{2,30}\][\s;]*){2,}", re.IGNORECASE)
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
    and has a ``fault``; so have moves that are outside of games, where one has lost its beginning.
    """
    end, fault = 0, ""
    while True:
        begin = _GAME.search(text, end)
        stray = None if fault else _MOVES.search(text, end, begin.start() if begin else len(text))
        if stray:
            yield GameText(stray.start(), [], "moves outside of a game: expected (; before them")
        if not begin:
            return
        tree, end = _tree(text, begin.start(), escapes)
        fault = tree.fault
        yield tree


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


_ANOTHER = re.compile(
    r"anti|inverse|mis[e\u00e8]re|reverse|suicide|grand|octagon"
    # Boards of other sizes: Flipello10, Othello 6x6.
    r"|(?:flipello|othello|reversi)-?(?!8(?!\d))\d|(?<!\d)(?!8 ?[x\u00d7] ?8(?!\d))\d\d? ?[x\u00d7] ?\d",
    re.IGNORECASE,
)


def check_variant(text: str) -> None:
    """Raise `BadInput` if ``text`` names another game: one that the fewest discs win, or with another board."""
    if _ANOTHER.search(text):
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


def recognise(head: bytes, size: int) -> bool:
    """Return whether a text begins as a game in GGF."""
    return bool(TREE.match(head) and re.search(rb"GM\[(?:othello|reversi)", head, re.IGNORECASE))


def texts(text: str) -> Iterator[GameText]:
    """Yield the games of a text."""
    return trees(text, escapes=False)


def written(record: GameRecord, details: GameDetails) -> str:
    """Return a game as a line; without an event this program is the place."""
    place = "desdaemon" if details.event is None else details.event
    day = f"{details.date} GMT" if " " in details.date else details.date
    text = ggf_text(
        record, day, place, details.result, comment=details.comment, scores=details.scores, ending=details.ending
    )
    return text + "\n"
