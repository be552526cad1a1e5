"""SGF: games of Othello, ``GM[2]``, from this program and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from desdaemon.protocol.errors import BadInput, in_one_line, quoted
from desdaemon.protocol.games.formats import GameDetails
from desdaemon.protocol.games.records import GameRecord, GameText, PlayedMove, final_result, follow
from desdaemon.protocol.othello.notation import START, Position
from desdaemon.protocol.othello.rules import PASS, squares
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore

from .ggf import TREE, check_variant, forfeit_mark, trees


def recognise(head: bytes, size: int) -> bool:
    """Return whether a text begins as a game in SGF, of which GGF is not told apart."""
    return bool(TREE.match(head))


def texts(text: str) -> Iterator[GameText]:
    """Yield the games of a text."""
    return trees(text, escapes=True)


def written(record: GameRecord, details: GameDetails) -> str:
    """Return a game as text."""
    day, event = details.date[:10], details.event or ""
    return sgf_text(record, day, event, details.result, details.comment, details.notes, details.ending)


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
