"""A game looked at move by move: what each was worth, what would have been best, and what each player gave away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from desdaemon.protocol.games.bases import FileGame
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.notation import Position, board_text, move_text, moves_text, parse_move, parse_moves
from desdaemon.protocol.othello.rules import PASS

Data = Mapping[str, Any]

GRADES = ((10, "blunder"), (4, "mistake"), (2, "inaccuracy"))
"""From how many discs lost on a move is called that."""


class Source(Protocol):
    """Whoever answers the wire protocol's ``analyze``."""

    def analyze(self, requests: Sequence[Data], tell: Callable[[Data], None]) -> list[Data]:
        """The final data of each of these requests; ``tell`` gets each partial. Raises `DaemonError`."""


class Step(NamedTuple):
    """A move and what is thought of it; scores are discs from the mover's side, the empty squares to the winner.

    ``number`` is the ply from 1, passes counted. ``best`` is the move with the greatest score, ``played`` the score of
    the one that was made, ``lost`` the difference, never below 0. ``sure`` tells how deep both were searched:
    ``exact``, ``16`` or ``21@73%``. ``line`` begins with the best move, ``followed`` with the one that was made.
    A forced pass has no scores of its own, but those of the position after it.
    """

    number: int
    position: Position
    move: int
    best: int
    score: int
    played: int
    sure: str
    line: str
    followed: str

    @property
    def lost(self) -> int:
        """Discs given away."""
        return max(0, self.score - self.played)

    @property
    def black_score(self) -> int:
        """What the position was worth, from Black's side."""
        best = max(self.score, self.played)
        return best if self.position.black_to_move else -best

    @property
    def grade(self) -> str:
        """``blunder``, ``mistake``, ``inaccuracy`` or empty."""
        return next((name for least, name in GRADES if self.lost >= least), "")

    @property
    def turned(self) -> str:
        """What a move has surely thrown away besides discs: ``the win``, ``the draw``, or empty."""
        if self.sure != "exact":
            return ""
        if self.score > 0 >= self.played:
            return "the win"
        return "the draw" if self.score == 0 > self.played else ""


class Summary(NamedTuple):
    """One player's moves, forced ones left out: how many were best, and the discs lost by the others.

    ``grades`` counts blunders, mistakes and inaccuracies; ``worst`` is the number of the worst move, 0 for none.
    """

    choices: int
    best: int
    lost: int
    grades: dict[str, int]
    worst: int

    @property
    def mean(self) -> float:
        """Discs lost a choice."""
        return self.lost / self.choices if self.choices else 0.0


class GameAnalysis(NamedTuple):
    """A game, its steps, and by whom and how far they were searched; ``result`` is Black's score, None if unknown."""

    game: FileGame
    steps: tuple[Step, ...]
    result: int | None
    engine: str
    effort: str

    def summary(self, black: bool) -> Summary:
        """A player's account."""
        chosen = [
            step for step in self.steps if step.position.black_to_move == black and step.position.moves.bit_count() > 1
        ]
        grades = {name: sum(step.grade == name for step in chosen) for _, name in GRADES}
        worst = max(chosen, key=lambda step: (step.lost, -step.number), default=None)
        return Summary(
            len(chosen),
            sum(step.lost == 0 for step in chosen),
            sum(step.lost for step in chosen),
            grades,
            worst.number if worst and worst.lost else 0,
        )

    def scores(self) -> list[int]:
        """What the game was worth before each move, from Black's side; at last its result, where it has one."""
        found = [step.black_score for step in self.steps]
        final = self.game.record.final
        return [*found, black_score(final)] if final.over else found


def analyze_game(
    game: FileGame, source: Source, engine: str, effort: Data, tell: Callable[[int, int], None]
) -> GameAnalysis:
    """Have every move of a game analysed; ``effort`` holds the wire protocol's level, depth, time_ms or book.

    ``tell`` gets how many positions are done, of how many. Raises `DaemonError`.
    """
    record = game.record
    positions = [record.initial]
    for played in record.moves:
        positions.append(positions[-1].after(played.move))
    asked = [at for at, played in enumerate(record.moves) if played.move != PASS]
    # Twice as many as there are moves, at most: those that were not the best are searched by themselves as well.
    done = 0

    def count(data: Data) -> None:
        nonlocal done
        if data.get("done", True):
            done += 1
            tell(done, len(asked))

    moves = moves_text([played.move for played in record.moves])
    question = {"board": board_text(record.initial), "moves": moves, "plies": asked, **effort}
    found = source.analyze([question], count)[0]["plies"] if asked else []
    answers = {at: answer["moves"][0] for at, answer in zip(asked, found, strict=True)}
    others = [at for at in asked if parse_move(answers[at]["move"]) != record.moves[at].move]
    replies = source.analyze(
        [
            {"board": board_text(positions[at]), "allow": [move_text(record.moves[at].move).lower()], **effort}
            for at in others
        ],
        lambda data: None,
    )
    chosen = {at: reply["moves"][0] for at, reply in zip(others, replies, strict=True)}
    steps = list(_steps(game, positions, answers, chosen))
    final = positions[-1]
    result = black_score(final) if final.over else game.result
    return GameAnalysis(game, tuple(steps), result, engine, _effort_text(effort))


def _steps(
    game: FileGame, positions: list[Position], answers: dict[int, Data], chosen: dict[int, Data]
) -> Iterator[Step]:
    for at, played in enumerate(game.record.moves):
        if played.move == PASS:
            yield _pass(at, positions, answers)
            continue
        best = answers[at]
        made = chosen.get(at, best)
        yield Step(
            at + 1,
            positions[at],
            played.move,
            parse_move(best["move"]),
            int(best["score"]),
            int(made["score"]),
            _sure(best, made),
            best["pv"],
            made["pv"],
        )


def _pass(at: int, positions: list[Position], answers: dict[int, Data]) -> Step:
    after = answers.get(at + 1)
    score = -int(after["score"]) if after else 0
    line = "pa" + (after["pv"] if after else "")
    return Step(at + 1, positions[at], PASS, PASS, score, score, _sure(after, after) if after else "", line, line)


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
    """The analysis for programs. Scores of moves are the mover's, ``black_scores`` and ``result`` Black's."""
    record = analysis.game.record
    return {
        "black": record.black,
        "white": record.white,
        "event": analysis.game.event,
        "date": analysis.game.date,
        "game": analysis.game.number,
        "board": board_text(record.initial),
        "moves": moves_text([played.move for played in record.moves]),
        "result": analysis.result,
        "engine": analysis.engine,
        "effort": analysis.effort,
        "black_scores": analysis.scores(),
        "summary": {
            name: {**analysis.summary(black)._asdict(), "mean": round(analysis.summary(black).mean, 3)}
            for name, black in (("black", True), ("white", False))
        },
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
                "grade": step.grade,
                "turned": step.turned,
                "sure": step.sure,
                "line": step.line,
                "followed": step.followed,
            }
            for step in analysis.steps
        ],
    }


def line_text(line: str, black: bool, most: int = 99) -> str:
    """A line for people, a blank between moves: Black's in upper case, White's in lower."""
    words = []
    for move in parse_moves(line)[:most]:
        words.append(move_text(move) if black else move_text(move).lower())
        black = not black
    return " ".join(words)
