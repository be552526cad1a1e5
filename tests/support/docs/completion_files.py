"""The man page, and completions for bash, zsh and fish, from the tables of commands: what `desdaemon completions`
prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from checkout import ROOT

from desdaemon.dialogue.dialects import NAMES as PROTOCOLS
from desdaemon.extras.completions import FILES
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS
from desdaemon.protocol.rows import SubCommand
from desdaemon.protocol.version import __version__


class Switch(NamedTuple):
    """An option of a command line, ``-name`` or ``--name``; ``valued`` says that a value follows it."""

    name: str
    valued: bool
    help: str


def switches(command: SubCommand) -> list[Switch]:
    """Return the options of a sub-command, from its parser. Without a parser they are read from its usage, have no
    help, and count as followed by a value.
    """
    parser = command.parser()
    if parser is None:
        names = re.findall(r"--[a-z][a-z-]+", command.usage())
        return [Switch(name, True, "") for name in dict.fromkeys(names)]
    switches = []
    for action in parser._actions:
        long = [name for name in action.option_strings if name.startswith("--")]
        if action.option_strings:
            switches.append(Switch((long or action.option_strings)[0], action.nargs != 0, _plain(action.help)))
    return switches


def words(command: SubCommand) -> list[str]:
    """Return the fixed words that may follow a sub-command, such as the stages of `train`."""
    parser = command.parser()
    if parser is None:
        return re.findall(rf"^desdaemon {command.name} ([a-z]+)", command.usage(), re.MULTILINE)
    positional = [action for action in parser._actions if not action.option_strings and action.choices]
    return [str(choice) for action in positional for choice in action.choices or ()]


def programs_of(command: SubCommand) -> list[SubCommand]:
    """Return the sub-commands that share ``command``'s name and have a second word, such as `bench server`."""
    return [other for other in SUB_COMMANDS if other.name.startswith(f"{command.name} ")]


def own_switches() -> list[Switch]:
    """Return the options of the command line without a sub-command."""
    ours = [Switch("--help", False, "what there is"), Switch("--version", False, "name and version")]
    ours += [Switch("--config", True, "read options from this TOML file, none reads no file")]
    ours += [Switch("--zmq", False, "sockets for other clients beside the dialogue")]
    ours += [Switch(f"-{name}", False, f"speak {name} on the standard streams") for name in PROTOCOLS[1:]]
    ours += [Switch(f"-{name}", True, help) for name, help in _FILES]
    return ours + [
        Switch(f"-{option.name}", option.kind not in ("flag", "bool"), _plain(option.help))
        for option in OPTIONS
        if not option.idle
    ]


_FILES = (("solve", "solve the problems of a file"), ("wtest", "check a WTHOR file"), ("option-file", "read options"))


def _plain(text: str | None) -> str:
    return (text or "").replace("%%", "%").replace("`", "").rstrip(".")


def bash() -> str:
    """Return the completions for bash."""
    lines = ["# bash completion for desdaemon, made by `desdaemon completions bash`", "_desdaemon() {"]
    lines += ['  local current=${COMP_WORDS[COMP_CWORD]} words=""', '  case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in']
    for command in sorted(SUB_COMMANDS, key=lambda command: -len(command.name.split())):
        own = [other.name.partition(" ")[2] for other in programs_of(command)]
        names = " ".join([*own, *words(command), *(switch.name for switch in switches(command))])
        pattern = f'"{command.name}"*' if " " in command.name else f'"{command.name} "*'
        lines.append(f"    {pattern})")
        lines.append(f'      words="{names}" ;;')
    first = " ".join([*(name for name, _ in _first_words()), *(switch.name for switch in own_switches())])
    lines += ["    *)", f'      words="{first}" ;;', "  esac"]
    lines += ['  COMPREPLY=($(compgen -W "$words" -- "$current"))', "}", "complete -o default -F _desdaemon desdaemon"]
    return "\n".join(lines) + "\n"


def _first_words() -> list[tuple[str, str]]:
    """Return the words that may follow the program's name, each with a description."""
    programs = [(command.name, command.help) for command in SUB_COMMANDS if " " not in command.name]
    return [*programs, ("help", "a command, an option or a program")]


def zsh() -> str:
    """Return the completions for zsh."""
    lines = ["#compdef desdaemon", "# made by `desdaemon completions zsh`", "_desdaemon() {", "  local -a found"]
    lines += ['  case "$words[2] $words[3]" in']
    for command in sorted(SUB_COMMANDS, key=lambda command: -len(command.name.split())):
        pattern = f'"{command.name}"*' if " " in command.name else f'"{command.name} "*'
        lines += [f"    {pattern})", "      found=("]
        lines += [f"        {_zsh(other.name.partition(' ')[2], other.help)}" for other in programs_of(command)]
        lines += [f"        {_zsh(name, '')}" for name in words(command)]
        lines += [f"        {_zsh(switch.name, switch.help)}" for switch in switches(command)]
        lines += ["      ) ;;"]
    lines += ["    *)", "      found=("]
    lines += [f"        {_zsh(name, help)}" for name, help in _first_words()]
    lines += [f"        {_zsh(switch.name, switch.help)}" for switch in own_switches()]
    lines += ["      ) ;;", "  esac", "  _describe desdaemon found || _files", "}", '_desdaemon "$@"']
    return "\n".join(lines) + "\n"


def _zsh(name: str, help: str) -> str:
    quoted = f"{name}:{help}" if help else name
    return "'" + quoted.replace("'", "'\\''") + "'"


def fish() -> str:
    """Return the completions for fish."""
    lines = ["# fish completion for desdaemon, made by `desdaemon completions fish`"]
    lines += [_fish("__fish_use_subcommand", f"-a {name}", help) for name, help in _first_words()]
    for command in SUB_COMMANDS:
        first, _, second = command.name.partition(" ")
        if second:
            lines.append(_fish(f"__fish_seen_subcommand_from {first}", f"-a {second}", command.help))
            continue
        lines += [_fish(f"__fish_seen_subcommand_from {first}", f"-a {name}", "") for name in words(command)]
        lines += [
            _fish(f"__fish_seen_subcommand_from {first}", _fish_switch(switch), switch.help)
            for switch in switches(command)
        ]
    lines += [_fish("__fish_use_subcommand", _fish_switch(switch), switch.help) for switch in own_switches()]
    return "\n".join(lines) + "\n"


def _fish_switch(switch: Switch) -> str:
    kind = "-l" if switch.name.startswith("--") else "-o"
    return f"{kind} {switch.name.lstrip('-')}{' -r' if switch.valued else ''}"


def _fish(condition: str, what: str, help: str) -> str:
    description = " -d '" + help.replace("\\", "\\\\").replace("'", "\\'") + "'" if help else ""
    return f"complete -c desdaemon -n '{condition}' {what}{description}"


def man() -> str:
    """Return the man page."""
    lines = [f'.TH DESDAEMON 1 "" "desdaemon {__version__}" "User Commands"', ".SH NAME"]
    lines += ["desdaemon \\- an Othello engine that runs as a long-lived daemon", ".SH SYNOPSIS"]
    from desdaemon.cli.main import WORDS, usages

    shown = {"protocols": " ".join(PROTOCOLS[1:]), "configuration": "~/.config/desdaemon/config.toml"}
    for head, text in usages():
        lines += [".TP", f".B desdaemon {_roff(head)}", _roff(text.format(**shown))]
    lines += [".SH OPTIONS"]
    for head, text in WORDS:
        lines += [".TP", f".B {_roff(head)}", _roff(text.format(**shown))]
    for option in OPTIONS:
        if not option.idle:
            names = ", ".join(f"-{name}" for name in (option.name, *option.aliases))
            lines += [".TP", f".B {_roff(names)}", _roff(option.help)]
    lines += [".SH PROGRAMS"]
    for command in SUB_COMMANDS:
        lines += [".SS", f"desdaemon {_roff(command.name)}", f"{_roff(command.help)}."]
        for switch in switches(command):
            if switch.help:
                lines += [".TP", f".B {_roff(switch.name)}", _roff(switch.help)]
    for title, entries in _MAN_TABLES:
        lines.append(f".SH {title}")
        for name, text in entries:
            lines += [".TP", f".B {_roff(name)}", _roff(text)]
    return "\n".join(lines) + "\n"


_MAN_TABLES = (
    (
        "FILES",
        (
            ("$XDG_CONFIG_HOME/desdaemon/config.toml", "Options that hold at every start (~/.config)."),
            ("edax.ini", "Options, in the current folder; read where an option of Edax's is given."),
            ("$XDG_CACHE_HOME/desdaemon", "Compiled code and expanded weights (~/.cache)."),
            ("$XDG_DATA_HOME/desdaemon", "The server's data (~/.local/share)."),
        ),
    ),
    (
        "ENVIRONMENT",
        (
            ("DESDAEMON_CACHE_DIR", "Where compiled code is kept, instead of the cache folder."),
            ("DESDAEMON_RUNTIME_DIR", "Where the server's local socket and connection file are."),
            ("NUMBA_CPU_NAME, NUMBA_CPU_FEATURES", "The processor to compile for, instead of this one."),
        ),
    ),
    (
        "EXIT STATUS",
        (
            ("0", "Success."),
            ("1", "A file, the engine or a server cannot be used."),
            ("2", "The command line cannot be understood."),
            ("130", "Interrupted."),
        ),
    ),
)


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in (".", "'") else text


PATHS = {what: ROOT / "daemon" / "extras" / file for what, file in FILES.items()}
"""By word of the command: the file in the checkout."""
MAKERS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish, "man": man}
"""By word of the command: the function that returns the file's text."""
