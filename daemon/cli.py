"""The command line: Edax's options for the text protocol, and sub-commands.

Start-up time counts: nothing here may import what the first prompt does not need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.command_line.sub_commands import SUB_COMMANDS, SubCommand, find_sub_command, near_sub_command
from desdaemon.dialects.protocols import NAMES as PROTOCOLS
from desdaemon.protocol.commands.options import OPTIONS, find_option, whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.spelling import did_you_mean, nearest
from desdaemon.protocol.system import logs
from desdaemon.session.settings import SessionSettings, read_option_file

if TYPE_CHECKING:
    from desdaemon.books.service import Books
    from desdaemon.session.session import Session

OK, UNUSABLE, BAD_COMMAND_LINE, INTERRUPTED = 0, 1, 2, 130

USAGES = (
    ("[OPTION ...]", "the text protocol on standard input and output"),
    ("-PROTOCOL [OPTION ...]", "another one, also --protocol PROTOCOL: {protocols}"),
    ("--zmq [OPTION ...]", "sockets for other clients beside it, with the options of desdaemon serve"),
    ("-solve FILE [OPTION ...]", "solve the problems of an OBF file (- is standard input)"),
    ("-wtest FILE [OPTION ...]", "check the theoretical scores of a WTHOR file"),
    ("-bench N [OPTION ...]", "solve N random positions"),
    ("help [TOPIC]", "a command, an option, book and a book command, or a program of those below"),
    ("PROGRAM [ARGUMENT ...]", "one of the programs below"),
)

WORDS = (
    ("-h, --help", "this text; -h N is the size of the table"),
    ("--version", "name and version"),
    ("--config FILE", "read options from this TOML file instead of {configuration}; none reads no file"),
    ("-edax", "the text protocol, moves announced in Edax's name"),
    (
        "-o, -option-file FILE",
        "read options from a file: name = value, # begins a comment; with any option of Edax's, edax.ini in the "
        "current folder is read first",
    ),
)
"""What the command line knows besides options and sub-commands."""


OPTION_FILE = "edax.ini"
"""Read first where the current folder has it and an option of Edax's is given."""


_TOLD = {"help": "help", "?": "help", "version": "version", "v": "version"}
_WITH_VALUE = ("solve", "wtest", "bench", "o", "option-file", "protocol", "config")
_OURS = ("protocol", "config")


class UsageError(Exception):
    """A command line that cannot be carried out; the message is one line."""


class UnusableFile(Exception):
    """A file that can be read but not used; the message is one line that names it."""


class Invocation(NamedTuple):
    """A command line, understood: the settings, the file to solve or "", what to mention, and the protocol.

    ``batch`` is a line of the text protocol to carry out instead of a dialogue, or ""; ``told`` is ``help`` or
    ``version`` where that is all that was asked for. ``edax`` is set where the program's name or an option was
    Edax's, ``config`` is the configuration file that was named.
    """

    settings: SessionSettings
    solve: str
    warnings: list[str]
    protocol: str = "text"
    batch: str = ""
    told: str = ""
    edax: bool = False
    config: str = ""


def main(argv: list[str] | None = None) -> int:
    """Run desdaemon; returns the exit status: 0, 1 for a file that cannot be used, 2 for a bad command line."""
    program = os.path.basename(sys.argv[0]) if argv is None else "desdaemon"  # noqa: PTH119  pathlib is slow to load
    arguments = sys.argv[1:] if argv is None else argv
    try:
        try:
            return _dispatch(program, arguments)
        finally:
            # What is written at the end of the interpreter fails with a traceback.
            sys.stdout.flush()
    except UsageError as error:
        return _refuse(str(error), BAD_COMMAND_LINE)
    except UnusableFile as error:
        return _refuse(str(error), UNUSABLE)
    except OSError as error:
        if error.filename is None:
            return _lost_output(error)
        return _refuse(f"{error.filename}: {error.strerror}: expected a file that can be read", UNUSABLE)
    except KeyboardInterrupt:
        # At once: an interpreter that ends in an orderly way is open to a second one.
        os._exit(INTERRUPTED)


def _dispatch(program: str, arguments: list[str]) -> int:
    command = find_sub_command(arguments)
    if command:
        return _ended(command, arguments[len(command.name.split()) :])
    if arguments[:1] == ["help"] and len(arguments) > 1:
        return _help(" ".join(arguments[1:]))
    return _run(program, arguments)


def _lost_output(error: OSError) -> int:
    """Standard output takes nothing any more, and what is buffered for it has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not isinstance(error, BrokenPipeError):
        _refuse(str(error), UNUSABLE)
    return UNUSABLE


def _ended(command: SubCommand, arguments: list[str]) -> int:
    """Run a sub-command; its exit status, also where its parser of arguments leaves by itself."""
    try:
        return command.main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK


def _run(program: str, arguments: list[str]) -> int:
    names = {argument.lstrip("-") for argument in arguments[:1] if argument.startswith("-")}
    if "count" in names:
        return main(["count", *arguments[1:]])
    if "bench" in names and whole_number("".join(arguments[1:2])) is None:
        return main(["bench", *arguments[1:]])
    zmq = [argument for argument in arguments if argument in ("--zmq", "-zmq")]
    arguments, beside = _with_sockets(arguments) if zmq else (arguments, None)
    invocation = configured(arguments, program)
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


def configured(arguments: list[str], program: str = "", section: str = "") -> Invocation:
    """Understand the options after those of the configuration file and of `OPTION_FILE`; raises as `read_arguments`.

    ``section`` is the table of the configuration file that counts; the protocol's unless given.
    """
    from desdaemon.command_line.configuration import configuration_path, configure

    begun = Invocation(SessionSettings(), "", [], _named_protocol(program), edax="edax" in program.lower())
    asked = read_arguments(arguments, begun.edax, begun.protocol)
    if asked.told:
        return asked
    chosen = False
    path = asked.config or configuration_path()
    if asked.config != "none" and (asked.config or os.path.isfile(path)):  # noqa: PTH113
        try:
            names, warnings = configure(begun.settings, path, section or asked.protocol)
        except BadInput as error:
            raise UnusableFile(str(error)) from None
        chosen = "edax-compatible" in names
        begun.warnings.extend(warnings)
    first = ["-o", OPTION_FILE] if asked.edax and os.path.isfile(OPTION_FILE) else []  # noqa: PTH113
    found = read_arguments([*first, *arguments], begun.edax, begun.protocol, begun.settings, chosen)
    return found._replace(warnings=begun.warnings + found.warnings)


def _tell(what: str) -> int:
    if what == "version":
        from desdaemon.commands.game import version_text

        print(version_text())  # noqa: T201
        return OK
    from desdaemon.commands.help import laid_out, option_page

    width = _width()
    print(usage(width) + "\n\n" + "\n".join(laid_out(option_page(), width)))  # noqa: T201
    return OK


def _help(topic: str) -> int:
    """`desdaemon help TOPIC`: a sub-command's own help, or what `help` says in the text protocol."""
    from desdaemon.commands.help import laid_out
    from desdaemon.commands.help import topic as pages

    command = find_sub_command(topic.split())
    if command and topic == command.name:
        sys.stdout.write(command.usage())
        return OK
    try:
        found = pages(topic)
    except BadInput as error:
        raise UsageError(str(error)) from None
    print("\n\n".join("\n".join(laid_out(page, _width())) for page in found))  # noqa: T201
    return OK


def _width() -> int:
    """The columns to print help in: the terminal's, 80 where there is none."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


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


def usage(width: int = 0) -> str:
    """What ``--help`` says before the options, in lines no longer than ``width``; 0 does not break any."""
    from desdaemon.command_line.configuration import shown_path
    from desdaemon.commands.help import HelpEntry, HelpPage, laid_out

    shown = {"protocols": " ".join(PROTOCOLS[1:]), "configuration": shown_path()}
    page: HelpPage = ["Usage:", *(HelpEntry(f"desdaemon {head}", text.format(**shown), 37) for head, text in USAGES)]
    page += ["", "Programs, each with a --help of its own:"]
    page += [HelpEntry(f"desdaemon {command.name}", command.help, 37) for command in SUB_COMMANDS]
    page += ["", *(HelpEntry(head, text.format(**shown), 37) for head, text in WORDS)]
    return "\n".join(laid_out(page, width))


def _named_protocol(program: str) -> str:
    """The protocol that the program's own name asks for: a link to it may be called `desdaemon-gtp`."""
    return next((protocol for protocol in PROTOCOLS[1:] if protocol in program.lower()), "text")


def read_arguments(
    arguments: list[str],
    edax_name: bool = False,
    protocol: str = "text",
    settings: SessionSettings | None = None,
    chosen: bool = False,
) -> Invocation:
    """Understand the options, over ``settings``; raises `UsageError`, and `OSError` or `UnusableFile` for option files.

    The announcements are Edax's (``edax-compatible``) when the program's own name says Edax or when any option
    that Edax has is given, however many dashes it is written with; ``-edax-compatible on|off`` decides over both
    (``chosen``: it has been set already).
    """
    settings = settings or SessionSettings()
    solve = batch = config = ""
    warnings: list[str] = []
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
        alone = name == "h" and not equals and not waiting and argument.startswith("-")
        if (name in _TOLD and not equals) or alone:
            return Invocation(settings, "", [], told=_TOLD.get(name, "help"))
        option = find_option(name)
        if option and not equals and (option.kind == "flag" or (option.kind == "bool" and _at_option(waiting))):
            value = "on"
        elif option or name in _WITH_VALUE:
            if not equals and not waiting:
                raise UsageError(f"{argument}: expected a value after it" + (f", {option.expected}" if option else ""))
            value = given if equals else waiting.pop()
        else:
            raise UsageError(_unknown(argument, name))
        if name in _OURS:
            protocol, config = (_protocol(value), config) if name == "protocol" else (protocol, value)
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
    return Invocation(settings, solve, warnings, protocol, batch, edax=edax_name, config=config)


def _unknown(argument: str, name: str) -> str:
    """The message about an argument that is nothing, with what it may be a slip of."""
    names = [*(option.name for option in OPTIONS), *_TOLD, *_WITH_VALUE, *PROTOCOLS, "edax", "zmq"]
    dashes = argument[: len(argument) - len(argument.lstrip("-"))]
    near = nearest(name, names) if dashes else near_sub_command(name) or nearest(name, names)
    meant = f"; did you mean {quoted(dashes + near)}?" if near else ""
    what = "is not an option" if dashes else "is neither a program nor an option"
    return f"{quoted(argument)} {what}: expected one of those that --help lists{meant}"


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        near = did_you_mean(name, PROTOCOLS)
        raise UsageError(f"--protocol {quoted(name)}: expected one of {' '.join(PROTOCOLS)}{near}")
    return name


def _at_option(waiting: list[str]) -> bool:
    """Whether no value comes next."""
    return not waiting or waiting[-1].startswith("-")


def _option_file(settings: SessionSettings, path: str) -> tuple[set[str], list[str]]:
    try:
        return read_option_file(settings, path)
    except BadInput as error:
        raise UnusableFile(str(error)) from None


def _refuse(message: str, status: int) -> int:
    logs.message(message, level="error")
    return status
