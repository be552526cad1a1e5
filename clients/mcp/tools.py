"""The tools: a row each. All but `openings` are operations of the daemon that take fewer arguments, which the daemon
checks; the tables of the wire protocol have the schemas of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from desdaemon.protocol.othello.notation import START, moves_text, play_moves
from desdaemon.protocol.othello.openings import Opening, line_or_opening, opening_of, openings
from desdaemon.protocol.rows import READER, Argument, Operation
from desdaemon.protocol.wire.constants import LONGEST_MOVES
from desdaemon.protocol.wire.messages import BY_NAME, RequestError, check_arguments
from desdaemon.protocol.wire.schemas import Schema, arguments_schema, reply_schema

INSTRUCTIONS = """\
Tools for Othello (Reversi). A position is a line of `moves` from the start (f5d6c3), a `board` (64 squares from A1 to \
H8 row by row: X Black, O White, - empty; then a blank and the side to move), or moves played from a board. Scores are \
expected differences of discs at the end, positive where it is good for the side to move. A score whose `exact` is \
true is proved, any other is an estimate by `depth` plies."""

MOST_MS = 10_000
"""Milliseconds of an analysis whose request names no other limit of time."""

Data = dict[str, Any]


class Tool(NamedTuple):
    """A tool: its ``name``, what it is for, the operation that answers it, and the names of the arguments that it takes
    of that operation. ``given`` are values of arguments that a call leaves out.
    """

    name: str
    help: str
    operation: Operation
    takes: tuple[str, ...]
    given: Mapping[str, Any] = {}

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The rows of the arguments that it takes."""
        return tuple(argument for argument in self.operation.arguments if argument.name in self.takes)

    @property
    def takes_schema(self) -> Schema:
        """The schema of its arguments."""
        return arguments_schema(self.arguments)

    @property
    def gives_schema(self) -> Schema | None:
        """The schema of its result; None for a tool of our own."""
        return reply_schema(self.operation.replies[0]) if self.operation.replies else None

    def read(self, args: Data) -> Data:
        """Return the arguments of the operation for those of a call. Raises `RequestError` for others than it takes."""
        unknown = next((name for name in args if name not in self.takes), None)
        if unknown is not None:
            raise RequestError("bad_request", f"{self.name} takes no {unknown!r:.50}: expected {', '.join(self.takes)}")
        return {**self.given, **check_arguments(self.operation, args)[0]}


OPENINGS = Operation(
    "openings",
    (
        Argument(
            "line",
            "text",
            "Moves such as f5d6c3d3c4, or a name such as Tiger, in English, French or Japanese.",
            0,
            LONGEST_MOVES,
            default="all openings",
        ),
    ),
    READER,
    "The names of openings.",
)

_POSITION = ("board", "moves")
_WANTED: tuple[tuple[str, str, str, tuple[str, ...], Data], ...] = (
    (
        "analyze",
        "Search a position: its best moves with scores and best lines. The opening book answers where its level "
        f"suffices. A search ends after {MOST_MS // 1000} seconds unless time_ms says otherwise.",
        "analyze",
        (*_POSITION, "level", "time_ms", "multipv", "allow", "book"),
        {"time_ms": MOST_MS},
    ),
    ("legal_moves", "The legal moves of a position, its board and its discs.", "legal", _POSITION, {}),
    ("book", "What the opening book knows of a position and its moves.", "book.get", _POSITION, {"children": True}),
    (
        "explorer",
        "What people played in a position: games, wins, draws and losses by move, and the newest games.",
        "games.get",
        (*_POSITION, "games", "player", "event", "from_year", "to_year"),
        {"games": 5},
    ),
    (
        "explain",
        "Why a move is worse than the best one, by what both lines of play show on the board: `played` is the move and "
        "the best play after it, `best` the best move with its own, as `analyze` gives them as `pv`.",
        "explain",
        (*_POSITION, "played", "best"),
        {},
    ),
)
"""Name, help, operation, arguments taken, values given."""

TOOLS = (
    *(Tool(name, help, BY_NAME[op], takes, given) for name, help, op, takes, given in _WANTED if op in BY_NAME),
    Tool(
        "openings",
        "The name of the opening that a line leads to or that has a name, and the named openings that go on from it.",
        OPENINGS,
        ("line",),
    ),
)


def named_openings(args: Data) -> Data:
    """Answer the tool `openings`: the moves of the line and its name, and the named openings that begin with it. Raises
    `BadInput` for a line that is neither legal moves nor a name.
    """
    played = play_moves(START, line_or_opening(args.get("line") or ""))
    here = opening_of(played.positions())
    line = moves_text(played.moves)
    following = [_data(one) for one in openings() if moves_text(one.moves).startswith(line)]
    return {
        "moves": line,
        "opening": _data(here) if here else None,
        "following": [one for one in following if one["moves"] != line],
    }


def _data(opening: Opening) -> Data:
    names = {language: list(names) for language, names in opening.names.items()}
    return {"moves": moves_text(opening.moves), "names": names}
