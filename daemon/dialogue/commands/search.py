"""Handlers of the commands that search: ``go``, ``hint``, ``eval``, ``analyze``, ``solve``.

They run on the thread of the dialogue, or of a remote client's line, and wait until the engine is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.dialects import edax
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello import rules
from desdaemon.protocol.othello.notation import move_text

from .search_table import SearchTable

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect

MOST_HINTS = 60


def _go(text: TextDialect, argument: str) -> None:
    session = text.session
    position = session.game.position
    if position.over:
        text.say(f"\n{edax.GAME_OVER}")
        return
    show = text.session.settings.verbose > 0
    table = SearchTable(text, position.black_to_move)

    def on_search() -> None:
        if show:
            text.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")

    move, result = session.choose(table.progress, on_search, table.attempts)
    if show and result:
        table.finish(result)
        text.say(edax.TABLE_RULE)
    session.play_move(move)
    text.played()
    text.say(f"\n{session.settings.engine_name} plays {move_text(move)}")


def _hint(text: TextDialect, argument: str) -> None:
    session = text.session
    position = session.game.position
    wanted = number_within("hint", argument or "1", 1, 10**9)
    show = session.settings.verbose > 0
    if show:
        text.say(f"{edax.TABLE_HEADER}\n{edax.TABLE_RULE}")
    if not position.over:
        table = SearchTable(text, position.black_to_move)
        known = []
        for found in session.known_moves(position, wanted):
            text.say(edax.book_line(found.score, found.line, position.black_to_move, session.settings.width))
            known.append(found.move)
        rest = position.moves & ~sum(1 << move for move in known if move != rules.PASS)
        wanted -= len(known)
        if wanted > 0 and (rest or not known):
            result = session.search(
                position,
                session.limits(position),
                multipv=min(wanted, max(1, rest.bit_count()), MOST_HINTS),
                allow=rest if known else rules.FULL,
                progress=table.progress,
                attempts=table.attempts,
            )
            table.finish(result)
    if show:
        text.say(edax.TABLE_RULE)


def _eval(text: TextDialect, argument: str) -> None:
    position = text.session.game.position
    if position.over:
        score = float(rules.final_score(position.player, position.opponent))
    else:
        score = text.session.engine().searcher.evaluate(position.player, position.opponent)
    text.say(f"eval = {min(64.0, max(-64.0, score)):+.2f}")


def _analyze(text: TextDialect, argument: str) -> None:
    from .analysis import judged_moves

    plies = len(text.session.game.moves)
    last = min(plies, number_within("analyze", argument, 1, 10**9)) if argument else plies
    text.say(edax.ANALYSIS_HEADER)
    game = []
    for judged in judged_moves(text.session, last):
        game.append(judged)
        text.say(edax.analysis_line(judged, text.session.settings.engine_name))
    text.say(edax.analysis_summary(game))


def _solve(text: TextDialect, argument: str) -> None:
    from .problems import STANDARD_INPUT, solve_file

    path, wrong = argument, ""
    # From a remote client the whole argument is a name inside the data folder.
    if " " in argument and not text.session.remote and not os.path.exists(argument):  # noqa: PTH110  pathlib costs start-up time
        path, _, wrong = argument.rpartition(" ")
    if not path or path in STANDARD_INPUT:
        raise BadInput(f"solve {quoted(argument)}: expected the name of a file of problems")
    solve_file(text, path.strip(), wrong)


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "go": _go,
    "hint": _hint,
    "eval": _eval,
    "analyze": _analyze,
    "solve": _solve,
}
