"""Reads the options of a start: the configuration file, then Edax's ``edax.ini``, then the command line.

All this runs on the main thread before the first prompt, which waits for it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from desdaemon.core.settings import SessionSettings, read_option_file
from desdaemon.dialogue.configuration import configuration_path, configure
from desdaemon.dialogue.dialects import NAMES as PROTOCOLS
from desdaemon.protocol.commands.options import OPTIONS, SWITCHES
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.rows import Switch
from desdaemon.protocol.spelling import did_you_mean, nearest
from desdaemon.protocol.version import __version__

OPTION_FILE = "edax.ini"
"""Edax's option file: read if it is in the current folder and the command line uses Edax's name or options."""

_INFORMATION = {"help": "help", "?": "help", "version": "version"}
_WITH_VALUE = ("o", "option-file", "protocol", "config")
"""Options with a value that are no settings of a session and no switches."""
_NOT_EDAX = ("protocol", "config")
"""Options among `_WITH_VALUE` that Edax does not have."""


class UsageError(Exception):
    """A command line that cannot be understood; the message is one line."""


class UnusableFile(Exception):
    """A file whose content cannot be used; the message is one line that names the file."""


class Invocation(NamedTuple):
    """A parsed command line."""

    settings: SessionSettings
    warnings: list[str]
    """Lines for standard error."""
    protocol: str = "text"
    switch: Switch | None = None
    """What to do in place of a dialogue."""
    value: str = ""
    """The value of ``switch``; "" for one without."""
    information: str = ""
    """``help`` or ``version`` if only that is to be printed; "" otherwise."""
    edax: bool = False
    """Whether the program's name or an option was Edax's."""
    config: str = ""
    """Value of ``--config``; "" without it."""


def configured(arguments: list[str], program: str = "", section: str = "") -> Invocation:
    """Parse the configuration file, `OPTION_FILE` and the command line. If the command line asks only for information,
    the files are not read.

    ``program`` is the name by which desdaemon was started, ``section`` the table of the configuration file to read, ""
    for the protocol's. Raises `UsageError` for a wrong command line, `UnusableFile` for a file with a wrong value, and
    `OSError` if the configuration file cannot be read.
    """
    begun = Invocation(SessionSettings(), [], protocol_of_program(program), edax="edax" in program.lower())
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
    """Return the protocol in the program's name: ``json`` for a link called ``desdaemon-json``. By default it is
    ``text``.
    """
    return next((protocol for protocol in PROTOCOLS[1:] if protocol in program.lower()), "text")


def read_arguments(
    arguments: list[str],
    edax_name: bool = False,
    protocol: str = "text",
    settings: SessionSettings | None = None,
    chosen: bool = False,
) -> Invocation:
    """Parse the options of a command line into ``settings``, or into new ones. ``protocol`` applies if no option names
    one.

    If the program's name contains Edax (``edax_name``) or one of Edax's options is given, moves are announced as Edax
    does. The option ``-edax-compatible on|off`` overrides that; ``chosen`` says that ``settings`` have it already.
    Options may have any number of dashes.

    Raises `UsageError`, and `UnusableFile` for an option file with a wrong value; one that cannot be read gives a
    warning.
    """
    settings = settings or SessionSettings()
    config = switch_value = ""
    switch: Switch | None = None
    warnings: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        name, equals, given = argument.lstrip("-").partition("=")
        if name in PROTOCOLS and not equals:
            protocol = name
            continue
        ours = name in _WITH_VALUE or name == "edax"
        option = None if ours else OPTIONS.find(name)
        begun = None if ours or option else SWITCHES.find(name)
        if (name == "edax" or (begun and not begun.value)) and not equals:
            protocol, edax_name, switch = "text", True, begun or switch
            continue
        alone = name == "h" and not equals and not waiting and argument.startswith("-")
        if argument in ("-v", "-version"):
            # Edax warns of its version like this; --version is ours.
            warnings.append(f"version {__version__}")
            edax_name = True
            continue
        if (name in _INFORMATION and not equals) or alone:
            return Invocation(settings, [], information=_INFORMATION.get(name, "help"))
        if option and not equals and (option.kind == "flag" or (option.kind == "bool" and _at_option(waiting))):
            value = "on"
        elif option or (begun and begun.value) or name in _WITH_VALUE:
            if not equals and not waiting:
                raise UsageError(f"{argument}: expected a value after it" + (f", {option.expected}" if option else ""))
            value = given if equals else waiting.pop()
        else:
            raise UsageError(_unknown(argument, name))
        if name in _NOT_EDAX:
            protocol, config = (_protocol(value), config) if name == "protocol" else (protocol, value)
            continue
        edax_name = edax_name or option is None or option.edax
        if begun:
            switch, switch_value = begun, value
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
    return Invocation(settings, warnings, protocol, switch, switch_value, edax=edax_name, config=config)


def _unknown(argument: str, name: str) -> str:
    """Return the message about an unknown argument, with the most similar name."""
    ours = (*_INFORMATION, *_WITH_VALUE, *PROTOCOLS, "edax", "zmq")
    names = [*(option.name for option in OPTIONS), *ours, *(switch.name for switch in SWITCHES)]
    dashes = argument[: len(argument) - len(argument.lstrip("-"))]
    near = ""
    if not dashes:
        from desdaemon.protocol.commands.sub_commands import near_sub_command, sub_commands_of

        if inside := sub_commands_of(name):
            return f"{quoted(argument)}: expected {' or '.join(map(quoted, inside))}"
        near = near_sub_command(name)
        if near == name:
            return f"{quoted(argument)}: expected options behind the program: desdaemon {name} OPTION ..."
    near = near or nearest(name, names)
    meant = f"did you mean {quoted(dashes + near)}?" if near else "expected one that --help lists"
    what = "is not an option" if dashes else "is neither a program nor an option"
    return f"{quoted(argument)} {what}: {meant}"


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        meant = did_you_mean(name, PROTOCOLS, f"one of {' '.join(PROTOCOLS)}")
        raise UsageError(f"--protocol {quoted(name)}: {meant}")
    return name


def _at_option(waiting: list[str]) -> bool:
    """Return whether no value follows: the next argument, ``waiting``'s last, is an option, or there is none."""
    return not waiting or waiting[-1].startswith("-")


def _option_file(settings: SessionSettings, path: str) -> tuple[set[str], list[str]]:
    try:
        return read_option_file(settings, path)
    except OSError as error:
        return set(), [f"{path}: {error.strerror}"]
    except BadInput as error:
        raise UnusableFile(str(error)) from None
