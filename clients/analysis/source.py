"""The judges of games: an engine in this process, and a running daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from desdaemon.api import Board, Engine
from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.configuration import configuration_path, configure
from desdaemon.protocol.games.judgement import JudgedMove, SearchedMove, as_played
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import board_text, move_text, moves_text, parse_move, parse_moves
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import Selectivity
from desdaemon.protocol.version import __version__

from .game import Data

if TYPE_CHECKING:
    from desdaemon.clients.blocking import Analysis, Client
    from desdaemon.clients.results import AnalysedMove


def own_engine(threads: int | None, eval_file: str, *, book: bool) -> Engine:
    """Return an engine in this process. Values of the user's configuration file replace arguments that are None or "".
    With ``book`` the engine uses the book that the file names, otherwise none.
    """
    settings = SessionSettings()
    if os.path.isfile(path := configuration_path()):  # noqa: PTH113
        configure(settings, path, "")
    return Engine(
        threads=threads or settings.n_tasks or None,
        eval_file=eval_file or settings.eval_file or None,
        book=(settings.book_file if book else "") or None,
    )


class OwnEngine:
    """An engine in this process, which `close` ends."""

    engine = f"desdaemon {__version__}"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def judge(self, record: GameRecord, effort: Data) -> Iterator[JudgedMove]:
        how = {name: effort[name] for name in ("level", "depth") if name in effort}
        if "time_ms" in effort:
            how["time_s"] = effort["time_ms"] / 1000
        board = Board(board_text(record.initial)).play(moves_text([played.move for played in record.moves]))
        return self._engine.judge_game(board, book=effort["book"] == "use", **how)

    def stop(self) -> None:
        """End the work, and refuse more; a signal handler may call this."""
        self._engine.close()

    close = stop


class RemoteDaemon:
    """A running daemon, asked through the client library."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.engine = f"{client.hello.name} {client.hello.version}"

    def judge(self, record: GameRecord, effort: Data) -> Iterator[JudgedMove]:
        """Yield a judgement of each move, in order, without passes. A played move that is not best is analysed as soon
        as the best is known. Raises `DaemonError`.
        """
        moves, positions = [played.move for played in record.moves], record.positions
        waiting = [ply for ply, move in enumerate(moves) if move != PASS]
        best: dict[int, SearchedMove] = {}
        others: dict[int, Analysis] = {}

        def take(ply: int, move: AnalysedMove) -> None:
            best[ply] = _searched_move(move)
            if as_played(positions[ply], best[ply], moves[ply]) is None:
                allow = [move_text(moves[ply]).lower()]
                others[ply] = self._client.analyze(board_text(positions[ply]), allow=allow, **effort)

        def judged(ply: int) -> JudgedMove:
            same = as_played(positions[ply], best[ply], moves[ply])
            if same is not None:
                return JudgedMove(ply + 1, positions[ply], same, None)
            return JudgedMove(ply + 1, positions[ply], _searched_move(others[ply].result().moves[0]), best[ply])

        if not waiting:
            return
        game = self._client.analyze_game(moves_text(moves), board_text(record.initial), waiting[:], **effort)
        for analysed in game:
            # After a reconnection earlier plies come again.
            if analysed.ply is not None and analysed.ply not in best and analysed.moves:
                take(analysed.ply, analysed.moves[0])
            while waiting and waiting[0] in best and (waiting[0] not in others or others[waiting[0]].done):
                yield judged(waiting.pop(0))
        for analysed in game.result():
            if analysed.ply is not None and analysed.ply not in best:
                take(analysed.ply, analysed.moves[0])
        yield from map(judged, waiting)

    def stop(self) -> None:
        """End the work, and refuse more; a signal handler may call this."""
        self._client.close_soon()

    def close(self) -> None:
        self._client.close()


def _searched_move(move: AnalysedMove) -> SearchedMove:
    return SearchedMove(
        parse_move(move.move),
        MoverScore(move.score),
        move.depth,
        Selectivity(move.selectivity),
        move.exact,
        line=tuple(parse_moves(move.pv)),
        of_book=move.source == "book",
    )
