"""Exercises as text: OBF for programs, SGF, and a page to print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from desdaemon.clients.pages.parts import head
from desdaemon.clients.pages.pictures import board
from desdaemon.protocol.errors import in_one_line
from desdaemon.protocol.games.bases import FileGame
from desdaemon.protocol.games.formats import game_text
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove
from desdaemon.protocol.games.records import GameRecord, PlayedMove
from desdaemon.protocol.othello.notation import move_text
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.spelling import plural

from .game import line_text, side_names

_LINE_MOVES = 8


class Exercise(NamedTuple):
    """A mistake of a game, with the best move (``mistake.best``) and the ``second`` best."""

    game: FileGame
    mistake: JudgedMove
    second: SearchedMove

    @property
    def side(self) -> str:
        """The side to move."""
        return "Black" if self.mistake.position.black_to_move else "White"

    @property
    def origin(self) -> str:
        """Where the position is from: players, event, date and move of the game."""
        black, white = side_names(self.game)
        parts = f"{black} - {white}", self.game.event, self.game.date, f"move {self.mistake.ply}"
        return ", ".join(in_one_line(part) for part in parts if part)

    @property
    def answer(self) -> str:
        """The best move with its line, the next best one, and how the played one is refuted."""
        mistake = self.mistake
        black = mistake.position.black_to_move
        best, played = (line_text(move.line, black, _LINE_MOVES) for move in (mistake.best, mistake.played))
        return (
            f"{move_text(mistake.best.move)} {mistake.best.score:+} ({mistake.sure}): {best}; "
            f"next {move_text(self.second.move)} {self.second.score:+}; "
            f"{move_text(mistake.move)} was played and lost {mistake.loss}: {played}"
        )


def obf(exercises: Sequence[Exercise]) -> str:
    """Return the exercises as lines of OBF: position, the scores of three moves at most, and a remark."""
    lines = []
    for exercise in exercises:
        scored = {move.move: move.score for move in (exercise.second, exercise.mistake.played, exercise.mistake.best)}
        problem = problem_text(Problem(exercise.mistake.position, scored))
        lines.append(f"{problem} % {exercise.origin}: {exercise.answer}\n")
    return "".join(lines)


def sgf(exercises: Sequence[Exercise]) -> str:
    """Return the exercises as games in SGF that begin in the position and go on with best play."""
    texts = []
    for exercise in exercises:
        game, line = exercise.game, exercise.mistake.best.line
        moves = tuple(PlayedMove(move, 0.0) for move in line)
        record = GameRecord(exercise.mistake.position, moves, game.record.black, game.record.white)
        about = f"{exercise.side} to move. {exercise.origin}"
        texts.append(game_text(record, "sgf", game.date, game.event, comment=about, notes=[exercise.answer]))
    return "".join(texts)


_STYLE = """<style>.figures{grid-template-columns:repeat(auto-fill,minmax(200px,1fr))}figure{break-inside:avoid}
.answers{break-before:page}.answers li{margin-bottom:.4rem;break-inside:avoid}</style>
"""


def page(exercises: Sequence[Exercise]) -> str:
    """Return the exercises as an HTML page to print, the answers at its end."""
    title = plural(len(exercises), "exercise")
    figures, answers = [], []
    for number, exercise in enumerate(exercises, 1):
        name = f"{number}. {exercise.side} to move"
        figures.append(
            f"<figure>{board(exercise.mistake.position, name, small=True)}"
            f"<figcaption><strong>{name}</strong></figcaption></figure>"
        )
        answers.append(f"<li>{escape(exercise.answer)}<br>{escape(exercise.origin)}</li>")
    return f"""{head(title, _STYLE)}<header><h1>{title}</h1>
<p>One move is better than all others. The answers are at the end.</p></header>
<section><div class="figures">{"".join(figures)}</div></section>
<section class="answers"><h2>Answers</h2><ol>{"".join(answers)}</ol></section>
</body>
</html>
"""


WRITERS: dict[str, Callable[[Sequence[Exercise]], str]] = {"obf": obf, "sgf": sgf, "html": page}
"""The functions that write exercises, by the extension of the file."""
