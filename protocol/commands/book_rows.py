"""The kinds of rows of the commands on the opening book: `BookCommand` and its `Parameter`, and makers of common ones.

Satellites bring tables of such rows as the core has one, `protocol.commands.book`.
"""

from __future__ import annotations

from typing import NamedTuple

from desdaemon.protocol.rows import EDITOR, READER, expected_value
from desdaemon.protocol.wire.fields import Field, Shape

BookValue = int | bool | str | list[str] | None
BookValues = dict[str, BookValue]

BOOK, OPTIONS, OUTPUT, SEARCH = "book", "options", "output", "search"
"""What a command is about: the book; the options of the client's dialogue; what commands print; the hash table."""

_EXPECTED = {
    "flag": "true or false",
    "move": "a square such as f5",
    "path": "the name of a file",
    "text": "a text",
    "paths": "the names of files",
}


class Parameter(NamedTuple):
    """A parameter of a book command.

    ``kind`` is ``int`` (``low``..``high``), ``choice`` (one of ``choices``), ``move`` (a square such as f5), ``path``
    (a file; the rest of the line), ``paths`` (files and folders, wildcards allowed), ``text`` (on the wire at most
    ``high`` characters) or ``flag`` (in text ``--name`` anywhere, false unless given). A ``named`` parameter is given
    in text as ``--name value``, anywhere in the line. ``default`` is the value of a parameter that is left out and not
    ``required``; if it is None, the book chooses.
    """

    name: str
    kind: str
    help: str
    default: int | str | None = None
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    required: bool = False
    named: bool = False

    @property
    def expected(self) -> str:
        """The expected values in words, for error messages."""
        return expected_value(self.kind, self.low, self.high, self.choices) or _EXPECTED[self.kind]

    @property
    def usage(self) -> str:
        """The parameter in help and messages: ``[relative]``, ``file ...``, ``[--repair]``, ``[--played n]``."""
        if self.kind == "flag":
            return f"[--{self.name}]"
        if self.named:
            return f"[--{self.name} {'n' if self.kind == 'int' else 'file'}]"
        shown = "|".join(self.choices) if self.kind == "choice" else self.name
        shown += " ..." if self.kind == "paths" else ""
        return shown if self.required else f"[{shown}]"


class BookCommand(NamedTuple):
    """A command on the book.

    A ``long`` command may take more than a second; it reports progress and can be stopped. A command that ``writes``
    changes the book or its file. Commands of both kinds run alone on the book, with two exceptions: long commands that
    only read positions (``places``), and `backup` of a book with a journal. A command that ``replaces`` puts another
    book in place of the present one. ``role`` is the least role of a remote client; every command that names a file
    requires an admin. ``about`` is the subject: `BOOK`, `OPTIONS`, `OUTPUT` or `SEARCH`. The wire has no operations for
    commands about `SEARCH`; the browser has pages only for those about `BOOK`. A ``game`` command looks at a whole
    game, which takes too long for the thread that owns the sockets. A command that ``goes_on`` continues at its second
    run what the first one began; a server resumes jobs of such commands after a restart. A command that ``saves`` is
    given to keep the book: a script in which it fails ends with an error status.

    ``handler`` names the function that carries out the command, ``module:function``. It gets a
    `desdaemon.core.books.command_run.BookCommandRun` and returns the result: numbers and texts by name, of which
    ``text`` holds lines for people. ``results`` are the fields that it has beside `protocol.wire.replies.JOB_RESULT`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    help: str
    aliases: tuple[str, ...] = ()
    long: bool = False
    writes: bool = False
    role: str = READER
    places: bool = False
    replaces: bool = False
    about: str = BOOK
    game: bool = False
    goes_on: bool = False
    saves: bool = False
    handler: str = ""
    results: tuple[Field, ...] = ()

    @property
    def job(self) -> bool:
        """Whether the command runs as a job, which continues when its client has gone."""
        return self.long or self.writes

    @property
    def names_files(self) -> bool:
        """Whether a parameter names a file."""
        return any(parameter.kind in ("path", "paths") for parameter in self.parameters)

    @property
    def op(self) -> str:
        """The name of the operation on the wire and of its jobs: ``book.deviate``."""
        return f"book.{self.name}"

    @property
    def usage(self) -> str:
        """The command with its parameters, as help shows it."""
        return " ".join((self.name, *(parameter.usage for parameter in self.parameters)))


def number(
    name: str, low: int, high: int, help: str, default: int | None = None, *, required: bool = False
) -> Parameter:
    """Return a parameter that is a whole number from ``low`` to ``high``."""
    return Parameter(name, "int", help, default, low, high, required=required)


def file_name(help: str, *, required: bool = True, name: str = "file") -> Parameter:
    """Return a parameter that names a file."""
    return Parameter(name, "path", help, required=required)


def flag(name: str, help: str) -> Parameter:
    """Return a parameter that is true when it is named."""
    return Parameter(name, "flag", help)


def editor_command(
    name: str,
    parameters: tuple[Parameter, ...],
    help: str,
    *,
    long: bool = True,
    role: str = EDITOR,
    replaces: bool = False,
    about: str = BOOK,
    handler: str = "",
    results: tuple[Field, ...] = (),
) -> BookCommand:
    """Return a command that writes."""
    row = BookCommand(name, parameters, help, (), long, True, role, replaces=replaces, about=about)
    return row._replace(handler=handler, results=results)


def _limit(name: str, high: int, help: str) -> Parameter:
    return Parameter(name, "int", help, None, 1, high, named=True)


BUDGET = (
    _limit("time", 10**9, "Most seconds to work."),
    _limit("nodes", 10**15, "Most nodes to search."),
    _limit("positions", 10**10, "Most positions to add."),
)
"""Limits of a command: the first one that is reached ends it as a stop does, within a search or a round. Positions
that were added are still searched.
"""


def growing_command(
    name: str,
    parameters: tuple[Parameter, ...],
    help: str,
    *,
    role: str = EDITOR,
    handler: str = "",
    results: tuple[Field, ...] = (),
) -> BookCommand:
    """Return a command that adds or searches positions within a `BUDGET`, and goes on at its second run."""
    row = editor_command(name, (*parameters, *BUDGET), help, role=role, handler=handler, results=results)
    return row._replace(goes_on=True)


DISCARD = flag("discard", "Drop unsaved changes of the book in use.")
GAME_FILES = Parameter(
    "files", "paths", "Game files (.wtb .edx .ggf .sgf .pgn .txt .ndjson) or folders.", required=True
)


def count(name: str, help: str, unit: str = "positions", *, absent: str = "") -> Field:
    """Return a field of a result that is a whole number."""
    return Field(name, "int", help, unit, absent=absent)


SEARCHES = count("searches", "Searches made.", "searches")
GROWTH: Shape = (SEARCHES, count("rounds", "Rounds of adding and negamax.", "rounds"))
"""The results of a command that adds positions."""

OPEN = count("open", "Positions that need a search, see `book.fix`.")
SHRUNK: Shape = (count("removed", "Positions removed."), OPEN)
"""The results of a command that removes positions."""

GAMES_COUNTED = Field("counted", "int", "Games counted that were not before.", "games", since="1.1")
GAMES_KNOWN = Field("known", "int", "Games that had been counted before.", "games", since="1.1")
