"""The command line of `desdaemon analyze`: reads games, has them judged, writes reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from desdaemon.clients.arguments import Parser, check_writable, print_text, real, whole
from desdaemon.clients.errors import DaemonError, told
from desdaemon.clients.pages.parts import winner
from desdaemon.clients.programs.process_groups import StoppedBySignals
from desdaemon.protocol.errors import BadInput, Complaints, quoted
from desdaemon.protocol.games.bases import FileGame, expect_other_files, replace_file
from desdaemon.protocol.games.formats import READ_FORMATS
from desdaemon.protocol.games.records import black_score
from desdaemon.protocol.othello.rules import PASS
from desdaemon.protocol.spelling import name_test, plural
from desdaemon.protocol.system import logs
from desdaemon.protocol.system.terminal import ElapsedTime, ProgressLine

from .game import GameAnalysis, analyze_game, as_json
from .inputs import games_in, games_of
from .page import page
from .player import find_player, judged_game, report
from .player_page import player_page
from .reports import NOTE_FORMATS, WIDE, Collection, csv_head, csv_line, note_format, table, with_notes
from .source import OwnEngine, RemoteDaemon, own_engine

if TYPE_CHECKING:
    import argparse

DESCRIPTION = f"""\
Report on games: what each move was worth, what would have been best, what each player gave away. GAME is a file of
one or many games ({" ".join(READ_FORMATS)}), - for standard input, or the moves of a game such as f5d6c3.
"""

_SHOWN_EVERY = 1000
"""Games that are passed over between two reports of progress."""

_OUTPUTS = ("html", "json", "csv", "save")


def main(arguments: list[str]) -> int:
    """Analyse games. Returns the exit status; a bad command line ends the program with status 2.

    After a signal the results so far are written, and the status is 128 plus the signal's number. It is 1, after a
    message, if the games, the daemon or an output cannot be used, otherwise 0.
    """
    options = _checked(command_line(), arguments)
    signals = StoppedBySignals()
    try:
        for name in _OUTPUTS:
            if not (options.all and name == "html"):
                check_writable(f"--{name}", getattr(options, name))
        expect_other_files({f"--{name}": getattr(options, name) for name in _OUTPUTS}, options.words)
        if options.list:
            _list(options)
            return 0
        (_summary if options.summary else _all if options.all else _one)(options, signals)
    except (BadInput, DaemonError) as error:
        if not signals.number:
            _mention(told(error))
            return 1
    return 128 + signals.number if signals.number else 0


def command_line() -> Parser:
    """Return the parser of the command line."""
    parser = Parser(prog="desdaemon analyze", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("words", nargs="+", metavar="GAME", help="a file, - for standard input, or moves")
    add("--game", type=whole(1, 10**9), default=0, metavar="N", help="the game of that number in the file, from 1")
    add(
        "--player",
        default="",
        metavar="NAME",
        help="games of a player whose name contains this; =NAME: is this",
    )
    add("--all", action="store_true", help="all of these games, not only the first")
    add("--summary", action="store_true", help="one report on the player's games in files and folders")
    add("--list", action="store_true", help="only list the games")
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--level", type=whole(0, 60), default=16, metavar="N", help="level of the search (default 16)")
    effort.add_argument("--depth", type=whole(0, 60), metavar="N", help="plies to search, instead of a level")
    effort.add_argument("--time", type=real(0.001, 10**6), metavar="S", help="seconds a position, instead of a level")
    add("--book", choices=("use", "ignore"), default="ignore", help="whether the book may answer")
    add("--html", default="", metavar="FILE", help="write a page with board and graph; with --all a folder of pages")
    add("--json", default="", metavar="FILE", help="write the analysis as JSON; with --all a line a game")
    add("--csv", default="", metavar="FILE", help="write a line of figures a game")
    add(
        "--save",
        default="",
        metavar="FILE",
        help=f"write the games with comments, in the format of the name ({' '.join(NOTE_FORMATS)})",
    )
    add(
        "--board",
        default="",
        metavar="URL",
        help="link the page's positions to a board; {moves} and {board} in it are filled in",
    )
    add("--threads", type=whole(1, 256), metavar="N", help="positions to search at a time")
    add("--eval-file", default="", metavar="FILE", help="evaluation weights")
    add("--server", nargs="?", const="", metavar="ENDPOINT", help="ask a daemon that runs; without a name, this user's")
    add("--key", metavar="FILE", help="this client's key for the server, made by `desdaemon keys new`")
    add("--server-key", metavar="KEY", help="the server's public key, if the key file lacks it")
    return parser


def _checked(parser: Parser, arguments: list[str]) -> argparse.Namespace:
    """Return the options that ``arguments`` give; exit with status 2 if they are wrong or contradict each other."""
    options = parser.parse_args(arguments)
    streams = [f"--{name} -" for name in _OUTPUTS if getattr(options, name) == "-"]
    if len(streams) > 1:
        parser.error(f"{' and '.join(streams)}: only one of them can go to standard output")
    if options.all and options.html == "-":
        parser.error("--all writes a folder of pages: name it with --html")
    if options.all and (options.game or options.list):
        parser.error(f"--all and --{'game' if options.game else 'list'} exclude each other")
    if options.summary:
        if not options.player:
            parser.error("--summary needs --player")
        for name in ("game", "all", "list", "json", "csv", "save"):
            if getattr(options, name):
                parser.error(f"--summary and --{name} exclude each other")
    ours, theirs = ("threads", "eval_file"), ("key", "server_key")
    for name in ours if options.server is not None else theirs:
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} {'excludes' if name in ours else 'needs'} --server")
    return options


def _effort(options: argparse.Namespace) -> dict[str, Any]:
    if options.time is not None:
        effort = {"time_ms": round(1000 * options.time)}
    elif options.depth is not None:
        effort = {"depth": options.depth}
    else:
        effort = {"level": options.level}
    return {**effort, "book": options.book}


def _judge(options: argparse.Namespace) -> OwnEngine | RemoteDaemon:
    if options.server is None:
        return OwnEngine(own_engine(options.threads, options.eval_file, book=options.book == "use"))
    from desdaemon.clients.blocking import Client

    with ElapsedTime("connecting"):
        client = Client.connect(options.server or None, key=options.key, server_key=options.server_key)
    return RemoteDaemon(client)


@contextmanager
def _stopped_by(signals: StoppedBySignals, options: argparse.Namespace) -> Iterator[OwnEngine | RemoteDaemon]:
    """Return a context manager that yields a judge; a signal ends its work. While it is loaded, a signal ends the
    process, because nothing was found yet.
    """
    with closing(_judge(options)) as judge:
        signals.call(judge.stop)
        with signals:
            yield judge


# The choice of games


def _mention(line: str) -> None:
    logs.message(line, "desdaemon analyze")


def _wanted(options: argparse.Namespace) -> Iterator[FileGame]:
    """Yield the games that the options ``--player`` and ``--game`` mean; without these options yield all games.
    Unreadable games are reported on the way.
    """
    wanted = name_test(options.player)
    line = ProgressLine()
    with Complaints(_mention) as few:
        for game in games_of(options.words, few):
            record = game.record
            if options.game in (0, game.number) and (wanted(record.black) or wanted(record.white)):
                line.clear()
                yield game
            elif not game.number % _SHOWN_EVERY:
                line.show(f"reading {_named(options)}: game {game.number:,}")
            if 0 < options.game <= game.number:
                break
    line.clear()


def _named(options: argparse.Namespace) -> str:
    return quoted(" ".join(options.words))


def _nothing(options: argparse.Namespace, what: str) -> BadInput:
    whose = f" of {quoted(options.player)}" if options.player else ""
    help = "" if options.list else ": --list shows what there is"
    return BadInput(f"{_named(options)}: {what}{whose}{help}")


def _has_moves(game: FileGame) -> bool:
    return any(played.move != PASS for played in game.record.moves)


def _chosen(options: argparse.Namespace) -> FileGame:
    number = options.game
    games = _wanted(options)
    first = next(games, None)
    if first is None:
        raise _nothing(options, f"game {number}" if number else "no game")
    if not _has_moves(first):
        raise BadInput(f"{_named(options)}: game {first.number} has no moves")
    if not number and next(games, None):
        _mention(f"game {first.number} of several; --all takes them all, --game N another, --list shows them")
    return first


def _list(options: argparse.Namespace) -> None:
    games = _wanted(options)
    first = next(games, None)
    if first is None:
        raise _nothing(options, "no game")
    for game in chain([first], games):
        record = game.record
        names = f"{record.black or '?'} - {record.white or '?'}"
        about = ", ".join(part for part in (game.event, game.date) if part)
        result = game.result
        if result is None and record.final.over:
            result = black_score(record.final)
        line = f"{game.number:6}  {names:43}  {winner(result):9}  {about}".rstrip()
        print_text((line[: _columns() - 1] if sys.stdout.isatty() else line) + "\n")


# The work


def _analyzed(
    options: argparse.Namespace, game: FileGame, judge: OwnEngine | RemoteDaemon, signals: StoppedBySignals, label: str
) -> GameAnalysis:
    """Return the analysis of a game, or of its first moves after a signal; ``label`` begins the line of progress."""
    line = ProgressLine()

    def show(done: int, total: int) -> None:
        line.show(f"{label}{done} of {plural(total, 'position')}")

    try:
        return analyze_game(game, judge, _effort(options), show, lambda: signals.number != 0)
    finally:
        line.clear()


def _one(options: argparse.Namespace, signals: StoppedBySignals) -> None:
    if options.save:
        note_format(options.save)
    game = _chosen(options)
    with _stopped_by(signals, options) as judge:
        analysis = _analyzed(options, game, judge, signals, "")
    if not analysis.steps:
        _mention("interrupted before anything was found")
        return
    if options.html:
        _write(options.html, page(analysis, options.board))
    if options.json:
        _write(options.json, json.dumps(as_json(analysis), indent=1, ensure_ascii=False) + "\n")
    if options.csv:
        _write(options.csv, csv_head() + csv_line(analysis))
    if options.save:
        _write(options.save, with_notes(analysis, note_format(options.save)))
    if "-" not in [getattr(options, name) for name in _OUTPUTS]:
        _write("-", table(analysis, _columns()))


def _all(options: argparse.Namespace, signals: StoppedBySignals) -> None:
    format = note_format(options.save) if options.save else ""
    games = (game for game in _wanted(options) if _has_moves(game))
    first = next(games, None)
    if first is None:
        raise _nothing(options, "no game with moves")
    try:
        with (
            _stopped_by(signals, options) as judge,
            suppress(BrokenPipeError),
            Collection(options.json, options.csv, options.save, format, options.html, options.board) as collection,
        ):
            for game in chain([first], games):
                if signals.number:
                    break
                analysis = _analyzed(options, game, judge, signals, f"game {game.number}: ")
                if analysis.complete:
                    collection.add(analysis)
    except OSError as error:
        raise BadInput(f"{error.filename or 'output'}: {error.strerror}") from None


def _summary(options: argparse.Namespace, signals: StoppedBySignals) -> None:
    player = find_player(games_in(options.words, _mention), options.player)
    wanted = [rated for rated in player.games if _has_moves(rated.game)]
    judged = []
    with _stopped_by(signals, options) as judge:
        for number, rated in enumerate(wanted, 1):
            if signals.number:
                break
            analysis = _analyzed(options, rated.game, judge, signals, f"game {number} of {len(wanted)}: ")
            if analysis.complete:
                judged.append(judged_game(rated, analysis))
    if not judged:
        raise BadInput(f"no game of {quoted(player.name)} with moves was analysed")
    if options.html:
        _write(options.html, player_page(player, judged, options.board))
    if options.html != "-":
        _write("-", report(player, judged))


# Output


def _columns() -> int:
    """Return the width in columns of the terminal on standard output; `WIDE` if it is no terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return WIDE


def _write(path: str, text: str) -> None:
    if path == "-":
        print_text(text)
        return
    replace_file(path, text.encode("utf-8", "backslashreplace"))
