"""The table of the text protocol's commands, for parsing, roles, `help`, documents, tests; and the parser of lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from desdaemon.protocol import satellites
from desdaemon.protocol.rows import ADMIN, COUNTS, READER, SEARCHES, SHORT, Command, DialogueProtocol, Option
from desdaemon.protocol.satellites import Table

from .options import OPTIONS

if TYPE_CHECKING:
    from .book_rows import BookCommand

PROTOCOLS = (
    *(protocol for satellite in satellites.present("protocols") for protocol in satellite.protocols),
    DialogueProtocol("json", "desdaemon.dialogue.json_lines:SPOKEN"),
)
"""The protocols of a dialogue other than the text protocol."""

_OWN = (
    Command("init", ("i",), "", "Set up the opening position and forget the opening line of `force`.", READER),
    Command("new", ("n",), "", "Start again from the current initial position; the clocks are reset.", READER),
    Command(
        "setboard", (), "board", "Set up an initial position: 64 squares (X O -) and the side to move, or FEN.", READER
    ),
    Command(
        "play",
        (),
        "moves|opening",
        "Play a sequence of moves, or an opening by its name, or one of XOT (xot, xot 17); passes may be left out.",
        READER,
    ),
    Command("undo", ("u",), "[n]", "Take back n moves (default 1; twice as many in modes 0 and 1).", READER),
    Command("redo", ("r",), "[n]", "Play n moves that were taken back (twice as many in modes 0 and 1).", READER),
    Command("go", (), "", "Search and play a move for the side to move.", READER, SEARCHES),
    Command(
        "hint",
        (),
        "[n]",
        "Search and show the n best moves (default 1); the board stays as it is.",
        READER,
        SEARCHES,
        asks=True,
    ),
    Command("stop", (), "", "End the search that is running, then switch to mode 3.", READER),
    Command(
        "load",
        ("open", "o"),
        "file",
        "Load the first game of a file: .txt .ggf .sgf .pgn .edx .wtb .ndjson.",
        ADMIN,
        files=True,
    ),
    Command(
        "save",
        ("s",),
        "file",
        "Write the game to a file, .txt .ggf .sgf .pgn .edx, or the board, .svg .eps.",
        ADMIN,
        files=True,
    ),
    Command(
        "force",
        (),
        "[moves|opening]",
        "Set the line from the initial position that go follows; without one, clear it.",
        READER,
    ),
    Command(
        "opening",
        (),
        "[language]",
        "Show the name of the opening, english, french or japanese, and its number in the list of XOT.",
        READER,
        asks=True,
    ),
    Command("ouverture", (), "", "Show its French name.", READER, asks=True),
    Command("seek", (), "board", "Look for a line from the initial position to a board.", ADMIN, COUNTS, asks=True),
    Command("eval", (), "", "Show the static evaluation, in discs, for the side to move.", READER, SEARCHES, asks=True),
    Command("moves", (), "", "Show the legal moves.", READER, asks=True),
    Command(
        "analyze",
        ("analyse", "a"),
        "[n]",
        "Look back over the last n moves (default: the whole game).",
        READER,
        SEARCHES,
        asks=True,
    ),
    Command(
        "book", ("b",), "command ...", "Use, grow and look at the opening book, see `help book`.", READER, SEARCHES
    ),
    Command("hmirror", (), "", "Mirror game and board, A-H.", READER),
    Command("vmirror", (), "", "Mirror game and board, 1-8.", READER),
    Command("rotate", (), "[90|180|270]", "Turn game and board counterclockwise (default 90).", READER),
    Command(
        "symmetry",
        ("symetry",),
        "0..15",
        "Bit 0 mirrors A-H, bit 1 mirrors 1-8, bit 2 swaps files and ranks, bit 3 swaps the colours.",
        READER,
    ),
    Command("version", ("v",), "", "Show name and version.", READER, asks=True),
    Command("options", (), "", "Show the value of every option.", READER, asks=True),
    Command(
        "help",
        ("?",),
        "[commands|options|book|test|programs|name]",
        "Show all commands and options, a part, or one: `help hint`, `help book deviate`.",
        READER,
        asks=True,
    ),
    *(protocol.command for protocol in PROTOCOLS if protocol.command),
    Command("quit", ("q", "exit", "eof"), "", "Leave once all earlier commands are done.", READER),
)

COMMANDS = Table("commands", _OWN)

_HELP = ("help", "?")
_BEGUN = {protocol.command.name: protocol for protocol in PROTOCOLS if protocol.command}


class TextLine(NamedTuple):
    """A line of the text protocol as `read_line` understands it: a command, an option, or neither.

    ``word`` is the first word, in lower case and without `set` before it, ``rest`` what follows it. ``book`` is the
    command after the word `book`, None if there is no such command. A line that is empty or a comment has no word.
    """

    text: str
    word: str = ""
    rest: str = ""
    command: Command | None = None
    option: Option | None = None
    book: BookCommand | None = None

    @property
    def name(self) -> str:
        """The name of the command; "" if the line is not a command."""
        return self.command.name if self.command is not None else ""

    @property
    def work(self) -> str:
        """The kind of work that the line needs: `SHORT`, `COUNTS` or `SEARCHES`."""
        return self.command.work if self.command is not None else SHORT

    @property
    def asks(self) -> bool:
        """Whether the line has no effect but its reply: a command that ``asks``, a comment or an empty line."""
        return self.command.asks if self.command is not None else not self.word

    @property
    def outlives(self) -> bool:
        """Whether the line runs even when its client has gone, because it is a job on the book."""
        return self.book is not None and self.book.job

    @property
    def role(self) -> str | None:
        """The least role of a remote client, None for a line that cannot be given remotely. Any role may show an
        option's value.
        """
        if self.command is not None:
            return self.book.role if self.book is not None else self.command.role
        return self.option.role if self.option is not None and self.rest else READER

    @property
    def successor(self) -> str:
        """The protocol of `PROTOCOLS` in which the dialogue continues with this line; "" for an ordinary line."""
        if self.text.startswith("{"):
            return "json"
        begun = _BEGUN.get(self.name)
        return begun.name if begun and re.fullmatch(begun.version, self.rest, re.DOTALL) else ""


def read_line(text: str) -> TextLine:
    """Return the command or option of a line. After ``set`` or ``-`` a name is an option's. The name ``n`` is the
    option if a value follows, else the command. An ``=`` after the name counts as a blank. `book help` is `help book`.
    """
    text = text.strip(" \t\r\n")
    if not text or text.startswith("#"):
        return TextLine(text)
    word, rest = _first_word(text)
    is_option = word.startswith("-")
    if word == "set" and rest:
        is_option = True
        word, rest = _first_word(rest)
    name, equals, value = word.partition("=")
    if name and equals:
        word, rest = name, f"{value} {rest}".strip()
    else:
        rest = rest.removeprefix("=").lstrip()
    command = None if is_option or (word == "n" and rest) else COMMANDS.find(word)
    if command is None:
        return TextLine(text, word, rest, option=OPTIONS.find(word.lstrip("-")))
    if command.name == "book" or command.parts:
        first, more = _first_word(rest)
        if first in _HELP:
            return read_line(f"help {command.name} {more}")
    if command.name != "book":
        return TextLine(text, word, rest, command)
    from .book import find_book_command

    return TextLine(text, word, rest, command, book=find_book_command(rest.partition(" ")[0].lower()))


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word in lower case, and the rest."""
    parts = text.split(None, 1)
    if not parts:
        return "", ""
    return parts[0].lower(), parts[1] if len(parts) > 1 else ""
