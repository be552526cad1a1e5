"""The commands of the text protocol: the one table behind parsing, `help`, the documentation and the tests."""

from __future__ import annotations

from typing import NamedTuple

from .options import whole_number


class Command(NamedTuple):
    """A command: its name, other names, parameters as `help` shows them, and its description in a sentence."""

    name: str
    aliases: tuple[str, ...]
    parameters: str
    help: str


COMMANDS = (
    Command("init", ("i",), "", "Set up the opening position and forget the opening line of `force`."),
    Command("new", ("n",), "", "Start again from the current initial position; the clocks are reset."),
    Command("setboard", (), "board", "Set up an initial position: 64 squares (X O -) and the side to move, or FEN."),
    Command(
        "play", (), "moves|opening", "Play a sequence of moves, or an opening by its name; passes may be left out."
    ),
    Command("undo", ("u",), "", "Take back a move (two in modes 0 and 1)."),
    Command("redo", ("r",), "", "Play the move taken back again (two in modes 0 and 1)."),
    Command("go", (), "", "Search and play a move for the side to move."),
    Command("hint", (), "[n]", "Search and show the n best moves (default 1); the board stays as it is."),
    Command("stop", (), "", "End the search that is running, then switch to mode 3."),
    Command("load", ("open", "o"), "file", "Load the first game of a file: .txt .ggf .sgf .pgn .edx .wtb."),
    Command("save", ("s",), "file", "Write the game to a file, .txt .ggf .sgf .pgn .edx, or the board, .svg .eps."),
    Command("force", (), "[moves|opening]", "Line from the initial position that go follows; none clears it."),
    Command("opening", (), "[language]", "Name of the opening: english, french or japanese."),
    Command("ouverture", (), "", "Its French name."),
    Command("seek", (), "board", "Look for a line from the initial position to a board."),
    Command("eval", (), "", "Show the static evaluation, in discs, for the side to move."),
    Command("moves", (), "", "Show the legal moves."),
    Command("analyze", ("analyse", "a"), "[n]", "Look back over the last n moves (default: the whole game)."),
    Command("solve", (), "file [wrong]", "Solve the problems of an OBF file; those with other answers to a file."),
    Command("script-to-obf", (), "file out", "Write the problems of a file with the scores of all their moves."),
    Command("select-hard", (), "file out", "Write the problems whose best move is two discs better than the next."),
    Command("wtest", (), "file", "Check the theoretical scores of a WTHOR file."),
    Command("base", (), "command ...", "Convert, compare, check and complete files of games, see `help base`."),
    Command("perft", (), "[d] [1|2]", "Count the lines of d plies (default 10); in mode 2 a pass is not a ply."),
    Command(
        "count",
        (),
        "games|positions|shapes d [1|2|3]",
        "Count lines of 0 to d plies; or positions after d discs, symmetric ones once: 1 as they are after the move, "
        "2 with forced passes made, 3 without finished games; or sets of occupied squares.",
    ),
    Command("book", ("b",), "command ...", "Use, grow and look at the opening book, see `help book`."),
    Command("hmirror", (), "", "Mirror game and board, A-H."),
    Command("vmirror", (), "", "Mirror game and board, 1-8."),
    Command("rotate", (), "90|180|270", "Turn game and board clockwise."),
    Command(
        "symmetry",
        ("symetry",),
        "0..15",
        "Bit 0 mirrors A-H, bit 1 mirrors 1-8, bit 2 swaps files and ranks, bit 3 swaps the colours.",
    ),
    Command("bench", (), "[n]", "Solve n random positions with 20 empty squares, or as many as a minute allows."),
    Command("mobility", (), "[seconds]", "Look for a position with many moves by random play (default 10 seconds)."),
    Command("estimate", (), "[n]", "Estimate the number of games from here by n random ones (default 10)."),
    Command("resources", (), "", "Show processor time and memory used."),
    Command("version", ("v",), "", "Show name and version."),
    Command("options", (), "", "Show the value of every option."),
    Command(
        "help",
        ("?",),
        "[commands|options|book|base|test|programs|name]",
        "Show all commands and options, a part, or one: `help hint`, `help book deviate`.",
    ),
    Command("nboard", (), "version", "Go on in NBoard's protocol, version 1 or 2."),
    Command("protocol_version", (), "", "Go on in GTP, of which this is the first command."),
    Command("xboard", (), "", "Go on in XBoard's protocol."),
    Command("engine-protocol", (), "command", "Go on in Cassio's protocol, of which this is the first line."),
    Command("quit", ("q", "exit"), "", "Leave, when all that came before is done."),
)

BASE_COMMANDS = (
    Command("convert", (), "in out", "Add the games of a file to another one; the names say the formats."),
    Command("unique", (), "in out", "Add the games that are different, mirror images counted as the same."),
    Command("problem", (), "in empties out", "Add the different positions with so many empty squares as problems."),
    Command("tofen", (), "in empties out", "Add them as FEN records."),
    Command("check", (), "in empties", "Find the mistakes from so many empty squares on."),
    Command("correct", (), "in empties", "Replace the play from the first such mistake on by the best, in place."),
    Command("complete", (), "in", "Play unfinished games to their end at the current level, in place."),
    Command("compare", (), "a b", "Count the games that are in one file, the other, or both."),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def find_command(word: str) -> Command | None:
    """The command of that name or alias, in lower case."""
    return _BY_NAME.get(word)


def successor(line: str) -> str:
    """The protocol that a line of the text protocol switches to, "" for an ordinary line."""
    if line.lstrip().startswith("{"):
        return "json"
    word, rest = split_line(line)
    if word == "nboard":
        return "nboard" if whole_number(rest) in (1, 2) else ""
    if word == "engine-protocol":
        return "cassio"
    return {"protocol_version": "gtp", "xboard": "xboard"}.get(word, "") if not rest else ""


def split_line(line: str) -> tuple[str, str]:
    """The command word in lower case and the rest of a line, without `set` before and `=` after the word."""
    word, rest = _first_word(line)
    if word == "set" and rest:
        word, rest = _first_word(rest)
    name, equals, value = word.partition("=")
    if name and equals:
        return name, f"{value} {rest}".strip()
    return word, rest.removeprefix("=").lstrip()


def _first_word(line: str) -> tuple[str, str]:
    parts = line.strip().split(None, 1)
    if not parts:
        return "", ""
    return parts[0].lower(), parts[1] if len(parts) > 1 else ""
