"""The kinds of rows by which features are known: what a part writes into a table, the others iterate over.

Parsing, roles, `help`, the wire, the documents and the tests read the same rows. The tables of the core stand in
`protocol.commands` and `protocol.wire.messages`; a satellite brings its rows as a `Satellite`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from desdaemon.protocol.errors import BadInput, not_installed

if TYPE_CHECKING:
    import argparse

READER, EDITOR, ADMIN = "reader", "editor", "admin"
"""Roles of remote clients, the least first."""

Value = int | bool | str | None
SHORT, COUNTS, SEARCHES = "short", "counts", "searches"
"""Kinds of work, each with its own threads for remote clients: what takes a moment, long counts in Python, and searches
of the engine.
"""

_OPTION_EXPECTED = {
    "bool": "on or off",
    "flag": "on or off",
    "time": "a time such as 2.5 (seconds), 5:00 or 1:30:00, at least 0.01 s and less than 100 days, or infinite",
    "selectivity": "0 to 5 or 73, 87, 95, 98, 99 or 100 (percent)",
    "path": "a file name",
    "text": "a text",
}


def expected_value(kind: str, low: int, high: int, choices: tuple[str, ...]) -> str:
    """Return the expected value in words, for a message. Kind ``int`` gives a number from ``low`` to ``high``,
    ``choice`` the choices, any other kind "".
    """
    if kind == "int":
        return f"a whole number from {low} to {high}"
    return f"one of {' '.join(choices)}" if kind == "choice" else ""


@dataclass_transform(frozen_default=True)
class Row:
    """The base of the kinds of rows. A row's fields are the annotations of its class, in their order, given by place or
    by name; they are not changed. Rows of a kind with the same values are equal.

    It does what a `NamedTuple` would, whose making takes half a millisecond a class of every start.
    """

    fields_in_order: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.fields_in_order = tuple(cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) > len(self.fields_in_order) or named.keys() - self.fields_in_order:
            raise TypeError(f"{type(self).__name__}: expected at most {' '.join(self.fields_in_order)}")
        # What is left out is the class's.
        self.__dict__.update(zip(self.fields_in_order, values, strict=False), **named)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.fields_in_order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())


class Option(Row):
    """An option.

    ``kind`` is ``int`` (from ``low`` to ``high``), ``bool``, ``flag`` (true when named, without a value), ``time``,
    ``selectivity``, ``choice`` (of ``choices``), ``text`` or ``path``. ``idle`` options are accepted and checked for
    users of Edax but have no effect in a dialogue; ``edax`` is false for options that Edax lacks. ``role`` is the least
    role of a remote client that may set the option. ``shared`` options concern all clients (the engine's memory, the
    searchers for book jobs); a remote client's value for one is ignored.

    An ``int`` with ``off`` takes 0 as well, which switches the feature off. The option of a satellite has a
    ``default``, which also says its type; the core's options have theirs in `SessionSettings`.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    help: str
    low: int = 0
    high: int = 0
    idle: bool = False
    edax: bool = True
    choices: tuple[str, ...] = ()
    role: str = READER
    shared: bool = False
    off: bool = False
    default: Value = None

    @property
    def key(self) -> str:
        """The name under which `SessionSettings` keeps the value."""
        return self.name.replace("-", "_")

    @property
    def of_server(self) -> bool:
        """Whether the option is only for games on the GGS server (``-ggs``)."""
        return self.name.startswith("ggs-")

    @property
    def expected(self) -> str:
        """The expected values in words, for error messages."""
        value = expected_value(self.kind, self.low, self.high, self.choices) or _OPTION_EXPECTED[self.kind]
        return f"0 or {value}" if self.off else value


class Command(Row):
    """A command of the text protocol. Commands of other protocols use only the first four fields.

    ``parameters`` are as `help` shows them, ``help`` is a sentence. ``role`` is the least role of a remote client, None
    for a command that cannot be given remotely. ``work`` is `SHORT`, `COUNTS` or `SEARCHES`. A command that ``asks``
    has no effect but its reply. A command with ``files`` is followed by a file name. Commands with ``tests`` are on the
    page `help test`. What ``parts`` has are the words that may follow the name; ``title`` is the first line of the help
    page that lists them.

    ``handler`` names the function that carries out the command of a satellite, ``module:function``. It gets a
    `CommandContext` and the text after the command's name. Those of the core are in a table of their own.
    """

    name: str
    aliases: tuple[str, ...]
    parameters: str
    help: str
    role: str | None = None
    work: str = SHORT
    asks: bool = False
    files: bool = False
    tests: bool = False
    handler: str = ""
    parts: "tuple[Command, ...]" = ()
    title: str = ""


class SubCommand(Row):
    """A sub-command: its name of one or two words, its description, and the module that implements it.

    The module has ``main``, which takes the arguments after the name and returns the exit status. It also has
    ``command_line``, which returns the argument parser, or else the text ``USAGE`` for ``--help``. That text may stand
    in a module of its own, ``texts``.
    """

    name: str
    help: str
    module: str
    texts: str = ""
    prefix: str = ""
    """What the functions' names begin with where a module has several sub-commands: ``perft_main``."""
    checks: bool = False
    """Whether it runs with any Python, because it checks that too."""

    @property
    def main(self) -> Callable[[list[str]], int]:
        """Import the module and return its function that runs the sub-command."""
        found: Callable[[list[str]], int] = load(f"{self.module}:{self.prefix}main")
        return found

    def parser(self) -> "argparse.ArgumentParser | None":
        """Return the argument parser; None for a sub-command that reads its arguments by itself."""
        make = getattr(import_module(self.module), f"{self.prefix}command_line", None)
        return make() if make else None

    def usage(self) -> str:
        """Return the text of ``--help``."""
        parser = self.parser()
        text: str = parser.format_help() if parser else load(f"{self.texts or self.module}:USAGE")
        return text


LISTS = {"moves": str, "texts": str, "ints": int, "maps": dict}
"""The kinds of arguments that are lists, with the type of their items."""

_ARGUMENT_EXPECTED = {
    "moves": "moves",
    "texts": "texts",
    "ints": "whole numbers",
    "maps": "maps",
    "id": "a text of at most 64 bytes or a whole number from 0 to 2^64 - 1",
    "flag": "true or false",
    "scores": "a list of scores from -64 to 64, nil where there is none",
    "move": "a square such as f5",
    "path": "the name of a file",
    "paths": "a list of names of files",
}


class Argument(Row):
    """An argument of an operation.

    ``kind`` is ``int`` (``low`` to ``high``), ``text`` (at most ``high`` characters), ``choice`` (of ``choices``),
    ``moves``, ``texts``, ``ints`` or ``maps`` (lists of at most ``high`` texts, integers or maps with ``fields``),
    ``scores`` (a list of scores or nil), ``id`` (of a request), ``path`` (a file in the data folder), ``paths`` (a list
    of them), ``move`` or ``flag``.

    For the document: ``unit`` of a number, ``default`` value, ``cost`` for the daemon or the client, and ``since``, the
    feature or revision that added the argument.
    """

    name: str
    kind: str
    help: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    required: bool = False
    unit: str = ""
    default: str = ""
    cost: str = ""
    since: str = "1.0"
    fields: "tuple[Argument, ...]" = ()

    @property
    def expected(self) -> str:
        """The expected values in words, for error messages."""
        if self.kind == "text":
            return f"a text of at most {self.high} characters"
        if self.kind in LISTS:
            return f"a list of at most {self.high} {_ARGUMENT_EXPECTED[self.kind]}"
        return expected_value(self.kind, self.low, self.high, self.choices) or _ARGUMENT_EXPECTED[self.kind]


class Operation(Row):
    """An operation: name, arguments, the least role that may request it, and a sentence that describes it.

    ``cost`` and ``since`` are for the document, as in `Argument`. ``repeatable`` operations change neither the book nor
    the client's session: a client may send them again after a lost connection, and the daemon may skip them when their
    client has gone.

    ``replies`` are the names of the shapes that the data of its final may have, ``partial`` is that of its partials, ""
    without any. Operations on the book have neither ``replies`` nor a shape: see `protocol.wire.replies.BOOK_RESULTS`.

    ``handler`` names the function that answers an operation of a satellite, ``module:function``. It gets an
    `OperationContext` and the request, returns the data of the final, and raises `RequestError`. It runs on a thread
    that the satellite's operations have for themselves. ``part`` is the name of the `DaemonPart` that answers instead:
    the operation is offered where that part works.
    """

    name: str
    arguments: tuple[Argument, ...]
    role: str
    help: str
    cost: str = ""
    since: str = "1.0"
    repeatable: bool = False
    replies: tuple[str, ...] = ()
    partial: str = ""
    handler: str = ""
    part: str = ""

    def argument(self, name: str) -> Argument | None:
        """Return the argument with this name; None if there is no such argument."""
        return next((argument for argument in self.arguments if argument.name == name), None)


class Feature(Row):
    """A feature of the wire protocol: the revision of docs/protocol.md that added it, and a sentence."""

    revision: str
    help: str


class Chooser(Row):
    """Who chooses the engine's moves instead of book and search, as long as ``option`` is set.

    ``function`` names a function, ``module:function``: it gets the `Session`, the position, which has a legal move, and
    the `Limits` of the move, and returns a move, or None to leave this one to book and search. One that ``searches``
    does so within these limits.
    """

    option: Option
    function: str
    searches: bool = False


class DialogueProtocol(Row):
    """A protocol of the dialogue other than the text protocol. Its ``name`` is that on the command line.

    ``spoken`` is the place, ``module:name``, of its `Spoken`, which is loaded when the protocol is chosen. ``command``
    is the command of the text protocol whose line begins it, if all that follows the name matches the regular
    expression ``version``.

    Where programs read standard error as part of the answers, ``warning`` and ``status`` are the first words of answers
    that say in its place what happens beside the dialogue: to the book, and in the compiler.
    """

    name: str
    spoken: str
    command: Command | None = None
    version: str = ""
    warning: str = ""
    status: str = ""


BOUNDS, PATHS, WIDE_PATHS, SETTINGS, SCORES = "bounds", "paths", "wide-paths", "settings", "scores"
LEVELS, LEAF_LEVELS, HAND, RULE = "levels", "leaf-levels", "hand", "rule"
BOOK_CONTENT = frozenset((BOUNDS, PATHS, WIDE_PATHS, SETTINGS, SCORES, LEVELS, LEAF_LEVELS, HAND, RULE))
"""What a format of books may keep beside boards and leaves: bounds; path counts, and those above 2^32 - 1; level, depth
and errors of the book; scores that do not follow from leaves; levels of both scales; levels of leaves; which scores
were set by hand; the rule of scores. Results of games only desdaemon's own format keeps.
"""


class BookFormat(Row):
    """A format of books other than desdaemon's own.

    Its files begin with the bytes ``magic``; one that no format's bytes tell is of the format with its name's ending. A
    book is written so where the file's name ends in one of ``endings``. Files with ``old`` endings are only read.

    ``read`` and ``write`` name functions, ``module:function``. The first gets path, level of positions without one, and
    progress; it returns an `ImportedBook` and raises `Unreadable`. ``write`` gets path, book and progress; it returns
    remarks about what other programs will find, and raises `WriteFailed` and `BookError`. Files with ``open`` are
    mapped and only read: its function gets path and progress, and returns a book over the file and a digest of 16
    bytes.

    ``keeps`` is what of `BOOK_CONTENT` a file holds. Without rule and levels of both scales it has those of ``rule``.
    """

    name: str
    endings: tuple[str, ...]
    magic: bytes
    read: str
    write: str
    keeps: frozenset[str]
    rule: str = "edax"
    old: tuple[str, ...] = ()
    open: str = ""


class GameFormat(Row):
    """A format of files of games. Its ``name`` is also their ending; ``example`` says what a text looks like.

    All others are names of functions, ``module:function``, "" for what the format lacks. ``recognise`` gets the first
    bytes of a file whose name says nothing, without blanks, and its size, and returns whether the file may be of the
    format. The rows are asked in order.

    Of a text, ``texts`` gets the text, or with ``by_line`` its lines, and yields a `GameText` for each game; ``game``
    returns its `GameRecord`; ``tags`` are the names of event, date and result there. ``written`` gets `GameRecord` and
    `GameDetails` and returns the text of a game; ``between`` stands between two.

    Of other files, ``read`` gets `Content` and `Complain` or None and yields a `FileGame` for each game, ``unchecked``
    gets path and `Complain` and yields `UncheckedGame`, and ``write`` gets path, games and the bytes that the file has,
    and returns the number of games. A format with ``several`` is not for one game alone. All raise `BadInput`.
    """

    name: str
    example: str = ""
    recognise: str = ""
    texts: str = ""
    by_line: bool = False
    game: str = ""
    tags: tuple[str, str, str] = ("EVENT", "DATE", "RESULT")
    written: str = ""
    between: str = ""
    read: str = ""
    unchecked: str = ""
    write: str = ""
    several: bool = False


class OpeningLists(Row):
    """Lists of openings, which commands know by ``names``.

    ``lines`` and ``numbered`` name functions, ``module:function``. The first gets the name of a list and returns its
    lines of play, in order; it raises `BadInput` if the list cannot be read. The second gets the positions of a game
    and returns list and number of the line that led to one of them, or "".
    """

    names: tuple[str, ...]
    lines: str
    numbered: str


class DaemonPart(Row):
    """What a folder adds to the daemon: work that outlives requests, in files of its own.

    ``name`` is that of its folder in the data folder, of its numbers in `status`, and the first word of its metrics.
    ``make`` names a function, ``module:function``: it gets a `desdaemon.core.requests.parts.PartContext`, and returns a
    `Part`. ``gauges`` describe those numbers that are metrics.
    """

    name: str
    make: str
    gauges: Mapping[str, str] = {}


class WebPart(Row):
    """What a folder adds to `desdaemon web`. Both are functions, ``module:function``, and need no Tornado.

    ``arguments`` gets the parser of the command line and adds options. ``part`` gets the parser and the parsed options,
    and returns a `Part` of the gateway, or None if the options ask for none; it raises `BadInput`.
    """

    arguments: str
    part: str


class Searchers(Row):
    """Who searches for jobs beside this process, as long as ``option`` is set.

    ``worker`` and ``solver`` name functions, ``module:function``. The first makes the `Worker` of a book command, from
    the arguments of `desdaemon.core.searchers.JobSearches`. The second makes the searches of `-solve`, from those of
    `desdaemon.core.searchers.SolverSearches`. Both raise `BadInput` if nobody is there who searches.
    """

    option: Option
    worker: str
    solver: str


class Switch(Row):
    """A switch of Edax's command line that starts a program in place of a dialogue: ``-name``, what it does, and its
    function, ``module:function``. It gets the `SessionSettings` and what follows the name, and returns the exit status.

    ``value`` is what follows, for `--help`, such as ``FILE``. Without it the function gets "".
    """

    name: str
    help: str
    function: str
    value: str = ""
    aliases: tuple[str, ...] = ()


class Satellite(Row):
    """What a folder brings to the core: rows of every kind. All fields are optional.

    ``book_commands`` is the place, ``module:name``, of its book commands, rows of `protocol.commands.book_rows`.
    ``features`` are those that `hello` lists. ``shapes`` is the place, ``module:name``, of the shapes of its replies;
    to a shape of the core they add fields.
    ``exports`` are names that programs import from `desdaemon`, each with its place. ``libraries`` are the modules
    whose ``SPEC`` defines a library of kernels.
    """

    sub_commands: tuple[SubCommand, ...] = ()
    options: tuple[Option, ...] = ()
    commands: tuple[Command, ...] = ()
    operations: tuple[Operation, ...] = ()
    features: Mapping[str, Feature] = {}
    shapes: str = ""
    book_commands: str = ""
    choosers: tuple[Chooser, ...] = ()
    searchers: tuple[Searchers, ...] = ()
    switches: tuple[Switch, ...] = ()
    protocols: tuple[DialogueProtocol, ...] = ()
    exports: Mapping[str, str] = {}
    web_parts: tuple[WebPart, ...] = ()
    daemon_parts: tuple[DaemonPart, ...] = ()
    opening_lists: tuple[OpeningLists, ...] = ()
    game_formats: tuple[GameFormat, ...] = ()
    book_formats: tuple[BookFormat, ...] = ()
    libraries: tuple[str, ...] = ()


def load(place: str) -> Any:
    """Import the module of a place, ``module:name``, and return what has the name there. Raises `BadInput` if it, or a
    satellite that it uses, is not installed.
    """
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if absent := not_installed(error):
            raise BadInput(absent) from None
        raise
