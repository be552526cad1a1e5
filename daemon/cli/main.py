"""The command line: Edax's options for the text protocol, and sub-commands.

Start-up time counts: nothing here imports more than the first prompt needs.
"""

from __future__ import annotations

import atexit
import io
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from desdaemon.dialogue.dialects import NAMES as PROTOCOLS
from desdaemon.protocol.commands.options import SWITCHES, whole_number
from desdaemon.protocol.errors import BadInput, lacking, not_installed
from desdaemon.protocol.rows import SubCommand, load
from desdaemon.protocol.system import interpreter, logs, platform

from . import INTERRUPTED
from .arguments import UnusableFile, UsageError, configured

if TYPE_CHECKING:
    from desdaemon.core.books.service import Books
    from desdaemon.dialogue.commands.help import HelpPage
    from desdaemon.dialogue.session import Session

OK, UNUSABLE, BAD_COMMAND_LINE = 0, 1, 2

_AGAIN_S = 0.05
"""How long after a lost interrupt the main thread is interrupted again."""

WORDS = (
    ("-h, --help", "this text; -h N is the size of the table"),
    ("--version", "name and version"),
    ("--config FILE", "read options from this TOML file instead of {configuration}; none reads no file"),
    ("-v, -version", "write the version to standard error, then hold the dialogue, as Edax does"),
    ("-edax", "the text protocol, moves announced in Edax's name"),
    (
        "-o, -option-file FILE",
        "read options from a file: name = value, # begins a comment; with any option of Edax's, edax.ini in the "
        "current folder is read first",
    ),
)
"""Arguments other than options and sub-commands, for ``--help``."""


def program() -> NoReturn:
    """Run desdaemon as the process's program, and end the process.

    The interpreter is not shut down first, unless threads that are not daemonic are left. During a shutdown a daemonic
    thread might wake up and use freed memory, or abort inside the compiler.
    """
    # The threads of numpy's library are for nothing here; where it cannot start them it interrupts the process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = main()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(status)
    atexit._run_exitfuncs()
    logs.flush()
    os._exit(status)


def main(argv: list[str] | None = None) -> int:
    """Run desdaemon with the arguments ``argv``, by default the process's. Returns the exit status: 0, 1 for a file or
    an output that cannot be used, 2 for a bad command line; an interrupt ends the process with 130.
    """
    program = os.path.basename(sys.argv[0]) if argv is None else "desdaemon"  # noqa: PTH119  pathlib is slow to load
    arguments = sys.argv[1:] if argv is None else argv
    _prepare_streams()
    try:
        try:
            return _dispatch(program, arguments)
        finally:
            # Otherwise a write that fails at the interpreter's exit prints a traceback.
            sys.stdout.flush()
    except UsageError as error:
        return _refuse(str(error), BAD_COMMAND_LINE)
    except UnusableFile as error:
        return _refuse(str(error), UNUSABLE)
    except Exception as error:
        # A module that a sub-command imports late may be one of a deleted satellite.
        if reason := lacking(error) or not_installed(error) or (isinstance(error, BadInput) and str(error)):
            return _refuse(reason, UNUSABLE)
        if not isinstance(error, OSError):
            raise
        if error.errno is None:
            # Of a library that cannot be loaded.
            return _refuse(str(error), UNUSABLE)
        if error.filename is None:
            return _lost_output(error)
        return _refuse(f"{error.filename}: {error.strerror}", UNUSABLE)
    except KeyboardInterrupt:
        # At once: in an ordinary exit a second Ctrl-C would print a traceback.
        os._exit(INTERRUPTED)


def _prepare_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed (``desdaemon >&-``).

    Otherwise the next file that is opened gets a stream's number, and printed text goes there. Characters that a
    stream's encoding lacks, such as Greek names, are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The system gives the lowest free number: the stream's.
            setattr(sys, name, open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # Pipes and files have one encoding on all systems; a terminal has its user's.
            given = stream.isatty() or "PYTHONIOENCODING" in os.environ
            encoding = stream.encoding if given else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _dispatch(program: str, arguments: list[str]) -> int:
    command = None
    if arguments and not arguments[0].startswith("-"):
        from desdaemon.protocol.commands.sub_commands import find_sub_command

        command = find_sub_command(arguments)
    if not interpreter.has_global_lock() and not (command and command.checks):
        return _refuse(interpreter.WITHOUT_LOCK, UNUSABLE)
    if command:
        return _run_sub_command(command, arguments[len(command.name.split()) :])
    if arguments[:1] == ["help"] and len(arguments) > 1:
        return _help(" ".join(arguments[1:]))
    return _run(program, arguments)


def _lost_output(error: OSError) -> int:
    """Drop the buffered text of standard output, which cannot be written, and report that, except for a broken pipe.
    Returns the exit status.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not platform.reader_left(error):
        _refuse(f"standard output: {error.strerror}", UNUSABLE)
    return UNUSABLE


def _run_sub_command(command: SubCommand, arguments: list[str]) -> int:
    """Run a sub-command and return its exit status, also that of a `SystemExit` of its parser."""
    import signal

    on_main = threading.current_thread() is threading.main_thread()
    if on_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
        sys.unraisablehook = _interrupted_again
    try:
        return command.main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK


def _interrupted(number: int, frame: object) -> NoReturn:
    """End a sub-command that is interrupted, also where it writes what nobody reads."""
    from desdaemon.protocol.system import output

    output.leave_unread()
    raise KeyboardInterrupt


def _interrupted_again(ignored: sys.UnraisableHookArgs) -> None:
    """Interrupt the main thread again where an interrupt was lost: no exception passes through the functions that
    LLVM calls back while numba compiles.
    """
    if not isinstance(ignored.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    from desdaemon.protocol.system.threads import begin

    def interrupt() -> None:
        # Now the signal would meet the same function.
        time.sleep(_AGAIN_S)
        platform.interrupt_main_thread()

    begin(interrupt, "interrupt")


def _run(program: str, arguments: list[str]) -> int:
    names = {argument.lstrip("-") for argument in arguments[:1] if argument.startswith("-")}
    if "count" in names:
        return main(["count", *arguments[1:]])
    if "bench" in names and whole_number("".join(arguments[1:2])) is None:
        return main(["bench", *arguments[1:]])
    named = {argument.lstrip("-").partition("=")[0] for argument in arguments if argument.startswith("-")}
    if {"ggs", "ggs-password"} <= named:
        raise UsageError("-ggs-password: others can read command lines: expected it in an option file, or none")
    zmq = [argument for argument in arguments if argument in ("--zmq", "-zmq")]
    arguments, beside = _with_sockets(arguments) if zmq else (arguments, None)
    invocation = configured(arguments, program)
    if invocation.information:
        return _print_information(invocation.information)
    for warning in invocation.warnings:
        _refuse(warning, OK)
    if invocation.settings.eval_file:
        from desdaemon.core.search.loader import wrong_head

        wrong = wrong_head(invocation.settings.eval_file)
        if wrong:
            raise UnusableFile(f"-eval-file {wrong}")
    if invocation.switch:
        status: int = load(invocation.switch.function)(invocation.settings, invocation.value)
        return status

    from desdaemon.core.search.loader import EngineSource, build_engine
    from desdaemon.dialogue.stdio import serve

    return serve(invocation.settings, EngineSource(build_engine), invocation.protocol, beside)


def _print_information(what: str) -> int:
    if what == "version":
        from desdaemon.dialogue.commands.help import version_text

        print(version_text())  # noqa: T201
        return OK
    from desdaemon.dialogue.commands.help import option_page

    return _show([usage(), option_page()])


def _help(topic: str) -> int:
    """Print a sub-command's help, or the pages about ``topic`` that `help` shows in the text protocol. Returns the exit
    status; raises `UsageError` if there are none.
    """
    from desdaemon.dialogue.commands.help import topic as pages
    from desdaemon.protocol.commands.sub_commands import find_sub_command

    command = find_sub_command(topic.split())
    if command and topic == command.name:
        sys.stdout.write(command.usage())
        return OK
    try:
        shown = pages(topic)
    except BadInput as error:
        raise UsageError(str(error)) from None
    return _show(shown)


def _show(pages: list[HelpPage]) -> int:
    from desdaemon.dialogue.commands.help import joined
    from desdaemon.protocol.system.terminal import columns, paged

    text = joined(pages, columns() - 1)
    if not paged(text):
        print(text)  # noqa: T201
    return OK


def _with_sockets(arguments: list[str]) -> tuple[list[str], Callable[[Session, Books], Callable[[], None]]]:
    """Return the arguments that are not about sockets, and a function that opens sockets beside a dialogue. The
    function returns another that closes them; it raises `UnusableFile` if they cannot be opened.

    Raises `UsageError` for an option without its value.
    """
    from desdaemon.protocol.system.platform import processors
    from desdaemon.server.server import beside_dialogue

    from .serve_options import serve_options, split_options

    try:
        given, insecure, rest = split_options([argument for argument in arguments if argument not in ("--zmq", "-zmq")])
    except BadInput as error:
        raise UsageError(str(error)) from None

    def open_sockets(session: Session, books: Books) -> Callable[[], None]:
        try:
            options = serve_options(given, insecure, session.settings.n_tasks or processors())
            return beside_dialogue(session, books, options)
        except BadInput as error:
            raise UnusableFile(str(error)) from None

    return rest, open_sockets


def usages() -> list[tuple[str, str]]:
    """Return the forms of a command line, each with what it starts, for ``--help`` and the manual."""
    return [
        ("[OPTION ...]", "the text protocol on standard input and output"),
        ("-PROTOCOL [OPTION ...]", "another one, also --protocol PROTOCOL: {protocols}"),
        ("--zmq [OPTION ...]", "sockets for other clients beside it, with the options of desdaemon serve"),
        *((f"-{' '.join(filter(None, (switch.name, switch.value)))} [OPTION ...]", switch.help) for switch in SWITCHES),
        ("help [TOPIC]", "a command, an option, book and a book command, or a program of those below"),
        ("PROGRAM [ARGUMENT ...]", "one of the programs below"),
    ]


def usage() -> HelpPage:
    """Return the part of ``--help`` before the options."""
    from desdaemon.dialogue.commands.help import HelpEntry
    from desdaemon.dialogue.configuration import shown_path
    from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS

    shown = {"protocols": " ".join(PROTOCOLS[1:]), "configuration": shown_path()}
    page: HelpPage = ["Usage:", *(HelpEntry(f"desdaemon {head}", text.format(**shown), 37) for head, text in usages())]
    page += ["", "Programs, each with a --help of its own:"]
    page += [HelpEntry(f"desdaemon {command.name}", command.help, 37) for command in SUB_COMMANDS]
    page += ["", *(HelpEntry(head, text.format(**shown), 37) for head, text in WORDS)]
    return page


def _refuse(message: str, status: int) -> int:
    logs.message(message, level="error")
    return status
