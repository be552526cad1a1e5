"""Writes an analysis as comments into a game file: SGF, GGF or PGN."""

from __future__ import annotations

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import format_to_write
from desdaemon.protocol.games.formats import game_text
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.rules import PASS

from .game import MARKS, AnalyzedPly, GameAnalysis, line_text, side_names

NOTE_FORMATS = ("sgf", "ggf", "pgn")
_LINE_MOVES = 12


def note_format(path: str) -> str:
    """The one of `NOTE_FORMATS` that a file's name asks for; raises `BadInput`."""
    format = format_to_write(path)
    if format not in NOTE_FORMATS:
        raise BadInput(f"{quoted(path)}: expected a file name that ends in .{', .'.join(NOTE_FORMATS)}")
    return format


def with_notes(analysis: GameAnalysis, format: str) -> str:
    """The game in that format, a comment about the players and one for each move that was chosen.

    GGF has no comments of moves: it gets their scores.
    """
    whole = analysis.whole
    notes = [_note(step) for step in analysis.steps]
    scores = [None if step.move == PASS else step.played for step in analysis.steps]
    return game_text(
        whole.record,
        format,
        whole.date,
        whole.event,
        analysis.result,
        comment=_about(analysis),
        notes=notes,
        scores=scores,
    )


def _about(analysis: GameAnalysis) -> str:
    parts = [f"{analysis.engine}, {analysis.effort}"]
    for name, black in zip(side_names(analysis.game), (True, False), strict=True):
        account = analysis.summary(black)
        parts.append(
            f"{name}: accuracy {account.accuracy:.1f} %, {account.lost} discs lost in {account.choices} choices"
        )
    if not analysis.complete:
        parts.append(f"interrupted after {len(analysis.steps)} moves")
    return "; ".join(parts)


def _note(step: AnalyzedPly) -> str:
    """``-30 exact?? G7 -2: G7 f7 E8``: the move's score and how sure it is, its mark, what was better, and the line."""
    if step.move == PASS or not step.choice:
        return ""
    text = f"{step.played:+} {step.sure}"
    if not step.lost:
        return text
    given = f", gives away {step.turned}" if step.turned else ""
    line = line_text(step.line, step.position.black_to_move, _LINE_MOVES)
    mark = f" {MARKS[step.grade]}" if step.grade else ""
    return f"{text}{mark} loses {step.lost}{given}; best {move_text(step.best)} {step.score:+}: {line}"
