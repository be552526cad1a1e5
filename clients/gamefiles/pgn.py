"""PGN: games with tags and numbered moves, as programs and people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.formats import GameDetails, replayed
from desdaemon.protocol.games.records import WRITTEN_RESULT, GameRecord, GameText, final_result
from desdaemon.protocol.othello.notation import (
    CHESS_VARIANTS,
    START,
    Position,
    board_text,
    move_text,
    parse_board,
    parse_chess_fen,
    parse_moves,
    plain_moves,
)
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, discs_text

from .ggf import check_variant

# A tag, with remarks before it.
_HEAD = re.compile(rb"(?:(?:[;%#][^\n]*\n|\{[^}]*\})\s*)*\[[ \t]*\w")

_PGN_TAG = r'\[\s*(\w+)\s+"((?:\\.|[^"\\\n])*)"\s*\]'
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb'
_NAME_AND_QUOTE = rf"[A-Za-z]\w*[ \t]*[{_QUOTES}']"
_MARK = r"(?:[!?=\u00b1\u2213\u2a71\u2a72\u221e]|\+/?-(?!\d)|-/?\+(?!\d))+"
"""What a move, or the position after it, is worth, in the signs of books on chess."""
_PGN_TOKEN = re.compile(
    # A line from [ to ] has tags alone, well formed or not: quotes within the text, other quotes or none. So has one
    # with a name and a quote, if it has lost a bracket.
    rf"(?m:^)[ \t]*(\[(?!%)[^\n]*\]|\[[ \t]*{_NAME_AND_QUOTE}[^\n\]]*|{_NAME_AND_QUOTE}[^\n]*)[ \t\r]*(?m:$)"
    rf"|{_PGN_TAG}"
    # The number of a move may lack its dot, and a result may have blanks.
    r"|(\d{1,3}\s*(?=[a-hA-H][1-8]))|(?:1/2|\d{1,2})[ \t]+[-:\u2010-\u2015\u2212][ \t]+(?:1/2|\d{1,2})"
    r"|0[.,]5[ \t]*[-:\u2010-\u2015\u2212][ \t]*0[.,]5"
    rf"|;[^\n]*|(?m:^)%[^\n]*|\$\d*|{_MARK}|\d*\.+"
    r"|[{}()\[\]]|[^\s{}()\[\];$!?.]+"
)
_TAG_ENDS = r"[ \t]*(?=\[[ \t]*[A-Za-z]\w*[ \t]*[\"'\w]|$)"
# A name may have a hyphen or a dot, or two words before a quoted value.
_PGN_TAGS = re.compile(
    rf"{_PGN_TAG}{_TAG_ENDS}|\[[ \t]*((?:\w[\w.-]*(?:[ \t]+\w+(?=[ \t]*\"[^\"]*\"[ \t]*\]))?)?)(.*?)\]{_TAG_ENDS}"
)
_MOVES = re.compile(r"\W*(?:\d{1,3}\W*)?(?:[a-h][1-8])+(?!\w)", re.IGNORECASE)
"""What is within brackets as a tag is, and has moves."""
_NAMED_MOVES = re.compile(r"(?:[a-h][1-8]\W*){2,}|.*\b1\.\s*[a-h][1-8]\b.*", re.IGNORECASE)
_PGN_TAG_LINE = re.compile(r"^[ \t]*\[[ \t]*[A-Za-z]\w*(?:[ \t]*[\"'][^\n]*|[ \t]+[^\n]*)?\][ \t\r]*$", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_RESULT = re.compile(
    r"\*|0[.,]5\s*[-:]\s*0[.,]5|1/2(?:\s*-\s*1/2)?|\d{1,2}\s*[-:]\s*\d{1,2}|[bw]?\+\w{1,4}|-\d{1,2}", re.IGNORECASE
)
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")


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
        if not tags and (word[0] in ";%$" or re.fullmatch(_MARK, word) or word[-1] == "." or token[4]):
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
    for name, value in tags.items():
        within = f"{name} {value}".removeprefix("? ")
        if tags.keys() == {"?"} or (name not in ("", WRITTEN_RESULT) and _MOVES.match(within)):
            raise BadInput(f'{quoted(within)}: expected tags such as [Black "Ann"], and moves without brackets')
    moves = [move for name, word in text.properties if not name for move in parse_moves(word)]
    if not moves and any(map(_NAMED_MOVES.fullmatch, tags.values())):
        raise BadInput("moves within brackets: expected moves without")
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


def recognise(head: bytes, size: int) -> bool:
    """Return whether a text begins with a tag."""
    return bool(_HEAD.match(head))


def written(record: GameRecord, details: GameDetails) -> str:
    """Return a game as text."""
    day, event = details.date[:10], details.event or ""
    more = (details.comment, details.notes, details.round, details.ending)
    return pgn_text(record, day, event, details.result, *more)
