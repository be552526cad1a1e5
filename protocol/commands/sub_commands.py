"""The table of sub-commands, which the command line, its help, the man page, the completions and the tests share.

It is read at every start, so it imports nothing heavy: a sub-command's own module is imported when it runs.
"""

from __future__ import annotations

from desdaemon.protocol import satellites
from desdaemon.protocol.rows import SubCommand
from desdaemon.protocol.spelling import nearest

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
    *(command for satellite in satellites.present() for command in satellite.sub_commands),
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
