"""Game texts: SGF and PGN here, lists of moves by `move_lists`, GGF and JSON by `records` and `site_games`.

Forced passes are written if the format has them, and inserted if a text leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from desdaemon.protocol.errors import BadInput, in_one_line, quoted
from desdaemon.protocol.othello.notation import (
    CHESS_VARIANTS,
    START,
    Position,
    board_text,
    move_text,
    parse_board,
    parse_chess_fen,
    parse_move,
    parse_moves,
    plain_moves,
    play_moves,
)
from desdaemon.protocol.othello.rules import PASS, squares, transform
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore, MoverScore, discs_text

from .move_lists import move_lists, txt_game
from .records import (
    WRITTEN_RESULT,
    GameRecord,
    GameText,
    PlayedMove,
    check_variant,
    final_result,
    follow,
    forfeit_mark,
    ggf_game,
    ggf_text,
    trees,
)
from .site_games import json_texts

FORMATS = ("txt", "ggf", "sgf", "pgn")
LINE_FORMATS = {"txt": move_lists, "ndjson": json_texts}
"""The formats that are read line by line, with their readers of lines: the games of others may be cut anywhere."""

_PGN_TAG = r'\[\s*(\w+)\s+"((?:\\.|[^"\\\n])*)"\s*\]'
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
_NAME_AND_QUOTE = rf"[A-Za-z]\w*[ \t]*[{_QUOTES}']"
_PGN_TOKEN = re.compile(
    # A line from [ to ] has tags alone, well formed or not: quotes within the text, other quotes or none. So has one
    # with a name and a quote, if it has lost a bracket.
    rf"(?m:^)[ \t]*(\[(?!%)[^\n]*\]|\[[ \t]*{_NAME_AND_QUOTE}[^\n\]]*|{_NAME_AND_QUOTE}[^\n]*)[ \t\r]*(?m:$)"
    rf"|{_PGN_TAG}"
    # The number of a move may lack its dot, and a result may have blanks.
    r"|(\d{1,3}\s*(?=[a-hA-H][1-8]))|(?:1/2|\d{1,2})[ \t]+[-:\u2010-\u2015\u2212][ \t]+(?:1/2|\d{1,2})"
    r"|;[^\n]*|(?m:^)%[^\n]*|\$\d*|[!?]+|\d*\.+"
    r"|[{}()\[\]]|[^\s{}()\[\];$!?.]+"
)
_TAG_ENDS = r"[ \t]*(?=\[[ \t]*[A-Za-z]\w*[ \t]*[\"'\w]|$)"
_PGN_TAGS = re.compile(rf"{_PGN_TAG}{_TAG_ENDS}|\[[ \t]*(\w*)(.*?)\]{_TAG_ENDS}")
_PGN_TAG_LINE = re.compile(r"^[ \t]*\[[ \t]*[A-Za-z]\w*(?:[ \t]*[\"'][^\n]*|[ \t]+[^\n]*)?\][ \t\r]*$", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_RESULT = re.compile(r"\*|1/2(?:\s*-\s*1/2)?|\d{1,2}\s*[-:]\s*\d{1,2}|[bw]?\+\w{1,4}|-\d{1,2}", re.IGNORECASE)
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")


def game_texts(text: str, format: str) -> Iterator[GameText]:
    """Yield the games of a text in one pass; ``format`` is ``txt``, ``ggf``, ``sgf``, ``pgn`` or ``ndjson``."""
    if format in LINE_FORMATS:
        return LINE_FORMATS[format](text.splitlines(keepends=True))
    return pgn_texts(text) if format == "pgn" else trees(text, escapes=format == "sgf")


def game_of(text: GameText, format: str) -> GameRecord:
    """Return the game of a text that `game_texts` yielded; raises `BadInput`."""
    games = {"txt": txt_game, "ggf": ggf_game, "sgf": sgf_game, "pgn": pgn_game, "ndjson": json_game}
    return games[format](text)


def parse_game(text: str, format: str) -> GameRecord:
    """Return the first game of a text in ``format``, one of `FORMATS`; raises `BadInput`, also if there is none."""
    first = next(game_texts(text, format), None)
    if first is None:
        raise BadInput(f"{quoted(text)}: no game found: expected {_EXAMPLES[format]}")
    return game_of(first, format)


_EXAMPLES = {
    "txt": "a line of moves such as F5D6C3",
    "ggf": "(;GM[Othello] ... ;)",
    "sgf": "(;GM[2] ... )",
    "pgn": "moves such as 1. F5 D6 2. C3",
}


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
    round: str = "",
    ending: str = "",
) -> str:
    """Return a game as text in ``format``, one of `FORMATS`.

    ``date`` is ``2026-01-31 12:00:00`` (GMT), or only its first part such as ``2026-01-31``, or "" if unknown. With
    ``event`` None GGF names this program as the place. ``result`` is Black's score, for an unfinished game. ``comment``
    is about the game. ``notes`` (SGF, PGN) and ``scores`` (GGF; discs for the mover, None for none) have one item for
    each move from the first on and may be shorter than the game. ``round`` is for PGN, such as ``12.1``.
    ``ending`` says why a game ended early: ``time``, ``hang``, ``resigned``, ``illegal``, ``answer``, ``crash`` or
    ``adjudicated``. The format ``txt`` uses none of these.
    """
    if format == "txt":
        return txt_text(record)
    if format == "ggf":
        place = "desdaemon" if event is None else event
        day = f"{date} GMT" if " " in date else date
        return ggf_text(record, day, place, result, comment=comment, scores=scores, ending=ending) + "\n"
    if format == "sgf":
        return sgf_text(record, date[:10], event or "", result, comment, notes, ending)
    return pgn_text(record, date[:10], event or "", result, comment, notes, round, ending)


# Move lists


def txt_text(record: GameRecord) -> str:
    """Return a game as a line of moves without passes. The initial board comes first if it is not the standard one, or
    if there are no moves.
    """
    moves = "".join(move_text(played.move) for played in record.moves if played.move != PASS)
    return f"{moves}\n" if moves and record.initial == START else f"{board_text(record.initial)};{moves}\n"


def replayed(initial: Position, squares: Iterable[int]) -> tuple[PlayedMove, ...]:
    """Return the moves with missing forced passes inserted; raises `BadInput` for an illegal move."""
    return tuple(PlayedMove(move, 0.0) for move in play_moves(initial, list(squares)).moves)


# SGF


def sgf_game(text: GameText) -> GameRecord:
    """Return a game of Othello in SGF; raises `BadInput`.

    Squares are two letters, counted from the top left, or ``F5``. Programs for Go count ranks from below. Ranks are
    read like that if only then all moves are legal.
    """
    if text.fault:
        raise BadInput(text.fault)
    tags = text.tags()
    game = tags.get("GM", "2")
    if game != "2" and "gogui" not in tags.get("AP", "").lower():
        raise BadInput(f"GM[{in_one_line(game)}]: expected a game of Othello, GM[2]")
    if tags.get("SZ", "8") not in ("8", "8:8"):
        raise BadInput(f"SZ[{in_one_line(tags['SZ'])}]: expected a board of size 8")
    check_variant(tags.get("RU", ""))
    names = tags.get("PB", ""), tags.get("PW", "")
    try:
        return GameRecord(*_sgf_moves(text.properties, from_below=False), *names)
    except BadInput as error:
        try:
            return GameRecord(*_sgf_moves(text.properties, from_below=True), *names)
        except BadInput:
            raise error from None


def _sgf_moves(properties: list[tuple[str, str]], from_below: bool) -> tuple[Position, tuple[PlayedMove, ...]]:
    """Return the initial position and the moves of a game; ``from_below`` says that ranks are counted from below.
    Raises `BadInput`.
    """
    setup = {"AB": 0, "AW": 0, "AE": 0}
    moves: list[tuple[bool, int, float]] = []
    side = ""
    for name, value in properties:
        if name in ("B", "W"):
            moves.append((name == "B", _sgf_move(value, from_below), 0.0))
        elif name in setup and moves:
            raise BadInput(f"{name} after {len(moves)} moves: expected discs to be set before the first move only")
        elif name in setup:
            discs = _sgf_squares(value, from_below)
            if name == "AE":
                setup = {colour: there & ~discs for colour, there in setup.items()}
            else:
                setup[name] |= discs
        elif name == "PL" and not moves:
            side = value.strip().upper()[:1]
    black, white = setup["AB"], setup["AW"]
    if black & white:
        raise BadInput("AB and AW share a square: expected one colour for each")
    initial = START
    if black | white:
        black_to_move = side != "W" and (side == "B" or not moves or moves[0][0])
        initial = Position(black, white, True) if black_to_move else Position(white, black, False)
    return initial, follow(initial, moves)


def _sgf_squares(text: str, from_below: bool) -> int:
    """Return a mask of a square, or of the squares between two corners as in ``aa:hh``; ``from_below`` counts ranks
    from below.
    """
    first, colon, last = text.partition(":")
    corner = _sgf_square(first, from_below)
    other = _sgf_square(last, from_below) if colon else corner
    files, ranks = sorted((corner % 8, other % 8)), sorted((corner // 8, other // 8))
    return sum(1 << 8 * rank + file for rank in range(ranks[0], ranks[1] + 1) for file in range(files[0], files[1] + 1))


def _sgf_move(text: str, from_below: bool) -> int:
    return PASS if text.strip().lower() in ("", "--", "tt", "pa", "pass") else _sgf_square(text, from_below)


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
    ending: str = "",
) -> str:
    """Return a game in SGF, ten moves a line, or one move a line if there are notes. Arguments as for `game_text`."""
    lines = ["(;GM[2]FF[4]", "CA[UTF-8]", "AP[desdaemon]", "SZ[8]", f"DT[{date}]"]
    if event:
        lines.append(f"EV[{_sgf_escaped(event)}]")
    lines += [f"PB[{_sgf_escaped(record.black)}]", f"PW[{_sgf_escaped(record.white)}]"]
    score = final_result(record, result)
    if score is not None:
        mark = forfeit_mark(ending)
        discs = abs(score) if abs(score) != BARE_WIN else ""
        lines.append(f"RE[{'B' if score > 0 else 'W'}+{discs}{mark}]" if score else "RE[0]")
    if record.initial != START:
        for name, discs in (("AB", record.initial.black), ("AW", record.initial.white)):
            if discs:
                lines.append(name + "".join(f"[{_sgf_square_text(square)}]" for square in squares(discs)))
        lines.append(f"PL[{'B' if record.initial.black_to_move else 'W'}]")
    if comment:
        lines.append(f"C[{_sgf_escaped(comment)}]")
    black = record.initial.black_to_move
    moves = []
    for ply, played in enumerate(record.moves):
        text = f";{'B' if black else 'W'}[{'' if played.move == PASS else _sgf_square_text(played.move)}]"
        note = notes[ply] if ply < len(notes) else ""
        moves.append(f"{text}C[{_sgf_escaped(note)}]" if note else text)
        black = not black
    width = 1 if any(notes) else 10
    lines += ["".join(moves[start : start + width]) for start in range(0, len(moves), width)]
    return "\n".join([*lines, ")"]) + "\n"


def _sgf_escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")


# PGN


def pgn_texts(text: str) -> Iterator[GameText]:
    """Yield the games of a text in PGN: tags, and the main line's moves as values with an empty name.

    A game ends at its result or at the tags of the next, which after an empty line may follow tags alone. A line from
    ``[`` to ``]`` is a tag, well formed or not. Comments, variations and marks are passed over.
    """
    start, fault = -1, ""
    listed: list[tuple[str, str]] = []
    names: set[str] = set()
    depth = at = tagged = 0
    moved = ended = False
    while token := _PGN_TOKEN.search(text, at):
        word, at = token[0], token.end()
        if word == "{":
            at, closed = _comment_end(text, at)
            if not closed:
                fault, moved = "a comment has no end: expected }", True
            continue
        tags = _pgn_tags(token)
        if not tags and (word[0] in ";%$!?" or word[-1] == "." or token[4]):
            continue
        if word == "(" or (word == ")" and depth):
            depth += 1 if word == "(" else -1
            continue
        if depth and not tags:
            continue
        result = _RESULT.fullmatch(plain_moves(word))
        again = tags and tags[0][0] in names and _EMPTY_LINE.search(text, tagged, token.start())
        if (tags and (moved or ended or depth or again)) or (ended and not result):
            yield GameText(start, listed, fault or ("a variation has no end: expected )" if depth else ""))
            start, listed, names, fault, depth, moved, ended = -1, [], set(), "", 0, False, False
        start = token.start() if start < 0 else start
        if tags:
            listed += tags
            names.update(name for name, _ in tags)
            tagged = at
        elif result:
            ended = True
            listed.append((WRITTEN_RESULT, word))
        else:
            listed.append(("", word))
            moved = True
    if start >= 0:
        yield GameText(start, listed, fault or ("a variation has no end: expected )" if depth else ""))


def _pgn_tags(token: re.Match[str]) -> list[tuple[str, str]]:
    """Return the names and values of the tags that a token is; [] if it is none."""
    if token[2]:
        return [_pgn_tag(token[2], token[3])]
    line = (token[1] or "").rstrip()
    if line:
        line = f"{'[' * (line[0] != '[')}{line}{']' * (line[-1] != ']')}"
    found = _PGN_TAGS.finditer(line)
    return [_pgn_tag(tag[1], tag[2]) if tag[1] else (tag[3].upper() or "?", _unquoted(tag[4].strip())) for tag in found]


def _pgn_tag(name: str, value: str) -> tuple[str, str]:
    return name.upper(), value.replace('\\"', '"').replace("\\\\", "\\")


def _unquoted(value: str) -> str:
    """Return the value of a tag that is not well formed, without the quotes around it, and what is before them."""
    value = re.sub(rf"^[{_QUOTES}]|[{_QUOTES}]$", "", value.lstrip(":= \t"))
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value


def _comment_end(text: str, at: int) -> tuple[int, bool]:
    """Return the index behind a comment, whose text begins at ``at``, and whether its closing brace is there.

    Comments do not nest in PGN, but some programs nest them. A comment without its brace ends at the first line that
    looks like a tag; before a closing brace such a line is part of the comment.
    """
    depth, end = 1, 0
    while depth:
        brace = _BRACE.search(text, at)
        if brace is None or brace[0] == "{":
            if end:
                return end, True
            tag = _PGN_TAG_LINE.search(text, at, brace.start() if brace else len(text))
            if tag or brace is None:
                return tag.start() if tag else len(text), False
            depth += 1
        else:
            depth -= 1
            end = brace.end()
        at = brace.end()
    return end, True


def pgn_game(text: GameText) -> GameRecord:
    """Return a game in PGN; ``FEN`` is the initial board. Raises `BadInput`.

    A ``Variant`` marks the games of GUIs of chess, whose White moves first and is our Black.
    """
    if text.fault:
        raise BadInput(text.fault)
    tags = text.tags()
    if tags.keys() == {"?"}:
        raise BadInput(f'{quoted(tags["?"])}: expected tags such as [Black "Ann"], and moves')
    moves = [move for name, word in text.properties if not name for move in parse_moves(word)]
    check_variant(tags.get("VARIANT", ""))
    first, second = "BLACK", "WHITE"
    initial = START
    if tags.get("VARIANT", "").lower() in CHESS_VARIANTS:
        first, second = second, first
        initial = parse_chess_fen(tags["FEN"]) if "FEN" in tags else START
    elif "FEN" in tags:
        initial = parse_board(tags["FEN"])
    black, white = (_known(tags.get(colour, "")) for colour in (first, second))
    return GameRecord(initial, replayed(initial, moves), black, white)


def json_game(text: GameText) -> GameRecord:
    """Return a game that a site gives as JSON. Raises `BadInput`.

    PlayStrategy counts ranks from below. Its games are recognised by the first move, which would otherwise be illegal.
    """
    if text.fault:
        raise BadInput(text.fault)
    tags = text.tags()
    moves = [parse_move(word) for name, word in text.properties if not name]
    start, turn = START, 0
    if moves and moves[0] not in squares(START.moves):
        start, turn = Position(transform(START.player, 2), transform(START.opponent, 2), True), 56
    played = [move if move == PASS else move ^ turn for move in play_moves(start, moves).moves]
    return GameRecord(START, replayed(START, played), tags.get("BLACK", ""), tags.get("WHITE", ""))


def _known(name: str) -> str:
    return "" if name == "?" else name


_TERMINATIONS = {
    "time": "time forfeit",
    "hang": "time forfeit",
    "resigned": "resignation",
    "illegal": "rules infraction",
    "answer": "rules infraction",
    "crash": "abandoned",
    "adjudicated": "adjudication",
}
"""PGN's words for why a game ended early; it has none for a resignation."""


def pgn_text(
    record: GameRecord,
    date: str,
    event: str = "",
    result: BlackScore | None = None,
    comment: str = "",
    notes: Sequence[str] = (),
    round: str = "",
    ending: str = "",
) -> str:
    """Return a game in PGN, its result in discs, empty squares counted for the winner. Arguments as for `game_text`."""
    score = final_result(record, result)
    points = "*" if score is None else discs_text(score)
    black, white = _pgn_escaped(record.black), _pgn_escaped(record.white)
    day = f"{date.replace('-', '.')}.??.??" if len(date) == 4 else date.replace("-", ".") or "????.??.??"
    lines = [f'[Event "{_pgn_escaped(event)}"]', '[Site "desdaemon"]', f'[Date "{day}"]', f'[Round "{round or "?"}"]']
    lines += [f'[Black "{black}"]', f'[White "{white}"]', f'[Result "{points}"]']
    if ending in _TERMINATIONS:
        lines.append(f'[Termination "{_TERMINATIONS[ending]}"]')
    if record.initial != START:
        lines += ['[SetUp "1"]', f'[FEN "{fen_text(record.initial)}"]']
    words = _pgn_comment(comment)
    blacks = record.initial.black_to_move
    for ply, played in enumerate(record.moves):
        if blacks or not ply or (ply <= len(notes) and notes[ply - 1]):
            words.append(f"{(ply + (not record.initial.black_to_move)) // 2 + 1}.{'' if blacks else '..'}")
        words.append("pass" if played.move == PASS else move_text(played.move))
        words += _pgn_comment(notes[ply]) if ply < len(notes) else []
        blacks = not blacks
    return "\n".join([*lines, "", *_wrapped([*words, points]), ""])


def _pgn_comment(text: str) -> list[str]:
    """Return the words of a comment in braces; closing braces in it, which PGN cannot express, become parentheses."""
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
    """Return the board as a FEN record that `setboard` reads: rank 1 first, ``p`` black."""
    letters = {"X": "p", "O": "P", "-": "1"}
    text = board_text(position)
    ranks = ["".join(letters[c] for c in text[start : start + 8]) for start in range(0, 64, 8)]
    packed = [re.sub("1+", lambda run: str(len(run[0])), rank) for rank in ranks]
    return f"{'/'.join(packed)} {'b' if position.black_to_move else 'w'} - - 0 1"
