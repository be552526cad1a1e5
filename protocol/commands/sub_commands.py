"""The table of sub-commands, which the command line, its help, the man page, the completions and the tests share.

It is read at every start, so it imports nothing heavy: a sub-command's own module is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.protocol.spelling import nearest

if TYPE_CHECKING:
    import argparse


class SubCommand(NamedTuple):
    """A sub-command: its name of one or two words, its description, and the module that implements it.

    The module has ``main``, which takes the arguments after the name and returns the exit status. It also has
    ``command_line``, which returns the argument parser, or else the text ``USAGE`` for ``--help``. That text may stand
    in a module of its own, ``texts``.
    """

    name: str
    help: str
    module: str
    texts: str = ""
    prefix: str = ""
    """Beginning of the names ``main`` and ``command_line`` in a module that has several sub-commands: ``perft_``."""

    @property
    def main(self) -> Callable[[list[str]], int]:
        """Import the module and return its function that runs the sub-command."""
        found: Callable[[list[str]], int] = _loaded(self.module, f"{self.prefix}main")
        return found

    def parser(self) -> argparse.ArgumentParser | None:
        """Return the argument parser; None for a sub-command that reads its arguments by itself."""
        make: Callable[[], argparse.ArgumentParser] | None = _loaded(self.module, f"{self.prefix}command_line")
        return make() if make else None

    def usage(self) -> str:
        """Return the text of ``--help``."""
        parser = self.parser()
        return parser.format_help() if parser else str(_loaded(self.texts or self.module, "USAGE"))


def _loaded(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(module), name, None)


SUB_COMMANDS = (
    SubCommand("analyze", "report on a game of a file", "desdaemon.clients.analysis.analyze"),
    SubCommand(
        "exercises", "positions of games where the one good move was missed", "desdaemon.clients.analysis.exercises"
    ),
    SubCommand("web", "a board in the browser", "desdaemon.clients.web.web"),
    SubCommand("cluster", "search on many machines: scheduler, worker, status", "desdaemon.cluster.cluster"),
    SubCommand("match", "two programs play each other", "desdaemon.clients.match.match"),
    SubCommand("bot", "a program plays on PlayStrategy", "desdaemon.clients.bot.bot"),
    SubCommand("ggs", "play on the Generic Game Server", "desdaemon.clients.ggs.ggs"),
    SubCommand("serve", "answer clients over sockets", "desdaemon.cli.serve", "desdaemon.cli.serve_options"),
    SubCommand("shell", "a prompt for a daemon, here or elsewhere", "desdaemon.clients.shell"),
    SubCommand("keys", "who may connect to the server: new, list, allow, revoke", "desdaemon.server.keys"),
    SubCommand("games", "index bases of games: what people played in a position", "desdaemon.cli.games"),
    SubCommand("perft", "count the lines of play to a depth", "desdaemon.cli.count", prefix="perft_"),
    SubCommand("count", "count games, positions, shapes, flips, draws, Stoners", "desdaemon.cli.count"),
    SubCommand("bench", "measure the engine", "desdaemon.engine.bench.bench"),
    SubCommand("bench book", "measure the opening book", "desdaemon.book.reports.bench"),
    SubCommand("bench server", "measure a server under load", "desdaemon.clients.bench.server"),
    SubCommand("train", "make evaluation weights", "desdaemon.cli.train"),
    SubCommand("kernels", "list the compiled kernels, show the code of one", "desdaemon.engine.compiler.inspect"),
    SubCommand("warmup", "compile the engine and the book now", "desdaemon.cli.warmup"),
    SubCommand("doctor", "check what works here, what is missing, how to mend it", "desdaemon.cli.doctor.doctor"),
    SubCommand("completions", "completions for bash, zsh or fish, and the man page", "desdaemon.cli.completions"),
)

ALIASES = {"analyse": "analyze"}
"""Other spellings of sub-commands."""


def find_sub_command(arguments: list[str]) -> SubCommand | None:
    """Return the sub-command that ``arguments`` begin with, aliases included; ``bench book`` is preferred to ``bench``.
    None if there is no such sub-command.
    """
    words = [ALIASES.get(argument, argument) for argument in arguments[:1]] + arguments[1:2]
    matching = [command for command in SUB_COMMANDS if words[: len(command.name.split())] == command.name.split()]
    return max(matching, key=lambda command: len(command.name), default=None)


def near_sub_command(word: str) -> str:
    """Return the one-word name of the sub-command nearest to a misspelt ``word``; "" if none is near."""
    return nearest(word, [command.name for command in SUB_COMMANDS if " " not in command.name])
