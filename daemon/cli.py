"""The command line: Edax's options for the text protocol, and sub-commands.

Start-up time counts: nothing here may import what the first prompt does not need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.dialects.protocols import NAMES as PROTOCOLS
from desdaemon.protocol.commands.options import find_option, whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.session.settings import Settings, read_option_file

if TYPE_CHECKING:
    from desdaemon.books.service import Books
    from desdaemon.session.session import Session

OK, UNUSABLE, BAD_COMMAND_LINE = 0, 1, 2

USAGE = """\
desdaemon [OPTION ...]              the text protocol on standard input and output
desdaemon -PROTOCOL [OPTION ...]    another one, also --protocol PROTOCOL: {protocols}
desdaemon --zmq [OPTION ...]        sockets for other clients beside it, with the options of desdaemon serve
desdaemon -solve FILE [OPTION ...]  solve the problems of an OBF file (- is standard input)
desdaemon -wtest FILE [OPTION ...]  check the theoretical scores of a WTHOR file
desdaemon -bench N [OPTION ...]     solve N random positions
desdaemon COMMAND [ARGUMENT ...]

Commands:
  perft N [--mode 1|2]              count the lines of N plies; in mode 2 a pass is not a ply
  count games|shapes N              count lines of play, or sets of occupied squares, of up to N plies
  count positions N [1|2|3]         count the positions after N discs, see the command count in help
{commands}

  --help, --version                 this text, name and version
  -edax                             the text protocol, moves announced in Edax's name
  -o FILE, -option-file FILE        read options from a file: name = value, # begins a comment; edax.ini in
                                    the current folder is read first
"""


OPTION_FILE = "edax.ini"
"""Read first where the current folder has it."""


_MOST_PLIES = {"games": 60, "shapes": 8}
_TOLD = {"help": "help", "?": "help", "version": "version", "v": "version"}


class SubCommand(NamedTuple):
    """A command line of its own: its name of one or two words, what it does, and the module whose ``main`` does it.

    ``main`` gets the arguments after the name and returns the exit status.
    """

    name: str
    help: str
    module: str


SUB_COMMANDS = (
    SubCommand("bench", "measure the engine", "desdaemon.engine.bench"),
    SubCommand("bench book", "measure the opening book", "desdaemon.book.reports.bench"),
    SubCommand("bench server", "measure a server under load", "desdaemon.clients.bench.command"),
    SubCommand("bench scheduler", "simulate how searches share the threads", "desdaemon.search.simulation"),
    SubCommand("bench storm", "attack a server while clients check its answers", "desdaemon.clients.bench.storm"),
    SubCommand("serve", "answer clients over sockets", "desdaemon.server.server"),
    SubCommand("keys", "who may connect to the server: new, list, allow, revoke", "desdaemon.server.keys"),
    SubCommand("warmup", "compile the engine and the book now", "desdaemon.warmup"),
    SubCommand("analyze", "report on a game of a file", "desdaemon.clients.analysis.command"),
    SubCommand("match", "two programs play each other", "desdaemon.clients.match.command"),
    SubCommand("shell", "a prompt of a daemon, here or elsewhere", "desdaemon.clients.shell"),
    SubCommand("train", "make evaluation weights", "desdaemon.engine.training.cli"),
)


class UsageError(Exception):
    """A command line that cannot be carried out; the message is one line."""


class UnusableFile(Exception):
    """A file that can be read but not used; the message is one line that names it."""


class Invocation(NamedTuple):
    """A command line, understood: the settings, the file to solve or "", what to mention, and the protocol.

    ``batch`` is a line of the text protocol to carry out instead of a dialogue, or ""; ``told`` is ``help`` or
    ``version`` where that is all that was asked for.
    """

    settings: Settings
    solve: str
    warnings: list[str]
    protocol: str = "text"
    batch: str = ""
    told: str = ""


def main(argv: list[str] | None = None) -> int:
    """Run desdaemon; returns the exit status: 0, 1 for a file that cannot be used, 2 for a bad command line."""
    program = os.path.basename(sys.argv[0]) if argv is None else "desdaemon"  # noqa: PTH119  pathlib is slow to load
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments[:1] == ["perft"]:
            return _perft(arguments[1:])
        if arguments[:1] == ["count"]:
            return _count(arguments[1:])
        command = _sub_command(arguments)
        if command:
            return _main_of(command)(arguments[len(command.name.split()) :])
        return _run(program, arguments)
    except UsageError as error:
        return _refuse(str(error), BAD_COMMAND_LINE)
    except UnusableFile as error:
        return _refuse(str(error), UNUSABLE)
    except OSError as error:
        if error.filename is None:
            raise
        return _refuse(f"{error.filename}: {error.strerror}: expected a file that can be read", UNUSABLE)
    except KeyboardInterrupt:
        return 130


def _run(program: str, arguments: list[str]) -> int:
    names = {argument.lstrip("-") for argument in arguments[:1] if argument.startswith("-")}
    if "count" in names:
        return _count(arguments[1:])
    if "bench" in names and whole_number("".join(arguments[1:2])) is None:
        return main(["bench", *arguments[1:]])
    zmq = [argument for argument in arguments if argument in ("--zmq", "-zmq")]
    arguments, beside = _with_sockets(arguments) if zmq else (arguments, None)
    found = ["-o", OPTION_FILE] if os.path.isfile(OPTION_FILE) else []  # noqa: PTH113
    invocation = read_arguments([*found, *arguments], "edax" in program.lower(), _named_protocol(program))
    if invocation.told:
        return _tell(invocation.told)
    for warning in invocation.warnings:
        _refuse(warning, OK)
    if invocation.settings.eval_file:
        from desdaemon.search.weights_sniff import wrong_head

        wrong = wrong_head(invocation.settings.eval_file)
        if wrong:
            raise UnusableFile(f"-eval-file {wrong}")

    from desdaemon.dialects.stdio import carry_out, serve, solve
    from desdaemon.search.loader import EngineSource, build_engine

    engines = EngineSource(build_engine)
    if invocation.solve:
        return solve(invocation.settings, engines, invocation.solve)
    if invocation.batch:
        return carry_out(invocation.settings, engines, invocation.batch)
    return serve(invocation.settings, engines, invocation.protocol, beside)


def _tell(what: str) -> int:
    from desdaemon.commands.game import option_help, version_text

    print(version_text() if what == "version" else usage() + "\n" + "\n".join(option_help()))  # noqa: T201
    return OK


def _with_sockets(arguments: list[str]) -> tuple[list[str], Callable[[Session, Books], Callable[[], None]]]:
    """The arguments that are not about sockets, and what opens these beside a dialogue."""
    from desdaemon.server.serve_options import split_options
    from desdaemon.server.server import beside_dialogue

    try:
        given, insecure, rest = split_options([argument for argument in arguments if argument not in ("--zmq", "-zmq")])
    except BadInput as error:
        raise UsageError(str(error)) from None

    def open_sockets(session: Session, books: Books) -> Callable[[], None]:
        try:
            return beside_dialogue(session, books, given, insecure)
        except BadInput as error:
            raise UnusableFile(str(error)) from None

    return rest, open_sockets


def usage() -> str:
    """What ``--help`` says before the options."""
    commands = [f"  {command.name + ' [ARGUMENT ...]':<34}{command.help}" for command in SUB_COMMANDS]
    return USAGE.format(protocols=" ".join(PROTOCOLS[1:]), commands="\n".join(commands))


def _sub_command(arguments: list[str]) -> SubCommand | None:
    """The sub-command that the arguments begin with, the one of the longest name."""
    found = [command for command in SUB_COMMANDS if arguments[: len(command.name.split())] == command.name.split()]
    return max(found, key=lambda command: len(command.name), default=None)


def _main_of(command: SubCommand) -> Callable[[list[str]], int]:
    from importlib import import_module

    main: Callable[[list[str]], int] = import_module(command.module).main
    return main


def _named_protocol(program: str) -> str:
    """The protocol that the program's own name asks for: a link to it may be called `desdaemon-gtp`."""
    return next((protocol for protocol in PROTOCOLS[1:] if protocol in program.lower()), "text")


def read_arguments(arguments: list[str], edax_name: bool = False, protocol: str = "text") -> Invocation:
    """Understand the options; raises `UsageError`, and `OSError` or `UnusableFile` for an option file.

    The announcements are Edax's (``edax-compatible``) when the program's own name says Edax or when any option
    that Edax has is given, however many dashes it is written with; ``-edax-compatible on|off`` decides over both.
    """
    settings = Settings()
    solve = batch = ""
    warnings: list[str] = []
    chosen = False
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        name, equals, given = argument.lstrip("-").partition("=")
        if name in PROTOCOLS and not equals:
            protocol = name
            continue
        if name == "edax" and not equals:
            protocol, edax_name = "text", True
            continue
        if name in _TOLD and not equals:
            return Invocation(settings, "", [], told=_TOLD[name])
        option = find_option(name)
        if option and not equals and (option.kind == "flag" or (option.kind == "bool" and _at_option(waiting))):
            value = "on"
        elif option or name in ("solve", "wtest", "bench", "o", "option-file", "protocol"):
            if not equals and not waiting:
                raise UsageError(f"{argument}: expected a value after it" + (f", {option.expected}" if option else ""))
            value = given if equals else waiting.pop()
        else:
            raise UsageError(f"{quoted(argument)} is not an option: expected one of those that --help lists")
        if name == "protocol":
            protocol = _protocol(value)
            continue
        edax_name = edax_name or option is None or option.edax
        if option is None and name == "solve":
            solve = value
        elif option is None and name in ("wtest", "bench"):
            batch = f"{name} {value}"
        elif option is None:
            names, told = _option_file(settings, value)
            chosen = chosen or "edax-compatible" in names
            warnings += told
        else:
            chosen = chosen or option.name == "edax-compatible"
            try:
                settings.set(option, value)
            except BadInput as error:
                raise UsageError(f"-{error}") from None
    if not chosen:
        settings.edax_compatible = edax_name
    return Invocation(settings, solve, warnings, protocol, batch)


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        raise UsageError(f"--protocol {quoted(name)}: expected one of {' '.join(PROTOCOLS)}")
    return name


def _at_option(waiting: list[str]) -> bool:
    """Whether no value comes next."""
    return not waiting or waiting[-1].startswith("-")


def _option_file(settings: Settings, path: str) -> tuple[set[str], list[str]]:
    try:
        return read_option_file(settings, path)
    except BadInput as error:
        raise UnusableFile(str(error)) from None


def _refuse(message: str, status: int) -> int:
    sys.stderr.write(f"desdaemon: {message}\n")
    return status


def _perft(arguments: list[str]) -> int:
    mode = 1
    words = list(arguments)
    for flag in ("--mode", "-mode"):
        if flag in words:
            at = words.index(flag)
            mode = _number(words[at + 1 : at + 2], "perft --mode", 1, 2)
            del words[at : at + 2]
    if len(words) != 1:
        raise UsageError("perft: expected a depth and optionally --mode 1 or --mode 2")
    depth = _number(words, "perft", 0, 60)

    from desdaemon.engine.counting import perft
    from desdaemon.protocol.othello.rules import START

    print(perft(*START, depth, mode))  # noqa: T201
    return OK


def _count(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] in _MOST_PLIES:
        plies = _number(arguments[1:], f"count {arguments[0]}", 0, _MOST_PLIES[arguments[0]])

        from desdaemon.dialects.stdio import carry_out
        from desdaemon.search.loader import EngineSource, build_engine

        return carry_out(Settings(), EngineSource(build_engine), f"count {arguments[0]} {plies}")
    if not 2 <= len(arguments) <= 3 or arguments[0] != "positions":
        raise UsageError(
            "count: expected games, positions or shapes and a depth, behind positions a definition too, 1 to 3"
        )
    depth = _number(arguments[1:2], "count positions", 0, 12)
    definitions = [_number(arguments[2:], "count positions, definition", 1, 3)] if arguments[2:] else [1, 2, 3]

    from desdaemon.engine.counting import count_positions

    try:
        for definition in definitions:
            print(count_positions(depth, definition))  # noqa: T201
    except MemoryError as error:
        return _refuse(f"count positions {depth}: {error}", UNUSABLE)
    return OK


def _number(words: list[str], what: str, low: int, high: int) -> int:
    number = whole_number(words[0]) if words else None
    if number is None or not low <= number <= high:
        shown = quoted(words[0]) if words else "nothing"
        raise UsageError(f"{what}: {shown} given, expected a whole number from {low} to {high}")
    return number
