"""The command line of `desdaemon match`: reads options, programs and openings, runs the match, prints its report."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from desdaemon.api import Board, Engine
from desdaemon.clients.arguments import Parser, check_writable, print_text, real, whole
from desdaemon.clients.match.results.journal import Journal
from desdaemon.clients.match.results.report import MatchOutcome, json_report, outcome, report
from desdaemon.clients.programs.engine_process import (
    OWN_COMMAND,
    THREAD_OPTIONS,
    EngineFault,
    command_of,
    command_text,
    program_name,
)
from desdaemon.clients.programs.engine_protocols import PLAYERS, detected_protocol
from desdaemon.clients.programs.openings import (
    PLIES,
    POSITION_FORMATS,
    Openings,
    listed_openings,
    openings_of_file,
    openings_of_list,
)
from desdaemon.clients.programs.process_groups import ProcessGroups, StoppedBySignals
from desdaemon.clients.programs.results_book import check_book, count_games
from desdaemon.clients.programs.time_control import TimeControl, parse_clock, parse_seconds
from desdaemon.protocol.commands.options import whole_number
from desdaemon.protocol.errors import BadInput, escaped, quoted
from desdaemon.protocol.games.bases import FileGame, expect_other_files, format_to_write, replace_file, write_games
from desdaemon.protocol.games.formats import READ_FORMATS
from desdaemon.protocol.games.records import GameRecord
from desdaemon.protocol.othello import openings as known_openings
from desdaemon.protocol.othello.notation import Position, board_text, moves_text
from desdaemon.protocol.othello.scores import MoverScore
from desdaemon.protocol.spelling import plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.platform import command_words, processors
from desdaemon.protocol.version import __version__

from .identity import identity
from .page import MatchPage
from .referee import Finished, MatchTerms
from .schedule import KINDS, Schedule
from .spsa import TunedOption
from .tune import Tuner, parse_parameter
from .workers import Ending, Match, Program, Setting

DESCRIPTION = """\
Two programs play each opening twice, with either colour; more of them play a
tournament. A program is a command line in one argument; `self` at its
beginning stands for this program:

  desdaemon match "self -level 12" "/usr/games/gtp-rhino -l 4" --games 20
  desdaemon match "self -eval-file new.dat" self --games 400 --sprt 0,10
  desdaemon match "self -l 4" "self -l 6" "self -l 8" --tournament gauntlet

For a value per program, give a comma-separated list in the programs' order:
--move-time 1,none.
"""

TUNING_FORMAT = 1
"""Version of a tuning's JSON, raised when a key is removed or changes its meaning."""

_MOST_LEVEL = 1000
_MOST_EMPTIES = 24
"""Most empty squares of adjudicated games, which are solved in seconds."""
_NOT_TUNED = ("names", "sprt", "save", "book_results", "page", "log")
"""Options that a tuning does not take."""


def main(arguments: list[str]) -> int:
    """Run a match and print its report. Returns the exit status; a bad command line ends the program with status 2.

    After a signal that ended the match the status is 128 plus the signal's number. It is 1 if a program cannot be used
    or fails in every game, or if a file cannot be written, otherwise 0.
    """
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        asked = _asked(options)
    except BadInput as error:
        parser.error(str(error))
    with logs.without_waiting():
        status, text = _held(asked, options)
        try:
            # Last, since nobody may read it; signals end it as they end other programs.
            print_text(text)
        except BadInput as error:
            _mention(str(error))
            return 1
    return status


def _held(asked: _Asked, options: argparse.Namespace) -> tuple[int, str]:
    """Hold a match, write its files, and return the exit status and the report."""
    groups = ProcessGroups()
    begun = time.time()
    text = ""
    with ExitStack() as ends, StoppedBySignals(ends.close) as signals:
        ends.callback(groups.stop)
        try:
            solver = _solver(ends.enter_context(Engine(threads=1))) if options.adjudicate else None
            setting, openings = _setting(asked, options, groups, solver)
            if signals.number:
                return 128 + signals.number, ""
            programs = _identities(setting)
            if options.book_results:
                check_book(options.book_results, groups)
            with Journal(options.journal, _described(setting, programs, options)) as journal:
                resumed = len(journal.games)
                if asked.tuned:
                    tuner = Tuner(setting, asked.tuned, journal, groups, options.seed)
                    ending = tuner.run()
                    program = setting.programs[0]
                    about = _about(options, setting, openings, ending, begun, resumed)
                    text = _reported(
                        options,
                        {"format": TUNING_FORMAT, **about, "program": programs[0], **tuner.data()},
                        tuner.report(f"{command_text(program.command)}, {program.control.text}"),
                    )
                    return _status(ending, signals), text
                page = _page(setting, options.page)
                ending = Match(setting, journal, groups, page).run()
                if page:
                    page.finish(journal.games, ending.kind, ending.program)
                about = _about(options, setting, openings, ending, begun, resumed)
                names = _names(setting, journal.games)
                result = outcome(journal.games, setting.schedule, names, ending.program, setting.sprt)
                text = _write(options, setting, result, ending, about, programs)
                if options.book_results and ending.kind != "stopped":
                    # The match has ended its own process groups.
                    counting = ProcessGroups()
                    signals.call(counting.stop)
                    counted = count_games(options.book_results, list(_file_games(result)), options.journal, counting)
                    _mention(f"{plural(counted, 'game')} counted in {options.book_results}")
                if result.failed and ending.kind == "finished":
                    return 1, text
        except (BadInput, EngineFault) as error:
            if signals.number:
                return 128 + signals.number, text
            _mention(str(error))
            return 1, text
    return _status(ending, signals), text


def _status(ending: Ending, signals: StoppedBySignals) -> int:
    """Return the exit status for how a match ended, and report an error."""
    if ending.kind == "stopped":
        return 128 + signals.number
    if ending.kind == "error":
        _mention(ending.message)
    return 1 if ending.kind in ("error", "failed") else 0


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(
        prog="desdaemon match",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("programs", nargs="+", metavar="PROGRAM", help="command line of a program; at least two")
    add(
        "--protocol",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(PLAYERS)} or auto, which asks the program (default)",
    )
    add("--names", default="", metavar="NAME,NAME", help="what to call them")
    add(
        "--tournament",
        choices=KINDS,
        default=KINDS[0],
        help="of more than two programs: each against each (default), the first against the others, or each against "
        "the next",
    )
    add(
        "--games",
        type=whole(1, 10**6),
        metavar="N",
        help="games of each two programs; default 20, or every opening of the file with both colours",
    )
    add(
        "--openings",
        default="",
        metavar="FILE",
        help=f"begin with these games ({' '.join(READ_FORMATS)}) or positions ({' '.join(POSITION_FORMATS)}), or "
        f"with a list of XOT ({' '.join(known_openings.LISTS)})",
    )
    add(
        "--plies",
        type=whole(0, 60),
        default=60,
        metavar="N",
        help="most moves to play of an opening of the file",
    )
    add(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help=f"which of the listed openings of {PLIES} moves, or of XOT, without a file",
    )
    add("--move-time", default="none", metavar="S", help="seconds for each move")
    add("--clock", default="none", metavar="S[+S]", help="seconds for a game, and seconds added after each move")
    add("--level", default="none", metavar="N", help="level to tell the program (not possible in GTP)")
    add(
        "--margin",
        type=real(0, 10**9),
        default=0.0,
        metavar="MS",
        help="grace period per move, ms; default 0",
    )
    add("--patience", default="600", metavar="S", help="seconds that a move without a limit may take; default 600")
    add(
        "--adjudicate",
        type=whole(0, _MOST_EMPTIES),
        default=0,
        metavar="N",
        help=f"end games at N empty squares with their exact score, 0 to {_MOST_EMPTIES}",
    )
    add(
        "--concurrency",
        default="1",
        metavar="N",
        help="games at a time; cores is one for each core, or for the threads of a program",
    )
    add(
        "--sprt",
        default="",
        metavar="ELO0,ELO1[,A,B]",
        help="stop once games decide between these Elo differences (--sprt=-5,0), with the risks A and B of accepting "
        "the second, or the first, wrongly (default 0.05,0.05)",
    )
    add(
        "--tune",
        action="append",
        default=[],
        metavar="NAME=MIN:MAX[:START]",
        help="of self alone: tune this option by games (default 1000) between two of its values; repeatable",
    )
    add("--journal", default="", metavar="FILE", help="keep the games there; repeat the command to continue")
    add("--save", default="", metavar="FILE", help="write the games to this file at the end, in the format of its name")
    add(
        "--book-results",
        default="",
        metavar="FILE",
        help="add the games to this book at the end, count their results and learn from them",
    )
    add(
        "--json",
        default="",
        metavar="FILE",
        help="write the account as JSON; - is standard output instead of the table",
    )
    add("--page", default="", metavar="FOLDER", help="write pages there that show the match, also while it runs")
    add("--log", default="", metavar="FOLDER", help="write each program's dialogue and its standard error there")
    return parser


# The command line


class _Asked(NamedTuple):
    """The parsed command line, before programs and files are checked; a protocol may be ``auto``."""

    programs: list[Program]
    terms: MatchTerms
    concurrency: int
    sprt: tuple[float, ...] | None
    tuned: list[TunedOption]


def _asked(options: argparse.Namespace) -> _Asked:
    """Return the checked options; with ``--tune`` the program is listed twice. Raises `BadInput` for a wrong option."""
    commands = [command_of(text) for text in options.programs]
    tuned = [parse_parameter(text) for text in options.tune]
    if tuned:
        if len(commands) > 1 or commands[0][: len(OWN_COMMAND)] != OWN_COMMAND:
            raise BadInput("--tune: expected self, with or without options, and no other program")
        for name in _NOT_TUNED:
            if getattr(options, name):
                raise BadInput(f"--{name.replace('_', '-')}: expected no --tune with it")
        if options.games == 1:
            raise BadInput("--games 1: expected 2 or more with --tune, which learns from pairs of games")
    elif len(commands) < 2:
        raise BadInput(f"{quoted(options.programs[0])}: expected another program to play against")
    count = len(commands)
    protocols = _each(options.protocol, "--protocol", count)
    for name in protocols:
        if name not in ("auto", *PLAYERS):
            raise BadInput(f"--protocol {quoted(name)}: expected auto or one of {' '.join(PLAYERS)}")
    sprt = None
    if options.sprt:
        if count > 2:
            raise BadInput(f"--sprt {quoted(options.sprt)}: expected two programs, not {count}")
        sprt = _sprt(options.sprt)
    names = _each(options.names, "--names", count) if options.names else [""] * count
    programs = list(map(Program, commands, protocols, names, _controls(options, count)))
    return _Asked(
        programs * 2 if tuned else programs,
        MatchTerms(options.margin, parse_seconds(options.patience, "--patience") or 1e9, adjudicate=options.adjudicate),
        _concurrency(options.concurrency, commands),
        sprt,
        tuned,
    )


def _sprt(text: str) -> tuple[float, ...]:
    """Return the two Elo differences of the option ``--sprt`` and, where it has them, the two risks. Raises `BadInput`
    for others.
    """
    parts = text.split(",")
    numbers = tuple(_number(part.strip(), "--sprt") for part in parts)
    if len(numbers) not in (2, 4) or numbers[0] >= numbers[1]:
        raise BadInput(
            f"--sprt {quoted(text)}: expected two differences of Elo, the smaller first, and maybe two risks"
        )
    if not all(0 < risk < 0.5 for risk in numbers[2:]):
        raise BadInput(f"--sprt {quoted(text)}: expected risks between 0 and 0.5")
    return numbers


def _each(text: str, what: str, count: int) -> list[str]:
    """Return a list of ``count`` values, one for each program, from ``text``: one value for all, or ``count`` with
    commas. Raises `BadInput`, naming the option ``what``, for another number of values or an empty one.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) not in (1, count) or not all(parts):
        raise BadInput(f"{what} {quoted(text)}: expected one value for all programs, or {count} with commas between")
    return parts * count if len(parts) == 1 else parts


def _controls(options: argparse.Namespace, count: int) -> list[TimeControl]:
    controls = []
    for move, clock, level in zip(
        _each(options.move_time, "--move-time", count),
        _each(options.clock, "--clock", count),
        _each(options.level, "--level", count),
        strict=True,
    ):
        main, increment = parse_clock(clock, "--clock")
        number = -1 if level == "none" else whole_number(level)
        if number is None or not -1 <= number <= _MOST_LEVEL:
            raise BadInput(f"--level {quoted(level)}: expected a whole number from 0 to {_MOST_LEVEL}, or none")
        controls.append(TimeControl(parse_seconds(move, "--move-time"), main, increment, number))
    return controls


def _concurrency(text: str, commands: list[list[str]]) -> int:
    """Return the number of games at a time, 1 to 256. For ``cores`` it is the number of cores divided by the most
    threads that a program has, at least 1, because only one side of a game thinks. Raises `BadInput` for other text.
    """
    if text == "cores":
        return max(1, processors() // max(map(_threads, commands)))
    number = whole_number(text)
    if number is None or not 1 <= number <= 256:
        raise BadInput(f"--concurrency {quoted(text)}: expected a whole number from 1 to 256, or cores")
    return number


def _threads(command: list[str]) -> int:
    """Return the search threads that a command line of this program sets; 1 if it sets none, and for other programs."""
    if command[: len(OWN_COMMAND)] != OWN_COMMAND:
        return 1
    threads = 1
    for word, following in zip(command, [*command[1:], ""], strict=True):
        name, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in THREAD_OPTIONS:
            threads = whole_number(value or following) or 1
    return max(1, threads)


def _number(text: str, what: str) -> float:
    try:
        return real(-10_000, 10_000)(text)
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"{what} {error}") from None


# Files and programs


def _setting(
    asked: _Asked,
    options: argparse.Namespace,
    groups: ProcessGroups,
    solver: Callable[[Position], MoverScore] | None,
) -> tuple[Setting, Openings]:
    """Return the match and its openings; folders for logs and pages are made. Raises `BadInput` for files and programs
    that cannot be used, `EngineFault` once ``groups`` was stopped.
    """
    if options.save:
        format_to_write(options.save)
    for option, path in (("--save", options.save), ("--json", options.json)):
        check_writable(option, path)
    written = {"--journal": options.journal, "--save": options.save, "--json": options.json}
    written["--book-results"] = options.book_results
    is_file = options.openings and not known_openings.is_list(options.openings)
    expect_other_files(written, [options.openings] if is_file else [])
    if is_file:
        openings = openings_of_file(options.openings, options.plies)
        games = 2 * len(openings.openings) if options.games is None else options.games
    else:
        games = (1000 if options.tune else 20) if options.games is None else options.games
        count = (games + 1) // 2
        openings = (
            openings_of_list(options.openings, count, options.seed)
            if options.openings
            else listed_openings(count, options.seed)
        )
    log = _folder("--log", options.log)
    _folder("--page", options.page)
    schedule = Schedule(len(asked.programs), options.tournament, games, len(openings.openings))
    _mention_openings(options, schedule, openings)
    if asked.concurrency > processors() and any(program.control.limited for program in asked.programs):
        _mention(f"{asked.concurrency} timed games at a time on {plural(processors(), 'core')}: unreliable times")
    programs = []
    for program in asked.programs:
        if program.protocol == "auto":
            program = program._replace(protocol=detected_protocol(program.command, groups, _mention))
        programs.append(program)
    terms = asked.terms._replace(solver=solver)
    return Setting(programs, schedule, openings.openings, terms, asked.concurrency, asked.sprt, log), openings


def _solver(engine: Engine) -> Callable[[Position], MoverScore]:
    """Return a function that returns a position's exact score, in discs for the side to move. It raises `BadInput` once
    the engine was closed.
    """

    def solve(position: Position) -> MoverScore:
        found = engine.analyze(Board(board_text(position)), level=60)
        if not found.complete:
            raise BadInput("--adjudicate: stopped")
        return MoverScore(int(found.score.discs))

    return solve


def _folder(option: str, path: str) -> Path | None:
    """Return an option's folder, made if need be; None if ``path`` is "". Raises `BadInput` if it cannot be made."""
    try:
        if path:
            Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{option} {quoted(path)}: {error.strerror}") from None
    return Path(path) if path else None


def _page(setting: Setting, folder: str) -> MatchPage | None:
    def described(games: dict[int, Finished]) -> tuple[list[str], str]:
        names = _names(setting, games)
        return names, _heading(setting, names)

    return MatchPage(Path(folder), setting.schedule, setting.sprt, described, _mention) if folder else None


def _mention_openings(options: argparse.Namespace, schedule: Schedule, openings: Openings) -> None:
    """Write to standard error how many openings were left out or lengthened, and whether openings are repeated."""
    name = quoted(options.openings)
    if openings.coinciding:
        _mention(
            f"{name}: played once: {plural(openings.coinciding, 'opening')} with the position of another one, mirrored "
            "or not"
        )
    if openings.finished:
        _mention(f"{name}: left out, over after {plural(options.plies, 'ply')}: {plural(openings.finished, 'game')}")
    if openings.drawn:
        _mention(
            f"{openings.drawn} of {schedule.openings} openings are two moves longer than the listed ones, these moves "
            "drawn by lot: not searched for being even"
        )
    if schedule.rounds > schedule.openings:
        _mention(
            f"{schedule.openings} different openings for {schedule.rounds} pairs of games: they come again, and games "
            "that repeat each other count as one in the errors"
        )


def _mention(line: str) -> None:
    logs.message(line, "desdaemon match")


def _identities(setting: Setting) -> list[dict[str, Any]]:
    """Return each program's identity, with protocol and time control."""
    return [
        {
            **identity(program.command),
            "protocol": program.protocol,
            "control": program.control._asdict(),
        }
        for program in setting.programs
    ]


def _described(setting: Setting, programs: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, object]:
    """Return the terms of a match, by which its journal recognises it. They leave out what may change: names,
    concurrency, patience, SPRT and, except in a tuning, the number of games.
    """
    openings: dict[str, object] = {"seed": options.seed}
    if known_openings.is_list(options.openings):
        openings["sha256"] = hashlib.sha256(repr(known_openings.lines_of(options.openings)).encode()).hexdigest()
    elif options.openings:
        texts = "\n".join(map(_opening_text, setting.openings))
        openings = {"sha256": hashlib.sha256(texts.encode()).hexdigest()}
    tuned = {"tune": options.tune, "games": setting.schedule.games} if options.tune else {}
    return {
        **tuned,
        "programs": programs,
        "tournament": setting.schedule.kind,
        "margin": setting.terms.margin,
        "adjudicate": setting.terms.adjudicate,
        "openings": openings,
    }


def _opening_text(opening: GameRecord) -> str:
    return f"{board_text(opening.initial)};{moves_text([played.move for played in opening.moves])}"


# Output


def _about(
    options: argparse.Namespace, setting: Setting, openings: Openings, ending: Ending, begun: float, resumed: int
) -> dict[str, Any]:
    """Return the settings and times of a match, for its report: ``begun`` is in seconds since 1970, ``resumed`` the
    number of games that the journal had before.
    """
    ended = time.time()
    origin: dict[str, Any] = {"list": options.openings or True, "seed": options.seed, "lengthened": openings.drawn}
    if options.openings and not known_openings.is_list(options.openings):
        origin = {
            "file": options.openings,
            "plies": options.plies,
            "coinciding": openings.coinciding,
            "finished": openings.finished,
        }
    return {
        "desdaemon": __version__,
        "status": ending.kind,
        "message": ending.message,
        "started": _iso(begun),
        "ended": _iso(ended),
        "seconds": round(ended - begun, 3),
        "resumed_games": resumed,
        "machine": {"system": platform.platform(), "python": platform.python_version(), "cores": processors()},
        "settings": {
            "tournament": setting.schedule.kind,
            "games_per_pairing": setting.schedule.games,
            "openings": {"different": len(openings.openings), **origin},
            "margin_ms": setting.terms.margin,
            "patience_ms": setting.terms.patience,
            "adjudicate": setting.terms.adjudicate,
            "concurrency": setting.concurrency,
            "sprt": setting.sprt,
        },
    }


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def _write(
    options: argparse.Namespace,
    setting: Setting,
    result: MatchOutcome,
    ending: Ending,
    about: dict[str, Any],
    programs: list[dict[str, Any]],
) -> str:
    """Write the files that were asked for. Returns what goes to standard output."""
    heading = _heading(setting, result.names)
    text = report(result, heading, [program.control for program in setting.programs])
    if options.save:
        write_games(options.save, _file_games(result, heading))
    text = _reported(options, json_report(result, about, programs), text)
    return text if ending.kind != "error" or result.games else ""


def _reported(options: argparse.Namespace, data: dict[str, Any], text: str) -> str:
    """Write the report's ``data`` where ``--json`` says. Returns what goes to standard output: the data or ``text``."""
    written = json.dumps(data, indent=1) + "\n"
    if options.json == "-":
        return written
    if options.json:
        replace_file(options.json, written.encode())
    return text


def _file_games(result: MatchOutcome, event: str = "match") -> Iterator[FileGame]:
    date = time.strftime("%Y-%m-%d")
    for number, game in sorted(result.games.items()):
        place = result.schedule.place(number)
        record = game.record._replace(black=result.names[place.black], white=result.names[place.white])
        round = f"{place.within // 2 + 1}.{place.within % 2 + 1}"
        fault = ""
        if game.faulty >= 0:
            fault = f"{(record.black, record.white)[game.faulty]} lost by fault: {game.ending}: {game.note}"
        yield FileGame(record, number + 1, event, date, game.score, round, game.ending, fault)


def _names(setting: Setting, games: dict[int, Finished]) -> list[str]:
    """Return the programs' names: a name given on the command line, else the name that the program reported in
    ``games``, else the name of its file. Equal names are followed by the options in which the programs differ and, if
    that does not suffice, by a number. No terminal obeys them.
    """
    said: dict[int, str] = {}
    for number, game in sorted(games.items()):
        place = setting.schedule.place(number)
        for program, name in ((place.black, game.record.black), (place.white, game.record.white)):
            # A game that a program lost before it was started has no names.
            if name:
                said.setdefault(program, name)
    names = [
        program.name or said.get(index) or program_name(program.command)
        for index, program in enumerate(setting.programs)
    ]
    told = [
        _told_apart(setting.programs, [index for index, other in enumerate(names) if other == name]) for name in names
    ]
    full = [f"{name} {words[index]}".strip() for index, (name, words) in enumerate(zip(names, told, strict=True))]
    return [escaped(f"{name} ({index})" if full.count(name) > 1 else name) for index, name in enumerate(full, 1)]


def _told_apart(programs: Sequence[Program], places: list[int]) -> dict[int, str]:
    """Return a text for each of ``places``: the program's options, level and time, without those that are the same for
    the programs at all these places.
    """
    options: dict[int, list[str]] = {}
    for place in places:
        words = options.setdefault(place, [])
        for word in command_words(command_text(programs[place].command))[1:]:
            if word.startswith("-") or not words or not words[-1].startswith("-"):
                words.append(word)
            else:
                words[-1] += f" {word}"
        words.append(programs[place].control.text)
    everywhere = [word for word in options[places[0]] if all(word in other for other in options.values())]
    return {number: " ".join(word for word in words if word not in everywhere) for number, words in options.items()}


def _heading(setting: Setting, names: Sequence[str]) -> str:
    controls = [program.control for program in setting.programs]
    if len(set(controls)) == 1:
        time_text = controls[0].text
    else:
        time_text = "; ".join(f"{name}: {control.text}" for name, control in zip(names, controls, strict=True))
    between = " against " if len(names) == 2 or setting.schedule.kind == "gauntlet" else " and "
    players = f"{names[0]}{between}{' and '.join(names[1:])}" if len(names) > 2 else between.join(names)
    return f"{players}, {time_text}"
