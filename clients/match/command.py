"""`desdaemon match`: two programs play each other."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from desdaemon.clients.arguments import Parser, check_writable, real, whole
from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, quoted
from desdaemon.protocol.games.bases import BASE_FORMATS, FileGame, format_to_write, write_games
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello.notation import START, board_text, moves_text

from .engine_process import EngineFault, command_of, program_name
from .engine_protocols import PLAYERS, detected_protocol
from .journal import Journal
from .openings import PLIES, listed_openings, openings_of_file
from .referee import MOST_SOLVED, Finished, Terms
from .report import as_json, report
from .time_control import TimeControl, parse_clock, parse_seconds
from .workers import Match, Setting, sequential

DESCRIPTION = """\
Two programs play each opening twice, with either colour. A program is a command line in one argument;
`self` at its beginning stands for this program:

  desdaemon match "self -level 12" "/usr/games/gtp-rhino -l 4" --games 20
  desdaemon match "self -eval-file new.dat" "self" --move-time 0.1 --games 400 --concurrency 4 --sprt 0,10

Values for both programs may be two with a comma between: --move-time 1,none.
"""

_MOST_LEVEL = 1000


def main(arguments: list[str]) -> int:
    """Run a match; 0, 1 where a program cannot be used, 2 for a bad command line, 130 where it was interrupted."""
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        asked = _asked(options)
    except BadInput as error:
        parser.error(str(error))
    try:
        setting = _setting(asked, options)
        with Journal(options.journal, _described(setting)) as journal:
            interrupted = Match(setting, journal).run()
            _write(options, setting, journal)
    except (BadInput, EngineFault) as error:
        sys.stderr.write(f"desdaemon match: {error}\n")
        return 1
    return 130 if interrupted else 0


def command_line() -> Parser:
    """The command line."""
    parser = Parser(
        prog="desdaemon match",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("first", help="command line of a program")
    add("second", help="command line of its opponent")
    add(
        "--protocol",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(PLAYERS)} or auto, which asks the program (default)",
    )
    add("--names", default="", metavar="FIRST,SECOND", help="what to call them")
    add(
        "--games",
        type=whole(1, 10**6),
        metavar="N",
        help="games to play; default 20, or every opening of the file with both colours",
    )
    add("--openings", default="", metavar="FILE", help=f"begin with these games ({' '.join(BASE_FORMATS)})")
    add(
        "--plies",
        type=whole(0, 60),
        default=60,
        metavar="N",
        help="play no more moves of an opening of the file than this",
    )
    add(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help=f"which of the listed openings of {PLIES} moves, without a file",
    )
    add("--move-time", default="none", metavar="S", help="seconds for each move")
    add("--clock", default="none", metavar="S[+S]", help="seconds for a game, and seconds added after each move")
    add("--level", default="none", metavar="N", help="level to tell the program (not possible in GTP)")
    add(
        "--margin",
        type=real(0, 10**9),
        default=0.0,
        metavar="MS",
        help="milliseconds that a move may be late; default 0",
    )
    add("--patience", default="600", metavar="S", help="seconds that a move without a limit may take; default 600")
    add(
        "--adjudicate",
        type=whole(0, MOST_SOLVED),
        default=0,
        metavar="N",
        help=f"read games out from N empty squares, 0 to {MOST_SOLVED}",
    )
    add("--concurrency", type=whole(1, 256), default=1, metavar="N", help="games at a time")
    add("--sprt", default="", metavar="ELO0,ELO1", help="stop when the games decide between these (--sprt=-5,0)")
    add("--journal", default="", metavar="FILE", help="keep the games there; the same command goes on with them")
    add("--save", default="", metavar="FILE", help="write the games at the end, in the format of the name")
    add(
        "--json",
        default="",
        metavar="FILE",
        help="write the account as JSON; - is standard output instead of the table",
    )
    add("--log", default="", metavar="FOLDER", help="write each program's dialogue and its standard error there")
    return parser


# Understanding the command line


class _Asked(NamedTuple):
    """What the command line says by itself, before any program or file has been looked at."""

    commands: tuple[list[str], list[str]]
    protocols: tuple[str, str]
    names: tuple[str, str]
    terms: Terms
    sprt: tuple[float, float] | None


def _asked(options: argparse.Namespace) -> _Asked:
    """Raises `BadInput`."""
    protocols = _two(options.protocol, "--protocol")
    for name in protocols:
        if name not in ("auto", *PLAYERS):
            raise BadInput(f"--protocol {quoted(name)}: expected auto or one of {' '.join(PLAYERS)}")
    sprt = None
    if options.sprt:
        low, high = (_number(part, "--sprt") for part in _two(options.sprt, "--sprt"))
        if low >= high:
            raise BadInput(f"--sprt {quoted(options.sprt)}: expected two differences of Elo, the smaller first")
        sprt = (low, high)
    return _Asked(
        (command_of(options.first), command_of(options.second)),
        protocols,
        _two(options.names, "--names") if options.names else ("", ""),
        Terms(
            _controls(options),
            options.margin,
            parse_seconds(options.patience, "--patience") or 1e9,
            adjudicate=options.adjudicate,
        ),
        sprt,
    )


def _setting(asked: _Asked, options: argparse.Namespace) -> Setting:
    """Raises `BadInput` for files and programs that cannot be used."""
    if options.save:
        format_to_write(options.save)
    for option, path in (("--save", options.save), ("--json", options.json)):
        check_writable(option, path)
    if options.openings:
        openings = openings_of_file(options.openings, options.plies)
        games = 2 * len(openings) if options.games is None else options.games
    else:
        games = 20 if options.games is None else options.games
        openings = listed_openings((games + 1) // 2, options.seed)
    log = Path(options.log) if options.log else None
    if log:
        try:
            log.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--log {quoted(options.log)}: {error.strerror}: expected a folder") from None
    first, second = (
        detected_protocol(command) if name == "auto" else name
        for name, command in zip(asked.protocols, asked.commands, strict=True)
    )
    for number, opening in enumerate(openings[: (games + 1) // 2], 1):
        if opening.initial != START and "gtp" in (first, second):
            raise BadInput(
                f"{quoted(options.openings)}: opening {number} begins on another board: expected the standard start, "
                "since GTP has no word for others"
            )
    return Setting(
        asked.commands, (first, second), asked.names, openings, games, asked.terms, options.concurrency, asked.sprt, log
    )


def _two(text: str, what: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not all(parts):
        raise BadInput(f"{what} {quoted(text)}: expected one value for both programs, or two with a comma between")
    return parts[0], parts[-1]


def _controls(options: argparse.Namespace) -> tuple[TimeControl, TimeControl]:
    controls = []
    for move, clock, level in zip(
        _two(options.move_time, "--move-time"),
        _two(options.clock, "--clock"),
        _two(options.level, "--level"),
        strict=True,
    ):
        main, increment = parse_clock(clock, "--clock")
        number = -1 if level == "none" else whole_number(level)
        if number is None or not -1 <= number <= _MOST_LEVEL:
            raise BadInput(f"--level {quoted(level)}: expected a whole number from 0 to {_MOST_LEVEL}, or none")
        controls.append(TimeControl(parse_seconds(move, "--move-time"), main, increment, number))
    return controls[0], controls[1]


def _number(text: str, what: str) -> float:
    try:
        return real(-10_000, 10_000)(text)
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"{what} {error}") from None


def _described(setting: Setting) -> dict[str, object]:
    """What makes a match the same match, for its journal. Its length may change."""
    return {
        "first": shlex.join(setting.commands[0]),
        "second": shlex.join(setting.commands[1]),
        "protocols": list(setting.protocols),
        "controls": [list(control) for control in setting.terms.controls],
        "margin": setting.terms.margin,
        "adjudicate": setting.terms.adjudicate,
        "opening": _opening_text(setting.openings[0]),
    }


def _opening_text(opening: GameRecord) -> str:
    return f"{board_text(opening.initial)};{moves_text([played.move for played in opening.moves])}"


# What comes out


def _write(options: argparse.Namespace, setting: Setting, journal: Journal) -> None:
    names = _names(setting, journal)
    games = journal.games
    test = sequential(setting, journal)
    text = report(games, names, _terms_text(setting, names), test)
    account = json.dumps(as_json(games, names, test), indent=1)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(account + "\n" if options.json == "-" else text)
        sys.stdout.flush()
    if options.save:
        write_games(options.save, _file_games(games, names))
    if options.json and options.json != "-":
        try:
            Path(options.json).write_text(account + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--json {quoted(options.json)}: {error.strerror}: expected a file") from None


def _file_games(games: dict[int, Finished], names: tuple[str, str]) -> Iterator[FileGame]:
    date = time.strftime("%Y-%m-%d")
    for number, game in sorted(games.items()):
        record = game.record._replace(black=names[number % 2], white=names[1 - number % 2])
        yield FileGame(record, number + 1, "match", date, game.score)


def _names(setting: Setting, journal: Journal) -> tuple[str, str]:
    """The names that the programs gave, made different."""
    first, second = setting.names
    for number, game in sorted(journal.games.items()):
        black, white = game.record.black, game.record.white
        first, second = (white, black) if number % 2 else (black, white)
        break
    first, second = (
        name or program_name(command) for name, command in zip((first, second), setting.commands, strict=True)
    )
    return (f"{first} (1)", f"{second} (2)") if first == second else (first, second)


def _terms_text(setting: Setting, names: tuple[str, str]) -> str:
    controls = setting.terms.controls
    if controls[0] == controls[1]:
        time_text = controls[0].text
    else:
        time_text = "; ".join(f"{name}: {control.text}" for name, control in zip(names, controls, strict=True))
    return f"{names[0]} against {names[1]}, {time_text}"
