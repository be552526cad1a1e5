"""The commands on the opening book: the one table behind parsing, `help`, the wire's `book.*` operations and the docs.

In the text protocol parameters are given in order, after `book` and the name; on the wire by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from desdaemon.protocol import satellites
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.othello.notation import move_text, parse_move
from desdaemon.protocol.rows import ADMIN, load
from desdaemon.protocol.spelling import did_you_mean
from desdaemon.protocol.wire.fields import Field

from .book_rows import (
    DISCARD,
    GAME_FILES,
    GAMES_COUNTED,
    GAMES_KNOWN,
    GROWTH,
    OPEN,
    OPTIONS,
    OUTPUT,
    SEARCHES,
    SHRUNK,
    BookCommand,
    BookValue,
    BookValues,
    Parameter,
    count,
    editor_command,
    file_name,
    flag,
    growing_command,
    number,
)
from .options import split_words, whole_number

_CHANGING = "desdaemon.book.commands.changing"
_GAMES = "desdaemon.book.commands.games"
_LOADING = "desdaemon.book.commands.loading"
_LOOKING = "desdaemon.book.commands.looking"
_SEARCHING = "desdaemon.book.commands.searching"
_PACKED = "the book is packed"

_LEVEL_OF_FILE = number("level", 1, 60, "Level of its scores, if the file has none.", 1)

_ENDINGS = [
    ending for one in satellites.present("book_formats") for kind in one.book_formats for ending in kind.endings
]
_NAMES = ", ".join((*_ENDINGS, ".txt", ".txt.xz"))

BOOK_COMMANDS = (
    # The book and its file
    editor_command(
        "new",
        (
            number("level", 0, 60, "Level of new positions.", 21),
            number("depth", 0, 61, "Depth; by default what suits the level, 36 for level 21."),
            DISCARD,
        ),
        "Begin a new book with the initial position; the book in use is closed, its file stays.",
        role=ADMIN,
        replaces=True,
        handler=f"{_LOADING}:run_new",
    ),
    BookCommand(
        "load",
        (
            file_name("A book of any format."),
            _LEVEL_OF_FILE,
            Parameter(
                "overlay",
                "path",
                "Keep changes in this file; the book's own is only read.",
                named=True,
            ),
            DISCARD,
        ),
        "Use the book of a file: desdaemon's own format, Edax's, Egaroucid's or Edax's text, recognised by content.",
        aliases=("open",),
        long=True,
        writes=True,
        role=ADMIN,
        replaces=True,
        handler=f"{_LOADING}:run_load",
    ),
    editor_command(
        "reopen",
        (DISCARD,),
        "Read the book's file again, and open it for writing unless another process is doing so.",
        replaces=True,
        handler=f"{_LOADING}:run_reopen",
    ),
    editor_command(
        "save",
        (file_name("File to write; the book's own unless given.", required=False),),
        f"Write the book in the format of the name: {_NAMES}, or else desdaemon's own.",
        role=ADMIN,
        handler=f"{_LOADING}:run_save",
    )._replace(saves=True),
    editor_command(
        "import",
        (file_name("A text export, or any other book."), DISCARD),
        "Use a book of any format, and search what it leaves open.",
        role=ADMIN,
        replaces=True,
        handler=f"{_LOADING}:run_import",
    ),
    BookCommand(
        "export",
        (file_name("Where to."),),
        "Write a copy in the format of the name, .book in desdaemon's own; as Edax's text under any other name.",
        long=True,
        role=ADMIN,
        saves=True,
        handler=f"{_LOADING}:run_export",
    ),
    BookCommand(
        "backup",
        (file_name("Where to."),),
        "Write a copy in desdaemon's own format while the book stays in use.",
        long=True,
        role=ADMIN,
        saves=True,
        handler=f"{_LOADING}:run_backup",
    ),
    # Settings
    BookCommand(
        "on",
        (),
        "Play from the book.",
        about=OPTIONS,
        handler=f"{_CHANGING}:run_on",
    ),
    BookCommand(
        "off",
        (),
        "Do not play from the book.",
        about=OPTIONS,
        handler=f"{_CHANGING}:run_off",
    ),
    BookCommand(
        "randomness",
        (number("discs", 0, 128, "Discs below the best score; shows the value if left out."),),
        "Set how much worse than the best a book move may be.",
        about=OPTIONS,
        handler=f"{_CHANGING}:run_randomness",
        results=(count("randomness", "The setting now.", "discs"),),
    ),
    editor_command(
        "depth",
        (number("depth", 0, 61, "Moves; shows the value if left out."),),
        "Set the depth to which positions are added from now on.",
        long=False,
        handler=f"{_CHANGING}:run_depth",
        results=(count("depth", "The setting now.", "moves"),),
    ),
    editor_command(
        "level",
        (number("level", 0, 60, "Level; shows the value if left out."),),
        "Set the level of positions added from now on.",
        long=False,
        handler=f"{_CHANGING}:run_level",
        results=(count("level", "The setting now.", "level"),),
    ),
    editor_command(
        "verbose",
        (number("verbosity", 0, 4, "From 2 on every search is shown with its board; shows the value if left out."),),
        "Set what the book's commands show; kept in its file.",
        long=False,
        about=OUTPUT,
        handler=f"{_CHANGING}:run_verbose",
        results=(count("verbose", "The setting now.", "0 to 4"),),
    ),
    editor_command(
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
        handler=f"{_CHANGING}:run_rule",
        results=(Field("rule", "str", "The rule now: `edax` or `egaroucid`."),),
    ),
    # Looking
    BookCommand(
        "show",
        (),
        "Show what the book knows of the position on the board, and of each legal move.",
        long=True,
        places=True,
        handler=f"{_LOOKING}:run_show",
    ),
    BookCommand(
        "info",
        (),
        "Show the book's size, levels, depth and memory.",
        long=True,
        handler=f"{_LOOKING}:run_info",
        results=(
            count("links", "Links.", "links", absent=_PACKED),
            count("leaves", "Leaves.", "leaves", absent=_PACKED),
            count("finished_games", "Positions where the game is over.", absent=_PACKED),
            count("depth", "Moves from the start to the deepest positions.", "moves"),
            Field("rule", "str", "Rule that scores follow: `edax` or `egaroucid`."),
            Field("levels", "{int}", "Positions by level.", "positions", absent=_PACKED),
            count("memory_bytes", "Memory of the positions.", "bytes", absent=_PACKED),
        ),
    ),
    BookCommand(
        "stats",
        (),
        "Count positions, links, leaves and scores by the number of empty squares.",
        long=True,
        handler=f"{_LOOKING}:run_stats",
        results=(Field("scores", "{int}", "Positions by score.", "positions"),),
    ),
    BookCommand(
        "grade",
        (),
        "Show how reliable the position's score is: A to F, AA to AF.",
        long=True,
        places=True,
        handler=f"{_LOOKING}:run_grade",
        results=(Field("grade", "str", "`A` to `F`, `AA` to `AF`."),),
    ),
    editor_command(
        "verify",
        (flag("repair", "Repair what is wrong, without searching."),),
        "Check the book for errors.",
        handler=f"{_LOOKING}:run_verify",
        results=(
            Field("clean", "bool", "Whether no problem was found."),
            OPEN,
            count("due", "Positions whose scores `book.negamax` has to bring up to date."),
            Field("problems", "{int}", "Positions by kind of problem.", "positions"),
        ),
    ),
    # Growing
    editor_command(
        "store",
        (),
        "Add the positions of the game, and count its result once it is over.",
        handler=f"{_SEARCHING}:run_store",
        results=(
            *GROWTH,
            Field("counted", "int", "Positions whose game results were counted.", "positions", absent="none were"),
        ),
    ),
    editor_command(
        "add",
        (
            GAME_FILES,
            Parameter(
                "played",
                "int",
                "Only positions that at least n of these games reach, the most played first.",
                1,
                1,
                10**6,
                named=True,
            ),
            flag("unsearched", "Do not search; book fix does it later."),
        ),
        "Add the positions of games and count their results; the file names openings, xot and xot-small stand for the "
        "named openings and XOT's.",
        role=ADMIN,
        handler=f"{_GAMES}:run_add",
        results=(
            SEARCHES,
            count("games", "Games read.", "games"),
            count("left_out", "Games left out.", "games"),
            GAMES_COUNTED,
            GAMES_KNOWN,
        ),
    ),
    editor_command(
        "enumerate",
        (number("plies", 0, 12, "Moves.", required=True), DISCARD),
        "Begin a new book with every position up to some number of moves, without scores.",
        role=ADMIN,
        replaces=True,
        handler=f"{_LOADING}:run_enumerate",
    ),
    # Scores
    growing_command(
        "fix",
        (),
        "Search missing leaves and bring all scores up to date.",
        handler=f"{_SEARCHING}:run_fix",
        results=GROWTH,
    ),
    editor_command(
        "negamax",
        (),
        "Bring all scores up to date.",
        handler=f"{_SEARCHING}:run_negamax",
    ),
    editor_command(
        "edit",
        (
            Parameter("move", "move", "A move from the position.", required=True),
            number("score", -64, 64, "Discs, for the side that plays it.", required=True),
        ),
        "Set the score of a move by hand; it outranks every level.",
        long=False,
        handler=f"{_CHANGING}:run_edit",
    ),
    editor_command(
        "unedit",
        (Parameter("move", "move", "The move whose score was set; the last one that was, unless given."),),
        "Take back a score that was set by hand.",
        handler=f"{_CHANGING}:run_unedit",
    ),
    editor_command(
        "adjust",
        (Parameter("loser", "choice", "Who lost; the game's loser unless given.", None, choices=("black", "white")),),
        "Make the line of a lost game less attractive to its loser.",
        long=False,
        handler=f"{_CHANGING}:run_adjust",
    ),
    editor_command(
        "uncount",
        (Parameter("source", "text", "A file's name, self-play or store: see book info.", high=255, required=True),),
        "Take back the results of the games of a source.",
        role=ADMIN,
        handler=f"{_GAMES}:run_uncount",
        results=(count("games", "Games taken back.", "games"),),
    ),
    editor_command(
        "undo",
        (),
        "Take back the last command that changed the book since it was saved or opened; an editor only an own one.",
        handler=f"{_LOADING}:run_undo",
    ),
    # Shrinking
    editor_command(
        "prune",
        (),
        "Keep only what can be reached while one side plays best moves.",
        handler=f"{_CHANGING}:run_prune",
        results=SHRUNK,
    ),
    editor_command(
        "subtree",
        (),
        "Keep only what this position leads to.",
        handler=f"{_CHANGING}:run_subtree",
        results=SHRUNK,
    ),
    editor_command(
        "cut",
        (number("depth", 0, 61, "Moves.", required=True),),
        "Remove all positions below a depth; scores stay.",
        handler=f"{_CHANGING}:run_cut",
        results=SHRUNK,
    ),
    editor_command(
        "delete",
        (Parameter("move", "move", "The move that leads there; the position itself unless given."),),
        "Remove a position.",
        handler=f"{_CHANGING}:run_delete",
        results=SHRUNK,
    ),
    *(command for one in satellites.present("book_commands") for command in load(one.book_commands)),
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
        meant = did_you_mean(name, ["help", *(command.name for command in BOOK_COMMANDS)], "one that help book lists")
        raise BadInput(f"Unknown book command: {quoted(f'book {line}'.strip())}: {meant}")
    return command, _parse_parameters(command, rest.strip())


def written_line(command: BookCommand, values: BookValues) -> str:
    """Return the line that `parse_line` reads as this command with these values. A default is left out unless a value
    follows it. None is always left out, because no word stands for it; what follows it is written by name.
    """
    words: list[str] = []
    placed = False
    for index, parameter in reversed([*enumerate(command.parameters)]):
        value = values[parameter.name]
        # None holds no place: a number behind it would be read as its value.
        displaced = any(values[each.name] is None and not each.named for each in command.parameters[:index])
        by_name = parameter.kind == "flag" or parameter.named or (parameter.kind == "int" and displaced)
        # A default before another value keeps that value's place.
        if value is None or value is False or (value == parameter.default and (by_name or not placed)):
            continue
        placed |= not by_name
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
        named = parameter.named or (parameter.kind == "int" and not parameter.required and flag in words)
        if parameter.kind != "flag" and not named:
            positional.append(parameter)
        elif flag in words and named:
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
                if parameter.kind != "flag":
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
        parsed = whole_number(word)
        value = parsed if parsed is not None and parameter.low <= parsed <= parameter.high else None
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
