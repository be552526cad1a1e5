"""The commands ``help`` and ``version``, and ``--help``: pages made of the tables of commands and options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol.commands.options import OPTIONS
from desdaemon.protocol.commands.text import COMMANDS
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.rows import Command, Option
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.system.terminal import columns
from desdaemon.protocol.version import __version__

if TYPE_CHECKING:
    from desdaemon.dialogue.session import CommandContext

COLUMN = 34
"""Column where explanations begin."""

LEAST_WIDTH = 40

_KIND_VALUES = {"bool": "on|off", "flag": "", "time": "TIME", "selectivity": "0..5", "path": "FILE", "text": "TEXT"}


class HelpEntry(NamedTuple):
    """A row of a help page: a name, and an explanation that begins in ``column``."""

    head: str
    text: str
    column: int = COLUMN


HelpPage = list[HelpEntry | str]
"""The entries of a page, and plain lines between them."""


def laid_out(page: Iterable[HelpEntry | str], width: int = 0) -> list[str]:
    """Return a page as lines, wrapped at ``width`` columns, but at no fewer than `LEAST_WIDTH`; with 0 they are not
    wrapped.
    """
    lines: list[str] = []
    for entry in page:
        if isinstance(entry, str):
            lines += _wrapped(entry, width, 0)
            continue
        texts = _wrapped(entry.text, width, entry.column)
        if len(entry.head) + 4 <= entry.column:
            lines.append(f"  {entry.head:<{entry.column - 2}}{texts.pop(0)}")
        else:
            lines += _wrapped(f"  {entry.head}", width, 0, hanging=6)
        lines += [" " * entry.column + text for text in texts]
    return [line.rstrip() for line in lines]


def joined(pages: Iterable[HelpPage], width: int) -> str:
    """Return pages, each as `laid_out` with ``width`` returns it, as one text with an empty line between them."""
    return "\n\n".join("\n".join(laid_out(page, width)) for page in pages)


def _wrapped(text: str, width: int, column: int, hanging: int = 0) -> list[str]:
    columns = max(LEAST_WIDTH, width) - column
    if not width or len(text) <= columns:
        return [text]
    import textwrap

    indent = " " * hanging
    return textwrap.wrap(text, columns, subsequent_indent=indent, break_on_hyphens=False)


def version_text() -> str:
    """Return the program's name and version as one line."""
    return f"desdaemon version {__version__}"


def version(context: CommandContext, argument: str) -> None:
    context.say(version_text())


def show_help(context: CommandContext, argument: str) -> None:
    # The shell is a remote client; a script reads whole lines.
    width = columns() - 1 if context.session.remote or os.isatty(0) else 0
    text = joined(topic(argument), width)
    if not context.paged(text):
        context.say(text)


# The pages


def command_page() -> HelpPage:
    """Return an entry for each command of the text protocol."""
    return [
        "Commands:",
        *map(_command_entry, COMMANDS),
        HelpEntry("<move>", "Play a move: a square such as D3, or pa, ps, pass, @@@@, p@@@ for a pass."),
        HelpEntry("{...}", "Switch to JSON, one object a line, of which this is the first."),
    ]


def option_page() -> HelpPage:
    """Return an entry for each option, those without an effect last."""
    page: HelpPage = ["Options: -NAME VALUE on the command line, NAME VALUE or NAME as a command"]
    page += [_option_entry(option) for option in OPTIONS if not option.idle]
    page += ["", "Without effect in a dialogue:", *(_option_entry(option) for option in OPTIONS if option.of_server)]
    idle = ", ".join(option.name for option in OPTIONS if option.idle and not option.of_server)
    return [*page, "", "Accepted without any effect:", HelpEntry("", idle, 2)]


def book_page() -> HelpPage:
    """Return an entry for each book command."""
    from desdaemon.protocol.commands.book import BOOK_COMMANDS

    page: HelpPage = ["Book Commands:"]
    for command in BOOK_COMMANDS:
        aliases = f" ({', '.join(command.aliases)})" if command.aliases else ""
        page += [HelpEntry(f"book {command.usage}{aliases}", command.help, 8)]
    return page


def _page_of_parts(command: Command) -> HelpPage:
    return [command.title, *(_part_entry(command, part) for part in command.parts)]


def test_page() -> HelpPage:
    """Return an entry for each command that tests, measures or counts; Edax's help has these on a page of their own."""
    return ["Tests:", *(_command_entry(command) for command in COMMANDS if command.tests)]


def program_page() -> HelpPage:
    """Return an entry for each sub-command of the command line."""
    from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS

    page: HelpPage = ["Programs, each with a --help of its own:"]
    return [*page, *(HelpEntry(f"desdaemon {command.name}", f"{command.help}") for command in SUB_COMMANDS)]


PAGES: dict[str, Callable[[], HelpPage]] = {
    "commands": command_page,
    "options": option_page,
    "book": book_page,
    **{command.name: partial(_page_of_parts, command) for command in COMMANDS if command.parts},
    "programs": program_page,
}


def topic(text: str) -> list[HelpPage]:
    """Return the pages about the topic ``text``: all pages for ""; the page of that name; or a page with the entries of
    the command, option, sub-command, command of `book`, or part of a command, that has that name.

    Raises `BadInput` for an unknown name.
    """
    words = text.lower().split()
    if not words:
        return [page() for page in PAGES.values()]
    if words == ["test"]:
        return [test_page()]
    if len(words) == 1 and words[0] in PAGES:
        return [PAGES[words[0]]()]
    if words[0] in ("book", "b") and len(words) == 2:
        return [_book_command(words[1])]
    command = COMMANDS.find(words[0])
    if command and command.parts and len(words) == 2:
        return [_part(command, words[1])]
    return [_named(text)]


def _named(name: str) -> HelpPage:
    """Return the entries of the command, option and sub-command called ``name``, else those of the commands of `book`,
    or parts of commands, of that name. Raises `BadInput` if there is none.
    """
    from desdaemon.protocol.commands.book import BOOK_COMMANDS, find_book_command
    from desdaemon.protocol.commands.sub_commands import SUB_COMMANDS

    command, option = COMMANDS.find(name.lower()), OPTIONS.find(name.lstrip("-"))
    page: HelpPage = [_command_entry(command)] if command else []
    page += [_option_entry(option)] if option else []
    names = {name.lower(), command.name if command else ""}
    page += [HelpEntry(f"desdaemon {program.name}", program.help) for program in SUB_COMMANDS if program.name in names]
    parts = [(command, part) for command in COMMANDS for part in command.parts]
    if not page:
        page += _book_command(name.lower()) if find_book_command(name.lower()) else []
        page += [_part_entry(command, part) for command, part in parts if part.name == name.lower()]
    if not page:
        commands = (*(command.name for command in COMMANDS), *(program.name for program in SUB_COMMANDS))
        within = (*(command.name for command in BOOK_COMMANDS), *(part.name for _, part in parts))
        topics = [*PAGES, *commands, *(option.name for option in OPTIONS), *within]
        expected = f"{', '.join(PAGES)}, test, a command, an option or nothing"
        raise BadInput(f"help {quoted(name)}: {did_you_mean(name.lstrip('-'), topics, expected)}")
    return page


def _book_command(name: str) -> HelpPage:
    from desdaemon.protocol.commands.book import BOOK_COMMANDS, find_book_command

    command = find_book_command(name)
    if command is None:
        meant = did_you_mean(name, [command.name for command in BOOK_COMMANDS], "one that help book lists")
        raise BadInput(f"help book {quoted(name)}: {meant}")
    page: HelpPage = [HelpEntry(f"book {command.usage}", command.help, 8)]
    for parameter in command.parameters:
        unless = f", {parameter.default} unless given" if parameter.default is not None else ""
        page.append(HelpEntry(f"    {parameter.name}", f"{parameter.help} Expected: {parameter.expected}{unless}.", 24))
    return page


def _part(command: Command, name: str) -> HelpPage:
    part = next((part for part in command.parts if part.name == name), None)
    if part is None:
        meant = did_you_mean(name, [part.name for part in command.parts], f"one that help {command.name} lists")
        raise BadInput(f"help {command.name} {quoted(name)}: {meant}")
    return [_part_entry(command, part)]


def _command_entry(command: Command) -> HelpEntry:
    return HelpEntry(f"{', '.join((command.name, *command.aliases))} {command.parameters}".rstrip(), command.help)


def _part_entry(command: Command, part: Command) -> HelpEntry:
    return HelpEntry(f"{command.name} {part.name} {part.parameters}", part.help)


def _option_entry(option: Option) -> HelpEntry:
    return HelpEntry(f"{', '.join((option.name, *option.aliases))} {values(option)}".rstrip(), option.help)


def values(option: Option) -> str:
    """Return the values that an option takes, such as ``1..60`` or ``on|off``; "" for a flag."""
    if option.kind == "int":
        return f"{option.low}..{option.high}"
    return "|".join(option.choices) if option.kind == "choice" else _KIND_VALUES[option.kind]
