"""Cassio's engine protocol: its commands, and the lines with which an engine answers."""

from __future__ import annotations

import math
from typing import NamedTuple

from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import Position, board_text, move_text, parse_board, parse_moves
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.othello.selectivity import SELECTIVITIES, Selectivity
from desdaemon.protocol.rows import Command

PREFIX = "ENGINE-PROTOCOL"

COMMANDS = (
    Command("init", (), "", "Load the engine: `ready.`"),
    Command("get-version", (), "", "Name and version, then `ready.`"),
    Command("new-position", (), "", "`ready.`"),
    Command(
        "midgame-search",
        (),
        "board alpha beta depth precision",
        "Search: a line of result, at verbose 2 one for each iteration, then `ready.`",
    ),
    Command("endgame-search", (), "board alpha beta precision", "Search to the end of the game."),
    Command("stop", (), "", "End the search; its last result, its `ready.`, and one for the stop."),
    Command("get-search-infos", (), "", "While a search runs `node N, time S`, else `ready.`"),
    Command("feed-hash", (), "board lower upper depth precision moves", "Checked and left unused, without an answer."),
    Command("empty-hash", (), "", "Forget all positions; no answer."),
    Command("quit", (), "", "`bye bye.`; a search ends."),
)

WITHOUT_AN_ANSWER = ("feed-hash", "empty-hash")
"""Commands that are answered only if they fail."""

BESIDE_A_SEARCH = ("stop", "get-search-infos", "quit")
"""Commands that are carried out while a search runs."""


class CassioTask(NamedTuple):
    """A search: its window in discs for the side to move, its depth in plies (None: to the end of the game), and its
    confidence in percent.
    """

    position: Position
    alpha: int
    beta: int
    depth: int | None
    selectivity: Selectivity


def split_line(line: str) -> tuple[str, str]:
    """Return the command, in lower case, and the rest of a line that begins with `PREFIX`; "" and the whole line if
    the prefix or the command is missing.
    """
    words = line.split(None, 2)
    if len(words) < 2 or words[0].upper() != PREFIX:
        return "", line
    return words[1].lower(), words[2] if len(words) > 2 else ""


def unknown(line: str) -> str:
    """Return the error message for a line without a known command. The line must not be empty."""
    words = line.split(None, 2)
    if words[0].upper() != PREFIX:
        return f"Unknown protocol {quoted(line.strip())}: expected {PREFIX} and a command"
    names = " ".join(command.name for command in COMMANDS)
    return f"Unknown command {quoted(words[1] if len(words) > 1 else '')}: expected one of {names}"


def parse_midgame(text: str) -> CassioTask:
    """Parse ``<64 squares><side> alpha beta depth precision``; raises `BadInput`. Decimal bounds of the window are
    rounded outwards, the precision up to a `Selectivity`.
    """
    fields = _fields("midgame-search", text, 5)
    return _task("midgame-search", fields, number_within("midgame-search", fields[3], 0, 60), fields[4])


def parse_endgame(text: str) -> CassioTask:
    """Parse ``<64 squares><side> alpha beta precision`` and round the numbers as `parse_midgame` does; raises
    `BadInput`.
    """
    fields = _fields("endgame-search", text, 4)
    return _task("endgame-search", fields, None, fields[3])


def check_feed(text: str) -> None:
    """Raise `BadInput` unless the text has the form ``board lower upper depth precision [moves]`` with a readable board
    and moves. The numbers between are not checked.
    """
    fields = text.split()
    if len(fields) < 5:
        raise BadInput(f"feed-hash {quoted(text)}: expected board, lower, upper, depth, precision and moves")
    parse_board(fields[0])
    parse_moves(" ".join(fields[5:]))


def _task(command: str, fields: list[str], depth: int | None, precision: str) -> CassioTask:
    lower, upper = (_value(command, field) for field in fields[1:3])
    if lower >= upper:
        raise BadInput(f"{command}: a window from {fields[1]} to {fields[2]}: expected the lower end first")
    # Scores are whole discs: rounding the window outwards leaves the same scores inside.
    alpha, beta = math.floor(lower), math.ceil(upper)
    percent = number_within(command, precision, 0, 100)
    selectivity = next(level for level in SELECTIVITIES if level >= percent)
    return CassioTask(parse_board(fields[0]), alpha, beta, depth, selectivity)


def _value(command: str, text: str) -> float:
    """Return a number of discs from -64 to 64, such as ``-0.51``; raises `BadInput`."""
    digits = (text[1:] if text[:1] in ("+", "-") else text).replace(".", "", 1)
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18 or not -64 <= float(text) <= 64:
        raise BadInput(f"{command} {quoted(text)}: expected a number of discs from -64 to 64, such as 2 or -0.51")
    return float(text)


def _fields(command: str, text: str, count: int) -> list[str]:
    fields = text.split()
    if len(fields) != count:
        expected = next(row.parameters for row in COMMANDS if row.name == command)
        raise BadInput(f"{command} {quoted(text)}: expected {expected}")
    return fields


def result_line(
    position: Position,
    move: int | None,
    depth: int,
    selectivity: Selectivity,
    bounds: tuple[MoverScore, MoverScore],
    pv: tuple[int, ...],
    nodes: int,
    ms: float,
) -> str:
    """Return the line about a search's result: ``bounds`` in discs for the side to move, ``depth`` in plies; ``move``
    is None if there is none.
    """
    side = "B" if position.black_to_move else "W"
    lower, upper = (f"{side}{bound:+.2f}" for bound in bounds)
    name = "--" if move is None else move_text(move)
    return (
        f"{board_text(position).replace(' ', '')}, move {name}, depth {depth}, @{selectivity}%, "
        f"{lower} <= v <= {upper}, {_line_text(pv, position.black_to_move)}, node {nodes}, time {ms / 1000:.3f}"
    )


def _line_text(pv: tuple[int, ...], black_to_move: bool) -> str:
    """Return a line of play as ``F5d6C3``: Black's moves in upper case, White's in lower case."""
    text = ""
    for ply, move in enumerate(pv):
        black = black_to_move == (ply % 2 == 0)
        text += move_text(move) if black else move_text(move).lower()
    return text
