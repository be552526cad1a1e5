"""What the explorer brings: `games index`, `games show`, the option `games-file`, the operation `games.get`."""

from __future__ import annotations

from desdaemon.protocol.rows import COUNTS, READER, Argument, Command, Feature, Operation, Option, Satellite, SubCommand
from desdaemon.protocol.wire.arguments import POSITION, number, positions
from desdaemon.protocol.wire.constants import LONGEST_NAME, MOST_GAMES

GAMES_FILE = Option(
    "games-file",
    (),
    "path",
    "Index of games for games show, made by desdaemon games index; without it the one in the data folder.",
    edax=False,
    default="",
)

SATELLITE = Satellite(
    sub_commands=(
        SubCommand("games", "index bases of games: what people played in a position", "desdaemon.book.explorer.cli"),
    ),
    options=(GAMES_FILE,),
    commands=(
        Command(
            "games",
            (),
            "show [n] [player|black|white|event name] [years first-last]",
            "Show what people played here and n of their games (default 10), all or those that a filter lets through.",
            READER,
            COUNTS,
            asks=True,
            handler="desdaemon.book.explorer.show:show",
        ),
    ),
    operations=(
        Operation(
            "games.get",
            (
                *POSITION,
                positions("games"),
                number(
                    "games",
                    "Games to list for a position, the newest first, with the most frequent players of each move.",
                    0,
                    MOST_GAMES,
                    "games",
                    "0",
                    cost="a look at every game that reached the position",
                    since="games",
                ),
                *(
                    Argument(name, "text", help, 0, LONGEST_NAME, default="any", cost="as for `games`", since="games")
                    for name, help in (
                        ("player", "Count only games of a player: a part of the name, in any case, or `=NAME`."),
                        ("black", "Only games of this player as Black."),
                        ("white", "Only games of this player as White."),
                        ("event", "Only games of this tournament, or file."),
                    )
                ),
                number("from_year", "Only games of this year and later.", 0, 9999, "year", "any", since="games"),
                number("to_year", "Only games of this year and earlier.", 0, 9999, "year", "any", since="games"),
            ),
            READER,
            "What people played in a position, or in several.",
            since="games",
            repeatable=True,
            replies=("played", "played_positions"),
            handler="desdaemon.book.explorer.operations:get",
        ),
    ),
    features={"games": Feature("1.3", "`games.get`: what people played, from an index of games.")},
    shapes="desdaemon.book.explorer.replies:SHAPES",
    exports={"Explorer": "desdaemon.book.explorer.api:Explorer"},
)
