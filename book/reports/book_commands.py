"""The rows of the book commands that look at many positions, merge two books, and salvage a damaged one."""

from __future__ import annotations

from desdaemon.protocol.commands.book_rows import (
    DISCARD,
    GAME_FILES,
    GAMES_COUNTED,
    GAMES_KNOWN,
    OPEN,
    SEARCH,
    BookCommand,
    count,
    editor_command,
    file_name,
    flag,
    number,
)
from desdaemon.protocol.rows import ADMIN
from desdaemon.protocol.wire.fields import Field

_HANDLERS = "desdaemon.book.reports.handlers"

COMMANDS = (
    editor_command(
        "merge",
        (
            file_name("A book of any format."),
            flag("keep-ours", "Add missing positions only."),
            flag("into", "Write instead a copy of the overlay's base with its changes to that file."),
        ),
        "Add the positions of another book; of two entries the one with the higher level stays.",
        role=ADMIN,
        handler=f"{_HANDLERS}:merge",
        results=(
            count("conflicts", "Positions with different scores."),
            OPEN,
            GAMES_COUNTED,
            GAMES_KNOWN,
        ),
    )._replace(saves=True),
    BookCommand(
        "diff",
        (
            file_name("A book of any format."),
            file_name("Another one; the book in use unless given.", required=False, name="other"),
        ),
        "Count how two books differ.",
        long=True,
        role=ADMIN,
        handler=f"{_HANDLERS}:diff",
        results=(
            count("only_first", "Positions of the first book alone."),
            count("only_second", "Positions of the second book alone."),
            count("other_score", "Positions with another score."),
            count("other_leaf", "Positions with the same score and another leaf."),
            count("other_level", "Positions that differ in the level alone."),
            count("same", "Positions without a difference."),
            count("examples", "Differences shown in `text`."),
        ),
    ),
    editor_command(
        "salvage",
        (file_name("The damaged file."), DISCARD),
        "Recover the undamaged part of a book; the damaged file is not changed.",
        role=ADMIN,
        replaces=True,
        handler=f"{_HANDLERS}:salvage",
        results=(count("lost", "Records that could not be read.", "records"),),
    ),
    BookCommand(
        "edits",
        (number("count", 1, 10**6, "Most positions to list.", 100),),
        "List the positions whose score was set by hand.",
        long=True,
        handler=f"{_HANDLERS}:edits",
        results=(count("edits", "Scores set by hand.", "scores"),),
    ),
    BookCommand(
        "analyze",
        (number("n", 1, 128, "Moves, all unless given."),),
        "Analyse the game by the book's scores alone.",
        aliases=("analyse", "a"),
        game=True,
        handler=f"{_HANDLERS}:analyze",
        results=(count("plies", "Moves of the game that the book knows.", "plies"),),
    ),
    BookCommand(
        "lines",
        (
            number("loss", 0, 129, "Discs that a move may lose.", 0),
            number("count", 1, 10**6, "Most lines to show.", 100),
        ),
        "Show the best lines from here through the book.",
        long=True,
        places=True,
        handler=f"{_HANDLERS}:lines",
        results=(Field("lines", "[str]", "Best lines through the book, `f5d6c3`."),),
    ),
    BookCommand(
        "check",
        (GAME_FILES,),
        "Compare the moves of games with the book.",
        long=True,
        role=ADMIN,
        handler=f"{_HANDLERS}:check",
        results=(
            count("missing", "Positions of the games that are not in the book."),
            count("good", "Positions whose move is a best one of the book."),
            count("bad", "Positions whose move is not."),
        ),
    ),
    BookCommand(
        "extract",
        (
            file_name("File to write, a game a line."),
            number("loss", 0, 129, "Discs that a move may lose.", 0),
        ),
        "Write the best lines from here to a file.",
        long=True,
        role=ADMIN,
        saves=True,
        handler=f"{_HANDLERS}:extract",
        results=(count("lines", "Lines written.", "lines"),),
    ),
    BookCommand(
        "problem",
        (
            number("empties", 0, 60, "Empty squares.", 24),
            number("count", 1, 10**6, "Most positions to show.", 10),
        ),
        "Show positions of the book with a single best move.",
        long=True,
        handler=f"{_HANDLERS}:problem",
        results=(Field("problems", "[str]", "Positions with one best move, a line each."),),
    ),
    BookCommand(
        "feed-hash",
        (),
        "Load the book's scores below this position into the transposition table.",
        long=True,
        about=SEARCH,
        handler=f"{_HANDLERS}:feed_hash",
    ),
)
