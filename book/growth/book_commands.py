"""The rows of the book commands that grow a book."""

from __future__ import annotations

from desdaemon.protocol.commands.book_rows import (
    GAME_FILES,
    GROWTH,
    SEARCHES,
    SHRUNK,
    Parameter,
    count,
    editor_command,
    file_name,
    flag,
    growing_command,
    number,
)
from desdaemon.protocol.rows import ADMIN
from desdaemon.protocol.wire.fields import Field

_HANDLERS = "desdaemon.book.growth.handlers"
_DEPTH = number("depth", 0, 60, "Moves from the initial position to the deepest position.", required=True)
_PER_MOVE = number("per-move", 0, 129, "Most discs that one move may lose; 129: no limit.", required=True)
_CUMULATIVE = number("cumulative", 0, 129, "Most discs that a line may lose in all; 129: no limit.", required=True)
_SEARCH_LEVEL = "Level of the searches; the book's unless given."

COMMANDS = (
    growing_command(
        "self-play",
        (
            number("games", 1, 10**6, "Games.", required=True),
            number("level", 0, 60, "Level of the moves that the book does not know; the book's unless given."),
            number("random", 0, 60, "Random moves at the beginning of each game.", 0),
            flag("xot", "Begin each game with an opening of the list of XOT."),
        ),
        "Play games from the position on the board, by the book where it knows a move, and store each with its result.",
        handler=f"{_HANDLERS}:self_play",
        results=(*GROWTH, Field("games", "int", "Games played and counted.", "games")),
    ),
    growing_command(
        "answer",
        (
            GAME_FILES,
            Parameter("level", "int", "Level of the other side's moves.", 10, 0, 60, named=True),
            Parameter("plies", "int", "Moves of each game that are its opening.", 6, 0, 60, named=True),
            Parameter("played", "int", "Only openings that at least n of these games have.", 1, 1, 10**6, named=True),
        ),
        "Add what the book's side meets in games from the openings of these files, with either colour, against a "
        "player of a level who has no book.",
        role=ADMIN,
        handler=f"{_HANDLERS}:answer",
        results=(*GROWTH, count("openings", "Openings that the games begin with.", "openings")),
    ),
    growing_command(
        "deviate",
        (
            number("relative", -129, 129, "Discs that one side may lose with a move.", 2),
            number("absolute", 0, 65, "Discs away from the position's score.", 4),
        ),
        "Add moves near the best, of one side while the other plays its best.",
        handler=f"{_HANDLERS}:deviate",
        results=GROWTH,
    ),
    growing_command(
        "enhance",
        (
            number("midgame-error", 0, 129, "Error of a score not read to the end; the book's unless given."),
            number(
                "endcut-error", 0, 129, "Error of a score read to the end with selectivity; the book's unless given."
            ),
        ),
        "Add moves that could be best given the errors; the book keeps these errors.",
        handler=f"{_HANDLERS}:enhance",
        results=GROWTH,
    ),
    growing_command(
        "fill",
        (number("plies", 1, 61, "Their distance.", 1),),
        "Add the positions that lie between two of the book.",
        handler=f"{_HANDLERS}:fill",
        results=GROWTH,
    ),
    growing_command(
        "play",
        (),
        "Add the best move wherever a line ends, down to the depth.",
        handler=f"{_HANDLERS}:play",
        results=GROWTH,
    ),
    growing_command(
        "extend",
        (),
        "Add leaves until a best move of every position is in the book.",
        handler=f"{_HANDLERS}:extend",
        results=GROWTH,
    ),
    growing_command(
        "deepen",
        (number("level", 0, 60, _SEARCH_LEVEL),),
        "Search again every leaf that this level would search deeper or with higher selectivity.",
        handler=f"{_HANDLERS}:deepen",
        results=GROWTH,
    ),
    editor_command(
        "correct",
        (),
        "Solve again what was solved, and report what was wrong.",
        handler=f"{_HANDLERS}:correct",
        results=GROWTH,
    ),
    growing_command(
        "learn",
        (
            _DEPTH,
            _PER_MOVE,
            _CUMULATIVE,
            number("leaf", 0, 129, "Discs that a followed leaf may be below the score.", required=True),
            number("level", 1, 60, _SEARCH_LEVEL),
        ),
        "Egaroucid's learning: follow leaves of good lines along their best moves.",
        handler=f"{_HANDLERS}:learn",
        results=GROWTH,
    ),
    growing_command(
        "recalculate-leaves",
        (_DEPTH, _PER_MOVE, _CUMULATIVE, number("level", 1, 60, _SEARCH_LEVEL)),
        "Search again the leaves of a window that have a lower level.",
        handler=f"{_HANDLERS}:recalculate_leaves",
        results=GROWTH,
    ),
    growing_command(
        "schedule",
        (file_name("A file of learn steps, or the name of a recipe."),),
        "Carry out the learn steps of a file.",
        role=ADMIN,
        handler=f"{_HANDLERS}:schedule",
        results=(SEARCHES,),
    ),
    editor_command(
        "reduce",
        (
            _DEPTH,
            _PER_MOVE,
            _CUMULATIVE,
            flag("read", "Keep only what leads to a position solved to the end of the game, too."),
        ),
        "Below this position, keep only what the window reaches.",
        handler=f"{_HANDLERS}:reduce",
        results=SHRUNK,
    ),
)
