"""The commands on the opening book: the one table behind parsing, `help`, the wire's `book.*` operations and the docs.

In the text protocol parameters are given in order, after `book` and the name; on the wire by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import move_text, parse_move
from desdaemon.protocol.rows import ADMIN, EDITOR, READER, expected_value
from desdaemon.protocol.spelling import did_you_mean

from .options import split_words, whole_number

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


def _int(name: str, low: int, high: int, help: str, default: int | None = None, *, required: bool = False) -> Parameter:
    return Parameter(name, "int", help, default, low, high, required=required)


def _file(help: str, *, required: bool = True, name: str = "file") -> Parameter:
    return Parameter(name, "path", help, required=required)


def _flag(name: str, help: str) -> Parameter:
    return Parameter(name, "flag", help)


def _editor(
    name: str,
    parameters: tuple[Parameter, ...],
    help: str,
    *,
    long: bool = True,
    role: str = EDITOR,
    replaces: bool = False,
    about: str = BOOK,
) -> BookCommand:
    return BookCommand(name, parameters, help, (), long, True, role, replaces=replaces, about=about)


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


def _grower(name: str, parameters: tuple[Parameter, ...], help: str, *, role: str = EDITOR) -> BookCommand:
    return _editor(name, (*parameters, *BUDGET), help, role=role)._replace(goes_on=True)


_LEVEL_OF_FILE = _int("level", 1, 60, "Level of its scores, if the file has none.", 1)
_GAMES = Parameter("files", "paths", "Game files (.wtb .edx .ggf .sgf .pgn .txt .ndjson) or folders.", required=True)
_DEPTH = _int("depth", 0, 60, "Moves from the initial position to the deepest position.", required=True)
_PER_MOVE = _int("per-move", 0, 129, "Most discs that one move may lose; 129: no limit.", required=True)
_CUMULATIVE = _int("cumulative", 0, 129, "Most discs that a line may lose in all; 129: no limit.", required=True)
_DISCARD = _flag("discard", "Drop unsaved changes of the book in use.")
_SEARCH_LEVEL = "Level of the searches; the book's unless given."

BOOK_COMMANDS = (
    # The book and its file
    _editor(
        "new",
        (
            _int("level", 0, 60, "Level of new positions.", 21),
            _int("depth", 0, 61, "Depth; by default what suits the level, 36 for level 21."),
            _DISCARD,
        ),
        "Begin a new book with the initial position; the book in use is closed, its file stays.",
        role=ADMIN,
        replaces=True,
    ),
    BookCommand(
        "load",
        (
            _file("A book of any format."),
            _LEVEL_OF_FILE,
            Parameter(
                "overlay",
                "path",
                "Keep changes in this file; the book's own is only read.",
                named=True,
            ),
            _DISCARD,
        ),
        "Use the book of a file: desdaemon's own format, Edax's, Egaroucid's or Edax's text, recognised by content.",
        aliases=("open",),
        long=True,
        writes=True,
        role=ADMIN,
        replaces=True,
    ),
    _editor(
        "reopen",
        (_DISCARD,),
        "Read the book's file again, and open it for writing unless another process is doing so.",
        replaces=True,
    ),
    _editor(
        "save",
        (_file("File to write; the book's own unless given.", required=False),),
        "Write the book in the format of the name: .dat, .egbk3, .txt, .txt.xz, or else desdaemon's own.",
        role=ADMIN,
    )._replace(saves=True),
    _editor(
        "import",
        (_file("A text export, or any other book."), _DISCARD),
        "Use a book of any format, and search what it leaves open.",
        role=ADMIN,
        replaces=True,
    ),
    BookCommand(
        "export",
        (_file("Where to."),),
        "Write a copy; as Edax's text, packed as .txt.xz, unless the name says .dat or .egbk3.",
        long=True,
        role=ADMIN,
        saves=True,
    ),
    BookCommand(
        "backup",
        (_file("Where to."),),
        "Write a copy in desdaemon's own format while the book stays in use.",
        long=True,
        role=ADMIN,
        saves=True,
    ),
    _editor(
        "merge",
        (
            _file("A book of any format."),
            _flag("keep-ours", "Add missing positions only."),
            _flag("into", "Write instead a copy of the overlay's base with its changes to that file."),
        ),
        "Add the positions of another book; of two entries the one with the higher level stays.",
        role=ADMIN,
    ),
    BookCommand(
        "diff",
        (
            _file("A book of any format."),
            _file("Another one; the book in use unless given.", required=False, name="other"),
        ),
        "Count how two books differ.",
        long=True,
        role=ADMIN,
    ),
    _editor(
        "salvage",
        (_file("The damaged file."), _DISCARD),
        "Recover the undamaged part of a book; the damaged file is not changed.",
        role=ADMIN,
        replaces=True,
    ),
    # Settings
    BookCommand("on", (), "Play from the book.", about=OPTIONS),
    BookCommand("off", (), "Do not play from the book.", about=OPTIONS),
    BookCommand(
        "randomness",
        (_int("discs", 0, 128, "Discs below the best score; shows the value if left out."),),
        "Set how much worse than the best a book move may be.",
        about=OPTIONS,
    ),
    _editor(
        "depth",
        (_int("depth", 0, 61, "Moves; shows the value if left out."),),
        "Set the depth to which positions are added from now on.",
        long=False,
    ),
    _editor(
        "level",
        (_int("level", 0, 60, "Level; shows the value if left out."),),
        "Set the level of positions added from now on.",
        long=False,
    ),
    _editor(
        "verbose",
        (_int("verbosity", 0, 4, "From 2 on every search is shown with its board; shows the value if left out."),),
        "Set what the book's commands show; kept in its file.",
        long=False,
        about=OUTPUT,
    ),
    _editor(
        "rule",
        (
            Parameter(
                "rule",
                "choice",
                "edax: leaves count in scores; egaroucid: they do not, lines count positions, links go before leaves; "
                "shows the rule if left out.",
                None,
                choices=("edax", "egaroucid"),
            ),
        ),
        "Set which program's scoring rule the book uses.",
    ),
    # Looking
    BookCommand(
        "show",
        (),
        "Show what the book knows of the position on the board, and of each legal move.",
        long=True,
        places=True,
    ),
    BookCommand(
        "edits",
        (_int("count", 1, 10**6, "Most positions to list.", 100),),
        "List the positions whose score was set by hand.",
        long=True,
    ),
    BookCommand("info", (), "Show the book's size, levels, depth and memory.", long=True),
    BookCommand("stats", (), "Count positions, links, leaves and scores by the number of empty squares.", long=True),
    BookCommand(
        "analyze",
        (_int("n", 1, 128, "Moves, all unless given."),),
        "Analyse the game by the book's scores alone.",
        aliases=("analyse", "a"),
        game=True,
    ),
    BookCommand("grade", (), "Show how reliable the position's score is: A to F, AA to AF.", long=True, places=True),
    BookCommand(
        "lines",
        (
            _int("loss", 0, 129, "Discs that a move may lose.", 0),
            _int("count", 1, 10**6, "Most lines to show.", 100),
        ),
        "Show the best lines from here through the book.",
        long=True,
        places=True,
    ),
    BookCommand(
        "umigame",
        (_int("depth", 1, 60, "Moves from the position on the board to the ends of lines, at most.", 60),),
        "Show how few lines of the book each side must know to keep its score from here against every best reply.",
        long=True,
        places=True,
    ),
    _editor("verify", (_flag("repair", "Repair what is wrong, without searching."),), "Check the book for errors."),
    BookCommand("check", (_GAMES,), "Compare the moves of games with the book.", long=True, role=ADMIN),
    BookCommand(
        "extract",
        (
            _file("File to write, a game a line."),
            _int("loss", 0, 129, "Discs that a move may lose.", 0),
        ),
        "Write the best lines from here to a file.",
        long=True,
        role=ADMIN,
    ),
    BookCommand(
        "problem",
        (_int("empties", 0, 60, "Empty squares.", 24), _int("count", 1, 10**6, "Most positions to show.", 10)),
        "Show positions of the book with a single best move.",
        long=True,
    ),
    BookCommand(
        "feed-hash",
        (),
        "Load the book's scores below this position into the transposition table.",
        long=True,
        about=SEARCH,
    ),
    # Growing
    _editor("store", (), "Add the positions of the game, and count its result once it is over."),
    _editor(
        "add",
        (
            _GAMES,
            Parameter(
                "played",
                "int",
                "Only positions that at least n of these games reach, the most played first.",
                1,
                1,
                10**6,
                named=True,
            ),
            _flag("unsearched", "Do not search; book fix does it later."),
        ),
        "Add the positions of games and count their results; the file names openings, xot and xot-small stand for the "
        "named openings and XOT's.",
        role=ADMIN,
    ),
    _editor(
        "self-play",
        (
            _int("games", 1, 10**6, "Games.", required=True),
            _int("level", 0, 60, "Level of the moves that the book does not know; the book's unless given."),
            _int("random", 0, 60, "Random moves at the beginning of each game.", 0),
            _flag("xot", "Begin each game with an opening of the list of XOT."),
            *BUDGET,
        ),
        "Play games from the position on the board, by the book where it knows a move, and store each with its result.",
    ),
    _grower(
        "deviate",
        (
            _int("relative", -129, 129, "Discs that one side may lose with a move.", 2),
            _int("absolute", 0, 65, "Discs away from the position's score.", 4),
        ),
        "Add moves near the best, of one side while the other plays its best.",
    ),
    _grower(
        "enhance",
        (
            _int("midgame-error", 0, 129, "Error of a score not read to the end; the book's unless given."),
            _int("endcut-error", 0, 129, "Error of a score read to the end with selectivity; the book's unless given."),
        ),
        "Add moves that could be best given the errors; the book keeps these errors.",
    ),
    _grower(
        "fill", (_int("plies", 1, 61, "Their distance.", 1),), "Add the positions that lie between two of the book."
    ),
    _grower("play", (), "Add the best move wherever a line ends, down to the depth."),
    _grower("extend", (), "Add leaves until a best move of every position is in the book."),
    _grower(
        "deepen",
        (_int("level", 0, 60, _SEARCH_LEVEL),),
        "Search again every leaf that this level would search deeper or with higher selectivity.",
    ),
    _editor("correct", (), "Solve again what was solved, and report what was wrong."),
    _grower(
        "learn",
        (
            _DEPTH,
            _PER_MOVE,
            _CUMULATIVE,
            _int("leaf", 0, 129, "Discs that a followed leaf may be below the score.", required=True),
            _int("level", 1, 60, _SEARCH_LEVEL),
        ),
        "Egaroucid's learning: follow leaves of good lines along their best moves.",
    ),
    _grower(
        "recalculate-leaves",
        (_DEPTH, _PER_MOVE, _CUMULATIVE, _int("level", 1, 60, _SEARCH_LEVEL)),
        "Search again the leaves of a window that have a lower level.",
    ),
    _grower(
        "schedule",
        (_file("A file of learn steps, or the name of a recipe."),),
        "Carry out the learn steps of a file.",
        role=ADMIN,
    ),
    _editor(
        "enumerate",
        (_int("plies", 0, 12, "Moves.", required=True), _DISCARD),
        "Begin a new book with every position up to some number of moves, without scores.",
        role=ADMIN,
        replaces=True,
    ),
    # Scores
    _grower("fix", (), "Search missing leaves and bring all scores up to date."),
    _editor("negamax", (), "Bring all scores up to date."),
    _editor(
        "edit",
        (
            Parameter("move", "move", "A move from the position.", required=True),
            _int("score", -64, 64, "Discs, for the side that plays it.", required=True),
        ),
        "Set the score of a move by hand; it outranks every level.",
        long=False,
    ),
    _editor(
        "unedit",
        (Parameter("move", "move", "The move whose score was set; the last one that was, unless given."),),
        "Take back a score that was set by hand.",
    ),
    _editor(
        "adjust",
        (Parameter("loser", "choice", "Who lost; the game's loser unless given.", None, choices=("black", "white")),),
        "Make the line of a lost game less attractive to its loser.",
        long=False,
    ),
    _editor(
        "uncount",
        (Parameter("source", "text", "A file's name, self-play or store: see book info.", high=255, required=True),),
        "Take back the results of the games of a source.",
        role=ADMIN,
    ),
    _editor(
        "undo",
        (),
        "Take back the last command that changed the book since it was saved or opened; an editor only an own one.",
    ),
    # Shrinking
    _editor("prune", (), "Keep only what can be reached while one side plays best moves."),
    _editor("subtree", (), "Keep only what this position leads to."),
    _editor(
        "cut", (_int("depth", 0, 61, "Moves.", required=True),), "Remove all positions below a depth; scores stay."
    ),
    _editor(
        "reduce",
        (
            _DEPTH,
            _PER_MOVE,
            _CUMULATIVE,
            _flag("read", "Keep only what leads to a position solved to the end of the game, too."),
        ),
        "Below this position, keep only what the window reaches.",
    ),
    _editor(
        "delete",
        (Parameter("move", "move", "The move that leads there; the position itself unless given."),),
        "Remove a position.",
    ),
)

BY_NAME = {name: command for command in BOOK_COMMANDS for name in (command.name, *command.aliases)}


def find_book_command(name: str) -> BookCommand | None:
    """Return the command with the name or alias ``name``, in lower case; None if there is no such command."""
    return BY_NAME.get(name)


def parse_line(line: str) -> tuple[BookCommand, BookValues]:
    """Return the command and the values of its parameters from the words after `book`. Raises `BadInput`."""
    name, _, rest = line.strip().partition(" ")
    command = find_book_command(name.lower())
    if command is None:
        meant = did_you_mean(name, [command.name for command in BOOK_COMMANDS], "one that help book lists")
        raise BadInput(f"Unknown book command: {quoted(f'book {line}'.strip())}: {meant}")
    return command, _parse_parameters(command, rest.strip())


def written_line(command: BookCommand, values: BookValues) -> str:
    """Return the line that `parse_line` reads as this command with these values. A default is left out unless a value
    follows it. None is always left out, because no word stands for it.
    """
    words: list[str] = []
    for parameter in reversed(command.parameters):
        value = values[parameter.name]
        by_name = parameter.kind == "flag" or parameter.named
        # A default before another value keeps that value's place.
        if value is None or value is False or (value == parameter.default and (by_name or not words)):
            continue
        if isinstance(value, int) and parameter.kind == "move":
            words.insert(0, move_text(value).lower())
        elif parameter.kind != "flag":
            parts = value if isinstance(value, list) else [str(value)]
            words[:0] = [f'"{part}"' if " " in part else part for part in parts]
        if by_name:
            words.insert(0, f"--{parameter.name}")
    return " ".join([command.name, *words])


def _parse_parameters(command: BookCommand, rest: str) -> BookValues:
    words = _words(command, rest)
    given: BookValues = {}
    positional = []
    for parameter in command.parameters:
        flag = f"--{parameter.name}"
        if parameter.kind != "flag" and not parameter.named:
            positional.append(parameter)
        elif flag in words and parameter.named:
            index = words.index(flag)
            # A missing value is read as "", which raises the error that names the parameter.
            given[parameter.name] = _read(command, parameter, "".join(words[index + 1 : index + 2]))
            del words[index : index + 2]
        elif flag in words:
            words.remove(flag)
            given[parameter.name] = True
    for parameter in positional:
        if parameter.kind == "paths" and all(words):
            if words:
                given[parameter.name], words = words, []
        elif words:
            given[parameter.name] = _read(command, parameter, words.pop(0))
    if words:
        after = f"book {command.usage}" if command.parameters else f"nothing after {quoted(command.name)}"
        raise BadInput(f"book {command.name}: {quoted(words[0])} is one too many: expected {after}")
    missing = next((each for each in command.parameters if each.required and each.name not in given), None)
    if missing is not None:
        raise BadInput(f"book {command.name}: {missing.name} is missing: expected book {command.usage}")
    return complete(command, given)


def _words(command: BookCommand, rest: str) -> list[str]:
    """Split ``rest``, the line after the command, at blanks outside quotes. Without quotes a file name may hold blanks
    if only numbers and flags follow.
    """
    kinds = [parameter.kind for parameter in command.parameters if parameter.kind != "flag" and not parameter.named]
    if '"' not in rest and kinds[:1] == ["path"] and set(kinds[1:]) <= {"int"}:
        options = list[str]()
        for parameter in command.parameters:
            flag = f"--{parameter.name}"
            if flag in rest.split():
                head, _, tail = rest.partition(flag)
                options.append(flag)
                if parameter.named:
                    value, _, tail = tail.strip().partition(" ")
                    options += [value] if value else []
                rest = f"{head.rstrip()} {tail.lstrip()}"
        name, numbers = rest.strip(), list[str]()
        while len(numbers) < len(kinds) - 1 and whole_number(name.rpartition(" ")[2]) is not None and " " in name:
            name, _, last = name.rpartition(" ")
            name, numbers = name.strip(), [last, *numbers]
        return [*options, *([name] if name else []), *numbers]
    return split_words(rest)


def _read(command: BookCommand, parameter: Parameter, word: str) -> BookValue:
    """Return the value of a parameter from a word; raises `BadInput`."""
    value: BookValue = None
    if parameter.kind == "int":
        number = whole_number(word)
        value = number if number is not None and parameter.low <= number <= parameter.high else None
    elif parameter.kind == "choice":
        value = word.lower() if word.lower() in parameter.choices else None
    elif parameter.kind == "move":
        with contextlib.suppress(BadInput):
            value = parse_move(word)
    elif parameter.kind in ("path", "text"):
        value = word or None
    if value is None:
        raise BadInput(
            f"book {command.name}, {parameter.name} = {quoted(word)}: expected {parameter.expected}",
        )
    return value


def complete(command: BookCommand, given: Mapping[str, BookValue]) -> BookValues:
    """Return a value for every parameter: the checked one that is ``given``, or the default."""
    return {
        parameter.name: given.get(parameter.name, False if parameter.kind == "flag" else parameter.default)
        for parameter in command.parameters
    }
