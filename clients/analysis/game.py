"""Analysis of a game: for each move its score, the best move and its loss; for each player the accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from desdaemon.clients.errors import DaemonError
from desdaemon.protocol.games.bases import FileGame
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import Position, board_text, move_text, moves_text, parse_move, parse_moves
from desdaemon.protocol.othello.rules import PASS, transform, transform_move
from desdaemon.protocol.othello.scores import BlackScore, MoverScore, seen_by_black

Data = Mapping[str, Any]

GRADES = ((10, "blunder"), (4, "mistake"), (2, "inaccuracy"))
"""From how many discs lost on a move is called that."""
MARKS = {"blunder": "??", "mistake": "?", "inaccuracy": "?!", "": ""}
"""As in chess."""

HALF_ACCURACY = 4
"""A move that loses so many discs is half as accurate as the best one, one that loses twice as many a quarter."""

_CHUNK = 8
"""Moves that are asked about at once; what an interruption leaves is whole chunks."""


class AnalysisSource(Protocol):
    """The interface of a source of analyses, a child process or a daemon: answers the operation ``analyze``."""

    def analyze(self, requests: Sequence[Data], tell: Callable[[Data], None]) -> list[Data]:
        """The final data of each request; ``tell`` is called with each partial. Raises `DaemonError`."""


class AnalyzedPly(NamedTuple):
    """A move with its analysis. Scores are discs from the mover's side, empty squares to the winner.

    ``number`` is the ply from 1, passes counted. ``best`` is the move with the highest score, ``played`` the score of
    the move made, ``lost`` the difference, never below 0. ``sure`` is the depth of both searches: ``exact``, ``16`` or
    ``21@73%``. ``line`` begins with the best move, ``followed`` with the one made. A forced pass has the scores of the
    position after it.
    """

    number: int
    position: Position
    move: int
    best: int
    score: MoverScore
    played: MoverScore
    sure: str
    line: str
    followed: str

    @property
    def lost(self) -> int:
        """Discs given away."""
        return max(0, self.score - self.played)

    @property
    def choice(self) -> bool:
        """Whether the move had a legal alternative."""
        return self.position.moves.bit_count() > 1

    @property
    def accuracy(self) -> float:
        """Percent: 100 for a best move, half of it for every `HALF_ACCURACY` discs lost."""
        return 100 * math.exp2(-self.lost / HALF_ACCURACY)

    @property
    def black_score(self) -> BlackScore:
        """The score of the position before the move, from Black's side."""
        return seen_by_black(max(self.score, self.played), self.position.black_to_move)

    @property
    def grade(self) -> str:
        """``blunder``, ``mistake``, ``inaccuracy`` or empty."""
        return next((name for least, name in GRADES if self.lost >= least), "")

    @property
    def turned(self) -> str:
        """The change of the proved outcome by the move: ``the win``, ``the draw`` it lost, or empty."""
        if self.sure != "exact":
            return ""
        if self.score > 0 >= self.played:
            return "the win"
        return "the draw" if self.score == 0 > self.played else ""


class PlayerSummary(NamedTuple):
    """One player's moves, forced ones left out: the number of best moves, and the discs lost by the others.

    ``accuracy`` is the mean of the moves' accuracies in percent, 100 for a player without a choice. ``grades`` counts
    blunders, mistakes and inaccuracies; ``worst`` is the number of the worst move, 0 for none.
    """

    choices: int
    best: int
    lost: int
    accuracy: float
    grades: dict[str, int]
    worst: int

    @property
    def mean(self) -> float:
        """Discs lost a choice."""
        return self.lost / self.choices if self.choices else 0.0


class GameAnalysis(NamedTuple):
    """An analyzed game: its moves, the program and the depth of the searches; ``result`` is Black's score, None if
    unknown.

    ``whole`` is the game as played. If the analysis was interrupted, ``game`` has only the moves analyzed so far.
    """

    game: FileGame
    steps: tuple[AnalyzedPly, ...]
    result: BlackScore | None
    engine: str
    effort: str
    whole: FileGame

    @property
    def complete(self) -> bool:
        """Whether all moves have been analyzed."""
        return len(self.game.record.moves) == len(self.whole.record.moves)

    def summary(self, black: bool) -> PlayerSummary:
        """The summary of a player."""
        chosen = [step for step in self.steps if step.position.black_to_move == black and step.choice]
        grades = {name: sum(step.grade == name for step in chosen) for _, name in GRADES}
        worst = max(chosen, key=lambda step: (step.lost, -step.number), default=None)
        return PlayerSummary(
            len(chosen),
            sum(step.lost == 0 for step in chosen),
            sum(step.lost for step in chosen),
            sum(step.accuracy for step in chosen) / len(chosen) if chosen else 100.0,
            grades,
            worst.number if worst and worst.lost else 0,
        )

    def scores(self) -> list[BlackScore]:
        """The scores before each move from Black's side, then the result if it is known."""
        found = [step.black_score for step in self.steps]
        final = self.game.record.final
        return [*found, black_score(final)] if final.over else found


def analyze_game(
    game: FileGame,
    source: AnalysisSource,
    engine: str,
    effort: Data,
    tell: Callable[[int, int], None],
    stopped: Callable[[], bool] = lambda: False,
) -> GameAnalysis:
    """Analyse every move of a game; ``effort`` holds the wire protocol's level, depth, time_ms or book.

    ``tell`` is called with the number of positions done, and their total. When ``stopped`` returns true, the analysis
    of the first moves is returned as far as it came. Raises `DaemonError`.
    """
    record = game.record
    asked = [at for at, played in enumerate(record.moves) if played.move != PASS]
    positions = [record.initial]
    for played in record.moves:
        positions.append(positions[-1].after(played.move))
    known = _PositionAnswers(game, source, effort, positions)
    end = len(record.moves)
    done = 0

    def count(data: Data) -> None:
        nonlocal done
        if data.get("done", True):
            done += 1
            tell(done, len(asked))

    try:
        for at in range(0, len(asked), _CHUNK):
            known.ask(asked[at : at + _CHUNK], count)
    except (DaemonError, KeyboardInterrupt):
        if not stopped():
            raise
        end = next((at for at in asked if at not in known.answers), end)
        # A pass is known by the position after it.
        while 0 < end < len(record.moves) and record.moves[end - 1].move == PASS:
            end -= 1
    seen = game if end == len(record.moves) else game._replace(record=record._replace(moves=record.moves[:end]))
    final = positions[-1]
    result = black_score(final) if final.over else game.result
    steps = tuple(_steps(seen, positions, known.answers, known.chosen))
    return GameAnalysis(seen, steps, result, engine, _effort_text(effort), game)


class _PositionAnswers:
    """Replies by the number of the position: for the best move, and for the move made where it is another one."""

    def __init__(self, game: FileGame, source: AnalysisSource, effort: Data, positions: list[Position]) -> None:
        self.answers: dict[int, Data] = {}
        self.chosen: dict[int, Data] = {}
        self._game, self._source, self._effort, self._positions = game, source, effort, positions

    def ask(self, chunk: list[int], count: Callable[[Data], None]) -> None:
        """Request some positions. Moves that were not the best are searched separately as well."""
        record = self._game.record
        moves = moves_text([played.move for played in record.moves])
        question = {"board": board_text(record.initial), "moves": moves, "plies": chunk, **self._effort}
        found = self._source.analyze([question], count)[0]["plies"]
        answers = {at: answer["moves"][0] for at, answer in zip(chunk, found, strict=True)}
        chosen: dict[int, Data] = {}
        others = []
        for at in chunk:
            best, played = parse_move(answers[at]["move"]), record.moves[at].move
            same = None if best == played else _same_after(self._positions[at], best, played)
            if same is not None:
                answers[at] = chosen[at] = _turned(answers[at], same)
            elif best != played:
                others.append(at)
        replies = self._source.analyze(
            [
                {
                    "board": board_text(self._positions[at]),
                    "allow": [move_text(record.moves[at].move).lower()],
                    **self._effort,
                }
                for at in others
            ],
            lambda data: None,
        )
        chosen.update({at: reply["moves"][0] for at, reply in zip(others, replies, strict=True)})
        # In this order: an interruption in between leaves the chunk unknown.
        self.chosen.update(chosen)
        self.answers.update(answers)


def _same_after(position: Position, best: int, played: int) -> int | None:
    """The symmetry of the position that makes one move of the other, None where the moves differ."""
    player, opponent, _ = position
    return next(
        (
            symmetry
            for symmetry in range(1, 8)
            if transform_move(best, symmetry) == played
            and transform(player, symmetry) == player
            and transform(opponent, symmetry) == opponent
        ),
        None,
    )


def _turned(answer: Data, symmetry: int) -> Data:
    """An answer transformed by a symmetry of the board."""
    line = [transform_move(move, symmetry) for move in parse_moves(answer["pv"])]
    return {**answer, "move": move_text(line[0]).lower(), "pv": moves_text(line)}


def _steps(
    game: FileGame, positions: list[Position], answers: dict[int, Data], chosen: dict[int, Data]
) -> Iterator[AnalyzedPly]:
    for at, played in enumerate(game.record.moves):
        if played.move == PASS:
            yield _pass(at, positions, answers)
            continue
        best = answers[at]
        made = chosen.get(at, best)
        yield AnalyzedPly(
            at + 1,
            positions[at],
            played.move,
            parse_move(best["move"]),
            MoverScore(int(best["score"])),
            MoverScore(int(made["score"])),
            _sure(best, made),
            best["pv"],
            made["pv"],
        )


def _pass(at: int, positions: list[Position], answers: dict[int, Data]) -> AnalyzedPly:
    after = answers.get(at + 1)
    score = MoverScore(-int(after["score"]) if after else 0)
    line = "pa" + (after["pv"] if after else "")
    return AnalyzedPly(
        at + 1, positions[at], PASS, PASS, score, score, _sure(after, after) if after else "", line, line
    )


def _sure(first: Data, second: Data) -> str:
    if first["exact"] and second["exact"]:
        return "exact"
    if "book" in (first["source"], second["source"]):
        return "book"
    depth, percent = min((int(data["depth"]), int(data["selectivity"])) for data in (first, second))
    return f"{depth}" if percent == 100 else f"{depth}@{percent}%"


def _effort_text(effort: Data) -> str:
    if "time_ms" in effort:
        return f"{effort['time_ms'] / 1000:g} s a position"
    return f"depth {effort['depth']}" if "depth" in effort else f"level {effort['level']}"


def as_json(analysis: GameAnalysis) -> dict[str, Any]:
    """The analysis as JSON data. Scores of moves are the mover's, ``black_scores`` and ``result`` Black's."""
    record = analysis.game.record
    return {
        "black": record.black,
        "white": record.white,
        "event": analysis.game.event,
        "date": analysis.game.date,
        "game": analysis.game.number,
        "board": board_text(record.initial),
        "moves": moves_text([played.move for played in analysis.whole.record.moves]),
        "complete": analysis.complete,
        "result": analysis.result,
        "engine": analysis.engine,
        "effort": analysis.effort,
        "black_scores": analysis.scores(),
        "summary": {name: summary_data(analysis.summary(black)) for name, black in (("black", True), ("white", False))},
        "steps": [
            {
                "ply": step.number,
                "side": "black" if step.position.black_to_move else "white",
                "board": board_text(step.position),
                "move": move_text(step.move).lower(),
                "played": step.played,
                "best": move_text(step.best).lower(),
                "score": step.score,
                "lost": step.lost,
                "accuracy": round(step.accuracy, 1),
                "grade": step.grade,
                "turned": step.turned,
                "sure": step.sure,
                "line": step.line,
                "followed": step.followed,
            }
            for step in analysis.steps
        ],
    }


def summary_data(account: PlayerSummary) -> dict[str, Any]:
    """A player's summary as JSON data."""
    return {**account._asdict(), "accuracy": round(account.accuracy, 2), "mean": round(account.mean, 3)}


def side_names(game: FileGame) -> tuple[str, str]:
    """Names of Black and White: the players', or the colours."""
    return game.record.black or "Black", game.record.white or "White"


def line_text(line: str, black: bool, most: int = 99) -> str:
    """A line of play, a blank between moves: Black's in upper case, White's in lower."""
    words = []
    for move in parse_moves(line)[:most]:
        words.append(move_text(move) if black else move_text(move).lower())
        black = not black
    return " ".join(words)
