"""The commands of the text protocol: one function each, found by the table here and imported when first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from desdaemon.dialogue.context import Handler

HANDLERS = {
    "init": "game.init",
    "new": "game.new",
    "setboard": "game.set_board",
    "undo": "game.undo",
    "redo": "game.redo",
    "load": "game.load",
    "save": "game.save",
    "moves": "game.moves",
    "stop": "game.stop",
    "hmirror": "game.mirror_files",
    "vmirror": "game.mirror_ranks",
    "rotate": "game.rotate",
    "symmetry": "game.transform",
    "version": "help.version",
    "options": "game.options",
    "quit": "game.quit_dialogue",
    "nboard": "game.nboard",
    "help": "help.show_help",
    "book": "book.run",
    "base": "bases.run",
    "play": "lines.play",
    "force": "lines.force",
    "opening": "lines.opening",
    "ouverture": "lines.ouverture",
    "seek": "lines.seek",
    "go": "search.go",
    "hint": "search.hint",
    "eval": "search.evaluate",
    "analyze": "search.analyze",
    "solve": "problems.solve",
    "script-to-obf": "problems.script_to_obf",
    "select-hard": "problems.select_hard",
    "wtest": "problems.wtest",
    "perft": "counts.perft",
    "count": "counts.count",
    "estimate": "counts.estimate",
    "mobility": "counts.mobility",
    "bench": "counts.bench",
    "resources": "counts.resources",
}
"""Each command's module in this folder, and its function. Lines that begin another protocol (`TextLine.successor`) have
none."""


def find_handler(name: str) -> Handler:
    """Import and return the function that carries out a command. Raises `KeyError`."""
    from importlib import import_module

    module, _, function = HANDLERS[name].partition(".")
    handler: Handler = getattr(import_module(f"{__name__}.{module}"), function)
    return handler
