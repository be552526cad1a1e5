"""The referee of a game between two programs: it keeps board and clocks, and ends the game at a fault.

It trusts neither program: it checks moves on its own board and takes times by its own clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from desdaemon.clients.programs.engine_process import EngineFault
from desdaemon.clients.programs.engine_protocols import EngineClient
from desdaemon.clients.programs.time_control import Stopwatch, TimeControl
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.records import GameRecord, PlayedMove, black_score
from desdaemon.protocol.othello.notation import Position, illegal_move, moves_text, parse_move
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import BlackScore, MoverScore, seen_by_black

ENDINGS = ("played", "adjudicated", "resigned", "illegal", "time", "answer", "hang", "crash")
"""How a game can end. After all but the first two the side at fault loses, whatever the board says."""

FAULTS = ENDINGS[2:]


class MatchTerms(NamedTuple):
    """Rules that all games of a match share; times are in ms.

    A move may be up to ``margin`` late. A side with a time limit is awaited for ``overhead`` after its time is up, one
    without for at most ``patience``. From ``adjudicate`` empty squares on (0: never) the game ends with the score that
    ``solver`` returns, exact and for the side to move; it may raise `BadInput`.
    """

    margin: float = 0.0
    patience: float = 600_000.0
    overhead: float = 10_000.0
    adjudicate: int = 0
    solver: Callable[[Position], MoverScore] | None = None


class Finished(NamedTuple):
    """A finished game. ``score`` is Black's, empty squares given to the winner; -64 or 64 after a fault.

    ``ending`` is one of `ENDINGS`, ``faulty`` the side at fault (0 Black, 1 White, -1 none), ``note`` tells more.
    ``used`` and ``longest`` are ms, ``moves`` numbers of moves that the sides chose, Black first. ``scores`` has a
    value for each move of the record: the score in discs, from Black's side, that the mover's program reported, or
    None. It is empty if no score was reported.
    """

    record: GameRecord
    score: BlackScore
    ending: str
    faulty: int
    note: str
    used: tuple[float, float]
    longest: tuple[float, float]
    moves: tuple[int, int]
    scores: tuple[float | None, ...] = ()


class RunningGame(NamedTuple):
    """A game at the moment when a side is asked for its move, ``begun`` (`time.perf_counter`). ``scores`` are as in
    `Finished`, the record has no names; ``used`` and ``left`` are ms, Black first, ``left`` infinite without a limit.
    """

    record: GameRecord
    scores: tuple[float | None, ...]
    used: tuple[float, float]
    left: tuple[float, float]
    begun: float


def play_game(
    players: tuple[EngineClient, EngineClient],
    opening: GameRecord,
    controls: tuple[TimeControl, TimeControl],
    terms: MatchTerms,
    tell: Callable[[RunningGame], None] = lambda game: None,
) -> Finished:
    """Play a game from the end of an opening. A fault of a program ends the game, and that program loses. Players and
    controls are Black's and White's; the caller closes the players.

    ``tell`` is called with the game before each move that a side has to choose. Raises `BadInput` if a program cannot
    set up the board, or if the solver fails.
    """
    watches = tuple(Stopwatch(control, terms.margin) for control in controls)
    moves: list[PlayedMove] = []
    scores: list[float | None] = []
    position = opening.initial
    waiting = [played.move for played in opening.moves]
    side = 0

    def finished(ending: str, faulty: int, note: str) -> Finished:
        record = opening._replace(moves=tuple(moves), black=players[0].title, white=players[1].title)
        if faulty >= 0:
            score = BlackScore(64 if faulty else -64)
        elif position.over:
            score = black_score(position)
        else:
            assert terms.solver
            score = seen_by_black(terms.solver(position), position.black_to_move)
        used, longest, counts = zip(*((watch.used, watch.longest, watch.moves) for watch in watches), strict=True)
        told = tuple(scores) if any(one is not None for one in scores) else ()
        return Finished(record, score, ending, faulty, note, used, longest, counts, told)

    try:
        for side in (0, 1):
            players[side].begin(opening.initial, controls[side])
        while not position.over:
            side = 0 if position.black_to_move else 1
            if not waiting and position.empties <= terms.adjudicate:
                return finished("adjudicated", -1, f"{position.empties} empty squares")
            ms = 0.0
            score = None
            receivers = [0, 1]
            if waiting or position.must_pass:
                move = waiting.pop(0) if waiting else PASS
            else:
                record = GameRecord(opening.initial, tuple(moves))
                used, left = (watches[0].used, watches[1].used), (watches[0].left, watches[1].left)
                tell(RunningGame(record, tuple(scores), used, left, time.perf_counter()))
                text, ms = _chosen(players[side], record, watches[side], terms)
                in_time = watches[side].spend(ms)
                move, wrong = _understood(text, position)
                if wrong:
                    return finished(
                        "illegal", side, f"{wrong} after {moves_text([m.move for m in moves]) or 'no move'}"
                    )
                if not in_time:
                    return finished("time", side, f"move {len(moves) + 1} took {ms / 1000:.3f} s")
                receivers = [1 - side]
                score = players[side].score
                if score is not None and side:
                    score = 0.0 - score
            moved_from, position = position, position.after(move)
            moves.append(PlayedMove(move, ms))
            scores.append(score)
            for side in receivers:
                players[side].send_move(moved_from, move)
    except EngineFault as fault:
        return finished(fault.kind, side, str(fault))
    return finished("played", -1, "")


def _chosen(player: EngineClient, record: GameRecord, watch: Stopwatch, terms: MatchTerms) -> tuple[str, float]:
    """Return a player's answer and its time in ms. Raises `EngineFault` after the longest time that the terms allow,
    and if the program refuses, resigns or ends.
    """
    limit = watch.left
    longest = terms.patience if limit == float("inf") else max(0.0, limit) + terms.margin + terms.overhead
    begun = time.perf_counter()
    text, arrived = player.answer(record, watch, longest / 1000)
    return text, max(0.0, arrived - begun) * 1000


def _understood(text: str, position: Position) -> tuple[int, str]:
    """Return the move in an answer, `PASS` if it cannot be read, and the reason why the move is wrong, "" if it is
    legal. A pass is always wrong.
    """
    try:
        move = parse_move(text)
    except BadInput:
        return PASS, f"{quoted(text)} is no move"
    if move == PASS or not position.moves >> move & 1:
        return move, illegal_move(position, move)
    return move, ""
