"""Handlers of the commands on game, board and help. None of them needs the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desdaemon import __version__
from desdaemon.protocol.commands.options import number_within
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import square_text
from desdaemon.protocol.othello.rules import squares

if TYPE_CHECKING:
    from desdaemon.dialogue.dialects.text import TextDialect


def _init(text: TextDialect, argument: str) -> None:
    text.session.init()


def _new(text: TextDialect, argument: str) -> None:
    text.session.new()


def _set_board(text: TextDialect, argument: str) -> None:
    for doubt in text.session.set_board(argument):
        text.warn(f"setboard: {doubt}")


def _undo(text: TextDialect, argument: str) -> None:
    if not text.session.undo():
        text.warn("undo: the game has no move to take back")


def _redo(text: TextDialect, argument: str) -> None:
    if not text.session.redo():
        text.warn("redo: no move was taken back")


def _load(text: TextDialect, argument: str) -> None:
    from .game_files import read_game

    text.session.load(read_game(argument))
    text.played()


def _save(text: TextDialect, argument: str) -> None:
    from .game_files import write_game

    write_game(argument, text.session)


def _moves(text: TextDialect, argument: str) -> None:
    position = text.session.game.position
    if position.must_pass:
        text.say("PA")
    elif position.over:
        text.say("none: the game is over")
    else:
        text.say(" ".join(square_text(square) for square in squares(position.moves)))


def _stop(text: TextDialect, argument: str) -> None:
    text.session.settings.mode = 3


def _hmirror(text: TextDialect, argument: str) -> None:
    text.session.transform(1)


def _vmirror(text: TextDialect, argument: str) -> None:
    text.session.transform(2)


def _rotate(text: TextDialect, argument: str) -> None:
    # Swapping files and ranks and then mirroring the files is a quarter turn clockwise; the bits of a symmetry
    # act in the opposite order, so that mirroring the ranks first comes to the same.
    symmetry = {"90": 6, "180": 3, "270": 5}.get(argument)
    if symmetry is None:
        raise BadInput(f"rotate {quoted(argument)}: expected 90, 180 or 270")
    text.session.transform(symmetry)


def _symmetry(text: TextDialect, argument: str) -> None:
    number = number_within("symmetry", argument, 0, 15)
    text.session.transform(number & 7, bool(number & 8))


def version_text() -> str:
    """Name and version, one line."""
    return f"desdaemon version {__version__}"


def _version(text: TextDialect, argument: str) -> None:
    text.say(version_text())


def _options(text: TextDialect, argument: str) -> None:
    text.say("\n".join(f"\t{option.name} = {value}" for option, value in text.session.settings.listed()))


def _help(text: TextDialect, argument: str) -> None:
    from .help import laid_out, terminal_width, topic

    width = 0 if text.session.remote else terminal_width()
    text.say("\n\n".join("\n".join(laid_out(page, width)) for page in topic(argument)))


def _book(text: TextDialect, argument: str) -> None:
    from desdaemon.dialogue.book_lines import carry_out

    carry_out(text, argument)


def _base(text: TextDialect, argument: str) -> None:
    from .bases import carry_out

    carry_out(text, argument)


def _quit(text: TextDialect, argument: str) -> None:
    text.leaving = 0


def _nboard(text: TextDialect, argument: str) -> None:
    number_within("nboard", argument, 1, 2)
    text.successor = "nboard"


def _other(protocol: str) -> Callable[[TextDialect, str], None]:
    """The handler of lines with which another protocol begins."""

    def go_over(text: TextDialect, argument: str) -> None:
        text.successor = protocol

    return go_over


HANDLERS: dict[str, Callable[[TextDialect, str], None]] = {
    "init": _init,
    "new": _new,
    "setboard": _set_board,
    "undo": _undo,
    "redo": _redo,
    "load": _load,
    "save": _save,
    "moves": _moves,
    "book": _book,
    "base": _base,
    "stop": _stop,
    "hmirror": _hmirror,
    "vmirror": _vmirror,
    "rotate": _rotate,
    "symmetry": _symmetry,
    "version": _version,
    "options": _options,
    "help": _help,
    "nboard": _nboard,
    "protocol_version": _other("gtp"),
    "xboard": _other("xboard"),
    "engine-protocol": _other("cassio"),
    "quit": _quit,
}
