"""The engines of a player on the server, and the time for a move."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING

from desdaemon.core.settings import SessionSettings
from desdaemon.dialogue.clock import Clock, MoveOverhead, move_limits
from desdaemon.protocol.othello.notation import board_text, parse_move

from .player import Answer, StartSearch

if TYPE_CHECKING:
    from desdaemon.api import Engine


_FORCED_DEPTH = 8


class Thinker:
    """An engine for single boards, and one for each board of a pair.

    The two of a pair think at the same time, with half of the threads each, and share no table: moves that an opponent
    copies from one board reveal nothing on the other.
    """

    def __init__(self, settings: SessionSettings, margin_ms: float) -> None:
        """``margin_ms`` is kept on the server's clock at each move, at most half of the time left. Raises `BadInput`
        for unusable weights or an unusable book.
        """
        self._settings = copy.copy(settings)
        self._settings.game_time = 0
        self._half = copy.copy(self._settings)
        self._half.n_tasks = max(1, settings.threads // 2)
        self._margin = margin_ms
        self._overhead = MoveOverhead()
        self._engines: dict[str, Engine] = {}
        self._engine("")

    def _engine(self, board: str) -> Engine:
        from desdaemon.api import Engine

        if board not in self._engines:
            settings = self._half if board else self._settings
            self._engines[board] = Engine(
                threads=settings.threads,
                hash_bits=settings.hash_table_size,
                eval_file=settings.eval_file or None,
                book=settings.book_file or None,
            )
        return self._engines[board]

    async def think(self, search: StartSearch) -> Answer:
        """Return the engine's move in a position that has a legal one: from the book, if the settings use it and it has
        the position, else by a search.
        """
        from desdaemon.api import Board

        began = time.perf_counter()
        engine = await asyncio.to_thread(self._engine, search.board)
        board = Board(board_text(search.position))
        entry = engine.look_up(board) if self._settings.book_usage else None
        if entry and entry.moves:
            best = entry.moves[0]
            return self._answer(search, best.move, best.score.discs, began, f"{best.move} {best.score.discs:+g} book")
        clock = Clock(search.clock.main, increment=search.clock.increment)
        clock.left -= min(self._margin, clock.left / 2) + 1000 * (time.perf_counter() - began)
        settings = self._half if search.board else self._settings
        limits = move_limits(settings, board.empties, 0.0, self._overhead, clock)
        searched = time.perf_counter()
        found = await engine.analyze_async(
            board,
            # A forced move is searched only for the evaluation that is sent with it.
            depth=limits.depth if len(board.legal) > 1 else min(limits.depth, _FORCED_DEPTH),
            selectivity=limits.selectivity,
            nodes=limits.nodes,
            time_s=limits.time_ms / 1000,
        )
        self._overhead.note(1000 * (time.perf_counter() - searched) - limits.time_ms)
        line = found.best
        assert line, "only positions with moves are searched"
        told = f"{line} {found.nodes} nodes {found.time_s:.2f} s"
        return self._answer(search, line.move, line.score.discs, began, told)

    @staticmethod
    def _answer(search: StartSearch, move: str, score: float, began: float, told: str) -> Answer:
        return Answer(search.game, search.position, parse_move(move), score, time.perf_counter() - began, told)

    def close(self) -> None:
        """Close all engines, which ends their searches."""
        for engine in self._engines.values():
            engine.close()
