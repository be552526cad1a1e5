"""`desdaemon completions`: the man page, and completions for bash, zsh and fish.

The tests write the files in `share`, from the tables of commands; they are installed where the shells look, too.
"""

from __future__ import annotations

import sys
from importlib import resources

from desdaemon.protocol.command_line import Parser

FILES = {
    "bash": "share/bash-completion/completions/desdaemon",
    "zsh": "share/zsh/site-functions/_desdaemon",
    "fish": "share/fish/vendor_completions.d/desdaemon.fish",
    "man": "share/man/man1/desdaemon.1",
}
"""The file beside this module for each word of the command."""


def command_line() -> Parser:
    """Return the parser of `desdaemon completions`."""
    parser = Parser(prog="desdaemon completions", description="Print completions for a shell, or the man page.")
    parser.add_argument("what", choices=list(FILES), help="bash, zsh, fish, or man")
    return parser


def main(arguments: list[str]) -> int:
    """Print the shell completions or the manual page that the command line names. Returns the exit status."""
    file = FILES[command_line().parse_args(arguments).what]
    sys.stdout.write(resources.files(__package__).joinpath(file).read_text("utf-8"))
    return 0
