"""The analysis of a game, or of its first moves: the judged moves, and a summary for each player."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol

from desdaemon.clients.errors import DaemonError
from desdaemon.protocol.errors import BadInput
from desdaemon.protocol.games.bases import FileGame
from desdaemon.protocol.games.judgement import JudgedMove, PlayerSummary, SearchedMove, summary
from desdaemon.protocol.games.records import GameRecord, black_score
from desdaemon.protocol.othello.notation import board_text, move_text, moves_text
from desdaemon.protocol.othello.openings import numbered
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BARE_WIN, BlackScore, MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity

Data = Mapping[str, Any]

MARKS = {"blunder": "??", "mistake": "?", "inaccuracy": "?!", "": ""}
"""The sign of each grade, as in chess."""


class Judge(Protocol):
    """Judges the moves of games, each by its own score and the best move's: an engine in this process, or a daemon."""

    engine: str
    """Name and version of the engine."""

    def judge(self, record: GameRecord, effort: Data) -> Iterator[JudgedMove]:
        """Yield a judgement of each move of a game, in order, without passes.

        ``effort`` has arguments of the wire protocol: level, depth or time_ms, and book. Raises `DaemonError`.
        """


class GameAnalysis(NamedTuple):
    """An analysed game. ``steps`` are its moves, passes included, with judgements; ``result`` is Black's score or None.

    ``whole`` is the game as played; ``game`` has only the analysed moves, fewer if the analysis was interrupted.
    """

    game: FileGame
    steps: tuple[JudgedMove, ...]
    result: BlackScore | None
    engine: str
    effort: str
    whole: FileGame

    @property
    def complete(self) -> bool:
        """Whether all moves have been analysed."""
        return len(self.game.record.moves) == len(self.whole.record.moves)

    @property
    def xot(self) -> str:
        """The opening of XOT whose last position, mirrored or not, occurs in the analysed moves, such as ``XOT 17`` or
        ``XOT-small 17``; "" if there is none, or if the lists of XOT cannot be read.
        """
        return numbered([*(step.position for step in self.steps), self.game.record.final])

    @property
    def about(self) -> list[str]:
        """Event, date and `xot`, as far as known."""
        return [part for part in (self.game.event, self.game.date, self.xot) if part]

    def summary(self, black: bool) -> PlayerSummary:
        """Return the summary of the analysed moves of Black (``black``) or White."""
        return summary(self.of_side(black))

    def of_side(self, black: bool) -> list[JudgedMove]:
        """Return the analysed moves of Black (``black``) or White."""
        return [step for step in self.steps if step.position.black_to_move == black]

    @property
    def left_book(self) -> JudgedMove | None:
        """The first move that is not the book's, whose `best` may be; None if all are, or if the game did not begin in
        the book.
        """
        left = next((step for step in self.steps if step.move != PASS and not step.played.of_book), None)
        return left if left and (left is not self.steps[0] or left.best.of_book) else None

    def scores(self) -> list[BlackScore]:
        """Return Black's score before each analysed move and, if they end the game, its result."""
        scores = [step.black_score for step in self.steps]
        final = self.game.record.final
        return [*scores, black_score(final)] if final.over else scores


def analyze_game(
    game: FileGame,
    judge: Judge,
    effort: Data,
    tell: Callable[[int, int], None],
    stopped: Callable[[], bool] = lambda: False,
) -> GameAnalysis:
    """Analyse every move of a game; ``effort`` has level, depth or time_ms, and book, for `Judge.judge`.

    ``tell`` is called with the number of moves judged and that of all moves, passes left out. If the judge raises a
    `DaemonError` or `BadInput` after ``stopped`` came to return true, the analysis of the moves judged so far, perhaps
    none, is returned.
    """
    record = game.record
    total = sum(played.move != PASS for played in record.moves)
    judged: dict[int, JudgedMove] = {}
    try:
        with closing(judge.judge(record, effort)) as moves:  # type: ignore[type-var]
            for move in moves:
                judged[move.ply] = move
                tell(len(judged), total)
    except (DaemonError, BadInput):
        if not stopped():
            raise
    steps = tuple(_steps(record, judged))
    seen = game._replace(record=record._replace(moves=record.moves[: len(steps)]))
    result = black_score(record.final) if record.final.over else game.result
    return GameAnalysis(seen, steps, result, judge.engine, _effort_text(effort), game)


def _steps(record: GameRecord, judged: dict[int, JudgedMove]) -> Iterator[JudgedMove]:
    """Yield the moves in order, up to the first move that was not judged; a pass just before that move is left out too.

    A pass has the score of the next position, seen from the side that passes. A pass that ends the record has the score
    0 and the depth -1.
    """
    for ply, (position, played) in enumerate(zip(record.positions, record.moves, strict=False), 1):
        if played.move != PASS:
            if ply not in judged:
                return
            yield judged[ply]
        elif ply + 1 in judged:
            best = judged[ply + 1].best
            after = best._replace(move=PASS, score=MoverScore(-best.score), line=(PASS, *best.line))
            yield JudgedMove(ply, position, after, None)
        elif ply == len(record.moves):
            yield JudgedMove(ply, position, SearchedMove(PASS, MoverScore(0), -1, Selectivity.FULL, line=(PASS,)), None)
        else:
            return


def _effort_text(effort: Data) -> str:
    if "time_ms" in effort:
        return f"{effort['time_ms'] / 1000:g} s a position"
    return f"depth {effort['depth']}" if "depth" in effort else f"level {effort['level']}"


def as_json(analysis: GameAnalysis) -> dict[str, Any]:
    """Return an analysis as JSON data. Scores are in discs: those of moves for the side that moves, ``black_scores``
    and ``result`` for Black.
    """
    record = analysis.game.record
    return {
        "black": record.black,
        "white": record.white,
        "event": analysis.game.event,
        "date": analysis.game.date,
        "xot": analysis.xot,
        "game": analysis.game.number,
        "board": board_text(record.initial),
        "moves": moves_text([played.move for played in analysis.whole.record.moves]),
        "complete": analysis.complete,
        "result": analysis.result,
        "engine": analysis.engine,
        "effort": analysis.effort,
        "left_book": _left_data(analysis.left_book),
        "black_scores": analysis.scores(),
        "summary": {name: summary_data(analysis.summary(black)) for name, black in (("black", True), ("white", False))},
        "steps": [
            {
                "ply": step.ply,
                "side": "black" if step.position.black_to_move else "white",
                "board": board_text(step.position),
                "move": move_text(step.move).lower(),
                "played": step.played.score,
                "best": move_text(step.best.move).lower(),
                "score": step.best.score,
                "lost": step.loss,
                "accuracy": round(step.accuracy, 1),
                "grade": step.grade,
                "turned": step.turned,
                "sure": step.sure,
                "line": moves_text(step.best.line),
                "followed": moves_text(step.played.line),
            }
            for step in analysis.steps
        ],
    }


def _left_data(left: JudgedMove | None) -> dict[str, Any] | None:
    """Return where a game left the book as JSON data, with what the book had there."""
    if left is None:
        return None
    book = left.best if left.best.of_book else None
    return {
        "ply": left.ply,
        "book": move_text(book.move).lower() if book else None,
        "score": book.score if book else None,
    }


def left_book_text(left: JudgedMove) -> str:
    """Return in words where a game left the book, and what the book had there."""
    had = f"; the book had {move_text(left.best.move)} {left.best.score:+}" if left.best.of_book else ""
    return f"left the book with {left.ply}. {move_text(left.move)}{had}"


def summary_data(account: PlayerSummary) -> dict[str, Any]:
    """Return a player's summary as JSON data, with percentages and means rounded."""
    return {**account._asdict(), "accuracy": round(account.accuracy, 2), "mean": round(account.mean, 3)}


def side_names(game: FileGame) -> tuple[str, str]:
    """Return the names of Black and White; a player without a name is called by the colour."""
    return game.record.black or "Black", game.record.white or "White"


def result_text(score: int | None) -> str:
    """Return a result in words, from Black's score in discs; ``not finished`` for None."""
    if score is None:
        return "not finished"
    if score == 0:
        return "a draw"
    return f"{'Black' if score > 0 else 'White'} wins{f' by {abs(score)}' if abs(score) != BARE_WIN else ''}"


def line_text(line: Sequence[int], black: bool, most: int = 99) -> str:
    """Return a line of play with blanks between moves: Black's in upper case, White's in lower.

    If ``black``, Black moves first. At most ``most`` moves are shown.
    """
    words = []
    for move in line[:most]:
        words.append(move_text(move) if black else move_text(move).lower())
        black = not black
    return " ".join(words)
