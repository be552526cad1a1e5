"""The commands on the game, the options and the dialogue itself; none needs the engine."""

from __future__ import annotations

from desdaemon.dialogue.session import CommandContext
from desdaemon.protocol.commands.options import file_name, number_within
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import square_text
from desdaemon.protocol.othello.rules import squares


def init(context: CommandContext, argument: str) -> None:
    context.session.init()


def new(context: CommandContext, argument: str) -> None:
    context.session.new()


def set_board(context: CommandContext, argument: str) -> None:
    for doubt in context.session.set_board(argument):
        context.warn(f"setboard: {doubt}")


def undo(context: CommandContext, argument: str) -> None:
    if not context.session.undo(number_within("undo", argument or "1", 1, 10**9)):
        what = f" {argument}: the game has fewer moves" if argument else ": the game has no move"
        context.warn(f"undo{what} to take back")


def redo(context: CommandContext, argument: str) -> None:
    if not context.session.redo(number_within("redo", argument or "1", 1, 10**9)):
        context.warn(f"redo {argument}: fewer moves were taken back" if argument else "redo: no move was taken back")


def load(context: CommandContext, argument: str) -> None:
    from .game_files import read_game

    context.session.load(read_game(file_name(argument)))
    context.moved = True


def save(context: CommandContext, argument: str) -> None:
    from .game_files import write_game

    write_game(file_name(argument), context.session)


def moves(context: CommandContext, argument: str) -> None:
    position = context.session.game.position
    legal = squares(position.moves)
    if legal:
        context.say(" ".join(map(square_text, legal)))
    else:
        context.say("PA" if position.must_pass else "none: the game is over")


def stop(context: CommandContext, argument: str) -> None:
    """`stop`: from now on the engine plays neither side."""
    context.settings.mode = 3


def mirror_files(context: CommandContext, argument: str) -> None:
    context.session.transform(1)


def mirror_ranks(context: CommandContext, argument: str) -> None:
    context.session.transform(2)


def rotate(context: CommandContext, argument: str) -> None:
    # A quarter turn counterclockwise mirrors the files, then swaps files and ranks.
    symmetry = {"90": 5, "180": 3, "270": 6}.get(argument or "90")
    if symmetry is None:
        raise BadInput(f"rotate {quoted(argument)}: expected 90, 180 or 270")
    context.session.transform(symmetry)


def transform(context: CommandContext, argument: str) -> None:
    """`symmetry`: transform the board; numbers from 8 on also exchange the colours."""
    number = number_within("symmetry", argument, 0, 15)
    context.session.transform(number & 7, bool(number & 8))


def options(context: CommandContext, argument: str) -> None:
    context.say("\n".join(f"\t{option.name} = {value}" for option, value in context.settings.listed()))


def quit_dialogue(context: CommandContext, argument: str) -> None:
    context.leaving = 0
