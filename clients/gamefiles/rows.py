"""What the files of others bring: formats of games, problems to solve, bases, the lists of openings of XOT."""

from __future__ import annotations

from desdaemon.protocol.rows import ADMIN, SEARCHES, Command, GameFormat, OpeningLists, Satellite, Switch

_HERE = "desdaemon.clients.gamefiles"

BASE_COMMANDS = (
    Command("convert", (), "in out", "Add the games of a file to another one; the names say the formats."),
    Command("unique", (), "in out", "Add the games that are different, mirror images counted as the same."),
    Command(
        "problem", (), "in empties out", "Add the different positions with this number of empty squares as problems."
    ),
    Command("tofen", (), "in empties out", "Add the same positions as FEN records."),
    Command("check", (), "in empties", "Find the mistakes from this number of empty squares on."),
    Command("correct", (), "in empties", "Replace the play from the first such mistake on by the best, in place."),
    Command("complete", (), "in", "Play unfinished games to their end at the current level, in place."),
    Command("compare", (), "a b", "Count the games that are in one file, the other, or both."),
)

SATELLITE = Satellite(
    commands=(
        Command(
            "solve",
            (),
            "file [wrong]",
            "Solve the problems of an OBF file; write those with other answers to a file.",
            ADMIN,
            SEARCHES,
            files=True,
            tests=True,
            handler="desdaemon.clients.gamefiles.problems:solve",
        ),
        Command(
            "script-to-obf",
            (),
            "file out",
            "Write the problems of a file with the scores of all their moves.",
            None,
            tests=True,
            handler="desdaemon.clients.gamefiles.problems:script_to_obf",
        ),
        Command(
            "select-hard",
            (),
            "file out",
            "Write the problems whose best move is at least two discs better than the next.",
            None,
            tests=True,
            handler="desdaemon.clients.gamefiles.problems:select_hard",
        ),
        Command(
            "wtest",
            (),
            "file",
            "Check the theoretical scores of a WTHOR file.",
            ADMIN,
            SEARCHES,
            asks=True,
            files=True,
            tests=True,
            handler="desdaemon.clients.gamefiles.problems:wtest",
        ),
        Command(
            "base",
            (),
            "command ...",
            "Convert, compare, check and complete files of games, see `help base`.",
            None,
            handler="desdaemon.clients.gamefiles.bases:run",
            parts=BASE_COMMANDS,
            title="Game DataBase:",
        ),
    ),
    switches=(
        Switch(
            "solve",
            "solve the problems of an OBF file (- is standard input)",
            "desdaemon.clients.gamefiles.problems:solve_as_edax",
            "FILE",
        ),
        Switch(
            "wtest",
            "check the theoretical scores of a WTHOR file",
            "desdaemon.clients.gamefiles.problems:wtest_as_edax",
            "FILE",
        ),
    ),
    game_formats=(
        GameFormat(
            "ggf",
            "(;GM[Othello] ... ;)",
            f"{_HERE}.ggf:recognise",
            f"{_HERE}.ggf:texts",
            game=f"{_HERE}.ggf:ggf_game",
            tags=("PC", "DT", "RE"),
            written=f"{_HERE}.ggf:written",
        ),
        GameFormat(
            "sgf",
            "(;GM[2] ... )",
            f"{_HERE}.sgf:recognise",
            f"{_HERE}.sgf:texts",
            game=f"{_HERE}.sgf:sgf_game",
            tags=("EV", "DT", "RE"),
            written=f"{_HERE}.sgf:written",
        ),
        GameFormat(
            "pgn",
            "moves such as 1. F5 D6 2. C3",
            f"{_HERE}.pgn:recognise",
            f"{_HERE}.pgn:pgn_texts",
            game=f"{_HERE}.pgn:pgn_game",
            written=f"{_HERE}.pgn:written",
            between="\n",
        ),
        GameFormat(
            "wtb",
            recognise=f"{_HERE}.wthor_bases:recognise",
            read=f"{_HERE}.wthor_bases:games",
            unchecked=f"{_HERE}.wthor_bases:unchecked",
            write=f"{_HERE}.wthor_bases:write",
            several=True,
        ),
        GameFormat("edx", recognise=f"{_HERE}.edx:recognise", read=f"{_HERE}.edx:games", write=f"{_HERE}.edx:write"),
        GameFormat(
            "ndjson",
            "JSON with moves",
            f"{_HERE}.sites:recognise",
            f"{_HERE}.sites:json_texts",
            by_line=True,
            game=f"{_HERE}.sites:json_game",
        ),
    ),
    opening_lists=(
        OpeningLists(
            ("xot", "xot-small"), "desdaemon.clients.gamefiles.xot:lines", "desdaemon.clients.gamefiles.xot:numbered"
        ),
    ),
)
