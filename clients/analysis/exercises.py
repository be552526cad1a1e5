"""`desdaemon exercises`: positions of games in which a mistake was made and one move is better than all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice, zip_longest
from typing import NamedTuple

from desdaemon.api import Analysis, Board, Engine
from desdaemon.api.engine import searched_move
from desdaemon.clients.arguments import Parser, check_writable, print_text, whole
from desdaemon.clients.programs.process_groups import StoppedBySignals
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import FileGame, expect_other_files, extension_of, replace_file
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove
from desdaemon.protocol.othello.notation import Position, board_text, move_text, parse_move
from desdaemon.protocol.othello.obf import Problem, problem_text
from desdaemon.protocol.othello.rules import canonical
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ProgressLine

from .exercise_files import WRITERS, Exercise
from .inputs import games_in
from .player import PHASES, find_player
from .source import own_engine

DESCRIPTION = """\
Collect exercises from games: positions in which the move that was played lost 4 discs or more, and in which one move is
4 discs or more better than all others. A third comes from each phase of the games as far as there are, the clearest
first. With --lines the games are lines to learn, and the moves of one side in them are the answers.
"""

_LEAST = 4
"""Discs by which the played move, and each other one, must be worse than the best."""
_FIRST_LEVEL = 6
"""The level at which all positions are searched, to find those that are worth a deeper search."""
_AT_A_TIME = 16
_TELL_EVERY = 100


def main(arguments: list[str]) -> int:
    """Collect exercises. Returns the exit status; a bad command line ends the program with status 2.

    After a signal the exercises found so far are written, and the status is 128 plus the signal's number. It is 1,
    after a message, if the games or the output cannot be used, or if no exercise was found.
    """
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.lines and options.out != "-" and extension_of(options.out) != "obf":
        parser.error("--lines writes OBF: expected --out with a name that ends in .obf")
    signals = StoppedBySignals()
    try:
        if options.out != "-" and extension_of(options.out) not in WRITERS:
            raise BadInput(f"{quoted(options.out)}: expected a file name that ends in .{', .'.join(WRITERS)}")
        check_writable("--out", options.out)
        expect_other_files({"--out": options.out}, options.files)
        games = _games(options.files, options.player)
        with own_engine(options.threads, options.eval_file, book=False) as engine, signals:
            signals.call(engine.close)
            search = Search(engine, options.level, lambda: signals.number != 0)
            if options.lines:
                lines = search.of_lines((game for game, _ in games), options.lines)
                texts = list(islice(lines, options.count))
            else:
                found = list(islice(search.exercises(games), options.count))
                texts = [WRITERS[extension_of(options.out) or "obf"](found)] if found else []
            count = len(texts) if options.lines else len(found)
        if not texts:
            raise BadInput(f"{'stopped: ' if signals.number else ''}no exercise was found in {search.account}")
        if options.out == "-":
            print_text("".join(texts))
        else:
            replace_file(options.out, "".join(texts).encode())
            print_text(f"{plural(count, 'exercise')} in {options.out}, of {search.account}\n")
    except BadInput as error:
        logs.message(str(error), "desdaemon exercises")
        return 128 + signals.number if signals.number else 1
    return 128 + signals.number if signals.number else 0


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="desdaemon exercises", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a file of games, or a folder of such files")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--player", default="", metavar="NAME", help="only moves of this player")
    whose.add_argument(
        "--lines",
        choices=("black", "white", "both"),
        help="the games are lines to learn: this side's moves are answers",
    )
    add("--count", type=whole(1, 100_000), default=200, metavar="N", help="exercises at most (default 200)")
    add("--level", type=whole(1, 60), default=16, metavar="N", help="level of the check (default 16)")
    add("--out", default="-", metavar="FILE", help=f"write .{', .'.join(WRITERS)} by its name (default: OBF, printed)")
    add("--threads", type=whole(1, 256), metavar="N", help="positions to search at a time")
    add("--eval-file", default="", metavar="FILE", help="evaluation weights")
    return parser


def _games(paths: list[str], name: str) -> Iterator[tuple[FileGame, bool | None]]:
    """Return the games of ``paths``, each with the side whose moves are wanted: True for Black, False for White, None
    for both. With a ``name`` they are that player's games and moves, with "" all games and both sides.
    """
    games = games_in(paths, lambda line: logs.message(line, "desdaemon exercises"))
    if not name:
        return ((game, None) for game in games)
    return ((rated.game, rated.black) for rated in find_player(games, name).games)


class _Spot(NamedTuple):
    """A move that was played in a position. ``gap`` is by how many discs another move is better than all others, 0
    before the first search.
    """

    game: FileGame
    ply: int
    position: Position
    move: int
    gap: int = 0


class _Stopped(Exception):
    """The search was stopped."""


class Search:
    """The search for exercises: first all positions at a low level, then those that look like exercises at ``level``.

    Once ``stopped`` returns true, what the engine finds is dropped, and no more is searched: the engine may be closed.
    """

    def __init__(self, engine: Engine, level: int, stopped: Callable[[], bool]) -> None:
        self._engine = engine
        self._level = level
        self._stopped = stopped
        self._line = ProgressLine()
        self._games = self._positions = self._checked = 0

    @property
    def account(self) -> str:
        """What was searched so far, in words."""
        positions = plural(self._positions, "position")
        return f"{plural(self._games, 'game')} with {positions}; {self._checked} checked at level {self._level}"

    def exercises(self, games: Iterable[tuple[FileGame, bool | None]]) -> Iterator[Exercise]:
        """Yield the exercises of games, each with the side whose moves are wanted (whether Black; None for both); each
        position once, mirrored or not.
        """
        found = 0
        with suppress(_Stopped):
            candidates = self._candidates(games)
            for start in range(0, len(candidates), _AT_A_TIME):
                checked = f"{start} of {plural(len(candidates), 'candidate')} checked"
                self._line.show(f"{checked}: {plural(found, 'exercise')}")
                part = candidates[start : start + _AT_A_TIME]
                self._checked += len(part)
                for exercise in self._check(part):
                    found += 1
                    yield exercise
        self._line.clear()

    def of_lines(self, games: Iterable[FileGame], side: str) -> Iterator[str]:
        """Yield each position of lines in which ``side`` (``black``, ``white`` or ``both``) has a choice, once, as OBF:
        with the moves that the lines have there, their scores by a search, and a remark where it stands.
        """
        found: dict[Position, tuple[str, list[int]]] = {}
        for game in games:
            self._games += 1
            line, position = "", game.record.initial
            for move, _ in game.record.moves:
                wanted = side == "both" or (side == "black") == position.black_to_move
                if wanted and position.moves.bit_count() > 1:
                    _, moves = found.setdefault(position, (line, []))
                    if move not in moves:
                        moves.append(move)
                position, line = position.after(move), line + move_text(move).lower()
        self._positions = len(found)
        with suppress(_Stopped):
            for position, (line, moves) in found.items():
                self._line.show(f"{self._checked} of {plural(len(found), 'position')} searched")
                after = [Board(board_text(position.after(move))) for move in moves]
                side_to_move = Board(board_text(position)).side
                answers = self._analyses(after, self._level)
                scores = {
                    move: MoverScore(int(answer.score.seen_by(side_to_move)))
                    for move, answer in zip(moves, answers, strict=True)
                }
                self._checked += 1
                remark = f"after {line}" if line else "the start"
                yield f"{problem_text(Problem(position, scores))} % {remark}\n"
        self._line.clear()

    def _analyses(self, boards: Iterable[Board], level: int, multipv: int = 1) -> Iterator[Analysis]:
        """Yield finished analyses of boards, in order. Raises `_Stopped`."""
        try:
            for analysis in self._engine.analyze_many(boards, level=level, multipv=multipv):
                if self._stopped():
                    raise _Stopped
                yield analysis
        except BadInput:
            if self._stopped():
                raise _Stopped from None
            raise

    def _candidates(self, games: Iterable[tuple[FileGame, bool | None]]) -> list[_Spot]:
        waiting: deque[_Spot] = deque()
        found: dict[tuple[int, int], _Spot] = {}

        def boards() -> Iterator[Board]:
            for spot in self._spots(games):
                waiting.append(spot)
                yield Board(board_text(spot.position))

        for analysis in self._analyses(boards(), _FIRST_LEVEL, 2):
            spot = waiting.popleft()
            gap = _gap(analysis, spot.move)
            if gap >= _LEAST:
                found.setdefault(canonical(*spot.position[:2]), spot._replace(gap=gap))
            self._positions += 1
            if self._positions % _TELL_EVERY == 0:
                self._line.show(f"{self.account}: {plural(len(found), 'candidate')}")
        clearest = sorted(found.values(), key=lambda spot: -spot.gap)
        phases = [[spot for spot in clearest if least < spot.position.empties <= least + 20] for _, least in PHASES]
        return [spot for row in zip_longest(*phases) for spot in row if spot]

    def _spots(self, games: Iterable[tuple[FileGame, bool | None]]) -> Iterator[_Spot]:
        """Yield the wanted moves that had an alternative; equal moves in a position, mirrored or not, only once."""
        # Of the moves of many games their hashes take a fifth of the memory.
        seen: set[int] = set()
        for game, black in games:
            self._games += 1
            position = game.record.initial
            for ply, (move, _) in enumerate(game.record.moves, 1):
                after = position.after(move)
                if black in (None, position.black_to_move) and position.moves.bit_count() > 1:
                    key = hash((canonical(*position[:2]), canonical(*after[:2])))
                    if key not in seen:
                        seen.add(key)
                        yield _Spot(game, ply, position, move)
                position = after

    def _check(self, spots: list[_Spot]) -> Iterator[Exercise]:
        boards = [Board(board_text(spot.position)) for spot in spots]
        analyses = self._analyses(boards, self._level, 2)
        clear = [
            (spot, analysis)
            for spot, analysis in zip(spots, analyses, strict=True)
            if _gap(analysis, spot.move) >= _LEAST
        ]
        after = [Board(board_text(spot.position.after(spot.move))) for spot, _ in clear]
        answers = self._analyses(after, self._level)
        for (spot, analysis), answer in zip(clear, answers, strict=True):
            best, second = (searched_move(analysis.board, line) for line in analysis.lines)
            score = MoverScore(int(answer.score.seen_by(analysis.board.side)))
            played = SearchedMove(spot.move, score, 0, Selectivity.FULL, True, True, (spot.move,))
            if answer.best:
                reply = searched_move(answer.board, answer.best)
                played = reply._replace(move=spot.move, score=score, line=(spot.move, *reply.line))
            mistake = JudgedMove(spot.ply, spot.position, played, best)
            if mistake.loss >= _LEAST:
                yield Exercise(spot.game, mistake, second)


def _gap(analysis: Analysis, move: int) -> int:
    """Return the discs by which the best move is better than all others, 0 if ``move`` is the best."""
    best, second = analysis.lines
    return 0 if parse_move(best.move) == move else int(best.score.discs - second.score.discs)
