"""The options of a start: the command line, after the configuration file and Edax's ``edax.ini``.

All this runs on the main thread before anything else. Start-up time counts.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from desdaemon import __version__
from desdaemon.core.settings import SessionSettings, read_option_file
from desdaemon.dialogue.configuration import configuration_path, configure
from desdaemon.dialogue.dialects import NAMES as PROTOCOLS
from desdaemon.protocol.commands.options import OPTIONS, find_option
from desdaemon.protocol.commands.sub_commands import near_sub_command
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.spelling import did_you_mean, nearest

OPTION_FILE = "edax.ini"
"""Read first if it is in the current folder and an option of Edax's is given."""

_INFORMATION = {"help": "help", "?": "help", "version": "version"}
_WITH_VALUE = ("solve", "wtest", "bench", "o", "option-file", "protocol", "config")
"""Options with a value that are not settings of a session."""
_NOT_EDAX = ("protocol", "config")
"""Those of them that Edax does not have."""


class UsageError(Exception):
    """A command line that cannot be understood; the message is one line."""


class UnusableFile(Exception):
    """A file that can be read but not used; the message is one line that names it."""


class Invocation(NamedTuple):
    """A parsed command line."""

    settings: SessionSettings
    solve: str
    """A file of problems to solve instead of a dialogue, or ""."""
    warnings: list[str]
    """Lines for standard error."""
    protocol: str = "text"
    batch: str = ""
    """A line of the text protocol to run instead of a dialogue, or ""."""
    information: str = ""
    """``help`` or ``version`` if only that is to be printed, or ""."""
    edax: bool = False
    """The program's name or an option was Edax's."""
    config: str = ""
    """The value of ``--config``, or ""."""


def configured(arguments: list[str], program: str = "", section: str = "") -> Invocation:
    """Parse the options, after those of the configuration file and of `OPTION_FILE`.

    ``program`` is the name that desdaemon was started by, ``section`` the table of the configuration file to read;
    "" is the protocol's. Raises as `read_arguments`.
    """
    begun = Invocation(SessionSettings(), "", [], protocol_of_program(program), edax="edax" in program.lower())
    asked = read_arguments(arguments, begun.edax, begun.protocol)
    if asked.information:
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
    invocation = read_arguments([*first, *arguments], begun.edax, begun.protocol, begun.settings, chosen)
    return invocation._replace(warnings=begun.warnings + invocation.warnings)


def protocol_of_program(program: str) -> str:
    """Return the protocol in the name that the program was started by, such as that of a link `desdaemon-gtp`."""
    return next((protocol for protocol in PROTOCOLS[1:] if protocol in program.lower()), "text")


def read_arguments(
    arguments: list[str],
    edax_name: bool = False,
    protocol: str = "text",
    settings: SessionSettings | None = None,
    chosen: bool = False,
) -> Invocation:
    """Parse the options into ``settings``, new ones unless given.

    Moves are announced as Edax does (``edax-compatible``) if the program's name contains Edax or an option of Edax's
    is given, with any number of dashes, unless ``-edax-compatible on|off`` decides (``chosen``: it has been set
    already).

    Raises `UsageError`, and `OSError` or `UnusableFile` for option files.
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
        if argument in ("-v", "-version"):
            # As by Edax; --version is ours.
            warnings.append(f"version {__version__}")
            edax_name = True
            continue
        if (name in _INFORMATION and not equals) or alone:
            return Invocation(settings, "", [], information=_INFORMATION.get(name, "help"))
        option = find_option(name)
        if option and not equals and (option.kind == "flag" or (option.kind == "bool" and _at_option(waiting))):
            value = "on"
        elif option or name in _WITH_VALUE:
            if not equals and not waiting:
                raise UsageError(f"{argument}: expected a value after it" + (f", {option.expected}" if option else ""))
            value = given if equals else waiting.pop()
        else:
            raise UsageError(_unknown(argument, name))
        if name in _NOT_EDAX:
            protocol, config = (_protocol(value), config) if name == "protocol" else (protocol, value)
            continue
        edax_name = edax_name or option is None or option.edax
        if option is None and name == "solve":
            solve = value
        elif option is None and name in ("wtest", "bench"):
            batch = f"{name} {value}"
        elif option is None:
            names, doubts = _option_file(settings, value)
            chosen = chosen or "edax-compatible" in names
            warnings += doubts
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
    """Return the message about an unknown argument, with the nearest name."""
    names = [*(option.name for option in OPTIONS), *_INFORMATION, *_WITH_VALUE, *PROTOCOLS, "edax", "zmq"]
    dashes = argument[: len(argument) - len(argument.lstrip("-"))]
    near = nearest(name, names) if dashes else near_sub_command(name) or nearest(name, names)
    meant = f"did you mean {quoted(dashes + near)}?" if near else "expected one that --help lists"
    what = "is not an option" if dashes else "is neither a program nor an option"
    return f"{quoted(argument)} {what}: {meant}"


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        meant = did_you_mean(name, PROTOCOLS, f"one of {' '.join(PROTOCOLS)}")
        raise UsageError(f"--protocol {quoted(name)}: {meant}")
    return name


def _at_option(waiting: list[str]) -> bool:
    """True if no value follows: the next argument is an option, or there is none."""
    return not waiting or waiting[-1].startswith("-")


def _option_file(settings: SessionSettings, path: str) -> tuple[set[str], list[str]]:
    try:
        return read_option_file(settings, path)
    except OSError as error:
        return set(), [f"{path}: {error.strerror}"]
    except BadInput as error:
        raise UnusableFile(str(error)) from None
