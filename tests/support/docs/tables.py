"""The tables in docs/ that repeat what the code says."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

import edax_help
import protocol_tables
from checkout import ROOT, SUPPORT

from desdaemon.clients.analysis import analyze as analyze
from desdaemon.clients.analysis import exercises as exercises
from desdaemon.clients.gamefiles.rows import BASE_COMMANDS
from desdaemon.clients.ggs import ggs as ggs
from desdaemon.clients.match import match
from desdaemon.clients.web import web as web
from desdaemon.core.settings import SessionSettings
from desdaemon.guis.codecs import cassio, gtp, nboard, xboard
from desdaemon.protocol.commands import text as commands
from desdaemon.protocol.commands.book import BOOK_COMMANDS
from desdaemon.protocol.commands.book_rows import Parameter
from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.rows import Command, Option

DOCS = ROOT / "docs"


def command_table(table: tuple[Command, ...]) -> Callable[[], str]:
    """The commands of a protocol, a line each."""

    def made() -> str:
        lines = []
        for command in table:
            names = [f"{command.name} {command.parameters}".strip(), *command.aliases]
            lines.append(f"- {' '.join(f'`{name}`' for name in names)}: {command.help}")
        return "\n".join(lines)

    return made


def option_table() -> str:
    """The options that do something, a line each: names, values, default, help."""
    lines = []
    settings = SessionSettings()
    for option in OPTIONS:
        if not option.idle:
            names = " ".join(f"`{name}`" for name in (option.name, *option.aliases))
            default = "" if option.name in ("q", "vv") else settings.text(option)
            shown = ", ".join(filter(None, (names, values(option), default and f"default {default}")))
            lines.append(f"- {shown}: {option.help}")
    return "\n".join(lines)


def values(option: Option) -> str:
    if option.kind == "int":
        return f"{'0 or ' * option.off}{option.low} to {option.high}"
    if option.kind == "choice":
        return ", ".join(option.choices)
    return {"bool": "on, off", "flag": "", "time": "time", "selectivity": "0 to 5, or percent"}.get(option.kind, "file")


def arguments(parser: argparse.ArgumentParser) -> Callable[[], str]:
    """The options of a sub-command, a line each."""

    def made() -> str:
        lines = []
        for action in parser._actions:
            if action.option_strings and action.dest != "help":
                value = "" if action.nargs == 0 else str(action.metavar or "|".join(action.choices or [action.dest]))
                name = " ".join([action.option_strings[0], f"[{value}]" if action.nargs == "?" else value]).strip()
                lines.append(f"- `{name}`: {action.help or ''}".rstrip(": "))
        return "\n".join(lines)

    return made


def book_commands() -> str:
    """The commands on the opening book; each parameter is explained where it comes first."""
    listed = []
    explained: set[Parameter] = set()
    for command in BOOK_COMMANDS:
        usage = "".join(f" {parameter.usage}" for parameter in command.parameters)
        names = " ".join(f"`{name}`" for name in (command.name + usage, *command.aliases))
        told = [book_parameter(parameter) for parameter in command.parameters if parameter not in explained]
        explained.update(command.parameters)
        listed.append(" ".join((f"- {names}: {command.help} ({command.role})", *told)))
    return "\n".join(listed)


def book_parameter(parameter: Parameter) -> str:
    """A parameter with its range and its default."""
    told = f"`{parameter.usage}`"
    if parameter.kind == "int":
        told += f" {parameter.low} to {parameter.high}"
    if parameter.default is not None:
        told += f", {parameter.default}"
    return f"{told}: {parameter.help}"


def shown(name: str) -> Callable[[], str]:
    """A module of the example of a satellite, as a block of code."""
    return lambda: f"```python shown\n{(SUPPORT / 'example' / 'regions' / name).read_text('utf-8').strip()}\n```"


def idle_options() -> str:
    """The options that are accepted without any effect; those of the game server have one with ``-ggs``."""
    return ", ".join(f"`{option.name}`" for option in OPTIONS if option.idle and not option.of_server)


def edax_table(names: Callable[[], list[tuple[str, bool]]]) -> Callable[[], str]:
    """The names of Edax's that exist here, then the others, each with the reason."""

    def made() -> str:
        here = " ".join(f"`{name}`" for name, exists in names() if exists)
        missing: dict[str, list[str]] = {}
        for name, exists in names():
            if not exists:
                missing.setdefault(edax_help.REASONS[name], []).append(f"`{name}`")
        lines = [f"- {' '.join(of_reason)}: {reason}" for reason, of_reason in missing.items()]
        return "\n".join([f"Here: {here}.", *(["", "Not here:", "", *lines] if lines else [])])

    return made


def edax_command_line() -> list[tuple[str, bool]]:
    """The words of Edax's command line that are no options, and whether they are here."""
    return [(f"-{name}", f"-{name}" not in edax_help.REASONS) for name in edax_help.COMMAND_LINE]


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("book.md", "commands"): book_commands,
    ("text-protocol.md", "commands"): command_table(commands.COMMANDS),
    ("text-protocol.md", "base"): command_table(BASE_COMMANDS),
    ("text-protocol.md", "options"): option_table,
    ("text-protocol.md", "idle"): idle_options,
    ("match.md", "options"): arguments(match.command_line()),
    ("analyze.md", "options"): arguments(analyze.command_line()),
    ("analyze.md", "exercises"): arguments(exercises.command_line()),
    ("web.md", "options"): arguments(web.command_line()),
    ("ggs.md", "options"): arguments(ggs.command_line()),
    ("edax.md", "edax-commands"): edax_table(edax_help.commands),
    ("edax.md", "edax-options"): edax_table(edax_help.options),
    ("edax.md", "edax-command-line"): edax_table(edax_command_line),
    **{("protocol.md", name): made for name, made in protocol_tables.TABLES.items()},
    ("programmers.md", "rows"): shown("rows.py"),
    ("programmers.md", "regions"): shown("regions.py"),
    ("protocols.md", "gtp"): command_table(gtp.COMMANDS),
    ("protocols.md", "nboard"): command_table(nboard.COMMANDS),
    ("protocols.md", "xboard"): command_table(xboard.COMMANDS),
    ("protocols.md", "cassio"): command_table(cassio.COMMANDS),
}
"""By document and by the name between ``<!-- name -->`` and ``<!-- /name -->``."""


def block(name: str) -> re.Pattern[str]:
    """The part of a document between its marks."""
    return re.compile(f"(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)", re.DOTALL)
