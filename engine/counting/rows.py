"""What counting brings: the commands that count, measure and estimate, `desdaemon count` and `desdaemon perft`."""

from __future__ import annotations

from desdaemon.protocol.rows import ADMIN, COUNTS, READER, SEARCHES, Command, Satellite, SubCommand, Switch

SATELLITE = Satellite(
    sub_commands=(
        SubCommand(
            "perft", "count the lines of play to a depth", "desdaemon.engine.counting.command_line", prefix="perft_"
        ),
        SubCommand(
            "count", "count games, positions, shapes, flips, draws, Stoners", "desdaemon.engine.counting.command_line"
        ),
    ),
    switches=(Switch("bench", "solve N random positions", "desdaemon.engine.counting.commands:bench_as_edax", "N"),),
    commands=(
        Command(
            "perft",
            (),
            "[d] [1|2]",
            "Count the lines of d plies (default 10); in mode 2 a pass is not a ply.",
            ADMIN,
            COUNTS,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:perft",
        ),
        Command(
            "count",
            (),
            "games|positions|shapes d [1|2|3]",
            "Count lines of 0 to d plies; or positions after d discs, symmetric ones once: 1 as they are after the "
            "move, 2 with forced passes made, 3 without finished games; or sets of occupied squares.",
            ADMIN,
            COUNTS,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:count",
        ),
        Command(
            "bench",
            (),
            "[n]",
            "Solve n random positions with 20 empty squares, or as many as a minute allows.",
            ADMIN,
            SEARCHES,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:bench",
        ),
        Command(
            "mobility",
            (),
            "[seconds]",
            "Look for a position with many moves by random play (default 10 seconds).",
            ADMIN,
            COUNTS,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:mobility",
        ),
        Command(
            "estimate",
            (),
            "[n]",
            "Estimate the number of games from here by n random ones (default 10).",
            ADMIN,
            COUNTS,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:estimate",
        ),
        Command(
            "resources",
            (),
            "",
            "Show processor time and memory used.",
            READER,
            asks=True,
            tests=True,
            handler="desdaemon.engine.counting.commands:resources",
        ),
    ),
    libraries=("desdaemon.engine.counting.exports",),
)
