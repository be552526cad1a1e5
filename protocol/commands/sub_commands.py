"""The table of sub-commands, which the command line, its help, the man page, the completions and the tests share.

It imports nothing heavy: a sub-command's own module is imported when it runs.
"""

from __future__ import annotations

from desdaemon.protocol import satellites
from desdaemon.protocol.rows import SubCommand
from desdaemon.protocol.spelling import nearest

SUB_COMMANDS = (
    *(command for satellite in satellites.present("sub_commands") for command in satellite.sub_commands),
    SubCommand("serve", "answer clients over sockets", "desdaemon.cli.serve", "desdaemon.cli.serve_options"),
    SubCommand("shell", "a prompt for a daemon, here or elsewhere", "desdaemon.clients.shell"),
    SubCommand("keys", "who may connect to the server: new, list, allow, revoke", "desdaemon.server.keys"),
    SubCommand("kernels", "list the compiled kernels, show the code of one", "desdaemon.engine.compiler.inspect"),
    SubCommand("warmup", "compile the engine and the book now", "desdaemon.cli.warmup"),
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


def sub_commands_of(word: str) -> list[str]:
    """Return the names of the sub-commands of two words that begin with ``word``."""
    return [command.name for command in SUB_COMMANDS if command.name.startswith(f"{word} ")]


def near_sub_command(word: str) -> str:
    """Return the one-word name of the sub-command nearest to a misspelt ``word``; "" if none is near."""
    return nearest(word, [command.name for command in SUB_COMMANDS if " " not in command.name])
