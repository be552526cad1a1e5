"""The shapes of the replies of `games.get`."""

from __future__ import annotations

from desdaemon.protocol.wire.fields import PLAYER, Field, Shape, added

SHAPES: dict[str, Shape] = {
    "played": added(
        "games",
        Field("moves", "[played_move]", "Moves that were played, the most frequent first; mirrored ones as one."),
        Field("games", "[played_game]", "At most `games`, the newest first.", absent="`games` is 0"),
    ),
    "played_positions": added("games", Field("results", "[played]", "In the order of `positions`.")),
    "played_move": added(
        "games",
        Field("move", "str", "`f5`."),
        Field("games", "int", "Games that went on with it.", "games"),
        Field("wins", "int", "Wins; a game without a result is none of the three.", "games", PLAYER),
        Field("draws", "int", "Draws.", "games"),
        Field("losses", "int", "Losses.", "games", PLAYER),
        Field("mean", "float", "Mean result, as the player sees it.", "discs", nil="no result is known"),
        Field("first", "int", "First year.", "year", nil="no year is known"),
        Field("last", "int", "Last year.", "year", nil="no year is known"),
        Field("players", "[frequent_player]", "Who played it most often, at most three.", absent="`games` is 0"),
    ),
    "frequent_player": added(
        "games", Field("name", "str", "Name."), Field("games", "int", "Times that this player played it.", "games")
    ),
    "played_game": added(
        "games",
        Field("black", "str", "Black's name; empty: not known."),
        Field("white", "str", "White's name; empty: not known."),
        Field("year", "int", "Year.", "year", nil="not known"),
        Field("event", "str", "Tournament; empty: not known."),
        Field("file", "str", "Name of the file that the game is from."),
        Field(
            "result",
            "int",
            "Black's score, empty squares counted for the winner; 1 or -1: a win without discs.",
            "discs",
            nil="not known",
        ),
        Field("move", "str", "Move that the game went on with: `f5`."),
    ),
}
