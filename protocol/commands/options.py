"""The options, given on the command line as ``-name value``, in an option file, or as a command ``[set] name [=]
value``. Also the readers of words, numbers and file names in a line.

One table serves all these, `help` and the documents. Durations are in milliseconds, 0 for none.
"""

from __future__ import annotations

import os

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.selectivity import MAX_LEVEL, SELECTIVITIES, Selectivity, SelectivityIndex
from desdaemon.protocol.rows import EDITOR, Option, Switch, Value
from desdaemon.protocol.satellites import Table

BUILTIN_BOOK = "builtin"
"""The name that stands for the installed book where a file name is expected."""

_DIGITS = frozenset("0123456789")
_YES = ("on", "true", "yes", "1")
_NO = ("off", "false", "no", "0")
_DAY_MS = 86_400_000


def _idle(name: str, kind: str, help: str, low: int = 0, high: int = 0) -> Option:
    return Option(name, (), kind, help, low, high, idle=True)


_OWN = (
    Option("level", ("l",), "int", "Strength, as Edax's levels.", 0, MAX_LEVEL),
    Option("depth", ("d",), "int", "Search depth in plies instead of the level's; -1 follows the level.", -1, 60),
    Option(
        "selectivity", (), "selectivity", "Selectivity of the search instead of the level's: 0 is 73 %, 5 is 100 %."
    ),
    Option("nodes", (), "int", "Most nodes for one search; 0 is no limit.", 0, 10**15, edax=False),
    Option("move-time", (), "time", "Time for each move."),
    Option("game-time", ("t",), "time", "Time for all moves of a game, for each side."),
    Option("speed", (), "int", "Nodes a second that the plan for the time of a game assumes.", 10**5, 10**12),
    Option("alpha", (), "int", "Lower end of the search window, discs.", -64, 64),
    Option("beta", (), "int", "Upper end of the search window, discs.", -64, 64),
    Option("mode", ("m",), "int", "Who moves by itself: 0 White, 1 Black, 2 both sides, 3 neither.", 0, 3),
    Option(
        "n-tasks",
        ("n",),
        "int",
        "Search threads, at most the number of available processors; 0 means all of them.",
        0,
        256,
    ),
    Option(
        "deterministic",
        (),
        "bool",
        "Search with one thread, whatever n-tasks says: answers are then the same on every machine.",
        edax=False,
    ),
    Option(
        "hash-table-size", ("h",), "int", "Size of the transposition table, as a power of two.", 10, 32, shared=True
    ),
    Option("eval-file", (), "path", "Evaluation weights, as Edax's eval.dat, instead of the built-in ones."),
    Option("verbose", (), "int", "0 answers only, 1 board and final lines, 2 to 4 a line for each iteration.", 0, 4),
    Option("q", (), "flag", "Same as verbose 0 (command line and option file only)."),
    Option("vv", (), "flag", "Same as verbose 2 (command line and option file only)."),
    Option("noise", (), "int", "Depth from which verbose 2 shows iterations.", 0, 60),
    Option("width", (), "int", "Width of a line of the search table.", 3, 250),
    Option("echo", (), "bool", "Repeat each command before its answer."),
    Option("edax-compatible", (), "bool", "Announce moves as Edax does, in its name.", edax=False),
    Option(
        "pass-name",
        (),
        "choice",
        "How a pass is announced; auto: as you typed it last, else PS with edax-compatible and PA without.",
        edax=False,
        choices=("auto", "pa", "ps"),
    ),
    Option("repeat", (), "int", "Games to play in a row in mode 2.", 0, 10**9),
    Option("auto-start", (), "bool", "Start a new game when one is over."),
    Option("auto-swap", (), "bool", "Swap sides in modes 0 and 1 when a game is over."),
    Option("auto-quit", (), "bool", "Leave when a game is over."),
    Option("ui-log-file", (), "path", "Add the dialogue to this file (command line and option file only)."),
    Option(
        "game-file",
        (),
        "path",
        "Add finished games to this file, .ggf .txt .sgf .pgn .edx (command line and option file only).",
    ),
    Option("search-log-file", (), "path", "Add all searches to this file (command line and option file only)."),
    Option("ponder", (), "bool", "Think in the opponent's time: in modes 0 and 1, and in games of a GUI."),
    Option("book-usage", (), "bool", "Play from the book."),
    Option(
        "book-file",
        (),
        "path",
        f"Opening book, of any format, or {BUILTIN_BOOK}: the one that ships; opened once the first prompt is there.",
    ),
    Option(
        "book-overlay",
        (),
        "path",
        "Keep changes of the book in this file; the file of book-file is only read, and never changed.",
        edax=False,
    ),
    Option("book-randomness", (), "int", "Discs that a book move may be worse than the best.", 0, 128),
    Option(
        "book-choice",
        (),
        "choice",
        "What decides among book moves: their value, the results of games, or the results within the randomness.",
        edax=False,
        choices=("value", "results", "mixed"),
    ),
    Option(
        "book-seed",
        (),
        "int",
        "Seed of the choices among book moves; 0 makes them different each time.",
        0,
        10**9,
        edax=False,
    ),
    Option(
        "book-reject",
        (),
        "int",
        "Percentage of moves without the book, to learn something new.",
        0,
        100,
        edax=False,
    ),
    Option("book-least-level", (), "int", "Play only by scores of this level or above; -1 is any.", -1, 60, edax=False),
    Option("book-registered-only", (), "bool", "Play only moves that lead into the book.", edax=False),
    Option(
        "book-learn-results",
        (),
        "bool",
        "When a lost game is stored, make its line less attractive to the loser.",
        edax=False,
    ),
    Option("book-check", (), "bool", "Check whether a move outside the book is better.", edax=False),
    Option(
        "book-tasks",
        (),
        "int",
        "Threads for the searches of book commands; 0 means all processors.",
        0,
        256,
        edax=False,
        shared=True,
    ),
    Option(
        "book-memory",
        (),
        "int",
        "MiB of memory for the positions of books; beyond it they lie in files beside the book. 0: no limit.",
        0,
        1 << 24,
        edax=False,
        shared=True,
    ),
    Option("keep-going", (), "bool", "Go on with a script after a command that was not finished.", edax=False),
    Option("auto-store", (), "bool", "Store each finished game in the book, and count its result.", role=EDITOR),
    _idle("cpu", "flag", "Bind threads to processors."),
    _idle("info", "flag", "Debugging output."),
    _idle("nps", "int", "Simulated clock.", 0, 10**12),
    _idle("all-best", "bool", "Search tuning."),
    _idle("probcut-d", "text", "Search tuning."),
    _idle("pv-debug", "bool", "Search tuning."),
    _idle("pv-check", "bool", "Search tuning."),
    _idle("pv-guess", "bool", "Search tuning."),
    _idle("inc-pvnode-sort-depth", "int", "Search tuning.", -60, 60),
    _idle("inc-cutnode-sort-depth", "int", "Search tuning.", -60, 60),
    _idle("inc-allnode-sort-depth", "int", "Search tuning.", -60, 60),
    _idle("ggs-log-file", "path", "With -ggs: write the dialogue with the server at the end of this file."),
    _idle("ggs-host", "text", "With -ggs: the game server."),
    _idle("ggs-login", "text", "With -ggs: the name there."),
    _idle("ggs-password", "text", "With -ggs: the password there, only in an option file; else you are asked for it."),
    _idle("ggs-port", "text", "With -ggs: the port, 5000 unless given."),
    _idle("ggs-open", "bool", "With -ggs: accept unrated matches."),
)

OPTIONS = Table("options", _OWN)

SWITCHES: Table[Switch] = Table("switches")
"""Words of the command line that begin something else than a dialogue."""

STARTING = ("ui-log-file", "game-file", "search-log-file")
"""Options that open a file at the start: they can be set only on the command line or in an option file."""


def parse_value(option: Option, text: str) -> Value:
    """Return the value that ``text`` gives an option: times in ms (0 for infinite), selectivities in percent (-1 for
    the level's), file names as `file_name` reads them. Raises `BadInput`, which names option, text and the expected
    value.
    """
    text = text.strip()
    value: Value = None
    if option.kind == "int":
        number = whole_number(text)
        fits = number is not None and (option.low <= number <= option.high or (option.off and number == 0))
        value = number if fits else None
    elif option.kind in ("bool", "flag"):
        lower = text.lower()
        value = True if lower in _YES else False if lower in _NO else None
    elif option.kind == "time":
        value = _parse_time(text)
    elif option.kind == "choice":
        value = text.lower() if text.lower() in option.choices else None
    elif option.kind == "selectivity":
        value = _parse_selectivity(text)
    elif option.kind == "path":
        value = file_name(text) if "\0" not in text else None
        value = value or None
    elif min(text, default="") >= " ":
        value = text
    if value is None:
        raise BadInput(f"{option.name} = {quoted(text)}: expected {option.expected}")
    return value


def split_words(text: str) -> list[str]:
    """Return the words of a line; double quotes keep blanks together."""
    words: list[str] = []
    for number, part in enumerate(text.split('"')):
        words += [part] if number % 2 else part.split()
    return words


def file_names(text: str) -> list[str]:
    """Return the file names in a line, split like `split_words`; ``~`` is the home folder."""
    return [os.path.expanduser(word) for word in split_words(text)]  # noqa: PTH111  pathlib costs start-up time


def file_name(text: str) -> str:
    """Return the line as one file name, which may hold blanks and be in double quotes; ``~`` is the home folder."""
    name = text.strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = name[1:-1]
    return os.path.expanduser(name)  # noqa: PTH111


def whole_number(text: str) -> int | None:
    """Return a decimal whole number of at most 18 digits, with or without a sign; None for other text."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if 0 < len(digits) <= 18 and _DIGITS.issuperset(digits) else None


def number_within(what: str, text: str, low: int, high: int) -> int:
    """Return the whole number of a text, from ``low`` to ``high``; raises `BadInput`, which begins with ``what``."""
    number = whole_number(text.strip())
    if number is None or not low <= number <= high:
        raise BadInput(f"{what} {quoted(text)}: expected a whole number from {low} to {high}")
    return number


def _parse_selectivity(text: str) -> int | None:
    number = whole_number(text)
    if number is None:
        return None
    if 0 <= number < len(SELECTIVITIES):
        return Selectivity.at(SelectivityIndex(number))
    return number if number in SELECTIVITIES or number == -1 else None


def _parse_time(text: str) -> int | None:
    """Return the milliseconds of ``[[[D:]H:]M:]S[.ms]``, at least 10 ms and less than 100 days; 0 for infinite, None
    for other text.
    """
    if text.lower() in ("infinite", "inf", "none"):
        return 0
    *larger, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    fields = [*larger, whole or "0"]
    if len(fields) > 4 or not _DIGITS.issuperset(fraction) or not (whole or fraction):
        return None
    total = 0
    for field, unit in zip(reversed(fields), (1_000, 60_000, 3_600_000, _DAY_MS), strict=False):
        if not field or len(field) > 9 or not _DIGITS.issuperset(field):
            return None
        total += int(field) * unit
    total += int((fraction + "000")[:3])
    return total if 10 <= total < 100 * _DAY_MS else None
