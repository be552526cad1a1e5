"""Games as move lists (txt), SGF and PGN.

Forced passes are written if the format can express them, and inserted if they were left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import (
    START,
    XBOARD_VARIANTS,
    Position,
    board_text,
    move_text,
    parse_board,
    parse_move,
    parse_moves,
    parse_xboard_fen,
    play_moves,
)
from desdaemon.protocol.othello.rules import PASS, squares
from desdaemon.protocol.othello.scores import BlackScore, MoverScore

from .records import GameRecord, final_result, follow, ggf_text, parse_ggf, properties

FORMATS = ("txt", "ggf", "sgf", "pgn")

_PGN_TAG = re.compile(r'\s*\[(\w+)\s+"((?:\\.|[^"\\])*)"\s*\]\s*')
_PGN_TOKEN = re.compile(r"\{[^}]*(?:\}|$)|;[^\n]*|\d+\.+|[^\s{;]+")
_RESULTS = ("*", "1/2-1/2")


def parse_game(text: str, format: str) -> GameRecord:
    """Return the first game in a text of that format; raises `BadInput`."""
    return {"txt": parse_txt, "ggf": parse_ggf, "sgf": parse_sgf, "pgn": parse_pgn}[format](text)


def game_text(
    record: GameRecord,
    format: str,
    date: str,
    event: str | None = None,
    result: BlackScore | None = None,
    *,
    comment: str = "",
    notes: Sequence[str] = (),
    scores: Sequence[MoverScore | None] = (),
) -> str:
    """Return a game in that format, lines with their ends; ``date`` is ``2026-01-31 12:00:00``, a part of it or "".

    Without an ``event`` GGF names this program as the place. ``result`` is Black's score of an unfinished game, if
    known. ``comment`` is about the game; ``notes`` belong to the first moves in SGF and PGN, ``scores`` in GGF, from
    the mover's side, None for no score.
    """
    if format == "txt":
        return txt_text(record)
    if format == "ggf":
        place = "desdaemon" if event is None else event
        day = f"{date} GMT" if " " in date else date
        return ggf_text(record, day, place, result, comment=comment, scores=scores) + "\n"
    write = sgf_text if format == "sgf" else pgn_text
    return write(record, date[:10], event or "", result, comment, notes)


# Move lists


def parse_txt(text: str) -> GameRecord:
    """Parse a game of the first line: ``F5D6C3``, after another start as ``<board> <side>;F5D6``; ``#`` and ``%`` begin
    remarks.
    """
    for line in text.splitlines():
        if line.strip() and line.strip()[0] not in "#%":
            board, semicolon, moves = line.rpartition(";")
            initial = parse_board(board) if semicolon else START
            return _alternating(initial, parse_moves(moves))
    raise BadInput("there is no game in it: expected a line of moves such as F5D6C3")


def txt_text(record: GameRecord) -> str:
    """Return a line of moves without passes; before it the initial board, if it is another than the usual or there are
    no moves.
    """
    moves = "".join(move_text(played.move) for played in record.moves if played.move != PASS)
    return f"{moves}\n" if moves and record.initial == START else f"{board_text(record.initial)};{moves}\n"


def _alternating(initial: Position, moves: list[int]) -> GameRecord:
    """Play moves that have no colours."""
    played = play_moves(initial, moves)
    black = initial.black_to_move
    return GameRecord(initial, follow(initial, [(black ^ bool(at % 2), move, 0.0) for at, move in enumerate(played)]))


# SGF


def parse_sgf(text: str) -> GameRecord:
    """A game of Othello in SGF: files and ranks as two letters from the top left, or as ``F5``.

    Programs for Go count ranks from below; that reading is used if only it makes the moves legal. Raises `BadInput`.
    """
    listed = properties(text, escapes=True)
    game = next((value for name, value in listed if name == "GM"), "2").strip()
    if game != "2" and "gogui" not in text[:1000].lower():
        raise BadInput(f"GM[{game[:20]}]: expected a game of Othello, GM[2]")
    try:
        return _sgf_game(listed, from_below=False)
    except BadInput as error:
        try:
            return _sgf_game(listed, from_below=True)
        except BadInput:
            raise error from None


def _sgf_game(listed: list[tuple[str, str]], from_below: bool) -> GameRecord:
    setup = {"AB": 0, "AW": 0}
    names = {"PB": "", "PW": ""}
    moves: list[tuple[bool, int, float]] = []
    side = ""
    for name, value in listed:
        if name in ("B", "W"):
            moves.append((name == "B", _sgf_move(value, from_below), 0.0))
        elif name in setup and not moves:
            setup[name] |= 1 << _sgf_square(value, from_below)
        elif name == "PL" and not moves:
            side = value.strip().upper()[:1]
        elif name in names:
            names[name] = value.strip()
        elif name == "SZ" and value.strip() != "8":
            raise BadInput(f"SZ[{value[:20]}]: expected a board of size 8")
    black, white = setup["AB"], setup["AW"]
    if black & white:
        raise BadInput("AB and AW share a square: expected one colour for each")
    initial = START
    if black | white:
        black_to_move = side != "W" and (side == "B" or not moves or moves[0][0])
        initial = Position(black, white, True) if black_to_move else Position(white, black, False)
    return GameRecord(initial, follow(initial, moves), names["PB"], names["PW"])


def _sgf_move(text: str, from_below: bool) -> int:
    return PASS if text.strip().lower() in ("", "tt", "pa", "pass") else _sgf_square(text, from_below)


def _sgf_square(text: str, from_below: bool) -> int:
    lower = text.strip().lower()
    if len(lower) == 2 and lower[0] in "abcdefgh" and lower[1] in "abcdefgh12345678":
        rank = "abcdefgh".find(lower[1])
        rank = rank if rank >= 0 else int(lower[1]) - 1
        return 8 * (7 - rank if from_below else rank) + ord(lower[0]) - ord("a")
    raise BadInput(f"{quoted(text)} is not a square: expected two letters from aa to hh")


def _sgf_square_text(square: int) -> str:
    return "abcdefgh"[square & 7] + "abcdefgh"[square >> 3]


def sgf_text(
    record: GameRecord,
    date: str,
    event: str = "",
    result: BlackScore | None = None,
    comment: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return a game in SGF, ten moves a line, moves with a note on their own lines."""
    lines = ["(;GM[2]FF[4]", "CA[UTF-8]", "AP[desdaemon]", "SZ[8]", f"DT[{date}]"]
    if event:
        lines.append(f"EV[{_sgf_escaped(event)}]")
    lines += [f"PB[{_sgf_escaped(record.black)}]", f"PW[{_sgf_escaped(record.white)}]"]
    score = final_result(record, result)
    if score is not None:
        lines.append(f"RE[{'B' if score > 0 else 'W'}+{abs(score)}]" if score else "RE[0]")
    if record.initial != START:
        for name, discs in (("AB", record.initial.black), ("AW", record.initial.white)):
            if discs:
                lines.append(name + "".join(f"[{_sgf_square_text(square)}]" for square in squares(discs)))
        lines.append(f"PL[{'B' if record.initial.black_to_move else 'W'}]")
    if comment:
        lines.append(f"C[{_sgf_escaped(comment)}]")
    black = record.initial.black_to_move
    moves = []
    for at, played in enumerate(record.moves):
        text = f";{'B' if black else 'W'}[{'' if played.move == PASS else _sgf_square_text(played.move)}]"
        note = notes[at] if at < len(notes) else ""
        moves.append(f"{text}C[{_sgf_escaped(note)}]" if note else text)
        black = not black
    width = 1 if any(notes) else 10
    lines += ["".join(moves[at : at + width]) for at in range(0, len(moves), width)]
    return "\n".join([*lines, ")"]) + "\n"


def _sgf_escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")


# PGN


def parse_pgn(text: str) -> GameRecord:
    """A game in PGN, its moves as squares; ``FEN`` is the initial board. Raises `BadInput`.

    A ``Variant`` marks XBoard's games, whose White moves first and is our Black.
    """
    tags: dict[str, str] = {}
    at = 0
    while found := _PGN_TAG.match(text, at):
        tags[found[1].lower()] = found[2].replace('\\"', '"').replace("\\\\", "\\")
        at = found.end()
    moves: list[int] = []
    for token in _PGN_TOKEN.findall(text, at):
        if token[0] in "{;":
            continue
        if token in _RESULTS or re.fullmatch(r"\d{1,2}-\d{1,2}", token) or token.startswith("["):
            break
        if not re.fullmatch(r"\d+\.+", token):
            moves.append(PASS if token == "--" else parse_move(token))
    first, second = "black", "white"
    initial = START
    if tags.get("variant", "").lower() in XBOARD_VARIANTS:
        first, second = second, first
        initial = parse_xboard_fen(tags["fen"]) if "fen" in tags else START
    elif "fen" in tags:
        initial = parse_board(tags["fen"])
    record = _alternating(initial, moves)
    return record._replace(black=_known(tags.get(first, "")), white=_known(tags.get(second, "")))


def _known(name: str) -> str:
    return "" if name == "?" else name


def pgn_text(
    record: GameRecord,
    date: str,
    event: str = "",
    result: BlackScore | None = None,
    comment: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return a game in PGN, its result as discs: empty squares count for the winner."""
    score = final_result(record, result)
    ending = "*" if score is None else f"{32 + score // 2}-{32 - score // 2}"
    black, white = _pgn_escaped(record.black), _pgn_escaped(record.white)
    day = f"{date.replace('-', '.')}.??.??" if len(date) == 4 else date.replace("-", ".") or "????.??.??"
    lines = [f'[Event "{_pgn_escaped(event)}"]', '[Site "desdaemon"]', f'[Date "{day}"]', '[Round "?"]']
    lines += [f'[Black "{black}"]', f'[White "{white}"]', f'[Result "{ending}"]']
    if record.initial != START:
        lines += ['[SetUp "1"]', f'[FEN "{fen_text(record.initial)}"]']
    words = _pgn_comment(comment)
    blacks = record.initial.black_to_move
    for at, played in enumerate(record.moves):
        if blacks or not at or (at <= len(notes) and notes[at - 1]):
            words.append(f"{(at + (not record.initial.black_to_move)) // 2 + 1}.{'' if blacks else '..'}")
        words.append("pass" if played.move == PASS else move_text(played.move))
        words += _pgn_comment(notes[at]) if at < len(notes) else []
        blacks = not blacks
    return "\n".join([*lines, "", *_wrapped([*words, ending]), ""])


def _pgn_comment(text: str) -> list[str]:
    """Return the text of a comment without closing braces, which the format cannot express."""
    return f"{{{text.replace('}', ')')}}}".split() if text else []


def _pgn_escaped(name: str) -> str:
    return (name or "?").replace("\\", "\\\\").replace('"', '\\"')


def _wrapped(words: list[str]) -> list[str]:
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) < 79:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def fen_text(position: Position) -> str:
    """Return the board in the form that `setboard` takes: rank 1 first, ``p`` black."""
    letters = {"X": "p", "O": "P", "-": "1"}
    text = board_text(position)
    ranks = ["".join(letters[c] for c in text[at : at + 8]) for at in range(0, 64, 8)]
    packed = [re.sub("1+", lambda run: str(len(run[0])), rank) for rank in ranks]
    return f"{'/'.join(packed)} {'b' if position.black_to_move else 'w'} - - 0 1"
